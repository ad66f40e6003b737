"""Chapter 11's exercises: wrong answers as readers write them, and the library's answers."""

import math

import numpy as np
import pytest

from flatcube import cube, scratchpad, sensitivity
from flatcube.classroom.exercises import check, score
from flatcube.scratchpad import exercises
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("11.1", "You left out q_0", """
        def my_run(table, bits):
            q, found = 0, []
            for b in bits:
                q = table[q][b]
                found.append(q)
            return found
    """),
    ("11.1", "always start from state 0 again", """
        def my_run(table, bits):
            return [0] + [table[0, bit] for bit in bits]
    """),
    ("11.2", "counts ones", """
        def my_language(k):
            return [[q, (q + 1) % k] for q in range(k)]
    """),
    ("11.2", "forgot to take remainders", """
        def my_language(k):
            return np.arange(2 * k).reshape(k, 2)
    """),
    ("11.2", "on its side", """
        def my_language(k):
            return np.arange(2 * k).reshape(k, 2).T % k
    """),
    ("11.3", "the largest number of bits", """
        def my_step(table):
            most = 0
            for q in range(4):
                for x in range(2):
                    others = [table[q ^ 1, x], table[q ^ 2, x], table[q, 1 - x]]
                    most = max(most, sum(other != table[q, x] for other in others))
            return most
    """),
    ("11.3", "bits of the state only", """
        def my_step(table):
            swapped = table[[1, 0, 3, 2]], table[[2, 3, 0, 1]]
            return sum((other != table).sum() for other in swapped) / 8
    """),
    ("11.3", "You add up over all states", """
        def my_step(table):
            swapped = table[[1, 0, 3, 2]], table[[2, 3, 0, 1]], table[:, ::-1]
            return sum((other != table).sum() for other in swapped)
    """),
    ("11.3", "means “or”", """
        def my_step(table):
            n = 0
            for q in range(4):
                for x in range(2):
                    now = table[q, x]
                    n += (table[q ^ 1, x] != now) + (table[q ^ 2, x] != now) + (table[q, x ^ 1] != now)
            return n / 8
    """),
    ("11.4", "without their chance", """
        def my_pair(table, accepts, k):
            D = (accepts[:, None] != accepts).astype(float)
            for _ in range(k):
                D = D[np.ix_(table[:, 0], table[:, 0])] + D[np.ix_(table[:, 1], table[:, 1])]
            return D
    """),
    ("11.4", "read different bits", """
        def my_pair(table, accepts, k):
            D = (accepts[:, None] != accepts).astype(float)
            for _ in range(k):
                D = sum(D[np.ix_(table[:, x], table[:, y])] for x in (0, 1) for y in (0, 1)) / 4
            return D
    """),
    ("11.4", "one bit short", """
        def my_pair(table, accepts, k):
            D = (accepts[:, None] != accepts).astype(float)
            for _ in range(1, k):
                D = D[np.ix_(table[:, 0], table[:, 0])] / 2 + D[np.ix_(table[:, 1], table[:, 1])] / 2
            return D
    """),
    ("11.4", "judged alike", """
        def my_pair(table, accepts, k):
            same = (accepts[:, None] == accepts) * 1.0
            for _ in range(k):
                same = np.mean([same[np.ix_(to, to)] for to in table.T], axis=0)
            return same
    """),
    ("11.1", "reads bit t:", """
        def my_run(table, bits):
            t = [0, table[0, bits[0]]]
            for i in range(1, len(bits)):
                t.append(table[t[i], bits[i - 1]])
            return np.array(t)
    """),
    ("11.5", "slope and constant for a pair", """
        def my_hurry(table, mean):
            n = len(table)
            out = np.zeros(n)
            for p in range(n):
                for x in (0, 1):
                    for y in (0, 1):
                        unit = np.maximum(4 * (mean[p] + mean[n + x] + mean[n + 2 + y]) - 3, 0)
                        out[table[table[p, x], y]] += unit
            return out
    """),
    ("11.5", "second bit first", """
        def my_hurry(table, mean):
            n = len(table)
            out = np.zeros(n)
            for p in range(n):
                for x in (0, 1):
                    for y in (0, 1):
                        out[table[table[p, y], x]] += max(0, 6 * (mean[p] + mean[n + x] + mean[n + 2 + y]) - 5)
            return out
    """),
    ("11.5", "its argument is 0 and not", """
        def my_hurry(table, mean):
            n = len(table)
            h = mean[:n, None, None] + mean[n : n + 2, None] + mean[n + 2 :]
            out = np.zeros(n)
            np.add.at(out, table[table], np.maximum(3 * h - 2, 0))
            return out
    """),
    ("11.6", "squared a bracket", """
        def my_promise(norm2, trace, T, error, sigma, m, C):
            root = (error / 4 / T - sigma**2 / 2 * trace) / C
            return (norm2 / sigma**2 - m * root**2) / 2
    """),
    ("11.6", "the other sign", """
        def my_promise(norm2, trace, T, error, sigma, m, C):
            root = (error / 4 / T - sigma**2 / 2 * trace) / C
            return (m * root**2 - norm2 / sigma**2) / 2 if root > 0 else np.inf
    """),
    ("11.6", "You give log(1/δ)", """
        def my_promise(norm2, trace, T, error, sigma, m, C):
            root = (error / 4 / T - sigma**2 / 2 * trace) / C
            return (m * root**2 - norm2 / sigma**2) / 2 if root > 0 else -np.inf
    """),
    ("11.6", "That is δ", """
        import math

        def my_promise(norm2, trace, T, error, sigma, m, C):
            root = (error / 4 / T - sigma**2 / 2 * trace) / C
            return math.exp(norm2 / 2 / sigma**2 - m * root**2 / 2) if root > 0 else math.inf
    """),
    ("11.6", "a 2 in front", """
        def my_promise(norm2, trace, T, error, sigma, m, C):
            root = (error / 4 / T - sigma**2 / 2 * trace) / C
            return norm2 / sigma**2 - m * root**2 if root > 0 else float("inf")
    """),
    ("11.6", "for a loss of ¼", """
        def my_promise(norm2, trace, T, error, sigma, m, C):
            root = (0.25 - sigma**2 / 2 * trace) / C
            return (norm2 / sigma**2 - m * root**2) / 2 if root > 0 else np.inf
    """),
    ("11.6", "for a single step", """
        def my_promise(norm2, trace, T, error, sigma, m, C):
            root = (error / 4 - sigma**2 / 2 * trace) / C
            return (norm2 / sigma**2 - m * root**2) / 2 if root > 0 else np.inf
    """),
]


def my_run(table, bits):
    return scratchpad.Automaton(table, ()).run(bits)


def my_language(k):
    return [[int(f"{q:b}{digit}", 2) % k for digit in (0, 1)] for q in range(k)]


def my_step(table):
    return scratchpad.step_sensitivity(scratchpad.Automaton(table, ()))


def my_pair(table, accepts, k):
    strings = cube.to_bits(cube.points(k))
    ends = [scratchpad.Automaton(table, (), start=q).run(strings)[:, -1] for q in range(len(table))]
    return [[np.mean(accepts[one] != accepts[other]) for other in ends] for one in ends]


def my_hurry(table, mean):
    """By the automaton that reads four symbols, 00, 10, 01 and 11, and ReLUs on all of its codes at once."""
    words = cube.to_bits(cube.points(2)).astype(int)
    ends = np.array([scratchpad.Automaton(table, (), start=q).run(words)[:, -1] for q in range(len(table))])
    state, first, second = mean[: len(table)], mean[len(table) : -2], mean[-2:]
    units = np.maximum(6 * (state[:, None] + first[words[:, 0]] + second[words[:, 1]]) - 5, 0)
    return np.bincount(ends.ravel(), units.ravel(), len(table))


def my_promise(norm2, trace, T, error, sigma, m, C):
    price = scratchpad.Price({"all": norm2}, {"all": trace})
    return scratchpad.log_delta(price, sigma=sigma, m=m, C=C, target=error / (4 * T))


class TestExercises(ExerciseTests):
    room = "scratchpad"
    written = WRITTEN
    signed = ("11.6",)
    library = {
        "11.1": my_run, "11.2": my_language, "11.3": my_step, "11.4": my_pair, "11.5": my_hurry, "11.6": my_promise,
    }  # fmt: skip


def test_a_small_table_and_the_whole_place_are_shown():
    assert "table = [[0, 3], [1, 0], [2, 2], [0, 1]]: you give 0.1" in check("11.3", lambda table: 0.1).text
    text = check("11.4", lambda table, accepts, k: np.zeros((len(table), len(table)))).text
    assert "the first at index [0, 1], where you give 0" in text


def test_the_promise_of_the_chapter_has_its_condition():
    """The formula without its condition promised everything at 128 bits, where the noise alone costs 3.85."""
    wave, sigma, m = scratchpad.one_pass(128), 3e-4, 1e12
    bare = wave.norm2 / (2 * sigma**2) - m / 0.02 * (0.25 - sigma**2 * wave.trace / 2) ** 2
    assert bare < -1e14
    assert exercises.my_promise.solution(wave.norm2, wave.trace, 1, 1.0, sigma, m, 0.1) == math.inf
    trials = exercises._settings(np.random.default_rng(0))
    assert any(exercises.my_promise.solution(*trial) == math.inf for trial in trials)


def test_better_names_are_found_and_others_are_refused():
    tables = [table for (table,) in exercises._machines(np.random.default_rng(3))]
    for table in tables:
        codes = exercises.my_codes.solution(table)
        renamed = np.empty_like(table)
        renamed[codes] = codes[table]
        total = sensitivity.average(scratchpad.step_tables(scratchpad.Automaton(renamed, ()))).sum()
        assert exercises._coded(codes, table) == pytest.approx(total)
        assert total <= exercises._coded(np.arange(8), table)
    assert "each of the codes 0 to 7 once" in score("11.7", lambda table: np.zeros(8, int)).text
    assert score("11.7", lambda table: np.arange(8), seed=1).better("changed bits of the next code") == -1
