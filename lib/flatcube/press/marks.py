"""Where the number of a claim is a quiet mark, and where it is a word of the sentence.

A claim or an erratum that closes a statement says nothing to someone who reads on: it becomes one small mark after the
sentence. Where the sentence needs it ("These are HR-L13 and HR-L15"), it stays as it is. The page and the readers'
notebook decide by the same rule, which looks at the words around: it sees a text in which every role is one ROLE.
"""

from __future__ import annotations

import re

__all__ = ["ROLE", "OPEN", "CLOSE", "settled"]

ROLE, OPEN, CLOSE = "\ue000", "\ue001", "\ue002"  # of Unicode's private use: no text has them

_RUN = re.compile(rf"{ROLE}(?:(?:\s*[,;]|\s+and)?\s*{ROLE})*")
_ENDS = re.compile(r"\s*(?:$|[.,;:!?)])")
# After these a sentence is not complete: what follows is its subject or object, not a remark.
_WANT = re.compile(
    r"\b(?:a|an|and|are|as|at|be|between|by|called|for|from|gives?|in|is|like|of|on|or|proves?|see|than|that|the|to"
    r"|under|uses?|was|were|with)$",
    re.IGNORECASE,
)


def settled(text: str) -> str:
    """The same text with each run of roles that can be a mark in OPEN and CLOSE, after the sign that ends its clause.

    A run of roles is quiet if it is alone in parentheses, if it closes a clause or follows its full stop; not after a
    word that wants more, after a colon, or where words go on.

    >>> settled(f"It holds ({ROLE}, {ROLE}).") == f"It holds.{OPEN}{ROLE}{ROLE}{CLOSE}"
    True
    >>> settled(f"These are {ROLE} and {ROLE}.") == f"These are {ROLE} and {ROLE}."
    True
    """
    done, at = "", 0
    for run in _RUN.finditer(text):
        before, after = done + text[at : run.start()], text[run.end() :]
        mark = f"{OPEN}{ROLE * run[0].count(ROLE)}{CLOSE}"
        if before.endswith("(") and after.startswith(")"):
            done, at = _put(before[:-1], mark, text, run.end() + 1)
        elif _closes(before, after):
            done, at = _put(re.sub(r"[,;]\s+$", "", before), mark, text, run.end())
        else:
            done, at = before + run[0], run.end()
    return done + text[at:]


def _closes(before: str, after: str) -> bool:
    """Whether a run between these words is a remark on a statement that is complete."""
    words = before.rstrip()
    if not words or words[-1] in "(:–—":
        return False
    if words[-1] in ".!?":
        return before == words or bool(re.match(r"\s*(?:$|[A-Z])", after))
    return bool(_ENDS.match(after)) and not _WANT.search(words)


def _put(before: str, mark: str, text: str, at: int) -> tuple[str, int]:
    """The words with the mark behind them, and behind the sign that follows; how far the text is used up."""
    before = before.rstrip()
    sign = text[at : at + 1] if text[at : at + 1] in tuple(".,;:!?") else ""
    return before + sign + mark, at + len(sign)
