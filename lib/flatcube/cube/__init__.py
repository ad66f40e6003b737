"""The Boolean cube: its points, its subsets, and functions on it as tables.

One convention holds in the whole library. A point is a vector of signs x ∈ {±1}^n; its bits are
b ∈ {0,1}^n with x_i = (−1)^{b_i}. A function is a *table* of length 2^n: entry k is its value at the
point with b_i = bit i−1 of k. A subset S of {1, …, n} is the *mask* with the same bits. In a Boolean
table −1 means true and +1 means false, so that the parity χ_S(x) = ∏_{i∈S} x_i is the XOR of the bits in S.

Boolean tables are int32 (products such as ``f @ g`` then count exactly), real ones float64. An array of
Python booleans is a truth table: True stands for −1.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "functions": [
            "points", "index", "to_bits", "to_signs", "subset", "mask", "weights", "table", "formula",
            "subset_parity", "parity", "first", "mean", "majority", "threshold", "conjunction", "disjunction",
            "address", "tribes", "even", "even_sum", "random_boolean", "random_components",
            "Components",
        ],
        "grammar": ["Node", "parse", "variables"],
    },
)
