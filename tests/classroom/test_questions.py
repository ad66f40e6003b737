"""Questions from Python: what travels to the page, what is shown without scripts, what is refused."""

import json

import pytest

from flatcube.classroom.explorers import MIME
from flatcube.classroom.questions import answers, inline, predict, quick

CHOICES = {"1": "That is FIRST.", "n": "It is the product of all variables."}


def test_a_quick_question_carries_its_feedback():
    shown = quick("parity-degree", "The degree of `cube.parity(n)`?", CHOICES, answer="n")._repr_mimebundle_()
    payload = shown[MIME]
    assert payload == json.loads(json.dumps(payload))
    assert (payload["element"], payload["kind"], payload["id"]) == ("question", "quick", "parity-degree")
    assert [choice["right"] for choice in payload["choices"]] == [False, True]
    assert payload["choices"][1]["feedback"] == CHOICES["n"]
    assert payload["prompt"] == "The degree of <code>cube.parity(n)</code>?"


def test_without_scripts_every_choice_unfolds():
    shown = quick("q", "Which?", CHOICES, answer="n")._repr_mimebundle_()
    assert shown["text/html"].count("<details>") == 2
    assert "Not yet. That is FIRST." in shown["text/html"]
    assert "Right. It is the product" in shown["text/html"]
    assert "<" not in shown["text/plain"]


def test_a_prediction_reveals_after_it_is_made():
    payload = predict("p", "More or less?", ["more", "less"], answer="less", reveal="The bar falls.").payload
    assert (payload["kind"], payload["reveal"]) == ("predict", "The bar falls.")
    assert [choice["right"] for choice in payload["choices"]] == [False, True]
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
        (lambda: predict("q", "How many?", answer="many", reveal="Two."), "answer: without choices, expected a finite"),
        (lambda: predict("q", "How many?", answer=2, tolerance=-1, reveal="Two."), "tolerance: expected a number ≥ 0"),
    ],
)
def test_mistakes_are_named(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()


def test_the_panel_is_an_element():
    shown = answers()._repr_mimebundle_()
    assert shown[MIME] == {"element": "answers"}
