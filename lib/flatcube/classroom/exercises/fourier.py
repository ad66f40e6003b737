"""The exercises of chapter 1. Each solution is followed by the mistakes that its check recognises."""

import numpy as np

from flatcube import cube
from flatcube.classroom.exercises import exercise

Subset = tuple[int, ...]


def _tables(rng: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    """Random real tables for n in `sizes`, with two decimals so that a sentence can show them."""
    return [rng.normal(size=2**n).round(2) + 0.0 for n in sizes]


@exercise(
    "1.1",
    "If, then, else",
    minutes=5,
    difficulty=1,
    hints=(
        "(1 − x₁)/2 is 1 where x₁ is true and 0 where it is false. Which variable should it multiply?",
        "Add to it a second product that is x₃ where x₁ is false. Multiply out: each product of variables is a subset.",
    ),
    why="Choosing is multiplying: one bit that selects between two others needs degree 2. Attention selects, too.",
)
def selector() -> dict[Subset, float]:
    """{subset: coefficient}, such as {(): 0.25, (1,): 2, (1, 3): -1}"""
    return {(2,): 1 / 2, (3,): 1 / 2, (1, 2): -1 / 2, (1, 3): 1 / 2}


selector.mistake(
    "Your polynomial gives x₂ where x₁ is false and x₃ where it is true: you read +1 as true.",
    lambda: {(2,): 1 / 2, (3,): 1 / 2, (1, 2): 1 / 2, (1, 3): -1 / 2},
)
selector.mistake(
    "Twice too large: your polynomial takes the values −2 and 2. (1 − x₁)/2 brings its half into every term.",
    lambda: {(2,): 1, (3,): 1, (1, 2): -1, (1, 3): 1},
)
selector.mistake(
    "Your numbers are sums over all points. A coefficient is a mean: divide by the number of points.",
    lambda: {(2,): 4, (3,): 4, (1, 2): -4, (1, 3): 4},
)
selector.mistake(
    "Your polynomial is right for bits 0 and 1. Here the variables, and the value, are signs.",
    lambda: {(3,): 1, (1, 2): 1, (1, 3): -1},
)
selector.mistake(
    "Your polynomial is the mean of x₂ and x₃ at every point: it never looks at x₁.",
    lambda: {(2,): 1 / 2, (3,): 1 / 2},
)


def _tables_and_masks(rng: np.random.Generator) -> list[tuple]:
    """Subsets of one element, of several and of all: in the first and last case some mistakes do no harm."""
    return [(t, int(rng.choice(masks))) for t, masks in zip(
        _tables(rng, 2, 3, 3, 4), [(1, 2), (3, 5, 6), (3, 5, 6), (7, 11, 13, 14, 15)], strict=True)]


@exercise(
    "1.2",
    "One coefficient",
    minutes=8,
    difficulty=1,
    hints=(
        "At table index k, the parity over the subset depends only on the bits that k and the mask share.",
        "`(k & mask).bit_count()` counts the ones of point k inside the subset; an odd count means χ = −1.",
    ),
    why="A coefficient is a correlation, so examples are enough to estimate it: the low-degree algorithm does no more.",
    instances=_tables_and_masks,
)
def coefficient(table: np.ndarray, mask: int) -> float:
    """The mean of f(x) χ_S(x) over all points; `mask` stands for S."""
    signs = [(-1) ** (k & mask).bit_count() for k in range(len(table))]
    return np.mean(table * signs)


def _mean_with(table: np.ndarray, true: np.ndarray) -> float:
    return np.mean(np.where(true, -table, table))


coefficient.mistake(
    "You add up f(x) χ_S(x) over the points but do not divide by their number.",
    lambda table, mask: len(table) * coefficient.solution(table, mask),
)
coefficient.mistake(
    "You return the mean of f whatever the mask is: the parity χ_S is missing.",
    lambda table, mask: np.mean(table),
)
coefficient.mistake(
    "Your sign is −1 as soon as any bit of the subset is one: that is OR. Parity asks for an odd number.",
    lambda table, mask: _mean_with(table, np.arange(len(table)) & mask > 0),
)
coefficient.mistake(
    "Your sign is −1 only where all bits of the subset are one: that is AND. Parity asks for an odd number.",
    lambda table, mask: _mean_with(table, np.arange(len(table)) & mask == mask),
)
coefficient.mistake(
    "Your parity runs over all bits of the point; keep only those in the subset.",
    lambda table, mask: coefficient.solution(table, len(table) - 1),
)


@exercise(
    "1.3",
    "Butterflies",
    minutes=12,
    difficulty=2,
    hints=(
        "The new first half is the sum of the two old halves; what must the new second half be?",
        "`np.stack([…, …], axis=1).ravel()` puts two halves back in order; divide by the length once, after the loop.",
    ),
    why="You have written the fast transform: n passes over the table instead of 2ⁿ, and no matrix in memory.",
    instances=lambda rng: [(table,) for table in _tables(rng, 1, 2, 3, 6)],
)
def fast_transform(table: np.ndarray) -> np.ndarray:
    """All coefficients in n passes over the table; no matrix is built."""
    values = np.array(table, dtype=float)
    for bit in range(len(values).bit_length() - 1):
        pairs = values.reshape(-1, 2, 2**bit)  # they differ in this bit
        a, b = pairs[:, 0], pairs[:, 1]
        # your turn
        values = np.stack([a + b, a - b], axis=1).ravel()
    return values / len(values)


def _passes(table: np.ndarray, second=np.subtract, *, passes: int | None = None, axis: int = 1) -> np.ndarray:
    """Butterflies without the division; `second(a, b)` is the new second half, joined to the first along `axis`."""
    values = np.array(table, dtype=float)
    for bit in range(len(values).bit_length() - 1)[:passes]:
        a, b = np.moveaxis(values.reshape(-1, 2, 2**bit), 1, 0)
        values = np.stack([a + b, second(a, b)], axis=axis).ravel()
    return values


fast_transform.mistake(
    "Every value is 2ⁿ times too large: the sums are right, the division by the length is missing.",
    lambda table: _passes(table),
)
fast_transform.mistake(
    "The difference has the wrong sign: χ is +1 on the first half (bit 0) and −1 on the second.",
    lambda table: _passes(table, lambda a, b: b - a) / len(table),
)
fast_transform.mistake(
    "The second half is computed after the first was overwritten: `a` and `b` are views of `pairs`, not copies.",
    lambda table: _passes(table, lambda a, b: a) / len(table),
)
fast_transform.mistake(
    "You divide by √(2ⁿ). That makes the matrix orthogonal, but a coefficient is a mean.",
    lambda table: _passes(table) / np.sqrt(len(table)),
)
fast_transform.mistake(
    "Sums and differences are right but land in the wrong places: the two values of a pair go back to where they were.",
    lambda table: _passes(table, axis=0) / len(table),
)
fast_transform.mistake(
    "Only the first pass is made: is `return` inside the loop?",
    lambda table: _passes(table, passes=1) / len(table),
)


def _spectra_and_variables(rng: np.random.Generator) -> list[tuple]:
    return [(c, int(rng.integers(1, len(c).bit_length()))) for c in _tables(rng, 2, 3, 3, 4, 5)]


@exercise(
    "1.4",
    "The influence of one variable",
    minutes=10,
    difficulty=2,
    hints=(
        "Flipping x_i changes the sign of χ_S for some sets S and leaves the others alone. Which sets?",
        "Variable i is bit i − 1 of a mask: `masks >> (i - 1) & 1` is 1 for the sets that contain it.",
    ),
    why="Add the influences of all variables: every S is counted |S| times. That is the proof of HR's Eq. 17.",
    instances=_spectra_and_variables,
)
def influence(coefficients: np.ndarray, i: int) -> float:
    """The influence of x_i, 1 ≤ i ≤ n, on the f with these coefficients."""
    masks = np.arange(len(coefficients))
    # your turn
    return np.sum(coefficients[masks >> (i - 1) & 1 == 1] ** 2)


def _with(coefficients: np.ndarray, bit: int) -> np.ndarray:
    """The coefficients of the sets that have a bit."""
    return coefficients[np.arange(len(coefficients)) >> bit & 1 == 1]


influence.mistake(
    "You have the right sets but add their coefficients as they are: Parseval adds squares.",
    lambda coefficients, i: np.sum(_with(coefficients, i - 1)),
)
influence.mistake(
    "You add the sets without variable i. Flipping x_i does nothing to their parities.",
    lambda coefficients, i: np.sum(coefficients**2) - np.sum(_with(coefficients, i - 1) ** 2),
)
influence.mistake(
    "You are off by one: variables count from 1, bits of a mask from 0.",
    lambda coefficients, i: np.sum(_with(coefficients, i) ** 2),
)
influence.mistake(
    "You add the weight at degree i. The sets that contain variable i have all sizes.",
    lambda coefficients, i: np.sum(coefficients[cube.weights(len(coefficients).bit_length() - 1) == i] ** 2),
)
influence.mistake(
    "You take the set {i} alone. Larger sets that contain i change sign as well.",
    lambda coefficients, i: coefficients[1 << (i - 1)] ** 2,
)
influence.mistake(
    "Four times too large: half of each jump is squared, and a parity jumps by 2.",
    lambda coefficients, i: 4 * np.sum(_with(coefficients, i - 1) ** 2),
)


def _restrictions(rng: np.random.Generator) -> list[tuple]:
    return [(t, int(rng.integers(1, len(t).bit_length())), s) for t in _tables(rng, 2, 3, 4) for s in (1, -1)]


@exercise(
    "1.5",
    "Fix one variable",
    minutes=10,
    difficulty=2,
    hints=(
        "Once x_i is a number, the terms for S and for S ∪ {i} have the same variables left: they merge.",
        "`coefficients.reshape(-1, 2, 2 ** (i - 1))` has the terms without i in `[:, 0]` and those with i in `[:, 1]`.",
    ),
    why="Fixing a variable merges pairs of terms, so the degree never rises; PARITY stays the PARITY of what is left.",
    instances=_restrictions,
)
def restrict(coefficients: np.ndarray, i: int, sign: int) -> np.ndarray:
    """The 2^(n−1) coefficients left when x_i, 1 ≤ i ≤ n, is `sign`."""
    halves = coefficients.reshape(-1, 2, 2 ** (i - 1))
    return (halves[:, 0] + sign * halves[:, 1]).ravel()


def _halves(coefficients: np.ndarray, i: int) -> np.ndarray:
    """The coefficients without variable i and those with it, (2, 2^(n−1))."""
    return np.moveaxis(coefficients.reshape(-1, 2, 2 ** (i - 1)), 1, 0).reshape(2, -1)


restrict.mistake(
    "Half the right size: fixing x_i puts a number in its place, it does not average over x_i.",
    lambda coefficients, i, sign: restrict.solution(coefficients, i, sign) / 2,
)
restrict.mistake(
    "You add the two halves whatever the sign is; the terms that contain x_i carry it.",
    lambda coefficients, i, sign: _halves(coefficients, i).sum(axis=0),
)
restrict.mistake(
    "You drop the terms that contain x_i. That averages over x_i; when it is fixed they stay, with its sign.",
    lambda coefficients, i, sign: _halves(coefficients, i)[0],
)
restrict.mistake(
    "You select half of the entries. That restricts a table of values; these are coefficients.",
    lambda coefficients, i, sign: _halves(coefficients, i)[int(sign < 0)],
)


def _components(rng: np.random.Generator) -> list[tuple]:
    """Three functions in SP's basis; the last has a constant component, which needs its own thought."""
    drawn = [cube.random_components(5, degree, 3, rng=rng) for degree in (1, 2, 3)]
    plain = [{subset: round(weight, 2) for subset, weight in pairs} for pairs in drawn]
    return [(plain[0],), (plain[1],), ({(): float(rng.integers(1, 9)), **plain[2]},)]


@exercise(
    "1.6",
    "Between two bases",
    minutes=8,
    difficulty=2,
    hints=(
        "Substitute even_S = (1 + χ_S)/2 into the sum. Where does the 1 go, and where does χ_S?",
        "Each component shares its weight between its own subset and the constant; what if its subset is empty?",
    ),
    why="One function, w components in one basis and w + 1 coefficients in the other: say which sparsity you mean.",
    instances=_components,
)
def to_parities(components: dict[tuple, float]) -> dict[tuple, float]:
    """From {S: λ_S}, f = Σ λ_S even_S, to {S: c_S}, f = Σ c_S χ_S."""
    spectrum = {(): 0.0}
    # your turn
    for subset, weight in components.items():
        spectrum[()] += weight / 2
        spectrum[subset] = spectrum.get(subset, 0) + weight / 2
    return spectrum


def _half(components: dict[Subset, float]) -> dict[Subset, float]:
    return {subset: weight / 2 for subset, weight in components.items()}


to_parities.mistake(
    "The constant is missing: even_S is never negative, so its mean is not zero.",
    lambda components: _half(components),
)
to_parities.mistake(
    "You keep each weight whole, but even_S moves by 1 where χ_S moves by 2.",
    lambda components: {**components, (): sum(components.values()) / 2},
)
to_parities.mistake(
    "Right unless ∅ is a component: even_∅ is 1 everywhere, so all of its weight is constant, not a part of it.",
    lambda components: {**_half(components), (): sum(components.values()) / 2},
)
to_parities.mistake(
    "The weight of ∅ is lost: the constant has to collect it as well.",
    lambda components: {**_half(components), (): (sum(components.values()) - components.get((), 0)) / 2},
)
