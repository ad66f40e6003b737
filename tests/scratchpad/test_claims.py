"""Evidence for the claims of chapter 11: states written down, chains of steps, and how bounds grow with the length."""

import copy
import math

import numpy as np
import pytest
import torch

from flatcube import cube, fourier, networks, parity, scratchpad, sensitivity
from flatcube.capacity import Bound
from flatcube.scratchpad import AUTOMATA, Automaton, Price, steps

claim = pytest.mark.claim


def every(T):
    return torch.as_tensor(cube.to_bits(cube.points(T)))


def random_automaton(states, rng):
    return Automaton(rng.integers(0, states, (states, 2)), (0,))


# --- what mutants change, as it is ------------------------------------------------------------------------------------

_transduce, _logits = scratchpad.transduce, steps._logits


# --- HR ---------------------------------------------------------------------------------------------------------------


def late(self, symbols):
    """HR App. D as printed: step t + 1 reads x_t, so the first symbol is read twice and the last one never."""
    symbols = np.asarray(symbols)
    shifted = np.concatenate([symbols[..., :1], symbols[..., :-1]], axis=-1)
    states = [np.full(symbols.shape[:-1], self.start)]
    for i in range(symbols.shape[-1]):
        states.append(self.table[states[-1], shifted[..., i].astype(int)])
    return np.stack(states, axis=-1)


def whole_string(automaton):
    """A step that reads twelve symbols at once."""
    return sensitivity.average(_transduce(automaton, 12)[-1])


@claim(
    "HR-T7",
    mutant=("flatcube.scratchpad.automata.step_sensitivity", whole_string, "A step reads the whole string."),
    printed=("flatcube.scratchpad.automata.Automaton.run", late, "Step t + 1 reads symbol t."),
    erratum=18,
    note="PARITY and 9 random automata each of 2 to 8 states: a step has degree and sensitivity at most log₂|X| + "
    "log₂|Σ| "
    "(PARITY: 2), in one pass PARITY has n, exactly, up to n = 1000",
)
def test_a_step_of_an_automaton_has_a_sensitivity_that_does_not_depend_on_the_length():
    parities = AUTOMATA["parity"]
    strings = every(8).numpy()
    assert np.array_equal(parities.run(strings)[:, 1:], strings.cumsum(1) % 2)
    assert scratchpad.step_sensitivity(parities) == 2
    assert [scratchpad.one_pass_sensitivity(parities, n) for n in (10, 100, 1000)] == [10, 100, 1000]
    rng = np.random.default_rng(7)
    for states in range(2, 9):
        for automaton in [random_automaton(states, rng) for _ in range(9)]:
            bits = (states - 1).bit_length() + 1
            assert scratchpad.step_sensitivity(automaton) <= bits
            assert sensitivity.maximum(scratchpad.step_tables(automaton)).max() <= bits  # at every point
            assert max(fourier.spectrum(table).degree for table in scratchpad.step_tables(automaton)) <= bits


def only_the_last(automaton, n):
    return np.repeat(_transduce(automaton, n)[-1:], n, axis=0)


@claim(
    "HR-X2",
    mutant=("flatcube.scratchpad.automata.transduce", only_the_last, "Every output is the last one."),
    note="sum over outputs of their average sensitivities, exact for n = 2 to 10: copying and sorting n, prefix "
    "parities n(n + 1)/2, but 2 for each step of a scratchpad; theorems for such functions stay open",
)
def test_sums_of_sensitivities_of_sequence_to_sequence_functions():
    for n in range(2, 11):
        copied = sensitivity.average(scratchpad.transduce(AUTOMATA["last bit"], n))
        ordered = sensitivity.average(np.array([cube.threshold(n, k) for k in range(1, n + 1)]))
        running = sensitivity.average(scratchpad.transduce(AUTOMATA["parity"], n))
        assert copied.tolist() == [1] * n
        assert ordered.sum() == pytest.approx(n)
        assert running.tolist() == list(range(1, n + 1))
    assert sensitivity.average(scratchpad.step_tables(AUTOMATA["parity"])).tolist() == [2]


# --- SP ---------------------------------------------------------------------------------------------------------------


def writes_even(network, bits):
    """The indicator that the construction of chapter 4 returns, fed back as it is; what SP write is not legible."""
    sequence = torch.cat([bits.long(), torch.zeros_like(bits[:, :1]).long()], dim=1)
    with torch.no_grad():
        for _ in range(bits.shape[1]):
            sequence = torch.cat([sequence, (network(sequence) < 0.5).long()[:, None]], dim=1)
    return sequence[:, bits.shape[1] :]


@claim(
    "SP-T16",
    mutant=("flatcube.parity.constructions.run", writes_even, "Each step writes the even-parity indicator."),
    note="all strings of length 1 to 8 and 11, both position codes; the step writes the odd indicator (which one SP "
    "write cannot be read in our text)",
)
@pytest.mark.parametrize("code", ["one-hot", "binary"])
def test_the_chain_writes_all_prefix_parities(code):
    for T in (*range(1, 9), 11):
        written = parity.run(parity.scratchpad_network(T, code=code), every(T))
        assert np.array_equal(written.numpy(), AUTOMATA["parity"].run(every(T).numpy()))


@claim(
    "SP-T16M",
    mutant=(
        "flatcube.scratchpad.steps.chain_error",
        lambda losses: float(np.sum(losses)),
        "Markov's factor 4 is forgotten.",
    ),
    note="never exceeded by noisy networks, six of each of three strengths, on all 256 strings of 8 bits, and "
    "reached exactly where every wrong "
    "output is ½; for the noisy networks it is 6 times the chance of a wrong chain or more, so soon vacuous",
)
@torch.no_grad()
def test_a_chain_goes_wrong_at_most_four_times_as_often_as_its_losses_add_up_to():
    T, bits = 8, every(8)
    states, ratios = torch.cat([torch.zeros_like(bits[:, :1]), bits.cumsum(1) % 2], dim=1), []
    for seed, sigma in enumerate([0.01, 0.02, 0.04] * 6):
        network, draws = copy.deepcopy(parity.scratchpad_network(T)), torch.Generator().manual_seed(seed)
        for weights in network.parameters():
            weights += sigma * torch.randn(weights.shape, generator=draws, dtype=weights.dtype)
        outputs = [network(torch.cat([bits, states[:, :t]], dim=1)) for t in range(1, T + 1)]
        losses = [float((out - states[:, t]).square().mean()) for t, out in enumerate(outputs, 1)]
        wrong = float((parity.run(network, bits) != states).any(1).double().mean())
        assert wrong <= scratchpad.chain_error(losses)
        ratios += [scratchpad.chain_error(losses) / wrong] if wrong else []
    assert len(ratios) > 3 and min(ratios) > 6
    outputs = states[:, 1:].double()
    firsts = [torch.nonzero((states[:, 1:] == 1)[:, t] & (states[:, 1:].cumsum(1)[:, t] == 1))[0, 0] for t in range(T)]
    outputs[firsts, range(T)] = 0.5  # a different string at every step, rounded down where the bit is 1
    share = float(((outputs > 0.5) != (states[:, 1:] == 1)).any(1).double().mean())
    assert share == T / 256
    assert scratchpad.chain_error((outputs - states[:, 1:]).square().mean(0).numpy()) == pytest.approx(share)


def wave_steps(T, *, code="one-hot", leak=1e-3):
    whole = scratchpad.one_pass(T)
    return Price(whole.norms, whole.traces, leak**2, T)


@claim(
    "SP-T7",
    mutant=("flatcube.scratchpad.steps.step", wave_steps, "Every step memorises the whole wave."),
    note="T = 8, 32 and 256 at fixed m: the bound on the error of the chain grows like T^1.0 to T^1.1 with binary "
    "position "
    "codes and like T^1.3 to T^1.5 with one-hot ones; Tr H of a degree-2 step stays below 420",
)
def test_the_bound_for_a_chain_grows_nearly_linearly():
    assert fourier.spectrum(scratchpad.step_tables(AUTOMATA["parity"])[0]).degree == 2
    assert max(scratchpad.step(T).trace for T in (8, 64, 256)) < 420
    for code, low, high in (("binary", 1, 1.1), ("one-hot", 1.3, 1.5)):
        for T in (8, 32, 256):
            power = scratchpad.growth(
                lambda T, code=code: scratchpad.error_bound(scratchpad.step(T, code=code, leak=1e-4), m=1e14).value, T
            )
            assert low < power < high


def one_entry(T, code, leak):
    """SP App. G as printed: the positional identity counts as a single non-zero entry."""
    return 1, *_logits(T, code, leak)[1:]


@claim(
    "SP-T7",
    printed=("flatcube.scratchpad.steps._logits", one_entry, "The positional identity has a single non-zero entry."),
    erratum=69,
    note="T = 8 and 64: ‖θ‖² of the network has T(β² + γ²) in it",
)
def test_the_positional_identity_has_an_entry_for_every_position():
    for T in (8, 64):
        price = scratchpad.step(T, leak=1 / 101)  # the margin of the network's defaults
        norms = networks.squared_norms(parity.scratchpad_network(T), exclude=("positions", "tokens"))
        assert price.norm2 == pytest.approx(sum(norms.values()))


def exponential(price, *, m, C=0.1, delta=0.05, sigma=None):
    """SP Theorem 8 as printed: the bound on the error is an exponential of the length, here of ‖θ‖^⅔/4 ~ T."""
    return Bound("", {"error": math.exp(price.norm2 ** (1 / 3) / 4) / m ** (1 / 3)})


@claim(
    "SP-T8",
    printed=(
        "flatcube.scratchpad.steps.error_bound",
        exponential,
        "The bound on the error is an exponential of the length.",
    ),
    erratum=64,
    note="T = 8, 32 and 256 at fixed m: the one-pass bound on the error grows like T², the chain's like T^1.0 to "
    "T^1.5; "
    "only the inverted form is exponential: its exponent grows like T³ in one pass, but also like T log² T in the "
    "one-hot chain, and only while σ²Tr H/2 < ¼ (1/4T for a step); beyond that no δ will do. It bounds bad samples, "
    "and says nothing above 0",
)
def test_the_one_pass_bound_grows_like_a_square_and_only_its_inverse_exponentially():
    powers = [
        scratchpad.growth(lambda T: scratchpad.error_bound(scratchpad.one_pass(T), m=1e14).value, T)
        for T in (8, 32, 256)
    ]
    assert np.all(np.diff(powers) > 0) and powers[0] > 1.8 and 1.99 < powers[-1] <= 2
    exponents = {T: scratchpad.log_delta(scratchpad.one_pass(T), sigma=1e-4, m=1e13) for T in (8, 16, 32, 64)}
    steps = np.diff(list(exponents.values()))
    assert exponents[8] < 0 < exponents[64]
    assert np.log2(steps[1:] / steps[:-1]) == pytest.approx([3, 3], abs=0.2)
    assert scratchpad.log_delta(scratchpad.one_pass(128), sigma=1e-4, m=1e13) == math.inf

    def chain(T, sigma=1e-4, code="one-hot"):
        return scratchpad.log_delta(scratchpad.step(T, code=code), sigma=sigma, m=1e13, target=1 / (4 * T))

    ratios = [chain(T) / (T * math.log(T) ** 2) for T in (2**10, 2**12, 2**14)]
    assert min(ratios) > 0 and max(ratios) < 1.5 * min(ratios)  # while T grows 16 times
    assert chain(2**14, code="binary") < 1.3 * chain(2**10, code="binary")
    assert chain(2**10, sigma=3e-3) == chain(2**10, sigma=3e-3, code="binary") == math.inf


@claim(
    "SP-X4",
    mutant=("flatcube.scratchpad.automata.step_tables", lambda a: _transduce(a, 10)[-1:], "One step decides it all."),
    note="structure only, nothing is trained: a conjunction of n = 10 bits has degree n, 2^n coefficients and average "
    "sensitivity n/2^(n − 1), each step degree 2, four coefficients and sensitivity 1; so degree calls it hard in one "
    "pass and sensitivity easy",
)
def test_a_conjunction_falls_apart_into_steps_of_degree_two():
    automaton, n = AUTOMATA["all ones"], 10
    whole = fourier.spectrum(scratchpad.transduce(automaton, n)[-1])
    assert (whole.degree, whole.sparsity) == (n, 2**n)
    assert scratchpad.one_pass_sensitivity(automaton, n) == pytest.approx(n / 2 ** (n - 1))
    (single,) = map(fourier.spectrum, scratchpad.step_tables(automaton))
    assert (single.degree, single.sparsity) == (2, 4)
    assert scratchpad.step_sensitivity(automaton) == 1
