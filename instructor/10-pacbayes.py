"""The second set of chapter 10: problems for marks. Their solutions stand nowhere else."""

import math

import numpy as np

from flatcube.classroom.problems import problem


def _clouds(rng: np.random.Generator) -> list[tuple]:
    return [
        (
            rng.normal(size=n).round(1) + 0.55,
            rng.uniform(0.1, 0.6, n).round(2),
            rng.normal(size=n).round(1),
            float(rng.integers(7, 20)) / 10,
        )
        for n in (2, 4, 7)
    ]


@problem(
    "10.A",
    "A cloud that began elsewhere",
    points=4,
    minutes=15,
    difficulty=2,
    text=r"""
The prior of the chapter sits at the origin. A better one sits where training began: it does not know the examples
yet, either. Let the prior be $\mathcal N(v,\sigma^2 I)$ with the initial weights $v$ (`start`), and let every weight
have noise of its own, so that the posterior is $\mathcal N(\theta,\mathrm{diag}(s_1^2,\dots,s_n^2))$. Compute the
divergence $\mathrm{KL}(\text{posterior}\,\|\,\text{prior})$.
""",
    hints=(
        "Independent weights: begin with one of them, and add up. What is the mean square of a weight's distance from "
        "the prior's centre, under the posterior?",
        "Three things cost: how far the centre has moved, how wide the noise is beside σ, and how much higher a narrow "
        "density is. Each of the n weights has its own.",
    ),
    why="Only the way from the start counts, not the length of the weights: a network that hardly moves pays little.",
    instances=_clouds,
)
def moved_divergence(theta: np.ndarray, s: np.ndarray, start: np.ndarray, sigma: float) -> float:
    """KL of N(theta, diag(s²)) from N(start, sigma² I)."""
    ratio = (s / sigma) ** 2
    return np.sum((theta - start) ** 2) / (2 * sigma**2) + np.sum(ratio - 1 - np.log(ratio)) / 2


def _kl(moved: np.ndarray, s: np.ndarray, sigma: float, *, widths: float = 1.0, logs: float = 1.0) -> float:
    ratio = (s / sigma) ** 2
    return moved @ moved / (2 * sigma**2) + widths * np.sum(ratio - 1 - logs * np.log(ratio)) / 2


moved_divergence.mistake(
    "Your prior sits at the origin. Here it sits at `start`.", lambda theta, s, start, sigma: _kl(theta, s, sigma)
)
moved_divergence.mistake(
    "You compute what the way costs, and leave out the widths of the two clouds.",
    lambda theta, s, start, sigma: _kl(theta - start, s, sigma, widths=0.0),
)
moved_divergence.mistake(
    "You measure the way in units of the posterior's noise. It is the prior that is surprised: its unit is σ.",
    lambda theta, s, start, sigma: np.sum(((theta - start) / s) ** 2) / 2 + _kl(0 * theta, s, sigma),
)
moved_divergence.mistake(
    "The logarithm of the widths is missing: a narrow density is higher.",
    lambda theta, s, start, sigma: _kl(theta - start, s, sigma, logs=0.0),
)
moved_divergence.mistake(
    "That is the divergence the other way round, of the prior from the posterior.",
    lambda theta, s, start, sigma: (
        np.sum(((theta - start) / s) ** 2) / 2 + np.sum((sigma / s) ** 2 - 1 - 2 * np.log(sigma / s)) / 2
    ),
)
moved_divergence.mistake(
    "You give all weights the mean noise. A weight with little noise costs more than one with much saves.",
    lambda theta, s, start, sigma: _kl(theta - start, np.full_like(s, s.mean()), sigma),
)


def _grids(rng: np.random.Generator) -> list[tuple]:
    rows = []
    for m in (200, 1000, 5000):
        t = np.geomspace(4, 400, int(rng.integers(5, 9))).round(1)
        rows.append((round(rng.uniform(0.05, 0.3), 3), round(rng.uniform(3, 25), 1), m, 0.5, 0.05, t))
    return rows


@problem(
    "10.B",
    "Choosing t afterwards",
    points=3,
    minutes=12,
    difficulty=2,
    text=r"""
Catoni's inequality has a parameter $t>0$ that must be chosen before the examples are seen: with probability at least
$1-\delta$, for all posteriors,

$$\text{risk}\;\le\;\text{loss}+\frac{\mathrm{KL}+\log(1/\delta)}{t}+\frac{t\,C^2}{2m}.$$

Nobody knows the best $t$ beforehand. So we name a few, the array `t`, and take the one that turns out best **after**
the examples were seen. Give the bound that is still true then.
""",
    hints=(
        "Each of the values of t has examples for which its inequality fails. You need all of them to hold at once.",
        "Give each value of t an equal part of δ; then compute all the bounds, and choose.",
    ),
    why="The choice among K values costs the logarithm of K, divided by t. That is cheap, but it is not free.",
    instances=_grids,
)
def catoni_grid(loss: float, kl: float, m: int, C: float, delta: float, t: np.ndarray) -> float:
    """The least of the bounds, one for each t, that hold together with probability 1 − delta."""
    return np.min(loss + (kl + np.log(len(t) / delta)) / t + t * C**2 / (2 * m))


def _bounds(loss, kl, m, C, delta, t, *, parts=1.0, weight=0.5):
    return loss + (kl + np.log(parts / delta)) / t + weight * t * C**2 / m


catoni_grid.mistake(
    "You choose t after the examples were seen, and pay nothing for the choice.",
    lambda *given: np.min(_bounds(*given)),
)
catoni_grid.mistake(
    "You give each t a δ that is larger than the whole. Each of the statements has to be surer than one alone.",
    lambda loss, kl, m, C, delta, t: np.min(_bounds(loss, kl, m, C, delta, t, parts=1 / len(t))),
)
catoni_grid.mistake(
    "You give the first value of t. Any may be chosen, at the same price.",
    lambda loss, kl, m, C, delta, t: _bounds(loss, kl, m, C, delta, t, parts=len(t))[0],
)
catoni_grid.mistake(
    "You give the mean over t. The least of the bounds is true as well, once all of them hold.",
    lambda loss, kl, m, C, delta, t: np.mean(_bounds(loss, kl, m, C, delta, t, parts=len(t))),
)
catoni_grid.mistake(
    "The last term has lost its ½.",
    lambda loss, kl, m, C, delta, t: np.min(_bounds(loss, kl, m, C, delta, t, parts=len(t), weight=1.0)),
)


def _programs(rng: np.random.Generator) -> list[tuple]:
    return [
        (round(rng.uniform(0.01, 0.2), 3), int(rng.integers(20, 200)), m, 0.05) for m in (500, 2000, 10000)
    ] + [(0.0, int(rng.integers(20, 100)), 1000, 0.05)]


@problem(
    "10.C",
    "A network in so many bits",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
A network is written down in `bits` bits, by a code that was fixed before the examples were seen. Take as prior the
uniform distribution over all $2^{\text{bits}}$ such networks, and as posterior this one network, without any noise.
Its error on $m$ examples is $\hat p$. The kl inequality says that with probability at least $1-\delta$ the true error
$q$ satisfies

$$\mathrm{kl}(\hat p\,\|\,q)\le\frac{\mathrm{KL}+\log(2\sqrt m/\delta)}{m},\qquad
\mathrm{kl}(p\|q)=p\log\frac pq+(1-p)\log\frac{1-p}{1-q}.$$

What is KL here? Give the largest $q$ that the inequality allows; $\hat p$ may be 0. All logarithms are natural.
""",
    hints=(
        "The posterior puts all of its weight on one network. How many times as much is that as the prior gives it?",
        "kl grows from 0 as q moves up from p̂, so halve an interval again and again. At p̂ = 0 its first term is 0.",
    ),
    why="No sharpness, no noise: what can be said in few bits cannot overfit. It is Occam's razor with a number.",
    instances=_programs,
)
def promised_error(loss: float, bits: int, m: int, delta: float) -> float:
    """The largest error that the kl inequality allows for one of 2^bits networks."""
    budget = (bits * np.log(2) + np.log(2 * np.sqrt(m) / delta)) / m
    low, high = loss, 1.0
    for _ in range(100):
        q = (low + high) / 2
        first = loss * np.log(loss / q) if loss > 0 else 0.0
        low, high = (q, high) if first + (1 - loss) * np.log((1 - loss) / (1 - q)) <= budget else (low, q)
    return (low + high) / 2


def _largest(p: float, budget: float) -> float:
    low, high = p, 1.0
    for _ in range(100):
        q = (low + high) / 2
        spent = (p * math.log(p / q) if p else 0.0) + (1 - p) * math.log((1 - p) / (1 - q))
        low, high = (q, high) if spent <= budget else (low, q)
    return (low + high) / 2


def _budget(bits: float, m: int, delta: float, root: bool = True) -> float:
    return (bits + math.log((2 * math.sqrt(m) if root else 1) / delta)) / m


promised_error.mistake(
    "You take the number of bits for the divergence. Natural logarithms count in other units than bits.",
    lambda p, bits, m, delta: _largest(p, _budget(bits, m, delta)),
)
promised_error.mistake(
    "Your divergence is 0. A posterior on one network is far from a prior that is spread over all.",
    lambda p, bits, m, delta: _largest(p, _budget(0, m, delta)),
)
promised_error.mistake(
    "The confidence costs log(2√m/δ) in the kl inequality, not log(1/δ).",
    lambda p, bits, m, delta: _largest(p, _budget(bits * math.log(2), m, delta, root=False)),
)
promised_error.mistake(
    "You add √(budget/2), which Pinsker's inequality allows. The kl inequality promises less.",
    lambda p, bits, m, delta: p + math.sqrt(_budget(bits * math.log(2), m, delta) / 2),
)
promised_error.mistake(
    "You add the whole budget to the error, as if kl were a difference.",
    lambda p, bits, m, delta: p + _budget(bits * math.log(2), m, delta),
)
promised_error.mistake(
    "With errors it is right; without any, your promise is no error at all. There the first term of kl is 0.",
    lambda p, bits, m, delta: _largest(p, _budget(bits * math.log(2), m, delta)) if p else 0.0,
)


def _landscapes(rng: np.random.Generator) -> list[tuple]:
    rows = []
    for n in (3, 4, 6):
        root = rng.normal(size=(n, n))
        rows.append(((root @ root.T).round(2), rng.uniform(0.1, 0.9, n).round(2)))
    return rows


@problem(
    "10.D",
    "Noise on a bowl",
    points=2,
    minutes=8,
    difficulty=1,
    text=r"""
Near a minimum a loss is a bowl: $\ell(\theta+v)=\ell(\theta)+\frac12v^\top Hv$. Shake every weight with Gaussian
noise of its own, $v_i\sim\mathcal N(0,s_i^2)$, independently. By how much does the loss rise on average?
""",
    hints=(
        "Write the quadratic form as a double sum. Which of the products v_i·v_j have a mean that is not 0?",
        "Only the diagonal of H is left, each entry with the mean square of its own noise.",
    ),
    why="With one s for all it is s²/2 times the trace. With many, noise can go where the bowl is flat.",
    instances=_landscapes,
)
def noise_cost(hessian: np.ndarray, s: np.ndarray) -> float:
    """The mean of v·H·v/2 for independent v_i ~ N(0, s_i²)."""
    return np.sum(np.diag(hessian) * s**2) / 2


noise_cost.mistake("The ½ of the bowl is missing.", lambda H, s: np.diag(H) @ s**2)
noise_cost.mistake(
    "You multiply with the standard deviations. The mean of v² is the variance.", lambda H, s: np.diag(H) @ s / 2
)
noise_cost.mistake(
    "You put s in the place of v. Independent noises do not agree in sign: off the diagonal they cancel.",
    lambda H, s: s @ H @ s / 2,
)
noise_cost.mistake(
    "You use the trace with the mean of all s². Each weight has its own noise.",
    lambda H, s: np.trace(H) * np.mean(s**2) / 2,
)
noise_cost.mistake(
    "You use the eigenvalues in some order. The noise is along the weights, not along the bowl's axes.",
    lambda H, s: np.linalg.eigvalsh(H) @ s**2 / 2,
)
