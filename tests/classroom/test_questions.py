"""Questions from Python: what travels to the page, what is shown without scripts, what is refused."""

import ast
import json
import os
import subprocess
import sys
from collections import Counter

import ipywidgets
import jupytext
import pytest

from flatcube.classroom.explorers import MIME
from flatcube.classroom.mime import TRIANGLE
from flatcube.classroom.questions import inline, judged, predict, quick, shuffled
from tests import rooms

CHOICES = {"1": "That is FIRST.", "n": "It is the product of all variables."}


def test_a_quick_question_carries_its_feedback():
    shown = quick("parity-degree", "The degree of `cube.parity(n)`?", CHOICES, answer="n")._repr_mimebundle_()
    payload = shown[MIME]
    assert payload == json.loads(json.dumps(payload))
    assert (payload["element"], payload["kind"], payload["id"]) == ("question", "quick", "parity-degree")
    assert {choice["text"]: choice["right"] for choice in payload["choices"]} == {"1": False, "n": True}
    assert {choice["text"]: choice["feedback"] for choice in payload["choices"]} == CHOICES
    assert payload["prompt"] == "The degree of <code>cube.parity(n)</code>?"


def test_without_scripts_every_choice_unfolds():
    shown = quick("q", "Which?", CHOICES, answer="n")._repr_mimebundle_()
    assert shown["text/html"].count("<details>") == shown["text/html"].count(f"<summary {TRIANGLE}>") == 2
    assert "Not yet. That is FIRST." in shown["text/html"]
    assert "Right. It is the product" in shown["text/html"]
    assert "<" not in shown["text/plain"]


def test_a_prediction_reveals_after_it_is_made():
    payload = predict("p", "More or less?", ["more", "less"], answer="less", reveal="It falls.", ordered=True).payload
    assert (payload["kind"], payload["reveal"]) == ("predict", "It falls.")
    assert [(choice["text"], choice["right"]) for choice in payload["choices"]] == [("more", False), ("less", True)]
    payload = predict("p", "How many?", answer=0.7, tolerance=0.1, reveal="About 0.7.").payload
    assert payload["number"] == {"value": 0.7, "tolerance": 0.1}
    assert "choices" not in payload


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<em onclick=x>a</em>", "&lt;em onclick=x&gt;a&lt;/em&gt;"),
        ("x<sub>1</sub><sup>2</sup>", "x<sub>1</sub><sup>2</sup>"),
        ("<em>a<sub>1</sub></em>", "<em>a<sub>1</sub></em>"),
        ("<em>open", "&lt;em&gt;open"),
        ("`<em>a</em>`", "<code>&lt;em&gt;a&lt;/em&gt;</code>"),
        ("a & b", "a &amp; b"),
    ],
)
def test_only_a_few_tags_pass(text, shown):
    assert inline(text) == shown


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: quick("Q 1", "Which?", CHOICES, answer="n"), "id: expected small letters"),
        (lambda: quick("q", " ", CHOICES, answer="n"), "prompt: expected the question in words"),
        (lambda: quick("q", "Which?", {"n": "Yes."}, answer="n"), "choices: expected at least two, got 1"),
        (lambda: quick("q", "Which?", CHOICES, answer="2"), "answer: expected one of the choices, got '2'"),
        (lambda: quick("q", "Which?", {"1": "", "n": "Yes."}, answer="n"), "choices: '1' has no feedback"),
        (lambda: predict("q", "Which?", ["a", "b"], answer="a", reveal=""), "reveal: say in words"),
        (lambda: predict("q", "How many?", answer="many", reveal="Two."), "answer: expected a number, got str"),
        (lambda: predict("q", "Which?", "ab", answer="a", reveal="A."), "choices: expected .* got str"),
        (lambda: predict("q", "Which?", [1, 2], answer="a", reveal="A."), "choices: every text: expected str, got int"),
        (lambda: quick("q", "Which?", None, answer="n"), "choices: expected .*Mapping, got NoneType"),
        (lambda: quick("q", "Which?", {"1": None, "n": "Yes."}, answer="n"), "choices: every text: expected str"),
        (lambda: quick("q", "Which?", CHOICES, answer=["n"]), "answer: expected one of the choices"),
        (lambda: quick("q", "Which?", CHOICES, answer="n", weaker="n"), "weaker: expected choices other"),
        (lambda: quick("q", "Which?", CHOICES, answer="n", weaker="m"), "weaker: expected choices other"),
        (lambda: predict("q", "How many?", answer=2, tolerance=-1, reveal="Two."), "tolerance: expected a number ≥ 0"),
    ],
)
def test_mistakes_are_named(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()


def test_in_a_running_notebook_a_form_answers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    question = quick("q", "x<sub>1</sub>?", CHOICES, answer="n")
    assert "application/vnd.jupyter.widget-view+json" in question._repr_mimebundle_()
    _, given, button, answer = question.widget.children
    button.click()
    assert answer.value == "<p>Choose an answer first.</p>"
    given.value = [choice["right"] for choice in question.payload["choices"]].index(True)
    button.click()
    assert answer.value == "<p>Right. It is the product of all variables.</p>"
    monkeypatch.setenv("FLATCUBE_PRESS", "1")
    assert "application/vnd.jupyter.widget-view+json" not in question._repr_mimebundle_()


def answered(*given: str) -> ipywidgets.VBox:
    """The form of a prediction after these answers."""
    form = predict("p", "How many?", answer=0.7, tolerance=0.1, reveal="About 0.7.").widget
    for text in given:
        form.children[1].value = text
        form.children[2].click()
    return form


@pytest.mark.parametrize("given", ["0,65", "3 / 4", "0.8", "−0.7", "1e9"])
def test_a_predicted_number_is_judged_within_its_tolerance(given: str):
    verdict = "Not what happens." if given in ("−0.7", "1e9") else "As you predicted."
    assert answered(given).children[3].value == f"<p>{verdict} About 0.7.</p>"


@pytest.mark.parametrize("given", ["", "many", "1/0", "nan", "1/2/3", "1e999"])
def test_what_is_no_number_gets_advice(given: str):
    assert answered(given).children[3].value == "<p>Type a number, such as 0.75 or 3/4.</p>"


def test_a_prediction_is_made_once():
    given, button = answered().children[1:3]
    assert given.value == "" and given.style.description_width == "initial"  # else the label is cut
    for answers, made in (([""], False), (["", "0.9"], True)):
        given, button = answered(*answers).children[1:3]
        assert button.disabled == given.disabled == made
    _, given, button, _ = quick("q", "Which?", CHOICES, answer="n").widget.children
    given.value = 0
    button.click()
    assert not button.disabled and not given.disabled


# ------------------------------------------------------------------------------------------------ weaker, and shuffled

BOUNDS = {"at least 3": "It is even more.", "at least 4": "By Huang.", "at least 5": "Too much."}


@pytest.mark.parametrize("weaker", ["at least 3", ["at least 3"]])
def test_a_true_but_weaker_choice_is_told_so_everywhere(weaker):
    question = quick("huang", "How sensitive?", BOUNDS, answer="at least 4", weaker=weaker)
    choices = question.payload["choices"]
    assert [choice["text"] for choice in choices if choice.get("weaker")] == ["at least 3"]
    at = next(k for k, choice in enumerate(choices) if choice.get("weaker"))
    assert not choices[at]["right"]
    assert judged(question.payload, at) == "<p>True, but weaker. It is even more.</p>"
    assert "<p>True, but weaker. It is even more.</p>" in question.fallback
    assert question.fallback.count("Not yet.") == 1
    _, given, button, answer = question.widget.children
    given.value = at
    button.click()
    assert answer.value == "<p>True, but weaker. It is even more.</p>"


def test_choices_are_shown_in_an_order_that_the_id_decides():
    words = [f"choice {k}" for k in range(6)]
    orders = {tuple(shuffled(f"id-{k}", words)) for k in range(50)}
    assert len(orders) > 40
    assert all(sorted(order) == words for order in orders)
    question = quick("id-7", "?", dict.fromkeys(words, "."), answer=words[0]).payload
    shown = [choice["text"] for choice in question["choices"]]
    assert shown == shuffled("id-7", words) != words
    prediction = predict("id-7", "?", words, answer=words[0], reveal=".").payload
    assert [choice["text"] for choice in prediction["choices"]] == shown
    prediction = predict("id-7", "?", words, answer=words[0], reveal=".", ordered=True).payload
    assert [choice["text"] for choice in prediction["choices"]] == words


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_the_order_is_the_same_in_every_process(seed):
    code = "from flatcube.classroom.questions import shuffled; print(shuffled('parity', list(range(8))))"
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "[6, 2, 7, 5, 4, 3, 1, 0]"


def asked() -> list[tuple[int, int]]:
    """For every quick question of the book: the place of its answer as shown, and its number of choices."""
    found = []
    for path in sorted((rooms.ROOT / "chapters").glob("[0-9]*.md")):
        cells = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]
        calls = [node for cell in cells for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Call)]
        for node in calls:
            if getattr(node.func, "id", "") == "quick" and isinstance(node.args[2], ast.Dict):
                texts = [ast.dump(key) for key in node.args[2].keys]
                (answer,) = [ast.dump(word.value) for word in node.keywords if word.arg == "answer"]
                found.append((shuffled(ast.literal_eval(node.args[0]), texts).index(answer), len(texts)))
    return found


def test_the_place_of_the_answer_tells_nothing():
    """Of the questions with k choices about one in k has its answer at each place: within three deviations."""
    found = asked()
    assert found
    for most in {size for _, size in found}:
        places = Counter(place for place, size in found if size == most)
        count = sum(places.values())
        for place in range(most):
            deviation = (count * (most - 1)) ** 0.5 / most
            assert abs(places[place] - count / most) <= 3 * deviation, (most, places)
