"""The pages' own face: repaired HTML, the contents and the plan."""

import functools
import json
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

from bs4 import BeautifulSoup

from flatcube import cube
from flatcube.classroom import claims
from flatcube.press import front, sphinx


def test_a_folded_proof_becomes_details_with_a_title():
    body = '<div class="proof dropdown admonition" id="proof"><p>Proof. Expand <em>both</em> sums.</p></div>'
    page = sphinx.polish(body * 2)
    assert page.count('<details class="proof admonition fc-proof fc-fold">') == 2
    assert '<summary class="admonition-title">Proof</summary><p>Expand <em>both</em> sums.</p>' in page
    assert 'id="proof"' not in page


def test_a_folded_solution_has_no_link_in_its_handle():
    body = (
        '<div class="solution dropdown admonition" id="s"><p class="admonition-title">Solution to '
        '<a href="#e">Exercise 1</a></p><section id="solution-content"><p>Try.</p></section></div>'
    )
    page = sphinx.polish(body)
    assert '<summary class="admonition-title">Solution to Exercise 1</summary>' in page
    assert "solution-content" not in page


def test_the_effort_of_an_exercise_is_said_in_words():
    number = '<span class="caption-number">Exercise 1.2 </span>'
    for words, said in [("●●○ 8 min", "difficulty 2 of 3, 8 minutes"), ("●●●", "difficulty 3 of 3")]:
        title = f'<p class="admonition-title">{number} (One (small) step {words})</p>'
        page = sphinx.polish(f'<div class="exercise admonition">{title}</div>')
        effort = f'<span aria-label="{said}" class="fc-effort" role="img">{words}</span>'
        assert f"{number} One (small) step {effort}</p>" in page
    plain = sphinx.polish(f'<div class="exercise admonition"><p class="admonition-title">{number} (A step)</p></div>')
    assert f"{number} A step </p>" in plain


def test_tables_get_a_box_and_an_empty_corner_is_no_heading():
    page = sphinx.polish('<table border="1" class="dataframe"><tr><th></th><th>n</th></tr></table>')
    assert page == '<div class="fc-table"><table class="dataframe"><tr><td></td><th>n</th></tr></table></div>'


def test_punctuation_stays_with_its_formula():
    page = sphinx.polish(r'<p>so <span class="math">\(x\)</span>, and <span class="math">\(y\)</span> too</p>')
    assert r'<span class="fc-joined"><span class="math">\(x\)</span>,</span> and' in page
    assert page.count("fc-joined") == 1


def test_test_markers_are_not_shown():
    code = '<div class="cell_input"><pre><span class="c1"># NBVAL_CHECK_OUTPUT</span>\n<span>f</span>\n</pre></div>'
    assert sphinx.polish(code) == '<div class="cell_input"><pre><span>f</span>\n</pre></div>'


def test_payloads_and_drawings_pass_unchanged():
    payload = json.dumps({"prompt": "a < b & c <\\/script> “ü” &amp;"})
    script = f'<script type="application/json">{payload}</script>'
    page = sphinx.polish(f'<div class="fc-question">{script}</div><svg viewBox="0 0 1 1"></svg>')
    assert script in page
    assert re.search(r'viewbox="0 0 1 1"', page, re.I)


def test_scripts_that_look_for_a_kernel_are_dropped():
    assert sphinx.polish("<script>kernelName = 'python3'</script><p>x</p>") == "<p>x</p>"


def test_contents_number_parts_and_show_the_sections_of_the_page():
    tree = (
        '<p class="caption"><span class="caption-text">Functions on the cube</span></p><ul>'
        '<li class="toctree-l1 current"><a class="current" href="#">1. Fourier</a></li>'
        '<li class="toctree-l1"><a href="n.html">Notation</a></li></ul>'
    )
    inner = '<ul><li><a href="#p">1.1. Parities</a><ul><li>x</li></ul></li></ul>'
    sections = f'<ul><li><a href="#">1. Fourier</a>{inner}</li></ul>'
    page = sphinx.contents(tree, sections)
    assert "Part I · Functions on the cube" in page
    assert '<a class="current" href="#"><span class="section-number">1 </span>Fourier</a><ul>' in page
    assert '<a href="#p"><span class="section-number">1.1 </span>Parities</a></li>' in page
    assert '<a href="n.html">Notation</a>' in page


def test_the_plan_is_in_order_and_says_what_each_chapter_is_about():
    rows = front.plan()
    numbers = [int(row["number"]) for row in rows]
    assert numbers == sorted({*numbers, *range(1, 19)})
    assert [row["numeral"] for row in rows[:18]] == ["I"] * 3 + ["II"] * 3 + ["III"] * 5 + ["IV"] * 7
    assert all(row["numeral"] for row in rows)
    for row in rows:
        assert row["slug"].startswith(f"{int(row['number']):02}-")
        assert row["title"] and row["blurb"].endswith((".", "?"))


def test_a_chapter_that_exists_speaks_for_itself(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "chapters").mkdir()
    (tmp_path / "data/plan.csv").write_text("number,slug,title,part,blurb\n1,01-a,Old,Old,Old.\n2,02-b,B,Later,Soon.\n")
    (tmp_path / "_toc.yml").write_text("parts:\n- caption: Now\n  chapters:\n  - file: chapters/01-a\n")
    (tmp_path / "chapters/01-a.md").write_text("---\nroom: toys\nblurb: Toys.\n---\n\n# A `toy`\n")
    first, second = front.plan(tmp_path / "data")
    assert (first["title"], first["part"], first["room"], first["numeral"]) == ("A toy", "Now", "toys", "I")
    assert (second["title"], second["part"], second["numeral"]) == ("B", "Later", "II")


def test_the_front_page_counts_grounds_and_every_claim_once():
    asked = SimpleNamespace(env=SimpleNamespace(note_reread=lambda: None), FAMILIES=front.LedgerCounts.FAMILIES)
    asked._ends = functools.partial(front.LedgerCounts._ends, asked)
    (part,) = front.LedgerCounts.run(asked)
    page = BeautifulSoup(part.astext(), "html.parser")
    counts = {row.a.get_text(): int(row.dd.get_text()) for row in page.select("dl > div")}
    assert counts.items() <= claims.grounds(claims.ledger()).items()
    assert sum(counts.values()) == len(claims.claims()) == int(page.b.get_text())
    wanted = {"tested", "same setting", "smaller scale", "stand-in data", "cannot be run here", "open"}
    assert wanted <= set(counts)
    for row in page.select("dl > div"):
        (asked_for,) = parse_qs(urlsplit(row.a["href"]).query)["ground"]
        assert asked_for == row.a.get_text()


def test_the_drawn_cube_shows_where_a_function_changes():
    for function, changing in [(cube.parity, 12), (cube.majority, 6), (cube.first, 4)]:
        drawing = front.picture(function(3), "a <label>")
        assert drawing.count("<path") == 12
        assert drawing.count("--change:1.00") == changing
        assert drawing.count('class="fc-minus"') == 4
        assert 'aria-label="a &lt;label&gt;"' in drawing
