"""Numbers in the prose that come from the computation.

`glue("size", 2**12)` stores a number under a name in the cell's output; on the page, the role glue:text with that
name prints it. Nothing is shown under the cell, on the page or in JupyterLab, and nothing but IPython is needed.
"""

from __future__ import annotations

import numbers
from typing import Any

__all__ = ["glue"]

PREFIX = "application/papermill.record/"  # data under this prefix is kept for the prose and never shown
_DIGITS = ".4g"


def glue(name: str, value: Any, spec: str = "") -> None:
    """Keep ``value`` for the prose under ``name``, written as ``text(value, spec)``.

    >>> glue("half", 0.5)
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name: expected a word for the prose to refer to, got {name!r}")
    words = text(value, spec)
    try:
        from IPython.display import display
    except ImportError:  # a plain script: there is no prose to glue into
        return
    from IPython import get_ipython

    if get_ipython() is not None:
        data = {
            PREFIX + "text/plain": repr(words)
        }  # in quotes, or the page would read "0.50" as a number and print 0.5
        display(data, raw=True, metadata={"scrapbook": {"name": name, "mime_prefix": PREFIX}})


def text(value: Any, spec: str = "") -> str:
    """``value`` as it stands in a sentence: ``format(value, spec)`` with a real minus sign and no minus zero.

    Without ``spec``, a number that is not an integer gets four significant digits: the same on every machine, though
    the last digits of a computation may differ.

    >>> text(1 / 3), text(-2), text(1e6, ",.0f"), text(-0.0001, ".2f")
    ('0.3333', '−2', '1,000,000', '0.00')
    """
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()  # a numpy scalar
    rough = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
    try:
        words = format(float(value) if rough and not spec else value, spec or (_DIGITS if rough else ""))
    except (TypeError, ValueError):
        raise ValueError(f"spec: expected a format for a {type(value).__name__}, such as '.2f', got {spec!r}") from None
    if not isinstance(value, numbers.Number):
        return words
    if words.startswith("-") and not words.strip("-0.,%"):
        words = words[1:]
    return words.replace("-", "−")
