"""Exercises of chapter 11: an automaton of one's own, from its run to the network that writes it and its promise.

One trial of each is fixed, so that no two known mistakes look alike.
"""

import numpy as np

from flatcube.classroom.exercises import Measure, exercise, scored


def _runs(rng: np.random.Generator) -> list[tuple]:
    """An automaton that counts, one that reads binary numbers, and a random one, each with a string."""
    fixed = np.array([[0, 1], [1, 2], [2, 0]]), np.array([1, 1, 0, 1, 0, 0, 1])
    binary = np.array([[0, 1], [2, 0], [1, 2]]), rng.integers(0, 2, 6)
    return [fixed, binary, (rng.integers(0, 4, (4, 2)), rng.integers(0, 2, 9))]


@exercise(
    "11.1",
    "My run",
    minutes=6,
    difficulty=1,
    hints=(
        "Begin with a list that holds state 0, and look up one row and one column of the table for every bit.",
        "The last entry of your list names the row to look in, the next bit names the column.",
    ),
    why="Every entry was found from the one before it and a single bit. No step has seen the whole string.",
    instances=_runs,
)
def my_run(table: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """q_0 = 0, q_1, …, q_T: all states on the way, T + 1 of them."""
    written = [0]
    for bit in bits:
        written.append(table[written[-1], bit])
    return np.array(written)


def _written(table, bits):
    return my_run.solution(table, bits)


my_run.mistake("You left out q_0, the state at the start.", lambda table, bits: _written(table, bits)[1:])
my_run.mistake("That is the last state alone. Keep all of them.", lambda table, bits: _written(table, bits)[-1])
my_run.mistake(
    "Your step t + 1 reads bit t: the first bit is read twice and the last one never.",
    lambda table, bits: _written(table, np.concatenate([bits[:1], bits[:-1]])),
)
my_run.mistake(
    "You always start from state 0 again. Go on from the state that was written last.",
    lambda table, bits: np.concatenate([[0], table[0, bits]]),
)
my_run.mistake(
    "You read the string from its end.",
    lambda table, bits: _written(table, bits[::-1]),
)


@exercise(
    "11.2",
    "My language",
    minutes=8,
    difficulty=2,
    hints=(
        "A binary number that gets one more digit at its end becomes twice as large, plus that digit.",
        "If the number so far leaves the remainder q, which remainder do 2q and 2q + 1 leave?",
    ),
    why="k states are enough for numbers of any length. A network that writes them down needs no more.",
    instances=lambda rng: [(5,), (int(rng.choice([3, 4])),), (int(rng.integers(6, 10)),)],
)
def my_language(k: int) -> np.ndarray:
    """(k, 2): the remainder modulo k of a binary number, after one more digit 0 or 1."""
    q = np.arange(k)
    return np.stack([2 * q % k, (2 * q + 1) % k], axis=1)


my_language.mistake(
    "Your automaton counts ones. Here a digit is worth more the earlier it comes.",
    lambda k: np.stack([np.arange(k), (np.arange(k) + 1) % k], axis=1),
)
my_language.mistake(
    "A 0 changes the number as well: it doubles it.",
    lambda k: np.stack([np.arange(k), (2 * np.arange(k) + 1) % k], axis=1),
)
my_language.mistake(
    "You forgot to take remainders: there are only k states.",
    lambda k: np.stack([2 * np.arange(k), 2 * np.arange(k) + 1], axis=1),
)
my_language.mistake(
    "Your columns are exchanged: the first is for the digit 0.",
    lambda k: np.stack([(2 * np.arange(k) + 1) % k, 2 * np.arange(k) % k], axis=1),
)
my_language.mistake(
    "Your table is on its side: one row for each state.",
    lambda k: np.stack([2 * np.arange(k) % k, (2 * np.arange(k) + 1) % k]),
)


def _quads(rng: np.random.Generator) -> list[tuple]:
    """Tables of four states, which take two bits; the first leaves no two mistakes alike."""
    return [(np.array([[0, 3], [1, 0], [2, 2], [0, 1]]),), *[(rng.integers(0, 4, (4, 2)),) for _ in range(3)]]


@exercise(
    "11.3",
    "My step",
    minutes=12,
    difficulty=2,
    hints=(
        "Go through all eight pairs of state and symbol. For each of them flip one bit of the state, the other one, "
        "and the symbol, and look whether another state comes next.",
        "States 0 to 3 are coded as their binary digits: `q ^ 1` and `q ^ 2` flip one of them, `x ^ 1` flips the "
        "symbol. Count changes of `table[q, x]`, and divide by the number of pairs.",
    ),
    why="At most three, for every automaton with four states and every length of the string: Hahn and Rofin's theorem.",
    instances=_quads,
)
def my_step(table: np.ndarray) -> float:
    """How many of the three bits that a step reads change the next state, on average; table is (4, 2)."""
    q, x = np.indices(table.shape)
    return sum(np.mean(table[a, b] != table) for a, b in ((q ^ 1, x), (q ^ 2, x), (q, x ^ 1)))


def _flipped(table):
    q, x = np.indices(table.shape)
    return np.array([table[q ^ 1, x], table[q ^ 2, x], table[q, x ^ 1]])


my_step.mistake(
    "That is the largest number of bits that matter. Take the mean over all states and symbols.",
    lambda table: (_flipped(table) != table).sum(0).max(),
)
my_step.mistake(
    "You flip the bits of the state only. The symbol is an input as well.",
    lambda table: (_flipped(table) != table)[:2].sum(0).mean(),
)
my_step.mistake(
    "You flip the symbol only. The state is an input as well: it has two bits.",
    lambda table: (_flipped(table) != table)[2].mean(),
)
my_step.mistake(
    "You add up over all states and symbols. Divide by their number.",
    lambda table: (_flipped(table) != table).sum(),
)
my_step.mistake(
    "You count how many bits of the next state change. Count the flips that change anything at all.",
    lambda table: ((_flipped(table) ^ table)[..., None] >> np.arange(2) & 1).sum((0, 3)).mean(),
)
my_step.mistake(
    "You count the pairs for which some flip matters. Count the flips. (Between numpy's comparisons + means “or”: true "
    "plus true is true. Wrap each of them in `int`.)",
    lambda table: (_flipped(table) != table).any(0).mean(),
)
my_step.mistake(
    "You take the mean over the three bits, too. Add them up.",
    lambda table: (_flipped(table) != table).mean(),
)


def _pairs(rng: np.random.Generator) -> list[tuple]:
    fixed = np.array([[0, 1], [2, 0], [1, 2]]), np.array([True, False, False]), 3
    random = rng.integers(0, 4, (4, 2)), np.array([True, False, True, False]), int(rng.integers(2, 6))
    return [fixed, random, (np.array([[0, 1], [0, 2], [2, 2]]), np.array([False, False, True]), 4)]


@exercise(
    "11.4",
    "My pair of runs",
    minutes=15,
    difficulty=3,
    hints=(
        "With no bits to go, it is 1 where one of the two states accepts and the other does not. What happens to the "
        "pair (p, q) when both read a 0? When both read a 1?",
        "`D[np.ix_(a, b)]` holds D[a[p], b[q]] at (p, q). Use it with a column of the table, for either symbol, and "
        "remember that both symbols are equally likely.",
    ),
    why="Average it over the pairs to which a flip leads, add up over the positions of the flip, and you have the "
    "sensitivity of a pass over a million bits.",
    instances=_pairs,
)
def my_pair(table: np.ndarray, accepts: np.ndarray, k: int) -> np.ndarray:
    """D[p, q]: the chance that runs from p and q are judged differently after the same k random bits."""
    apart = (accepts[:, None] != accepts).astype(float)
    # your turn
    for _ in range(k):
        apart = sum(apart[np.ix_(table[:, x], table[:, x])] for x in (0, 1)) / 2
    return apart


def _judged(table, accepts, k):
    """The chance of acceptance from each state after k random bits."""
    chance = accepts.astype(float)
    for _ in range(k):
        chance = chance[table].mean(axis=1)
    return chance


def _independent(table, accepts, k):
    p = _judged(table, accepts, k)
    return p[:, None] * (1 - p) + (1 - p[:, None]) * p


my_pair.mistake(
    "Your two runs read different bits. Both read the same ones: only the flipped bit, before them, was different.",
    _independent,
)
my_pair.mistake(
    "You compare the chances of acceptance. Two runs may be accepted equally often, and still never agree.",
    lambda table, accepts, k: np.abs(_judged(table, accepts, k)[:, None] - _judged(table, accepts, k)),
)
my_pair.mistake(
    "You add up over the two symbols without their chance, which is ½ each: such numbers double with every bit.",
    lambda table, accepts, k: 2**k * my_pair.solution(table, accepts, k),
)
my_pair.mistake(
    "That is the chance that both are judged alike.",
    lambda table, accepts, k: 1 - my_pair.solution(table, accepts, k),
)
my_pair.mistake(
    "You are one bit short.",
    lambda table, accepts, k: my_pair.solution(table, accepts, k - 1),
)
my_pair.mistake(
    "You went one bit too far.",
    lambda table, accepts, k: my_pair.solution(table, accepts, k + 1),
)


def _hurries(rng: np.random.Generator) -> list[tuple]:
    """Tables and what the head delivers: a third of weight each for a state, a first and a second bit, less a leak."""
    found = []
    for table, state, first, second in (
        (np.array([[0, 1], [0, 2], [2, 2]]), 0, 1, 0),
        (np.array([[0, 1], [2, 0], [1, 2]]), 1, 0, 1),
        (rng.integers(0, 4, (4, 2)), 2, 1, 1),
    ):
        leak, states = 0.04, len(table)
        mean = leak * rng.dirichlet(np.ones(states + 4))
        mean[[state, states + first, states + 2 + second]] += (1 - leak) / 3
        found.append((table, mean))
    return found


@exercise(
    "11.5",
    "My step in a hurry",
    minutes=20,
    difficulty=3,
    hints=(
        "A unit adds up three channels, multiplies the sum by a slope and takes a constant off. All three together "
        "hold 1 if they are the right ones. How much do they hold if one of them is wrong? That makes two equations.",
        "Which state follows after `x` and then `y`? Look up one row of the table, and then the row that it names.",
    ),
    why="Four units for each state now, and 2^r for r bits a step; a steeper slope, too. Hurry has its price.",
    instances=_hurries,
)
def my_hurry(table: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """One number for each state: the units (p, x, y) that lead to it, added up; mean is (states + 4,)."""
    outputs = np.zeros(len(table))
    # your turn
    state, first, second = np.split(mean, [len(table), len(table) + 2])
    for p, x, y in np.ndindex(len(table), 2, 2):
        unit = max(6 * (state[p] + first[x] + second[y]) - 5, 0)
        outputs[table[table[p, x], y]] += unit
    return outputs


def _units(table, mean, slope=6.0, off=5.0, after=None, rectified=True):
    """The same step, with what readers mix up."""
    outputs, states = np.zeros(len(table)), len(table)
    for p, x, y in np.ndindex(states, 2, 2):
        unit = slope * (mean[p] + mean[states + x] + mean[states + 2 + y]) - off
        outputs[after(table, p, x, y) if after else table[table[p, x], y]] += max(unit, 0) if rectified else unit
    return outputs


my_hurry.mistake(
    "These are slope and constant for a pair. Three positions share the attention now: a unit with one wrong channel "
    "still holds two thirds.",
    lambda table, mean: _units(table, mean, 4, 3),
)
my_hurry.mistake(
    "Your unit is 1 if all three are there. But where one is missing, its argument is 0 and not −1: a leak would "
    "switch it on.",
    lambda table, mean: _units(table, mean, 3, 2),
)
my_hurry.mistake(
    "You read the second bit first.",
    lambda table, mean: _units(table, mean, after=lambda table, p, x, y: table[table[p, y], x]),
)
my_hurry.mistake(
    "You look up one bit only. Two are read in a step.",
    lambda table, mean: _units(table, mean, after=lambda table, p, x, y: table[p, x]),
)
my_hurry.mistake(
    "The ReLU is missing: units that should be silent count against the right one.",
    lambda table, mean: _units(table, mean, rectified=False),
)


def _settings(rng: np.random.Generator) -> list[tuple]:
    """Chains that are promised something in the first three; in the last the noise alone costs too much."""
    kinds = ((4, 0.4, 0.01), (8, 0.5, 0.008), (5, 0.3, 0.006), (8, 0.4, 0.03))
    return [(float(rng.integers(100, 400)), 100.0, T, error, sigma, 1e9 * int(rng.integers(1, 9)), 0.1)
            for T, error, sigma in kinds]  # fmt: skip


@exercise(
    "11.6",
    "My promise",
    minutes=15,
    difficulty=2,
    hints=(
        "How large may the loss of one step be, if T of them together may go wrong with probability `error`, and a "
        "rounded bit is wrong at most four times as often as its loss says? This takes the place of ¼.",
        "Bring σ²/2 · trace to the other side, divide by C, and square. What if that side is not positive? Then mind "
        "the sign: log(1/δ) is −log δ.",
    ),
    why="∞ where the noise alone costs too much: there no δ will do. A square would have hidden that.",
    instances=_settings,
)
def my_promise(norm2: float, trace: float, T: int, error: float, sigma: float, m: float, C: float) -> float:
    """log δ for which 4T · (σ²/2 · trace + C √((norm2/σ² + 2 log(1/δ))/m)) = error; np.inf if there is none."""
    room = error / (4 * T) - sigma**2 * trace / 2
    if room <= 0:
        return np.inf
    return norm2 / (2 * sigma**2) - m * room**2 / (2 * C**2)


def _promised(norm2, trace, sigma, m, C, target, guarded=True, sign=1):
    room = target - sigma**2 * trace / 2
    return np.inf if guarded and room <= 0 else sign * (norm2 / (2 * sigma**2) - m * room**2 / (2 * C**2))


my_promise.mistake(
    "You squared a bracket that may be negative. Where the noise alone costs as much as you may spend, no δ will do.",
    lambda norm2, trace, T, error, *rest: _promised(norm2, trace, *rest, error / (4 * T), guarded=False),
)
my_promise.mistake(
    "Where it is finite you give log(1/δ): the other sign.",
    lambda norm2, trace, T, error, *rest: _promised(norm2, trace, *rest, error / (4 * T), sign=-1),
)
my_promise.mistake(
    "You give log(1/δ): the other sign. Where no δ will do, log δ is ∞.",
    lambda *given: -my_promise.solution(*given),
)
my_promise.mistake(
    "That is δ, which a computer cannot tell from 0. Asked for is its logarithm.",
    lambda *given: float(np.exp(my_promise.solution(*given))),
)
my_promise.mistake(
    "You forgot that there is a 2 in front of log(1/δ).",
    lambda norm2, trace, T, error, *rest: 2 * _promised(norm2, trace, *rest, error / (4 * T)),
)
my_promise.mistake(
    "That is for a single step. All T of them must be right.",
    lambda norm2, trace, T, error, *rest: _promised(norm2, trace, *rest, error / 4),
)
my_promise.mistake(
    "Markov's factor 4 is missing: a small loss only makes a wrong bit rare.",
    lambda norm2, trace, T, error, *rest: _promised(norm2, trace, *rest, error / T),
)
my_promise.mistake(
    "That is for a loss of ¼, as in the text. Here the chain may err with probability `error`, and no more.",
    lambda norm2, trace, T, error, *rest: _promised(norm2, trace, *rest, 0.25),
)
my_promise.mistake(
    "You left the sharpness out: the noise alone already costs σ²/2 · trace.",
    lambda norm2, trace, T, error, *rest: _promised(norm2, 0, *rest, error / (4 * T)),
)


def _coded(codes: np.ndarray, table: np.ndarray) -> float:
    """The sensitivities of all bits of the next state's code, added up and averaged over state and symbol."""
    automaton = np.empty_like(table)
    automaton[codes] = codes[table]  # the same one with its states renamed
    bits = (len(table) - 1).bit_length()
    flips = [automaton[np.arange(len(table)) ^ 1 << i] for i in range(bits)] + [automaton[:, ::-1]]
    return float(sum(np.bitwise_count(other ^ automaton).mean() for other in flips))


def _machines(rng: np.random.Generator) -> list[tuple]:
    return [(rng.integers(0, 8, (8, 2)),) for _ in range(12)]


def _is_code(codes: object) -> str | None:
    found = np.asarray(codes)
    if found.shape != (8,) or sorted(found.tolist()) != list(range(8)):
        return "expected each of the codes 0 to 7 once, one for each state"
    return None


@scored(
    "11.7",
    "Better names for states",
    minutes=40,
    difficulty=3,
    instances=_machines,
    baseline=lambda table: np.arange(len(table)),
    rival="the numbers as they are",
    measures={"changed bits of the next code": Measure(lambda codes, table: _coded(np.asarray(codes), table))},
    fits=_is_code,
    why="It exchanges two names as long as that helps, and stops where no single exchange does.",
)
def my_codes(table: np.ndarray) -> np.ndarray:
    """A code 0 … 7 for each of the eight states of table (8, 2), so that flips change few bits of the next code."""
    codes, best = np.arange(8), np.inf

    def changed(codes):
        after = np.empty_like(table)
        after[codes] = codes[table]  # the same automaton with its states renamed
        flips = [after[np.arange(8) ^ 1], after[np.arange(8) ^ 2], after[np.arange(8) ^ 4], after[:, ::-1]]
        return sum(np.bitwise_count(other ^ after).sum() for other in flips)

    while changed(codes) < best:
        best = changed(codes)
        for i, j in np.argwhere(np.triu(np.ones((8, 8)), 1)):
            other = codes.copy()
            other[[i, j]] = codes[[j, i]]
            codes = min(codes, other, key=changed)
    return codes
