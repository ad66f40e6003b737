"""What a chapter may refer to."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from flatcube.classroom import claims
from flatcube.press import boxes, figures, notebook, symbols

__all__ = ["Book"]


@dataclass(frozen=True)
class Book:
    """What a chapter may refer to: the other chapters and pages, the bibliography, claims, and where the book is."""

    root: Path

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """The file `_config.yml`; a book may have none."""
        file = self.root / "_config.yml"
        return yaml.safe_load(file.read_text(encoding="utf-8")) or {} if file.exists() else {}

    @property
    def repository(self) -> str:
        """Its address, or nothing if none is set."""
        return (self.config.get("repository") or {}).get("url", "").rstrip("/")

    @property
    def site(self) -> str:
        """The address of the published site, or nothing if none is set."""
        return ((self.config.get("html") or {}).get("baseurl") or "").rstrip("/")

    @functools.cached_property
    def chapters(self) -> list[str]:
        return [chapter.stem for chapter in notebook.chapters(self.root)]

    @functools.cached_property
    def labels(self) -> dict[str, tuple[str, str]]:
        """Every labelled box and formula: its chapter and what it is called, such as "Theorem 1.2" or "(1.3)"."""
        found = {}
        for chapter in notebook.chapters(self.root):
            numbers = boxes.Numbers(int(chapter.stem[:2]))
            for source in (cell.source for cell in notebook.read(chapter).cells if cell.cell_type == "markdown"):
                for box in boxes.every(source):
                    found[box.options.get("label", "")] = chapter.stem, numbers.number(box)
                for label in filter(None, (formula["label"] for formula in boxes.FORMULA.finditer(source))):
                    found[label] = chapter.stem, f"({numbers.formula()})"
        return found

    @functools.cached_property
    def figures(self) -> dict[str, figures.Figure]:
        return figures.labelled(self.root)

    @functools.cached_property
    def symbols(self) -> dict[str, str]:
        return symbols.listed(self.root / "chapters")

    @functools.cached_property
    def bibliography(self) -> dict[str, Any]:
        from pybtex.database import parse_file

        return dict(parse_file(str(self.root / "chapters" / "references.bib"), bib_format="bibtex").entries)

    @functools.cached_property
    def claims(self) -> dict[str, claims.Claim]:
        return claims.claims(self.root / "data")

    @functools.cached_property
    def errata(self) -> dict[str, claims.Erratum]:
        return {str(erratum.number): erratum for erratum in claims.errata(self.root / "data")}

    def link(self, words: str, page: str) -> str:
        """A link to a page of the site, or the words alone as long as it has no address."""
        return f"[{words}]({self.site}/chapters/{page})" if self.site else words
