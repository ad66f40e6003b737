"""The second set of chapter 6: problems for marks. Their solutions stand nowhere else."""

import numpy as np

from flatcube.classroom.problems import problem


def _strings(rng: np.random.Generator) -> list[tuple]:
    """Strings with ones and zeros; quorums other than one half, one of which meets a one exactly."""
    rows = []
    for n, ones, p, q in ((7, 3, 1, 3), (9, 6, 2, 3), (12, 8, 3, 4), (10, 7, 2, 5)):
        bits = np.zeros(n, int)
        bits[rng.choice(n, ones, replace=False)] = 1
        rows.append((bits, p, q))
    return [rows[k] for k in rng.permutation(4)]


@problem(
    "6.A",
    "Another quorum",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
In the first network of the chapter every 1 of a string counts the ones that stand no later than itself, itself
included, and votes *yes* if they are strictly more than half of all ones. Replace the half by a share $p/q$: vote
*yes* if they are strictly more than $p/q$ of all ones, and *no* otherwise. Zeros do not vote. How many more votes are
*yes* than *no*?
""",
    hints=(
        "Which numbers have the ones counted, from the left to the right? Which of them are above the quorum?",
        "Only the number of ones matters. Compare whole numbers, so that no rounding decides about a tie.",
    ),
    why="At one half it is the parity of k. At p/q it is k less twice the whole part of kp/q: a sawtooth with a slope.",
    instances=_strings,
)
def quorum_margin(bits: np.ndarray, p: int, q: int) -> int:
    """Yes minus no, if a 1 votes yes when it has counted strictly more than p/q of all ones."""
    k = int(np.sum(bits))
    yes = sum(q * j > p * k for j in range(1, k + 1))
    return 2 * yes - k


def _votes(bits: np.ndarray, fits) -> int:
    """Yes minus no, if the one with number j of k votes yes where fits(j, k)."""
    k = int(bits.sum())
    yes = sum(bool(fits(j, k)) for j in range(1, k + 1))
    return 2 * yes - k


quorum_margin.mistake(
    "You let a one that has counted exactly the share vote yes. It has to be strictly more.",
    lambda bits, p, q: _votes(bits, lambda j, k: q * j >= p * k),
)
quorum_margin.mistake("A one counts itself as well.", lambda bits, p, q: _votes(bits, lambda j, k: q * (j - 1) > p * k))
quorum_margin.mistake(
    "You compare with a share of all bits. The quorum is a share of the ones.",
    lambda bits, p, q: _votes(bits, lambda j, k: q * j > p * len(bits)),
)
quorum_margin.mistake(
    "That is the number of yes votes. The no votes are to be taken away.",
    lambda bits, p, q: (_votes(bits, lambda j, k: q * j > p * k) + int(bits.sum())) // 2,
)
quorum_margin.mistake(
    "Your zeros vote no. They do not vote.",
    lambda bits, p, q: _votes(bits, lambda j, k: q * j > p * k) - int(np.sum(1 - bits)),
)
quorum_margin.mistake("You keep the quorum of one half.", lambda bits, p, q: _votes(bits, lambda j, k: 2 * j > k))


def _faint(rng: np.random.Generator) -> list[tuple]:
    return [
        (int(D), float(rng.choice([1e-5, 1e-6, 1e-4])), round(float(rng.uniform(0.35, 0.95)), 2))
        for D in rng.choice(np.array([5, 6, 7, 12, 16, 20]), 4, replace=False)
    ]


@problem(
    "6.B",
    "How faint may it be?",
    points=3,
    minutes=12,
    difficulty=2,
    text=r"""
The layer-norm network ends with a row of nine lanes, of which one holds the answer $a$ and the others 0. Take $D$
lanes instead of nine, and a read-out that multiplies by $1/\sqrt{D-1}$, so that the output is $\pm1$ for
$\varepsilon=0$. With an $\varepsilon>0$ under the root the output fades. How small may $|a|$ be, if the output's size
is to be at least $q$, where $0<q<1$?
""",
    hints=(
        "What are the mean and the variance of a row that holds a in one lane and 0 in the other D − 1?",
        "Write the output's size as one over a root of 1 plus something. In it a² is below the line. Ask when the size "
        "is exactly q.",
    ),
    why="The least answer is proportional to √ε, and to √D: more lanes make the same answer harder to hear.",
    instances=_faint,
)
def least_answer(D: int, eps: float, q: float) -> float:
    """The least |a| for which D lanes with (a, 0, …, 0) give an output of size q."""
    spread = (D - 1) / D**2  # the variance of the row, divided by a²
    # your turn
    return np.sqrt(eps / spread * q**2 / (1 - q**2))


least_answer.mistake(
    "That is for nine lanes. How does the variance depend on their number?",
    lambda D, eps, q: np.sqrt(81 / 8 * eps * q**2 / (1 - q**2)),
)
least_answer.mistake(
    "You do not subtract the mean: that is RMS norm. The mean square of the row is more than its variance.",
    lambda D, eps, q: np.sqrt(D * eps * q**2 / (1 - q**2)),
)
least_answer.mistake("That is its square.", lambda D, eps, q: D**2 / (D - 1) * eps * q**2 / (1 - q**2))
least_answer.mistake(
    "Upside down: a louder output needs a larger answer.",
    lambda D, eps, q: np.sqrt(D**2 / (D - 1) * eps * (1 - q**2) / q**2),
)
least_answer.mistake(
    "You solve as if q stood there instead of its square. The output is one over a root.",
    lambda D, eps, q: np.sqrt(D**2 / (D - 1) * eps * q / (1 - q)),
)
least_answer.mistake(
    "You put ε beside the standard deviation. It stands beside the variance, under the root.",
    lambda D, eps, q: eps * D / np.sqrt(D - 1) * q / (1 - q),
)


def _digits(rng: np.random.Generator) -> list[tuple]:
    return [(int(q), int(rng.integers(2, 7))) for q in rng.choice(np.arange(3, 11), 4, replace=False)]


@problem(
    "6.C",
    "Positions in another base",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
The scratchpad finds its bit by the code of its position. Write positions with $m$ digits in base $q$, so that there
are $T=q^m$ codes, and give a pair of positions the logit $\beta$ times the number of digits in which their codes
agree. As in the chapter the sequence holds $x_1,\dots,x_T$ and, at the last step, $y_0,\dots,y_{T-1}$ with the same
codes once more. The tooth of the first layer is 1 from $\frac38$ to $\frac58$ and 0 below $\frac14$ and above
$\frac34$, and the first layer is exact at every step and on every input if and only if, at the last step, all other
positions together weigh at most a third of the pair. Give the least $\beta$.
""",
    hints=(
        "Divide all weights by that of an equal code. What does a code weigh that differs in h digits, and how many "
        "such codes are there?",
        "By the binomial theorem all codes together weigh the m-th power of a number. It may be at most 4/3.",
    ),
    why="With m = 1 it is log 3(T − 1), the one-hot code; at a fixed base β grows like log m, so like log log T.",
    instances=_digits,
)
def digit_scale(q: int, m: int) -> float:
    """The least β for codes of m digits in base q."""
    return np.log((q - 1) / ((4 / 3) ** (1 / m) - 1))


def _scale(q: float, m: int, most: float = 4 / 3) -> float:
    return np.log((q - 1) / (most ** (1 / m) - 1))


digit_scale.mistake(
    "That is for one-hot codes, in which two different positions agree in nothing.",
    lambda q, m: np.log(3 * (float(q) ** m - 1)),
)
digit_scale.mistake(
    "You count only the codes that differ in one digit. All others weigh a little, too.",
    lambda q, m: np.log(3 * m * (q - 1)),
)
digit_scale.mistake(
    "You count one way for a digit to differ, as with binary digits. In base q there are q − 1.",
    lambda q, m: _scale(2, m),
)
digit_scale.mistake("A digit can differ in q − 1 ways, not in q: one of them is equal.", lambda q, m: _scale(q + 1, m))
digit_scale.mistake(
    "You let the others weigh as much as the pair. That is enough for rounding, but not for the tooth.",
    lambda q, m: _scale(q, m, 2),
)
digit_scale.mistake(
    "You ask for a third of one position. The pair has two of them, and every other code stands twice as well.",
    lambda q, m: _scale(q, m, 7 / 6),
)
digit_scale.mistake("That is e^β. Its logarithm is asked for.", lambda q, m: np.exp(_scale(q, m)))
