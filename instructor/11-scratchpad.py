"""The second set of chapter 11: problems for marks. Their solutions stand nowhere else."""

import itertools

import numpy as np

from flatcube.classroom.problems import problem


def _chains(rng: np.random.Generator) -> list[tuple]:
    return [(rng.uniform(0.01, 0.4, T).round(2),) for T in (2, 3, 5, 8)]


@problem(
    "11.A",
    "Two wrongs",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
A chain writes the running parities of $T$ bits and reads what it wrote itself. At step $t$ it writes the wrong bit,
for the state that it has just read, with probability $p_t$ (`wrong`), independently of all other steps. The chapter
counts a chain as wrong if **any** of its states is. How likely is it that its **last** bit, the parity of the whole
string, is wrong?
""",
    hints=(
        "A wrong step turns the running parity round, and a right one leaves it as it is. When is the last bit wrong?",
        "Give every step the factor −1 if it is wrong and +1 if not. What is the mean of the product?",
    ),
    why="Two wrongs make a right here, so the count of whole chains is on the safe side. With all p at ½ it is ½.",
    instances=_chains,
)
def last_bit_wrong(wrong: np.ndarray) -> float:
    """The chance that the last written parity is wrong."""
    return (1 - np.prod(1 - 2 * wrong)) / 2


last_bit_wrong.mistake(
    "That is the chance that some step is wrong. A second wrong step repairs the last bit.",
    lambda wrong: 1 - np.prod(1 - wrong),
)
last_bit_wrong.mistake(
    "You add the chances up. That bounds the chance of any wrong step, and counts several of them.",
    lambda wrong: wrong.sum(),
)
last_bit_wrong.mistake(
    "That is the last step alone. It may also write the right bit for a state that is wrong.", lambda wrong: wrong[-1]
)
last_bit_wrong.mistake("That is the chance that the last bit is right.", lambda wrong: (1 + np.prod(1 - 2 * wrong)) / 2)
last_bit_wrong.mistake(
    "You count exactly one wrong step. Three do the same.",
    lambda wrong: np.sum(wrong / (1 - wrong)) * np.prod(1 - wrong),
)


def _images(table: np.ndarray, k: int) -> list[tuple[int, ...]]:
    """For every string of k bits where it leads each of the states."""
    found = []
    for word in itertools.product((0, 1), repeat=k):
        states = np.arange(len(table))
        for bit in word:
            states = table[states, bit]
        found.append(tuple(states.tolist()))
    return found


def _share(table: np.ndarray, k: int, fits) -> float:
    images = _images(table, k)
    return sum(map(fits, images)) / len(images)


def _met(image: tuple[int, ...]) -> bool:
    return len(set(image)) == 1


def _readings(table: np.ndarray, k: int) -> list[float]:
    """The right chance, and what readers take for it."""
    now, before = _share(table, k, _met), _share(table, k - 1, _met)
    two = _share(table, k, lambda image: image[0] == image[1])
    some = _share(table, k, lambda image: len(set(image)) < len(image))
    zero = _share(table, k, lambda image: set(image) == {0})
    return [now, two, some, zero, before, now - before, 1 - now]


def _tables(rng: np.random.Generator) -> list[tuple]:
    """Automata that forget with some strings of k bits and not with all; no two mistakes agree on all of them."""
    while True:
        rows = [(rng.integers(0, states, (states, 2)), k) for states, k in ((3, 3), (4, 4), (4, 5))]
        found = np.array([_readings(*row) for row in rows])
        apart = np.abs(found[:, :, None] - found[:, None, :]).max(axis=0) + np.eye(7)
        if np.all(found[:, 0] > 0.05) and np.all(found[:, 0] < 0.95) and apart.min() > 0.01:
            return rows


@problem(
    "11.B",
    "When all is forgotten",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
Start an automaton in each of its states at once, and let all these runs read the same $k$ random bits, fair and
independent. How likely is it that they have **all** met, so that the last state no longer tells where a run began?
Entry $[q,x]$ of `table` is the state after $q$ and the bit $x$.
""",
    hints=(
        "A string of k bits leads each state somewhere. Which strings lead all of them to one place?",
        "For small k you may try all strings. It is enough to carry the set of states that are still possible.",
    ),
    why="A flip that lies k bits back can matter only where they have not met: so fast does a language forget.",
    instances=_tables,
)
def forgotten(table: np.ndarray, k: int) -> float:
    """The chance that k random bits lead all states to one."""
    chances = {frozenset(range(len(table))): 1.0}
    for _ in range(k):
        # your turn
        following: dict[frozenset, float] = {}
        for states, chance in chances.items():
            for bit in (0, 1):
                after = frozenset(int(table[q, bit]) for q in states)
                following[after] = following.get(after, 0.0) + chance / 2
        chances = following
    return sum(chance for states, chance in chances.items() if len(states) == 1)


forgotten.mistake(
    "You follow the runs from the states 0 and 1 only. All of them have to meet.",
    lambda table, k: _readings(table, k)[1],
)
forgotten.mistake(
    "You ask whether some two runs have met. All of them have to.",
    lambda table, k: _readings(table, k)[2],
)
forgotten.mistake(
    "You count the strings that lead all states to state 0. It may be any state.",
    lambda table, k: _readings(table, k)[3],
)
forgotten.mistake(
    "You read one bit too few.",
    lambda table, k: _readings(table, k)[4],
)
forgotten.mistake(
    "That is the chance that they meet at the last of the k bits. They may have met before, and then stay together.",
    lambda table, k: _readings(table, k)[5],
)
forgotten.mistake(
    "That is the chance that they have not met.",
    lambda table, k: _readings(table, k)[6],
)


def _hurries(rng: np.random.Generator) -> list[tuple]:
    return [(r * int(rng.integers(3, 12)), r) for r in (2, 3, 4, 5)]


@problem(
    "11.C",
    "How loud in a hurry?",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
The network of the chapter shall read $r$ symbols a step, where $r$ divides $T$, and write a state after each of the
$T/r$ steps. The head gives the logit $\beta$ to $r+1$ positions, the last state and the next $r$ symbols, and 0 to all
others. Of these there are most at the last step, when the sequence holds all $T$ symbols and the states
$q_0,\dots,q_{T/r-1}$. A unit adds up the channels of its state and of its symbols. Its argument is linear in this sum:
1 if all $r+1$ channels hold their part, $\frac1{r+1}$ each, and $-1$ if one of them holds nothing. Above which $\beta$
does the unit of the right state and symbols stay active at every step, whatever the leak consists of? (All others are
silent then.)
""",
    hints=(
        "First the slope and the constant of the argument. For r = 1 they are 4 and −3.",
        "If the leak is τ, the right channels hold at least 1 − τ in all. For which τ is the argument still positive, "
        "and which β makes the leak so small at the last step?",
    ),
    why="For r = 1 it is log 3(T − 1). In a hurry the unit has to be steeper, and less leak can be allowed.",
    instances=_hurries,
)
def hurried_scale(T: int, r: int) -> float:
    """The β above which the right unit is active at every step, with r symbols a step."""
    others = T + T // r - (r + 1)
    return np.log(others * (2 * r + 1) / (r + 1))


hurried_scale.mistake("That is for one symbol a step.", lambda T, r: np.log(3 * (T - 1)))
hurried_scale.mistake(
    "You allow a leak of a quarter, as for one symbol. A steeper unit bears less.",
    lambda T, r: np.log(3 * (T + T // r - r - 1) / (r + 1)),
)
hurried_scale.mistake(
    "You count T written states. In a hurry there is one for r symbols.",
    lambda T, r: np.log((2 * T - r - 1) * (2 * r + 1) / (r + 1)),
)
hurried_scale.mistake(
    "You count all positions as others. The r + 1 that are wanted do not leak.",
    lambda T, r: np.log((T + T // r) * (2 * r + 1) / (r + 1)),
)
hurried_scale.mistake(
    "You give the weight of a single wanted position to all of them together. There are r + 1.",
    lambda T, r: np.log((T + T // r - r - 1) * (2 * r + 1)),
)
hurried_scale.mistake(
    "That is e^β. Its logarithm is asked for.", lambda T, r: (T + T // r - r - 1) * (2 * r + 1) / (r + 1)
)
hurried_scale.mistake(
    "You ask when the wrong units are silent. The right one has to be active as well, and that takes more.",
    lambda T, r: np.log((T + T // r - r - 1) / (r + 1)),
)
