"""The exercises of chapter 17: a network that adds on a circle, and phases by a rule. Mistakes follow a solution."""

import numpy as np

from flatcube.classroom.exercises import Measure, exercise, scored
from flatcube.grokking import circle


def _cases(rng: np.random.Generator) -> list[tuple]:
    """Fixed: a frequency above 1 first, where a forgotten k is seen."""
    return [(7, 2), (11, 3), (5, 1), (13, int(rng.integers(2, 6)))]


def _angles(p: int, k: int, turn: float = 2) -> np.ndarray:
    return turn * np.pi * k * np.arange(p) / p


def _circle(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@exercise(
    "17.1",
    "My circle",
    minutes=5,
    difficulty=1,
    hints=(
        "A whole turn belongs to p steps. By which angle does one step of a turn, if the frequency is 1?",
        "Frequency k goes around k times while a runs through all numbers. The cosine comes first, then the sine.",
    ),
    why="Equal steps: adding a number is now a rotation, whatever one starts from.",
    instances=_cases,
)
def my_circle(p: int, k: int) -> np.ndarray:
    """(p, 2): the points (cos 2πka/p, sin 2πka/p) of the numbers a = 0 … p−1."""
    angle = 2 * np.pi * k * np.arange(p) / p
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


my_circle.mistake("Half a turn: p steps must lead all the way around, by 2π.", lambda p, k: _circle(_angles(p, k, 1)))
my_circle.mistake("The cosine comes first.", lambda p, k: _circle(_angles(p, k))[:, ::-1])
my_circle.mistake("You go around the other way: the sine has the wrong sign.", lambda p, k: _circle(-_angles(p, k)))
my_circle.mistake("The frequency k is missing: you go around once.", lambda p, k: _circle(_angles(p, 1)))
my_circle.mistake("Your numbers begin at 1; the first one is 0.", lambda p, k: np.roll(_circle(_angles(p, k)), -1, 0))


def _lengths(p: int, k: int, sign: int = -1) -> np.ndarray:
    a = np.arange(p)
    return np.cos(np.pi * k * (a[:, None] + sign * a) / p)


@exercise(
    "17.2",
    "My mean",
    minutes=8,
    difficulty=2,
    hints=(
        "The mean of two points of a circle lies on the line between them. How far from the centre, if they coincide?",
        "Build the points with your circle, add them for all pairs by broadcasting, halve, and take the length.",
    ),
    why="It is |cos πk(a−b)/p|: small where a and b are nearly opposite, and never 0 for odd p.",
    instances=_cases,
)
def my_mean(p: int, k: int) -> np.ndarray:
    """(p, p): the length of the mean of the points of a and b on the circle of frequency k."""
    angle = 2 * np.pi * k * np.arange(p) / p
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.linalg.norm((points[:, None] + points) / 2, axis=-1)


my_mean.mistake("That is the sum; the mean is half of it.", lambda p, k: 2 * np.abs(_lengths(p, k)))
my_mean.mistake("A length has no sign.", _lengths)
my_mean.mistake("That depends on a + b. Turn both points by the same angle: the length stays as it is.",
                lambda p, k: np.abs(_lengths(p, k, 1)))  # fmt: skip
my_mean.mistake("That is the square of the length.", lambda p, k: _lengths(p, k) ** 2)
my_mean.mistake("That is the distance of the two points from each other, halved.",
                lambda p, k: np.sqrt(np.maximum(0, 1 - _lengths(p, k) ** 2)))  # fmt: skip


def _points(rng: np.random.Generator) -> list[tuple]:
    return [(np.array([[1.0, 0.0], [0.0, -2.0]]), 5), (rng.normal(size=(4, 2)), 7), (rng.normal(size=(3, 2)), 11)]


def _projected(points: np.ndarray, p: int, turn: float = 1) -> np.ndarray:
    return points @ _circle(_angles(p, 1, turn)).T


@exercise(
    "17.3",
    "My fold",
    minutes=8,
    difficulty=2,
    hints=(
        "Project the point on each direction. What does a fold do to the side on which the projection is negative?",
        "The directions cover half a turn: opposite ones are the same fold. `points @ directions.T` has all "
        "projections.",
    ),
    why="Each entry is relu(x) + relu(−x), two neurons. A point and its opposite look the same: the angle is doubled.",
    instances=_points,
)
def my_fold(points: np.ndarray, p: int) -> np.ndarray:
    """(batch, p): |u · (cos πj/p, sin πj/p)| for points u (batch, 2) and j = 0 … p−1."""
    angle = np.pi * np.arange(p) / p
    return np.abs(points @ np.stack([np.cos(angle), np.sin(angle)]))


my_fold.mistake("One ReLU keeps only the positive side. A fold needs the other side, too.",
                lambda points, p: np.maximum(0, _projected(points, p)))  # fmt: skip
my_fold.mistake("Those are the projections; nothing is folded.", _projected)
my_fold.mistake("Your directions go around the whole circle. Half of it has them all.",
                lambda points, p: np.abs(_projected(points, p, 2)))  # fmt: skip
my_fold.mistake("Squares instead of absolute values: no two ReLUs make a square.",
                lambda points, p: _projected(points, p) ** 2)  # fmt: skip


def _scores(p: int, k: int, *, fold=np.abs, read: float = 2, times: int = 0, scale: float = 0.5) -> np.ndarray:
    points = _circle(_angles(p, k))
    hidden = fold(_projected((points[:, None] + points) * scale, p))
    j = np.arange(p)
    return hidden @ np.cos(read * np.pi * (j[:, None] - (times or k) * j) / p)


@exercise(
    "17.4",
    "My adder",
    minutes=15,
    difficulty=3,
    hints=(
        "Mean, fold, read-out: the first two you have. The read-out compares direction j with the place of answer c.",
        "The folded pattern repeats after p steps of j, a whole turn of the doubled angle. So the waves of the "
        "read-out must be waves of a whole turn, too.",
    ),
    why="The largest score is at c = a + b for all p² pairs, exactly, with two ReLUs for each direction.",
    instances=_cases,
)
def my_adder(p: int, k: int) -> np.ndarray:
    """(p, p, p): the score Σ_j h_j cos 2π(j − kc)/p of c for a + b, h the fold of the mean of their points."""
    angle, j = 2 * np.pi * k * np.arange(p) / p, np.arange(p)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    mean = (points[:, None] + points) / 2
    hidden = np.abs(mean @ np.stack([np.cos(np.pi * j / p), np.sin(np.pi * j / p)]))
    return hidden @ np.cos(2 * np.pi * (j[:, None] - k * j) / p)


my_adder.mistake("The answers stand on the circle of frequency 1 in your read-out; the numbers on that of k.",
                 lambda p, k: _scores(p, k, times=1))  # fmt: skip
my_adder.mistake("Half a turn in the read-out: folding has doubled the angle.", lambda p, k: _scores(p, k, read=1))
my_adder.mistake("You added the points; the mean is half of it.", lambda p, k: _scores(p, k, scale=1.0))
my_adder.mistake("Nothing is folded.", lambda p, k: _scores(p, k, fold=lambda x: x))
my_adder.mistake("One ReLU for each direction is half a fold.",
                 lambda p, k: _scores(p, k, fold=lambda x: np.maximum(x, 0)))  # fmt: skip


def _curves(rng: np.random.Generator) -> list[tuple]:
    """Fixed: conditions that hold once too early, values on and between thresholds; then random ones."""
    epochs = np.arange(0, 100, 10)
    train = np.array([0.0, 0.5, 0.96, 1.0, 0.97, 0.99, 1.0, 1.0, 1.0, 1.0])
    test = np.array([0.0, 0.12, 0.04, 0.05, 0.05, 0.08, 0.1, 0.5, 0.95, 0.995])
    found = [(epochs, train, test)]
    for _ in range(2):
        rise, late = (np.clip(np.cumsum(rng.uniform(0, step, 10)), 0, 1) for step in (0.9, 0.35))
        rise[0], late[0], rise[-3:], late[-1] = 0.0, 0.0, 1.0, 1.0
        found.append((epochs, rise, np.minimum(late, rise)))
    never = np.array([0.0, 0.12, 0.04, 0.05, 0.2, 0.5, 0.96, 0.999, 0.97, 0.94])
    return [*found, (epochs, train, never)]


def _moments(epochs, train, test, rules=(0.99, 0.1, 0.95), first=False, before=False, strict=False):
    found = []
    for values, least in zip((train, test, test), rules, strict=True):
        holds = values > least if strict else values >= least
        at = int(np.argmax(holds)) if first else len(holds) - int(np.argmin(holds[::-1])) if not holds.all() else 0
        at = max(at - 1, 0) if before else at
        found.append(float(epochs[at]) if at < len(epochs) else np.inf)
    return tuple(found)


@exercise(
    "17.5",
    "My phases",
    minutes=10,
    difficulty=2,
    hints=(
        "Look from the end: how far back does the condition hold without a gap?",
        "The place after the last reading at which it does not hold. If there is none, `np.inf`.",
    ),
    why="A rule that anybody can apply: two readers of the same curves find the same phases.",
    instances=_curves,
)
def my_phases(epochs: np.ndarray, train: np.ndarray, test: np.ndarray) -> tuple[float, float, float]:
    """The first epochs from which on, up to the end, train ≥ 0.99, test ≥ 0.1, and test ≥ 0.95; ∞ if never."""
    found = []
    for holds in (train >= 0.99, test >= 0.1, test >= 0.95):
        lost = np.flatnonzero(~holds)
        first = lost[-1] + 1 if len(lost) else 0
        found.append(float(epochs[first]) if first < len(epochs) else np.inf)
    return tuple(found)


my_phases.mistake("You take the first time that a condition holds. Later it is lost again: it has to hold to the end.",
                  lambda *given: _moments(*given, first=True))  # fmt: skip
my_phases.mistake("You give the last reading before the condition holds.", lambda *given: _moments(*given, before=True))
my_phases.mistake("Memorising ends at 0.99, not at 0.95.", lambda *given: _moments(*given, rules=(0.95, 0.1, 0.95)))
my_phases.mistake("The last phase begins at 0.95, not at 0.99.",
                  lambda *given: _moments(*given, rules=(0.99, 0.1, 0.99)))  # fmt: skip
my_phases.mistake("A share that is reached exactly is enough: ≥, not >.", lambda *given: _moments(*given, strict=True))


# --- the open one -----------------------------------------------------------------------------------------------------


class Choice:
    """What is asked for: ``count`` frequencies for the modulus ``p``."""

    def __init__(self, p: int, count: int) -> None:
        self.p, self.count = p, count


def _choices(rng: np.random.Generator) -> list[tuple]:
    primes = rng.choice((29, 31, 37, 41, 43, 47, 53, 59, 61), 3, replace=False)
    return [(Choice(int(p), count),) for p in primes for count in (4, 5)]


def _missing(out: object, choice: Choice) -> float:
    """1 minus the smallest margin; 1 for anything that is no list of different frequencies."""
    try:
        found = [int(k) for k in out]
        return 1 - float(circle.margins(choice.p, found).min()) if len(found) == choice.count else 1.0
    except (TypeError, ValueError):
        return 1.0


@scored(
    "17.6",
    "Which frequencies?",
    minutes=25,
    difficulty=3,
    instances=_choices,
    baseline=lambda choice: np.arange(1, choice.count + 1),
    rival="the lowest ones",
    measures={"margin missing to 1": Measure(_missing, unit=" %", scale=100)},
    why="It looks at one frequency after the other, and never takes one back.",
)
def my_choice(choice: object) -> np.ndarray:
    """Has `.p` and `.count`; gives so many different frequencies from 1 to (p − 1)/2."""
    a = np.arange(choice.p)

    def margin(ks):
        lengths = np.abs(np.cos(np.pi * np.outer(a, ks) / choice.p))
        return (lengths @ (1 - np.cos(2 * np.pi * np.outer(ks, a[1:]) / choice.p))).min() / len(ks)

    chosen = [1]
    while len(chosen) < choice.count:
        rest = [k for k in range(1, (choice.p + 1) // 2) if k not in chosen]
        chosen.append(max(rest, key=lambda k: margin([*chosen, k])))
    return np.array(chosen)
