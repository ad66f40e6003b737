"""What every exercise has: an answer of our own, from whose source the stub and the folded solution are made."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = ["Task"]

TURN = "# your turn"  # a stub keeps the lines of the solution above this comment


@dataclass
class Task:
    """An exercise by its own answer, `solution`."""

    solution: Callable[..., Any]
    id: str
    title: str
    minutes: int
    difficulty: int  # 1 to 3
    verb: ClassVar[str] = "check"  # the function that takes the reader's answer

    @property
    def name(self) -> str:
        return self.solution.__name__

    @property
    def is_value(self) -> bool:
        return not inspect.signature(self.solution).parameters

    @property
    def heading(self) -> str:
        """The title of the exercise in the chapter, such as "Butterflies ●●○ 10 min"; the book numbers it."""
        return f"{self.title} {'●' * self.difficulty}{'○' * (3 - self.difficulty)} {self.minutes} min"

    @property
    def call(self) -> str:
        """How the reader hands the answer in."""
        return f'{self.verb}("{self.id}", {self.name})'

    def code(self) -> str:
        """The source of the solution: a function, or for a value the assignment to its name."""
        lines = self._lines()
        if self.is_value:
            result = ast.parse("\n".join(lines)).body[0].body[-1].value
            return f"{self.name} = {ast.get_source_segment(chr(10).join(lines), result)}"
        return "\n".join(line for line in lines if line.strip() != TURN)

    def stub(self) -> str:
        """What the chapter shows: the head of the solution, an ellipsis, and the call of the check."""
        if self.is_value:
            head = [f"{self.name} = ...  # {inspect.getdoc(self.solution)}"]
        else:
            lines = self._lines()
            turns = [number for number, line in enumerate(lines) if line.strip() == TURN]
            end = turns[0] if turns else ast.parse("\n".join(lines)).body[0].body[0].end_lineno
            head = [*lines[:end], lines[end].replace(lines[end].lstrip(), "...")]
        return "\n".join([*head, "", self.call])

    def _lines(self) -> list[str]:
        """The lines of the solution's source below its decorator."""
        source = textwrap.dedent(inspect.getsource(self.solution))
        return source.splitlines()[ast.parse(source).body[0].lineno - 1 :]
