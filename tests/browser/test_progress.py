"""A reader's answers across chapters, and those of a class: read from files, shown in the page, sent nowhere."""

import json

from flatcube.press import teaching
from tests.browser.test_pages import findings

KNOWN = {
    "a": {"page": "01-one", "chapter": "One", "prompt": "Is <em>x</em> even?",
          "choices": [{"text": "yes", "right": True}, {"text": "no, x<sub>1</sub>", "right": False}]},
    "b": {"page": "01-one", "chapter": "One", "prompt": "How many?", "choices": []},
    "c": {"page": "02-two", "chapter": "Two", "prompt": "Which?",
          "choices": [{"text": "this", "right": True}, {"text": "that", "right": False}]},
    "bank-d": {"page": "02-two", "chapter": "Two", "prompt": "Not on a page", "choices": []},
}  # fmt: skip


def exported(name: str, **pages) -> dict:
    """A file as a reader's browser writes it: page → id → (answer, right)."""
    answers: dict[str, dict] = {page: {} for page in pages}
    for page, rows in pages.items():
        for id, (said, right) in rows.items():
            answers[page][id] = {"kind": "quick", "answer": said, "right": right}
    text = json.dumps({"book": "Flat Minima on the Boolean Cube", "answers": answers})
    return {"name": name, "mimeType": "application/json", "buffer": text.encode()}


ANNA = exported("anna.json", **{"01-one": {"a": ("no, x1", False), "b": ("7", True)}, "02-two": {"c": ("this", True)}})
BERT = exported("bert.json", **{"01-one": {"a": ("no, x1", False), "b": ("8", False)}})
BROKEN = {"name": "broken.json", "mimeType": "application/json", "buffer": b"{"}


def test_a_reader_takes_answers_to_another_browser(workshop):
    with workshop(teaching.answers_of("own", KNOWN), from_file=True) as visit:
        page = visit.page
        assert page.locator("summary").all_inner_texts() == ["1 One: 0 of 2 answered", "2 Two: 0 of 1 answered"]
        page.locator("input[type=file]").set_input_files([ANNA, BROKEN])
        page.wait_for_selector("[role=status]:has-text('broken.json is no file of answers')")
        assert page.locator("summary").all_inner_texts()[0] == "1 One: 2 of 2 answered, 1 right"
        page.locator("summary").first.click()
        assert "no, x1 (not right)" in page.locator("details[open]").inner_text()
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        kept = json.loads(download.value.path().read_text(encoding="utf-8"))["answers"]
        assert kept == json.loads(ANNA["buffer"])["answers"]
        page.reload()
        page.wait_for_selector("summary:has-text('2 of 2 answered')")
        assert findings(page, but=["region", "page-has-heading-one", "color-contrast"]) == []


def test_a_class_shows_what_it_predicted_and_where_it_errs(workshop):
    with workshop(teaching.answers_of("class", KNOWN), from_file=True) as visit:
        page = visit.page
        page.locator("input[type=file]").set_input_files([ANNA, BERT, ANNA, BROKEN])
        page.wait_for_selector("[role=status]:has-text('2 readers. broken.json is no file of answers.')")
        assert page.locator("ol li").all_inner_texts() == [
            "Chapter 1: Is x even? 2 of 2 not right", "Chapter 1: How many? 1 of 2 not right",
        ]  # fmt: skip
        page.locator("summary").first.click()
        rows = [row.inner_text().split() for row in page.locator("details[open] tbody tr").all()]
        assert rows == [["✓", "yes", "0"], ["no,", "x1", "2"], ["✓", "7", "1"], ["8", "1"]]
        assert findings(page, but=["region", "page-has-heading-one", "color-contrast"]) == []
