"""Kernel widgets: a form where a kernel runs, a picture and one sentence under the press."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from flatcube.classroom.widgets import Still, interactive


def draw(n, kind="hard", closed=False):
    return f"{kind} {n} {closed}"


@pytest.fixture
def press(monkeypatch):
    monkeypatch.setenv("FLATCUBE_PRESS", "1")


def shown(still):
    """What a notebook cell that ends with `still` would store."""
    InteractiveShell.instance()
    with capture_output() as captured:
        still._ipython_display_()
    return [output.data for output in captured.outputs]


def test_under_the_press_there_is_a_picture_and_a_sentence(press):
    still = interactive(draw, n=(2, 10), kind=["soft", "hard"], closed=False, picture={"n": 7})
    assert isinstance(still, Still)
    picture, words = shown(still)
    assert picture["text/plain"] == "'soft 7 False'"
    assert words["text/plain"].startswith("Shown for n = 7, kind = soft, closed = no. Run this cell in JupyterLab")
    assert words["text/html"].startswith("<p>")


def test_a_function_that_shows_nothing_gets_its_sentence_only(press):
    assert len(shown(interactive(lambda n: None, n=(1, 3)))) == 1


def test_in_jupyterlab_it_is_a_form(monkeypatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    form = interactive(draw, n=(2, 10), kind=["soft", "hard"], closed=True, picture={"n": 3, "kind": "hard"})
    labels = {control.description: control.value for control in form.kwargs_widgets}
    assert labels == {"n": 3, "kind": "hard", "closed": True}
    assert form.kwargs_widgets[0].tooltip == "n"


def test_both_homes_start_with_the_same_values(monkeypatch):
    controls = {"n": (2, 11, 3), "rate": (0.0, 1.0), "kind": {"one": 1, "two": 2}, "number_of_bits": (1, 9)}
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    form = interactive(lambda **values: None, **controls)
    monkeypatch.setenv("FLATCUBE_PRESS", "1")
    still = interactive(lambda **values: None, **controls)
    assert still.values == {control._kwarg: control.value for control in form.kwargs_widgets}
    assert form.kwargs_widgets[3].description == "number of bits"


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: interactive(draw), "controls: expected at least one"),
        (lambda: interactive(draw, n=(2, 10), picture={"m": 1}), "picture: 'm' is no control; the controls are n"),
        (lambda: interactive(draw, n=(2, 10), picture={"n": 11}), r"picture: the control n = \(2, 10\) cannot be 11"),
        (lambda: interactive(draw, n=[]), "n: expected .* got \\[\\]"),
    ],
)
def test_mistakes_are_named(call, complaint, press):
    with pytest.raises(ValueError, match=complaint):
        call()
