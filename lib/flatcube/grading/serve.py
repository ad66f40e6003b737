"""What runs in the sandbox: it executes the cells of a submission and answers calls. Whatever it says is not trusted.

One line of JSON in, one line out:
`{"ask": "cell", "source": …}`, `{"ask": "page", "cells": […]}`, `{"ask": "answer", "at": …, "source": …}`,
`{"ask": "takes", "name": …}` and `{"ask": "call", "name": …, "arguments": …}`.
"""

from __future__ import annotations

import builtins
import inspect
import json
import os
import traceback
from typing import Any

from flatcube.grading.plain import packed, unpacked

__all__ = ["serve"]


class Served:
    """The names that a submission has defined."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, "display": lambda *_: None}
        self.sheet: Any = None
        self.count = 0

    def cell(self, source: str) -> dict[str, Any]:
        self.count += 1
        lines = ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in source.split("\n")]
        exec(compile("\n".join(lines), f"<cell {self.count}>", "exec"), self.space)
        return {}

    def page(self, cells: list[list[str]]) -> dict[str, Any]:
        from flatcube.classroom.sheet import Sheet

        self.sheet = Sheet.of(map(tuple, cells))
        self.space = self.sheet.space
        return {}

    def answer(self, at: int, source: str) -> dict[str, Any]:
        done = self.sheet.run(at, source)
        return {"failed": ["Error", done["error"]]} if done["error"] else {}

    def takes(self, name: str) -> dict[str, Any]:
        """The parameters of a function: its names and kinds, or None if it does not tell."""
        if name not in self.space:
            return {"missing": True}
        thing = self.space[name]
        if not callable(thing):
            return {"value": packed(thing)}
        try:
            found = inspect.signature(thing).parameters.values()
        except (TypeError, ValueError):
            return {"parameters": None}
        return {"parameters": [[each.name, int(each.kind), each.default is not each.empty] for each in found]}

    def call(self, name: str, arguments: Any) -> dict[str, Any]:
        return {"value": packed(self.space[name](*unpacked(arguments)))}


def serve(read: Any, write: Any) -> None:
    """Answer the lines of one file in another, until it ends."""
    served = Served()
    for line in read:
        request = json.loads(line)
        try:
            said = getattr(served, request.pop("ask"))(**request)
        except BaseException as error:
            said = {"failed": [type(error).__name__, _words(error)]}
        write.write(json.dumps(said) + "\n")
        write.flush()
    os._exit(0)


def _words(error: BaseException) -> str:
    """The message of an error, in one line, with the line of the cell where it happened."""
    try:
        message = str(error).partition("\n")[0][:300]
        lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("<cell")]
        return f"{message} (line {lines[-1].lineno} of {lines[-1].filename[1:-1]})" if lines else message
    except BaseException:  # an error may be anything, its words too
        return "it gives no reason"
