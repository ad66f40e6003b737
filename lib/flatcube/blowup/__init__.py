"""Layer norm magnifies: normalisation factors, the blow-up, and what sensitive functions force on it.

A layer norm divides activation Y by its standard deviation, so it multiplies small differences by N = 1/√(σ² + ε) (HR
Eq. 5). With τ = 1 + max N over positions, Blowup(x) is the product of τ over all norms (HR Eq. 11), and

    s(f, x) ≤ C √(n log n) · (Blowup(x)² + mean over i of Blowup(x⊕i)²)     for all but a share H/n² of inputs (Thm 4)
    C · E Blowup² ≥ as(f)/√(n log n) − H/n                                  where |f| ≤ 1 (Cor. 5)

with a constant C of the weights (``log_constant``), in which first-layer scores do not appear. The same proof with
the sharper inequality ‖norm(Y) − norm(Y′)‖ ≤ √(N N′) ‖Y − Y′‖ has P = ∏ max N in place of Blowup², half of the
right-hand side, and a smaller C: ``form="sharp"``.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "measures": ["Blowup", "measure", "Local", "local", "bites_from", "one_layer"],
        "influence": ["Stage", "stages", "reach", "log_factors", "log_constant"],
        "tracing": [
            "flips", "Step", "trace", "influence_bound", "influence_sums", "row_influence", "softmax_bound",
            "attention_bound", "upper_head_bound", "norm_bound", "sharp_norm_bound", "lemmas",
        ],
    },
)  # fmt: skip
