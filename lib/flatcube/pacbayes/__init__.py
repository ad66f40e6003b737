"""Norm and flatness turned into a promise: the PAC-Bayes bounds of SP, each as a sum of terms with names.

Prior N(0, σ²I), posterior N(θ, σ²I): KL = ‖θ‖²/2σ². With ``catoni`` at its best η, for losses that are C-sub-Gaussian,

    E_Δ L(θ + Δ) ≤ E_Δ L̂(θ + Δ) + C √((‖θ‖²/σ² + 2 log(1/δ))/m)        with probability 1 − δ        (SP Thm 2)

for the risk of the *noisy* network. What stands for the first term on the right makes the difference:

    truncated      σ²/2 Tr ∇²L, as if the loss were quadratic: closed forms throughout, no proof for finite σ
    semi-analytic  the loss of the noisy network, measured, with its error bar
    rigorous       R² + bδ′ from ``worstcase``, for the loss clipped at b, which has C = b/2
    grouped        a σ_g for each group of weights: σ_g² ∝ √(N_g/h_g)

θ may be a network at hand. As an *oracle* bound, θ is the hand-built network, and the learner is assumed to have found
an interpolator with no larger norm and no larger noisy loss: the domination assumption of SP. Then σ and η are fixed
before the examples are seen, and are free. ``choices`` pays for picking among that many of them afterwards: log(K/δ).

``through`` puts other inequalities in Catoni's place. ``certify`` assumes nothing of the network that training found:
it bounds the risk of that very network, with noise of its choice.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "inequalities": [
            "divergence", "catoni", "alquier", "eta_grid", "grid_price", "mcallester", "small_kl", "kl_inverse",
            "sub_gaussian", "second_moment", "clipped",
        ],
        "account": ["Account", "of_model", "of_tiling", "of_disjoint", "disjoint", "expected_gradients"],
        "promises": ["Promise", "MESH", "truncated", "best_sigma", "semi_analytic"],
        "noise": ["noisy_loss", "noisy_losses"],
        "groups": ["grouped", "group_sigmas"],
        "worstcase": ["Change", "Place", "place", "deterministic", "gaussian", "largest", "longest_gaussian"],
        "strict": ["rigorous", "rigorous_groups"],
        "learner": ["objective", "descend"],
        "soft": ["of_soft"],
        "rates": ["through", "slope"],
        "certified": ["SCALES", "Certificate", "seeger"],
        "certifier": ["certify"],
    },
)
