"""The pages of claims and errata: short when opened, filtered with real keys and choices, reached by links to rows."""

import pytest

from flatcube.classroom import claims
from tests.browser.test_pages import findings

PAGE, ERRATA = "chapters/claims.html", "chapters/errata.html"
TALLEST = {1400: 5_000, 390: 7_000}  # pixels; with all rows in sight the pages had 53,000 and 18,000


@pytest.fixture
def ledger(open_page):
    with open_page(PAGE) as visit:
        yield visit.page


def _kept(page):
    """The ids of the rows that the form has left, seen or folded."""
    return set(page.locator("tr[data-words]:not([hidden])").evaluate_all("rows => rows.map(row => row.id.slice(6))"))


def _seen(page):
    return set(page.locator("tr[data-words]:visible").evaluate_all("rows => rows.map(row => row.id.slice(6))"))


def _said(page):
    return page.locator("form.fc-filter output").inner_text()


def _offset(page, row):
    """How far below the top of the window a row begins."""
    return page.locator(f"#{row}").evaluate("row => row.getBoundingClientRect().top")


def _holding_in_chapter_1():
    return {entry.claim.id for entry in claims.ledger() if 1 in entry.claim.chapters and entry.status == "holds"}


def test_all_claims_are_counted_and_folded_at_first(ledger):
    table = claims.claims()
    assert (_kept(ledger), _seen(ledger)) == (set(table), set())
    assert _said(ledger) == f"{len(table)} claims"


@pytest.mark.parametrize("width", TALLEST)
@pytest.mark.parametrize("name", [PAGE, ERRATA])
def test_a_page_is_short_until_asked_for_more(open_page, name, width):
    with open_page(name, width=width) as visit:
        page = visit.page
        assert page.evaluate("document.documentElement.scrollHeight") < TALLEST[width]
        page.get_by_role("button", name="Open all").click()
        assert page.locator("tr[data-words]:visible").count() == page.locator("tr[data-words]").count()
        assert page.evaluate("document.documentElement.scrollHeight") > TALLEST[width]
        page.get_by_role("button", name="Close all").click()
        assert _seen(page) == set()


def test_a_chapter_and_a_verdict_narrow_the_list(ledger):
    ledger.get_by_label("Chapter").select_option("1")
    ledger.get_by_label("Verdict").select_option("holds")
    expected = _holding_in_chapter_1()
    assert _seen(ledger) == _kept(ledger) == expected
    assert _said(ledger) == f"{len(expected)} of {len(claims.claims())} claims"
    assert not ledger.get_by_role("heading", name="ED: Edelman").is_visible()


def test_a_paper_and_what_our_runs_say_of_it(ledger):
    ledger.get_by_label("Paper").select_option("HR")
    paper = {e.claim.id for e in claims.ledger() if e.claim.source == "HR"}
    assert (_kept(ledger), _seen(ledger)) == (paper, set())  # too many to be opened
    ledger.get_by_label("Verdict").select_option("does not hold at our scale")
    rows = claims.measurements()
    assert _seen(ledger) == {key for key in paper if key in rows and rows[key].verdict == "differs"} != set()


def test_the_handle_of_a_fold_says_how_many_are_left(ledger):
    fold = ledger.locator("details.fc-group", has_text="Chapter 7").first
    total = fold.locator("tr[data-words]").count()
    before = fold.locator("summary > span").inner_text()
    assert before.startswith(f"{total} claims; ")
    ledger.get_by_label("Words or id").press_sequentially("hr-l9")
    left = fold.locator("tr[data-words]:not([hidden])").count()
    assert 0 < left < total
    assert fold.locator("summary > span").inner_text() == f"{left} of {before}"
    ledger.get_by_label("Words or id").fill("")
    assert fold.locator("summary > span").inner_text() == before
    assert _seen(ledger) == set()


def test_typed_words_must_all_occur(ledger):
    ledger.get_by_label("Words or id").press_sequentially("hr-eq17")
    assert _seen(ledger) == {"HR-EQ17"}
    ledger.get_by_label("Words or id").press_sequentially(" grokking")
    assert _kept(ledger) == set()


def test_a_question_in_the_address_is_asked_at_once(open_page):
    with open_page(f"{PAGE}?chapter=1&verdict=holds&chapters=9", from_file=True) as visit:
        assert visit.page.get_by_label("Chapter").input_value() == "1"
        assert _seen(visit.page) == _holding_in_chapter_1()


@pytest.mark.parametrize(
    ("name", "row", "width", "from_file"),
    [(PAGE, "claim-ED-A7", 390, False), (PAGE, "claim-HR-D2", 1400, True), (ERRATA, "erratum-60", 1400, False)],
)
def test_a_link_to_one_row_opens_its_fold_and_lands_on_it(open_page, name, row, width, from_file):
    with open_page(f"{name}#{row}", width=width, from_file=from_file) as visit:
        visit.page.wait_for_function("document.readyState === 'complete'")
        assert 0 <= _offset(visit.page, row) < 100
        assert visit.page.locator("details.fc-group[open]").count() == 1


def test_a_link_to_a_hidden_row_brings_it_back(ledger):
    ledger.get_by_label("Words or id").press_sequentially("hr-eq17")
    ledger.evaluate("location.hash = '#claim-ED-A7'")
    ledger.wait_for_function("document.getElementById('claim-ED-A7').checkVisibility()")
    assert 0 <= _offset(ledger, "claim-ED-A7") < 100
    assert ledger.get_by_label("Words or id").input_value() == ""


def test_folds_answer_the_keyboard(ledger):
    fold = ledger.locator("details.fc-group").first
    fold.locator("summary").first.focus()
    ledger.keyboard.press("Enter")
    assert len(_seen(ledger)) == fold.locator("tr[data-words]").count() > 0
    ledger.keyboard.press("Tab")
    assert fold.evaluate("fold => fold.contains(document.activeElement) && document.activeElement.matches('th a')")


def test_the_browser_finds_words_in_folds_but_not_in_rows_that_are_filtered_out(ledger):
    assert ledger.evaluate("window.find('How to check HR-TAB1')")
    ledger.get_by_label("Paper").select_option("ED")
    assert not ledger.evaluate("getSelection().removeAllRanges(), window.find('How to check HR-TAB1')")


@pytest.mark.parametrize("width", [390, 1400])
def test_no_word_leaves_the_page(open_page, width):
    with open_page(PAGE, width=width) as visit:
        visit.page.get_by_role("button", name="Open all").click()
        for name in ("How to check HR-TAB1", "How to check ED-S5-PROT"):
            visit.page.get_by_text(name, exact=True).click()
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_axe_finds_nothing_in_open_folds(open_page):
    for name in (PAGE, ERRATA):
        with open_page(name, width=390) as visit:
            visit.page.get_by_role("button", name="Open all").click()
            assert findings(visit.page) == []
