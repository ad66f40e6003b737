"""Formulas are set when the site is built."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from flatcube.press import maths, site

ROOT = Path(__file__).parents[2]
MATHJAX = ROOT / "_build/frontend/node_modules/mathjax"
HEAD = "<html><head></head><body><main>{}</main></body></html>"
INLINE = r'<span class="math notranslate nohighlight">\({}\)</span>'
BLOCK = r'<div class="math notranslate" id="eq-a"><span class="eqno">(1.1)<a href="#eq-a">#</a></span>\[{}\]</div>'


@pytest.fixture
def pages(tmp_path: Path):
    """`pages(**texts)`: a small site with these pages in a folder, their formulas set."""
    site.fetch_frontend(ROOT)

    def built(**texts: str) -> dict[str, BeautifulSoup]:
        for name, text in texts.items():
            path = tmp_path / "chapters" / f"{name}.html"
            path.parent.mkdir(exist_ok=True)
            path.write_text(HEAD.format(text), encoding="utf-8")
        maths.set_all(tmp_path, MATHJAX)
        files = {name: (tmp_path / "chapters" / f"{name}.html").read_text(encoding="utf-8") for name in texts}
        return {name: BeautifulSoup(text, "html.parser") for name, text in files.items()}

    return built


def test_a_formula_is_there_for_the_eye_and_for_the_ear(pages, tmp_path: Path):
    text = INLINE.format("a &lt; b") + BLOCK.format(r"\sum_{i=1}^n x_i") + "<pre>\\(x\\)</pre>"
    page = pages(a=text, b="<p>None.</p>")["a"]
    assert [formula.get_text() for formula in page.select("math")] == ["a<b", "∑i=1nxi"]
    assert len(page.select("span.math mjx-container:not([display])")) == 1
    assert len(page.select("div.math > mjx-container[display=true]")) == 1
    assert page.select_one("div.math .eqno").get_text() == "(1.1)#"
    assert page.pre.get_text() == r"\(x\)"  # code is no formula
    style = (tmp_path / maths.SHEET).read_text(encoding="utf-8")
    letters = {name for part in page.select("mjx-c") for name in part["class"] if name.startswith("mjx-c")}
    assert letters and all(f".{letter}" in style for letter in letters)
    fonts = set(re.findall(r'url\("\./([^"]+)"\)', style))
    assert fonts and all((MATHJAX / "es5/output/chtml/fonts/woff-v2" / font).is_file() for font in fonts)


def test_only_pages_with_formulas_load_their_style_sheet(pages):
    found = pages(a=INLINE.format("a"), b="<p>None.</p>")
    assert [link["href"].split("?")[0] for link in found["a"].select("link[rel=stylesheet]")] == [f"../{maths.SHEET}"]
    assert not found["b"].select("link")


@pytest.mark.parametrize("wrong", [r"\frac{a}", r"\nonsense"])
def test_a_formula_that_cannot_be_set_ends_the_build(pages, wrong: str):
    with pytest.raises(SystemExit, match=f"cannot set:\n{re.escape(wrong)}: "):
        pages(a=INLINE.format("a") + INLINE.format(wrong))


def test_no_formula_in_a_table_has_a_bar():
    r"""Markdown takes the backslash from \| in a table, and a norm becomes an absolute value: \lVert x \rVert stays."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "chapters").rglob("*.md")}
    rows = [(name, row) for name, text in texts.items() for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
    assert len(rows) > 500 and [(name, row) for name, row in rows if re.search(r"\$[^$|]*\\\|", row)] == []
