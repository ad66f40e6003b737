"""How often one flipped variable changes a function: exact from tables, estimated from black boxes.

With x^{⊕i} the point x with its i-th sign flipped (HR Def. 3, for real functions too),

    s(f, x) = Σ_i (f(x) − f(x^{⊕i}))²/4,    Inf_i(f) = E_x (f(x) − f(x^{⊕i}))²/4,    as(f) = E_x s(f, x) = Σ_i Inf_i(f).

For a Boolean f (values ±1) s(f, x) counts the neighbours of x on which f differs. In the spectrum, Inf_i = Σ_{S∋i} c_S²
and as = Σ_S |S| c_S² (HR Eq. 17). Tables follow ``flatcube.cube``; several tables may be stacked, (…, 2^n).

Results for Boolean tables are exact. A table or a black box whose values are all 0 or 1 is refused: its sensitivity
would come out four times too small. How the sums are computed stands in ``flatcube.sensitivity._edges``; how black
boxes are asked, in ``flatcube.sampling``.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "measures": [
            "at_points", "maximum", "influences", "average", "normalised", "spectral_influences", "spectral_average",
            "noise_stability", "disagreement",
        ],
        "bounds": [
            "maximum_bound", "average_bound", "power_bound", "MAJORITY_CONSTANT", "cast_average", "cast_maximum",
            "majority_average", "majority_profile", "majority_noise_limit", "huang_bound", "kkl_bound",
            "distance_bound", "separation",
        ],
        "estimates": ["at", "estimate", "estimate_noise_stability"],
        "complexity": ["block_sensitivity", "certificate_complexity", "decision_depth"],
    },
)
