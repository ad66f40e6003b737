"""Automata with and without a scratchpad, and the bounds for PARITY in one pass and in a chain."""

import math
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from flatcube import cube, fourier, handmade, networks, parity, scratchpad, sensitivity
from flatcube.scratchpad import AUTOMATA, Automaton, Price
from flatcube.sharpness import gradients

MEANINGS = {
    "parity": lambda s: s.count("1") % 2 == 1,
    "ones by threes": lambda s: s.count("1") % 3 == 0,
    "multiple of three": lambda s: int(s, 2) % 3 == 0,
    "two ones in a row": lambda s: "11" in s,
    "all ones": lambda s: "0" not in s,
    "first bit": lambda s: s[0] == "1",
    "last bit": lambda s: s[-1] == "1",
}


@st.composite
def automata(draw):
    states, symbols = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    state = st.integers(0, states - 1)
    rows = draw(st.lists(st.lists(state, min_size=symbols, max_size=symbols), min_size=states, max_size=states))
    return Automaton(np.array(rows), tuple(draw(st.sets(state))), draw(state))


def histories(bits):
    """The inputs of all steps after true states, one tensor (strings, T + t) for each step t."""
    bits = torch.as_tensor(bits).long()
    states = torch.cat([torch.zeros_like(bits[:, :1]), bits.cumsum(1) % 2], dim=1)
    return [torch.cat([bits, states[:, :t]], dim=1) for t in range(1, bits.shape[1] + 1)]


def every(T):
    return cube.to_bits(cube.points(T))


def mean_trace(model, inputs):
    """2 E‖∇f‖² over equally many inputs of every step."""
    norms = [gradients.gradient_norms(model, x, exclude=("positions", "tokens")) for x in inputs]
    return 2 * sum(float(square.mean()) for step in norms for square in step.values()) / len(inputs)


# --- automata ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEANINGS)
def test_automata_accept_what_their_names_say(name):
    assert AUTOMATA.keys() == MEANINGS.keys()
    for n in (1, 2, 5, 9):
        strings = every(n)
        verdicts = scratchpad.transduce(AUTOMATA[name], n)
        for i in range(n):
            expected = [MEANINGS[name]("".join(map(str, string[: i + 1]))) for string in strings]
            assert np.array_equal(verdicts[i] == -1, expected)


@given(automata(), st.integers(1, 4))
def test_the_sensitivity_by_pairs_of_runs_is_the_one_by_enumeration(automaton, n):
    table = scratchpad.transduce(automaton, n)[-1]
    assert len(table) == 2 ** (n * automaton.bits[1])
    assert scratchpad.one_pass_sensitivity(automaton, n) == pytest.approx(sensitivity.average(table), abs=1e-12)


def test_sensitive_positions_are_those_of_the_table():
    for automaton in AUTOMATA.values():
        table = scratchpad.transduce(automaton, 6)[-1]
        counts = [scratchpad.sensitive(automaton, string).sum() for string in every(6)]
        assert np.array_equal(counts, sensitivity.at_points(table))
    assert scratchpad.sensitive(AUTOMATA["two ones in a row"], [0, 1, 1, 0]).tolist() == [False, True, True, False]


@given(automata())
def test_a_step_reads_one_state_and_one_symbol(automaton):
    a, b = automaton.bits
    tables = scratchpad.step_tables(automaton)
    for state in range(len(automaton.table)):
        for symbol in range(automaton.table.shape[1]):
            digits = (1 - tables[:, state + (symbol << a)]) // 2
            assert digits @ (1 << np.arange(a)) == automaton.table[state, symbol]
    total = sensitivity.average(tables).sum()
    assert scratchpad.step_sensitivity(automaton) <= total <= a * scratchpad.step_sensitivity(automaton) <= a * (a + b)
    assert all(fourier.spectrum(table).degree <= a + b for table in tables)


@given(automata())
def test_a_reset_word_leads_everywhere_to_one_state_and_is_a_shortest(automaton):
    word = scratchpad.reset_word(automaton)
    states, symbols = automaton.table.shape

    def ends(string):
        return {int(Automaton(automaton.table, (), start=q).run(list(string))[-1]) for q in range(states)}

    for length in range(1, min(len(word), 4) if word else 4):
        assert all(len(ends(string)) > 1 for string in product(range(symbols), repeat=length))
    assert word is None or len(ends(word)) == 1


def test_an_automaton_with_a_reset_word_feels_a_bounded_number_of_bits():
    rng, found = np.random.default_rng(5), 0
    for states in (2, 3, 4) * 12:
        automaton = Automaton(rng.integers(0, states, (states, 2)), (0,))
        word = scratchpad.reset_word(automaton)
        if word is not None:
            found += 1
            most = max(scratchpad.one_pass_sensitivity(automaton, T) for T in (5, 20, 60))
            assert most <= len(word) * 2 ** len(word)
    assert found > 15
    known = {name: scratchpad.reset_word(automaton) for name, automaton in AUTOMATA.items()}
    assert known["two ones in a row"] == (1, 1) and known["all ones"] == known["last bit"] == (0,)
    assert {name for name, word in known.items() if word is None} == {
        "parity", "ones by threes", "multiple of three", "first bit"
    }  # fmt: skip


def test_runs_work_on_many_strings_and_other_alphabets():
    clock = Automaton(np.array([[1, 0, 2], [2, 1, 0], [0, 2, 1]]), (0,), start=1)
    assert clock.run([0, 0, 2, 1]).tolist() == [1, 2, 0, 2, 2]
    assert clock.run(np.zeros((2, 3, 4), int)).shape == (2, 3, 5)
    assert clock.bits == (2, 2) and clock.codes[3].tolist() == [0, 2, 1, 1]  # unused codes repeat the last one


# --- prices -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["one-hot", "binary"])
@pytest.mark.parametrize("T", [2, 3, 4, 6])
def test_the_price_of_a_step_is_that_of_its_network(T, code):
    price = scratchpad.step(T, code=code, leak=0.003)
    entries = T if code == "one-hot" else (T - 1).bit_length() / 4
    logits = {name: math.sqrt(price.norms[key] / entries) for name, key in {"beta": "W1", "gamma": "W2"}.items()}
    network = parity.scratchpad_network(T, code=code, **logits)
    norms = networks.squared_norms(network, exclude=("positions", "tokens"))
    assert price.norm2 == pytest.approx(sum(norms.values()))
    assert price.norms["W1"] == pytest.approx(
        networks.squared_norms(parity.scratchpad_network(T, code=code))["layers.0.heads.0.query_key"]
    )
    truths = torch.as_tensor(every(T).cumsum(1) % 2)
    losses = [float((network(x).detach() - truths[:, x.shape[1] - T - 1]).square().mean()) for x in histories(every(T))]
    assert max(losses) <= price.loss * (1 + 1e-9) and price.steps == T
    exact = parity.scratchpad_network(T, code=code, beta=35.0, gamma=35.0)  # no leak
    assert price.trace == pytest.approx(mean_trace(exact, histories(every(T))), rel=1e-9)
    assert 0.93 < mean_trace(network, histories(every(T))) / price.trace < 1.001


def test_the_trace_of_a_step_hardly_depends_on_the_length():
    bits = np.random.default_rng(0).integers(0, 2, (40, 32))
    network = parity.scratchpad_network(32, beta=35.0, gamma=35.0)
    draws = [2 * sum(gradients.gradient_norms(network, x).values()) for x in histories(bits)]
    per_string = torch.stack(draws).mean(0)
    error = float(per_string.std()) / math.sqrt(len(bits))
    assert abs(scratchpad.step(32).trace - float(per_string.mean())) < 3 * error
    traces = [scratchpad.step(T).trace for T in (2, 8, 64, 4096)]
    assert np.all(np.diff(traces) > 0) and traces[0] > 290 and 419 < traces[-1] < 420


@pytest.mark.parametrize("T", [2, 5, 8])
def test_the_price_of_one_pass_is_that_of_the_memorised_wave(T):
    price, network = scratchpad.one_pass(T), parity.memorising_network(T)
    assert price.norm2 == pytest.approx(sum(handmade.measured_norms(network).values()))
    measured = handmade.measured_gradient_norms(network, every(T))
    measured["F"] = measured.pop("F bit") + measured.pop("F positions")
    assert price.traces == pytest.approx({name: 2 * square.mean() for name, square in measured.items()}, abs=1e-9)
    assert price.traces["b"] == pytest.approx(32 * T**2 * (T + 2))
    assert price.loss == 0 and price.steps == 1


# T, one pass: Tr H and ‖θ‖²; chain: ‖θ‖² and log₁₀ m for an error of 0.1; one pass: log₁₀ m. The chain leaves 1/101 of
# the second attention's weight off the pair and is not charged for it. Two digits, and one after the point, are given.
TABLE = [
    (8, 2.7e4, 2.1e4, 7.2e2, 12.1, 11.5),
    (16, 1.9e5, 1.5e5, 1.4e3, 13.8, 12.7),
    (32, 1.4e6, 1.1e6, 3.2e3, 15.5, 14.0),
    (64, 1.1e7, 8.7e6, 7.4e3, 17.3, 15.2),
    (128, 8.6e7, 6.8e7, 1.7e4, 19.1, 16.5),
]


@pytest.mark.parametrize(("T", "trace", "norm2", "chain_norm2", "one", "chain"), TABLE)
def test_the_table_of_examples_needed_for_an_error_of_a_tenth(T, trace, norm2, chain_norm2, one, chain):
    wave, pad = scratchpad.one_pass(T), scratchpad.step(T, leak=1 / 101)
    assert [f"{x:.1e}" for x in (wave.trace, wave.norm2, pad.norm2)] == [
        f"{x:.1e}" for x in (trace, norm2, chain_norm2)
    ]
    free = Price(pad.norms, pad.traces, 0.0, T)
    assert math.log10(scratchpad.samples(wave)) == pytest.approx(one, abs=0.051)
    assert math.log10(scratchpad.samples(free)) == pytest.approx(chain, abs=0.051)
    closed = 0.01 * pad.trace * pad.norm2 * (6 * T / 0.1) ** 3
    assert scratchpad.samples(free) == pytest.approx(closed, rel=0.01)
    assert scratchpad.samples(pad) > 1.1 * scratchpad.samples(free)  # the leak is not free
    assert scratchpad.samples(scratchpad.step(T)) < 2 * scratchpad.samples(free)


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_a_chain_pays_for_every_step_and_says_for_what():
    price = scratchpad.step(16)
    bound = scratchpad.error_bound(price, m=1e12)
    assert bound.terms["loss"] == pytest.approx(4 * 16 * 1e-6)
    once = scratchpad.error_bound(Price(price.norms, price.traces, price.loss), m=1e12)
    assert bound.value == pytest.approx(16 * once.value)
    assert "4 · 16 × loss" in bound.explain() and "loss" in bound.explain()
    assert scratchpad.error_bound(price, m=1e12, sigma=0.05).value > bound.value


def test_a_chain_of_losses_adds_up():
    assert scratchpad.chain_error([0.01, 0.02]) == pytest.approx(0.12)


def test_a_network_with_a_loss_of_its_own_has_an_error_no_number_of_examples_removes():
    price = scratchpad.step(256, leak=0.01)
    assert price.loss == pytest.approx(1e-4) and 4 * 256 * price.loss > 0.1
    assert scratchpad.samples(price, 0.1) == math.inf
    assert scratchpad.samples(price, 0.2) < math.inf


@given(st.floats(1e-4, 2e-3), st.floats(8, 14), st.sampled_from([scratchpad.one_pass(T) for T in (2, 8, 20)]))
def test_the_inverted_form_solves_the_bound_for_delta(sigma, digits, price):
    m = 10**digits
    log_delta = scratchpad.log_delta(price, sigma=sigma, m=m)
    if log_delta == math.inf:
        assert sigma**2 * price.trace / 2 >= 0.25
        return
    root = 0.1 * math.sqrt(max(price.norm2 / sigma**2 - 2 * log_delta, 0) / m)
    assert sigma**2 * price.trace / 2 + root == pytest.approx(0.25, rel=1e-6)
    leaky = Price(price.norms, price.traces, 0.1, 7)  # a loss of its own leaves less room, and each step may fail
    moved = scratchpad.log_delta(leaky, sigma=sigma, m=m, target=0.35)
    assert moved == pytest.approx(log_delta + math.log(7), rel=1e-6)


def test_every_step_may_meet_a_bad_sample():
    found = scratchpad.log_delta(Price({"a": 2.0}, {"a": 0.1}, 0.01, 7), sigma=1.0, m=4.0, C=1.0)
    assert found == pytest.approx(math.log(7) + 2 / 2 - 4 / 2 * (0.25 - 0.01 - 0.05) ** 2)


def test_delta_is_a_switch():
    """At a fixed σ and m the exponent runs from minus to plus a billion within a few lengths."""
    exponents = [scratchpad.log_delta(scratchpad.one_pass(T), sigma=1e-3, m=1e11) for T in (8, 12, 16, 20)]
    assert exponents[0] < -1e9 and exponents[-1] > 1e9
    chain = [scratchpad.log_delta(scratchpad.step(T), sigma=1e-3, m=1e11) for T in (8, 12, 16, 20)]
    assert max(chain) < -1e11


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: Automaton(np.array([0, 1]), ()), "table: expected whole numbers"),
        (lambda: Automaton(np.array([[0.5, 1], [1, 0]]), ()), "table: expected whole numbers"),
        (lambda: Automaton(np.array([[0, 2], [1, 0]]), ()), "table: expected states 0 to 1, got 2"),
        (lambda: Automaton(np.array([[0, 1], [1, 0]]), (2,)), "accepting: expected an integer from 0 to 1, got 2"),
        (lambda: Automaton(np.array([[0, 1], [1, 0]]), (1,), start=-1), "start: expected an integer from 0 to 1"),
        (lambda: AUTOMATA["parity"].run([0, 2]), r"symbols: expected strings of whole numbers 0 to 1, got \[0, 2\]"),
        (lambda: AUTOMATA["parity"].run([0.5]), "symbols: expected strings of whole numbers 0 to 1"),
        (lambda: scratchpad.sensitive(AUTOMATA["parity"], [[0, 1]]), r"symbols: expected shape \(n,\), got \(1, 2\)"),
        (lambda: scratchpad.transduce(AUTOMATA["parity"], 0), "n: expected an integer ≥ 1, got 0"),
        (lambda: scratchpad.one_pass_sensitivity(AUTOMATA["parity"], 0), "n: expected an integer from 1 to 100000"),
        (lambda: scratchpad.chain_error([0.1, -0.2]), "losses: expected mean squared errors ≥ 0, got -0.2"),
        (lambda: scratchpad.chain_error([]), "losses: expected mean squared errors ≥ 0, got none"),
        (lambda: scratchpad.sensitive(AUTOMATA["parity"], ["a"]), "symbols: expected 0 and 1, got a"),
        (lambda: Automaton(np.array([[0, 1], [1, 0]]), None), "accepting: expected states, got None"),
        (lambda: Price({"a": 1.0}, {"a": 1.0}, loss=-1), "loss: expected a number ≥ 0, got -1"),
        (lambda: Price({"a": 1.0}, {"b": 1.0}), "norms, traces: expected the same groups"),
        (lambda: scratchpad.step(1), "T: expected an integer from 2 to .*, got 1"),
        (lambda: scratchpad.step(8, code="gray"), "code: expected 'one-hot' or 'binary', got 'gray'"),
        (lambda: scratchpad.step(8, leak=0), "leak: expected a number between 0 and 1, got 0"),
        (lambda: scratchpad.one_pass(1), "T: expected an integer from 2 to .*, got 1"),
        (lambda: scratchpad.samples(scratchpad.step(8), 1.5), "error: expected a number between 0 and 1, got 1.5"),
        (lambda: scratchpad.error_bound(scratchpad.step(8), m=0.5), "m: expected"),
        (lambda: scratchpad.error_bound(scratchpad.step(8), m=10, sigma=-1), "sigma: expected"),
        (lambda: scratchpad.error_bound(scratchpad.step(8), m=10, C=-1), "C: expected"),
        (lambda: scratchpad.error_bound(scratchpad.step(8), m=10, delta=1), "delta: expected"),
        (lambda: scratchpad.log_delta(scratchpad.step(8), sigma=0, m=10), "sigma: expected"),
        (lambda: scratchpad.log_delta(scratchpad.step(8), sigma="a", m=10), "sigma: expected a number, got str"),
        (lambda: scratchpad.log_delta(scratchpad.step(8), sigma=1, m=0.5), "m: expected a number of examples ≥ 1"),
        (lambda: scratchpad.growth(lambda T: T, 0), "T: expected an integer ≥ 1, got 0"),
        (lambda: scratchpad.growth(lambda T: -T, 3), "quantity: expected a number from 1e-300 to 1e.300, got -6"),
        (lambda: scratchpad.growth(3, 3), "quantity: expected collections.abc.Callable, got int"),
        (lambda: scratchpad.one_pass_sensitivity(AUTOMATA["parity"], 10**6), "n: expected an integer from 1 to 100000"),
        (lambda: scratchpad.transduce(AUTOMATA["parity"], 60), "n: tables with n = 60 take .* bytes"),
        (lambda: scratchpad.reset_word(Automaton(np.eye(17, 2, dtype=int), ())), "automaton: expected at most 16"),
        (lambda: scratchpad.reset_word([[0, 1]]), "automaton: expected scratchpad.Automaton, got list"),
        (lambda: scratchpad.step_tables([[0, 1]]), "automaton: expected scratchpad.Automaton, got list"),
        (lambda: scratchpad.one_pass(10**6), "T: expected an integer from 2 to 5000, got 1000000"),
        (lambda: scratchpad.error_bound(None, m=10), "price: expected scratchpad.Price, got NoneType"),
        (lambda: Automaton([[0, 1], [1]], ()), "table: expected an array, got lists of unequal lengths"),
    ],
)
def test_wrong_input_gets_one_clear_sentence(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_only_numpy_is_needed():
    code = "import sys, flatcube.scratchpad; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
