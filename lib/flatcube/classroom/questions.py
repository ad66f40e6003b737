"""Quick questions and predictions: answered on the page, with feedback in words.

On the site a question is a form whose answers stay in the reader's browser; elsewhere (JupyterLab, GitHub) every
choice is a fold that opens on its feedback, so that nothing depends on scripts. Texts are plain, with `code` in
backquotes and the tags <em>, <sub>, <sup>; everything else is shown as it is typed.
"""

import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from flatcube.classroom.mime import ELEMENT as MIME

__all__ = ["Question", "quick", "predict", "answers", "inline"]

_TITLES = {"quick": "Quick question", "predict": "Predict first"}


class Question:
    """An element of a page; ``payload`` is what the site's script reads."""

    def __init__(self, payload: dict[str, Any], fallback: str) -> None:
        self.payload = payload
        self.fallback = fallback

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        words = html.unescape(re.sub(r"<[^>]*>", " ", self.fallback))
        return {MIME: self.payload, "text/html": self.fallback, "text/plain": " ".join(words.split())}


def quick(id: str, prompt: str, choices: Mapping[str, str], *, answer: str) -> Question:
    """A question to check one's understanding: ``choices`` maps each choice to the feedback it gets.

    >>> quick("parity-degree", "The degree of PARITY on n bits?", {"1": "Each…", "n": "Yes…"}, answer="n").payload["id"]
    'parity-degree'
    """
    payload = _payload("quick", id, prompt) | {"choices": _choices(choices, answer)}
    return Question(payload, _fallback(payload))


def predict(
    id: str,
    prompt: str,
    choices: Mapping[str, str] | Sequence[str] | None = None,
    *,
    answer: str | float,
    reveal: str,
    tolerance: float = 0.0,
) -> Question:
    """A question to commit to before the next cell is read; then ``reveal`` says what that cell shows.

    Either ``choices`` (with feedback, if it is a mapping) and the right one as ``answer``, or no choices and a
    number as ``answer``, right within ``tolerance``.
    """
    if not isinstance(reveal, str) or not reveal.strip():
        raise ValueError(f"reveal: say in words what the next cell shows, got {reveal!r}")
    payload = _payload("predict", id, prompt) | {"reveal": inline(reveal)}
    if choices is not None:
        given = choices if isinstance(choices, Mapping) else dict.fromkeys(choices, "")
        payload["choices"] = _choices(given, answer, silent=not isinstance(choices, Mapping))
    elif isinstance(answer, bool) or not isinstance(answer, (int, float)) or not math.isfinite(answer):
        raise ValueError(f"answer: without choices, expected a finite number, got {answer!r}")
    elif not (isinstance(tolerance, (int, float)) and tolerance >= 0):
        raise ValueError(f"tolerance: expected a number ≥ 0, got {tolerance!r}")
    else:
        payload["number"] = {"value": answer, "tolerance": tolerance}
    return Question(payload, _fallback(payload))


def answers() -> Question:
    """The panel with the reader's answers; a page with questions gets one at its end by itself."""
    fallback = "<p>On the book's website, your answers are kept in your browser; here you can export or clear them.</p>"
    return Question({"element": "answers"}, fallback)


def inline(text: str) -> str:
    """Plain text as HTML: escaped, but for `code` in backquotes and balanced <em>, <sub>, <sup>.

    >>> inline("`a<b` and x<sub>1</sub> <b>")
    '<code>a&lt;b</code> and x<sub>1</sub> &lt;b&gt;'
    """
    pieces = re.split(r"`([^`]*)`", text)
    for at, piece in enumerate(pieces):
        pieces[at] = html.escape(piece, quote=False)
        if at % 2:
            pieces[at] = f"<code>{pieces[at]}</code>"
            continue
        for tag in ("em", "sub", "sup"):
            pieces[at] = re.sub(rf"&lt;{tag}&gt;(.*?)&lt;/{tag}&gt;", rf"<{tag}>\1</{tag}>", pieces[at])
    return "".join(pieces)


def _payload(kind: str, id: str, prompt: str) -> dict[str, Any]:
    if not isinstance(id, str) or not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", id):
        raise ValueError(f"id: expected small letters, digits, '-' and '.', got {id!r}")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValueError(f"prompt: expected the question in words, got {prompt!r}")
    return {"element": "question", "kind": kind, "id": id, "prompt": inline(prompt)}


def _choices(choices: Mapping[str, str], answer: Any, *, silent: bool = False) -> list[dict[str, Any]]:
    if len(choices) < 2:
        raise ValueError(f"choices: expected at least two, got {len(choices)}")
    if answer not in choices:
        raise ValueError(f"answer: expected one of the choices, got {answer!r}")
    mute = [text for text, feedback in choices.items() if not feedback.strip()]
    if mute and not silent:
        raise ValueError(f"choices: {mute[0]!r} has no feedback; say why it is right or wrong")
    return [
        {"text": inline(text), "feedback": inline(feedback), "right": text == answer}
        for text, feedback in choices.items()
    ]


def _fallback(payload: dict[str, Any]) -> str:
    """The same question without scripts: each choice unfolds into its feedback."""
    parts = [f"<p><strong>{_TITLES[payload['kind']]}.</strong> {payload['prompt']}</p>"]
    for choice in payload.get("choices", []):
        verdict = "Right." if choice["right"] else "Not yet."
        body = f"<p>{verdict} {choice['feedback']}</p>"
        parts.append(f"<details><summary>If you choose: {choice['text']}</summary>{body}</details>")
    if "reveal" in payload:
        parts.append(f"<details><summary>What happens</summary><p>{payload['reveal']}</p></details>")
    return "".join(parts)
