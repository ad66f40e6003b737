"""Capacity: how many functions an attention network has, up to ε, and what that promises (ED Sec. 4 and App. A).

A network is covered matrix by matrix. Matrix i has a *size*, the sum of its column norms: to cover it up to ε_i takes
log N_i = (size_i/ε_i)² log(points). It has a *reach*: an error ε_i moves the output by at most reach_i·ε_i. Sharing a
total error ε out in the best way (``covers.split``) gives

    log N(ε) = C/ε²,   C = (Σ_i (size_i · reach_i)^(2/3))³ · log(points),   points = m·T tokens in m inputs.

So T enters through a logarithm only. Then chaining, log N = C/ε² → Rademacher complexity → gap between risk and
training loss. Three forms:

    printed    ED Theorem A.17 as it stands, which misplaces two factors (errata 50, 51)
    corrected  the same with these factors in place; hidden constants are taken to be 1
    explicit   nothing hidden: softmax with constant 1, sums of column norms, log(2mT + 1), and chaining with 4 and 12

Beside them ``occam``, which counts sparse functions and never looks at a network. The norms of a network are given,
``NetworkNorms`` of ``LayerNorms`` of ``HeadNorms`` of ``Norms``, or measured in one; only numpy is needed.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "norms": ["Norms", "HeadNorms", "LayerNorms", "NetworkNorms", "measure", "tiling"],
        "covers": [
            "distances", "greedy", "separated", "Corrections", "correct", "linear", "zhang", "packing",
            "column_errors", "maps", "positions", "split", "SOFTMAX", "softmax", "attend", "to_ball",
            "along_and_across", "block", "rademacher", "massart",
        ],
        "bounds": [
            "FORMS", "Bound", "Cover", "head", "heads", "cover", "chaining", "deviation", "gap", "samples_needed",
            "sparse_functions", "occam",
        ],
    },
)
