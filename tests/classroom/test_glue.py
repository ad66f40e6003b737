"""Numbers glued into the prose: the words, what the notebook stores, and what the page prints."""

from fractions import Fraction

import nbformat
import numpy as np
import pytest
from docutils.core import publish_doctree
from docutils.parsers.rst import roles
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from myst_nb import docutils_
from myst_nb import glue as original
from myst_nb.ext.glue import extract_glue_data_cell
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from flatcube.classroom.glue import glue, text


@pytest.mark.parametrize(
    ("value", "spec", "words"),
    [
        (3, "", "3"),
        (np.int64(2**40), "", "1099511627776"),
        (2**40, ",", "1,099,511,627,776"),
        (1 / 3, "", "0.3333"),
        (np.float32(1) / 3, "", "0.3333"),
        (np.array(0.25), "", "0.25"),
        (Fraction(1, 3), "", "0.3333"),
        (-2.5, ".1f", "−2.5"),
        (-1e-9, ".2f", "0.00"),
        (-0.0, "", "0"),
        (1e-9, "", "1e−09"),
        (0.125, ".1%", "12.5%"),
        ("three", "", "three"),
        (True, "", "True"),
    ],
)
def test_a_value_becomes_words_for_a_sentence(value, spec, words):
    assert text(value, spec) == words


def test_the_last_digits_of_a_computation_do_not_show():
    assert text(0.1 + 0.2) == text(0.3) == "0.3"


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    yield shell
    InteractiveShell.clear_instance()


def _stored(call):
    """What a cell that makes the call leaves in the notebook, and what it prints."""
    with capture_output() as captured:
        assert call() is None
    outputs = [new_output("display_data", output.data, metadata=output.metadata) for output in captured.outputs]
    return new_code_cell(outputs=outputs), captured.stdout + captured.stderr


def test_the_page_finds_the_number_and_shows_nothing_else(shell):
    cell, printed = _stored(lambda: glue("third", 1 / 3))
    nbformat.validate(new_notebook(cells=[cell]))
    [(name, output)] = extract_glue_data_cell(cell)
    assert (name, output["data"]) == ("third", {"text/plain": "'0.3333'"})
    assert cell.outputs == []
    assert printed == ""


def test_the_notebook_stores_the_same_kind_of_output_as_the_page_builders_own_glue(shell):
    ours, _ = _stored(lambda: glue("count", 268))
    theirs, _ = _stored(lambda: original("count", "268", display=False))
    assert ours.outputs == theirs.outputs


@pytest.mark.parametrize(
    ("value", "spec", "words"), [(0.5, ".2f", "0.50"), (10**6, ",", "1,000,000"), (-2, "", "−2"), ("x1", "", "x1")]
)
def test_the_page_prints_exactly_these_words(shell, tmp_path, monkeypatch, value, spec, words):
    # the parser writes its roles into the registry of its import; a Sphinx run in the same process leaves another one
    monkeypatch.setattr(roles, "_roles", docutils_._roles)
    cell, _ = _stored(lambda: glue("number", value, spec))
    notebook = new_notebook(cells=[cell, new_markdown_cell("before {glue:text}`number` after")])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    settings = {"nb_execution_mode": "off", "nb_output_folder": str(tmp_path)}
    page = publish_doctree(nbformat.writes(notebook), parser=docutils_.Parser(), settings_overrides=settings)
    assert f"before {words} after" in page.astext()


def test_outside_a_notebook_nothing_happens(capsys):
    assert glue("third", 1 / 3) is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("value", "spec"), [(1.5, "d"), ("word", ".2f"), ([1, 2], ".2f"), (1.5, 3)])
def test_a_format_must_fit(value, spec):
    with pytest.raises(ValueError, match="spec: expected a format for a .* got"):
        text(value, spec)


@pytest.mark.parametrize("name", ["", "  ", 3, None])
def test_a_name_must_be_a_word(name):
    with pytest.raises(ValueError, match="name: expected a word"):
        glue(name, 1)
