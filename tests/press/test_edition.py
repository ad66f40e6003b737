"""The readers' notebook says in plain Markdown what the page says with the site's means, and keeps stored outputs."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from flatcube.classroom.glue import PREFIX
from flatcube.press import edition, execute, notebook, prose
from flatcube.press.book import Book
from tests.press.small import chart, write_text

BIB = """@article{hahn2024sensitive, author = {Hahn, Michael and Rofin, Mark}, title = {Sensitive}, journal = {J},
 volume = 1, pages = {1--2}, year = 2024}
@misc{dewolf2008brief, author = {de Wolf, Ronald}, title = {A brief one}, year = 2008}
@misc{abbe2023generalization, author = {Abbe, A and Bengio, S and Lotfi, A}, title = {Unseen}, year = 2023}
"""
CLAIMS = (Path(__file__).parents[2] / "data/claims.csv").read_text(encoding="utf-8")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    """A book of two chapters and a page, with a bibliography and the claims."""
    drawn = chart("A title", "fig-a")
    boxes = "\n\n".join(f":::{{prf:theorem}} A name\n:label: thm-{key}\n\nIt holds.\n:::" for key in "ab")
    formulas = "$$a$$ (eq-a)\n\n:::{prf:lemma}\n\n$$b$$ (eq-b)\n:::"
    cells = [new_markdown_cell(text) for text in ("# One", boxes, formulas)]
    one = write_text(tmp_path / "chapters/01-one.md", [*cells, drawn])
    execute._keep(tmp_path, one, new_notebook(cells=[drawn]), {"inputs": {}}, 1.0)
    write_text(tmp_path / "chapters/02-two.md", [new_markdown_cell("# Two")])
    symbols = "::::{div} fc-symbols\n| S | M |\n|---|---|\n| $\\rho$ | size |\n::::\n"
    (tmp_path / "chapters/notation.md").write_text(f"# Notation\n\n{symbols}")
    (tmp_path / "chapters/references.bib").write_text(BIB)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/claims.csv").write_text(CLAIMS, encoding="utf-8")
    return Book(tmp_path)


def published(book: Book) -> Book:
    """The same book with an address."""
    text = "html: {baseurl: https://book.org/}\nrepository: {url: https://code.org/book}\n"
    (book.root / "_config.yml").write_text(text)
    return Book(book.root)


STARRED = "\n\n".join(
    rf"$$\begin{{equation*}}{tex}\end{{equation*}}$$" for tex in ("a", "\nb\n\\tag{2.1}", r"c\tag{2.2}")
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a factor of {glue:text}`speed-up`.", "a factor of 52,429."),
        ("{cite:t}`hahn2024sensitive` say", "Hahn and Rofin (2024) say"),
        ("so {cite}`dewolf2008brief,abbe2023generalization`", "so (de Wolf, 2008; Abbe et al., 2023)"),
        ("it holds ({claim}`HR-EQ17`, {erratum}`13`)", "it holds (HR-EQ17, erratum 13)"),
        ("It holds {claim}`HR-EQ17, SP-D0`. So", "It holds (HR-EQ17, SP-D0). So"),
        ("It holds.{claim}`HR-EQ17` So", "It holds (HR-EQ17). So"),
        ("(HR's Lemma 8, {claim}`HR-L8`)", "(HR's Lemma 8, HR-L8)"),
        ("It is {claim}`HR-EQ17`.", "It is HR-EQ17."),
        ("- one {claim}`HR-EQ17`\n- two", "- one (HR-EQ17)\n- two"),
        ("Formula.\n\n({erratum}`1, 2`)", "Formula.\n\n(erratum 1, erratum 2)"),
        ("| {claim}`HR-EQ17`, {erratum}`1` |", "| HR-EQ17, erratum 1 |"),
        ("| It holds, {claim}`HR-EQ17`. |", "| It holds, HR-EQ17. |"),  # in a table nothing is a remark
        ("[chapter 1](01-one) and [there](01-one.md)", "[chapter 1](01-one.ipynb) and [there](01-one.ipynb)"),
        ("see [notation](notation)", "see notation"),
        ("[out](https://example.org/a)", "[out](https://example.org/a)"),
        ("by {prf:ref}`thm-b`", "by [Theorem 1.2](01-one.ipynb)"),
        (":::{margin}\n:class: contents\n\n**Old.**\nIt, $a\n+b$.\n\nTwo.\n:::", "> **Old.** It, $a +b$.\n>\n> Two."),
        (":::{admonition} You will\n:class: goals\n\n1. see\n:::", "**You will**\n\n1. see"),
        (":::{prf:proof}\n:class: dropdown\n\nClear.\n:::", "*Proof.* Clear. □"),
        ("(here)=\n## A section", "## 2.1 A section"),
        ("$$a=b$$ (eq-a)", r"$$\begin{equation*}a=b\tag{2.1}\end{equation*}$$"),
        ("$$a$$\n\n$$\nb\n$$ (eq-b)\n\n$$c$$ (eq-c)", STARRED),
        ("by {eq}`eq-b` and {fig}`fig-a`", "by [(1.2)](01-one.ipynb) and [Figure 1.1](01-one.ipynb)"),
        (r"the size {sym}`\rho`", r"the size $\rho$"),
        ("```python\nx = '{cite}`y`'\n```", "```python\nx = '{cite}`y`'\n```"),
    ],
)
def test_what_only_the_site_understands_is_written_out(book: Book, text: str, expected: str):
    assert prose.plain(text, book, "02-two", {"speed-up": "52,429"}) == expected


def test_boxes_have_the_numbers_of_the_site(book: Book):
    box = ":::{{{}}} {}\n\nBody.\n:::"
    text = "\n\n".join([box.format("prf:theorem", "First"), box.format("exercise", "Try ●○○ 5 min"),
                        box.format("prf:theorem", ""), box.format("exercise", "More ●●○")])  # fmt: skip
    lines = prose.plain(text, book, "02-two").split("\n\n")
    assert lines[0] == "**Theorem 2.1 (First).** Body." and lines[3] == "**Theorem 2.2.** Body."
    assert lines[1] == "### Exercise 2.1 · Try ●○○ 5 min" and lines[4] == "### Exercise 2.2 · More ●●○"


def test_with_an_address_claims_and_pages_are_links(book: Book):
    text = prose.plain("{claim}`HR-EQ17`, {erratum}`13`, [n](notation)", published(book), "02-two")
    home = "https://book.org/chapters"
    pages = {"HR-EQ17": "claims.html#claim-HR-EQ17", "erratum 13": "errata.html#erratum-13", "n": "notation.html"}
    assert text == ", ".join(f"[{words}]({home}/{page})" for words, page in pages.items())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{glue:text}`nothing`", "02-two: no cell glues 'nothing'"),
        ("{cite}`nobody2000none`", "02-two: references.bib has no 'nobody2000none'"),
        ("{nonsense}`a`", "the role 'nonsense' has no plain form"),
        (":::{nonsense}\na\n:::", "the directive 'nonsense' has no plain form"),
        ("[a](nowhere)", "the link to 'nowhere' leads nowhere"),
        ("{prf:ref}`thm-none`", "no box and no formula has the label 'thm-none'"),
        ("{fig}`fig-none`", "02-two: no figure has the label 'fig-none'"),
        (r"{sym}`\\none`", "02-two: notation.md lists no symbol"),
        (":::{margin}\nno end", "has no end"),
    ],
)
def test_what_has_no_plain_form_is_refused(book: Book, text: str, complaint: str):
    with pytest.raises(ValueError, match=complaint.replace("(", r"\(")):
        prose.plain(text, book, "02-two")


def executed(*cells: nbformat.NotebookNode) -> nbformat.NotebookNode:
    return new_notebook(cells=[new_markdown_cell("# Two\n\nWords {cite}`hahn2024sensitive` {claim}`HR-EQ17`."), *cells])


def test_a_notebook_says_how_to_run_it_and_lists_what_it_cites(book: Book):
    chapter = book.root / "chapters/02-two.md"
    first, last = edition.make(book, chapter, executed()).cells
    assert first.source.startswith("# 2 Two\n\n> This is chapter 2") and "pip install" in first.source
    assert "Words (Hahn and Rofin, 2024) (HR-EQ17)." in first.source
    assert last.source.startswith("## References\n\n- Michael Hahn and Mark Rofin. Sensitive.")
    assert "## Claims and errata\n\n- HR-EQ17: " in last.source
    assert "`make lab` there" in first.source and "`make book` builds them in `_build/html`" in first.source
    first, _ = edition.make(published(book), chapter, executed()).cells
    assert "git+https://code.org/book" in first.source and "`make lab` in a copy of the book" in first.source
    assert "_build/html" not in first.source


def test_figures_have_the_numbers_of_the_site_below_them(book: Book):
    cells = [chart("It *grows*"), new_code_cell("1"), chart("Lab", "", "lab-only"), chart("More")]
    made = edition.make(book, book.root / "chapters/02-two.md", executed(*cells)).cells
    assert [cell.source for cell in made[1:-1]] == [
        "chart", r"**Figure 2.1.** It \*grows\*", "1", "chart", "chart", "**Figure 2.2.** More",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([], None),
        (["lab-only"], None),
        (["hide-input"], {"source_hidden": True}),
        (["remove-input"], {"source_hidden": True}),
        (["remove-cell"], {"source_hidden": True, "outputs_hidden": True}),
    ],
)
def test_code_is_collapsed_as_on_the_site(book: Book, tags: list[str], expected: dict | None):
    cell = new_code_cell("1", metadata={"tags": tags} if tags else {})
    made = edition.make(book, book.root / "chapters/02-two.md", executed(cell)).cells[1]
    assert made.metadata.get("jupyter") == expected


def glued(value: str) -> nbformat.NotebookNode:
    data, metadata = {f"{PREFIX}text/plain": repr(value)}, {"scrapbook": {"name": "share", "mime_prefix": PREFIX}}
    return new_output("display_data", data, metadata=metadata)


def test_refreshing_keeps_what_differs_by_rounding_only(book: Book):
    """In outputs, and in the prose that shows them."""
    prose = new_markdown_cell("# Two\n\nA share of {glue:text}`share`.")
    cells = [prose, new_code_cell("share"), new_code_cell("print(1)")]
    chapter = write_text(book.root / "chapters/02-two.md", cells)

    def run(share: str, printed: str) -> bool:
        copy = notebook.read(chapter)
        copy.cells[1].outputs, copy.cells[2].outputs = [glued(share)], [new_output("stream", text=printed)]
        execute._keep(book.root, chapter, copy, execute._key(book.root, chapter, {}, []), 1.0)
        return edition.refresh(book, chapter)

    assert run("0.12345", "7 of 9\n")
    assert not run("0.12346", "7 of 9\n")
    stored = notebook.read(edition.path(book.root, chapter))
    assert "A share of 0.12345." in stored.cells[0].source
    assert run("0.2", "8 of 9\n")
    stored = notebook.read(edition.path(book.root, chapter))
    assert "A share of 0.2." in stored.cells[0].source and stored.cells[2].outputs[0].text == "8 of 9\n"


def test_a_notebook_that_is_not_there_is_named(book: Book):
    made = edition.make(book, book.root / "chapters/02-two.md", executed())
    assert edition.difference(book, book.root / "chapters/02-two.md", made) == "it is not there"
