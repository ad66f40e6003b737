"""Proofs in stages: the reader chooses the next step, puts steps in order, or spots the line that is false.

    proof("fourier-parseval", "Why do the squared coefficients add up to the mean of f²?", [
        choose("What is f², written out?", {"a double sum": "Yes …", "a single sum": "No …"}, answer="a double sum"),
        arrange("Put the steps in order.", {"Expand f².": "", "Take means.": "It takes the mean of what is expanded."}),
        spot("Which line is false?", {"line 1": "This holds, because …", "line 2": "Right: …"}, answer="line 2"),
    ], conclusion=["Expand f² into a double sum.", "Take the mean."])

A stage opens when the one before it is right, and the whole proof is shown at the end. All of it works on the page
without a kernel, in a running notebook as a form of ipywidgets, and as folds where there are no scripts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from flatcube import checks
from flatcube.classroom.questions import Question, bare, begun, fold, inline, judged, listed, shuffled

__all__ = ["Proof", "proof", "choose", "arrange", "spot", "untimely"]

Stage = dict[str, Any]

_FOLLOWS = "Right. Every step uses only what stands above it."


def choose(prompt: str, choices: Mapping[str, str], *, answer: str, weaker: str | Collection[str] = ()) -> Stage:
    """A stage: which of the ``choices`` comes next? Each has its feedback, as in a quick question. Shuffled."""
    checks.instance(choices, "choices", Mapping)
    return {"kind": "choose", "prompt": _words(prompt), "choices": listed(choices, answer, weaker=weaker)}


def arrange(prompt: str, steps: Mapping[str, str], *, needs: Mapping[int, Collection[int]] | None = None) -> Stage:
    """A stage: put the ``steps`` in order. They are given in a right order, and shown in another one.

    Each step is mapped to what it uses; that is said to whoever puts it too early. A step uses the one before it unless
    ``needs`` says otherwise: {4: (1, 2)} means that step 4, counted from 1, uses steps 1 and 2 and may stand anywhere
    after them. Every order in which no step comes before what it uses is right.
    """
    checks.instance(steps, "steps", Mapping)
    texts = list(steps)
    if len(texts) < 3:
        raise ValueError(f"steps: expected at least three, got {len(texts)}")
    uses = {at: {at - 1} - {0} for at in range(1, len(texts) + 1)}
    for at, earlier in (needs or {}).items():
        if at not in uses or not set(earlier) <= set(range(1, at)):
            raise ValueError(f"needs: a step uses earlier steps, counted from 1; got {{{at!r}: {earlier!r}}}")
        uses[at] = set(earlier)
    for at, text in enumerate(texts, 1):
        if uses[at] and not steps[text].strip():
            raise ValueError(f"steps: {text!r} uses an earlier step; say what it uses")
    rows = [
        {"text": inline(text), "feedback": inline(steps[text]), "needs": sorted(use - 1 for use in uses[at])}
        for at, text in enumerate(texts, 1)
    ]
    return {"kind": "arrange", "prompt": _words(prompt), "steps": rows}


def spot(prompt: str, lines: Mapping[str, str], *, answer: str) -> Stage:
    """A stage: which of the ``lines`` is false? They stay in order; each is mapped to its feedback."""
    checks.instance(lines, "lines", Mapping)
    return {"kind": "spot", "prompt": _words(prompt), "choices": listed(lines, answer)}


def proof(id: str, prompt: str, stages: Sequence[Stage], *, conclusion: str | Sequence[str]) -> Proof:
    """A proof that the reader makes, stage by stage; ``conclusion`` is the whole proof, as a text or in steps."""
    payload = begun("proof", id, prompt)
    if not stages:
        raise ValueError("stages: expected at least one of choose(…), arrange(…), spot(…), got none")
    steps = [conclusion] if isinstance(conclusion, str) else checks.several(conclusion, "conclusion", str, 1)
    payload["stages"] = [_shown(f"{id}/{at}", stage) for at, stage in enumerate(stages)]
    payload["conclusion"] = [_words(step, "conclusion") for step in steps]
    return Proof(payload, _fallback(payload))


def untimely(steps: Sequence[Mapping[str, Any]], given: Sequence[int]) -> int | None:
    """The place in the order ``given`` of the first step that stands before one it uses; None if the order is right."""
    for place, at in enumerate(given):
        if not set(steps[at]["needs"]) <= set(given[:place]):
            return place
    return None


def answered(stage: Stage, given: int | Sequence[int] | None) -> tuple[bool, str]:
    """Whether a stage is passed by the number of a choice or an order of its steps, and what it answers, in HTML."""
    if stage["kind"] != "arrange":
        return given is not None and stage["choices"][given]["right"], judged({**stage, "kind": "quick"}, given)
    place = untimely(stage["steps"], given)
    if place is None:
        return True, f"<p>{_FOLLOWS}</p>"
    step = stage["steps"][given[place]]
    return False, f"<p>Step {place + 1} comes too early: “{step['text']}” {step['feedback']}</p>"


class Proof(Question):
    """An element of a page; ``payload`` is what the site's script reads."""

    @cached_property
    def widget(self) -> Any:
        """The stages for a notebook that runs: the first one, and each other when the one before is right."""
        import ipywidgets

        stages = self.payload["stages"]
        box = ipywidgets.VBox([ipywidgets.HTML(f"<p><strong>Proof.</strong> {self.payload['prompt']}</p>")])

        def follow(at: int) -> None:
            last = ipywidgets.HTML(_whole(self.payload)) if at == len(stages) else _form(stages[at], at, follow)
            box.children = (*box.children, last)

        follow(0)
        return box


def _form(stage: Stage, at: int, follow: Any) -> Any:
    """One stage as a form; ``follow`` is called with the number of the next stage when this one is right."""
    import ipywidgets

    wide = {"layout": {"width": "auto"}}
    if stage["kind"] == "arrange":
        steps, places = stage["steps"], range(1, len(stage["steps"]) + 1)
        parts = [ipywidgets.Dropdown(options=places, value=k, description=bare(s["text"]), style={
            "description_width": "initial"}, **wide) for k, s in enumerate(steps, 1)]
    else:
        names = [(bare(choice["text"]), k) for k, choice in enumerate(stage["choices"])]
        parts = [ipywidgets.RadioButtons(options=names, value=None, **wide)]
    button, said = ipywidgets.Button(description="Check"), ipywidgets.HTML()

    def look(_: Any) -> None:
        given = parts[0].value
        if stage["kind"] == "arrange":
            if len({part.value for part in parts}) < len(parts):
                said.value = "<p>Give every step a place of its own.</p>"
                return
            given = sorted(range(len(parts)), key=lambda k: parts[k].value)
        right, said.value = answered(stage, given)
        if right:
            button.disabled = True
            follow(at + 1)

    button.on_click(look)
    return ipywidgets.VBox([ipywidgets.HTML(f"<p>Stage {at + 1}. {stage['prompt']}</p>"), *parts, button, said])


def _words(text: str, name: str = "prompt") -> str:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name}: expected a text in words, got {text!r}")
    return inline(text)


def _shown(id: str, stage: Stage) -> Stage:
    """The stage as the reader meets it: choices shuffled, steps in an order that is not right."""
    if not isinstance(stage, dict) or stage.get("kind") not in ("choose", "arrange", "spot"):
        raise TypeError(f"stages: expected choose(…), arrange(…) or spot(…), got {stage!r:.60}")
    if stage["kind"] == "choose":
        return stage | {"choices": shuffled(id, stage["choices"])}
    if stage["kind"] == "spot":
        return stage
    steps = stage["steps"]
    order = shuffled(id, range(len(steps)))
    if untimely(steps, order) is None:
        order.reverse()  # what uses something now stands before it
    if untimely(steps, order) is None:
        raise ValueError("steps: every order is right, as no step uses another")
    rows = [steps[at] | {"needs": sorted(map(order.index, steps[at]["needs"]))} for at in order]
    return stage | {"steps": rows, "right": [order.index(at) for at in range(len(steps))]}


def _whole(payload: Mapping[str, Any]) -> str:
    steps = payload["conclusion"]
    return f"<p><strong>The whole proof.</strong></p>{_items('ol', steps) if len(steps) > 1 else f'<p>{steps[0]}</p>'}"


def _items(tag: str, texts: Sequence[str]) -> str:
    return f"<{tag}>{''.join(f'<li>{text}</li>' for text in texts)}</{tag}>"


def _fallback(payload: Mapping[str, Any]) -> str:
    """The same proof without scripts: each stage with folds, the whole proof in the last."""
    parts = [f"<p><strong>Proof.</strong> {payload['prompt']}</p>"]
    for number, stage in enumerate(payload["stages"], 1):
        parts.append(f"<p>Stage {number}. {stage['prompt']}</p>")
        if stage["kind"] == "arrange":
            texts = [step["text"] for step in stage["steps"]]
            right = _items("ol", [texts[at] for at in stage["right"]])
            parts.append(_items("ul", texts) + fold("A right order", right))
        for at, choice in enumerate(stage.get("choices", [])):
            parts.append(fold(f"If you choose: {choice['text']}", answered(stage, at)[1]))
    parts.append(fold("The whole proof", _whole(payload)))
    return "".join(parts)
