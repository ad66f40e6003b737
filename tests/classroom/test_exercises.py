"""The engine of the exercises: what it says to answers of all kinds. Rooms test their exercises themselves."""

import re
from fractions import Fraction

import numpy as np
import pytest

from flatcube import fourier
from flatcube.classroom import exercises
from flatcube.classroom.exercises import Exercise, answers, challenges, check, exercise, find, identifiers, solution
from flatcube.classroom.mime import TRIANGLE

PLAIN = {"minutes": 5, "difficulty": 1, "hints": ("One.", "Two."), "why": "So."}


def _tables(rng: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    return [rng.normal(size=2**n).round(2) + 0.0 for n in sizes]


@exercise("97.1", "A value", **PLAIN)
def selector() -> dict:
    """{subset: coefficient}"""
    return {(2,): 1 / 2, (3,): 1 / 2, (1, 2): -1 / 2, (1, 3): 1 / 2}


@exercise("97.2", "A number", instances=lambda rng: [(t, 3) for t in _tables(rng, 2, 3)], **PLAIN)
def coefficient(table: np.ndarray, mask: int) -> float:
    """One coefficient."""
    return fourier.transform(table)[mask]


coefficient.mistake("Not divided.", lambda table, mask: len(table) * fourier.transform(table)[mask])


@exercise("97.3", "A table", instances=lambda rng: [(t,) for t in _tables(rng, 1, 2, 3, 6)], **PLAIN)
def fast_transform(table: np.ndarray) -> np.ndarray:
    """All coefficients."""
    return fourier.transform(table)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch):
    """Beside the book's exercises there are these, as if of a chapter 97."""
    load, mine = exercises._load, [task for task in globals().values() if isinstance(task, Exercise)]
    monkeypatch.setattr(exercises, "_load", lambda chapter: mine if chapter == "97" else load(chapter))


def test_the_numbers_of_the_right_answer_are_not_given_away(monkeypatch: pytest.MonkeyPatch):
    table = np.array([0.11, 0.22, 0.43, 0.84])
    task = find("97.2")
    monkeypatch.setattr(task, "instances", lambda rng: [(table, 3)])
    said = str(check("97.2", lambda table, mask: 7.5))
    assert "7.5" in said
    assert f"{task.solution(table, 3):.2g}" not in said


def test_an_error_in_the_answer_is_one_sentence_with_its_line():
    def broken(table, mask):
        return table[10**6]

    feedback = check("97.2", broken)
    assert (feedback.status, feedback.hint) == ("unfit", None)
    assert "`coefficient` stopped with IndexError in line" in feedback.text
    assert "`return table[10**6]`" in feedback.text and "Traceback" not in feedback.text


def test_an_answer_that_leaves_python_is_caught():
    assert "SystemExit" in check("97.2", lambda table, mask: exit()).text


def test_a_forgotten_return_is_named():
    def forgetful(table, mask):
        np.mean(table)

    assert "does it end with `return`?" in check("97.2", forgetful).text


def test_an_answer_that_spoils_its_arguments_hurts_only_itself():
    def spoiler(table, mask):
        table[:] = 0
        return 0.0

    assert check("97.2", spoiler).status == "wrong"


def test_an_unknown_mistake_is_told_what_it_gave():
    feedback = check("97.3", lambda table: np.asarray(table) + 1)
    assert "Right in 0 of 4 fresh trials; for table = [" in feedback.text
    assert "]: 2 of 2 entries are wrong, the first at index 0, where you give" in feedback.text
    assert "shape (1,) where (2,) should come" in check("97.3", lambda table: [0]).text


def test_a_wrong_entry_of_a_matrix_is_named_by_both_indices_and_a_small_table_is_shown():
    def nearly(table, accepts, k):
        found = find("11.4").solution(table, accepts, k)
        found[0, 1] += 0.25
        return found

    said = check("11.4", nearly).text
    assert "for table = [[0, 1], [2, 0], [1, 2]]" in said and "1 of 9 entries is wrong, that at index [0, 1]" in said


def test_entries_are_counted_as_the_text_counts_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(find("97.3"), "entry", "bit")
    right = find("97.3").solution
    said = check("97.3", lambda table: right(table) + (np.arange(len(table)) == 1)).text
    assert "1 of 2 entries is wrong, that for bit 2, where you give" in said
    assert "3 entries are wrong, the first for bit 1, where you give 9." in check("2.1", [9, 9, 9]).text


def test_an_answer_that_is_sometimes_right_hears_how_often():
    right = find("97.3").solution
    assert "Right in 1 of 4 fresh trials" in check("97.3", lambda table: right(table) + (len(table) > 2)).text


def test_a_truth_value_is_told_as_one():
    assert ": you give True, which is wrong." in check("97.2", lambda table, mask: True).text
    assert ": you give 1, which is wrong." in check("97.2", lambda table, mask: 1).text


def test_a_look_at_how_an_answer_works_comes_after_known_mistakes(monkeypatch: pytest.MonkeyPatch):
    """It meets right values and unknown mistakes; what is of another kind stays a matter of form."""
    task = find("97.2")
    monkeypatch.setattr(task, "look", lambda answer, rng: "Lucky." if answer(np.ones(4), 0) != 1 else None)
    assert check("97.2", task.solution).status == "right"
    lucky = lambda table, mask: task.solution(table, mask) if mask else 2.0  # noqa: E731
    assert (check("97.2", lucky).status, check("97.2", lucky).text) == ("wrong", "Lucky.")
    assert check("97.2", lambda table, mask: 5.0).text == "Lucky."
    assert check("97.2", lambda table, mask: 1.0).text.startswith("Right in 0 of 2")
    assert check("97.2", task.mistakes[0][1]).text == "Not divided."
    assert check("97.2", lambda table, mask: "text").status == "unfit"


@pytest.mark.parametrize("spectrum", [
    {(2,): Fraction(1, 2), (3,): 0.5, (2, 1): -0.5, (1, 3): 0.5},
    {frozenset({2}): 0.5, (3,): 0.5, (1, 2): -0.5, (1, 3): 0.5, (): 0},
])
def test_other_ways_to_write_a_spectrum_are_right(spectrum: dict):
    assert check("97.1", spectrum).status == "right"


def test_a_spectrum_with_names_for_subsets_is_told_how_to_write_them():
    for answer in ({"x2": 0.5, "x3": 0.5}, {(2): 0.5, (3): 0.5}):  # (2) is the number 2
        assert "not made of subsets, such as (2,) or (1, 3), and numbers" in check("97.1", answer).text


@pytest.mark.parametrize("id", ["1.99", "77.1", "", "one"])
def test_an_unknown_id_gets_one_sentence_with_the_ids(id):
    feedback = check(id, 0)
    assert feedback.status == "unknown"
    known = [*identifiers(), *challenges()]
    if id == "1.99":
        known = [other for other in known if other.startswith("1.")]  # those of its chapter
    assert feedback.text == f"There is no exercise {id!r}; there are {', '.join(known)}."


@pytest.mark.parametrize("id", [1.10, 77, None])  # 1.10 is 1.1, another exercise
def test_an_id_is_a_text(id):
    feedback = check(id, 0)
    assert feedback.status == "unknown"
    assert feedback.text == f'The id of an exercise is a text, such as "1.3"; this is {id!r}.'


def test_instances_are_fresh_for_readers_and_repeated_by_the_press(monkeypatch: pytest.MonkeyPatch):
    def said() -> list[str]:
        exercises._calls.clear()
        return [check("97.3", lambda table: np.asarray(table) + 1).text for _ in range(2)]

    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    assert said() != said()
    monkeypatch.setenv("FLATCUBE_PRESS", "1")
    first = said()
    assert first == said() and first[0] != first[1]


def test_feedback_has_a_page_form_and_a_plain_form():
    def broken(table, mask):
        raise ValueError("a < b <script>")

    forms = check("97.2", broken)._repr_mimebundle_()
    assert "a &lt; b &lt;script&gt;" in forms["text/html"] and "a < b <script>" in forms["text/plain"]
    assert 'data-status="unfit"' in forms["text/html"] and "Hint" not in forms["text/html"]
    assert forms["text/plain"].startswith("Before the mathematics: `coefficient` stopped with ValueError")
    forms = check("97.2", lambda table, mask: 7.5)._repr_mimebundle_()
    assert set(forms) == {"text/html", "text/plain"}
    assert 'data-status="wrong"' in forms["text/html"] and 'role="status"' in forms["text/html"]
    assert "<strong>Not yet.</strong>" in forms["text/html"] and "<em>Hint:</em>" in forms["text/html"]
    assert forms["text/plain"].startswith("Not yet.")


def test_solutions_are_folded():
    forms = solution("97.3")._repr_mimebundle_()
    handle = f'<summary class="[^"]*" {TRIANGLE}>Solution of 97.3</summary>'
    assert re.match(f'<details class="[^"]*">{handle}', forms["text/html"])
    assert forms["text/html"].rstrip().endswith("</details>")


# ------------------------------------------------------------------------------------------------ what costs a hint


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("coefficient", 'Give the function itself, without quotes: `check("97.2", coefficient)`.'),
        (0.5, 'Give the function itself, without calling it: `check("97.2", coefficient)`.'),
        (lambda table: 0.5, "Your function takes 1 argument, but it is called with 2 arguments: table, mask."),
        (lambda table, mask: unknown, "stopped with NameError"),  # noqa: F821
        (lambda table, mask: table + "x", "stopped with "),
        (lambda table, mask: "0.5", "what you give is not made of numbers."),
        (lambda table, mask: table, "you give an array of shape (4,) where () should come."),
        (lambda table, mask: {(): 0.5}, "you give a value of type dict where one number or an array should come."),
    ],
)
def test_what_is_no_mathematics_costs_no_hint(answer, sentence):
    exercises._wrong.clear()
    task = find("97.2")
    for _ in range(3):
        feedback = check("97.2", answer)
        assert (feedback.status, feedback.hint) == ("unfit", None)
        assert sentence in feedback.text
    assert check("97.2", task.mistakes[0][1]).hint == task.hints[0]  # the first wrong answer


def test_a_function_with_the_name_of_another_exercise_is_named():
    def fast_transform(table, mask):
        return 0.5

    said = "This is `fast_transform`, the answer to 97.3; here `coefficient` is asked for."
    assert check("97.2", fast_transform).text == said


@pytest.mark.parametrize(("wanted", "given", "close"), [(20_000, 20_001, False), (0.5, 0.50001, True), (0.5, 0.6, 0)])
def test_only_numbers_that_are_not_whole_are_close_but_not_exact_enough(wanted: float, given: float, close: bool):
    assert ("not exact enough" in answers._error(given, wanted, answers.EXACT)) == close
