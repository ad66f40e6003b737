"""The door of a room: the public names of a chapter's package, in reading order, each loaded on first use.

    __all__, __getattr__, __dir__ = door(__name__, {"transforms": ["transform", "inverse"], …})

So a chapter that needs only arithmetic does not wait for torch, and what replaces a name in its module replaces it
here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["door"]


def door(room: str, places: Mapping[str, Sequence[str]]) -> tuple[list[str], Callable[[str], Any], Callable[[], list]]:
    """The ``__all__``, ``__getattr__`` and ``__dir__`` of the package ``room``, from the names in its modules."""
    home = {name: f"{room}.{module}" for module, names in places.items() for name in names}

    def look_up(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"{room} has no {name!r}; it has {', '.join(home)}.")
        return getattr(importlib.import_module(home[name]), name)

    return list(home), look_up, lambda: sorted(home)
