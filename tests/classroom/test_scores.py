"""Open exercises: how an answer is measured beside the library's own and a baseline, and in which words."""

from dataclasses import replace

import numpy as np
import pytest

from flatcube.classroom import exercises
from flatcube.classroom.exercises import Measure, check, exercise, score, scored
from flatcube.classroom.exercises.scores import Scoreboard


class Oracle:
    """A number to find, which counts how often it is asked whether it is at least something."""

    def __init__(self, secret: int) -> None:
        self.secret, self.asked = secret, 0

    def least(self, k: int) -> bool:
        self.asked += 1
        return self.secret >= k


def _zero(oracle: Oracle, size: int) -> int:
    return 0


@scored(
    "98.1", "Find it", minutes=20, difficulty=3, why="Halving.", baseline=_zero,
    instances=lambda rng: [(Oracle(int(rng.integers(size))), size) for size in (128, 128, 256, 256)],
    measures={
        "hits": Measure(lambda got, oracle, size: got == oracle.secret, more=True, unit=" %", scale=100),
        "questions": Measure(lambda got, oracle, size: oracle.asked),
    },
)  # fmt: skip
def search(oracle: Oracle, size: int) -> int:
    """The secret of the oracle, from 0 to size − 1."""
    low = 0
    while size > 1:
        half = size // 2
        low += half if oracle.least(low + half) else 0
        size -= half
    return low


@scored(
    "98.2", "A constant", minutes=5, difficulty=1, why="Means.", baseline=lambda: 0.0,
    instances=lambda rng: [(1.8,), (1.9,), (2.1,), (2.2,)], measures={"error": Measure(lambda c, x: (c - x) ** 2)},
    fits=lambda c: None if isinstance(c, (int, float)) else f"expected a number, got {type(c).__name__}",
)  # fmt: skip
def constant() -> float:
    """one number that is near all"""
    return 2.0


@exercise("98.3", "Closed", minutes=1, difficulty=1, hints=("A.", "B."), why="So.")
def closed() -> float:
    """one"""
    return 1.0


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch):
    """The only exercises there are."""
    known = {task.id: task for task in (search, constant, closed)}
    monkeypatch.setattr(exercises, "find", known.__getitem__)


def patient(oracle, size):
    return max(k for k in range(size) if oracle.least(k))


def lucky(oracle, size):
    return oracle.secret


def test_the_board_shows_three_answers_on_the_same_instances():
    board = score("98.1", patient, seed=5)
    assert isinstance(board, Scoreboard)
    assert board.rows["questions"].tolist() == [[128, 128, 256, 256], [7, 7, 8, 8], [0] * 4]
    assert board.rows["hits"][:2].tolist() == [[1] * 4, [1] * 4]
    words = repr(board)
    assert "yours 192  the library's 7.5  the baseline 0  better than the library on 0 of 4, worse on 4" in words
    assert "(Means over 4 fresh instances; seed=5 repeats them.)" in words
    page = board._repr_mimebundle_()["text/html"]
    assert page.count("<tr>") == 3 and 'scope="row"' in page and ">100 %<" in page
    assert page.count("width: 5.00em") == 3  # the longest bars: both that hit everything, and the one that asks most


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (lucky, "Better than the library. Run it again on other instances; if it holds, you have found something."),
        (search.solution, "As good as the library."),
        (patient, "Not yet clearly better than the baseline in questions."),
        (lambda oracle, size: -1, "Better than the library in questions, worse in hits: another trade."),
    ],
)
def test_the_verdict_is_sober(answer, verdict):
    assert score("98.1", answer).verdict == verdict


def test_between_baseline_and_library():
    assert score("98.2", 1.0).verdict == "Better than the baseline, not yet as good as the library in error."
    assert score("98.2", 2.0).verdict == "As good as the library."


def board(mine: list[float], ours: list[float], **other: list[list[float]]) -> Scoreboard:
    """A board of `search` with these hits, and with no questions unless they are given."""
    rows = {"hits": np.array([mine, ours, np.zeros(len(mine))])}
    return Scoreboard(search, 0, rows | {name: np.array(values) for name, values in other.items()})


def test_rounding_is_no_victory():
    ours = np.linspace(0.1, 0.9, 10)
    tied = board(ours + np.tile([1e-15, -1e-15], 5), ours)
    assert tied.better("hits") == 0 and tied.verdict == "As good as the library."
    assert "better than the library on 0 of 10, worse on 0" in repr(tied)


@pytest.mark.parametrize(
    ("won", "lost", "better"), [(2, 0, 0), (5, 0, 0), (7, 0, 1), (0, 7, -1), (9, 5, 0), (20, 5, 1)]
)
def test_what_chance_explains_is_a_draw(won: int, lost: int, better: int):
    """Forty verdicts, right or wrong: two more than the library has, or five, are no evidence."""
    mine = [1] * won + [0] * lost + [1] * (40 - won - lost)
    ours = [0] * won + [1] * lost + [1] * (40 - won - lost)
    seen = board(mine, ours)
    assert seen.better("hits") == better
    if not better:
        assert seen.verdict == "As good as the library: what differs is a hair, or chance."


def test_fewer_questions_for_perhaps_fewer_hits_are_not_praised():
    asked = [[5.0] * 40, [9.0] * 40, [0.0] * 40]
    assert board([0] * 4 + [1] * 36, [1] * 40, questions=asked).verdict == (
        "Better than the library in questions, but a little worse in hits, which may be chance. "
        "Run it again on other instances."
    )
    assert board([1] * 40, [1] * 40, questions=asked).verdict.startswith("Better than the library. Run it again")


def test_a_hair_is_no_victory():
    asked = [[996.0] * 40, [1000.0] * 40, [0.0] * 40]
    seen = board([1] * 40, [1] * 40, questions=asked)
    assert seen.better("questions") == 0
    assert seen.verdict == "As good as the library: what differs is a hair, or chance."


def test_guessing_is_no_trade(monkeypatch: pytest.MonkeyPatch):
    asked, half = [[0.0] * 40, [9.0] * 40, [0.0] * 40], [0, 1] * 20
    assert board(half, [1] * 40, questions=asked).verdict.endswith("another trade.")
    monkeypatch.setitem(search.measures, "hits", replace(search.measures["hits"], guess=0.5))
    assert board(half, [1] * 40, questions=asked).verdict == (
        "Not clearly better than guessing in hits: what it saves elsewhere is worth nothing."
    )
    assert board([0] * 8 + [1] * 32, [1] * 40, questions=asked).verdict.endswith("another trade.")


def test_instances_are_fresh_unless_a_seed_repeats_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    assert len({score("98.1", patient).seed for _ in range(4)}) > 1
    guess = [score("98.1", lambda oracle, size: 7, seed=seed).rows["hits"].tolist() for seed in (1, 1, 2)]
    assert guess[0] == guess[1]
    monkeypatch.setenv("FLATCUBE_PRESS", "1")
    seeds = []
    for _ in range(2):
        exercises._calls.clear()
        seeds.append(score("98.1", patient).seed)
    assert seeds[0] == seeds[1]


@pytest.mark.parametrize(
    ("id", "answer", "words"),
    [
        ("98.1", "search", 'Give the function itself, without quotes: `score("98.1", search)`.'),
        ("98.1", 3, 'Give the function itself, without calling it: `score("98.1", search)`.'),
        ("98.1", lambda oracle: 1, "Your function takes 1 argument, but it is called with 2 arguments: oracle, size."),
        ("98.1", lambda oracle, size: "7", "`search`: what you give is not made of numbers."),
        ("98.1", lambda oracle, size: [1, 2], "`search`: you give an array of shape (2,) where () should come."),
        ("98.1", lambda oracle, size: oracle.secrets, "`search` stopped with AttributeError"),
        ("98.2", "two", "`constant`: expected a number, got str."),
        ("98.2", float("nan"), "The error of `constant` is not finite: are there infinities or NaNs in what it gives?"),
        ("98.3", 1.0, '98.3 has a right answer: `check("98.3", closed)` says whether yours is.'),
    ],
)
def test_what_cannot_be_measured_gets_one_sentence(id, answer, words):
    feedback = score(id, answer)
    assert feedback.status == "unfit" and words in feedback.text and "\n" not in feedback.text


def test_an_open_exercise_is_not_checked_but_scored():
    feedback = check("98.1", patient)
    assert feedback.status == "unfit" and feedback.hint is None
    assert feedback.text.endswith("`score(\"98.1\", search)` compares yours with the library's.")


def test_the_stub_is_unanswered_and_ends_with_the_score():
    assert search.stub().endswith('    ...\n\nscore("98.1", search)')
    scope = {}
    exec(search.stub().rpartition("\n")[0].replace("Oracle", "object"), scope)
    assert score("98.1", scope["search"]).status == score("98.1", ...).status == "open"
    assert exercises.solution("98.1").title == "The library's answer to 98.1"
