"""Proofs in stages, from Python: what travels to the page, which orders are right, what is refused."""

import itertools
import json

import pytest

from flatcube.classroom.explorers import MIME
from flatcube.classroom.proofs import answered, arrange, choose, proof, spot, untimely

NEXT = {"Take the mean.": "Then cross terms vanish.", "Divide by n.": "There is no n.", "Bound it.": "Equality holds."}
STEPS = {
    "Expand f<sup>2</sup>.": "",
    "Take the mean of each term.": "It uses the terms of the expansion.",
    "Note that E χ<sub>S</sub> = 0.": "",
    "Cross terms vanish.": "It uses the means, and that E χ<sub>S</sub> = 0.",
}
NEEDS = {3: (), 4: (2, 3)}
LINES = {"E f = 0": "Only if f is balanced: this line is false.", "E f<sup>2</sup> = 1": "f is ±1, so this holds."}
PARSEVAL = proof(
    "parseval",
    "Why is the sum of squares 1?",
    [
        choose("What comes next?", NEXT, answer="Take the mean.", weaker="Bound it."),
        arrange("Put the steps in order.", STEPS, needs=NEEDS),
        spot("Which line is false?", LINES, answer="E f = 0"),
    ],
    conclusion=["Expand.", "Take means."],
)
CHOOSE, ARRANGE, SPOT = PARSEVAL.payload["stages"]


def test_a_proof_is_a_question_with_stages(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FLATCUBE_PRESS", "1")
    shown = PARSEVAL._repr_mimebundle_()
    payload = shown[MIME]
    assert set(shown) == {MIME, "text/html", "text/plain"}
    assert payload == json.loads(json.dumps(payload))
    assert (payload["element"], payload["kind"], payload["id"]) == ("question", "proof", "parseval")
    assert [stage["kind"] for stage in payload["stages"]] == ["choose", "arrange", "spot"]
    assert payload["conclusion"] == ["Expand.", "Take means."]
    assert [line["text"] for line in SPOT["choices"]] == list(LINES)  # these stay in order


def test_every_order_in_which_nothing_comes_before_what_it_uses_is_right():
    texts = [step["text"] for step in ARRANGE["steps"]]
    right = set()
    for order in itertools.permutations(range(4)):
        if untimely(ARRANGE["steps"], order) is None:
            right.add(tuple(list(STEPS).index(texts[at].replace("&lt;", "<")) + 1 for at in order))
    assert right == {(1, 2, 3, 4), (1, 3, 2, 4), (3, 1, 2, 4)}
    assert untimely(ARRANGE["steps"], ARRANGE["right"]) is None
    assert untimely(ARRANGE["steps"], range(4)) is not None  # it is not shown solved


@pytest.mark.parametrize("id", [f"id-{k}" for k in range(30)])
def test_steps_are_never_shown_in_a_right_order(id):
    (stage,) = proof(id, "Why?", [arrange("Order.", dict.fromkeys("abc", "uses"))], conclusion="So.").payload["stages"]
    assert untimely(stage["steps"], range(3)) is not None
    assert [stage["steps"][at]["text"] for at in stage["right"]] == ["a", "b", "c"]


def test_a_wrong_order_hears_of_the_first_step_that_comes_too_early():
    place = {step["text"]: at for at, step in enumerate(ARRANGE["steps"])}
    one, two, three, four = (place[text] for text in STEPS)
    said = "<p>Step 2 comes too early: “Cross terms vanish.” It uses the means, and that E χ<sub>S</sub> = 0.</p>"
    assert answered(ARRANGE, [three, four, one, two]) == (False, said)
    said = "<p>Right. Every step uses only what stands above it.</p>"
    assert answered(ARRANGE, [three, one, two, four]) == (True, said)


def test_choices_and_lines_answer_like_questions():
    at = {choice["text"]: k for k, choice in enumerate(CHOOSE["choices"])}
    assert answered(CHOOSE, None) == (False, "<p>Choose an answer first.</p>")
    assert answered(CHOOSE, at["Divide by n."]) == (False, "<p>Not yet. There is no n.</p>")
    assert answered(CHOOSE, at["Bound it."]) == (False, "<p>True, but weaker. Equality holds.</p>")
    assert answered(CHOOSE, at["Take the mean."]) == (True, "<p>Right. Then cross terms vanish.</p>")
    assert answered(SPOT, 1) == (False, "<p>Not yet. f is ±1, so this holds.</p>")


def test_without_scripts_every_stage_unfolds():
    page = PARSEVAL.fallback
    assert page.count("<details>") == 3 + 1 + 2 + 1
    right = page[page.index("A right order") :]
    assert [right.index(text) for text in STEPS] == sorted(right.index(text) for text in STEPS)
    assert page.index("The whole proof") > page.index("Stage 3.")
    assert "<li>Expand.</li><li>Take means.</li>" in page
    assert "<" not in PARSEVAL._repr_mimebundle_()["text/plain"]


def test_in_a_running_notebook_a_stage_opens_when_the_one_before_is_right(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    figure = proof("p", "Why?", [
        choose("Next?", NEXT, answer="Take the mean."), arrange("Order.", STEPS, needs=NEEDS),
    ], conclusion="So.")  # fmt: skip
    assert "application/vnd.jupyter.widget-view+json" in figure._repr_mimebundle_()
    box, (first, second) = figure.widget, figure.payload["stages"]
    assert len(box.children) == 2
    _, given, button, said = box.children[1].children
    button.click()
    assert said.value == "<p>Choose an answer first.</p>" and len(box.children) == 2
    given.value = [choice["right"] for choice in first["choices"]].index(True)
    button.click()
    assert len(box.children) == 3 and button.disabled
    _, *places, button, said = box.children[2].children
    button.click()
    assert "comes too early" in said.value
    places[0].value = places[1].value
    button.click()
    assert said.value == "<p>Give every step a place of its own.</p>" and len(box.children) == 3
    for place, at in enumerate(second["right"], 1):
        places[at].value = place
    button.click()
    assert len(box.children) == 4 and box.children[3].value.endswith("<p>So.</p>")


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: proof("p", "Why?", [], conclusion="So."), "stages: expected at least one"),
        (lambda: proof("p", "Why?", ["step"], conclusion="So."), "stages: expected choose"),
        (lambda: proof("p", "Why?", [CHOOSE], conclusion=" "), "conclusion: expected a text in words"),
        (lambda: proof("p", "Why?", [CHOOSE], conclusion=[]), "conclusion: expected 1 or more"),
        (lambda: proof("P", "Why?", [CHOOSE], conclusion="So."), "id: expected small letters"),
        (lambda: choose("Next?", NEXT, answer="Stop."), "answer: expected one of the choices"),
        (lambda: choose("", NEXT, answer="Stop."), "prompt: expected a text in words"),
        (lambda: spot("Which?", {"a": "yes"}, answer="a"), "choices: expected at least two"),
        (lambda: arrange("Order.", {"a": "", "b": "uses a"}), "steps: expected at least three, got 2"),
        (lambda: arrange("Order.", {"a": "", "b": "", "c": "uses b"}), "steps: 'b' uses an earlier step"),
        (lambda: arrange("Order.", STEPS, needs={2: (3,)}), "needs: a step uses earlier steps"),
        (lambda: arrange("Order.", STEPS, needs={9: (1,)}), "needs: a step uses earlier steps"),
        (
            lambda: proof("p", "?", [arrange("Order.", STEPS, needs={2: (), 3: (), 4: ()})], conclusion="So."),
            "steps: every order is right",
        ),
    ],
)
def test_mistakes_are_named(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()
