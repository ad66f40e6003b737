"""What a chapter needs beside mathematics: charts, explorers, questions, exercises, numbers in the prose.

    from flatcube.classroom import check, explorer, figure, predict, quick
    from flatcube.classroom.glue import glue

Names load their module on first use, so that a chapter without charts does not wait for the chart library.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "figure": "charts",
    "quick": "questions",
    "predict": "questions",
    "answers": "questions",
    "check": "exercises",
    "interactive": "widgets",
    "explorer": "explorers",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"flatcube.classroom has no {name!r}; it has {', '.join(sorted(_HOME))}.")
    return getattr(importlib.import_module(f"flatcube.classroom.{_HOME[name]}"), name)
