"""The exercises of chapter 10. Each solution is followed by the mistakes that its check recognises."""

import math

import numpy as np

from flatcube.classroom.exercises import exercise


@exercise(
    "10.1",
    "What a posterior costs",
    minutes=6,
    difficulty=1,
    hints=(
        "Both Gaussians have the same variance, so only the distance of their centres counts, in units of σ.",
        "KL is the mean of log ρ(v)/π(v) for v drawn from ρ. Expand both exponents; what remains is ‖θ‖² over a "
        "multiple of σ².",
    ),
    why="Twice the noise costs a quarter. That is why a PAC-Bayes bound loves networks that bear noise.",
    instances=lambda rng: [(rng.normal(size=n).round(1) + 0.5, float(rng.integers(1, 9)) / 10) for n in (3, 5, 8)],
)
def divergence(theta: np.ndarray, sigma: float) -> float:
    """KL of N(theta, sigma² I) from N(0, sigma² I)."""
    return np.sum(theta**2) / (2 * sigma**2)


divergence.mistake("The factor 2 below is missing.", lambda theta, sigma: theta @ theta / sigma**2)
divergence.mistake(
    "You divide by σ. The exponent of a Gaussian has σ² in it.", lambda theta, sigma: theta @ theta / (2 * sigma)
)
divergence.mistake(
    "You take the norm of theta. It is its square that counts.",
    lambda theta, sigma: np.linalg.norm(theta) / (2 * sigma**2),
)
divergence.mistake(
    "You average over the weights. The divergence of independent coordinates adds up.",
    lambda theta, sigma: np.mean(theta**2) / (2 * sigma**2),
)
divergence.mistake(
    "You multiply by σ². More noise must make the two harder to tell apart, hence cheaper.",
    lambda theta, sigma: theta @ theta * sigma**2 / 2,
)


def _inequalities(rng: np.random.Generator) -> list[tuple]:
    return [(float(rng.integers(5, 200)), 10**k, float(rng.integers(1, 20)) / 10, 0.05) for k in (3, 4, 6)]


@exercise(
    "10.2",
    "The best temperature",
    minutes=8,
    difficulty=1,
    hints=(
        "You look for the least value of aη + b/η. Where are the two terms equal?",
        "Set the derivative a − b/η² to zero, with a = C²/2m and b = KL + log(1/δ). What is the sum at that η?",
    ),
    why="The square root of KL over m: this form is only allowed if KL was known before the examples were seen.",
    instances=_inequalities,
)
def excess(kl: float, m: int, C: float, delta: float) -> float:
    """The least value over η > 0 of η C²/(2m) + (kl + log(1/δ))/η."""
    return C * np.sqrt(2 * (kl + np.log(1 / delta)) / m)


excess.mistake(
    "That is what one of the two terms is at the best η. Add the other, which is equal.",
    lambda kl, m, C, delta: C * math.sqrt((kl + math.log(1 / delta)) / (2 * m)),
)
excess.mistake(
    "That is the best η, not the value of the bound there.",
    lambda kl, m, C, delta: math.sqrt(2 * m * (kl + math.log(1 / delta))) / C,
)
excess.mistake(
    "The confidence is missing: log(1/δ) stands beside KL.", lambda kl, m, C, delta: C * math.sqrt(2 * kl / m)
)
excess.mistake(
    "You add log δ, which is negative. It is log(1/δ).",
    lambda kl, m, C, delta: C * math.sqrt(max(2 * (kl + math.log(delta)) / m, 0)),
)
excess.mistake(
    "You put η = m. That is a fixed choice, and here not the best.",
    lambda kl, m, C, delta: C**2 / 2 + (kl + math.log(1 / delta)) / m,
)
excess.mistake(
    "Your C is squared. It is C² that stands under the root; only C comes out of it.",
    lambda kl, m, C, delta: C**2 * math.sqrt(2 * (kl + math.log(1 / delta)) / m),
)


def _accounts(rng: np.random.Generator) -> list[tuple]:
    return [(float(rng.integers(500, 5000)), float(rng.integers(5, 90)) * 1000, 10**k, 0.1) for k in (4, 6, 8)]


@exercise(
    "10.3",
    "How much noise",
    minutes=8,
    difficulty=2,
    hints=(
        "With a = trace/2 and b = C√(norm2/m) you minimise aσ² + b/σ. Differentiate.",
        "The slopes 2aσ and b/σ² must be equal: solve that for σ, and only then put in a and b.",
    ),
    why="At this σ the norm's term is exactly twice the sharpness term, whatever the network.",
    instances=_accounts,
)
def best_sigma(norm2: float, trace: float, m: float, C: float) -> float:
    """The σ with the least sigma²/2 · trace + C √(norm2/m)/sigma."""
    return (C * np.sqrt(norm2 / m) / trace) ** (1 / 3)


def _root(norm2, trace, m, C, factor=1.0, power=1 / 3):
    return (factor * C * math.sqrt(norm2 / m) / trace) ** power


best_sigma.mistake(
    "You make the two terms equal. At the optimum their derivatives cancel, and the second term is twice the first.",
    lambda norm2, trace, m, C: _root(norm2, trace, m, C, 2),
)
best_sigma.mistake(
    "You forgot that sharpness has a factor ½, or that its derivative brings a 2: they cancel.",
    lambda norm2, trace, m, C: _root(norm2, trace, m, C, 0.5),
)
best_sigma.mistake("That is σ³.", lambda norm2, trace, m, C: _root(norm2, trace, m, C, power=1))
best_sigma.mistake(
    "You take the square root. Balancing σ² against 1/σ gives a third power.",
    lambda norm2, trace, m, C: _root(norm2, trace, m, C, power=0.5),
)
best_sigma.mistake(
    "The examples are missing: with more of them less noise is best.",
    lambda norm2, trace, m, C: _root(norm2, trace, 1, C),
)
best_sigma.mistake(
    "You use norm2 as if it were the norm: √norm2 stands in the second term.",
    lambda norm2, trace, m, C: (C * norm2 / math.sqrt(m) / trace) ** (1 / 3),
)


def _groups(rng: np.random.Generator) -> list[tuple]:
    return [(rng.integers(1, 500, n) * 1.0, rng.integers(1, 900, n) * 10.0, 10.0**6, 0.1) for n in (2, 3, 5)]


@exercise(
    "10.4",
    "A sigma for each group",
    minutes=12,
    difficulty=3,
    hints=(
        "Write v for σ². Setting the derivative by v_g to zero, v_g is proportional to a power of norms/traces.",
        "v = c·√(norms/traces). Put that in: with A = Σ√(norms·traces) the objective is cA/2 + C√(A/(cm)). Find c.",
    ),
    why="The bound becomes 3/2 (A²C²/m)^(1/3), and A² ≤ ‖θ‖² · trace by Cauchy and Schwarz: never worse than one σ.",
    instances=_groups,
)
def variances(norms: np.ndarray, traces: np.ndarray, m: float, C: float) -> np.ndarray:
    """The v > 0 with the least sum(v * traces)/2 + C * sqrt(sum(norms / v)/m)."""
    A = np.sqrt(norms * traces).sum()
    return np.cbrt(C**2 / (A * m)) * np.sqrt(norms / traces)


def _scaled(shape, norms, traces, m, C):
    """The best multiple of a given shape of v."""
    a, b = np.sum(shape * traces) / 2, C * math.sqrt(np.sum(norms / shape) / m)
    return shape * (b / (2 * a)) ** (2 / 3)


variances.mistake(
    "All groups get the same variance, the best common one. Flat groups deserve more noise.",
    lambda norms, traces, m, C: _scaled(np.ones(len(norms)), norms, traces, m, C),
)
variances.mistake(
    "Those are standard deviations. The variance is the square.",
    lambda norms, traces, m, C: np.sqrt(np.cbrt(C**2 / (np.sqrt(norms * traces).sum() * m)) * np.sqrt(norms / traces)),
)
variances.mistake(
    "Each group is treated as if it were alone. They share one square root, so one constant c serves all.",
    lambda norms, traces, m, C: np.array(
        [(C * math.sqrt(n / m) / h) ** (2 / 3) for n, h in zip(norms, traces, strict=True)]
    ),
)
variances.mistake(
    "Your v is proportional to norms/traces. The derivative gives its square root.",
    lambda norms, traces, m, C: _scaled(norms / traces, norms, traces, m, C),
)
variances.mistake(
    "Upside down: groups with a large trace must be shaken less.",
    lambda norms, traces, m, C: _scaled(np.sqrt(traces / norms), norms, traces, m, C),
)
variances.mistake("The factor c is missing.", lambda norms, traces, m, C: np.sqrt(norms / traces))


def _samples(rng: np.random.Generator) -> list[tuple]:
    t = np.geomspace(0.1, 30, 40)
    return [(np.square(rng.normal(size=60)).round(2) * scale, t / scale) for scale in (1.0, 0.1, 0.5)]


@exercise(
    "10.5",
    "The sub-Gaussian constant",
    minutes=10,
    difficulty=2,
    hints=(
        "For each t compute the logarithm of the mean of exp(t·(mean − loss)). Which C does this t ask for?",
        "Take logarithms of both sides and solve for C at one t. One C must serve all t of the grid.",
    ),
    why="Losses far above the mean do not hurt here: only the side t > 0, losses below the mean, enters the bound.",
    instances=_samples,
)
def constant(losses: np.ndarray, t: np.ndarray) -> float:
    """The least C with E exp(t(E loss − loss)) ≤ exp(t² C²/2) for every t of the grid."""
    moments = np.exp(t[:, None] * (losses.mean() - losses)).mean(axis=1)
    return np.max(np.sqrt(2 * np.log(moments)) / t)


def _asked(losses, t, sign=1.0, factor=2.0, over=np.max):
    moments = np.exp(sign * np.asarray(t)[:, None] * (losses.mean() - losses)).mean(axis=1)
    return over(np.sqrt(factor * np.log(moments)) / t)


constant.mistake(
    "You look at losses above the mean. The bound needs E exp(t(E loss − loss)): the other side.",
    lambda losses, t: _asked(losses, t, sign=-1.0),
)
constant.mistake("The factor 2 is missing.", lambda losses, t: _asked(losses, t, factor=1.0))
constant.mistake(
    "You take the smallest over t. The inequality must hold for every t.",
    lambda losses, t: _asked(losses, t, over=np.min),
)
constant.mistake("That is C².", lambda losses, t: _asked(losses, t) ** 2)
constant.mistake(
    "That is the standard deviation, what t → 0 asks for; this grid of t asks for something else.",
    lambda losses, t: losses.std(),
)
constant.mistake(
    "That is half the range of the losses, which Hoeffding's lemma allows. It is enough, but not the least.",
    lambda losses, t: (losses.max() - losses.min()) / 2,
)


@exercise(
    "10.6",
    "When it says something",
    minutes=8,
    difficulty=2,
    hints=(
        "At the best σ the bound without δ is 3/2 (C² · trace · norm2/m)^(1/3). Set it equal to the target.",
        "Solve 3/2 (X/m)^(1/3) = target for m, with X = C² · trace · norm2.",
    ),
    why="Half the risk costs eight times the examples: the price of a rate of m to the minus one third.",
    instances=lambda rng: [
        (*trial[:2], trial[3], target) for trial, target in zip(_accounts(rng), (1.0, 0.5, 0.1), strict=True)
    ],
)
def examples(norm2: float, trace: float, C: float, target: float) -> float:
    """The m at which the truncated bound at its best σ, without δ, is the target."""
    return (3 / (2 * target)) ** 3 * C**2 * trace * norm2


examples.mistake(
    "You forgot the factor 3/2 in front of the bound.",
    lambda norm2, trace, C, target: C**2 * trace * norm2 / target**3,
)
examples.mistake(
    "The factor 3/2 is cubed, too, when you solve for m.",
    lambda norm2, trace, C, target: 1.5 * C**2 * trace * norm2 / target**3,
)
examples.mistake(
    "You solve as if the bound fell like 1/√m. It falls like the cube root of 1/m.",
    lambda norm2, trace, C, target: (1.5 / target) ** 2 * C**2 * trace * norm2,
)
examples.mistake(
    "C stands in the bound as C^(2/3), so in m as C².",
    lambda norm2, trace, C, target: (1.5 / target) ** 3 * C * trace * norm2,
)
examples.mistake(
    "The target has to be cubed as well.",
    lambda norm2, trace, C, target: 1.5**3 * C**2 * trace * norm2 / target,
)
