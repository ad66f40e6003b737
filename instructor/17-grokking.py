"""The second set of chapter 17: problems for marks. Their solutions stand nowhere else."""

import numpy as np

from flatcube.classroom.problems import problem


def _lessons(rng: np.random.Generator) -> list[tuple]:
    """Training pairs among which some are doubles, a + a, some have their mirror in the set, and some have not."""
    rows = []
    for p in (5, 7, 11):
        every = np.array([(a, b) for a in range(p) for b in range(p)])
        while True:
            train = every[np.sort(rng.choice(p * p, 2 * p * p // 5, replace=False))]
            known = set(map(tuple, train.tolist()))
            mirrored = sum((b, a) in known and a != b for a, b in known)
            if 0 < mirrored < len(known) - 2 and any(a == b for a, b in known):
                break
        rows.append((p, train))
    return rows


def _seen(p: int, train: np.ndarray) -> tuple[int, int, int]:
    """The numbers of training pairs, of test pairs, and of test pairs with a mirror among the training pairs."""
    known = set(map(tuple, train.tolist()))
    mirrored = sum((b, a) in known and (a, b) not in known for a in range(p) for b in range(p))
    return len(known), p * p - len(known), mirrored


@problem(
    "17.A",
    "By heart and by symmetry",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
A network knows its training pairs $(a,b)$ by heart and the symmetry $a+b=b+a$, and nothing else: on all other pairs it
guesses, each of the $p$ answers with the same probability. The rows of `train` are its training pairs; all the other
pairs of numbers $0,\dots,p-1$ are test pairs. What is its expected accuracy on the test pairs?
""",
    hints=(
        "For which test pairs does the symmetry help? Some pairs are their own mirror.",
        "Among the test pairs, one sort is surely right, the other one time in p.",
    ),
    why="An accuracy of two fifths need not be understanding: subtract what the mirrors give before you read a curve.",
    instances=_lessons,
)
def mirror_accuracy(p: int, train: np.ndarray) -> float:
    """The expected accuracy on the test pairs of a network that knows its pairs and the symmetry."""
    known = {(int(a), int(b)) for a, b in train}
    # your turn
    test = [(a, b) for a in range(p) for b in range(p) if (a, b) not in known]
    return np.mean([1.0 if (b, a) in known else 1 / p for a, b in test])


def _accuracy(p: int, train: np.ndarray, guess: float) -> float:
    _, test, mirrored = _seen(p, train)
    return (mirrored + guess * (test - mirrored)) / test


mirror_accuracy.mistake("You forget that a guess is right one time in p.", lambda p, train: _accuracy(p, train, 0.0))
mirror_accuracy.mistake(
    "That is the share of the training pairs. It is only about the share of test pairs that have a mirror.",
    lambda p, train: _seen(p, train)[0] / p**2,
)
mirror_accuracy.mistake(
    "That is the accuracy on all pairs, training pairs included.",
    lambda p, train: (_seen(p, train)[0] + _accuracy(p, train, 1 / p) * _seen(p, train)[1]) / p**2,
)
mirror_accuracy.mistake(
    "You divide by the number of all pairs. Only test pairs are asked.",
    lambda p, train: _accuracy(p, train, 1 / p) * _seen(p, train)[1] / p**2,
)
mirror_accuracy.mistake(
    "You let every training pair help a test pair. Doubles are their own mirror, and some mirrors are known already.",
    lambda p, train: (_seen(p, train)[0] + (_seen(p, train)[1] - _seen(p, train)[0]) / p) / _seen(p, train)[1],
)
mirror_accuracy.mistake("You leave out the mirrors: this network only guesses.", lambda p, train: 1 / p)


def _clocks(rng: np.random.Generator) -> list[tuple]:
    """A few frequencies, and a scale at which neither certainty nor guessing is left."""
    rows = []
    for p, count in ((7, 1), (11, 2), (13, 3)):
        frequencies = np.sort(1 + rng.choice((p - 1) // 2, count, replace=False))
        rows.append((p, frequencies, round(float(rng.uniform(0.6, 3)), 2)))
    return rows


@problem(
    "17.B",
    "How sure is a clock?",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
A network has circles with the frequencies $k_1,\dots,k_K$ and gives the answer $c$ to $a+b$ modulo $p$ the score
$s\sum_j\cos\frac{2\pi k_j(a+b-c)}p$ with a scale $s$. A softmax over all $p$ answers makes probabilities of the
scores. What is the loss $-\log$ (probability of the right answer)? It is the same for all pairs.
""",
    hints=(
        "Write c as the right answer plus e. What is the score of e = 0, and over which e does the softmax run?",
        "The sum below the line has p terms, the right answer's among them.",
    ),
    why="More circles at the same scale, a smaller loss: answers that are close on one circle are far on another.",
    instances=_clocks,
)
def clock_loss(p: int, frequencies: np.ndarray, scale: float) -> float:
    """−log of the probability that the softmax gives to the right answer."""
    e = np.arange(p)
    scores = scale * np.cos(2 * np.pi * np.outer(e, frequencies) / p).sum(axis=1)
    # your turn
    return np.log(np.sum(np.exp(scores - scores[0])))


def _scores(p: int, frequencies: np.ndarray, scale: float) -> np.ndarray:
    return scale * np.cos(2 * np.pi * np.outer(np.arange(p), frequencies) / p).sum(axis=1)


def _loss(scores: np.ndarray) -> float:
    return float(np.log(np.sum(np.exp(scores - scores[0]))))


clock_loss.mistake("That is the probability itself.", lambda p, k, scale: np.exp(-_loss(_scores(p, k, scale))))
clock_loss.mistake(
    "You leave the right answer out below the line. A softmax divides by the sum over all answers.",
    lambda p, k, scale: np.log(np.sum(np.exp(_scores(p, k, scale)[1:] - _scores(p, k, scale)[0]))),
)
clock_loss.mistake(
    "You average over the circles. Here their cosines are added.",
    lambda p, k, scale: _loss(_scores(p, k, scale / len(k))),
)
clock_loss.mistake(
    "You compare with the strongest rival only. All wrong answers take probability.",
    lambda p, k, scale: np.log1p(np.exp(np.max(_scores(p, k, scale)[1:]) - _scores(p, k, scale)[0])),
)
clock_loss.mistake("The scale is missing.", lambda p, k, scale: _loss(_scores(p, k, 1.0)))
clock_loss.mistake(
    "You use the first circle only, as loudly as all of them together. Each circle has other rivals.",
    lambda p, k, scale: _loss(_scores(p, k[:1], scale * len(k))),
)


def _hours(rng: np.random.Generator) -> list[tuple]:
    return [(p, int(rng.integers(2, (p + 1) // 2))) for p in (5, 7, 11)]


@problem(
    "17.C",
    "How firm does an answer stand?",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
Number $a$ is the point $E_a=(\cos\frac{2\pi ka}p,\sin\frac{2\pi ka}p)$ of one circle; $p$ is an odd prime. A network
finds the middle of $E_a$ and $E_b$, and answers with the $c$ whose line through the centre, at the angle
$\frac{\pi kc}p$, makes the smallest angle with the middle (a line has two directions, and either counts). Now the
point $E_a$ is moved. What is the least distance by which it must be moved before the middle reaches a place where the
answer is no longer $a+b$ alone? Give it for all pairs, as a table $(p,p)$ with entry $[a,b]$.
""",
    hints=(
        "How do the p lines through the centre divide the plane? The middle stands on one of them, at which distance "
        "from the centre?",
        "Drop the perpendicular to the border between two neighbouring lines. And how far does the middle move if only "
        "one of the two points is moved?",
    ),
    why="Pairs that are nearly opposite stand weakly: there noise on the embedding changes the answer first.",
    instances=_hours,
)
def firmness(p: int, k: int) -> np.ndarray:
    """The least move of E_a that takes the answer to a + b to a border, (p, p)."""
    a, b = np.arange(p)[:, None], np.arange(p)
    # your turn
    away = np.abs(np.cos(np.pi * k * (a - b) / p))
    return 2 * away * np.sin(np.pi / (2 * p))


def _away(p: int, k: int) -> np.ndarray:
    return np.abs(np.cos(np.pi * k * (np.arange(p)[:, None] - np.arange(p)) / p))


firmness.mistake(
    "That is how far the middle has to move. It moves half as far as one of the points.",
    lambda p, k: _away(p, k) * np.sin(np.pi / (2 * p)),
)
firmness.mistake(
    "You go to the next line. The border is half-way between two lines.",
    lambda p, k: 2 * _away(p, k) * np.sin(np.pi / p),
)
firmness.mistake(
    "You take the middle to lie on the circle. It is the nearer to the centre, the farther a and b are apart.",
    lambda p, k: np.full((p, p), 2 * np.sin(np.pi / (2 * p))),
)
firmness.mistake(
    "That is the way along an arc. A straight line to the border is shorter.",
    lambda p, k: 2 * _away(p, k) * np.pi / (2 * p),
)
firmness.mistake(
    "The frequency is missing: it decides which numbers are opposite.",
    lambda p, k: 2 * _away(p, 1) * np.sin(np.pi / (2 * p)),
)
firmness.mistake(
    "You take the length for that of a plus b. The direction hangs on the sum, the length on the difference.",
    lambda p, k: 2 * np.abs(np.cos(np.pi * k * (np.arange(p)[:, None] + np.arange(p)) / p)) * np.sin(np.pi / (2 * p)),
)
