"""The second set of chapter 9: problems for marks. Their solutions stand nowhere else."""

import numpy as np

from flatcube.classroom.problems import problem


def _hessians(rng: np.random.Generator) -> list[tuple]:
    rows = []
    for p, k in ((4, 1), (5, 2), (6, 3)):
        turn, _ = np.linalg.qr(rng.normal(size=(p, p)))
        H = (turn * np.concatenate([rng.uniform(5, 30, k), rng.uniform(0.1, 2, p - k)])) @ turn.T
        rows.append(
            (((H + H.T) / 2).round(4), rng.normal(0, 2, p).round(1), k, round(float(rng.uniform(0.01, 0.3)), 2))
        )
    return rows


@problem(
    "9.A",
    "A step beside the walls",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
A loss begins with $\frac12\Delta^\top H\Delta$, where $H$ is symmetric. The vector $\Delta$ is random, of length
$\rho\|\theta\|$, and it avoids the $k$ steepest directions: it is at right angles to the eigenvectors of the $k$
largest eigenvalues, and all directions that are left are equally likely. Compute the mean of
$\frac12\Delta^\top H\Delta$.
""",
    hints=(
        "In the basis of eigenvectors the quadratic form is a sum of squares. Which of them are zero?",
        "Each of the directions that are left has the same mean square. How many are there?",
    ),
    why="In many networks a few directions make most of the trace: beside them the same minimum looks flat.",
    instances=_hessians,
)
def calm_sharpness(H: np.ndarray, theta: np.ndarray, k: int, rho: float) -> float:
    """The mean of Δ·HΔ/2 over Δ of length rho·‖theta‖ without the k steepest directions."""
    calm = np.linalg.eigvalsh(H)[: len(H) - k]
    return rho**2 * (theta @ theta) * np.mean(calm) / 2


def _half(H: np.ndarray, theta: np.ndarray, rho: float, mean: float) -> float:
    return rho**2 * (theta @ theta) * mean / 2


calm_sharpness.mistake(
    "You divide by the number of all directions. The shift has only those that are left.",
    lambda H, theta, k, rho: _half(H, theta, rho, np.linalg.eigvalsh(H)[: len(H) - k].sum() / len(H)),
)
calm_sharpness.mistake(
    "You use the whole trace. The steepest directions are avoided.",
    lambda H, theta, k, rho: _half(H, theta, rho, np.trace(H) / len(H)),
)
calm_sharpness.mistake(
    "You leave out the flattest directions. The steepest are to be avoided.",
    lambda H, theta, k, rho: _half(H, theta, rho, np.linalg.eigvalsh(H)[k:].mean()),
)
calm_sharpness.mistake(
    "The ½ of the second-order term is missing.",
    lambda H, theta, k, rho: 2 * calm_sharpness.solution(H, theta, k, rho),
)
calm_sharpness.mistake(
    "The length of the weights is missing: the shift has length ρ‖θ‖.",
    lambda H, theta, k, rho: _half(H, np.ones(1), rho, np.linalg.eigvalsh(H)[: len(H) - k].mean()),
)
calm_sharpness.mistake(
    "That is the worst of the directions that are left. The mean is asked for.",
    lambda H, theta, k, rho: _half(H, theta, rho, np.linalg.eigvalsh(H)[len(H) - k - 1]),
)
calm_sharpness.mistake(
    "You cross out the largest entries of the diagonal. The steepest directions are eigenvectors, not axes.",
    lambda H, theta, k, rho: _half(H, theta, rho, np.sort(np.diag(H))[: len(H) - k].mean()),
)


def _ravines(rng: np.random.Generator) -> list[tuple]:
    return [
        (round(float(rng.uniform(4, 20)), 1), round(float(rng.uniform(0.2, 0.4)), 2), int(N), 0.1)
        for N in rng.choice(np.arange(3, 8), 3, replace=False)
    ]


@problem(
    "9.B",
    "What the Hessian would promise",
    points=3,
    minutes=12,
    difficulty=2,
    text=r"""
Up to its breaking point the loss of a sensitive network is $L_\rho=a\rho^2+(b\rho N^2)^4$. The first term is what the
Hessian sees; the second grows with the number $N$ of positions. The network breaks at the $\rho$ where $L_\rho$
reaches `level`. Somebody who knows $a$ alone would predict another $\rho$. By which factor is this prediction **too
large**?
""",
    hints=(
        "Write u for the square of ρ. What kind of equation is that?",
        "Only one of its solutions is positive. Take the root of it, and compare with the ρ at which the first term "
        "alone reaches the level.",
    ),
    why="The Hessian is right at ρ = 0, and the factor grows like N²: its territory shrinks, its promise does not.",
    instances=_ravines,
)
def broken_promise(a: float, b: float, N: int, level: float) -> float:
    """The rho that the Hessian predicts, divided by the rho at which a·rho² + (b·rho·N²)⁴ is the level."""
    fourth = (b * N**2) ** 4
    # your turn
    u = (np.sqrt(a**2 + 4 * fourth * level) - a) / (2 * fourth)
    return np.sqrt(level / a) / np.sqrt(u)


def _broken(a: float, fourth: float, level: float) -> float:
    """The ρ at which a ρ² + fourth ρ⁴ is the level, in a form that does not cancel."""
    return np.sqrt(2 * level / (a + np.sqrt(a**2 + 4 * fourth * level)))


broken_promise.mistake(
    "You neglect the Hessian's own term in the true loss. It is not small here.",
    lambda a, b, N, level: np.sqrt(level / a) / (level**0.25 / (b * N**2)),
)
broken_promise.mistake(
    "Upside down: the prediction stands above, and the truth below.",
    lambda a, b, N, level: 1 / broken_promise.solution(a, b, N, level),
)
broken_promise.mistake(
    "That is the square of the factor. The unknown of your equation is ρ², not ρ.",
    lambda a, b, N, level: broken_promise.solution(a, b, N, level) ** 2,
)
broken_promise.mistake(
    "You raise only ρ to the fourth power. The whole of bρN² is raised.",
    lambda a, b, N, level: np.sqrt(level / a) / _broken(a, b * N**2, level),
)
broken_promise.mistake(
    "That is the ρ at which the network breaks. The factor is asked for.",
    lambda a, b, N, level: _broken(a, (b * N**2) ** 4, level),
)
broken_promise.mistake(
    "You give the factor by which the loss exceeds the Hessian's at the predicted ρ. Compare the two ρ.",
    lambda a, b, N, level: 1 + (b * N**2) ** 4 * level / a**2,
)


def _weights(coefficients: np.ndarray) -> np.ndarray:
    """The Fourier weight of every degree."""
    sizes = np.bitwise_count(np.arange(len(coefficients)))
    return np.bincount(sizes, coefficients**2)


def _cuts(coefficients: np.ndarray, left: float) -> np.ndarray:
    """For each cut k = 0, …, n − 1 by how much the two norms above it differ at least."""
    above = _weights(coefficients)[::-1].cumsum()[::-1][1:]
    return np.sqrt(above) - np.sqrt(left / np.arange(1, len(above) + 1))


def _pairs(rng: np.random.Generator) -> list[tuple]:
    """Spectra and a sensitivity that is left: the best cut is inside, and not at half the average sensitivity."""
    rows = []
    for n in (4, 5, 6):
        sizes = np.bitwise_count(np.arange(2**n))
        while True:
            coefficients = rng.normal(size=2**n) * rng.uniform(0, 1, n + 1)[sizes]
            coefficients = (coefficients / np.linalg.norm(coefficients)).round(3) + 0.0
            left = round(float(rng.uniform(0.1, 0.4)), 2)
            cuts, k = _cuts(coefficients, left), int(_cuts(coefficients, left).argmax())
            if (
                0 < k < n - 1
                and _halved(coefficients) not in (0, k)
                and cuts[k] > 0.1
                and _weights(coefficients)[k] > 0.01
            ):
                break
        rows.append((coefficients, left))
    return rows


@problem(
    "9.C",
    "A promise from the spectrum",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
The chapter's lemma knows only the average sensitivity of $f$. You know all of its Fourier coefficients (index $S$ is a
mask), but of $g$ only that its average sensitivity is at most $\nu$ (`left`). Choose a degree $k$ from 0 to $n-1$ and
compare the parts of $f$ and $g$ at degrees **above** $k$: by the triangle inequality their distance is at least the
difference of their norms. What is the best lower bound on $\mathbb E(f-g)^2$ that one gets in this way, over all $k$?
""",
    hints=(
        "Above k all degrees are at least k + 1. How much Fourier weight can g have there, if the sum of weight times "
        "degree is at most ν?",
        "Where f has the smaller norm the difference is negative and says nothing: one may square only what is "
        "positive.",
    ),
    why="With the whole spectrum in hand no α is needed: the best cut is where f still has weight and g can have none.",
    instances=_pairs,
)
def spectral_promise(coefficients: np.ndarray, left: float) -> float:
    """The best lower bound on E(f − g)² over all cuts k, if as(g) ≤ left."""
    sizes = np.bitwise_count(np.arange(len(coefficients)))
    best = 0.0
    # your turn
    for k in range(sizes.max()):
        norm = np.sqrt(np.sum(coefficients[sizes > k] ** 2))
        best = max(best, norm - np.sqrt(left / (k + 1)))
    return best**2


def _halved(coefficients: np.ndarray) -> int:
    """The cut at half the average sensitivity."""
    return int(np.bitwise_count(np.arange(len(coefficients))) @ coefficients**2 / 2)


spectral_promise.mistake(
    "You subtract the weights. It is the norms that differ by at most the distance: take roots first.",
    lambda c, left: np.max(_weights(c)[::-1].cumsum()[::-1][1:] - left / np.arange(1, len(_weights(c)))),
)
spectral_promise.mistake(
    "That is a bound on the distance. The mean square is its square.", lambda c, left: np.max(_cuts(c, left))
)
spectral_promise.mistake(
    "You cut at half the average sensitivity of f. Here every cut may be tried.",
    lambda c, left: max(_cuts(c, left)[min(_halved(c), len(_cuts(c, left)) - 1)], 0) ** 2,
)
spectral_promise.mistake(
    "You let g keep all of ν at every cut. Weight at degree k + 1 costs k + 1 times as much sensitivity.",
    lambda c, left: max(np.max(np.sqrt(_weights(c)[::-1].cumsum()[::-1][1:]) - np.sqrt(left)), 0) ** 2,
)
spectral_promise.mistake(
    "You count degree k among those above k for f, but not for g.",
    lambda c, left: (
        np.max(np.sqrt(_weights(c)[::-1].cumsum()[::-1][:-1]) - np.sqrt(left / np.arange(1, len(_weights(c))))) ** 2
    ),
)
spectral_promise.mistake(
    "You compare with a g that keeps nothing. It may keep a sensitivity of ν.",
    lambda c, left: _weights(c)[1:].sum(),
)
