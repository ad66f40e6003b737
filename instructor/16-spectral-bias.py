"""The second set of chapter 16: problems for marks. Their solutions stand nowhere else."""

import math

import numpy as np

from flatcube import cube, fourier
from flatcube.classroom.problems import problem


def _runs(rng: np.random.Generator) -> list[tuple]:
    """Eigenvalues that fall, weights of the degrees, and a rate at which every degree shrinks."""
    rows = []
    for n in (3, 4, 5):
        mu = np.sort(rng.uniform(0.02, 1, n + 1))[::-1].round(3)
        rows.append(
            (mu, rng.uniform(0.05, 1, n + 1).round(2), round(float(rng.uniform(0.2, 0.9)), 2), int(rng.integers(3, 15)))
        )
    return rows


@problem(
    "16.A",
    "Steps instead of time",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
The chapter lets time flow; gradient descent takes steps. With a fixed kernel, a step at the learning rate $\eta$
(`rate`) moves the output by $-\eta\,K(f_t-f)$, where $K$ has the eigenvalue $\mu_k$ on all parities of $k$ bits. At
the start $f_0=0$, and the Fourier weight of the target at degree $k$ is `weights[k]`. What is the loss
$\mathbb E(f_t-f)^2$ after $t$ (`steps`) steps?
""",
    hints=(
        "What does one step do to the missing part along one parity?",
        "The same again in every step. And the loss is made of squares, by Parseval.",
    ),
    why="Below a rate of 2 over the largest μ all shrinks. Too long a step makes the easiest degree explode first.",
    instances=_runs,
)
def stepped_loss(mu: np.ndarray, weights: np.ndarray, rate: float, steps: int) -> float:
    """E (f_t − f)² after so many steps of gradient descent; mu and weights by degree."""
    return np.sum(weights * (1 - rate * mu) ** (2 * steps))


stepped_loss.mistake(
    "That is for time that flows. A step multiplies by 1 − ημ, which is a little less than the exponential.",
    lambda mu, w, rate, steps: np.sum(w * np.exp(-2 * rate * steps * mu)),
)
stepped_loss.mistake(
    "The missing part is multiplied by that, and the loss is its square.",
    lambda mu, w, rate, steps: np.sum(w * (1 - rate * mu) ** steps),
)
stepped_loss.mistake(
    "You have put all the steps into one: each of them begins where the one before has ended.",
    lambda mu, w, rate, steps: np.sum(w * (1 - rate * steps * mu) ** 2),
)
stepped_loss.mistake(
    "That is the weight of what has been learnt. The loss is what is missing.",
    lambda mu, w, rate, steps: np.sum(w * (1 - (1 - rate * mu) ** steps) ** 2),
)
stepped_loss.mistake(
    "You give all degrees the mean eigenvalue. Each degree has a pace of its own.",
    lambda mu, w, rate, steps: np.sum(w) * (1 - rate * np.mean(mu)) ** (2 * steps),
)
stepped_loss.mistake(
    "You count the parities of a degree once more. `weights` has the sum over all of them.",
    lambda mu, w, rate, steps: sum(
        math.comb(len(mu) - 1, k) * w[k] * (1 - rate * mu[k]) ** (2 * steps) for k in range(len(mu))
    ),
)


def _preferences(rng: np.random.Generator) -> list[tuple]:
    return [(rng.permutation(np.linspace(0.15, 0.9, n) + rng.uniform(-0.05, 0.05, n)).round(2),) for n in (3, 4, 5)]


@problem(
    "16.B",
    "A kernel with favourites",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
A kernel need not treat all bits alike. Let $K(x,y)=\prod_{i=1}^n(1+q_i\,x_iy_i)$ with numbers $0<q_i<1$ (`q`). It is
no function of $\langle x,y\rangle$, and yet parities are its eigenfunctions. Give the eigenvalue of
$(Kg)(x)=\mathbb E_yK(x,y)\,g(y)$ for each of them: an array of length $2^n$, in which entry $S$ belongs to the set
with the mask $S$ (bit 1 is the lowest digit).
""",
    hints=(
        "Multiply the product out. Which functions of x and y stand there, and with which coefficients?",
        "Each term is a parity of x times the same parity of y. What does the mean over y leave of it?",
    ),
    why="A pair of favoured bits may be learnt before a single other bit: the order is by eigenvalue, not by degree.",
    instances=_preferences,
)
def favoured_spectrum(q: np.ndarray) -> np.ndarray:
    """The eigenvalue of every parity, by its mask."""
    masks = np.arange(2 ** len(q))
    # your turn
    members = masks[:, None] >> np.arange(len(q)) & 1
    return np.prod(np.where(members == 1, q, 1.0), axis=1)


def _members(q: np.ndarray) -> np.ndarray:
    return (np.arange(2 ** len(q))[:, None] >> np.arange(len(q)) & 1) == 1


favoured_spectrum.mistake(
    "You multiply over the bits that are not in the set. Those contribute their 1.",
    lambda q: np.prod(np.where(_members(q), 1.0, q), axis=1),
)
favoured_spectrum.mistake(
    "You add the numbers of a set. In the product they are multiplied.", lambda q: _members(q) @ q
)
favoured_spectrum.mistake(
    "You treat all bits alike. The eigenvalue depends on which bits are in the set, not only on how many.",
    lambda q: np.mean(q) ** _members(q).sum(axis=1),
)
favoured_spectrum.mistake(
    "You give a bit outside of the set the factor 1 − q. It contributes the 1 of its bracket.",
    lambda q: np.prod(np.where(_members(q), q, 1 - q), axis=1),
)
favoured_spectrum.mistake(
    "You read masks from the other end: bit 1 is the lowest digit.", lambda q: favoured_spectrum.solution(q[::-1])
)
favoured_spectrum.mistake(
    "Those are sums over all y. The mean divides by their number.",
    lambda q: 2 ** len(q) * favoured_spectrum.solution(q),
)


def _learning(rng: np.random.Generator) -> list[tuple]:
    rows = []
    for n in (3, 4, 5):
        table = (rng.normal(size=2**n) + 0.5).round(2)
        mu = np.sort(rng.uniform(0.02, 1, n + 1))[::-1].round(3)
        rows.append((table, mu, round(float(rng.uniform(0.5, 4)), 2)))
    return rows


def _by_degree(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The degrees 0, …, n, and the Fourier weight of each."""
    n = len(table).bit_length() - 1
    return np.arange(n + 1), np.bincount(cube.weights(n), fourier.transform(table) ** 2)


@problem(
    "16.C",
    "How sensitive is it by now?",
    points=4,
    minutes=18,
    difficulty=3,
    text=r"""
A wide network starts at $f_0=0$ and learns a real target $f$, given by its `table`. Its kernel has the eigenvalue
`mu[k]` on all parities of $k$ bits, and each coefficient of $f-f_t$ shrinks like $e^{-\mu_kt}$. What is the average
sensitivity of the **network**, $\mathrm{as}(f_t)=\sum_S|S|\,\hat f_t(S)^2$, at the time $t$ (`time`)?
""",
    hints=(
        "Which share of a coefficient of degree k has the network learnt at time t?",
        "Sensitivity is made of the squares of the network's own coefficients. What is missing does not subtract.",
    ),
    why="It begins at 0 and ends at that of the target: a network that stops early is less sensitive than its task.",
    instances=_learning,
)
def learnt_sensitivity(table: np.ndarray, mu: np.ndarray, time: float) -> float:
    """as(f_t) for a target with this table, if degree k is learnt at the pace mu[k]."""
    from flatcube import fourier

    sizes = np.bitwise_count(np.arange(len(table)))
    learnt = fourier.transform(table) * (1 - np.exp(-mu[sizes] * time))
    return np.sum(sizes * learnt**2)


def _sensitive(table: np.ndarray, share: np.ndarray) -> float:
    degrees, weights = _by_degree(table)
    return float(np.sum(degrees * weights * share))


learnt_sensitivity.mistake(
    "You subtract the sensitivity of what is missing. Squares do not subtract: each coefficient is learnt in part.",
    lambda table, mu, time: _sensitive(table, 1 - np.exp(-2 * mu * time)),
)
learnt_sensitivity.mistake(
    "That is the sensitivity of what is still missing.",
    lambda table, mu, time: _sensitive(table, np.exp(-2 * mu * time)),
)
learnt_sensitivity.mistake(
    "You weigh the squares with the share that is learnt. It belongs to the coefficient, and is squared with it.",
    lambda table, mu, time: _sensitive(table, 1 - np.exp(-mu * time)),
)
learnt_sensitivity.mistake(
    "That is the sensitivity of the target.", lambda table, mu, time: _sensitive(table, np.ones(len(mu)))
)
learnt_sensitivity.mistake(
    "The degrees are missing: that is the mean of the network's square.",
    lambda table, mu, time: np.sum(_by_degree(table)[1] * (1 - np.exp(-mu * time)) ** 2),
)
learnt_sensitivity.mistake(
    "You let a coefficient be learnt at the pace of the loss. The loss is a square, and shrinks twice as fast.",
    lambda table, mu, time: _sensitive(table, (1 - np.exp(-2 * mu * time)) ** 2),
)
