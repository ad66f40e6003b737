"""Figures, formulas, boxes and symbols have numbers and names by which the text can refer to them."""

import json
import re

import pytest
from nbformat.v4 import new_notebook

from flatcube.classroom.mime import ELEMENT
from flatcube.press import figures, pages, symbols
from tests.press.small import build_pages, chart, shown, write_text

CONF = """
extensions += ["sphinx_proof", "sphinx_exercise", "sphinx_design", "flatcube.press.sphinx"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
"""
NOTATION = """# Notation

::::{div} fc-stack fc-symbols
| Symbol | Meaning |
|---|---|
| $c_S$, $\\hat f(S)$ | the coefficient |
| Blowup | the product |
::::

::::{div} fc-symbols
| Symbol | Meaning |
|---|---|
| $c_S$ | again |
| $\\rho$ | a size |
::::
"""


EXPLORER = {ELEMENT: {"element": "explorer", "name": "cube", "label": "The cube", "state": {}, "figure": "fig-cube"}}
QUESTION = {ELEMENT: {"element": "question", "id": "q"}}


def chapter():
    cells = [chart("One", "fig-one"), shown(QUESTION), shown(EXPLORER), shown({"text/plain": "4"})]
    cells += [chart("Hidden", "", "remove-output"), chart("Lab", "", "lab-only")]
    return new_notebook(cells=[*cells, chart(["Two", "lines"]), chart({"text": {"expr": "menu"}})])


def test_charts_and_explorers_are_counted_in_the_order_of_the_page():
    found = [figure for _, _, figure in figures.numbered("03-three", chapter())]
    assert [figure.name for figure in found] == [f"Figure 3.{k}" for k in (1, 2, 3, 4)]
    assert [figure.label for figure in found] == ["fig-one", "fig-cube", "", ""]
    assert [figure.title for figure in found][:3] == ["One", "The cube", "Two lines"]


def test_on_the_page_the_number_stands_before_the_figure():
    texts = [o.data.get("text/html", "") for c in pages.page(chapter(), "03-three").cells for o in c.outputs]
    starts = [
        re.match(r'<div class="fc-figure" id="([\w-]+)" [^>]*><p><b>([^<]+)</b>([^<]*)</p><div', text) for text in texts
    ]
    assert [start and start.groups() for start in starts] == [
        ("fig-one", "Figure 3.1", ""), None, ("fig-cube", "Figure 3.2", " The cube"), None, None,
        ("figure-3-3", "Figure 3.3", ""), ("figure-3-4", "Figure 3.4", ""),
    ]  # fmt: skip


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """A book with two chapters, of which only some are executed: `executed(**notebooks)`."""
    for name in ("01-one", "03-three", "04-four"):
        write_text(tmp_path / f"chapters/{name}.md", [])
    copies = {}

    def copy(root, chapter):
        if chapter.stem not in copies:
            raise FileNotFoundError
        return copies[chapter.stem]

    monkeypatch.setattr(figures.execute, "executed_copy", copy)
    return lambda **made: copies.update(made) or figures.labelled(tmp_path)


def test_labels_are_known_through_the_whole_book(executed):
    found = executed(**{"03-three": chapter(), "04-four": new_notebook(cells=[chart("F", "fig-four")])})
    assert {label: figure.name for label, figure in found.items()} == {
        "fig-one": "Figure 3.1", "fig-cube": "Figure 3.2", "fig-four": "Figure 4.1",
    }  # fmt: skip


def test_a_label_is_given_once(executed):
    with pytest.raises(ValueError, match="04-four: the label 'fig-one' is also that of Figure 3.1"):
        executed(**{"03-three": chapter(), "04-four": new_notebook(cells=[chart("F", "fig-one")])})


TEXT = """# One

$$a=b$$

$$c=d$$ (eq-one)

:::{prf:theorem} Name
:label: thm-one

It holds.

$$e=f$$ (eq-two)
:::

:::{exercise} Try
:label: ex-one

Do it.
:::

Figures {fig}`fig-one`, formulas {eq}`eq-one` and {eq}`eq-two`, {prf:ref}`thm-one`, {numref}`ex-one`,
symbols {sym}`\\hat f(S)`, {sym}`c_S`, {sym}`\\rho` and {sym}`Blowup`.
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    found = {"fig-one": figures.Figure("01-one", "1.1", "fig-one", "Title")}
    (folder / "source/chapters").mkdir(parents=True)
    (folder / "source/chapters" / figures.FILE).write_bytes(figures.stored(found))

    def build(text):
        texts = {"index": "# Book\n\n```{toctree}\n:numbered:\nchapters/01-one\nchapters/notation\n```\n"}
        return build_pages(folder, texts | {"chapters/01-one": text, "chapters/notation": NOTATION}, CONF)

    return build


def test_references_show_the_numbers(site):
    built, warnings = site(TEXT)
    assert warnings == ""
    links = {link.get_text(strip=True): link["href"] for link in built["01-one"].select("p > a.internal")}
    assert links == {
        "Figure 1.1": "#fig-one",
        "(1.1)": "#equation-eq-one", "(1.2)": "#equation-eq-two", "Theorem 1.1": "#thm-one", "Exercise 1.1": "#ex-one",
        "symbol\\(\\hat f(S)\\)": "notation.html#symbol-1", "symbol\\(c_S\\)": "notation.html#symbol-1",
        "symbol\\(\\rho\\)": "notation.html#symbol-4", "Blowup": "notation.html#symbol-2",
    }  # fmt: skip
    numbers = [formula.get_text() for formula in built["01-one"].select("section .eqno")]
    assert [number.strip("¶") for number in numbers if number] == ["(1.1)", "(1.2)"]
    assert "a size" in built["notation"].find(id="symbol-4").get_text()


def test_a_chapter_has_the_number_of_its_file(tmp_path):
    """Also while chapters before it are missing."""
    (tmp_path / "source/chapters").mkdir(parents=True)
    five = TEXT.replace("# One", "# Five").replace("Figures {fig}`fig-one`, f", "## Section\n\nF").split("\nsymbols")[0]
    texts = {"index": "# Book\n\n```{toctree}\n:numbered:\nchapters/02-two\nchapters/05-five\n```\n"}
    texts |= {"chapters/02-two": "# Two\n\n{ref}`fifth`\n", "chapters/05-five": f"(fifth)=\n{five}"}
    built, warnings = build_pages(tmp_path, texts, CONF)
    assert warnings == ""
    heads = [head.get_text().strip("¶") for name in ("02-two", "05-five") for head in built[name].select("h1, main h2")]
    assert heads == ["2 Two", "5 Five", "5.1 Section"]
    links = [link.get_text(strip=True) for link in built["05-five"].select("p > a.internal")]
    assert links == ["(5.1)", "(5.2)", "Theorem 5.1", "Exercise 5.1"]
    numbers = [formula.get_text().strip("¶") for formula in built["05-five"].select("section .eqno")]
    assert [number for number in numbers if number] == ["(5.1)", "(5.2)"]
    entries = [entry.get_text(strip=True) for entry in built["index"].select("main .toctree-l1 > a")]
    assert entries[:2] == ["2. Two", "5. Five"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{fig}`fig-none`", "No figure has the label 'fig-none'"),
        ("{sym}`\\chi`", "notation.md lists no symbol"),
        ("{eq}`eq-none`", "equation not found: eq-none"),
        ("{prf:ref}`thm-none`", "label 'thm-none' not found"),
        ("{numref}`ex-none`", "ex-none"),
    ],
)
def test_a_reference_to_nothing_is_a_warning(site, text, complaint):
    _, warnings = site(f"# One\n\n{text}\n")
    assert complaint in warnings


def test_the_file_beside_the_pages_says_where_figures_are(executed):
    known = json.loads(figures.stored(executed(**{"03-three": chapter()})))
    assert figures.Figure(**known["fig-cube"]).name == "Figure 3.2"


def test_a_symbol_is_a_formula_and_a_word_a_word():
    assert [symbols.written(s) for s in ("n", "\\rho", "Blowup")] == ["$n$", "$\\rho$", "Blowup"]
