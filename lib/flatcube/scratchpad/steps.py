"""What a chain of steps and a single pass cost for PARITY, and what PAC-Bayes promises for either."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from flatcube import checks, pacbayes
from flatcube.capacity import Bound, samples_needed
from flatcube.capacity.bounds import readable
from flatcube.handmade import design
from flatcube.pacbayes import account

__all__ = ["chain_error", "Price", "step", "one_pass", "error_bound", "samples", "log_delta", "growth"]

_LONGEST_PASS = 5000  # bits of a wave: seconds, not minutes


def chain_error(losses: np.ndarray | Sequence[float]) -> float:
    """4·Σ_t loss_t ≥ the probability that a chain of rounded steps goes wrong (SP App. G, proof of Theorem 16).

    Loss t is the mean squared error of step t after *true* states. A wrong bit is off by ½ or more: by Markov this has
    probability 4·loss_t at most. A wrong chain has a first wrong step, and before it all states are true.
    """
    losses = checks.numbers(losses, "losses")
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
        checks.positive(self.loss, "loss", 0)
        checks.integer(self.steps, "steps", 1)


def step(T: int, *, code: Literal["one-hot", "binary"] = "one-hot", leak: float = 1e-3) -> Price:
    """The step network of ``parity.scratchpad_network`` on T bits, run T times (SP App. G).

    e^β is twice what the first attention needs; the second leaves at most ``leak`` of its weight off the pair, so its
    squared error is at most leak². ‖θ‖² = k(β² + γ²) + 256 + …, with k = T for one-hot codes and ¼⌈log₂ T⌉ for binary
    ones. Tr H = 2 E‖∇f‖² is a mean over strings and steps in the limit of no leak, where W1, V1 and W2 have gradient 0:
    a pair with n ones has ‖∇_b‖² = 128n and ‖∇_E‖² = 32n³; the pair of the first step, x_1 and 0, never has two.
    """
    checks.integer(T, "T", 2, 10**18)
    checks.positive(checks.probability(leak, "leak"), "leak")
    checks.word(code, "code", ("one-hot", "binary"))
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
    whole = tuple(range(1, checks.integer(T, "T", 2, _LONGEST_PASS) + 1))
    found = account.of_disjoint(design.Design([(whole, 1.0)], T))
    return Price(found.norms, found.traces)


def error_bound(price: Price, *, m: float, C: float = 0.1, delta: float = 0.05, sigma: float | None = None) -> Bound:
    """The probability of a wrong answer, with probability 1 − δ over m examples: 4·steps·(loss + PAC-Bayes).

    The learner is assumed to interpolate, with a norm and a perturbed loss not above those of the priced network.
    """
    checks.instance(price, "price", Price)
    found = pacbayes.truncated(price.norm2, price.trace, m=m, C=C, delta=delta, sigma=sigma)
    terms = {"loss": price.loss} | found.terms
    times = f"4 · {price.steps}" if price.steps > 1 else "4"
    sentence = f"The chance of error ({times} × loss) after {readable(m)} examples is at most"
    return Bound(sentence, {name: 4 * price.steps * term for name, term in terms.items()})


def samples(price: Price, error: float = 0.1, *, C: float = 0.1, delta: float = 0.05) -> float:
    """The inverted form: the m from which on ``error_bound`` is at most ``error``; ∞ if the network's loss is above.

    Without the δ-term and the loss this is C²·Tr H·‖θ‖²·(6·steps/error)³.
    """
    checks.instance(price, "price", Price)
    checks.probability(error, "error")
    return samples_needed(lambda m: error_bound(price, m=m, C=C, delta=delta), error)


def log_delta(price: Price, *, sigma: float, m: float, C: float = 0.1, target: float = 0.25) -> float:
    """log δ for which the bound on the loss at σ is just ``target`` (SP App. G), for all steps together log(steps·δ).

    ‖θ‖²/(2σ²) − m/(2C²)·(target − loss − σ²Tr H/2)²; ∞ where the bracket is not positive. It speaks about unlucky
    *samples*, and says nothing where it is positive. The target is the loss of one step. By Markov and a union, a loss
    of ¼ says nothing about a pass, and one of 1/(4·steps) nothing about a chain; smaller ones do.
    """
    checks.instance(price, "price", Price)
    checks.samples(m)
    for name, number in {"sigma": sigma, "C": C, "target": target}.items():
        checks.positive(number, name)
    room = target - price.loss - sigma**2 * price.trace / 2
    if room <= 0:
        return math.inf
    return math.log(price.steps) + price.norm2 / (2 * sigma**2) - m / (2 * C**2) * room**2


def growth(quantity: Callable[[int], float], T: int) -> float:
    """The power with which a quantity grows from T to 2T: log₂ of the ratio.

    >>> growth(lambda T: 5 * T**3, 8)
    3.0
    """
    checks.instance(quantity, "quantity", Callable)
    late, early = (quantity(k * checks.integer(T, "T", 1)) for k in (2, 1))
    return math.log2(checks.number(late, "quantity", 1e-300, 1e300) / checks.number(early, "quantity", 1e-300, 1e300))
