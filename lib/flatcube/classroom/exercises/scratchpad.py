"""The exercises of chapter 11. One trial of each is fixed, so that no two known mistakes look alike."""

import numpy as np

from flatcube.classroom.exercises import exercise


def _runs(rng: np.random.Generator) -> list[tuple]:
    """An automaton that counts, one that reads binary numbers, and a random one, each with a string."""
    fixed = np.array([[0, 1], [1, 2], [2, 0]]), np.array([1, 1, 0, 1, 0, 0, 1])
    binary = np.array([[0, 1], [2, 0], [1, 2]]), rng.integers(0, 2, 6)
    return [fixed, binary, (rng.integers(0, 4, (4, 2)), rng.integers(0, 2, 9))]


@exercise(
    "11.1",
    "Write the states",
    minutes=6,
    difficulty=1,
    hints=(
        "Begin with a list that holds state 0, and look up one row and one column of the table for every bit.",
        "The last entry of your list names the row to look in, the next bit names the column.",
    ),
    why="Every entry was found from the one before it and a single bit. No step has seen the whole string.",
    instances=_runs,
)
def states(table: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """t_0 = 0, t_1, …, t_n: all states on the way, n + 1 of them."""
    written = [0]
    for bit in bits:
        written.append(table[written[-1], bit])
    return np.array(written)


def _written(table, bits):
    return states.solution(table, bits)


states.mistake("You left out t_0, the state at the start.", lambda table, bits: _written(table, bits)[1:])
states.mistake("That is the last state alone. Keep all of them.", lambda table, bits: _written(table, bits)[-1])
states.mistake(
    "Your step t + 1 reads bit t, as printed in HR: the first bit is read twice and the last one never.",
    lambda table, bits: _written(table, np.concatenate([bits[:1], bits[:-1]])),
)
states.mistake(
    "You always start from state 0 again. Go on from the state that was written last.",
    lambda table, bits: np.concatenate([[0], table[0, bits]]),
)
states.mistake(
    "You read the string from its end.",
    lambda table, bits: _written(table, bits[::-1]),
)


@exercise(
    "11.2",
    "A language of your own",
    minutes=8,
    difficulty=2,
    hints=(
        "A binary number that gets one more digit at its end becomes twice as large, plus that digit.",
        "If the number so far leaves the remainder q, which remainder do 2q and 2q + 1 leave?",
    ),
    why="k states are enough for numbers of any length. A network that writes them down needs no more.",
    instances=lambda rng: [(5,), (int(rng.choice([3, 4])),), (int(rng.integers(6, 10)),)],
)
def multiples(k: int) -> np.ndarray:
    """(k, 2): the remainder modulo k of a binary number, after one more digit 0 or 1."""
    q = np.arange(k)
    return np.stack([2 * q % k, (2 * q + 1) % k], axis=1)


multiples.mistake(
    "Your automaton counts ones. Here a digit is worth more the earlier it comes.",
    lambda k: np.stack([np.arange(k), (np.arange(k) + 1) % k], axis=1),
)
multiples.mistake(
    "A 0 changes the number as well: it doubles it.",
    lambda k: np.stack([np.arange(k), (2 * np.arange(k) + 1) % k], axis=1),
)
multiples.mistake(
    "You forgot to take remainders: there are only k states.",
    lambda k: np.stack([2 * np.arange(k), 2 * np.arange(k) + 1], axis=1),
)
multiples.mistake(
    "Your columns are exchanged: the first is for the digit 0.",
    lambda k: np.stack([(2 * np.arange(k) + 1) % k, 2 * np.arange(k) % k], axis=1),
)
multiples.mistake(
    "Your table is on its side: one row for each state.",
    lambda k: np.stack([2 * np.arange(k) % k, (2 * np.arange(k) + 1) % k]),
)


def _quads(rng: np.random.Generator) -> list[tuple]:
    """Tables of four states, which take two bits; the first leaves no two mistakes alike."""
    return [(np.array([[0, 3], [1, 0], [2, 2], [0, 1]]),), *[(rng.integers(0, 4, (4, 2)),) for _ in range(3)]]


@exercise(
    "11.3",
    "What a step can feel",
    minutes=12,
    difficulty=2,
    hints=(
        "Go through all eight pairs of state and symbol. For each of them flip one bit of the state, the other one, "
        "and the symbol, and look whether another state comes next.",
        "States 0 to 3 are coded as their binary digits: `q ^ 1` and `q ^ 2` flip one of them, `x ^ 1` flips the "
        "symbol. Count changes of `table[q, x]`, and divide by the number of pairs.",
    ),
    why="At most three, for every automaton with four states and every length of the string. This is HR's Theorem 7.",
    instances=_quads,
)
def matters(table: np.ndarray) -> float:
    """How many of the three bits of (state, symbol) change the next state, on average; table is (4, 2)."""
    q, x = np.indices(table.shape)
    return sum(np.mean(table[a, b] != table) for a, b in ((q ^ 1, x), (q ^ 2, x), (q, x ^ 1)))


def _flipped(table):
    q, x = np.indices(table.shape)
    return np.array([table[q ^ 1, x], table[q ^ 2, x], table[q, x ^ 1]])


matters.mistake(
    "That is the largest number of bits that matter. Take the mean over all states and symbols.",
    lambda table: (_flipped(table) != table).sum(0).max(),
)
matters.mistake(
    "You flip the bits of the state only. The symbol is an input as well.",
    lambda table: (_flipped(table) != table)[:2].sum(0).mean(),
)
matters.mistake(
    "You flip the symbol only. The state is an input as well: it has two bits.",
    lambda table: (_flipped(table) != table)[2].mean(),
)
matters.mistake(
    "You add up over all states and symbols. Divide by their number.",
    lambda table: (_flipped(table) != table).sum(),
)
matters.mistake(
    "You count how many bits of the next state change. Count the flips that change anything at all.",
    lambda table: ((_flipped(table) ^ table)[..., None] >> np.arange(2) & 1).sum((0, 3)).mean(),
)
matters.mistake(
    "You take the mean over the three bits, too. Add them up.",
    lambda table: (_flipped(table) != table).mean(),
)


def _pairs(rng: np.random.Generator) -> list[tuple]:
    fixed = np.array([[0, 1], [2, 0], [1, 2]]), np.array([True, False, False]), 3
    random = rng.integers(0, 4, (4, 2)), np.array([True, False, True, False]), int(rng.integers(2, 6))
    return [fixed, random, (np.array([[0, 1], [0, 2], [2, 2]]), np.array([False, False, True]), 4)]


@exercise(
    "11.4",
    "Two runs side by side",
    minutes=15,
    difficulty=3,
    hints=(
        "With no bits to go, it is 1 where one of the two states accepts and the other does not. What happens to the "
        "pair (q, r) when both read a 0? When both read a 1?",
        "`D[np.ix_(a, b)]` holds D[a[q], b[r]] at (q, r). Use it with a column of the table, for either symbol, and "
        "remember that both symbols are equally likely.",
    ),
    why="Add it up over the positions of the flipped bit, and you have the sensitivity of a pass over a million bits.",
    instances=_pairs,
)
def differ(table: np.ndarray, accepts: np.ndarray, k: int) -> np.ndarray:
    """D[q, r]: the chance that runs from q and r are judged differently after the same k random bits."""
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


differ.mistake(
    "Your two runs read different bits. Both read the same ones: only the flipped bit, before them, was different.",
    _independent,
)
differ.mistake(
    "You compare the chances of acceptance. Two runs may be accepted equally often, and still never agree.",
    lambda table, accepts, k: np.abs(_judged(table, accepts, k)[:, None] - _judged(table, accepts, k)),
)
differ.mistake(
    "That is the chance that both are judged alike.",
    lambda table, accepts, k: 1 - differ.solution(table, accepts, k),
)
differ.mistake(
    "You are one bit short.",
    lambda table, accepts, k: differ.solution(table, accepts, k - 1),
)
differ.mistake(
    "You went one bit too far.",
    lambda table, accepts, k: differ.solution(table, accepts, k + 1),
)


def _prices(rng: np.random.Generator) -> list[tuple]:
    return [(float(rng.integers(300, 900)), 420.0, T, 0.1, error) for T, error in ((8, 0.1), (20, 0.05), (64, 0.2))]


@exercise(
    "11.5",
    "Examples for a chain",
    minutes=10,
    difficulty=2,
    hints=(
        "How small must the bound on the loss of one step be, if T steps together may go wrong with probability "
        "`error`, and each goes wrong at most four times as often as its loss says?",
        "Set 3/2 (C² · trace · norm2 / m)^(1/3) equal to error/(4T) and solve for m.",
    ),
    why="T³ from the union over the steps, and what the norm adds. Nothing exponential has come in.",
    instances=_prices,
)
def examples(norm2: float, trace: float, T: int, C: float, error: float) -> float:
    """The m at which 4T · 3/2 (C² · trace · norm2 / m)^(1/3) has come down to error."""
    return C**2 * trace * norm2 * (6 * T / error) ** 3


def _examples(norm2, trace, C, factor):
    return C**2 * trace * norm2 * factor**3


examples.mistake(
    "That is for a single step. All T of them must be right.",
    lambda norm2, trace, T, C, error: _examples(norm2, trace, C, 6 / error),
)
examples.mistake(
    "You ask for T times as many examples as one step needs. But each step must be T times better, and the bound falls "
    "only with the cube root of m.",
    lambda norm2, trace, T, C, error: T * _examples(norm2, trace, C, 6 / error),
)
examples.mistake(
    "Markov's factor 4 is missing: a small loss only makes a wrong bit rare.",
    lambda norm2, trace, T, C, error: _examples(norm2, trace, C, 1.5 * T / error),
)
examples.mistake(
    "The factor 3/2 of the bound is missing.",
    lambda norm2, trace, T, C, error: _examples(norm2, trace, C, 4 * T / error),
)
examples.mistake(
    "You forgot the cube when you solved for m.",
    lambda norm2, trace, T, C, error: C**2 * trace * norm2 * 6 * T / error,
)


def _settings(rng: np.random.Generator) -> list[tuple]:
    return [(float(rng.integers(100, 400)), 100.0, 0.05, float(rng.integers(1, 9)) * 1000, C) for C in (0.1, 0.2, 0.5)]


@exercise(
    "11.6",
    "Solve for δ",
    minutes=12,
    difficulty=2,
    hints=(
        "Bring σ²/2 · trace to the other side, divide by C, and square.",
        "(norm2/σ² + 2 log(1/δ))/m is now a square. Mind the sign: log(1/δ) is −log δ.",
    ),
    why="Where it is positive, δ is above 1 and nothing is promised. Where it is negative, δ bounds unlucky samples.",
    instances=_settings,
)
def log_delta(norm2: float, trace: float, sigma: float, m: float, C: float) -> float:
    """log δ, if ¼ = σ²/2 · trace + C √((norm2/σ² + 2 log(1/δ))/m)."""
    room = 1 / 4 - sigma**2 * trace / 2
    return norm2 / (2 * sigma**2) - m * room**2 / (2 * C**2)


def _solved(norm2, trace, sigma, m, C, target=0.25):
    return norm2 / (2 * sigma**2) - m * (target - sigma**2 * trace / 2) ** 2 / (2 * C**2)


log_delta.mistake("That is log(1/δ): the other sign.", lambda *given: -_solved(*given))
log_delta.mistake(
    "You forgot that there is a 2 in front of log(1/δ).",
    lambda *given: 2 * _solved(*given),
)
log_delta.mistake(
    "The loss at which rounding fails is a quarter, not a half.",
    lambda *given: _solved(*given, target=0.5),
)
log_delta.mistake(
    "You left the sharpness out: the noise alone already costs σ²/2 · trace.",
    lambda norm2, trace, sigma, m, C: _solved(norm2, 0, sigma, m, C),
)
log_delta.mistake(
    "You did not square what is left when the sharpness is taken away.",
    lambda norm2, trace, sigma, m, C: norm2 / (2 * sigma**2) - m * (0.25 - sigma**2 * trace / 2) / (2 * C**2),
)
