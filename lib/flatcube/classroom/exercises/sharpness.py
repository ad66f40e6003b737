"""The exercises of chapter 9. Each solution is followed by the mistakes that its check recognises."""

import numpy as np

from flatcube.classroom.exercises import exercise


def _shaken(rng: np.random.Generator) -> list[tuple]:
    """Outputs before and after several shifts; the mean change is not zero."""
    shapes = ((3, 5), (4, 8), (6, 4))
    drawn = [(rng.permutation(np.resize([-1.0, 1.0, 1.0], m)), K) for K, m in shapes]
    return [(before, before + rng.normal(0.3, 0.8, (K, len(before))).round(2)) for before, K in drawn]


@exercise(
    "9.1",
    "Shake and measure",
    minutes=5,
    difficulty=1,
    hints=(
        "Take the change of every output, square it, and average over inputs and directions.",
        "`after - before` has one row for every direction.",
    ),
    why="This is average-direction sharpness: everything in this chapter is made of such means.",
    instances=_shaken,
)
def loss(before: np.ndarray, after: np.ndarray) -> float:
    """L from outputs before (inputs,) and after (directions, inputs)."""
    return np.mean((after - before) ** 2)


loss.mistake("You take absolute changes: that is ShOp. L squares them.", lambda b, a: np.mean(np.abs(a - b)))
loss.mistake(
    "You took a square root at the end. L is the mean of the squares.", lambda b, a: np.mean((a - b) ** 2) ** 0.5
)
loss.mistake(
    "You average over the directions first and square then: opposite changes cancel.",
    lambda b, a: np.mean((a.mean(axis=0) - b) ** 2),
)
loss.mistake(
    "That is the variance of the changes. Their mean counts as a change, too.",
    lambda b, a: np.var(a - b),
)
loss.mistake("You add everything up. Average over inputs and directions.", lambda b, a: np.sum((a - b) ** 2))
loss.mistake("You add up over the inputs. Average over them.", lambda b, a: np.mean(((a - b) ** 2).sum(axis=1)))
loss.mistake(
    "You divide by the variance of the outputs. That is L/Var f, which the chapter shows beside L.",
    lambda b, a: np.mean((a - b) ** 2) / np.var(b),
)


def _directions(rng: np.random.Generator) -> list[tuple]:
    return [(rng.normal(0, 2, d).round(1), rng.normal(size=d).round(2), r) for d, r in ((3, 0.1), (5, 0.01), (8, 0.3))]


@exercise(
    "9.2",
    "A fair shift",
    minutes=6,
    difficulty=1,
    hints=(
        "First give g length one. How long should the shift be?",
        "Its length is ρ times the length of theta.",
    ),
    why="Gaussian vectors prefer no direction, so g/‖g‖ is uniform on the sphere; ρ‖θ‖ makes networks comparable.",
    instances=_directions,
)
def shift(theta: np.ndarray, g: np.ndarray, rho: float) -> np.ndarray:
    """The shift along g whose length is rho times the length of theta."""
    return rho * np.linalg.norm(theta) * g / np.linalg.norm(g)


def _length(v):
    return np.linalg.norm(v)


shift.mistake("Your shift has length ρ. It should be ρ times the length of theta.", lambda t, g, r: r * g / _length(g))
shift.mistake("You use g as it is: then its length is left to chance.", lambda t, g, r: r * _length(t) * g)
shift.mistake(
    "You divide by √D, the typical length of a Gaussian vector. This one has its own.",
    lambda t, g, r: r * _length(t) * g / np.sqrt(len(g)),
)
shift.mistake("Every weight moves by a share of itself. The direction should be that of g.", lambda t, g, r: r * t)
shift.mistake(
    "That is the shifted theta. Only the shift is asked for.", lambda t, g, r: t + r * _length(t) * g / _length(g)
)
shift.mistake(
    "That is noise of standard deviation ρ: its length grows with the number of weights.", lambda t, g, r: r * g
)


@exercise(
    "9.3",
    "A trace without a Hessian",
    minutes=8,
    difficulty=2,
    hints=(
        "Where the loss is zero the Hessian is 2 E[g gᵀ], g the gradient of the output. What is the trace of g gᵀ?",
        "Tr(g gᵀ) is the sum of the squared entries of g.",
    ),
    why="So a trace over 200,000 weights costs one gradient per input, and no Hessian is ever formed.",
    instances=lambda rng: [(rng.normal(0.4, 1, shape).round(2),) for shape in ((4, 3), (6, 5), (3, 8))],
)
def trace(gradients: np.ndarray) -> float:
    """Tr of the Hessian of the mean squared loss, from gradients of f (inputs, weights), where the loss is zero."""
    return 2 * np.mean(np.sum(gradients**2, axis=1))


trace.mistake("A factor is missing: the second derivative of a square is 2.", lambda g: np.mean(np.sum(g**2, axis=1)))
trace.mistake(
    "You average the gradients before you square them. They must not cancel.", lambda g: 2 * np.sum(g.mean(axis=0) ** 2)
)
trace.mistake("You add up over the inputs. The loss is a mean.", lambda g: 2 * np.sum(g**2))
trace.mistake("You average over the weights as well. A trace adds up.", lambda g: 2 * np.mean(g**2))
trace.mistake("You take lengths, not their squares.", lambda g: 2 * np.mean(np.linalg.norm(g, axis=1)))


@exercise(
    "9.4",
    "The flattest of all copies",
    minutes=8,
    difficulty=2,
    hints=(
        "Differentiate front/α² + back·α² by α². Where does it vanish?",
        "At α² = √(front/back) both terms are equal.",
    ),
    why="The same function has a whole family of traces. A number for flatness means little before a member is chosen.",
    instances=lambda rng: [tuple(map(float, rng.uniform(1, 90, 3).round(1))) for _ in range(3)],
)
def flattest(front: float, back: float, rest: float) -> float:
    """The least value of front/α² + back·α² + rest over all α > 0."""
    return 2 * np.sqrt(front * back) + rest


flattest.mistake("That is the trace at α = 1. Another α does better.", lambda f, b, r: f + b + r)
flattest.mistake("The part that does not change is missing.", lambda f, b, r: 2 * np.sqrt(f * b))
flattest.mistake("Both terms are equal at the minimum, and both count.", lambda f, b, r: np.sqrt(f * b) + r)
flattest.mistake("That is the best α², not the value there.", lambda f, b, r: np.sqrt(f / b))
flattest.mistake("That is the best α, not the value there.", lambda f, b, r: (f / b) ** 0.25)


def _laws(rng: np.random.Generator) -> list[tuple]:
    drawn = []
    for slope in (-2, -0.5, -1):
        n = np.array([8.0, 24, 72, 216, 648])
        drawn.append((n, 0.3 * n ** (slope + rng.normal(0, 0.1)) * np.exp(rng.normal(0, 0.2, 5))))
    return drawn


@exercise(
    "9.5",
    "Read off an exponent",
    minutes=6,
    difficulty=1,
    hints=(
        "A power law ρ = c·nᵖ is a straight line once both axes are logarithmic.",
        "`np.polyfit(x, y, 1)` returns slope and intercept of the line through points (x, y).",
    ),
    why="PARITY's exponent near −2 and MAJORITY's near −½ are found in this way.",
    instances=_laws,
)
def exponent(n: np.ndarray, rho: np.ndarray) -> float:
    """The p of the power law rho = c·n**p that fits best."""
    return np.polyfit(np.log(n), np.log(rho), 1)[0]


exponent.mistake(
    "That is a straight line through the numbers themselves. Take logarithms.", lambda n, r: np.polyfit(n, r, 1)[0]
)
exponent.mistake(
    "You take the logarithm of ρ only: that fits an exponential.", lambda n, r: np.polyfit(n, np.log(r), 1)[0]
)
exponent.mistake("You take the logarithm of n only.", lambda n, r: np.polyfit(np.log(n), r, 1)[0])
exponent.mistake("Axes exchanged: that is n as a power of ρ.", lambda n, r: np.polyfit(np.log(r), np.log(n), 1)[0])
exponent.mistake(
    "That is the intercept, log c. The slope comes first.", lambda n, r: np.polyfit(np.log(n), np.log(r), 1)[1]
)
exponent.mistake(
    "You join the first point and the last. A fit uses all of them.",
    lambda n, r: np.log(r[-1] / r[0]) / np.log(n[-1] / n[0]),
)


@exercise(
    "9.6",
    "The best alpha",
    minutes=10,
    difficulty=3,
    hints=(
        "Write the bound for one α first, with ‖T‖ = 1. Then take the largest of the list.",
        "The chapter displays the bound below Lemma 21. `alphas` is an array, so one line computes it for all of them.",
    ),
    why="HR fix α = 2. A shifted network that keeps no sensitivity allows any α, and the bound tends to μ itself.",
    instances=lambda rng: [
        (round(float(rng.uniform(0.4, 0.9)), 2), float(nu), np.array([1.5, 2, 4, 8, 20])) for nu in (1e-4, 1e-3, 1e-5)
    ],
)
def promise(mu: float, nu: float, alphas: np.ndarray) -> float:
    """The largest lower bound on E(T − T′)² over the alphas, for as(T) = μn and as(T′) = νn."""
    return np.max((1 - 1 / alphas) * mu / (1 - mu / alphas) - 2 * np.sqrt(alphas * nu))


def _bounds(mu, nu, alphas, back=2.0, under=True):
    alphas = np.asarray(alphas, float)
    kept = (1 - 1 / alphas) * mu / ((1 - mu / alphas) if under else 1)
    return kept - back * np.sqrt(alphas * nu)


def _parts(mu, nu, alphas):
    return np.sqrt((1 - 1 / alphas) * mu / (1 - mu / alphas)) - np.sqrt(alphas * nu / mu)


promise.mistake(
    "That is Lemma 21 itself, a bound on the root of the mean square. Use its square, displayed below it.",
    lambda m, v, a: _parts(m, v, a).max(),
)
promise.mistake(
    "That is the full square of Lemma 21, which holds as well. Asked for is the simpler bound displayed below it.",
    lambda m, v, a: (_parts(m, v, a) ** 2).max(),
)
promise.mistake("That is the bound for α = 2 alone, HR's choice.", lambda m, v, a: _bounds(m, v, [2.0])[0])
promise.mistake(
    "That is the smallest of the bounds. All of them hold, so the largest counts.",
    lambda m, v, a: _bounds(m, v, a).min(),
)
promise.mistake(
    "You forget what the shifted network keeps: subtract 2√(αν).", lambda m, v, a: _bounds(m, v, a, back=0).max()
)
promise.mistake("The denominator 1 − μ/α is missing.", lambda m, v, a: _bounds(m, v, a, under=False).max())
promise.mistake("The last term has a factor 2.", lambda m, v, a: _bounds(m, v, a, back=1).max())
promise.mistake("You return the best α. Its bound is asked for.", lambda m, v, a: a[_bounds(m, v, a).argmax()])
