"""A deck has the words of its page and no others, and leads back to it."""

import pytest
from bs4 import BeautifulSoup

from flatcube.press import decks

PAGE = """<html><head><meta charset="utf-8"><meta name="description" content="One & two."><link rel="stylesheet"
href="../_static/a.css"><link rel="stylesheet" href="../_static/cards.css"></head><body><article><p class="fc-eyebrow">
Part I</p><section id="top"><h1>2 Title<a class="headerlink" href="#top">#</a></h1><p>Why?</p>
<div class="goals admonition"><p class="admonition-title">You will</p><ol><li>see</li></ol></div>
<div class="cell"><div class="fc-question"><script>{"kind":"predict"}</script></div></div><p>After it.</p>
<section id="a"><h2><span class="section-number">2.1 </span>First</h2><p>The question, <a href="03-x.html#y">there</a>
and <a href="#thm">here</a>.</p><p>Second.</p><div class="proof theorem" id="thm">A theorem.</div><p>In words.</p>
<details class="proof fc-proof"><div class="math" id="e0">inside a proof</div></details><p>Before.</p>
<div class="math" id="e1">x = y</div><p>Not this.</p><pre>code()</pre><div class="math">no number</div>
<div class="cell"><div class="fc-figure" id="f"><p>Figure 2.1</p></div></div><p>How to read it.</p>
<section id="deeper"><h3>Deeper</h3><div class="proof definition" id="d">A definition.</div></section></section>
<section id="exercises"><h2>Exercises</h2><div class="fc-figure">hidden</div></section>
<section id="take-away"><h2>Take-away</h2><ol><li>All.</li></ol><p>Further.</p></section></section></article></body>"""


@pytest.fixture(scope="module")
def page():
    return BeautifulSoup(PAGE, "html.parser")


def slides(page, planned=None):
    made = BeautifulSoup(decks.deck(page, "02-two", planned), "html.parser")
    return [slide.get_text(" ", strip=True) for slide in made.select(".fc-slide")], made


def test_what_becomes_a_slide_and_in_which_order(page):
    found, _ = slides(page)
    assert found == [
        "Part I 2 Title One & two.", "You will see", "", "2.1 First The question, there and here .",
        "A theorem.", "x = y", "Figure 2.1", "A definition.", "Take-away All.",
    ]  # fmt: skip


def test_notes_are_what_the_page_says_around_a_slide_and_what_is_planned(page):
    _, made = slides(page, {"2.1": ["0–5 Ask <them>."]})
    notes = {s.select_one(".fc-slide").get_text()[:6]: s.select_one(".notes") for s in made.select("section > section")}
    said = {key: [p.get_text() for p in aside.select("p")] if aside else [] for key, aside in notes.items()}
    assert said["2.1 Fi"] == ["0–5 Ask <them>.", "Second."]
    assert said["A theo"] == ["In words."]
    assert said["x = y"] == ["Before."]
    assert said["Figure"] == ["How to read it."]


def test_links_lead_back_to_the_pages(page):
    _, made = slides(page)
    links = [link["href"] for link in made.select(".slides a")]
    assert links == ["../chapters/03-x.html#y", "../chapters/02-two.html#thm"]
    assert [link["href"] for link in made.select("link[rel=stylesheet]")][0] == "../_static/a.css"


def test_a_page_without_a_heading_is_refused():
    with pytest.raises(ValueError, match="without a heading"):
        decks.deck(BeautifulSoup("<article></article>", "html.parser"), "02-two")
