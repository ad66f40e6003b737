"""How an exercise speaks: the answer of a check and the folded solution, in words first and in colour second."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

from flatcube.classroom.mime import TRIANGLE

__all__ = ["Feedback", "Folded"]

# The opening words, and the colour of the rule beside them: the theme's on the site, JupyterLab's own elsewhere.
_LOOK = {
    "right": ("Right.", "var(--fc-good, var(--jp-success-color1, currentColor))"),
    "wrong": ("Not yet.", "var(--fc-bad, var(--jp-error-color1, currentColor))"),
    "unfit": ("Before the mathematics:", "var(--fc-line, var(--jp-border-color1, currentColor))"),
    "open": ("Not answered yet.", "var(--fc-line, var(--jp-border-color1, currentColor))"),
    "unknown": ("Unknown.", "var(--fc-bad, var(--jp-error-color1, currentColor))"),
}


@dataclass(frozen=True)
class Feedback:
    """The answer of `check`: `status` is right, wrong, unfit (nothing to judge yet; no hint), open or unknown."""

    status: str
    text: str
    hint: str | None = None

    def __repr__(self) -> str:
        return f"{_LOOK[self.status][0]} {self.text}" + (f" Hint: {self.hint}" if self.hint else "")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        opening, colour = _LOOK[self.status]
        hint = f"<br><em>Hint:</em> {_inline(self.hint)}" if self.hint else ""
        style = f"border-left: 4px solid {colour}; padding: 0.2em 0.8em; margin: 0"
        body = f"<strong>{opening}</strong> {_inline(self.text)}{hint}"
        page = f'<p class="fc-check" data-status="{self.status}" role="status" style="{style}">{body}</p>'
        return {"text/html": page, "text/plain": repr(self)}


@dataclass(frozen=True)
class Folded:
    """A piece of code behind a line that opens it, the same in JupyterLab, on the site and on GitHub."""

    title: str
    code: str
    remark: str

    def __repr__(self) -> str:
        return f"{self.title}\n\n{self.code}\n\n{self.remark}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer

        code = highlight(self.code, PythonLexer(), HtmlFormatter(cssclass="highlight"))  # coloured by the site's theme
        title = f'<summary class="admonition-title" {TRIANGLE}>{html.escape(self.title)}</summary>'
        body = f'<details class="admonition solution fc-fold">{title}{code}<p>{_inline(self.remark)}</p></details>'
        return {"text/html": body, "text/plain": repr(self)}


def _inline(text: str) -> str:
    """Escaped text with `code` marked."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))
