"""Cards are made of what stands at the end of a link, and dealt to the pages that have the link."""

import pytest
from bs4 import BeautifulSoup, Tag

from flatcube.press import cards

LEDGER = """<table><tr id="claim-HR-EQ17"><th><a href="#claim-HR-EQ17">HR-EQ17</a><span class="fc-status fc-checked">
checked</span></th><td><p>as<sub>n</sub> is the mean degree, like <a href="#claim-SP-D0">SP-D0</a>.</p>
<p>Elsewhere</p></td></tr><tr id="erratum-13"><th><a href="#erratum-13">13</a><span class="fc-status">open</span></th>
<td><p>Page 2</p><p><b>Printed.</b> a</p><p><b>Right.</b> b</p><p>c</p></td></tr></table>"""


@pytest.fixture(scope="module")
def kept():
    return cards.gather(BeautifulSoup(LEDGER, "html.parser"), "chapters/claims")


def dealt(body: str, kept: dict, page: str = "chapters/01-one") -> tuple[BeautifulSoup, list[Tag]]:
    """The page with this text, below a link that is not of the text, and its cards."""
    text = cards.deal(f'<a href="claims.html#claim-HR-EQ17">x</a><main><article>{body}</article></main>', page, kept)
    done = BeautifulSoup(text, "html.parser")
    inside = done.template.decode_contents() if done.template else ""
    return done, BeautifulSoup(inside, "html.parser").find_all("div", recursive=False)


def test_a_claim_is_said_in_words_with_its_verdict_and_a_link(kept):
    page, [card] = dealt('<a class="fc-quiet" title="t" href="claims.html#claim-HR-EQ17"></a>', kept)
    link = page.select_one("main a[data-card]")
    assert link["data-card"] == "0" and not link.has_attr("title")
    assert (
        card.select_one("b").get_text() == "HR-EQ17" and card.select_one(".fc-checked").get_text().strip() == "checked"
    )
    assert "as<sub>n</sub> is the mean degree, like SP-D0." in str(card) and "Elsewhere" not in str(card)
    assert [a["href"] for a in card.select("a")] == ["claims.html#claim-HR-EQ17"]


def test_a_mark_for_several_has_one_card_for_all(kept):
    rows = "claims.html#claim-HR-EQ17 claims.html#erratum-13"
    _, [card] = dealt(f'<a class="fc-quiet" href="claims.html#claim-HR-EQ17" data-rows="{rows}"></a>', kept)
    assert [a["href"] for a in card.select("a")] == rows.split()
    assert [p.get_text() for p in card.select("section:last-child p")][1:3] == ["Printed. a", "Right. b"]


def test_two_links_to_one_place_share_a_card(kept):
    link = '<a href="claims.html#claim-HR-EQ17">HR-EQ17</a>'
    page, found = dealt(link * 2, kept)
    assert [a["data-card"] for a in page.select("main a[data-card]")] == ["0", "0"]
    assert len(found) == 1
    assert not page.select_one("a").has_attr("data-card")  # outside the text


@pytest.mark.parametrize(
    ("body", "page"),
    [
        ('<a href="claims.html#claims-hr">x</a>', "chapters/01-one"),
        ('<a href="claims.html">x</a>', "chapters/01-one"),
        ('<a href="other/claims.html#claim-HR-EQ17">x</a>', "chapters/01-one"),
        ('<a href="https://example.org/#claim-HR-EQ17">x</a>', "chapters/01-one"),
        ('<a href="#claim-HR-EQ17">x</a>', "chapters/claims"),
        ('<a class="headerlink" href="claims.html#claim-HR-EQ17">x</a>', "chapters/01-one"),
    ],
)
def test_all_other_links_stay_as_they_are(kept, body, page):
    done, found = dealt(body, kept, page)
    assert body in str(done) and not done.template


PAGE = """<div class="proof theorem admonition" id="thm-a"><p class="admonition-title">
<span class="caption-number">Theorem 1.1 </span> (Name)</p>
<div class="fc-body"><p id="p">It <a href="x">holds</a>.</p></div></div>
<div class="exercise admonition" id="ex-a"><p class="admonition-title"><span class="caption-number">Exercise 1.2 </span>
Try</p><p>Do it.</p></div>
<div class="math" id="equation-eq-a"><span class="eqno">(1.3)<a class="headerlink" href="#equation-eq-a">¶</a></span>
\\[a\\]</div>
<div class="fc-figure" id="fig-a" data-title="It grows"><p><b>Figure 1.4</b></p><div class="fc-chart"></div></div>
<table><tr id="symbol-1"><td><p>c</p></td><td><p>a size</p></td><td>3</td></tr></table>
<div class="citation" id="id5"><span class="label">[A]</span><p>Title.</p></div>"""


@pytest.mark.parametrize(
    ("place", "words", "link"),
    [
        ("thm-a", "Theorem 1.1 (Name) It holds.", "Go to Theorem 1.1"),
        ("ex-a", "Exercise 1.2 Try Do it.", "Go to Exercise 1.2"),
        ("equation-eq-a", "\\[a\\]", "Go to formula (1.3)"),
        ("fig-a", "Figure 1.4 It grows", "Go to Figure 1.4"),
        ("symbol-1", "c: a size", "Show it on the page Notation"),
        ("id5", "Title.", "Show it in the bibliography"),
    ],
)
def test_a_reference_shows_what_it_refers_to(place, words, link):
    kept = cards.gather(BeautifulSoup(PAGE, "html.parser"), "chapters/01-one")
    page, [card] = dealt(f'<a class="reference internal" href="01-one.html#{place}">x</a>', kept, "chapters/02-two")
    *said, last = card.section.find_all(recursive=False)
    assert " ".join(" ".join(part.get_text() for part in said).split()) == words
    assert last.a.get_text() == link and last.a["href"] == f"01-one.html#{place}"
    assert not card.select("[id], .headerlink, .eqno") and len(card.select("a")) == 1
