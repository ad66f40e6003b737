"""Automata that write down their states: runs, steps as functions of bits, and sensitivity in one pass."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from flatcube import checks, cube

__all__ = [
    "Automaton", "AUTOMATA", "sensitive", "transduce", "one_pass_sensitivity", "reset_word", "step_tables",
    "step_sensitivity",
]  # fmt: skip

_LONGEST_RUN = 100_000  # symbols: seconds, not minutes
_MOST_STATES = 16  # for a reset word, which is looked for among sets of states: at most 2¹⁶ of them


@dataclass(frozen=True)
class Automaton:
    """A table (states, symbols) of next states, the accepting states and the state it starts in.

    >>> AUTOMATA["parity"].run([1, 0, 1, 1])
    array([0, 1, 1, 0, 1])
    """

    table: np.ndarray
    accepting: tuple[int, ...]
    start: int = 0

    def __post_init__(self) -> None:
        table = checks.array(self.table, "table")
        if table.ndim != 2 or min(table.shape) < 2 or table.dtype.kind not in "iu":
            raise ValueError(
                f"table: expected whole numbers (states, symbols), 2 states and 2 symbols or more, "
                f"got {table.dtype} of shape {table.shape}"
            )
        if table.min() < 0 or table.max() >= len(table):
            bad = table[(table < 0) | (table >= len(table))][0]
            raise ValueError(f"table: expected states 0 to {len(table) - 1}, got {bad}")
        if not isinstance(self.accepting, Iterable):
            raise TypeError(f"accepting: expected states, got {self.accepting!r}")
        for name, states in {"start": [self.start], "accepting": self.accepting}.items():
            for state in states:
                checks.integer(state, name, 0, len(table) - 1)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "accepting", tuple(sorted(set(self.accepting))))

    @property
    def bits(self) -> tuple[int, int]:
        """How many bits a state and a symbol take: ⌈log₂ |X|⌉ and ⌈log₂ |Σ|⌉."""
        states, symbols = self.table.shape
        return (states - 1).bit_length(), (symbols - 1).bit_length()

    @property
    def codes(self) -> np.ndarray:
        """The table on all codes, (2^a, 2^b); unused ones behave like the last one in use."""
        used = [np.minimum(np.arange(2**k), size - 1) for k, size in zip(self.bits, self.table.shape, strict=True)]
        return self.table[np.ix_(*used)]

    @property
    def accepts(self) -> np.ndarray:
        """Whether each state accepts, (states,)."""
        return np.isin(np.arange(len(self.table)), self.accepting)

    def run(self, symbols: np.ndarray | Sequence[int]) -> np.ndarray:
        """The states t_0, t_1, …, t_n on strings of symbols (…, n), as (…, n + 1)."""
        symbols, last = checks.array(symbols, "symbols"), self.table.shape[1] - 1
        if symbols.ndim == 0 or symbols.dtype.kind not in "biu" or ((symbols < 0) | (symbols > last)).any():
            raise ValueError(f"symbols: expected strings of whole numbers 0 to {last}, got {symbols.tolist()!r:.60}")
        states = np.full((*symbols.shape[:-1], symbols.shape[-1] + 1), self.start)
        for i in range(symbols.shape[-1]):
            states[..., i + 1] = self.table[states[..., i], symbols[..., i].astype(int)]
        return states


AUTOMATA = {
    "parity": Automaton(np.array([[0, 1], [1, 0]]), (1,)),  # an odd number of ones
    "ones by threes": Automaton(np.array([[0, 1], [1, 2], [2, 0]]), (0,)),
    "multiple of three": Automaton(np.array([[0, 1], [2, 0], [1, 2]]), (0,)),  # as a binary number
    "two ones in a row": Automaton(np.array([[0, 1], [0, 2], [2, 2]]), (2,)),
    "all ones": Automaton(np.array([[1, 0], [1, 1]]), (0,)),
    "first bit": Automaton(np.array([[1, 2], [1, 1], [2, 2]]), (2,)),
    "last bit": Automaton(np.array([[0, 1], [0, 1]]), (1,)),
}


def step_tables(automaton: Automaton) -> np.ndarray:
    """The step as functions on the cube: a tables of signs (a, 2^(a+b)), one for each bit of the next state.

    Variables 1 … a are the bits of the state, a + 1 … a + b those of the symbol.
    """
    return 1 - 2 * (_step(automaton) >> np.arange(automaton.bits[0])[:, None] & 1)


def step_sensitivity(automaton: Automaton) -> float:
    """How many of the a + b bits of a step change the next state when flipped, on average over all of them (HR Thm 7).

    >>> step_sensitivity(AUTOMATA["parity"])
    2.0
    """
    after = _step(automaton)
    k = np.arange(len(after))
    return float(sum((after != after[k ^ 1 << i]).mean() for i in range(sum(automaton.bits))))


def _step(automaton: Automaton) -> np.ndarray:
    """The next state for every code of state and symbol, (2^(a+b),)."""
    return checks.instance(automaton, "automaton", Automaton).codes.T.ravel()


def transduce(automaton: Automaton, n: int) -> np.ndarray:
    """Whether each prefix of a string of n symbols is accepted: n tables of signs (n, 2^(bn)), −1 for accepted.

    The last one is the language itself, on n symbols. Bits b(i − 1) + 1 … bi code symbol i.
    """
    _, b = checks.instance(automaton, "automaton", Automaton).bits
    checks.size(b * checks.integer(n, "n", 1), itemsize=32 * n)
    digits = cube.to_bits(cube.points(b * n)).astype(int)
    symbols = digits.reshape(-1, n, b) @ (1 << np.arange(b))
    states = automaton.run(np.minimum(symbols, automaton.table.shape[1] - 1))
    return 1 - 2 * automaton.accepts[states[:, 1:]].T.astype(int)


def one_pass_sensitivity(automaton: Automaton, n: int) -> float:
    """as_n of the language on n symbols, exactly, in n·|X|² steps: how many of the bn bits change the verdict.

    After a flip in symbol i two runs go on side by side on the same symbols. Backwards from the end, D[q, r] is the
    chance that they are judged differently from states q and r on; forwards, p is the distribution of the state.

    >>> one_pass_sensitivity(AUTOMATA["parity"], 1000)
    1000.0
    """
    checks.instance(automaton, "automaton", Automaton)
    checks.integer(n, "n", 1, _LONGEST_RUN)
    checks.room(8 * n * len(automaton.table) ** 2, "n")
    codes, verdict = automaton.codes[: len(automaton.table)], automaton.accepts
    differ = [(verdict[:, None] != verdict).astype(float)]
    for _ in range(n - 1):
        differ.append(np.mean([differ[-1][np.ix_(after, after)] for after in codes.T], axis=0))
    p, total = np.eye(len(codes))[automaton.start], 0.0
    for later in reversed(differ):
        for i in range(automaton.bits[1]):
            total += p @ later[codes, codes[:, np.arange(codes.shape[1]) ^ 1 << i]].mean(axis=1)
        p = np.bincount(codes.ravel(), np.repeat(p, codes.shape[1]) / codes.shape[1], len(codes))
    return float(total)


def sensitive(automaton: Automaton, symbols: np.ndarray | Sequence[int]) -> np.ndarray:
    """Which positions of a string (n,) of 0 and 1 change the verdict when flipped, (n,) truth values."""
    if checks.instance(automaton, "automaton", Automaton).table.shape[1] != 2:
        raise ValueError(f"automaton: expected one with 2 symbols, got {automaton.table.shape[1]}")
    symbols = checks.bits(symbols, ("n",), name="symbols").astype(int)
    checks.room(32 * len(symbols) ** 2, "symbols")
    last = automaton.run(symbols)[-1]
    return automaton.accepts[automaton.run(symbols ^ np.eye(len(symbols), dtype=int))[:, -1]] != automaton.accepts[last]


def reset_word(automaton: Automaton) -> tuple[int, ...] | None:
    """A shortest string of symbols that leads all states into one; None if there is none.

    Breadth first over sets of states. Two runs that read such a word together agree for ever after, so with L its
    length and fair bits one_pass_sensitivity ≤ L·2^L at every length.

    >>> reset_word(AUTOMATA["two ones in a row"])
    (1, 1)
    """
    table = checks.instance(automaton, "automaton", Automaton).table
    if len(table) > _MOST_STATES:
        raise ValueError(f"automaton: expected at most {_MOST_STATES} states, got {len(table)}")
    everywhere = frozenset(range(len(table)))
    words, waiting = {everywhere: ()}, deque([everywhere])
    while waiting:
        states = waiting.popleft()
        if len(states) == 1:
            return words[states]
        for symbol in range(table.shape[1]):
            after = frozenset(table[sorted(states), symbol].tolist())
            if after not in words:
                words[after] = (*words[states], symbol)
                waiting.append(after)
    return None
