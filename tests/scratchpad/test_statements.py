"""What chapter 11 says in words about its networks and bounds, held to the library."""

import math
import re

import numpy as np
import pytest
import torch

from flatcube import cube, parity, scratchpad, sensitivity, sharpness
from flatcube.scratchpad import AUTOMATA, Automaton, Price
from tests import rooms


def outputs(table, symbols, written, beta):
    """One step of the chapter's transformer, from its description: softmax, mean of unit vectors, one ReLU an entry."""
    states, T = len(table), len(symbols)
    codes = np.arange(T + len(written)) % T
    weights = np.where(codes == codes[-1], math.exp(beta), 1.0)
    mean = np.bincount([*(states + np.array(symbols)), *written], weights / weights.sum(), sum(table.shape))
    found = np.zeros(states)
    for (p, x), after in np.ndenumerate(table):
        found[after] += max(4 * (mean[p] + mean[states + x]) - 3, 0)
    return found


@pytest.mark.parametrize("T", [2, 3, 5, 8])
def test_a_transformer_writes_every_automaton_if_it_looks_loud_enough(T):
    rng = np.random.default_rng(T)
    for states, symbols in ((2, 2), (3, 2), (5, 4)) * 4:
        automaton, string = Automaton(rng.integers(0, states, (states, symbols)), ()), rng.integers(0, symbols, T)
        power, truth = 3.01 * (T - 1), automaton.run(string)
        for t in range(1, T + 1):
            found, others = outputs(automaton.table, string, truth[:t], math.log(power)), T + t - 2
            leak = others / (2 * power + others)
            assert found[truth[t]] >= 1 - 4 * leak - 1e-12 > 0
            assert np.flatnonzero(found).tolist() == [truth[t]]


def test_below_the_threshold_some_state_may_be_lost():
    table, string = np.array([[0, 1], [1, 0]]), [0] * 7 + [1]
    found = outputs(table, string, [0] * 8, math.log(2.9 * 7))
    assert found.argmax() == 1 and found[1] > 0  # the others hold the same state: lucky
    worst = np.array([[1, 1], [2, 2], [2, 2]])
    assert outputs(worst, [1, 0], [0, 1], math.log(2.9)).max() == 0


def test_the_formula_for_delta_stands_beside_its_condition():
    text = (rooms.ROOT / "chapters" / "11-scratchpad.md").read_text(encoding="utf-8")
    (formula,) = re.findall(r"^\$\$\\log\\delta=.*$", text, re.MULTILINE)
    assert r"if}\quad\frac{\sigma^2}2\mathrm{Tr}\,H<\frac14" in formula


def test_seven_times_as_much_at_each_doubling_until_there_is_no_delta():
    found = [scratchpad.log_delta(scratchpad.one_pass(T), sigma=3e-4, m=1e12) for T in (4, 8, 16, 32, 64, 128)]
    rises = np.diff(found[:4])
    assert (rises > 0).all() and rises[1:] / rises[:-1] == pytest.approx([7, 7], rel=0.2)
    assert found[4] == found[5] == math.inf


def test_held_to_the_whole_answer_a_chain_ends_its_promise_as_well():
    def ends(price, sigma, target):
        found = {T: scratchpad.log_delta(price(T), sigma=sigma, m=1e12, target=target(T)) for T in lengths}
        assert sorted(found.values()) == list(found.values())
        return [T for T in lengths if found[T] > 0][:1], math.inf in found.values()

    def binary(T):
        return scratchpad.step(T, code="binary")

    def whole(T):
        return 1 / (4 * T)

    lengths = (4, 8, 16, 32, 64, 128)
    found = {
        sigma: [
            ends(scratchpad.one_pass, sigma, lambda T: 0.25),
            ends(scratchpad.step, sigma, whole),
            ends(binary, sigma, whole),
        ]
        for sigma in (3e-4, 1e-3, 3e-3)
    }
    assert found == {
        3e-4: [([32], True), ([32], False), ([64], False)],
        1e-3: [([32], True), ([64], False), ([128], False)],
        3e-3: [([16], True), ([64], False), ([128], False)],
    }
    lengths = range(4, 60)
    met = [(scratchpad.one_pass, lambda T: 0.25), (scratchpad.step, whole), (binary, whole)]
    assert [ends(price, 3e-4, target)[0] for price, target in met] == [[24], [17], [38]]
    costs = [3e-4**2 / 2 * scratchpad.one_pass(T).trace for T in (50, 51)]
    assert costs[0] < 0.25 < costs[1]
    lengths = (4, 8, 16, 32, 64, 128)
    level = [scratchpad.log_delta(scratchpad.step(T), sigma=3e-4, m=1e12) for T in lengths]
    assert max(level) < 0.95 * min(level)  # a quarter for each step looks like a promise at any length, and is none


@pytest.mark.parametrize("T", [8, 64, 128])
def test_both_forms_begin_to_promise_at_the_same_number_of_examples(T):
    for price in (scratchpad.one_pass(T), Price({"a": 500.0}, {"a": 430.0}, steps=T)):
        k, sigma = price.steps, (6 * price.steps * price.trace) ** -0.5
        switch = 216 * k**3 * 0.1**2 * price.trace * price.norm2
        below, above = (
            scratchpad.log_delta(price, sigma=sigma, m=times * switch, target=1 / (4 * k)) for times in (0.99, 1.01)
        )
        assert above < 0 < below
        for other in (0.8 * sigma, 1.2 * sigma):
            assert scratchpad.log_delta(price, sigma=other, m=1.01 * switch, target=1 / (4 * k)) > 0
        assert 4 * k * 1.5 * (0.1**2 * price.trace * price.norm2 / switch) ** (1 / 3) == pytest.approx(1)


def test_counting_that_ends_early_has_no_reset_word_and_a_bounded_sensitivity():
    even, odd, even_zero, odd_zero, done_even, done_odd = range(6)  # ones so far, and whether the last bit was a 0
    early = Automaton(
        np.array(
            [[even_zero, odd], [odd_zero, even], [done_even, odd], [done_odd, even], [done_even] * 2, [done_odd] * 2]
        ),
        (odd, odd_zero, done_odd),
    )
    assert scratchpad.reset_word(early) is None
    found = [scratchpad.one_pass_sensitivity(early, n) for n in (5, 10, 30, 100, 1000)]
    assert found == pytest.approx([3.125, 4.0625, 4.564, 32 / 7, 32 / 7], abs=1e-3)


def test_steps_feel_up_to_three_bits_at_a_point_and_fewer_on_average():
    tables = map(scratchpad.step_tables, AUTOMATA.values())
    assert max(sensitivity.maximum(each).max() for each in tables) == 3
    found = [scratchpad.step_sensitivity(automaton) for automaton in AUTOMATA.values()]
    assert (min(found), max(found)) == (1, 2.5)


@pytest.mark.parametrize("T", [2, 8, 64, 256, 1024, 2**20])
def test_the_trace_of_a_step_is_below_what_the_theorem_says(T):
    assert scratchpad.step(T).trace < 420
    assert scratchpad.step(T, code="binary").trace < 418 + 2 * math.ceil(math.log2(T))


def test_a_hurried_step_of_parity_feels_one_bit_more_than_it_reads_of_the_string():
    for r in (1, 2, 5):
        words = cube.to_bits(cube.points(r)).astype(int)
        table = (np.arange(2)[:, None] + words.sum(axis=1)) % 2
        assert scratchpad.step_sensitivity(Automaton(table, (1,))) == r + 1
    assert scratchpad.step_sensitivity(AUTOMATA["parity"]) == 2


def test_the_bound_for_strides_is_lowest_at_two_bits_and_rises_in_proportion_in_the_end():
    def bound(r, T=256):
        wave = scratchpad.one_pass(r + 1)
        return scratchpad.error_bound(Price(wave.norms, wave.traces, steps=T // r), m=1e15).value

    found = [bound(2**k) for k in range(9)]
    assert min(found) == found[1] and np.all(np.diff(found[1:]) > 0)
    assert found[-1] / found[-2] == pytest.approx(2, rel=0.03)
    assert scratchpad.error_bound(scratchpad.step(256, code="binary"), m=1e15).value < found[1]


@pytest.mark.parametrize("T", [2, 8, 64, 100, 1024])
def test_the_norm_of_a_step_can_be_read_off_the_network(T):
    leak, digits = 0.001, math.ceil(math.log2(T))
    weights = 263 + 5 / 32  # of the MLP and the two value vectors
    beta, gamma = math.log(6 * (T - 1)), math.log(999 * (T - 1))
    assert scratchpad.step(T, leak=leak).norm2 == pytest.approx(weights + T * (beta**2 + gamma**2))
    beta, gamma = math.log(2 / ((4 / 3) ** (1 / digits) - 1)), -math.log((1 - leak) ** (-1 / digits) - 1)
    norm2 = scratchpad.step(T, code="binary", leak=leak).norm2
    assert norm2 == pytest.approx(weights + digits / 4 * (beta**2 + gamma**2))
    others = 2 * ((1 + math.exp(-gamma)) ** digits - 1)  # beside a pair of weight 2
    assert others / (2 + others) == pytest.approx(leak)


@torch.no_grad()
def test_a_smaller_leak_changes_the_flatness_of_a_step_by_a_percent():
    strings = torch.randint(2, (32, 8), generator=torch.Generator().manual_seed(11))
    states = torch.cat([torch.zeros_like(strings[:, :1]), strings.cumsum(1) % 2], dim=1)
    gammas = {"one-hot": math.log(999 * 7), "binary": -math.log(0.999 ** (-1 / 3) - 1)}
    for code, gamma in gammas.items():
        usual, quiet = (
            sharpness.average_direction(network, torch.cat([strings, states[:, :8]], dim=1), rho=1e-3, seed=11).value
            for network in (
                parity.scratchpad_network(8, code=code),
                parity.scratchpad_network(8, code=code, gamma=gamma),
            )
        )
        assert usual != quiet and quiet == pytest.approx(usual, rel=0.01)


def test_two_ones_in_a_row_can_be_turned_over_at_either_end_alike():
    def influences(name, n):
        return sensitivity.influences(scratchpad.transduce(AUTOMATA[name], n)[-1])

    for n in (4, 9, 12):
        assert influences("two ones in a row", n) == pytest.approx(influences("two ones in a row", n)[::-1])
        assert influences("all ones", n) == pytest.approx([2.0 ** (1 - n)] * n)
    assert influences("two ones in a row", 12).max() < 0.7 * influences("two ones in a row", 8).max()
    assert influences("two ones in a row", 12)[0] < 0.75**5


def test_a_chain_uses_its_condition_up_in_proportion_to_its_length():
    def void(T, code):
        return scratchpad.log_delta(scratchpad.step(T, code=code), sigma=3e-3, m=1e12, target=1 / (4 * T)) == math.inf

    assert [next(T for T in range(2, 200) if void(T, code)) for code in ("one-hot", "binary")] == [133, 129]


def test_the_logarithm_of_delta_has_nine_digits_or_more():
    for T in (4, 8, 16, 32, 64, 128):
        for price, target in (
            (scratchpad.one_pass(T), 1 / 4),
            (scratchpad.step(T), 1 / (4 * T)),
            (scratchpad.step(T, code="binary"), 1 / (4 * T)),
        ):
            assert abs(scratchpad.log_delta(price, sigma=3e-4, m=1e12, target=target)) >= 1e8


def test_norm_and_trace_of_a_pass_are_cubes():
    price = scratchpad.one_pass(1024)
    assert price.norm2 == pytest.approx(32 * 1024**3, rel=0.01) and price.trace == pytest.approx(40 * 1024**3, rel=0.01)
