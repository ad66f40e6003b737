"""The exercises of chapter 4. Each solution is followed by the mistakes that its check recognises."""

import numpy as np

from flatcube.classroom.exercises import exercise


def _numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random numbers with one decimal, so that a sentence can show them."""
    return rng.normal(size=shape).round(1) + 0.0


def _sizes(rng: np.random.Generator, count: int) -> np.ndarray:
    """Random positive numbers with one decimal."""
    return rng.uniform(0.3, 2, count).round(1)


def _softmax(logits: np.ndarray, axis: int) -> np.ndarray:
    weights = np.exp(logits)
    return weights / weights.sum(axis=axis, keepdims=True)


@exercise(
    "4.1",
    "One head",
    minutes=8,
    difficulty=1,
    hints=(
        "First the logits of every query (row) against every key (column), then weights, then a mean of the values.",
        "Take `np.exp` of X W Xᵀ and divide each row by its own sum: `keepdims=True` keeps the shapes apart.",
    ),
    why="That is all of attention. Every head in this book is this function, with other matrices.",
    instances=lambda rng: [(_numbers(rng, n, 2), _numbers(rng, 2, 2), _numbers(rng, 2, 2)) for n in (2, 3, 3, 4)],
)
def head(X: np.ndarray, W: np.ndarray, V: np.ndarray) -> np.ndarray:
    """softmax(X W Xᵀ) X V, with the softmax over each row."""
    weights = np.exp(X @ W @ X.T)
    return weights / weights.sum(axis=1, keepdims=True) @ X @ V


head.mistake(
    "Your columns add up to one. Each query shares out its own attention, so each row has to.",
    lambda X, W, V: _softmax(X @ W @ X.T, axis=0) @ X @ V,
)
head.mistake(
    "Queries and keys are exchanged: the row of W belongs to the one who asks.",
    lambda X, W, V: head.solution(X, W.T, V),
)
head.mistake(
    "The weights do not add up to one yet: divide each row by its sum.",
    lambda X, W, V: np.exp(X @ W @ X.T) @ X @ V,
)
head.mistake(
    "You mix the values with the logits themselves. The softmax is missing.",
    lambda X, W, V: X @ W @ X.T @ X @ V,
)
head.mistake(
    "You give the weights. Use them to average the values, the rows of X V.",
    lambda X, W, V: _softmax(X @ W @ X.T, axis=1),
)


@exercise(
    "4.2",
    "Just enough scale",
    minutes=10,
    difficulty=2,
    hints=(
        "A component of d members, with logit β, has T + 1 − d others with logit 0. Which share do the others get?",
        "Solve (T + 1 − d)/(d e^β + T + 1 − d) ≤ 1/(4d) for β.",
    ),
    why="For even d this is the exact threshold; log(4T) is always a little more.",
    instances=lambda rng: [(int(T), int(d)) for T, d in ((4, 2), (9, 4), (20, 3), (rng.integers(30, 90), 6))],
)
def least_scale(T: int, d: int) -> float:
    """The smallest β at which the leak is at most 1/(4d)."""
    others = T + 1 - d
    return np.log((4 * d - 1) * others / d)


least_scale.mistake(
    "You forgot the output position: a row of attention has T + 1 entries.",
    lambda T, d: np.log((4 * d - 1) * (T - d) / d),
)
least_scale.mistake(
    "That is always enough, but not the least.",
    lambda T, d: np.log(4 * T),
)
least_scale.mistake(
    "That is e^β. The logit is its logarithm.",
    lambda T, d: (4 * d - 1) * (T + 1 - d) / d,
)
least_scale.mistake(
    "You compare with 1/(2d). The plateaus at even counts reach only half as far.",
    lambda T, d: np.log((2 * d - 1) * (T + 1 - d) / d),
)
least_scale.mistake(
    "You divide by the weight of the members alone. The others are part of the sum, too.",
    lambda T, d: np.log(4 * (T + 1 - d)),
)


@exercise(
    "4.3",
    "A trapezoid",
    minutes=8,
    difficulty=1,
    hints=(
        "Going right, the slope is 0, then 4d, then 0, then −4d, then 0. Every ReLU changes it once, at its kink.",
        "The kinks are c − 1/(2d), c − 1/(4d), c + 1/(4d), c + 1/(2d); the signs in front are +, −, −, +.",
    ),
    why="Four ReLUs can store one value at one place; a lookup table is a row of such quadruples.",
    instances=lambda rng: [
        ((k / d + np.array([-0.6, -0.4, -0.3, -0.1, 0.0, 0.2, 0.35, 0.45, 0.7]) / d).round(4), k / d, d)
        for k, d in ((0, 2), (2, 4), (1, 3), (int(rng.integers(1, 5)), 5))
    ],
)
def trapezoid(a: np.ndarray, c: float, d: int) -> np.ndarray:
    """1 within 1/(4d) of c, 0 beyond 1/(2d), straight in between."""
    up = np.maximum(a - c + 1 / (2 * d), 0) - np.maximum(a - c + 1 / (4 * d), 0)
    down = np.maximum(a - c - 1 / (4 * d), 0) - np.maximum(a - c - 1 / (2 * d), 0)
    return 4 * d * (up - down)


trapezoid.mistake(
    "The shape is right but not the height: a ramp of width 1/(4d) needs a steeper slope to climb to 1.",
    lambda a, c, d: trapezoid.solution(a, c, d) / (4 * d),
)
trapezoid.mistake(
    "It climbs and never comes down: half of the ReLUs are missing.",
    lambda a, c, d: np.clip(4 * d * (a - c) + 2, 0, 1),
)
trapezoid.mistake(
    "That is a triangle. It is 1 at c only; a plateau needs four kinks.",
    lambda a, c, d: np.maximum(1 - 2 * d * np.abs(a - c), 0),
)
trapezoid.mistake(
    "Your trapezoid is twice too wide: at distance 1/(2d) it should have come down to 0.",
    lambda a, c, d: np.clip(2 - 2 * d * np.abs(a - c), 0, 1),
)


def _short(rng: np.random.Generator) -> list[tuple]:
    """Components that are shorter than d, with T and β."""
    return [
        (tuple(sorted((1 + rng.choice(T, size, replace=False)).tolist())), d, T, round(float(rng.uniform(2, 6)), 1))
        for size, d, T in ((1, 3, 4), (2, 5, 6), (0, 2, 3), (3, 3, 5))
    ]


@exercise(
    "4.4",
    "Make it longer",
    minutes=10,
    difficulty=2,
    hints=(
        "The sum of the bits stays n if a position with bit 0 is counted several times. Which position always holds 0?",
        "One logit can stand for k equal ones: e^l = k e^β. What is l, and what if k = 0?",
    ),
    why="So components of all sizes share one grid k/d and one MLP; the empty one becomes the constant term.",
    instances=_short,
)
def padded_row(subset: tuple, d: int, T: int, beta: float) -> np.ndarray:
    """The row of W₁ for `subset`: T bits, then the output."""
    row = np.zeros(T)
    for j in subset:
        row[j - 1] = beta
    # your turn
    copies = max(d - len(subset), 0)
    return np.append(row, beta + np.log(copies) if copies else 0)


padded_row.mistake(
    "The output position counts once only, however many members are missing.",
    lambda subset, d, T, beta: np.append(padded_row.solution(subset, 0, T, beta)[:T], beta * (len(subset) < d)),
)
padded_row.mistake(
    "You multiply the logit by the number of copies. Weights are multiplied, and logits are their logarithms.",
    lambda subset, d, T, beta: np.append(padded_row.solution(subset, 0, T, beta)[:T], beta * (d - len(subset))),
)
padded_row.mistake(
    "You do not pad at all.",
    lambda subset, d, T, beta: padded_row.solution(subset, 0, T, beta),
)
padded_row.mistake(
    "You leave out β: the copies would weigh less than the members.",
    lambda subset, d, T, beta: np.append(padded_row.solution(subset, 0, T, beta)[:T], np.log(max(d - len(subset), 1))),
)


@exercise(
    "4.5",
    "Lift the components",
    minutes=10,
    difficulty=2,
    hints=(
        "Before the division, the components hold λ_i e^γ and each of the other positions holds 1. How many are these?",
        "The total is Λe^γ + (T + 1 − w). After multiplying by Λ + τ, what must e^γ be for λ_i to come out?",
    ),
    why="With this lift the network errs by at most τ, with finite weights and without a mask.",
    instances=lambda rng: [
        (rng.uniform(0.2, 3, w).round(2), T, tau)
        for w, T, tau in ((2, 4, 0.1), (3, 5, 0.01), (1, 9, 0.5), (4, 30, 0.001))
    ],
)
def second_logits(weights: np.ndarray, T: int, tau: float) -> np.ndarray:
    """Logits whose attention, times Λ + τ, is λ_i on component i."""
    others = T + 1 - len(weights)
    # your turn
    return np.append(np.log(weights) + np.log(others / tau), np.zeros(others))


def _lifted(weights: np.ndarray, T: int, lift: float) -> np.ndarray:
    return np.append(np.log(weights) + lift, np.zeros(T + 1 - len(weights)))


second_logits.mistake(
    "Bare logarithms: the other positions, with logit 0, take most of the attention (erratum 62).",
    lambda weights, T, tau: _lifted(weights, T, 0.0),
)
second_logits.mistake(
    "The attention is right: you lower the others instead of lifting the components. Let the others keep logit 0.",
    lambda weights, T, tau: _lifted(weights, T, lift := np.log((T + 1 - len(weights)) / tau)) - lift,
)
second_logits.mistake(
    "You lift by e^γ. A logit is lifted by γ itself.",
    lambda weights, T, tau: _lifted(weights, T, (T + 1 - len(weights)) / tau),
)
second_logits.mistake(
    "You forgot the output position: it looks at itself, too.",
    lambda weights, T, tau: _lifted(weights, T, np.log((T - len(weights)) / tau)),
)
second_logits.mistake(
    "The components have logits λ_i. The softmax takes exponentials, so give it logarithms.",
    lambda weights, T, tau: np.append(
        weights + np.log((T + 1 - len(weights)) / tau), np.zeros(T + 1 - len(weights))
    ),
)


@exercise(
    "4.6",
    "Balance",
    minutes=10,
    difficulty=2,
    hints=(
        "After rescaling, the squared norm is α²(‖E‖² + ‖b‖²) + ‖F‖²/α². Put s = α² and differentiate.",
        "At the minimum both terms are equal: α⁴ is a ratio of squared norms.",
    ),
    why="The function is the same at every α, so neither norm nor sharpness belongs to the function alone.",
    instances=lambda rng: [(_sizes(rng, h), _sizes(rng, h), 9 * _sizes(rng, h)) for h in (2, 3, 3, 4)],
)
def balance(E: np.ndarray, b: np.ndarray, F: np.ndarray) -> float:
    """The α > 0 at which (αE, αb, F/α) has the smallest norm."""
    first, second = (E**2).sum() + (b**2).sum(), (F**2).sum()
    return (second / first) ** 0.25


balance.mistake(
    "That is α², the ratio of the norms. Take one more root.",
    lambda E, b, F: np.sqrt((F**2).sum() / ((E**2).sum() + (b**2).sum())),
)
balance.mistake(
    "Upside down: F is the large one, so it has to shrink.",
    lambda E, b, F: 1 / balance.solution(E, b, F),
)
balance.mistake(
    "The biases are multiplied by α as well: they count with E.",
    lambda E, b, F: ((F**2).sum() / (E**2).sum()) ** 0.25,
)
balance.mistake(
    "You balance norms that are not squared.",
    lambda E, b, F: (np.linalg.norm(F) / (np.linalg.norm(E) + np.linalg.norm(b))) ** 0.5,
)
