"""Views of chapters by turns: `make test` opens each chapter in one of them, `make test-views` in all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

__all__ = ["turns"]


def turns(chapters: Sequence[str], views: Iterable[str]) -> list[tuple[str, str]]:
    """Each chapter with one view, in turn, so that neighbours differ; with FLATCUBE_VIEWS=all each with every view."""
    views = list(views)
    if os.environ.get("FLATCUBE_VIEWS") == "all":
        return [(chapter, view) for chapter in chapters for view in views]
    return [(chapter, views[at % len(views)]) for at, chapter in enumerate(chapters)]
