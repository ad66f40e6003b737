"""The back matter keeps its promises: names on the notation page exist, entries of the bibliography are complete."""

import importlib
import re
from collections import Counter
from functools import cache
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
GREEK = (
    r"\\(?:var)?(?:alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|chi|psi"
    r"|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|ell)"
)
NUMBERS = {"i", "j", "e", r"\pi"}  # the page says so: what only counts is not listed, nor are two well-known numbers


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?!np\.)[A-Za-z_]+\.\w+)", NOTATION))))
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


@cache
def _chapter(number: int) -> str:
    """The text of a chapter without its code."""
    (chapter,) = CHAPTERS.glob(f"{number:02}-*.md")
    return re.sub(r"```.*?```", "", chapter.read_text(encoding="utf-8"), flags=re.DOTALL)


@cache
def _tokens(text: str) -> list[str]:
    """The tokens of all formulas in a text: commands, names in upright letters, single signs, without spaces."""
    formulas = "$".join(re.findall(r"\$\$.*?\$\$|\$[^$]+\$", text, flags=re.DOTALL))
    for bars, sign in {r"\\[lr]vert\b": "|", r"\\[lr]Vert\b": r"\\|", r"\\[,;! ]|\$": " "}.items():
        formulas = re.sub(bars, sign, formulas)
    upright = r"\\(?:text|mathrm|mathtt|operatorname|begin|end)\s*\{[^{}]*\}"
    found = re.findall(rf"{upright}|\\math(?:bb|cal)\s*\{{?[a-zA-Z]\}}?|\\[a-zA-Z]+|\\?\S", formulas)
    return [re.sub(r"\s", "", token) for token in found]


def _uses(tokens: list[str], symbol: str) -> bool:
    """Whether a symbol stands in formulas, not as a part of a longer name."""
    wanted = _tokens(f"${symbol}$")
    return any(tokens[k : k + len(wanted)] == wanted for k in range(len(tokens)))


def _letters(text: str) -> list[str]:
    """The letters in the formulas of a text, Latin and Greek, but for those in an index below."""
    formulas = " ".join(_tokens(text))
    below = r"_ (?:\{(?:[^{}]|\{[^{}]*\})*\}|\S+)"
    return re.findall(rf"(?<!\S)(?:[a-zA-Z]|{GREEK}|\\math(?:bb|cal)\S+)(?!\S)", re.sub(below, " ", formulas))


ROWS = re.findall(r"^\| (\$.*?) \|.*\| ([\d, –]+) \|$", NOTATION, flags=re.MULTILINE)


def _numbers(chapters: str) -> list[int]:
    spans = re.findall(r"(\d+)(?:–(\d+))?", chapters)
    return [number for first, last in spans for number in range(int(first), int(last or first) + 1)]


@pytest.mark.parametrize(("symbols", "chapters"), ROWS)
def test_the_chapters_of_a_symbol_use_it(symbols, chapters):
    for number in _numbers(chapters):
        tokens = _tokens(_chapter(number))
        assert any(_uses(tokens, symbol) for symbol in re.findall(r"\$([^$]+)\$", symbols)), number


def _unlisted(number: int, rows: list[tuple[str, str]]) -> set[str]:
    """Letters that come back in four sections of a chapter and begin no symbol that is listed for it."""
    sections = [Counter(_letters(section)) for section in re.split(r"^## ", _chapter(number), flags=re.MULTILINE)]
    travel = {letter for letter, uses in sum(sections, Counter()).items()
              if uses >= 5 and sum(letter in section for section in sections) >= 4}  # fmt: skip
    symbols = [symbol for cell, chapters in rows if number in _numbers(chapters)
               for symbol in re.findall(r"\$[^$]+\$", cell)]  # fmt: skip
    return travel - {letter for symbol in symbols for letter in _letters(symbol)[:1]} - NUMBERS


@pytest.mark.parametrize("number", range(1, 19))
def test_a_letter_that_travels_through_a_chapter_is_listed(number):
    assert not _unlisted(number, ROWS)


def test_the_symbols_are_found_by_a_rule_that_can_fail():
    assert len(ROWS) > 40
    tokens = _tokens(r"$\lvert S\rvert\le n_k$ and $\deg f$ and $XW_QW_K^\top$, $\mathrm{Tr}\,H$")
    assert all(_uses(tokens, symbol) for symbol in (r"\lvert S \rvert", "n_k", r"\deg f", "f", "W_K", r"\mathrm{Tr}H"))
    assert not any(_uses(tokens, symbol) for symbol in ("d", "k_n", r"\chi_S", "e", "T"))
    letters = _letters(r"one $\hat f(S)$, $\mathbb E_x\,\chi_{S_i}$, $\mathrm{as}(g)\le n_k2^{\lambda m}$")
    assert letters == ["f", "S", r"\mathbbE", r"\chi", "g", "n", r"\lambda", "m"]
    assert {"T", "m", "s"} <= _unlisted(14, [row for row in ROWS if not row[0].startswith(("$T", "$m", "$s"))])


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
    said = re.search(r"the\s+notebooks take (\d+) MB", (CHAPTERS / "hub.md").read_text(encoding="utf-8"))
    size = sum(path.stat().st_size for path in (CHAPTERS / "notebooks").glob("*.ipynb")) / 1e6
    assert float(said[1]) == pytest.approx(size, rel=0.2)
