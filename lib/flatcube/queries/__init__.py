"""What a few queries tell about a black box: its degree, its sparsity, its heavy coefficients.

Every test looks at f on a random subcube. A base point x and directions v_1, …, v_r (vectors of signs) give

    g(y) = f(x · ∏_{j: y_j = 1} v_j),  y ∈ {0,1}^r,     ĝ(u) = Σ c_S χ_S(x) over the sets S with χ_S(v_j) = (−1)^{u_j}.

*Degree.* Flip d + 1 disjoint blocks of variables. A set S contributes to ĝ(1…1) only if it meets every block in an odd
number of variables, so ĝ(1…1) = 0 for a function of degree ≤ d. *Sparsity.* Along random directions different sets
likely land in different places u, and never in more places than there are sets, so ĝ has at most as many non-zero
entries as f has coefficients.

Thus the tests never reject wrongly, and an upward sweep to the first value that is accepted is never too high. It is
too low with probability at most ``error``; ``proved`` tells whether that rests on a proof, or on constants that were
enough in experiments. Functions may be real. For inexact ones there are

- ``tolerance``: every value of f may be off by this much. Coefficients below it are not seen. The default allows for
  rounding, 1000 units in the last place of the largest value; for independent noise of standard deviation σ take 5σ.
- ``proximity``: the share of Var f that may lie above the degree, or outside the sparsity. If it is positive, averages
  over all trials decide; near the limit either answer may come.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "verdicts": ["Verdict", "Finding"],
        "subcubes": ["black_box", "restrict", "directions", "blocks", "axes"],
        "degree": ["survival", "degree_trials", "degree_at_most", "estimate_degree", "gf2_degree_at_most"],
        "sparsity": ["sparsity_plan", "tail_energy", "sparsity_at_most", "estimate_sparsity"],
        "heavy": ["Heavy", "heavy_coefficients"],
    },
)
