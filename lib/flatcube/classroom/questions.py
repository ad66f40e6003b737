"""Quick questions and predictions: answered on the page, with feedback in words.

On the site a question is a form whose answers stay in the reader's browser. In a notebook that runs it is a form of
ipywidgets; in one that only lies there (GitHub) every choice is a fold that opens on its feedback, so that nothing
depends on scripts. Texts are plain, with `code` in backquotes and the tags <em>, <sub>, <sup>; everything else is shown
as it is typed. Choices are shown in an order that their question's id decides, so that the place of an answer tells
nothing and is the same on every machine.
"""

import hashlib
import html
import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from flatcube import checks
from flatcube.classroom.mime import ELEMENT as MIME
from flatcube.classroom.mime import TRIANGLE

__all__ = ["Question", "quick", "predict", "judged", "inline", "bare", "begun", "listed", "shuffled", "fold"]

Thing = TypeVar("Thing")

_TITLES = {"quick": "Quick question", "predict": "Predict first"}
_BUTTONS = {"quick": "Check", "predict": "Commit"}
_VERDICTS = {"quick": ("Not yet.", "Right."), "predict": ("Not what happens.", "As you predicted.")}
_WEAKER = "True, but weaker."


class Question:
    """An element of a page; ``payload`` is what the site's script reads."""

    def __init__(self, payload: dict[str, Any], fallback: str) -> None:
        self.payload = payload
        self.fallback = fallback

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        still = {MIME: self.payload, "text/html": self.fallback, "text/plain": bare(self.fallback)}
        if os.environ.get("FLATCUBE_PRESS") or self.payload["element"] != "question":
            return still  # a widget would carry random ids into the stored notebook
        return self.widget._repr_mimebundle_() | still

    @cached_property
    def widget(self) -> Any:
        """The form for a notebook that runs: choices or a number, a button, and what it answers."""
        import ipywidgets

        payload = self.payload
        prompt = ipywidgets.HTML(f"<p><strong>{_TITLES[payload['kind']]}.</strong> {payload['prompt']}</p>")
        if "choices" in payload:
            names = [(bare(choice["text"]), at) for at, choice in enumerate(payload["choices"])]
            given = ipywidgets.RadioButtons(options=names, value=None, layout={"width": "auto"})
        else:
            given = ipywidgets.Text(description="Your number", style={"description_width": "initial"})
        button = ipywidgets.Button(description=_BUTTONS[payload["kind"]])
        answer = ipywidgets.HTML()

        def tell(_: Any) -> None:
            value = given.value if "choices" in payload else _read(given.value)
            answer.value = judged(payload, value)
            given.disabled = button.disabled = value is not None and payload["kind"] == "predict"  # made once

        button.on_click(tell)
        return ipywidgets.VBox([prompt, given, button, answer])


def quick(
    id: str, prompt: str, choices: Mapping[str, str], *, answer: str, weaker: str | Collection[str] = ()
) -> Question:
    """A question to check one's understanding: ``choices`` maps each choice to the feedback it gets.

    They are shown in an order that ``id`` decides. ``weaker`` names choices that are true, but say less than the
    answer: whoever chooses one hears "True, but weaker." and its feedback.

    >>> quick("parity-degree", "The degree of PARITY on n bits?", {"1": "Each…", "n": "Yes…"}, answer="n").payload["id"]
    'parity-degree'
    """
    checks.instance(choices, "choices", Mapping)
    payload = begun("quick", id, prompt) | {"choices": shuffled(id, listed(choices, answer, weaker=weaker))}
    return Question(payload, _fallback(payload))


def predict(
    id: str,
    prompt: str,
    choices: Mapping[str, str] | Sequence[str] | None = None,
    *,
    answer: str | float,
    reveal: str,
    tolerance: float = 0.0,
    ordered: bool = False,
) -> Question:
    """A question to commit to before the next cell is read; then ``reveal`` says what that cell shows.

    Either ``choices`` (with feedback, if it is a mapping) and the right one as ``answer``, or no choices and a
    number as ``answer``, right within ``tolerance``. Choices are shuffled, unless they are ``ordered`` by nature: less,
    the same, more.
    """
    if not isinstance(reveal, str) or not reveal.strip():
        raise ValueError(f"reveal: say in words what the next cell shows, got {reveal!r}")
    payload = begun("predict", id, prompt) | {"reveal": inline(reveal)}
    if choices is not None:
        checks.instance(choices, "choices", (Mapping, list, tuple))
        given = choices if isinstance(choices, Mapping) else dict.fromkeys(choices, "")
        rows = listed(given, answer, silent=not isinstance(choices, Mapping))
        payload["choices"] = rows if checks.flag(ordered, "ordered") else shuffled(id, rows)
    else:
        checks.number(answer, "answer")
        checks.positive(tolerance, "tolerance", 0)
        payload["number"] = {"value": answer, "tolerance": tolerance}
    return Question(payload, _fallback(payload))


def judged(payload: Mapping[str, Any], given: float | None) -> str:
    """What a question answers to the number of a choice, or to a number; in HTML."""
    if given is None:
        advice = "Choose an answer first." if "choices" in payload else "Type a number, such as 0.75 or 3/4."
        return f"<p>{advice}</p>"
    if "choices" in payload:
        verdict, words = _verdict(payload["choices"][given], payload["kind"]), payload["choices"][given]["feedback"]
    else:
        number = payload["number"]
        right, words = abs(given - number["value"]) <= number["tolerance"] + 1e-12, ""
        verdict = _VERDICTS["predict"][right]
    return f"<p>{' '.join(filter(None, [verdict, words, payload.get('reveal', '')]))}</p>"


def _verdict(choice: Mapping[str, Any], kind: str) -> str:
    return _WEAKER if choice.get("weaker") else _VERDICTS[kind][choice["right"]]


def _read(text: str) -> float | None:
    """A decimal or a fraction, as readers type them; nothing if it is neither."""
    parts = text.replace("−", "-").replace(",", ".").split("/")
    try:
        value = float(parts[0]) / float(parts[1] if parts[1:] else 1)
    except (ValueError, ZeroDivisionError):
        return None
    return value if len(parts) <= 2 and math.isfinite(value) else None


def inline(text: str) -> str:
    """Plain text as HTML: escaped, but for `code` in backquotes and balanced <em>, <sub>, <sup>.

    >>> inline("`a<b` and x<sub>1</sub> <b>")
    '<code>a&lt;b</code> and x<sub>1</sub> &lt;b&gt;'
    """
    pieces = re.split(r"`([^`]*)`", checks.instance(text, "text", str))
    for at, piece in enumerate(pieces):
        pieces[at] = html.escape(piece, quote=False)
        if at % 2:
            pieces[at] = f"<code>{pieces[at]}</code>"
            continue
        for tag in ("em", "sub", "sup"):
            pieces[at] = re.sub(rf"&lt;{tag}&gt;(.*?)&lt;/{tag}&gt;", rf"<{tag}>\1</{tag}>", pieces[at])
    return "".join(pieces)


def begun(kind: str, id: str, prompt: str) -> dict[str, Any]:
    """The part of a payload that questions of all kinds have."""
    if not isinstance(id, str) or not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", id):
        raise ValueError(f"id: expected small letters, digits, '-' and '.', got {id!r}")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValueError(f"prompt: expected the question in words, got {prompt!r}")
    return {"element": "question", "kind": kind, "id": id, "prompt": inline(prompt)}


def listed(
    choices: Mapping[str, str], answer: Any, *, weaker: str | Collection[str] = (), silent: bool = False
) -> list[dict[str, Any]]:
    """The choices as they travel to the page, in the order given; only ``silent`` ones may have no feedback."""
    for words in (*choices, *choices.values()):
        checks.instance(words, "choices: every text", str)
    if len(choices) < 2:
        raise ValueError(f"choices: expected at least two, got {len(choices)}")
    if not isinstance(answer, str) or answer not in choices:
        raise ValueError(f"answer: expected one of the choices, got {answer!r}")
    lesser = {weaker} if isinstance(weaker, str) else set(weaker)
    if lesser - (set(choices) - {answer}):
        raise ValueError(f"weaker: expected choices other than the answer, got {weaker!r}")
    mute = [text for text, feedback in choices.items() if not feedback.strip()]
    if mute and not silent:
        raise ValueError(f"choices: {mute[0]!r} has no feedback; say why it is right or wrong")
    return [
        {"text": inline(text), "feedback": inline(feedback), "right": text == answer}
        | ({"weaker": True} if text in lesser else {})
        for text, feedback in choices.items()
    ]


def shuffled(id: str, things: Sequence[Thing]) -> list[Thing]:
    """The things in an order that hangs on ``id`` and on their number alone: the same for everybody, always.

    >>> shuffled("parity-degree", ["1", "n/2", "n"])
    ['1', 'n', 'n/2']
    """
    drawn = [hashlib.sha256(f"{id}/{at}".encode()).digest() for at in range(len(things))]
    return [things[at] for at in sorted(range(len(things)), key=drawn.__getitem__)]


def bare(text: str) -> str:
    """HTML as plain text: indices below and above the line where there are such letters, tags gone."""
    for tag, letters in (("sub", "₀₁₂₃₄₅₆₇₈₉"), ("sup", "⁰¹²³⁴⁵⁶⁷⁸⁹")):
        raised = str.maketrans("0123456789", letters)
        text = re.sub(rf"<{tag}>(\d+)</{tag}>", lambda match, raised=raised: match[1].translate(raised), text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def _fallback(payload: dict[str, Any]) -> str:
    """The same question without scripts: each choice unfolds into its feedback."""
    parts = [f"<p><strong>{_TITLES[payload['kind']]}.</strong> {payload['prompt']}</p>"]
    for choice in payload.get("choices", []):
        body = f"{_verdict(choice, payload['kind'])} {choice['feedback']}".strip()
        parts.append(fold(f"If you choose: {choice['text']}", f"<p>{body}</p>"))
    if "reveal" in payload:
        parts.append(fold("What happens", f"<p>{payload['reveal']}</p>"))
    return "".join(parts)


def fold(title: str, body: str) -> str:
    """A line that opens on ``body``, both in HTML."""
    return f"<details><summary {TRIANGLE}>{title}</summary>{body}</details>"
