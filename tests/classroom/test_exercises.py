"""Every exercise: its solution passes, its stub is unanswered, typical mistakes get the sentence that fits them."""

import re
import textwrap
from collections import Counter
from fractions import Fraction
from math import comb
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import brentq, minimize_scalar

from flatcube import (
    blocks,
    blowup,
    brittleness,
    capacity,
    catoni,
    covers,
    cube,
    fourier,
    handmade,
    lookup,
    pacbayes,
    parity,
    queries,
    sampling,
    scales,
    scratchpad,
    sensitivity,
    sharpness,
    sparse_variables,
)
from flatcube.classroom import exercises
from flatcube.classroom.exercises import check, find, identifiers, solution, stub
from flatcube.experiments import brittle, trends

CHAPTERS = Path(__file__).parents[2] / "chapters"
EVERY = pytest.mark.parametrize("id", identifiers())
MISTAKES = [pytest.param(id, k, id=f"{id}-{k}") for id in identifiers() for k in range(len(find(id).mistakes))]


@pytest.fixture(autouse=True)
def no_tries_before():
    exercises._wrong.clear()
    exercises._calls.clear()


def given(task: exercises.Exercise, function):
    """What the reader hands in: the function, or for a value what it returns."""
    return function() if task.is_value else function


def defined(text: str, name: str):
    """The object `name` after running a cell with `text`, and what the check in it said."""
    said = []
    scope = {"np": np, "check": lambda *arguments: said.append(check(*arguments))}
    exec(text, scope)
    return scope[name], said


@EVERY
def test_the_solution_passes_on_many_instances(id: str):
    task = find(id)
    for _ in range(20):
        assert check(id, given(task, task.solution)).status == "right"
    assert str(check(id, given(task, task.solution))) == f"Right. {task.why}"


@EVERY
def test_the_folded_solution_runs_and_passes(id: str):
    answer, _ = defined(solution(id).code, find(id).name)
    assert check(id, answer).status == "right"


@EVERY
def test_the_stub_is_not_answered(id: str):
    _, said = defined(stub(id), find(id).name)
    assert [feedback.status for feedback in said] == ["open"]
    assert str(said[0]).startswith("Not answered yet.")


@EVERY
def test_the_stub_does_not_contain_the_solution(id: str):
    code = [line.strip() for line in solution(id).code.splitlines()]
    assert code[-1] not in stub(id)
    assert stub(id).count("...") == 1


@EVERY
def test_there_are_enough_distinct_diagnoses_and_two_hints(id: str):
    task = find(id)
    assert len({diagnosis for diagnosis, _ in task.mistakes}) == len(task.mistakes) >= 3
    assert len(set(task.hints)) == 2
    assert 1 <= task.difficulty <= 3


@pytest.mark.parametrize(("id", "k"), MISTAKES)
def test_a_typical_mistake_gets_its_own_sentence(id: str, k: int):
    task = find(id)
    diagnosis, mistake = task.mistakes[k]
    for _ in range(20):
        feedback = check(id, given(task, mistake))
        assert (feedback.status, feedback.text) == ("wrong", diagnosis)


@EVERY
def test_hints_come_in_two_levels_and_start_again_after_success(id: str):
    task = find(id)
    wrong = given(task, task.mistakes[0][1])
    assert [check(id, wrong).hint for _ in range(3)] == [task.hints[0], task.hints[1], task.hints[1]]
    check(id, given(task, task.solution))
    assert check(id, wrong).hint == task.hints[0]


@EVERY
def test_no_feedback_contains_the_answer(id: str):
    task = find(id)
    secret = re.sub(r"^return |^\w+ = ", "", solution(id).code.splitlines()[-1].strip())
    wrong = [given(task, mistake) for _, mistake in task.mistakes]
    texts = [str(check(id, answer)) for answer in [*wrong, *wrong, lambda *arguments: 12345, 12345]]
    if task.is_value:
        texts += [str(check(id, {}))]
    for text in texts:
        assert secret not in text and str(solution(id).code) not in text


def test_the_numbers_of_the_right_answer_are_not_given_away(monkeypatch: pytest.MonkeyPatch):
    table = np.array([0.11, 0.22, 0.43, 0.84])
    task = find("1.2")
    monkeypatch.setattr(task, "instances", lambda rng: [(table, 3)])
    said = str(check("1.2", lambda table, mask: 7.5))
    assert "7.5" in said
    assert f"{task.solution(table, 3):.2g}" not in said


@EVERY
def test_an_answer_of_the_wrong_type_gets_a_sentence(id: str):
    task = find(id)
    values = ["text", 3, [1, 2], np.zeros(3), object(), {1: 2}]
    for odd in [*values, lambda *_: "text", lambda *_: {}, lambda *_: [[1], [2, 3]], lambda *_: 1j]:
        feedback = check(id, odd)
        assert feedback.status == "wrong", odd
        assert feedback.text.endswith((".", "?")) and "\n" not in feedback.text
    if not task.is_value:
        assert "without calling it" in check(id, 3).text


@EVERY
def test_nothing_and_an_ellipsis_are_not_answers(id: str):
    for nothing in [None, ..., {(): ...}]:
        assert check(id, nothing).status == "open"


def test_an_error_in_the_answer_is_one_sentence_with_its_line():
    def broken(table, mask):
        return table[10**6]

    feedback = check("1.2", broken)
    assert feedback.status == "wrong"
    assert "`coefficient` stopped with IndexError in line" in feedback.text
    assert "`return table[10**6]`" in feedback.text and "Traceback" not in feedback.text


def test_an_answer_that_leaves_python_is_caught():
    assert "SystemExit" in check("1.2", lambda table, mask: exit()).text


def test_a_forgotten_return_is_named():
    def forgetful(table, mask):
        np.mean(table)

    assert "does it end with `return`?" in check("1.2", forgetful).text


def test_an_answer_that_spoils_its_arguments_hurts_only_itself():
    def spoiler(table, mask):
        table[:] = 0
        return 0.0

    assert check("1.2", spoiler).status == "wrong"


def test_an_unknown_mistake_is_told_what_it_gave():
    feedback = check("1.3", lambda table: np.asarray(table) + 1)
    assert "Right in 0 of 4 fresh trials; for table = [" in feedback.text
    assert "2 of 2 entries are wrong, the first at index 0, where you give" in feedback.text
    assert "shape (1,) where (2,) should come" in check("1.3", lambda table: [0]).text


def test_an_answer_that_is_sometimes_right_hears_how_often():
    right = find("1.3").solution
    assert "Right in 1 of 4 fresh trials" in check("1.3", lambda table: right(table) + (len(table) > 2)).text


@pytest.mark.parametrize("spectrum", [
    {(2,): Fraction(1, 2), (3,): 0.5, (2, 1): -0.5, (1, 3): 0.5},
    {frozenset({2}): 0.5, (3,): 0.5, (1, 2): -0.5, (1, 3): 0.5, (): 0},
])
def test_other_ways_to_write_a_spectrum_are_right(spectrum: dict):
    assert check("1.1", spectrum).status == "right"


def test_a_spectrum_with_names_for_subsets_is_told_how_to_write_them():
    for answer in ({"x2": 0.5, "x3": 0.5}, {(2): 0.5, (3): 0.5}):  # (2) is the number 2
        assert "not made of subsets, such as (2,) or (1, 3), and numbers" in check("1.1", answer).text


@pytest.mark.parametrize("id", ["1.99", "77.1", "", "one", 77])
def test_an_unknown_id_gets_one_sentence_with_the_ids(id):
    feedback = check(id, 0)
    assert feedback.status == "unknown"
    known = [other for other in identifiers() if other.startswith("1.") or id != "1.99"]  # those of its chapter
    assert feedback.text == f"There is no exercise {id!r}; there are {', '.join(known)}."


def test_instances_are_fresh_for_readers_and_repeated_by_the_press(monkeypatch: pytest.MonkeyPatch):
    def said() -> list[str]:
        exercises._calls.clear()
        return [check("1.3", lambda table: np.asarray(table) + 1).text for _ in range(2)]

    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    assert said() != said()
    monkeypatch.setenv("FLATCUBE_PRESS", "1")
    first = said()
    assert first == said() and first[0] != first[1]


def test_feedback_has_a_page_form_and_a_plain_form():
    def broken(table, mask):
        raise ValueError("a < b <script>")

    forms = check("1.2", broken)._repr_mimebundle_()
    assert "a &lt; b &lt;script&gt;" in forms["text/html"] and "a < b <script>" in forms["text/plain"]
    assert set(forms) == {"text/html", "text/plain"}
    assert 'data-status="wrong"' in forms["text/html"] and 'role="status"' in forms["text/html"]
    assert "<strong>Not yet.</strong>" in forms["text/html"] and "<em>Hint:</em>" in forms["text/html"]
    assert forms["text/plain"].startswith("Not yet.")


def test_solutions_are_folded():
    forms = solution("1.3")._repr_mimebundle_()
    assert re.match('<details class="[^"]*"><summary class="[^"]*">Solution of 1.3</summary>', forms["text/html"])
    assert forms["text/html"].rstrip().endswith("</details>")


# ── Wrong answers as readers write them, in code of their own: exercise, a phrase of the diagnosis, the cell ──────────
# Chapters add rows at the end.
WRITTEN = [
    ("1.1", "you read +1 as true", """
        true, false = (1, 1), (1, -1)  # (1 ± x1)/2, +1 taken for true: its constant and its x1
        selector = {(2,): true[0] / 2, (1, 2): true[1] / 2, (3,): false[0] / 2, (1, 3): false[1] / 2}
    """),
    ("1.1", "divide by the number of points", """
        selector = {}
        for mask in range(8):
            for k in range(8):
                x1, x2, x3 = [-1 if k >> i & 1 else 1 for i in range(3)]
                f = x2 if x1 == -1 else x3
                subset = tuple(i + 1 for i in range(3) if mask >> i & 1)
                selector[subset] = selector.get(subset, 0) + f * (-1) ** bin(k & mask).count("1")
    """),
    ("1.1", "right for bits 0 and 1", """
        selector = {(1, 2): 1, (3,): 1}  # b1 b2 + (1 − b1) b3
        selector[1, 3] = -1
    """),
    ("1.2", "do not divide", """
        def coefficient(table, mask):
            total = 0
            for k, value in enumerate(table):
                total += -value if bin(k & mask).count("1") % 2 else value
            return total
    """),
    ("1.2", "that is OR", """
        def coefficient(table, mask):
            chi = [-1 if k & mask else 1 for k in range(len(table))]
            return sum(f * c for f, c in zip(table, chi)) / len(table)
    """),
    ("1.2", "keep only those in the subset", """
        def coefficient(table, mask):
            n = len(table).bit_length() - 1
            total = 0
            for k in range(len(table)):
                sign = 1
                for i in range(n):
                    if k & (1 << i):  # forgets to ask whether i is in S
                        sign = -sign
                total += sign * table[k]
            return total / 2**n
    """),
    ("1.3", "division by the length is missing", """
        def fast_transform(table):
            c = [float(v) for v in table]
            step = 1
            while step < len(c):
                for k in range(len(c)):
                    if not k & step:
                        c[k], c[k + step] = c[k] + c[k + step], c[k] - c[k + step]
                step *= 2
            return c
    """),
    ("1.3", "after the first was overwritten", """
        def fast_transform(table):
            values = np.array(table, dtype=float)
            for bit in range(len(values).bit_length() - 1):
                pairs = values.reshape(-1, 2, 2**bit)
                a, b = pairs[:, 0], pairs[:, 1]
                pairs[:, 0] = a + b
                pairs[:, 1] = a - b
            return values / len(values)
    """),
    ("1.3", "wrong sign", """
        def fast_transform(table):
            values = np.array(table, dtype=float)
            for bit in range(len(values).bit_length() - 1):
                pairs = values.reshape(-1, 2, 2**bit)
                a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
                pairs[:, 0] = (a + b) / 2
                pairs[:, 1] = (b - a) / 2
            return values
    """),
    ("1.4", "off by one", """
        def influence(coefficients, i):
            return sum(c**2 for S, c in enumerate(coefficients) if S & 2**i)
    """),
    ("1.4", "Parseval adds squares", """
        def influence(coefficients, i):
            return coefficients.reshape(-1, 2, 2 ** (i - 1))[:, 1].sum()
    """),
    ("1.4", "Larger sets that contain i", """
        def influence(coefficients, i):
            for S in range(len(coefficients)):
                if S == 1 << i - 1:
                    return coefficients[S] ** 2
    """),
    ("1.5", "whatever the sign is", """
        def restrict(coefficients, i, sign):
            bit = 1 << (i - 1)
            return [c + coefficients[S | bit] for S, c in enumerate(coefficients) if not S & bit]
    """),
    ("1.5", "You drop the terms that contain x_i", """
        def restrict(coefficients, i, sign):
            return [c for S, c in enumerate(coefficients) if not S >> (i - 1) & 1]
    """),
    ("1.5", "That restricts a table of values", """
        def restrict(coefficients, i, sign):
            bit = np.arange(len(coefficients)) >> (i - 1) & 1
            return coefficients[1 - 2 * bit == sign]
    """),
    ("1.6", "The constant is missing", """
        def to_parities(components):
            spectrum = {}
            for subset in components:
                spectrum[subset] = components[subset] * 0.5
            return spectrum
    """),
    ("1.6", "You keep each weight whole", """
        def to_parities(components):
            spectrum = dict(components)
            spectrum[()] = 0.0
            for weight in components.values():
                spectrum[()] += weight / 2
            return spectrum
    """),
    ("1.6", "Right unless ∅ is a component", """
        def to_parities(components):
            spectrum, constant = {}, 0.0
            for subset, weight in components.items():
                spectrum[subset] = weight / 2
                constant += weight / 2
            spectrum[()] = constant
            return spectrum
    """),
    ("2.1", "You count lit edges", """
        lit = [0, 0, 0]
        for x1, x2, x3 in np.ndindex(2, 2, 2):
            f = lambda a, b, c: a and (b or c)
            now = bool(f(x1, x2, x3))
            lit[0] += bool(f(1 - x1, x2, x3)) != now
            lit[1] += bool(f(x1, 1 - x2, x3)) != now
            lit[2] += bool(f(x1, x2, 1 - x3)) != now
        by_hand = [count // 2 for count in lit]
    """),
    ("2.1", "seen from both of its ends", """
        by_hand = np.array([3, 1, 1]) / 8
    """),
    ("2.1", "the value stays the same", """
        by_hand = (1 - 3 / 4, 1 - 1 / 4, 1 - 1 / 4)
    """),
    ("2.2", "Four times too large", """
        def point_sensitivity(table, k):
            n, total = len(table).bit_length() - 1, 0
            for i in range(n):
                total += (table[k] - table[k ^ (1 << i)]) ** 2
            return total
    """),
    ("2.2", "You count the neighbours that differ", """
        def point_sensitivity(table, k):
            near = [j for j in range(len(table)) if bin(j ^ k).count("1") == 1]
            return sum(table[j] != table[k] for j in near)
    """),
    ("2.2", "carries into the next digit", """
        def point_sensitivity(table, k):
            n = len(table).bit_length() - 1
            return sum((table[k] - np.take(table, k + 2**i, mode="wrap")) ** 2 / 4 for i in range(n))
    """),
    ("2.3", "a lit edge makes both of its ends sensitive", """
        def majority_average(n):
            from math import comb

            return comb(n, n // 2) * (n - n // 2) / 2**n
    """),
    ("2.3", "the limit for large n", """
        def majority_average(n):
            return (2 * n / 3.141592653589793) ** 0.5
    """),
    ("2.3", "Right for even n only", """
        def majority_average(n):
            from math import comb

            k = n // 2
            return 2 * comb(n, k) * k / 2**n
    """),
    ("2.4", "the noise stability", """
        def change_probability(profile, correlation):
            return sum(weight * correlation**k for k, weight in enumerate(profile))
    """),
    ("2.4", "the probability that the two values agree", """
        def change_probability(profile, correlation):
            return 0.5 + 0.5 * np.polyval(profile[::-1], correlation)
    """),
    ("2.4", "the tangent at r = 1", """
        def change_probability(profile, correlation):
            average = sum(k * weight for k, weight in enumerate(profile))
            return average * (1 - correlation) / 2
    """),
    ("2.5", "n times too small", """
        def from_flips(before, after, n):
            changes = (before - after) ** 2 / 4
            return [np.mean(changes), np.std(changes, ddof=1) / len(changes) ** 0.5]
    """),
    ("2.5", "multiplied by n as well", """
        def from_flips(before, after, n):
            changes = (before - after) ** 2 / 4
            m = len(changes)
            return [n * sum(changes) / m, np.sqrt(np.sum((changes - changes.mean()) ** 2) / (m - 1) / m)]
    """),
    ("2.5", "divide by m − 1", """
        def from_flips(before, after, n):
            changes = n * (before - after) ** 2 / 4
            return changes.mean(), changes.std() / np.sqrt(len(changes))
    """),
    ("2.6", "There are n bits: scale it up", """
        def still_possible(n, samples, delta):
            return -np.expm1(np.log(delta) / samples)
    """),
    ("2.6", "You use 1 − δ", """
        def still_possible(n, samples, delta):
            return n - n * (1 - delta) ** (1 / samples)
    """),
    ("2.6", "the approximation for many samples", """
        def still_possible(n, samples, delta):
            return -n * np.log(delta) / samples
    """),
    ("3.1", "do not divide by their number", """
        def alternating_mean(values):
            total = 0
            for y, value in enumerate(values):
                total += value if bin(y).count("1") % 2 == 0 else -value
            return total
    """),
    ("3.1", "Your signs alternate with y", """
        def alternating_mean(values):
            return np.mean([value if y % 2 == 0 else -value for y, value in enumerate(values)])
    """),
    ("3.1", "the wrong way round", """
        def alternating_mean(values):
            odd = np.array([bin(y).count("1") % 2 for y in range(len(values))])
            return (values[odd == 1].sum() - values[odd == 0].sum()) / len(values)
    """),
    ("3.2", "You have d + 1 labels", """
        def one_each(d):
            ways = 1
            for j in range(1, d + 2):
                ways *= j
            return ways / (d + 1) ** (d + 1)
    """),
    ("3.2", "a single way of labelling", """
        def one_each(d):
            return (1 / (d + 2)) ** (d + 1)
    """),
    ("3.2", "Two of them may still share a block", """
        def one_each(d):
            return (1 - 1 / (d + 2)) ** (d + 1)
    """),
    ("3.3", "One too few", """
        def enough(chance, error):
            m = 0
            while (1 - chance) ** (m + 1) > error:
                m += 1
            return m
    """),
    ("3.3", "the first find takes on average", """
        def enough(chance, error):
            return -int(-1 // chance)
    """),
    ("3.3", "not the fewest", """
        def enough(chance, error):
            return int(-np.log(error) / chance) + 1
    """),
    ("3.4", "as SP's text says", """
        def tail(coefficients, w):
            largest = sorted(coefficients, key=abs, reverse=True)
            return sum(largest[w:])
    """),
    ("3.4", "You sort by value", """
        def tail(coefficients, w):
            return sum(c**2 for c in sorted(coefficients, reverse=True)[w:])
    """),
    ("3.4", "The tail is the rest", """
        def tail(coefficients, w):
            return sum(c * c for c in sorted(coefficients, key=abs, reverse=True)[:w])
    """),
    ("3.5", "on the last variables", """
        def bucket(coefficients, mask, k):
            return sum(c**2 for S, c in enumerate(coefficients) if S // 2**k == mask // 2**k)
    """),
    ("3.5", "every set that contains `mask`", """
        def bucket(coefficients, mask, k):
            return sum(c**2 for S, c in enumerate(coefficients) if S | mask == S)
    """),
    ("3.5", "weights are squares", """
        def bucket(coefficients, mask, k):
            return coefficients.reshape(-1, 2**k)[:, mask % 2**k].sum()
    """),
    ("3.6", "the degree over the real numbers", """
        def algebraic_degree(table):
            values = np.array(table, dtype=float)
            for i in range(len(values).bit_length() - 1):
                pairs = values.reshape(-1, 2, 2**i)
                values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
            return max(S.bit_count() for S in range(len(values)) if abs(values[S]) > 1e-9)
    """),
    ("3.6", "the first half of each pair", """
        def algebraic_degree(table):
            bits = np.array(table) < 0
            for i in range(len(bits).bit_length() - 1):
                pairs = bits.reshape(-1, 2, 2**i)
                pairs[:, 0] ^= pairs[:, 1]
            return max(S.bit_count() for S in range(len(bits)) if bits[S])
    """),
    ("3.6", "You count the monomials", """
        def algebraic_degree(table):
            bits = np.array(table) < 0
            for i in range(len(bits).bit_length() - 1):
                pairs = bits.reshape(-1, 2, 2**i)
                pairs[:, 1] ^= pairs[:, 0]
            return int(bits.sum())
    """),
    ("4.1", "Your columns add up to one", """
        def head(X, W, V):
            weights = np.exp(X @ W @ X.T)
            weights = weights / weights.sum(axis=0)
            return weights @ (X @ V)
    """),
    ("4.1", "Queries and keys are exchanged", """
        def head(X, W, V):
            queries, keys = X, X @ W
            logits = keys @ queries.T
            weights = np.exp(logits.T) / np.exp(logits.T).sum(axis=1)[:, None]
            return weights @ X @ V
    """),
    ("4.1", "do not add up to one yet", """
        def head(X, W, V):
            rows = []
            for query in X @ W:
                rows.append(sum(np.exp(query @ key) * (key @ V) for key in X))
            return np.array(rows)
    """),
    ("4.2", "You forgot the output position", """
        def least_scale(T, d):
            beta = 0.0
            low, high = 0.0, 50.0
            for _ in range(200):
                beta = (low + high) / 2
                leak = (T - d) / (d * np.exp(beta) + T - d)
                low, high = (low, beta) if leak <= 1 / (4 * d) else (beta, high)
            return beta
    """),
    ("4.2", "That is always enough", """
        def least_scale(T, d):
            return np.log(4) + np.log(T)
    """),
    ("4.2", "That is e^β", """
        def least_scale(T, d):
            members = 1 - 1 / (4 * d)
            return (T + 1 - d) * members / (d - d * members)
    """),
    ("4.3", "not the height", """
        def trapezoid(a, c, d):
            kinks = [(-1 / (2 * d), 1), (-1 / (4 * d), -1), (1 / (4 * d), -1), (1 / (2 * d), 1)]
            return sum(sign * np.maximum(a - c - at, 0) for at, sign in kinks)
    """),
    ("4.3", "never comes down", """
        def trapezoid(a, c, d):
            up = np.maximum(a - c + 1 / (2 * d), 0)
            return 4 * d * (up - np.maximum(a - c + 1 / (4 * d), 0))
    """),
    ("4.3", "That is a triangle", """
        def trapezoid(a, c, d):
            relu = lambda u: np.where(u > 0, u, 0)
            return 2 * d * (relu(a - c + 0.5 / d) - 2 * relu(a - c) + relu(a - c - 0.5 / d))
    """),
    ("4.4", "counts once only", """
        def padded_row(subset, d, T, beta):
            row = np.zeros(T + 1)
            row[[j - 1 for j in subset]] = beta
            if d > len(subset):
                row[-1] = beta
            return row
    """),
    ("4.4", "multiply the logit", """
        def padded_row(subset, d, T, beta):
            row = np.zeros(T + 1)
            for j in subset:
                row[j - 1] += beta
            for _ in range(d - len(subset)):
                row[T] += beta
            return row
    """),
    ("4.4", "do not pad at all", """
        def padded_row(subset, d, T, beta):
            return np.array([beta if j in subset else 0.0 for j in range(1, T + 2)])
    """),
    ("4.5", "Bare logarithms", """
        def second_logits(weights, T, tau):
            return [np.log(weights[i]) if i < len(weights) else 0 for i in range(T + 1)]
    """),
    ("4.5", "You lift by e^γ", """
        def second_logits(weights, T, tau):
            logits = np.zeros(T + 1)
            logits[: len(weights)] = np.log(weights) + (T + 1 - len(weights)) / tau
            return logits
    """),
    ("4.5", "it looks at itself, too", """
        def second_logits(weights, T, tau):
            others = T - len(weights)
            return np.r_[np.log(weights * others / tau), np.zeros(others + 1)]
    """),
    ("4.6", "That is α²", """
        def balance(E, b, F):
            return np.linalg.norm(F) / np.linalg.norm(np.concatenate([E, b]))
    """),
    ("4.6", "Upside down", """
        def balance(E, b, F):
            return (np.sum([*E**2, *b**2]) / np.sum(F**2)) ** (1 / 4)
    """),
    ("4.6", "they count with E", """
        def balance(E, b, F):
            return np.sqrt(np.linalg.norm(F) / np.linalg.norm(E))
    """),
    ("5.1", "the printed form", """
        def bump(x, centre, delta):
            nu = lambda z: np.maximum(z / delta + 1, 0) - np.maximum(z / delta, 0)
            y = x - centre + delta
            return nu(y) - nu(2 * delta - y)
    """),
    ("5.1", "begins at the centre", """
        def bump(x, centre, delta):
            nu = lambda z: np.clip(z / delta + 1, 0, 1)
            return nu(x - centre) - nu(x - centre - 3 * delta)
    """),
    ("5.1", "a tip and no top", """
        def bump(x, centre, delta):
            return np.interp(x, [centre - 2 * delta, centre, centre + 2 * delta], [0, 1, 0])
    """),
    ("5.2", "not minus infinity", """
        def attention(T, chosen, R):
            return [1 / len(chosen) if t + 1 in chosen else 0 for t in range(T + 1)]
    """),
    ("5.2", "attends to itself as well", """
        def attention(T, chosen, R):
            e = np.array([np.exp(R) if t in chosen else 1 for t in range(1, T + 1)])
            return e / sum(e)
    """),
    ("5.2", "off by one", """
        def attention(T, chosen, R):
            logits = np.zeros(T + 1)
            logits[chosen] = R
            return np.exp(logits) / np.exp(logits).sum()
    """),
    ("5.3", "the other bits answer", """
        def smallest_scale(T, s, error):  # others/(s x + others) = error
            others = T + 1 - s
            return np.log(others * (1 - error) / (error * s))
    """),
    ("5.3", "the bound of the lemma", """
        def smallest_scale(T, s, error):
            return -np.log(error / (2 * T))
    """),
    ("5.3", "counts once and not twice", """
        def smallest_scale(T, s, error):
            others = T + 1 - s
            return np.log(others * (2 - error) / error / s)
    """),
    ("5.4", "leave [CLS] out of the count", """
        def bag_signal(bits, chosen):
            b = [bits[i - 1] for i in chosen]
            r = sum(b)
            return [(x - 1) / r if r else x - 1 for x in b]
    """),
    ("5.4", "one number of the symmetric case", """
        def bag_signal(bits, chosen):
            r, s = sum(bits[i - 1] for i in chosen), len(chosen)
            return (r - s) / (r + 1)
    """),
    ("5.4", "You average over all vectors", """
        def bag_signal(bits, chosen):
            return [(bits[i - 1] - 1) / (1 + sum(bits)) for i in chosen]
    """),
    ("5.5", "the transpose", """
        def query_key(T, chosen, R):
            W = np.zeros((T + 3, T + 3))
            for i in chosen:
                W[i - 1, T + 2] = R
            return W
    """),
    ("5.5", "the full logit", """
        def query_key(T, chosen, R):
            W = np.zeros((T + 3, T + 3))
            W[-1, [i - 1 for i in chosen]] = R / len(chosen)
            return W
    """),
    ("5.5", "ask each other", """
        def query_key(T, chosen, R):
            v = np.zeros(T + 3)
            v[np.array(chosen) - 1] = 1
            return R * np.outer(v, v)
    """),
    ("5.6", "That is 0 everywhere", """
        def all_at_once(psi):
            return np.maximum(0, np.sum(psi - 1, axis=1))
    """),
    ("5.6", "You multiply", """
        def all_at_once(psi):
            return [np.prod(row) for row in psi]
    """),
    ("5.6", "That is an OR", """
        def all_at_once(psi):
            return 1 - np.maximum(1 - psi.sum(axis=1), 0)
    """),
    ("6.1", "Zeros vote as well", """
        def votes(bits):
            seen, result = 0, []
            for bit in bits:
                seen += bit
                result.append(1 if seen > sum(bits) / 2 else -1)
            return result
    """),
    ("6.1", "−1, not 0", """
        def votes(bits):
            seen = np.cumsum(bits)
            return [int(b == 1 and 2 * s > seen[-1]) for b, s in zip(bits, seen)]
    """),
    ("6.1", "Ties say yes", """
        def votes(bits):
            result = np.zeros(len(bits))
            for i in np.flatnonzero(bits):
                result[i] = 1 if bits[: i + 1].sum() >= bits[i + 1 :].sum() else -1
            return result
    """),
    ("6.2", "A step, not a bump", """
        def hit(k, i, N):
            units = np.maximum(0, [(k - i + 1) / N, (k - i) / N, (k - i - 1) / N])
            return units[0] - units[1]
    """),
    ("6.2", "needs weight −2", """
        def hit(k, i, N):
            units = np.maximum(0, [(k - i + 1) / N, (k - i) / N, (k - i - 1) / N])
            return units[0] - units[1] + units[2]
    """),
    ("6.2", "N times too high", """
        def hit(k, i, N):
            return float(i == k)
    """),
    ("6.3", "averaging over N positions", """
        def reach(phi, eps):
            a = (81 * eps / 24) ** 0.5
            return phi / a
    """),
    ("6.3", "1/√2", """
        def reach(phi, eps):
            return (phi**2 * 8 / (81 * eps)) ** 0.25
    """),
    ("6.3", "The question asks for N", """
        def reach(phi, eps):
            return (81 * eps / (8 * 3)) ** 0.5
    """),
    ("6.4", "as large as the answer", """
        def critical(a, s, D):
            return a / s
    """),
    ("6.4", "the mean contains the answer itself", """
        def critical(a, s, D):
            return a / (s / D)
    """),
    ("6.4", "divide by what the channel held", """
        def critical(a, s, D):
            return a * D - a
    """),
    ("6.5", "each of the two loses a half", """
        def least_beta(T, w):
            M = 2 * T - 2
            return np.log((M / w - M) / 2)
    """),
    ("6.5", "Only one position of the pair", """
        def least_beta(T, w):
            return np.log((T - 1) * (1 / w - 2))
    """),
    ("6.5", "That is e^β itself", """
        def least_beta(T, w):
            return (T - 1) * (1 / (2 * w) - 1)
    """),
    ("6.6", "right for even T", """
        def repaired(last, T):
            return last
    """),
    ("6.6", "right for odd T", """
        def repaired(last, T):
            return last ^ 1
    """),
    ("6.6", "The wrong way round", """
        def repaired(last, T):
            return last if T % 2 else 1 - last
    """),
    ("7.1", "The 1 is missing", """
        def blow_up(variances, eps):
            largest = [max((v + eps) ** -0.5 for v in row) for row in variances]
            return np.prod(largest)
    """),
    ("7.1", "You average over positions", """
        def blow_up(variances, eps):
            return np.prod(1 + (1 / np.sqrt(variances + eps)).mean(axis=-1))
    """),
    ("7.1", "There is no square root", """
        def blow_up(variances, eps):
            return np.prod(1 + 1 / (variances.min(axis=1) + eps))
    """),
    ("7.2", "Half of it", """
        def influence(zero, one, bits):
            total = 0
            for q in range(len(bits)):
                weights = []
                for bit in (bits[q], 1 - bits[q]):
                    logits = np.where(bits, one, zero)
                    logits[q] = one[q] if bit else zero[q]
                    weights.append(np.exp(logits[q]) / np.exp(logits).sum())
                total += abs(weights[0] - weights[1])
            return total
    """),
    ("7.2", "the changes of the logits", """
        def influence(zero, one, bits):
            return sum(abs(a - b) for a, b in zip(zero, one))
    """),
    ("7.2", "Signs cancel", """
        def influence(zero, one, bits):
            total = 0
            for q in range(len(bits)):
                flipped = bits ^ (np.arange(len(bits)) == q)
                rows = [np.exp(np.where(some, one, zero)) for some in (bits, flipped)]
                total += (rows[0] / rows[0].sum() - rows[1] / rows[1].sum()).sum()
            return round(total, 9)
    """),
    ("7.3", "Half of it", """
        def empty(n, loud):
            return n * np.exp(loud) / (np.exp(loud) + n - 1) - 1
    """),
    ("7.3", "Only the difference counts", """
        def empty(n, loud):
            return 2 * n / (1 + (n - 1) * np.exp(-loud))
    """),
    ("7.3", "n − 1 others", """
        def empty(n, loud):
            return 2 * n / (1 + n * np.exp(-loud)) - 2
    """),
    ("7.4", "The mean is not subtracted", """
        def magnified(y, z, eps):
            a, b = (v / np.sqrt(np.mean((v - v.mean()) ** 2) + eps) for v in (y, z))
            return np.linalg.norm(a - b) / np.linalg.norm(y - z)
    """),
    ("7.4", "a factor √d is lost", """
        def magnified(y, z, eps):
            def norm(v):
                v = v - v.mean()
                return v / np.sqrt(v @ v + eps)
            return np.linalg.norm(norm(y) - norm(z)) / np.linalg.norm(y - z)
    """),
    ("7.4", "the distance after the norm", """
        def magnified(y, z, eps):
            a, b = ((v - v.mean()) / np.sqrt(v.var() + eps) for v in (y, z))
            return np.sqrt(np.sum((a - b) ** 2))
    """),
    ("7.5", "The remainder", """
        def demanded(n, log_constant, heads):
            return np.log(n) / 2 - np.log(np.log(n)) / 2 - log_constant
    """),
    ("7.5", "as the paper prints it", """
        def demanded(n, log_constant, heads):
            return np.log(np.sqrt(n) / np.log(n) - heads / n) - log_constant
    """),
    ("7.5", "not larger", """
        def demanded(n, log_constant, heads):
            return log_constant + np.log(n / np.sqrt(n * np.log(n)) - heads / n)
    """),
    ("7.6", "Two terms", """
        def bites(C, B):
            return next(n for n in range(3, 10**6) if C * B**2 * np.sqrt(n * np.log(n)) < n)
    """),
    ("7.6", "Blowup stands squared", """
        def bites(C, B):
            return next(n for n in range(3, 10**6) if 2 * C * B * np.sqrt(n * np.log(n)) < n)
    """),
    ("7.6", "one less than", """
        def bites(C, B):
            n = 3
            while 2 * C * B**2 * np.sqrt((n + 1) * np.log(n + 1)) >= n + 1:
                n += 1
            return n
    """),
    ("8.1", "You compare functions on average", """
        def covered(values, chosen, eps):
            hits = 0
            for f in values:
                hits += any(sum(abs(f - values[c])) / len(f) <= eps for c in chosen)
            return hits / len(values)
    """),
    ("8.1", "You count the functions", """
        def covered(values, chosen, eps):
            return len([f for f in values if any(np.all(np.abs(f - values[c]) <= eps) for c in chosen)])
    """),
    ("8.1", "You ask that all chosen functions be near", """
        def covered(values, chosen, eps):
            return np.mean([all(np.abs(f - values[c]).max() <= eps for c in chosen) for f in values])
    """),
    ("8.2", "You count one more", """
        def corrections(w, inputs, eps):
            step, u, count = eps / max(x @ x for x in inputs), np.zeros(len(w)), 1
            while max(abs(inputs @ (w - u))) > eps:
                gaps = inputs @ (w - u)
                i = np.argmax(abs(gaps))
                u = u + step * inputs[i] if gaps[i] > 0 else u - step * inputs[i]
                count += 1
            return count
    """),
    ("8.2", "You close the gap completely", """
        def corrections(w, inputs, eps):
            u = np.zeros(len(w))
            for count in range(10_000):
                gaps = inputs @ (w - u)
                i = np.abs(gaps).argmax()
                if abs(gaps[i]) <= eps:
                    return count
                u += gaps[i] * inputs[i] / (inputs[i] @ inputs[i])
    """),
    ("8.2", "what the theorem allows", """
        def corrections(w, inputs, eps):
            longest = max(np.linalg.norm(x) for x in inputs)
            return np.floor((np.linalg.norm(w) * longest / eps) ** 2)
    """),
    ("8.3", "every matrix the same error", """
        def share(sizes, reaches, eps):
            return [eps / sum(reaches) for _ in sizes]
    """),
    ("8.3", "in proportion to the sizes", """
        def share(sizes, reaches, eps):
            return np.array([eps * size / np.dot(sizes, reaches) for size in sizes])
    """),
    ("8.3", "You forgot the factor", """
        def share(sizes, reaches, eps):
            return (sizes * sizes / reaches) ** (1 / 3)
    """),
    ("8.4", "as printed in ED. They have already done", """
        def amplification(stretches, readout):
            found, product = [], readout
            for s in stretches:
                found.append(product)
                product *= s
            return found
    """),
    ("8.4", "The read-out is missing", """
        def amplification(stretches, readout):
            return [np.prod(stretches) / np.prod(stretches[: i + 1]) for i in range(len(stretches))]
    """),
    ("8.4", "stretch its own error", """
        def amplification(stretches, readout):
            found, product = [], readout
            for s in reversed(stretches):
                product *= s
                found.insert(0, product)
            return found
    """),
    ("8.5", "Right as long as", """
        def chain(C, m, A):
            root = (C / m) ** 0.5
            return root * (1 + np.log(A / root))
    """),
    ("8.5", "the integral is missing", """
        def chain(C, m, A):
            return A if C > m * A**2 else np.sqrt(C / m)
    """),
    ("8.5", "You stop at δ = 1/√m", """
        def chain(C, m, A):
            return m**-0.5 + np.sqrt(C / m) * (np.log(A) + np.log(m) / 2)
    """),
    ("8.6", "one after the other", """
        def examples(T, d, w, delta):
            from math import ceil, comb, log

            return ceil(4 * (w * log(comb(T, d)) + w * log(16) - log(delta)))
    """),
    ("8.6", "The weights are missing", """
        def examples(T, d, w, delta):
            from math import comb

            return int(np.ceil(4 * np.log(comb(comb(T, d), w) / delta)))
    """),
    ("8.6", "logarithms to base 2", """
        def examples(T, d, w, delta):
            from math import comb

            return int(np.ceil(4 * (np.log2(float(comb(comb(T, d), w))) + 4 * w - np.log2(delta))))
    """),
    ("9.1", "opposite changes cancel", """
        def loss(before, after):
            return sum((after.sum(0) / len(after) - before) ** 2) / len(before)
    """),
    ("9.1", "That is the variance", """
        def loss(before, after):
            change = after - before
            return np.mean((change - change.mean()) ** 2)
    """),
    ("9.1", "That is L/Var f", """
        def loss(before, after):
            spread = np.mean(before**2) - np.mean(before) ** 2
            return np.square(after - before).mean() / spread
    """),
    ("9.2", "Your shift has length ρ", """
        def shift(theta, g, rho):
            return rho * g / (g @ g) ** 0.5
    """),
    ("9.2", "Every weight moves by a share", """
        def shift(theta, g, rho):
            return [rho * t for t in theta]
    """),
    ("9.2", "Only the shift is asked for", """
        def shift(theta, g, rho):
            return theta + rho * np.sqrt(theta @ theta / (g @ g)) * g
    """),
    ("9.3", "A factor is missing", """
        def trace(gradients):
            return np.trace(gradients @ gradients.T) / len(gradients)
    """),
    ("9.3", "You average the gradients", """
        def trace(gradients):
            g = gradients.mean(0)
            return 2 * g @ g
    """),
    ("9.3", "The loss is a mean", """
        def trace(gradients):
            return 2 * np.trace(gradients.T @ gradients)
    """),
    ("9.4", "That is the trace at", """
        def flattest(front, back, rest):
            return sum((front, back, rest))
    """),
    ("9.4", "both count", """
        def flattest(front, back, rest):
            return rest + (front * back) ** 0.5
    """),
    ("9.4", "The part that does not change", """
        def flattest(front, back, rest):
            square = (front / back) ** 0.5
            return front / square + back * square
    """),
    ("9.5", "fits an exponential", """
        def exponent(n, rho):
            y = np.log(rho)
            return np.cov(n, y)[0, 1] / np.var(n, ddof=1)
    """),
    ("9.5", "Axes exchanged", """
        def exponent(n, rho):
            slope, _ = np.polyfit(np.log10(rho), np.log10(n), 1)
            return slope
    """),
    ("9.5", "You join the first point and the last", """
        def exponent(n, rho):
            x, y = np.log(n), np.log(rho)
            return (y[-1] - y[0]) / (x[-1] - x[0])
    """),
    ("9.6", "HR's choice", """
        def promise(mu, nu, alphas):
            return mu / (2 - mu) - 2 * (2 * nu) ** 0.5
    """),
    ("9.6", "The denominator", """
        def promise(mu, nu, alphas):
            return max(mu - mu / a - 2 * (a * nu) ** 0.5 for a in alphas)
    """),
    ("9.6", "what the shifted network keeps", """
        def promise(mu, nu, alphas):
            return max((a - 1) * mu / (a - mu) for a in alphas)
    """),
    ("11.1", "You left out t_0", """
        def states(table, bits):
            q, found = 0, []
            for b in bits:
                q = table[q][b]
                found.append(q)
            return found
    """),
    ("11.1", "as printed in HR", """
        def states(table, bits):
            t = [0, table[0, bits[0]]]
            for i in range(1, len(bits)):
                t.append(table[t[i], bits[i - 1]])
            return np.array(t)
    """),
    ("11.1", "always start from state 0 again", """
        def states(table, bits):
            return [0] + [table[0, bit] for bit in bits]
    """),
    ("11.2", "counts ones", """
        def multiples(k):
            return [[q, (q + 1) % k] for q in range(k)]
    """),
    ("11.2", "forgot to take remainders", """
        def multiples(k):
            return np.arange(2 * k).reshape(k, 2)
    """),
    ("11.2", "on its side", """
        def multiples(k):
            return np.arange(2 * k).reshape(k, 2).T % k
    """),
    ("11.3", "the largest number of bits", """
        def matters(table):
            most = 0
            for q in range(4):
                for x in range(2):
                    others = [table[q ^ 1, x], table[q ^ 2, x], table[q, 1 - x]]
                    most = max(most, sum(other != table[q, x] for other in others))
            return most
    """),
    ("11.3", "bits of the state only", """
        def matters(table):
            swapped = table[[1, 0, 3, 2]], table[[2, 3, 0, 1]]
            return sum((other != table).sum() for other in swapped) / 8
    """),
    ("11.3", "You add up over all states", """
        def matters(table):
            swapped = table[[1, 0, 3, 2]], table[[2, 3, 0, 1]], table[:, ::-1]
            return sum((other != table).sum() for other in swapped)
    """),
    ("11.4", "read different bits", """
        def differ(table, accepts, k):
            D = (accepts[:, None] != accepts).astype(float)
            for _ in range(k):
                D = sum(D[np.ix_(table[:, x], table[:, y])] for x in (0, 1) for y in (0, 1)) / 4
            return D
    """),
    ("11.4", "one bit short", """
        def differ(table, accepts, k):
            D = (accepts[:, None] != accepts).astype(float)
            for _ in range(1, k):
                D = D[np.ix_(table[:, 0], table[:, 0])] / 2 + D[np.ix_(table[:, 1], table[:, 1])] / 2
            return D
    """),
    ("11.4", "judged alike", """
        def differ(table, accepts, k):
            same = (accepts[:, None] == accepts) * 1.0
            for _ in range(k):
                same = np.mean([same[np.ix_(to, to)] for to in table.T], axis=0)
            return same
    """),
    ("11.5", "for a single step", """
        def examples(norm2, trace, T, C, error):
            return C**2 * trace * norm2 * (6 / error) ** 3
    """),
    ("11.5", "T times as many examples", """
        def examples(norm2, trace, T, C, error):
            return T * 216 * C**2 * trace * norm2 / error**3
    """),
    ("11.5", "factor 4 is missing", """
        def examples(norm2, trace, T, C, error):
            step = error / T
            return C**2 * trace * norm2 / (2 * step / 3) ** 3
    """),
    ("11.6", "the other sign", """
        def log_delta(norm2, trace, sigma, m, C):
            root = (0.25 - sigma**2 / 2 * trace) / C
            return (m * root**2 - norm2 / sigma**2) / 2
    """),
    ("11.6", "a 2 in front", """
        def log_delta(norm2, trace, sigma, m, C):
            root = (0.25 - sigma**2 / 2 * trace) / C
            return norm2 / sigma**2 - m * root**2
    """),
    ("11.6", "left the sharpness out", """
        def log_delta(norm2, trace, sigma, m, C):
            return norm2 / 2 / sigma**2 - m / 32 / C**2
    """),
    ("12.1", "not the step that was recorded there", """
        def learned(steps, errors, goal):
            for at, error in enumerate(errors):
                if error < goal:
                    return at
            return -1
    """),
    ("12.1", "never gets there", """
        def learned(steps, errors, goal):
            return steps[(errors < goal).argmax()]
    """),
    ("12.1", "stays below the goal", """
        def learned(steps, errors, goal):
            found = -1
            for step, error in zip(steps[::-1], errors[::-1]):
                if error >= goal:
                    return found
                found = step
            return found
    """),
    ("12.2", "normal distribution", """
        def slope(x, y):
            u, v = x - x.mean(), y - y.mean()
            b = u @ v / (u @ u)
            return b, 1.959963984540054 * np.sqrt(np.sum((v - b * u) ** 2) / (len(x) - 2) / (u @ u))
    """),
    ("12.2", "the standard error", """
        def slope(x, y):
            (b, _), covariance = np.polyfit(x, y, 1, cov=True)
            return b, covariance[0, 0] ** 0.5
    """),
    ("12.2", "whole width", """
        def slope(x, y):
            from scipy import stats
            fit, t = stats.linregress(x, y), stats.t(len(x) - 2)
            low, high = (fit.slope + t.ppf(p) * fit.stderr for p in (0.025, 0.975))
            return fit.slope, high - low
    """),
    ("12.3", "before you take the logarithm", """
        def log_blowup(std):
            return np.log(np.mean(1 / std.min(2).prod(0)))
    """),
    ("12.3", "worst position of its own", """
        def log_blowup(std):
            return np.mean([np.log(1 / one.prod(0)).max() for one in std.transpose(1, 0, 2)])
    """),
    ("12.3", "average over the norms", """
        def log_blowup(std):
            return -np.log(std.min(-1)).mean()
    """),
    ("12.4", "counts every input", """
        def shaken(reference, shifted):
            squares = ((shifted - reference) ** 2).ravel()
            return squares.mean(), squares.std(ddof=1) / len(squares) ** 0.5
    """),
    ("12.4", "how the directions scatter", """
        def shaken(reference, shifted):
            each = [np.mean((row - reference) ** 2) for row in shifted]
            return np.mean(each), np.std(each, ddof=1)
    """),
    ("12.4", "`ddof=1`", """
        def shaken(reference, shifted):
            each = np.array([np.mean((row - reference) ** 2) for row in shifted])
            return each.mean(), np.sqrt(each.var() / len(each))
    """),
    ("12.5", "all parities together", """
        def loudness(gradients, table):
            g = (table[:, None] * gradients).mean(0)
            return np.linalg.norm(g) / np.sqrt((gradients**2).sum() / len(gradients))
    """),
    ("12.5", "ratio of the squares", """
        def loudness(gradients, table):
            g = table @ gradients
            return g @ g / np.sum(gradients**2)
    """),
    ("12.5", "E is a mean", """
        def loudness(gradients, table):
            usual = np.linalg.norm(gradients) / len(table)
            return np.linalg.norm(table @ gradients) / usual
    """),
    ("12.6", "You add up the standard errors", """
        def welch(one, other):
            (a, s, N), (b, r, M) = one, other
            df = (s * s + r * r) ** 2 / (s**4 / (N - 2) + r**4 / (M - 2))
            return (a - b) / (s + r), df
    """),
    ("12.6", "those of means", """
        def welch(one, other):
            (a, s, N), (b, r, M) = one, other
            return (a - b) / np.hypot(s, r), (s * s + r * r) ** 2 / (s**4 / (N - 1) + r**4 / (M - 1))
    """),
    ("12.6", "You pool the degrees", """
        def welch(one, other):
            (a, s, N), (b, r, M) = one, other
            return (a - b) / np.hypot(s, r), N - 2 + M - 2
    """),
    ("10.1", "The factor 2 below is missing", """
        def divergence(theta, sigma):
            return sum((t / sigma) ** 2 for t in theta)
    """),
    ("10.1", "You divide by σ", """
        def divergence(theta, sigma):
            return np.linalg.norm(theta) ** 2 / sigma / 2
    """),
    ("10.1", "You average over the weights", """
        def divergence(theta, sigma):
            return np.dot(theta, theta) / len(theta) / 2 / sigma**2
    """),
    ("10.2", "what one of the two terms is", """
        def excess(kl, m, C, delta):
            eta = np.sqrt(2 * m * (kl - np.log(delta))) / C
            return eta * C**2 / (2 * m)
    """),
    ("10.2", "That is the best η", """
        def excess(kl, m, C, delta):
            return (2 * m * (kl + np.log(1 / delta)) / C**2) ** 0.5
    """),
    ("10.2", "The confidence is missing", """
        def excess(kl, m, C, delta):
            return np.sqrt(2 * C * C * kl / m)
    """),
    ("10.3", "You make the two terms equal", """
        def best_sigma(norm2, trace, m, C):
            a, b = trace / 2, C * np.sqrt(norm2 / m)
            return np.cbrt(b / a)
    """),
    ("10.3", "That is σ³", """
        def best_sigma(norm2, trace, m, C):
            return C * norm2**0.5 / m**0.5 / trace
    """),
    ("10.3", "You take the square root", """
        def best_sigma(norm2, trace, m, C):
            a, b = trace / 2, C * np.sqrt(norm2 / m)
            return np.sqrt(b / (2 * a))
    """),
    ("10.4", "The factor c is missing", """
        def variances(norms, traces, m, C):
            return [(n / h) ** 0.5 for n, h in zip(norms, traces)]
    """),
    ("10.4", "Those are standard deviations", """
        def variances(norms, traces, m, C):
            A = sum(np.sqrt(norms) * np.sqrt(traces))
            return (C**2 / (A * m)) ** (1 / 6) * (norms / traces) ** 0.25
    """),
    ("10.4", "All groups get the same variance", """
        def variances(norms, traces, m, C):
            sigma = (C * np.sqrt(sum(norms) / m) / sum(traces)) ** (1 / 3)
            return np.full(len(norms), sigma**2)
    """),
    ("10.5", "You look at losses above the mean", """
        def constant(losses, t):
            mean = losses.mean()
            return max(np.sqrt(2 * np.log(np.mean(np.exp(s * (losses - mean))))) / s for s in t)
    """),
    ("10.5", "That is the standard deviation", """
        def constant(losses, t):
            return np.sqrt(np.mean(losses**2) - np.mean(losses) ** 2)
    """),
    ("10.5", "That is C²", """
        def constant(losses, t):
            mean = losses.mean()
            return max(2 * np.log(np.mean(np.exp(s * (mean - losses)))) / s**2 for s in t)
    """),
    ("10.6", "You forgot the factor 3/2", """
        def examples(norm2, trace, C, target):
            return C * C * trace * norm2 * target**-3
    """),
    ("10.6", "The factor 3/2 is cubed", """
        def examples(norm2, trace, C, target):
            return 3 / 2 * C**2 * trace * norm2 / target**3
    """),
    ("10.6", "The target has to be cubed", """
        def examples(norm2, trace, C, target):
            return 27 / 8 * C**2 * trace * norm2 / target
    """),
]


@pytest.mark.parametrize(("id", "phrase", "cell"), [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in WRITTEN])
def test_a_wrong_answer_in_the_words_of_a_reader_is_recognised(id: str, phrase: str, cell: str):
    answer, _ = defined(textwrap.dedent(cell), find(id).name)
    for _ in range(5):
        feedback = check(id, answer)
        assert feedback.status == "wrong" and phrase in feedback.text


def test_every_exercise_has_three_wrong_answers_of_its_own_here():
    counts = Counter(id for id, _, _ in WRITTEN)
    assert [id for id in identifiers() if counts[id] < 3] == []


# ── The solutions against the library, which computes the same in other ways ─────────────────────────────
def by_library(id: str, arguments: tuple):
    if id == "1.1":
        table = cube.formula("x1 & x2 | ~x1 & x3")
        return dict(fourier.spectrum(table).top(8))
    if id == "1.2":
        return fourier.transform(arguments[0])[arguments[1]]
    if id == "1.3":
        return fourier.transform(arguments[0])
    if id == "1.4":
        table, bit = fourier.inverse(arguments[0]), 1 << (arguments[1] - 1)
        return np.mean((table - table[np.arange(len(table)) ^ bit]) ** 2) / 4
    if id == "1.5":
        coefficients, i, sign = arguments
        n = len(coefficients).bit_length() - 1
        return fourier.transform(fourier.inverse(coefficients)[cube.points(n)[:, i - 1] == sign])
    if id == "1.6":
        return dict(fourier.spectrum(cube.even_sum(list(arguments[0].items()), 5)).top(32))
    chapters = {"2": of_chapter_2, "3": of_chapter_3, "4": of_chapter_4, "5": of_chapter_5, "6": of_chapter_6}
    chapters["7"] = of_chapter_7
    chapters["8"] = of_chapter_8
    chapters["9"] = of_chapter_9
    chapters["11"] = of_chapter_11
    chapters["10"] = of_chapter_10
    chapters["12"] = of_chapter_12
    return chapters[id.partition(".")[0]](id, arguments)


def of_chapter_2(id: str, arguments: tuple):
    if id == "2.1":
        return sensitivity.influences(cube.formula("x1 & (x2 | x3)"))
    if id == "2.2":
        table, k = arguments
        return sensitivity.at_points(table)[k]
    if id == "2.3":
        (n,) = arguments
        return sensitivity.average(cube.majority(n)) if n < 18 else sensitivity.majority_average(n)
    if id == "2.4":
        profile, correlation = arguments
        n = len(profile) - 1  # a function with this profile: the weight of each degree shared out evenly
        coefficients = np.sqrt([profile[k] / comb(n, k) for k in cube.weights(n)])
        return (1 - sensitivity.noise_stability(fourier.inverse(coefficients), correlation)) / 2
    if id == "2.5":
        before, after, n = arguments
        samples = n * (before - after) ** 2 / 4
        return [samples.mean(), np.sqrt(np.sum((samples - samples.mean()) ** 2) / (len(samples) - 1) / len(samples))]
    n, samples, delta = arguments
    return n * sampling.proportion(0, samples, 1 - 2 * delta)[1]


def of_chapter_3(id: str, arguments: tuple):
    if id == "3.1":
        return fourier.transform(arguments[0])[-1]
    if id == "3.2":
        (d,) = arguments
        return queries.survival(d + 1, d)
    if id == "3.3":
        chance, error = arguments
        return next(m for m in range(1, 10**4) if (1 - chance) ** m <= error)
    if id == "3.4":
        coefficients, w = arguments
        return queries.tail_energy(coefficients)[w]
    if id == "3.5":
        coefficients, mask, k = arguments
        ends = fourier.inverse(coefficients).reshape(-1, 2**k)  # one row for each end z, one column for each beginning
        return np.mean(fourier.transform(ends)[:, mask % 2**k] ** 2)
    bits, points = arguments[0] < 0, np.arange(len(arguments[0]))
    odd = [monomial for monomial in points if bits[points & monomial == points].sum() % 2]
    return max(int(monomial).bit_count() for monomial in odd)


def of_chapter_4(id: str, arguments: tuple):
    if id == "4.1":
        X, W, V = map(torch.as_tensor, arguments)
        return blocks.Head(W, V)(X).detach().numpy()
    if id == "4.2":
        T, d = arguments
        leak = lambda beta: (T + 1 - d) / (d * np.exp(beta) + T + 1 - d) - 1 / (4 * d)  # noqa: E731
        return brentq(leak, -5, 20, xtol=1e-12)
    if id == "4.3":
        a, c, d = arguments
        return np.interp(a, c + np.array([-1 / 2, -1 / 4, 1 / 4, 1 / 2]) / d, [0, 1, 1, 0])
    if id == "4.4":
        subset, d, T, beta = arguments
        longest = tuple(j for j in range(1, T + 1) if j > T - d)  # so that d is the degree
        model = handmade.build({subset: 1.0, longest: 1.0}.items(), T, scale=beta)
        return handmade.matrices(model)["W1"][0, :-1].numpy()
    if id == "4.5":
        weights, T, tau = arguments
        model = handmade.build([((i + 1,), value) for i, value in enumerate(weights)], T, mode="soft", tau=tau)
        return handmade.matrices(model)["W2"][-2, :-1].numpy()
    E, b, F = arguments
    return handmade.best_rescaling(E @ E + b @ b, F @ F)


def of_chapter_5(id: str, arguments: tuple):
    if id == "5.1":
        x, centre, delta = arguments
        return lookup.bump(x - centre, delta)
    if id == "5.2":
        T, chosen, R = arguments
        return sparse_variables.Selector(T, chosen, scale=R).attention(np.zeros((1, T), int))[0, 0]
    if id == "5.3":
        T, s, error = arguments
        return brentq(lambda R: scales.worst_error(T, s, R) - error, -5, 20, xtol=1e-12)
    if id == "5.4":
        bits, chosen = arguments
        return sparse_variables.Selector(len(bits), chosen, "bag", "each", scale=40.0).signal(bits[None])[0]
    if id == "5.5":
        T, chosen, R = arguments
        return sparse_variables.Selector(T, chosen, scale=R).encoder().layers[0].heads[0].query_key.detach().numpy()
    return lookup.ramp(arguments[0].sum(axis=1) - arguments[0].shape[1], 1)


def hits(k: int, N: int) -> np.ndarray:
    """What the layer-norm network holds in ``hit`` at the places 0, …, N − 1 if k bits are 1."""
    seen = parity.layer_norm_network().activations((torch.arange(N - 1) < k)[None].long())
    return seen["layers.0.sum"][0, :, parity.CHANNELS.index("hit")].roll(1).detach().numpy()


def of_chapter_6(id: str, arguments: tuple):
    if id == "6.1":
        (bits,) = arguments
        seen = parity.majority_network(len(bits)).activations(torch.tensor(bits)[None])
        return seen["layers.0.output"][0, :-1, 0].detach().numpy()
    if id == "6.2":
        k, i, N = arguments
        return abs(hits(k, N)[i])
    if id == "6.3":
        phi, eps = arguments
        return brentq(lambda N: (1 + 81 * eps / 8 / (phi / N**2) ** 2) ** -0.5 - 0.5, 1, 1e5, xtol=1e-9)
    if id == "6.4":
        a, s, D = arguments

        def normed(delta: float) -> float:
            return float(blocks.Norm(0.0)(torch.tensor([a, delta * s] + [0.0] * (D - 2)))[0])

        return brentq(normed, 0, 100 * a * D, xtol=1e-16)
    if id == "6.5":
        T, w = arguments
        mean = lambda beta: np.exp(beta) / (2 * np.exp(beta) + 2 * T - 2)  # noqa: E731
        return brentq(lambda beta: mean(beta) - 0.5 + w, -5, 20, xtol=1e-12)
    last, T = arguments
    bits, written = np.random.default_rng(T).integers(0, 2, T), 0
    for bit in bits:
        written = int(bit == written)
    return (bits.sum() + (written != last)) % 2  # with another first bit, the other end


def of_chapter_7(id: str, arguments: tuple):
    if id == "7.1":
        variances, eps = arguments
        factors = {str(k): torch.from_numpy((row + eps) ** -0.5)[None] for k, row in enumerate(variances)}
        return float(blowup.Blowup(factors).value)
    if id == "7.2":
        zero, one, bits = arguments
        return blowup.row_influence(zero, one, bits)
    if id == "7.3":
        n, loud = arguments
        return blowup.row_influence(np.zeros(n), np.full(n, loud), np.zeros(n, int))
    if id == "7.4":
        y, z, eps = (torch.as_tensor(part) for part in arguments)
        norm = blocks.Norm(float(eps))
        return float((norm(y) - norm(z)).norm() / (y - z).norm())
    if id == "7.5":
        n, log_constant, heads = arguments
        one = torch.ones(1, dtype=torch.float64)
        parity_of_n = blowup.Local(n, heads, "corrected", log_constant, one, n * one, 0 * one, 0 * one)
        return float(parity_of_n.average[1]) - log_constant
    C, B = arguments
    return int(np.ceil(10 ** blowup.bites_from(np.log(C), np.log(B)) - 1e-6))


def of_chapter_8(id: str, arguments: tuple):
    if id == "8.1":
        values, chosen, eps = arguments
        return (covers.distances(values)[:, chosen].min(axis=1) <= eps).mean()
    if id == "8.2":
        w, inputs, eps = arguments
        found = covers.correct(w, inputs, eps)  # the same unless it has to project u back
        free, step = np.zeros(len(w)), eps / np.square(inputs).sum(axis=1).max()
        steps = 0
        while np.abs(inputs @ (w - free)).max() > eps:
            i = np.abs(inputs @ (w - free)).argmax()
            free, steps = free + step * np.sign(inputs[i] @ (w - free)) * inputs[i], steps + 1
        assert max(steps, len(found.steps)) <= covers.linear(np.linalg.norm(w), np.sqrt(eps / step), eps, 1) / np.log(3)
        return steps
    if id == "8.3":
        return covers.split(*arguments)[0]
    if id == "8.4":
        stretches, readout = arguments
        layers = tuple(capacity.Layer((capacity.Head(capacity.Norms.fixed(0), capacity.Norms(s, s, 1)),),
                                      capacity.Norms(1, 1, 1)) for s in stretches)
        reaches = capacity.cover(capacity.Network(layers, capacity.Norms(readout, readout, 1), 5)).reaches
        return [reaches[f"layer {i} output"] for i in range(1, len(stretches) + 1)]
    if id == "8.5":
        C, m, A = arguments
        return capacity.chaining(C, m=m, ceiling=A)
    T, d, w, delta = arguments
    return int(np.ceil(capacity.samples_needed(lambda m: capacity.occam(T, d, w, m=m, delta=delta)) - 1e-6))


class Rows(torch.nn.Module):
    """x ↦ x·θ, whose gradient at x is x."""

    def __init__(self, theta: np.ndarray) -> None:
        super().__init__()
        self.theta = torch.nn.Parameter(torch.as_tensor(theta))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.theta


def of_chapter_9(id: str, arguments: tuple):
    """The exercises of chapter 9 by other routes."""
    if id == "9.1":
        before, after = map(torch.as_tensor, arguments)
        return float(sharpness._squares(after, before).mean())
    if id == "9.2":
        theta, g, rho = arguments
        unit = torch.nn.functional.normalize(torch.as_tensor(g), dim=0).numpy()
        return rho * sharpness.parameter_norm(Rows(theta)) * unit
    if id == "9.3":
        return sharpness.hessian_trace(Rows(np.ones(arguments[0].shape[1])), torch.as_tensor(arguments[0])).value
    if id == "9.4":
        front, back, rest = arguments
        return minimize_scalar(lambda a: front / np.exp(a) + back * np.exp(a) + rest).fun
    if id == "9.5":
        return brittle.exponent(dict(zip(*arguments, strict=True)))[0]
    mu, nu, alphas = arguments
    return max(brittleness.lower_bound(50 * mu, 50 * nu, 50, alpha=alpha) for alpha in alphas)


def of_chapter_11(id: str, arguments: tuple):
    if id == "11.1":
        table, bits = arguments
        return scratchpad.Automaton(table, ()).run(bits)
    if id == "11.2":
        (k,) = arguments
        return [[int(f"{q:b}{digit}", 2) % k for digit in (0, 1)] for q in range(k)]
    if id == "11.3":
        return scratchpad.step_sensitivity(scratchpad.Automaton(arguments[0], ()))
    if id == "11.4":
        table, accepts, k = arguments
        strings = cube.to_bits(cube.points(k))
        ends = [scratchpad.Automaton(table, (), start=q).run(strings)[:, -1] for q in range(len(table))]
        return [[np.mean(accepts[one] != accepts[other]) for other in ends] for one in ends]
    if id == "11.5":
        norm2, trace, T, C, error = arguments
        price = scratchpad.Price({"all": norm2}, {"all": trace}, steps=T)
        best = lambda digits: scratchpad.error_bound(price, m=10**digits, C=C)  # noqa: E731
        terms = lambda digits: best(digits).terms["sharpness"] + best(digits).terms["norm"]  # noqa: E731
        return 10 ** brentq(lambda digits: terms(digits) - error, 1, 20, xtol=1e-13)
    norm2, trace, sigma, m, C = arguments
    return scratchpad.log_delta(scratchpad.Price({"all": norm2}, {"all": trace}), sigma=sigma, m=m, C=C)


def of_chapter_10(id: str, arguments: tuple):
    if id == "10.1":
        theta, sigma = arguments
        return catoni.divergence(float(theta @ theta), sigma)
    if id == "10.2":
        kl, m, C, delta = arguments
        return catoni.alquier(kl, m=m, C=C, delta=delta)
    if id == "10.3":
        norm2, trace, m, C = arguments
        return pacbayes.best_sigma(norm2, trace, m=m, C=C)
    if id == "10.4":
        norms, traces = (dict(enumerate(part.tolist())) for part in arguments[:2])
        return np.square(list(pacbayes.group_sigmas(norms, traces, m=arguments[2], C=arguments[3]).values()))
    if id == "10.5":
        losses, t = arguments  # the least C for which the inequality holds at every t, by bisection
        logs = np.log(np.exp(np.outer(t, losses.mean() - losses)).mean(axis=1))
        low, high = 0.0, 1e3
        while high - low > 1e-12:
            middle = (low + high) / 2
            low, high = (low, middle) if (logs <= t**2 * middle**2 / 2).all() else (middle, high)
        return high
    norm2, trace, C, target = arguments
    low, high = 0.0, 40.0
    while high - low > 1e-13:
        middle = (low + high) / 2
        bound = pacbayes.truncated(norm2, trace, m=10**middle, C=C, delta=0.05)
        low, high = (low, middle) if bound.value - bound.terms["confidence"] <= target else (middle, high)
    return 10**high


def of_chapter_12(id: str, arguments: tuple):
    if id == "12.1":
        steps, errors, goal = arguments
        return next((step for step, error in zip(steps, errors, strict=True) if error < goal), -1)
    if id == "12.2":
        found = trends.line(*arguments)
        return found["slope"], (found["high"] - found["low"]) / 2
    if id == "12.3":
        factors = {str(k): torch.from_numpy(1 / norm) for k, norm in enumerate(arguments[0])}
        return float(blowup.Blowup(factors).log_product.mean())
    if id == "12.4":
        before, after = map(torch.as_tensor, arguments)
        each = sharpness._squares(after, before).mean(-1)
        return float(each.mean()), float(each.var() / len(each)) ** 0.5
    if id == "12.5":
        gradients, table = arguments
        parities = np.array([fourier.transform(column) for column in gradients.T])  # g_S for all S
        norm = np.linalg.norm(parities @ fourier.transform(table))
        return norm / np.sqrt(np.square(parities).sum(axis=0).mean())
    one, other = ({"slope": slope, "error": error} for slope, error, _ in arguments)
    found = trends.gap(one, other, tuple(points - 2 for *_, points in arguments))
    error = np.hypot(one["error"], other["error"])
    width = (found["high"] - found["low"]) / 2 / error
    return found["gap"] / error, brentq(lambda df: stats.t.ppf(0.975, df) - width, 1, 100, xtol=1e-12)


@EVERY
def test_the_solution_agrees_with_the_library(id: str):
    task, rng = find(id), np.random.default_rng(7)
    for arguments in [trial for _ in range(5) for trial in task.instances(rng)]:
        assert exercises.same(task.solution(*arguments), by_library(id, arguments))


# ── The chapters and the engine say the same ─────────────────────────────────────────────────────────────────────
def notebooks_of(id: str) -> list[Path]:
    return list(CHAPTERS.glob(f"{int(id.partition('.')[0]):02d}-*.ipynb"))


def notebook_of(id: str) -> nbformat.NotebookNode:
    (path,) = notebooks_of(id)
    return nbformat.read(path, as_version=4)


# The exercises of a chapter may be ready before its text is.
PRINTED = pytest.mark.parametrize("id", [id for id in identifiers() if notebooks_of(id)])


@PRINTED
def test_the_chapter_has_the_exercise_its_stub_and_its_solution_in_this_order(id: str):
    sources = [cell.source for cell in notebook_of(id).cells]
    (statement,) = [k for k, text in enumerate(sources) if f"{{exercise}} {find(id).heading}" in text]
    (cell,) = [k for k, text in enumerate(sources) if text == stub(id)]
    (folded,) = [k for k, text in enumerate(sources) if text == f'solution("{id}")']
    assert statement < cell < folded


@PRINTED
def test_the_stored_answer_is_not_answered_yet(id: str):
    (cell,) = [cell for cell in notebook_of(id).cells if cell.source == stub(id)]
    assert [output.data["text/plain"][:17] for output in cell.outputs] == ["Not answered yet."]
