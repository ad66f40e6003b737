"""What every chapter's exercises are tested for: a room derives a class from `ExerciseTests`.

The solution of an exercise passes, its stub is unanswered, typical mistakes get the sentence that fits them, the
library agrees with the solution by other ways, and the chapter has what the engine has.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import Any

import nbformat
import numpy as np
import pytest

from flatcube.classroom import exercises
from flatcube.classroom.exercises import check, find, score, solution, stub
from flatcube.press import notebook
from tests import rooms
from tests.classroom import hints

__all__ = ["ExerciseTests"]


def given(task: exercises.Exercise, function: Callable) -> Any:
    """What the reader hands in: the function, or for a value what it returns."""
    return function() if task.is_value else function


def defined(text: str, name: str) -> tuple[Any, list]:
    """The object `name` after running a cell with `text`, and what the check in it said."""
    said = []
    scope = {"np": np, "check": lambda *arguments: said.append(check(*arguments))}
    exec(text, scope)
    return scope[name], said


class ExerciseTests:
    """The tests of the exercises of one room's chapter."""

    room: str
    # Wrong answers as readers write them, in code of their own: exercise, a phrase of the diagnosis, the cell.
    written: list[tuple[str, str, str]]
    # For each exercise a function of its arguments that computes the answer in another way.
    library: dict[str, Callable]
    # Exercises whose number may be negative: an answer that forgets the sign must never pass.
    signed: tuple[str, ...] = ()

    @pytest.fixture(autouse=True)
    def the_same_instances_in_every_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A reader gets fresh instances with every check; a test that fails must fail again."""
        monkeypatch.setenv("FLATCUBE_PRESS", "1")
        monkeypatch.setattr(exercises, "_calls", Counter())

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        ids = rooms.identifiers(self.room)
        if "cell" in metafunc.fixturenames:
            rows = [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in self.written]
            metafunc.parametrize(("id", "phrase", "cell"), rows)
        elif "k" in metafunc.fixturenames:
            rows = [pytest.param(id, k, id=f"{id}-{k}") for id in ids for k in range(len(find(id).mistakes))]
            metafunc.parametrize(("id", "k"), rows)
        elif "id" in metafunc.fixturenames:
            metafunc.parametrize("id", ids)

    def cells(self) -> list[nbformat.NotebookNode]:
        """The cells of the readers' notebook."""
        return notebook.read(rooms.stored(self.room)).cells

    def place(self, what: Callable[[str], bool], words: str) -> int:
        """Where the one cell stands that has what is asked for."""
        found = [k for k, cell in enumerate(self.cells()) if what(cell.source)]
        assert len(found) == 1, f"chapter of {self.room}: expected one cell with {words}, got {len(found)}"
        return found[0]

    def statement(self, id: str) -> int:
        """Where an exercise is told, as `:::{exercise}` in the text of the chapter."""
        heading = f"### Exercise {id} · {find(id).heading}"
        return self.place(lambda source: f"{heading}\n" in source, heading)

    def empty(self, id: str) -> int:
        """Where its answer goes."""
        return self.place(lambda source: source == stub(id), f"the stub of {id}:\n\n{stub(id)}")

    def test_the_solution_passes_on_many_instances(self, id: str):
        task = find(id)
        for _ in range(20):
            assert check(id, given(task, task.solution)).status == "right"
        assert str(check(id, given(task, task.solution))) == f"Right. {task.why}"

    def test_the_folded_solution_runs_and_passes(self, id: str):
        answer, _ = defined(solution(id).code, find(id).name)
        assert check(id, answer).status == "right"

    def test_the_stub_is_not_answered(self, id: str):
        _, said = defined(stub(id), find(id).name)
        assert [feedback.status for feedback in said] == ["open"]
        assert str(said[0]).startswith("Not answered yet.")

    def test_the_stub_does_not_contain_the_solution(self, id: str):
        code = [line.strip() for line in solution(id).code.splitlines()]
        assert code[-1] not in stub(id)
        assert stub(id).count("...") == 1

    def test_there_are_enough_distinct_diagnoses_and_two_hints(self, id: str):
        task = find(id)
        assert len({diagnosis for diagnosis, _ in task.mistakes}) == len(task.mistakes) >= 3
        assert len(set(task.hints)) == 2
        assert 1 <= task.difficulty <= 3

    def test_a_typical_mistake_gets_its_own_sentence(self, id: str, k: int):
        task = find(id)
        diagnosis, mistake = task.mistakes[k]
        for _ in range(20):
            feedback = check(id, given(task, mistake))
            assert (feedback.status, feedback.text) == ("wrong", diagnosis)

    def test_an_answer_that_forgets_the_sign_is_never_right(self):
        for id in self.signed:
            task = find(id)
            said = {check(id, lambda *given, task=task: abs(task.solution(*given))).status for _ in range(100)}
            assert said == {"wrong"}, id

    def test_hints_come_in_two_levels_and_start_again_after_success(self, id: str):
        exercises._wrong.clear()
        task = find(id)
        wrong = given(task, task.mistakes[0][1])
        assert [check(id, wrong).hint for _ in range(3)] == [task.hints[0], task.hints[1], task.hints[1]]
        check(id, given(task, task.solution))
        assert check(id, wrong).hint == task.hints[0]

    def test_no_feedback_contains_the_answer(self, id: str):
        task = find(id)
        secret = re.sub(r"^return |^\w+ = ", "", solution(id).code.splitlines()[-1].strip())
        wrong = [given(task, mistake) for _, mistake in task.mistakes]
        texts = [str(check(id, answer)) for answer in [*wrong, *wrong, lambda *arguments: 12345, 12345]]
        if task.is_value:
            texts += [str(check(id, {}))]
        for text in texts:
            assert secret not in text and str(solution(id).code) not in text

    def test_an_answer_of_the_wrong_type_gets_a_sentence_and_costs_no_hint(self, id: str):
        task = find(id)
        exercises._wrong.clear()
        values = ["text", 3, [1, 2], np.zeros(3), object(), {1: 2}]
        for odd in [*values, lambda *_: "text", lambda *_: [[1], [2, 3]], lambda *_: 1j]:
            if task.is_value and exercises.same(odd, odd) and np.shape(odd) == np.shape(task.solution()):
                continue  # numbers of the right shape: a wrong answer like any other
            feedback = check(id, odd)
            assert (feedback.status, feedback.hint) == ("unfit", None), odd
            assert feedback.text.endswith((".", "?")) and "\n" not in feedback.text
        if not task.is_value:
            assert "without calling it" in check(id, 3).text
            assert "without quotes" in check(id, task.name).text
            assert "is called with" in check(id, lambda a, b, c, d, e, f, g, h, i: 0).text
        assert exercises._wrong[id] == 0

    def test_no_hint_gives_a_part_of_the_solution_away(self):
        assert [id for id in rooms.identifiers(self.room) if hints.given_away(find(id))] == []

    def test_the_solution_keeps_to_the_cost_that_the_exercise_states(self, id: str):
        if cost := find(id).cost:
            trial = cost.instance(np.random.default_rng(3))
            assert 0 < exercises.operations(find(id).solution, trial) <= cost.enough(*trial)

    def test_nothing_and_an_ellipsis_are_not_answers(self, id: str):
        for nothing in [None, ..., {(): ...}]:
            assert check(id, nothing).status == "open"

    def test_a_wrong_answer_in_the_words_of_a_reader_is_recognised(self, id: str, phrase: str, cell: str):
        answer, _ = defined(textwrap.dedent(cell), find(id).name)
        for _ in range(5):
            feedback = check(id, answer)
            assert feedback.status == "wrong" and phrase in feedback.text

    def test_every_exercise_has_three_wrong_answers_and_a_way_through_the_library(self):
        ids, counts = rooms.identifiers(self.room), Counter(id for id, _, _ in self.written)
        assert [id for id in ids if counts[id] < 3] == []
        assert sorted(self.library) == sorted(counts) == sorted(ids)

    def test_the_solution_agrees_with_the_library(self, id: str):
        task, rng = find(id), np.random.default_rng(7)
        for arguments in [trial for _ in range(5) for trial in task.instances(rng)]:
            assert exercises.same(task.solution(*arguments), self.library[id](*arguments))

    def test_the_library_s_answer_to_an_open_exercise_is_better_than_the_baseline(self):
        for task in map(find, rooms.challenges(self.room)):
            board = score(task.id, given(task, task.solution), seed=11)
            assert board.verdict == "As good as the library."
            first, measure = next(iter(task.measures.items()))  # which decides
            _, ours, baseline = board.rows[first].mean(axis=1)
            assert ours > baseline if measure.more else ours < baseline
            assert repr(board) == repr(score(task.id, given(task, task.solution), seed=11))

    def test_the_chapter_has_its_open_exercises_with_their_stubs(self):
        for id in rooms.challenges(self.room):
            assert self.statement(id) < self.empty(id)
            assert self.cells()[self.empty(id)].outputs[0].data["text/plain"].startswith("Not answered yet.")

    def test_the_chapter_has_the_exercise_its_stub_and_its_solution_in_this_order(self, id: str):
        folded = f'solution("{id}")'
        assert self.statement(id) < self.empty(id) < self.place(lambda source: source == folded, folded)

    def test_the_stored_answer_is_not_answered_yet(self, id: str):
        cell = self.cells()[self.empty(id)]
        assert [output.data["text/plain"][:17] for output in cell.outputs] == ["Not answered yet."]
