"""The back matter keeps its promises: names on the notation page exist, entries of the bibliography are complete."""

import importlib
import re
from pathlib import Path

import pytest
from pybtex.database import parse_file

from flatcube import cube

CHAPTERS = Path(__file__).parents[1] / "chapters"
NOTATION = (CHAPTERS / "notation.md").read_text(encoding="utf-8")
NEEDED = {
    "article": {"author", "title", "journal", "volume", "pages", "year", "keywords"},
    "inproceedings": {"author", "title", "booktitle", "year", "keywords"},
    "book": {"author", "title", "publisher", "year", "keywords"},
    "misc": {"author", "title", "year", "keywords"},
}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:cube|fourier|Spectrum)\.\w+)", NOTATION))))
def test_a_library_name_on_the_notation_page_exists(name):
    module, attribute = name.split(".")
    home = importlib.import_module(f"flatcube.{'fourier' if module == 'Spectrum' else module}")
    assert hasattr(home.Spectrum if module == "Spectrum" else home, attribute)


def test_the_table_of_indices_on_the_notation_page_is_the_library_s():
    rows = re.findall(r"^\| (\d) \| ([01 ]+) \| ([+− ]+) \| \$(.*?)\$ \|$", NOTATION, flags=re.MULTILINE)
    assert [int(row[0]) for row in rows] == list(range(8))
    signs = cube.points(3)
    for k, bits, point, members in rows:
        x = signs[int(k)]
        assert [int(b) for b in bits.split()] == cube.to_bits(x).tolist()
        assert [-1 if s == "−" else 1 for s in point.split()] == x.tolist()
        assert tuple(int(i) for i in re.findall(r"\d", members)) == cube.subset(int(k))


def _formulas(chapter: Path) -> str:
    """All formulas of a chapter, without spaces and with one way to write bars."""
    text = re.sub(r"```.*?```", "", chapter.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = " ".join(re.findall(r"\$\$.*?\$\$|\$[^$]+\$", text, flags=re.DOTALL))
    return _plain(found)


def _plain(formula: str) -> str:
    for command, sign in {"lvert": "|", "rvert": "|", "lVert": r"\|", "rVert": r"\|", ",": "", " ": ""}.items():
        formula = formula.replace("\\" + command, sign)
    return re.sub(r"(?<![a-zA-Z])\s+|\s+(?![a-zA-Z])", "", formula)


def _uses(formulas: str, symbol: str) -> bool:
    """Whether a symbol stands in formulas, not as a part of a longer name."""
    symbol = _plain(symbol)
    before = r"(?<![a-zA-Z\\])" if symbol[0].isalpha() else ""
    after = r"(?![a-zA-Z])" if symbol[-1].isalpha() else ""
    return bool(re.search(before + re.escape(symbol) + after, formulas))


ROWS = re.findall(r"^\| (\$.*?) \|.*\| ([\d, –]+) \|$", NOTATION, flags=re.MULTILINE)


@pytest.mark.parametrize(("symbols", "chapters"), ROWS)
def test_the_chapters_of_a_symbol_use_it(symbols, chapters):
    numbers = [range(int(a), int(b or a) + 1) for a, b in re.findall(r"(\d+)(?:–(\d+))?", chapters)]
    for number in (k for some in numbers for k in some):
        (chapter,) = CHAPTERS.glob(f"{number:02}-*.md")
        formulas = _formulas(chapter)
        assert any(_uses(formulas, symbol) for symbol in re.findall(r"\$([^$]+)\$", symbols)), number


def test_the_symbols_are_found_by_a_rule_that_can_fail():
    assert len(ROWS) > 40
    formulas = _plain(r"$\lvert S\rvert\le n_k$ and $\deg f$")
    assert all(_uses(formulas, symbol) for symbol in (r"\lvert S \rvert", "n_k", r"\deg f", "f"))
    assert not any(_uses(formulas, symbol) for symbol in ("d", "k_n", r"\chi_S", "e"))


def test_bibliography_entries_are_complete_and_each_is_in_one_list():
    entries = parse_file(str(CHAPTERS / "references.bib"), bib_format="bibtex").entries
    page = (CHAPTERS / "bibliography.md").read_text(encoding="utf-8")
    lists = re.findall(r'keywords % "(\w+)"', page)
    for key, entry in entries.items():
        fields = set(entry.fields) | set(entry.persons)
        assert NEEDED[entry.type] <= fields, key
        assert re.fullmatch(r"[a-z]+\d{4}[a-z]+", key)
        assert key[:-1].rstrip("abcdefghijklmnopqrstuvwxyz")[-4:] == entry.fields["year"]
        assert lists.count(entry.fields["keywords"]) == 1, key
    assert len(entries) >= 40


def test_the_page_for_hubs_knows_the_size_of_the_notebooks():
    said = re.search(r"the notebooks take (\d+) MB", (CHAPTERS / "hub.md").read_text(encoding="utf-8"))
    size = sum(path.stat().st_size for path in (CHAPTERS / "notebooks").glob("*.ipynb")) / 1e6
    assert float(said[1]) == pytest.approx(size, rel=0.2)
