"""The back matter in a small book: rows, links between chapters and rows, and what a wrong id does."""

import csv
import io
import json
import re
import shutil

import pytest

from flatcube.classroom import claims
from flatcube.press.rows import as_csv, typeset
from tests.press.small import build_pages

PAGES = {
    "index": "# Book\n\n```{toctree}\nclaims\nerrata\n01-fourier\n02-sensitivity\n```\n",
    "claims": "# Claims\n\n```{ledger}\n```\n",
    "errata": "# Errata\n\n```{errata}\n```\n",
    "01-fourier": "# Fourier\n\nSee {claim}`HR-EQ17, SP-D0` and {erratum}`13`.\n",
    "02-sensitivity": (
        "# Sensitivity\n\nIt *grows* ({claim}`HR-EQ17, SP-D0`, {erratum}`13`). So it does {claim}`HR-EQ17`.\n\n"
        "({claim}`HR-EQ17`)\n\n| claim | ours |\n|---|---|\n| {claim}`HR-EQ17`, {erratum}`13` | so ({claim}`SP-D0`) |\n"
    ),
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    pages, warnings = build_pages(tmp_path_factory.mktemp("book"), PAGES)
    assert warnings == ""
    return pages


def _by_id(page):
    return {tag["id"]: tag for tag in page.find_all(id=True)}


def test_every_claim_has_a_row_with_its_verdict_in_words(book):
    rows = _by_id(book["claims"])
    for entry in claims.ledger():
        row = rows[f"claim-{entry.claim.id}"]
        assert row.select_one(".fc-status").get_text() == entry.status == row["data-verdict"]
        assert entry.claim.location in row.get_text()


@pytest.mark.parametrize(("page", "noun"), [("claims", "claim"), ("errata", "errat")])
def test_rows_stand_folded_under_their_chapter_and_the_handle_counts_them(book, page, noun):
    folds = book[page].select("section > details.fc-group")
    assert sum(len(fold.select("tr[data-words]")) for fold in folds) == len(book[page].select("tr[data-words]")) > 50
    for fold in folds:
        rows, handle = fold.select("tr[data-words]"), fold.summary.get_text()
        chapter, tally = re.fullmatch(rf"Chapter (\d+) · .+ (\d+ {noun}.*)", handle).groups()
        total, *kinds = map(int, re.findall(r"^\d+|(?<=: )\d+", tally))
        assert total == sum(kinds) == len(rows)
        assert all(chapter in row["data-chapter"].split("|") for row in rows)
        assert not fold.has_attr("open")


def test_rows_stand_in_the_section_of_their_paper_and_ids_are_unique(book):
    ids = [tag["id"] for tag in book["claims"].find_all(id=True)]
    assert len(ids) == len(set(ids))
    for row in book["claims"].select("tr[data-words]"):
        assert row.find_parent("section")["id"] == f"claims-{row['id'].split('-')[1].lower()}"


def test_a_checked_claim_names_its_tests_and_the_mutations_they_fail_on(book):
    row = book["claims"].find(id="claim-HR-EQ17").get_text()
    for test in claims.evidence()["HR-EQ17"]:
        assert test.note in row
        assert all(mutation.sentence in row and mutation.replaces in row for mutation in test.mutations)
    boxes = book["claims"].select("#claim-HR-EQ17 pre")
    assert [box.get_text().partition("(")[0] for box in boxes] == [
        f"def {test.test.split('::')[1]}" for test in claims.evidence()["HR-EQ17"]
    ]
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)


def test_what_our_text_has_lost_is_not_called_printed(book):
    """SP-B5 and HR-D-SH carry tests whose errata accuse nobody; HR-L15 one that does."""
    row = {key: book["claims"].find(id=f"claim-{key}").get_text() for key in ("SP-B5", "HR-D-SH", "HR-L15")}
    assert "In one reading of our text: Logits" in row["SP-B5"] and "As printed" not in row["SP-B5"]
    assert "On what a remark is about: Noise" in row["HR-D-SH"] and "As printed" not in row["HR-D-SH"]
    assert "As printed: The factor" in row["HR-L15"]


def test_the_row_of_an_experiment_names_both_settings_and_the_command(book):
    row = book["claims"].find(id="claim-HR-F5b").get_text()
    entry = next(entry for entry in claims.ledger() if entry.claim.id == "HR-F5b")
    before, after = row.split("Our runs: ")
    assert "Settings in the paper" in before and entry.measurement.ours in before
    assert entry.measurement.statement[:40] in after
    assert "flatcube verify HR-F5b" in after


def test_the_whole_ledger_can_be_taken_along_as_a_table(book):
    assert book["claims"].select_one("a[download]")["href"] == "_static/ledger.csv"
    table = list(csv.DictReader(io.StringIO(as_csv(claims.DATA))))
    assert [(row["id"], row["verdict"]) for row in table] == [(e.claim.id, e.status) for e in claims.ledger()]


def test_the_errata_can_be_taken_along_and_stand_with_the_gravest_first(book):
    assert book["errata"].select_one("a[download]")["href"] == "_static/errata.csv"
    kinds = {str(erratum.number): list(claims.ERRATA).index(erratum.kind) for erratum in claims.errata()}
    for fold in book["errata"].select("details.fc-group"):
        order = [kinds[row["id"].removeprefix("erratum-")] for row in fold.select("tr[data-words]")]
        assert order == sorted(order)


def test_every_erratum_has_a_row_and_says_whether_it_is_shown(book):
    shown = {test.erratum for tests in claims.evidence().values() for test in tests}
    rows = _by_id(book["errata"])
    for erratum in claims.errata():
        row = rows[f"erratum-{erratum.number}"]
        assert row.select_one(".fc-status").get_text() == ("shown" if erratum.number in shown else "open")
        assert row.select_one(f'a[href="claims.html#claim-{erratum.claims[0]}"]')


def test_a_chapter_links_to_the_rows_and_the_rows_to_the_chapter(book):
    links = {link["href"]: link for link in book["01-fourier"].select("a.fc-claim")}
    assert list(links) == ["claims.html#claim-HR-EQ17", "claims.html#claim-SP-D0", "errata.html#erratum-13"]
    assert links["claims.html#claim-SP-D0"]["title"] == claims.claims()["SP-D0"].claim
    assert book["claims"].select_one('#claim-HR-EQ17 a[href="01-fourier.html"]')


def test_in_running_text_there_is_one_quiet_mark_after_the_sentence(book):
    page = book["02-sensitivity"]
    first, second, alone = page.select("p > a.fc-quiet")
    assert first["data-names"] == "HR-EQ17, SP-D0, erratum 13"
    rows = "claims.html#claim-HR-EQ17 claims.html#claim-SP-D0 errata.html#erratum-13"
    assert first["data-rows"] == rows and first["href"] == rows.split()[0]
    statuses = {entry.claim.id: entry.status for entry in claims.ledger()}
    assert first["aria-label"] == f"HR-EQ17, {statuses['HR-EQ17']}; SP-D0, {statuses['SP-D0']}; erratum 13"
    assert "fc-erratum" in first["class"] and f"fc-{claims.family(statuses['HR-EQ17'])}" in second["class"]
    assert [str(mark.previous_sibling) for mark in (first, second)] == [".", " So it does."]
    assert alone.parent["class"] == ["fc-marks"]


def test_in_a_table_the_ids_are_shown_in_full(book):
    cells = [cell.get_text() for cell in book["02-sensitivity"].select("td")]
    assert cells == ["HR-EQ17, erratum 13", "so (SP-D0)"]
    assert len(book["02-sensitivity"].select("td a.fc-claim")) == 3


def test_all_links_inside_the_book_lead_somewhere(book):
    ids = {name: _by_id(page) for name, page in book.items()}
    for name, page in book.items():
        for link in page.select("td a[href*='#'], th a[href*='#']"):
            target, anchor = link["href"].split("#")
            assert anchor in ids[target.removesuffix(".html") or name], link


def test_the_filter_is_labelled_and_hidden_without_scripts(book):
    for page in ("claims", "errata"):
        form = book[page].select_one("form.fc-filter")
        assert form.has_attr("hidden")
        assert all(field.find_parent("label").get_text(strip=True) for field in form.select("input, select"))


def test_a_link_to_nothing_is_a_warning(tmp_path):
    text = "# Book\n\n{claim}`HR-EQ99` and {erratum}`99`\n\n{erratum}`13`\n"
    _, warnings = build_pages(tmp_path, {"index": text})
    assert "HR-EQ99 is not an id of claims.csv" in warnings
    assert "99 is no number of errata.csv" in warnings
    assert "no page has the row erratum-13" in warnings


def test_new_evidence_changes_the_page(tmp_path):
    book = tmp_path / "book"
    data = shutil.copytree(claims.DATA, book / "data")
    shutil.copy(claims.DATA.parent / "_toc.yml", book)
    shutil.copytree(claims.DATA.parent / "chapters", book / "chapters", ignore=shutil.ignore_patterns("*.ipynb"))
    conf = f"flatcube_data = Path({str(data)!r})\n"
    pages = {"index": "# Book\n\n```{ledger}\n```\n"}
    before, _ = build_pages(tmp_path, pages, conf)
    evidence = json.loads((data / "evidence.json").read_text(encoding="utf-8"))
    del evidence["HR-EQ17"]
    (data / "evidence.json").write_text(json.dumps(evidence), encoding="utf-8")
    after, _ = build_pages(tmp_path, pages, conf)
    assert [book["index"].find(id="claim-HR-EQ17")["data-verdict"] for book in (before, after)] == ["holds", "open"]


def test_a_row_whose_formula_we_could_not_read_says_so_in_sight(book):
    for claim in claims.claims().values():
        if "formula missing" in claim.settings:
            row = book["claims"].find(id=f"claim-{claim.id}")
            (said,) = (part for part in row.find_all("p") if "formula missing" in part.get_text())
            assert said.find_parent("details") == row.find_parent("details")  # only the fold of its chapter


def test_a_claim_without_a_verdict_gives_its_reason(book):
    for entry in claims.ledger():
        if entry.reason and entry.status == entry.reason.verdict:
            assert entry.reason.reason in book["claims"].find(id=f"claim-{entry.claim.id}").get_text()


def test_a_test_that_is_gone_turns_its_row_to_open_and_fails_the_build(tmp_path):
    book = tmp_path / "book"
    data = shutil.copytree(claims.DATA, book / "data")
    shutil.copy(claims.DATA.parent / "_toc.yml", book)
    for name in ("chapters", "tests"):
        ignored = shutil.ignore_patterns("*.ipynb", "__pycache__")
        shutil.copytree(claims.DATA.parent / name, book / name, ignore=ignored)
    conf = f"flatcube_data = Path({str(data)!r})\n"
    pages = {"index": "# Book\n\n```{ledger}\n```\n"}
    (only,) = (test.test for test in claims.evidence()["SP-L19"])
    path = book / only.partition("::")[0]
    path.write_text(path.read_text(encoding="utf-8").replace(f"def {only.partition('::')[2]}(", "def test_other("))
    after, warnings = build_pages(tmp_path, pages, conf)
    assert after["index"].find(id="claim-SP-L19")["data-verdict"] == "open"
    assert f"SP-L19: its test {only} is gone" in warnings  # and warnings are errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as_n(f) ≤ n^(1/4)", "as<sub>n</sub>(f) ≤ n<sup>1/4</sup>"),
        ("n^(2−(d−1)ζ/L)", "n<sup>2−(d−1)ζ/L</sup>"),
        ("(n_s,n_f) = (3,5)", "(n<sub>s</sub>,n<sub>f</sub>) = (3,5)"),
        ("t_{t+1} and B_X²", "t<sub>t+1</sub> and B<sub>X</sub>²"),
        ("a < b", "a &lt; b"),
        ("as HR-TAB1; not HR-ZZ", 'as <a href="#claim-HR-TAB1">HR-TAB1</a>; not HR-ZZ'),
    ],
)
def test_plain_text_is_typeset(text, expected):
    assert typeset(text, ["HR-TAB1"]) == expected
