"""The exercises of chapter 16: from a kernel to the pace at which each degree is learnt. Mistakes follow solutions."""

import math
from functools import partial

import numpy as np

from flatcube import cube, fourier
from flatcube.classroom.exercises import Measure, exercise, scored
from flatcube.kernels import profiles, spectra


def _values(rng: np.random.Generator) -> list[tuple]:
    """Fixed: a line and a square, where degrees are seen apart. Then random values of Ψ for 3 and 4 bits."""
    return [(np.array([1.0, 1 / 3, -1 / 3, -1.0]),), (np.array([1.0, 0.25, 0.0, 0.25, 1.0]),),
            *[(rng.normal(size=size),) for size in (4, 5)]]  # fmt: skip


@exercise(
    "16.1",
    "My kernel matrix",
    minutes=8,
    difficulty=1,
    hints=(
        "Two points that differ in j places have ⟨x, y⟩/n = 1 − 2j/n. So it is enough to count places.",
        "In the book's order, bit i − 1 of the index is bit b_i of the point. Which operation on two indices marks the "
        "bits in which they differ?",
    ),
    why="Every row has the same numbers in another order. That is why one row will be enough for all eigenvalues.",
    instances=_values,
)
def my_matrix(values: np.ndarray) -> np.ndarray:
    """Given values[j] = Ψ(1 − 2j/n) for j = 0, …, n, the kernel (2^n, 2^n): K(x, y) = Ψ(⟨x, y⟩/n), in the book's
    order."""
    indices = np.arange(2 ** (len(values) - 1))
    return values[np.bitwise_count(indices[:, None] ^ indices)]


def _matrix(values, differ):
    k = np.arange(2 ** (len(values) - 1))
    return values[np.bitwise_count(differ(k[:, None], k))]


my_matrix.mistake(
    "You count the bits that are 1 in both. What matters is in how many places the two points differ.",
    lambda values: _matrix(values, lambda a, b: a & b),
)
my_matrix.mistake(
    "Your values run the other way: j counts differences, and 0 differences belong to c = 1.",
    lambda values: _matrix(values, lambda a, b: a ^ b ^ (2 ** (len(values) - 1) - 1)),
)
my_matrix.mistake(
    "That is one row of the kernel. There is one for each point.", lambda values: my_matrix.solution(values)[0]
)
my_matrix.mistake(
    "You use the difference of the two indices as j. Indices that differ by 1 may belong to points far apart.",
    lambda values: values[np.minimum(np.abs(np.subtract.outer(*2 * [np.arange(2 ** (len(values) - 1))])),
                                     len(values) - 1)],
)  # fmt: skip


def _kernels(rng: np.random.Generator) -> list[tuple]:
    return [(my_matrix.solution(values),) for (values,) in _values(rng)]


@exercise(
    "16.2",
    "My eigenvalues by degree",
    minutes=10,
    difficulty=2,
    hints=(
        "Apply the kernel to a parity and look at one point, say the one whose bits are all 0. There the parity is 1.",
        "So an eigenvalue is a Fourier coefficient of one row. All sets of a size have the same: which sizes belong to "
        "which masks says `cube.weights`.",
    ),
    why="It never diagonalises a matrix: 2^n numbers and the fast transform of chapter 1 replace a 2^n by 2^n problem.",
    instances=_kernels,
)
def my_spectrum(kernel: np.ndarray) -> np.ndarray:
    """The eigenvalues μ_0, …, μ_n of a kernel (2^n, 2^n) of the form Ψ(⟨x, y⟩/n), for (Kf)(x) = E_y K(x, y) f(y)."""
    from flatcube import cube, fourier

    # your turn
    found = fourier.transform(kernel[0])
    sizes = cube.weights(len(kernel).bit_length() - 1)
    return np.bincount(sizes, found) / np.bincount(sizes)


def _sorted(kernel):
    return np.sort(np.linalg.eigvalsh(kernel) / len(kernel))[:: -1]


my_spectrum.mistake(
    "You sum over y. The inner product here is a mean: divide by 2^n.",
    lambda kernel: my_spectrum.solution(kernel) * len(kernel),
)
my_spectrum.mistake(
    "You add up the eigenvalues of all sets of a size. One eigenvalue for each degree is asked for.",
    lambda kernel: np.bincount(cube.weights(len(kernel).bit_length() - 1), fourier.transform(kernel[0])),
)
my_spectrum.mistake(
    "Those are 2^n eigenvalues in order of size. Which degree does each belong to?", _sorted,
)  # fmt: skip
my_spectrum.mistake(
    "You deal out the eigenvalues in order of size, the largest to degree 0. They need not fall with the degree.",
    lambda kernel: _sorted(kernel)[np.searchsorted(np.sort(cube.weights(n := len(kernel).bit_length() - 1)),
                                                   range(n + 1))],
)  # fmt: skip
my_spectrum.mistake(
    "You took the squares of the coefficients. The eigenvalue is the coefficient itself.",
    lambda kernel: np.bincount(sizes := cube.weights(len(kernel).bit_length() - 1),
                               fourier.transform(kernel[0]) ** 2) / np.bincount(sizes),
)  # fmt: skip


@exercise(
    "16.3",
    "My short cut",
    minutes=12,
    difficulty=2,
    hints=(
        "Group the points by the number j of their bits that are 1. In each group Ψ has one value; what is left is the "
        "sum of the parity over the group.",
        "The parity of k given places is −1 to the number i of ones among them. How many points have i ones there and "
        "j − i elsewhere?",
    ),
    why="n + 1 values of Ψ suffice. At 30 bits the table of a row would have a billion entries.",
    instances=_values,
)
def my_route(values: np.ndarray) -> np.ndarray:
    """Given values[j] = Ψ(1 − 2j/n) for j = 0, …, n, the eigenvalues μ_0, …, μ_n, without a table of 2^n numbers."""
    from math import comb

    # your turn
    n = len(values) - 1
    number = [[sum((-1) ** i * comb(k, i) * comb(n - k, j - i) for i in range(min(j, k) + 1)) for j in range(n + 1)]
              for k in range(n + 1)]  # fmt: skip
    return np.array(number) @ values / 2**n


def _route(values, number, scale=None):
    n = len(values) - 1
    table = np.array([[number(n, k, j) for j in range(n + 1)] for k in range(n + 1)], float)
    return table @ values / (2**n if scale is None else scale(n))


def _number(n, k, j):
    return sum((-1) ** i * math.comb(k, i) * math.comb(n - k, j - i) for i in range(min(j, k) + 1))


my_route.mistake(
    "The signs are missing: points with an odd number of ones in U count −1.",
    lambda values: _route(values, lambda n, k, j: math.comb(n, j)),
)
my_route.mistake("A mean over 2^n points is asked for, not a sum.", lambda v: _route(v, _number, lambda n: 1))
my_route.mistake(
    "Your sign is (−1)^j, that of all ones. Only those in U matter.",
    lambda values: _route(values, lambda n, k, j: (-1) ** j * math.comb(n, j)),
)
my_route.mistake(
    "You forgot the bits outside U: for each choice in U there are C(n − k, j − i) choices elsewhere.",
    lambda values: _route(values, lambda n, k, j: (-1) ** j * math.comb(k, j)),
)
my_route.mistake(
    "k and j have changed places in your sum.", lambda values: _route(values, lambda n, k, j: _number(n, j, k))
)


def _nets(rng: np.random.Generator) -> list[tuple]:
    """Fixed: two units and two bits, by hand. Then random networks on all points of 3 bits."""
    found = [(cube.points(2).astype(float), np.array([[1.0, -1.0], [0.5, 2.0]]), np.array([2.0, -1.0]))]
    return found + [(cube.points(3).astype(float), rng.normal(size=(3, 5)), rng.normal(size=5)) for _ in range(2)]


def _tangent(x, inner, outer, first=1.0, second=lambda a: a**2, product=True, active=True, scale=True):
    m, n = len(outer), x.shape[1]
    before = x @ inner / np.sqrt(n)
    on = (before > 0).astype(float) if active else np.ones_like(before)
    hidden, dot = np.maximum(before, 0), x @ x.T / n if product else 1.0
    return (2 / m if scale else 1.0) * (first * hidden @ hidden.T + (on * second(outer)) @ on.T * dot)


@exercise(
    "16.4",
    "My tangent kernel",
    minutes=15,
    difficulty=3,
    hints=(
        "Write down the derivative of f(x) by one a_j, and the gradient by one w_j. The kernel is the sum over all "
        "weights of their products at x and at y.",
        "The derivative of max(u, 0) is 1 where u > 0. The gradient by w_j contains x/√n, so the product of two of "
        "them contains ⟨x, y⟩/n.",
    ),
    why="This is the kernel that gradient descent follows at its first step. For a wide network it hardly moves later.",
    instances=_nets,
)
def my_tangent(x: np.ndarray, inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """The tangent kernel (P, P) of f(x) = √(2/m) Σ_j a_j max(w_j·x/√n, 0) at points x (P, n).

    The w_j are the columns of inner (n, m), the a_j stand in outer (m,).
    """
    m, n = len(outer), x.shape[1]
    before = x @ inner / np.sqrt(n)
    hidden, active = np.maximum(before, 0), (before > 0).astype(float)
    return 2 / m * (hidden @ hidden.T + (active * outer**2) @ active.T * (x @ x.T / n))


my_tangent.mistake(
    "That is the part of the a_j alone, the conjugate kernel. The w_j are trained, too.",
    lambda x, w, a: _tangent(x, w, a, second=lambda a: 0 * a),
)
my_tangent.mistake(
    "That is the part of the w_j alone. The a_j are trained, too.", lambda x, w, a: _tangent(x, w, a, first=0.0)
)
my_tangent.mistake(
    "The gradient by w_j contains a_j once, at x and at y: a_j² in the product.",
    lambda x, w, a: _tangent(x, w, a, second=lambda a: a),
)
my_tangent.mistake(
    "The gradient by w_j contains a_j. In your part of the w_j it is missing.",
    lambda x, w, a: _tangent(x, w, a, second=np.ones_like),
)
my_tangent.mistake(
    "The gradient by w_j is a vector along x. In the product of two of them ⟨x, y⟩/n is missing.",
    lambda x, w, a: _tangent(x, w, a, product=False),
)
my_tangent.mistake(
    "A unit that is off at x or at y contributes nothing to the part of the w_j.",
    lambda x, w, a: _tangent(x, w, a, active=False),
)
my_tangent.mistake(
    "The factor √(2/m) stands in f; its square is missing.", lambda x, w, a: _tangent(x, w, a, scale=False)
)


def _flows(rng: np.random.Generator) -> list[tuple]:
    times = np.array([0.0, 0.5, 2.0, 10.0])
    found = [(spectra.eigenvalues(profiles.tangent, 3), cube.majority(3).astype(float), times)]
    for _ in range(2):
        found.append((rng.random(5), rng.normal(size=16), times))
    return found


def _curve(mu, table, times, power=2.0, weigh=np.square, pace=1.0):
    sizes = cube.weights(len(table).bit_length() - 1)
    weights = np.bincount(sizes, weigh(fourier.transform(table)))
    return weights * np.exp(-power * pace * np.multiply.outer(times, mu))


@exercise(
    "16.5",
    "My learning curve",
    minutes=12,
    difficulty=2,
    hints=(
        "Each Fourier coefficient of what is still missing shrinks at the pace of its degree. What does Parseval make "
        "of that?",
        "The loss of a degree starts at the target's weight there. Coefficients enter it squared, and so do the "
        "factors by which they shrink.",
    ),
    why="Kernel and target meet only here: the kernel says how fast each degree goes, the target how much lies there.",
    instances=_flows,
)
def my_curve(mu: np.ndarray, table: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The loss by degree E (f_t − f)², split over degrees 0, …, n, at each time: (times, n + 1).

    f is the target's table (2^n,), f_0 = 0, and each coefficient of degree k of f − f_t shrinks like e^{−μ_k t}.
    """
    from flatcube import cube, fourier

    # your turn
    sizes = cube.weights(len(table).bit_length() - 1)
    weights = np.bincount(sizes, fourier.transform(table) ** 2)
    return weights * np.exp(-2 * np.multiply.outer(times, mu))


my_curve.mistake("The loss is a sum of squares: its parts shrink twice as fast as the coefficients.",
                 lambda *given: _curve(*given, power=1.0))  # fmt: skip
my_curve.mistake(
    "The weight of a degree is the sum of the squares of its coefficients.",
    lambda *given: _curve(*given, weigh=np.abs),
)
my_curve.mistake("Your loss grows: the sign in the exponent.", lambda *given: _curve(*given, pace=-1.0))
my_curve.mistake(
    "That is the total over degrees. One column for each degree is asked for.",
    lambda *given: _curve(*given).sum(1),
)
my_curve.mistake(
    "That is what has been learnt. The loss is what is left.",
    lambda mu, table, times: _curve(mu, table, 0 * times) - _curve(mu, table, times),
)


# --- the open one -----------------------------------------------------------------------------------------------------

_N = 6


def _bent(c: np.ndarray, slope: float, bias: float) -> np.ndarray:
    """Ψ of wide layers of φ(u) = max(u, 0) + slope·min(u, 0), scaled to Ψ(1) = 1; ``bias`` is the share of biases.

    φ(u) is an odd part, (1 + slope)/2·u, and an even one, (1 − slope)/2·|u|, with E|u||v| = 2κ₁ − c at correlation c.
    """
    c = (1 - bias) * c + bias
    return ((1 + slope) ** 2 * c + (1 - slope) ** 2 * (2 * profiles.relu(c) - c)) / (2 * (1 + slope**2))


def _noisy(rng: np.random.Generator) -> list[tuple]:
    """Conjugate kernels of narrow networks, each with a nonlinearity and biases of its own, and their limits."""
    found = []
    for _ in range(200):
        m, slope, bias = int(rng.integers(4, 17)), rng.uniform(-1, 0.5), rng.uniform(0, 0.3)
        before = np.sqrt((1 - bias) / _N) * cube.points(_N) @ rng.normal(size=(_N, m))
        before += np.sqrt(bias) * rng.normal(size=m)
        hidden = np.where(before > 0, before, slope * before)
        truth = spectra.eigenvalues(partial(_bent, slope=slope, bias=bias), _N)
        found.append((Noisy(2 / (m * (1 + slope**2)) * hidden @ hidden.T, truth),))
    return found


class Noisy:
    """The conjugate ``kernel`` (2^n, 2^n) of one narrow network on ``n`` bits."""

    def __init__(self, kernel: np.ndarray, truth: np.ndarray) -> None:
        self.kernel, self.n, self._truth = kernel, len(truth) - 1, truth


def _distance(out: np.ndarray, network: Noisy) -> float:
    """Σ_k C(n, k)|μ̂_k − μ_k| over Σ_{k ≥ 1} C(n, k) μ_k, without the constant."""
    out = np.asarray(out, float)
    sizes = np.array([math.comb(network.n, k) for k in range(1, network.n + 1)])
    return float(sizes @ np.abs(out - network._truth)[1:] / (sizes @ network._truth[1:]))


@scored(
    "16.6",
    "From one narrow network",
    minutes=30,
    difficulty=3,
    instances=_noisy,
    baseline=lambda network: spectra.eigenvalues(profiles.relu, network.n),
    rival="ReLUs without biases",
    measures={"error of the eigenvalues": Measure(_distance, unit=" %", scale=100)},
    why="It makes the mean of K(x, x) 1 and averages over sets of a size. It forgets that two numbers decide all.",
)
def my_estimate(network: object) -> np.ndarray:
    """Has `.kernel` (2^n, 2^n), of one narrow network, and `.n`; gives μ_0, …, μ_n of infinitely wide ones."""
    from flatcube import kernels

    # your turn
    scaled = network.kernel / np.diag(network.kernel).mean()
    return kernels.mean_by_degree(kernels.by_set(scaled))
