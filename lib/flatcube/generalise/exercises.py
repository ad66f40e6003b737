"""The exercises of chapter 13: a gap meter from nothing. A sample is fitted, its risk is taken apart, and a promise
stands beside it. Each solution is followed by the mistakes that its check recognises."""

import math
from dataclasses import dataclass, field

import numpy as np

from flatcube import cube
from flatcube.classroom.exercises import Measure, exercise, scored


def _columns(rng: np.random.Generator) -> list[tuple]:
    """Points, and masks with sets of two and more members, so that products, sums and orders differ."""
    found = []
    for T, m, sets in ((4, 6, 3), (5, 8, 5), (6, 9, 4)):
        points = np.unique(cube.points(T)[rng.permutation(2**T)[: 4 * m]], axis=0)[:m]
        masks = [3, 2**T - 2, *rng.choice(np.arange(5, 2**T - 2), sets, replace=False).tolist()]
        found.append((points, np.array(masks)))
    return found


@exercise(
    "13.1",
    "My features",
    minutes=10,
    difficulty=2,
    hints=(
        "A column belongs to one set. Its entry for a point is 1 or −1: is the number of members with the sign −1 even "
        "or odd?",
        "Bit i − 1 of the mask says whether variable i is a member. Write the memberships as a table of zeros and "
        "ones; a product of two matrices then counts, for all points and sets at once.",
    ),
    why="These columns are orthogonal on the whole cube. On a sample they are not, and that is where gaps come from.",
    instances=_columns,
)
def my_features(points: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """χ_S(x) for all points (m, T) of signs and sets S, given as masks (K,): an array (m, K) of ±1."""
    members = (masks[:, None] >> np.arange(points.shape[1])) & 1
    odd = (points < 0).astype(int) @ members.T % 2
    return 1 - 2 * odd


def _members(points, masks, reverse=False):
    places = np.arange(points.shape[1])
    return (np.asarray(masks)[:, None] >> (places[::-1] if reverse else places)) & 1


my_features.mistake(
    "You add up the signs of the members. A parity multiplies them.",
    lambda points, masks: points @ _members(points, masks).T,
)
my_features.mistake(
    "You read the masks from the other end: the first variable is their lowest bit.",
    lambda points, masks: 1 - 2 * ((points < 0).astype(int) @ _members(points, masks, True).T % 2),
)
my_features.mistake(
    "Your parities are ±1 the other way round: an even number of −1 has the product +1.",
    lambda points, masks: 2 * ((points < 0).astype(int) @ _members(points, masks).T % 2) - 1,
)
my_features.mistake(
    "You give the number of members that are −1. Only whether it is odd counts, as a sign.",
    lambda points, masks: (points < 0).astype(int) @ _members(points, masks).T,
)


def _fits(rng: np.random.Generator) -> list[tuple]:
    """Fewer examples than features, as many, and more."""
    shapes = ((6, 9, 0.1), (8, 8, 0.05), (12, 7, 0.5))
    return [(rng.choice([-1, 1], size=(m, K)), rng.normal(size=m).round(2), ridge) for m, K, ridge in shapes]


@exercise(
    "13.2",
    "My fit",
    minutes=12,
    difficulty=2,
    hints=(
        "Set the gradient with respect to θ to zero. That is a system of linear equations, one for each feature.",
        "The part of the gradient that comes from the examples is a mean over them, that of the penalty is not. Which "
        "matrix multiplies θ, and what stands on the other side?",
    ),
    why="With ridge → 0 and fewer examples than features it becomes the fit of least norm. All fits of a linear "
    "network are equally flat, so in the sense of chapter 10 this one, with the least price, has the best promise.",
    instances=_fits,
)
def my_fit(features: np.ndarray, values: np.ndarray, ridge: float) -> np.ndarray:
    """The θ (K,) of the least mean (features @ θ − values)² + ridge ‖θ‖²; features (m, K), values (m,)."""
    m, K = features.shape
    return np.linalg.solve(features.T @ features / m + ridge * np.eye(K), features.T @ values / m)


def _solved(features, values, ridge):
    gram = features.T @ features
    return np.linalg.solve(gram + ridge * np.eye(len(gram)), features.T @ values)


my_fit.mistake(
    "Your penalty is as if the errors were added up. Here their mean is taken, which makes the ridge m times as "
    "strong.",
    _solved,
)
my_fit.mistake(
    "The penalty is missing: that is the least-squares fit, of least norm where there are several.",
    lambda features, values, ridge: np.linalg.lstsq(features, values, rcond=None)[0],
)
my_fit.mistake(
    "You take the mean of value times feature for each column by itself. That would do if the columns were orthogonal "
    "on the sample, as they are on the cube.",
    lambda features, values, ridge: features.T @ values / len(values),
)
my_fit.mistake(
    "You divide the correlations by 1 + ridge, which is the answer for columns that are orthogonal on the sample.",
    lambda features, values, ridge: features.T @ values / len(values) / (1 + ridge),
)
my_fit.mistake(
    "Half a ridge: the derivative of a square has a factor 2 in both terms, so it drops out of both.",
    lambda features, values, ridge: _solved(features, values, ridge * len(values) / 2),
)


def _learned(rng: np.random.Generator) -> list[tuple]:
    found = []
    for T, m in ((3, 3), (4, 5), (5, 20)):
        table = rng.normal(size=2**T).round(1)
        shown = np.sort(rng.choice(2**T, m, replace=False))
        learned = table + rng.normal(size=2**T).round(2)
        learned[shown] = table[shown] + (rng.normal(size=m) / 5).round(3)
        found.append((learned, table, shown))
    return found


@exercise(
    "13.3",
    "My gap",
    minutes=8,
    difficulty=1,
    hints=(
        "Two means of squares: one over the inputs that were shown, one over all others. No input may be in both.",
        "A mask of truth values helps: true everywhere, then false at the places that were shown.",
    ),
    why="Because the whole cube is known here, the first mean is no estimate. With longer inputs one has to sample.",
    instances=_learned,
)
def my_gap(learned: np.ndarray, table: np.ndarray, shown: np.ndarray) -> float:
    """Mean squared error on hidden inputs minus that on shown ones; tables (2^T,), shown has indices (m,)."""
    hidden = np.ones(len(table), dtype=bool)
    hidden[shown] = False
    squares = (learned - table) ** 2
    return squares[hidden].mean() - squares[~hidden].mean()


def _errors(learned, table, shown, size=np.square):
    sizes, hidden = size(learned - table), np.setdiff1d(np.arange(len(table)), shown)
    return sizes[hidden].mean(), sizes[shown].mean(), sizes.mean()


my_gap.mistake(
    "Your test set holds the training inputs, too: that is the risk over the cube minus the training error.",
    lambda *given: _errors(*given)[2] - _errors(*given)[1],
)
my_gap.mistake(
    "The sign: a network that does worse on what it has not seen has a positive gap.",
    lambda *given: _errors(*given)[1] - _errors(*given)[0],
)
my_gap.mistake(
    "You take absolute errors. The loss is the square.",
    lambda *given: _errors(*given, size=np.abs)[0] - _errors(*given, size=np.abs)[1],
)
my_gap.mistake(
    "You subtract square roots of mean squared errors.",
    lambda *given: math.sqrt(_errors(*given)[0]) - math.sqrt(_errors(*given)[1]),
)
my_gap.mistake("That is the error on hidden inputs alone.", lambda *given: _errors(*given)[0])


def _spectra(rng: np.random.Generator) -> list[tuple]:
    """Targets of one degree, with a constant and without; the last one has rounding errors, as a transform has."""
    found = []
    for T, d, w, constant in ((4, 2, 2, 0.8), (5, 2, 3, 0.0), (5, 3, 2, 1.1)):
        sets = [k for k in range(2**T) if k.bit_count() == d]
        target = np.zeros(2**T)
        target[rng.choice(sets, w, replace=False)] = rng.integers(3, 9, w) / 10
        target[0] = constant
        found.append(((target + rng.normal(size=2**T) / 10).round(3), target))
    learned, target = found[-1]
    found[-1] = learned, target + rng.choice([-1e-16, 1e-16], len(target))
    return found


@exercise(
    "13.4",
    "My split",
    minutes=15,
    difficulty=2,
    hints=(
        "Three kinds of places: where the target has a coefficient (and the constant), others up to its degree, and "
        "others beyond it. What does Parseval's identity sum at each place?",
        "The size of a set is the number of ones in the binary form of its mask. The degree of the target is "
        "the largest such size among its own places.",
    ),
    why="The three add up to the risk over the whole cube. A learner that knew the sets would have only the first.",
    instances=_spectra,
)
def my_split(learned: np.ndarray, target: np.ndarray) -> np.ndarray:
    """own, low, above from coefficients (2^T,) in the order of masks; the constant is own, up to 1e-9 is rounding."""
    size = np.array([bin(k).count("1") for k in range(len(target))])
    own = np.abs(target) > 1e-9
    degree = size[own].max()
    own[0] = True
    squares = (learned - target) ** 2
    places = (own, ~own & (size <= degree), ~own & (size > degree))
    return np.array([squares[some].sum() for some in places])


def _split(learned, target, constant=True, power=2, strict=False, least=1e-9):
    size = np.array([k.bit_count() for k in range(len(target))])
    own = np.abs(target) > least
    degree = size[own].max()
    own = own | ((size == 0) & constant) if constant else own & (size > 0)
    errors = np.abs(learned - target) ** power
    low = size < degree if strict else size <= degree
    return np.array([errors[some].sum() for some in (own, ~own & low, ~own & ~low)])


my_split.mistake(
    "Your constant is not among what the target owns.",
    lambda learned, target: _split(learned, target, constant=False),
)
my_split.mistake(
    "A transform leaves rounding errors of about 1e-16, and you take them for components of the target.",
    lambda *given: _split(*given, least=0),
)
my_split.mistake("You add up the errors without squaring them.", lambda *given: _split(*given, power=1))
my_split.mistake(
    "Sets that are as large as the target's count as above. They have its degree, so they belong to the second part.",
    lambda *given: _split(*given, strict=True),
)
my_split.mistake(
    "The second and the third are exchanged.",
    lambda *given: _split(*given)[[0, 2, 1]],
)
my_split.mistake(
    "You divide by the number of places. Parseval's identity is a sum over sets; the mean was over inputs.",
    lambda learned, target: _split(learned, target) / len(target),
)


def _shaken(rng: np.random.Generator) -> list[tuple]:
    found = []
    for m, K, sigma in ((5, 3, 0.3), (7, 6, 0.2), (9, 4, 0.5)):
        features = rng.choice([-1, 1], size=(m, K)) * rng.integers(4, 9, K) / 5
        found.append((rng.normal(size=K).round(2), features, rng.normal(size=m).round(2), sigma))
    return found


@exercise(
    "13.5",
    "My shaken fit",
    minutes=10,
    difficulty=2,
    hints=(
        "For one example the output moves by features · noise. Expand the square: one of its three parts has mean 0.",
        "The noise is independent in all weights, each with variance σ². What is the variance of a sum with the "
        "features as factors?",
    ),
    why="A linear network has a quadratic loss, so the formula with the trace of the Hessian is exact for every σ: the "
    "remainder that chapter 10 had to measure is zero.",
    instances=_shaken,
)
def my_shaken(theta: np.ndarray, features: np.ndarray, values: np.ndarray, sigma: float) -> float:
    """The mean over examples and noise of (features @ (theta + sigma·noise) − values)², without drawing any."""
    fit = np.mean((features @ theta - values) ** 2)
    return fit + sigma**2 * np.mean(np.sum(features**2, axis=1))


def _noisy(theta, features, values, sigma, fit=1.0, factor=1.0, power=2, per=None):
    lengths = np.square(features).sum(1).mean() if per is None else per(features)
    return fit * np.square(features @ theta - values).mean() + factor * sigma**power * lengths


my_shaken.mistake("The error that is there without noise is missing.", lambda *given: _noisy(*given, fit=0.0))
my_shaken.mistake(
    "You add half of it. The Hessian of a mean square has twice the mean of ‖features‖² as its trace, and the ½ in "
    "front takes that 2 away.",
    lambda *given: _noisy(*given, factor=0.5),
)
my_shaken.mistake("Noise enters by its variance, σ².", lambda *given: _noisy(*given, power=1))
my_shaken.mistake(
    "You average over features. The noise of all weights adds up.",
    lambda *given: _noisy(*given, per=lambda features: np.square(features).mean()),
)
my_shaken.mistake(
    "You count the weights. That would do for features ±1; these have other lengths.",
    lambda *given: _noisy(*given, per=lambda features: features.shape[1]),
)


def _offers(rng: np.random.Generator) -> list[tuple]:
    found = []
    for k, m in ((4, 100), (6, 300), (3, 1000)):
        sigmas = np.geomspace(0.03, 1, k).round(3)
        found.append((0.02 + sigmas**2 * rng.integers(3, 9), float(rng.integers(2, 9)) / 4, sigmas, m, 0.5, 0.05))
    return found


@exercise(
    "13.6",
    "My promise",
    minutes=12,
    difficulty=2,
    hints=(
        "Each σ has its promise: the loss with this noise, and a price. Compute all of them, then take the best. You "
        "look at the examples before you choose; what does that cost?",
        "Each of the promises may fail. Together they fail with probability δ if all are allowed equal parts of it.",
    ),
    why="The gap meter is complete: sample, fit, gap, split, and a promise beside it. Set C as you can justify it.",
    instances=_offers,
)
def my_promise(noisy: np.ndarray, norm2: float, sigmas: np.ndarray, m: int, C: float, delta: float) -> float:
    """The best of all promises noisy + C √((norm2/σ² + 2 log(1/δ′))/m), each of which may fail with probability δ′."""
    price = norm2 / sigmas**2 + 2 * np.log(len(sigmas) / delta)
    return np.min(noisy + C * np.sqrt(price / m))


def _promised(noisy, norm2, sigmas, m, C, delta, choices=None, twice=2.0, over=np.min):
    count = len(sigmas) if choices is None else choices
    return over(noisy + C * np.sqrt((norm2 / sigmas**2 + twice * math.log(count / delta)) / m))


my_promise.mistake(
    "Your choice of σ is free. It was made with the examples in view.",
    lambda *given: _promised(*given, choices=1),
)
my_promise.mistake("The factor 2 before the logarithm is missing.", lambda *given: _promised(*given, twice=1.0))
my_promise.mistake("You take the worst of the promises. You may choose.", lambda *given: _promised(*given, over=np.max))
my_promise.mistake(
    "You take the first σ. The best of them may be chosen.",
    lambda *given: _promised(*given, over=lambda offers: offers[0]),
)
my_promise.mistake(
    "You give the price alone. The loss with noise comes first.",
    lambda noisy, *given: _promised(0 * noisy, *given),
)


# --- open -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lesson:
    """What is shown of a function on T bits: points (m, T) as signs, their values (m,)."""

    points: np.ndarray
    values: np.ndarray
    T: int
    _table: np.ndarray = field(repr=False)
    _shown: np.ndarray = field(repr=False)

    def risk(self, learned: np.ndarray) -> float:
        """The mean squared error of a table (2^T,) on the inputs that were not shown."""
        hidden = np.setdiff1d(np.arange(2**self.T), self._shown)
        return float(np.square(np.asarray(learned, float) - self._table)[hidden].mean())


def _lessons(rng: np.random.Generator) -> list[tuple]:
    """Eight sums of three components of degree 3 on 8 bits, of which 80 inputs are shown."""
    found = []
    for _ in range(8):
        table = cube.even_sum(cube.random_components(8, 3, 3, rng=rng), 8)
        shown = np.sort(rng.choice(256, 80, replace=False))
        found.append((Lesson(cube.points(8)[shown], table[shown], 8, table, shown),))
    return found


def _whole(learned: object) -> str | None:
    try:
        numbers = np.asarray(learned, float)
    except (TypeError, ValueError):
        return "what you give is not made of numbers"
    if numbers.shape != (256,):
        return f"you give an array of shape {numbers.shape} where a table of 256 values should come"
    return None if np.isfinite(numbers).all() else "not all of your values are finite"


@scored(
    "13.7",
    "A learner that knows what to expect",
    minutes=40,
    difficulty=3,
    instances=_lessons,
    baseline=lambda lesson: np.full(2**lesson.T, lesson.values.mean()),
    measures={"error on hidden inputs": Measure(lambda out, lesson: lesson.risk(out))},
    fits=_whole,
    rival="a constant",
    why="All 93 sets of up to three variables, fitted with a penalty. It knows the degree, but not that there are few "
    "components: a learner that looks for few can do much better with the same examples.",
)
def my_learner(lesson: object) -> np.ndarray:
    """Has `lesson.points`, `.values` and `.T`; gives a guess for each of the 2^T inputs, in the order of indices."""
    T = lesson.T
    masks = np.array([k for k in range(2**T) if bin(k).count("1") <= 3])
    members = (masks[:, None] >> np.arange(T)) & 1
    cube_bits = (np.arange(2**T)[:, None] >> np.arange(T)) & 1
    shown, whole = (1 - 2 * (bits @ members.T % 2) for bits in ((lesson.points < 0).astype(int), cube_bits))
    centre = lesson.values.mean()  # which the penalty shall not pull down
    gram = shown.T @ shown / len(shown) + np.eye(len(masks))
    return centre + whole @ np.linalg.solve(gram, shown.T @ (lesson.values - centre) / len(shown))
