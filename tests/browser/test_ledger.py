"""The filter on the page of claims, with real keys and a real choice."""

import pytest

from flatcube.classroom import claims

PAGE = "chapters/claims.html"


@pytest.fixture
def ledger(open_page):
    with open_page(PAGE) as visit:
        yield visit.page


def _shown(page):
    return set(page.locator("tr[data-words]:visible").evaluate_all("rows => rows.map(row => row.id.slice(6))"))


def test_all_claims_are_shown_and_counted_at_first(ledger):
    table = claims.claims()
    assert _shown(ledger) == set(table)
    assert ledger.locator("form.fc-filter output").inner_text() == f"{len(table)} claims"


def test_a_chapter_and_a_status_narrow_the_list(ledger):
    ledger.get_by_label("Chapter").select_option("1")
    ledger.get_by_label("Status").select_option("checked")
    expected = {e.claim.id for e in claims.ledger() if 1 in e.claim.chapters and e.status == "checked"}
    assert _shown(ledger) == expected
    total = len(claims.claims())
    assert ledger.locator("form.fc-filter output").inner_text() == f"{len(expected)} of {total} claims"
    assert not ledger.get_by_role("heading", name="ED: Edelman").is_visible()


def test_typed_words_must_all_occur(ledger):
    ledger.get_by_label("Words or id").press_sequentially("hr-eq17")
    assert _shown(ledger) == {"HR-EQ17"}
    ledger.get_by_label("Words or id").press_sequentially(" grokking")
    assert _shown(ledger) == set()


def test_a_link_to_a_hidden_row_brings_it_back(ledger):
    ledger.get_by_label("Words or id").press_sequentially("hr-eq17")
    ledger.evaluate("location.hash = '#claim-ED-A7'")
    ledger.wait_for_function("document.getElementById('claim-ED-A7').hidden === false")
    assert ledger.locator("#claim-ED-A7").is_visible()


@pytest.mark.parametrize("width", [390, 1400])
def test_no_word_leaves_the_page(open_page, width):
    with open_page(PAGE, width=width) as visit:
        for name in ("How to check HR-TAB1", "How to check ED-S5-PROT"):
            visit.page.get_by_text(name, exact=True).click()
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
