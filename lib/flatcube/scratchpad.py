"""Chain of thought: automata that write down their states, and what PAC-Bayes promises for a chain of steps.

A finite automaton reads symbols x_1 … x_n and moves from state t_{i−1} to t_i = table[t_{i−1}, x_i] (HR Theorem 7; the
printed proof reads x_{i−1}). In *one pass* a network goes from x to the last state; with a *scratchpad* it writes every
state, and each step depends on one state and one symbol only. States and symbols travel as bits: state q as the binary
digits of q, low digit first, and a code that nobody uses behaves like the last one in use.

The bounds are for PARITY (SP Theorems 7, 8 and 16, whose formulas are derived anew). A bit is rounded to the wrong
side only if the squared error is at least ¼, so by Markov its probability is at most 4·loss, and over T steps 4T·loss:

    chain     4T · (loss + truncated PAC-Bayes bound of the step network)
    one pass  4 · (truncated PAC-Bayes bound of the memorised wave of degree T)
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from flatcube import account, cube, design, pacbayes
from flatcube.capacity import Bound, samples_needed
from flatcube.sampling import check_positive, check_probability, check_samples

__all__ = [
    "Automaton", "AUTOMATA", "step_tables", "step_sensitivity", "transduce", "one_pass_sensitivity", "sensitive",
    "chain_error", "Price", "step", "one_pass", "error_bound", "samples", "log_delta", "growth",
]  # fmt: skip


# --- automata ---------------------------------------------------------------------------------------------------------


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
        table = np.asarray(self.table)
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
                cube.check_integer(state, name, 0, len(table) - 1)
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
        symbols, last = np.asarray(symbols), self.table.shape[1] - 1
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
    return automaton.codes.T.ravel()


def transduce(automaton: Automaton, n: int) -> np.ndarray:
    """Whether each prefix of a string of n symbols is accepted: n tables of signs (n, 2^(bn)), −1 for accepted.

    The last one is the language itself, on n symbols. Bits b(i − 1) + 1 … bi code symbol i.
    """
    _, b = automaton.bits
    digits = cube.to_bits(cube.points(b * cube.check_integer(n, "n", 1))).astype(int)
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
    cube.check_integer(n, "n", 1)
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
    symbols = np.asarray(symbols)
    if automaton.table.shape[1] != 2 or symbols.ndim != 1:
        raise ValueError(f"symbols: expected one string of 0 and 1, got shape {symbols.shape}")
    last = automaton.run(symbols)[-1]  # which checks the symbols
    return automaton.accepts[automaton.run(symbols ^ np.eye(len(symbols), dtype=int))[:, -1]] != automaton.accepts[last]


# --- bounds for PARITY ------------------------------------------------------------------------------------------------


def chain_error(losses: np.ndarray | Sequence[float]) -> float:
    """4·Σ_t loss_t ≥ the probability that a chain of rounded steps goes wrong (SP App. G, proof of Theorem 16).

    Loss t is the mean squared error of step t after *true* states. A wrong bit is off by ½ or more: by Markov this has
    probability 4·loss_t at most. A wrong chain has a first wrong step, and before it all states are true.
    """
    losses = cube.check_numbers(losses, "losses")
    if not losses.size or losses.min() < 0:
        raise ValueError(f"losses: expected mean squared errors ≥ 0, got {losses.min() if losses.size else 'none'}")
    return float(4 * losses.sum())


@dataclass(frozen=True)
class Price(account.Account):
    """What a network costs: ‖·‖² and the trace of the Hessian by matrix, its own loss, and how often it is run."""

    loss: float = 0.0
    steps: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.loss, "loss", 0)
        cube.check_integer(self.steps, "steps", 1)


def step(T: int, *, code: Literal["one-hot", "binary"] = "one-hot", leak: float = 1e-3) -> Price:
    """The step network of ``parity.scratchpad_network`` on T bits, run T times (SP App. G).

    e^β is twice what the first attention needs; the second leaves at most ``leak`` of its weight off the pair, so its
    squared error is at most leak². ‖θ‖² = k(β² + γ²) + 256 + …, with k = T for one-hot codes and ¼⌈log₂ T⌉ for binary
    ones. Tr H = 2 E‖∇f‖² is a mean over strings and steps in the limit of no leak, where W1, V1 and W2 have gradient 0:
    a pair with n ones has ‖∇_b‖² = 128n and ‖∇_E‖² = 32n³; the pair of the first step, x_1 and 0, never has two.
    """
    cube.check_integer(T, "T", 2)
    check_probability(leak, "leak")
    if code not in ("one-hot", "binary"):
        raise ValueError(f"code: expected one-hot or binary, got {code!r}")
    entries, first, second, length = _logits(T, code, leak)
    two = (1 - 1 / T) / 4  # the chance of two ones in a pair; one has chance ½ at every step
    means = dict.fromkeys(("W1", "V1", "W2"), 0.0) | {
        "E": 32 * (1 / 2 + 8 * two),
        "b": 128 * (1 / 2 + 2 * two),
        "F": (5 / 2 + 74 * two) / 64,
        "v2": length + 1 / 2,
    }
    norms = {"W1": entries * first**2, "V1": 1.0, "E": 4.0, "b": 37 / 32, "F": 256.0, "W2": entries * second**2}
    return Price(norms | {"v2": 1.0}, {name: 2 * mean for name, mean in means.items()}, leak**2, T)


def _logits(T: int, code: str, leak: float) -> tuple[float, float, float, int]:
    """How many entries W1 and W2 have (times the square of their scale), β, γ, and ‖code‖²."""
    digits = (T - 1).bit_length()
    others = 2 * leak / (1 - leak)  # the weight of all others when each of the pair has weight 1
    if code == "one-hot":
        return T, math.log(6 * (T - 1)), math.log((2 * T - 2) / others), 1
    first, second = (-math.log(math.expm1(math.log1p(share / 2) / digits)) for share in (2 / 3, others))
    return digits / 4, max(first, 0.0) + math.log(2), second, digits


def one_pass(T: int) -> Price:
    """The memorised wave of ``parity.memorising_network`` on T bits (SP App. B with d = T, w = 1, λ = 1).

    Tr H = 2 E‖∇f‖², exactly, as a mean over the number of ones n: ‖∇_b‖² = 32T²(n + 1), ‖∇_E‖² the same times the
    square of the mean bit that attention sees. ‖θ‖² ≈ 32T³ and Tr H ≈ 40T³.
    """
    whole = tuple(range(1, cube.check_integer(T, "T", 2) + 1))
    found = account.of_disjoint(design.Design([(whole, 1.0)], T))
    return Price(found.norms, found.traces)


def error_bound(price: Price, *, m: float, C: float = 0.1, delta: float = 0.05, sigma: float | None = None) -> Bound:
    """The probability of a wrong answer, with probability 1 − δ over m examples: 4·steps·(loss + PAC-Bayes).

    The learner is assumed to interpolate, with a norm and a perturbed loss not above those of the priced network.
    """
    found = pacbayes.truncated(price.norm2, price.trace, m=m, C=C, delta=delta, sigma=sigma)
    terms = {"loss": price.loss} | found.terms
    times = f"4 · {price.steps}" if price.steps > 1 else "4"
    sentence = f"The chance of error ({times} × loss) after {m:g} examples is at most"
    return Bound(sentence, {name: 4 * price.steps * term for name, term in terms.items()})


def samples(price: Price, error: float = 0.1, *, C: float = 0.1, delta: float = 0.05) -> float:
    """The inverted form: the m from which on ``error_bound`` is at most ``error``; ∞ if the network's loss is above.

    Without the δ-term and the loss this is C²·Tr H·‖θ‖²·(6·steps/error)³.
    """
    check_probability(error, "error")
    return samples_needed(lambda m: error_bound(price, m=m, C=C, delta=delta), error)


def log_delta(price: Price, *, sigma: float, m: float, C: float = 0.1, target: float = 0.25) -> float:
    """log δ for which the bound on the loss at σ is just ``target`` (SP App. G), for all steps together log(steps·δ).

    ‖θ‖²/(2σ²) − m/(2C²)·(target − loss − σ²Tr H/2)²; ∞ where the bracket is not positive. It speaks about unlucky
    *samples*, and says nothing where it is positive.
    """
    check_samples(m)
    for name, number in {"sigma": sigma, "C": C, "target": target}.items():
        check_positive(number, name)
    room = target - price.loss - sigma**2 * price.trace / 2
    if room <= 0:
        return math.inf
    return math.log(price.steps) + price.norm2 / (2 * sigma**2) - m / (2 * C**2) * room**2


def growth(quantity: Callable[[int], float], T: int) -> float:
    """The power with which a quantity grows from T to 2T: log₂ of the ratio.

    >>> growth(lambda T: 5 * T**3, 8)
    3.0
    """
    return math.log2(quantity(2 * cube.check_integer(T, "T", 1)) / quantity(T))
