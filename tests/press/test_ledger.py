"""The back matter in a small book: rows, links between chapters and rows, and what a wrong id does."""

import io
import json
import shutil

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from flatcube import fourier
from flatcube.classroom import claims
from flatcube.press.ledger import typeset
from flatcube.press.reference import prose

CONF = """
extensions = ["myst_parser", "flatcube.press.ledger"]
html_theme = "basic"
nitpicky = True
"""
PAGES = {
    "index": "# Book\n\n```{toctree}\nclaims\nerrata\n01-fourier\n```\n",
    "claims": "# Claims\n\n```{ledger}\n```\n",
    "errata": "# Errata\n\n```{errata}\n```\n",
    "01-fourier": "# Fourier\n\nSee {claim}`HR-EQ17, SP-D0` and {erratum}`13`.\n",
}


def _build(folder, pages, conf=""):
    """Build a book with these pages; return its pages as soups by name, and the warnings."""
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "conf.py").write_text(CONF + conf, encoding="utf-8")
    for name, text in pages.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    warnings = io.StringIO()
    with patch_docutils(source), docutils_namespace():
        app = Sphinx(source, source, folder / "html", folder / "trees", "html", status=None, warning=warnings)
        app.build()
    files = (folder / "html").glob("*.html")
    soups = {path.stem: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in files}
    return soups, warnings.getvalue()


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    pages, warnings = _build(tmp_path_factory.mktemp("book"), PAGES)
    assert warnings == ""
    return pages


def _by_id(page):
    return {tag["id"]: tag for tag in page.find_all(id=True)}


def test_every_claim_has_a_row_with_its_status_in_words(book):
    rows = _by_id(book["claims"])
    for entry in claims.ledger():
        row = rows[f"claim-{entry.claim.id}"]
        assert row.select_one(".fc-status").get_text() == entry.status == row["data-status"]
        assert entry.claim.location in row.get_text()


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


def test_all_links_inside_the_book_lead_somewhere(book):
    ids = {name: _by_id(page) for name, page in book.items()}
    for name, page in book.items():
        for link in page.select("td a[href*='#'], th a[href*='#']"):
            target, anchor = link["href"].split("#")
            assert anchor in ids[target.removesuffix(".html") or name], link


def test_the_filter_is_labelled_and_hidden_without_scripts(book):
    form = book["claims"].select_one("form.fc-filter")
    assert form.has_attr("hidden")
    assert all(field.find_parent("label").get_text(strip=True) for field in form.select("input, select"))


def test_a_link_to_nothing_is_a_warning(tmp_path):
    text = "# Book\n\n{claim}`HR-EQ99` and {erratum}`99`\n\n{erratum}`13`\n\n```{library} flatcube.nowhere\n```\n"
    _, warnings = _build(tmp_path, {"index": text})
    assert "HR-EQ99 is not an id of claims.csv" in warnings
    assert "99 is no number of errata.csv" in warnings
    assert "no page has the row erratum-13" in warnings
    assert "there is no module flatcube.nowhere" in warnings


def test_new_evidence_changes_the_page(tmp_path):
    data = shutil.copytree(claims.DATA, tmp_path / "data")
    conf = f"from pathlib import Path\nflatcube_data = Path({str(data)!r})\n"
    pages = {"index": "# Book\n\n```{ledger}\n```\n"}
    before, _ = _build(tmp_path, pages, conf)
    evidence = json.loads((data / "evidence.json").read_text(encoding="utf-8"))
    del evidence["HR-EQ17"]
    (data / "evidence.json").write_text(json.dumps(evidence), encoding="utf-8")
    after, _ = _build(tmp_path, pages, conf)
    assert [book["index"].find(id="claim-HR-EQ17")["data-status"] for book in (before, after)] == ["checked", "open"]


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


def test_the_library_reference_follows_the_plan_and_lists_public_names_in_reading_order(tmp_path):
    pages, warnings = _build(
        tmp_path, {"index": "# Library\n\n```{library} flatcube.cube\n```\n\n```{subjects}\n```\n"}
    )
    assert warnings == ""
    titles = [tag["id"] for tag in pages["index"].select("section > section")]
    assert titles[:2] == ["flatcube-cube", "flatcube-fourier"]
    assert len(titles) == len(set(titles))
    section = pages["index"].find(id="flatcube-fourier")
    assert [tag.get_text() for tag in section.select(".fc-api h3")] == fourier.__all__
    spectrum = section.find(id="flatcube.fourier.Spectrum").find_parent(class_="fc-api").get_text()
    assert "low_degree(degree: int)" in spectrum
    assert "_terms" not in spectrum


def test_docstrings_keep_code_and_emphasis():
    assert prose("A *table* of ``2**n`` or `n`, (f * g)(x), c_S") == (
        "A <em>table</em> of <code>2**n</code> or <code>n</code>, (f * g)(x), c<sub>S</sub>"
    )
