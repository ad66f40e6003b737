"""Figures with controls that need Python: alive where a kernel runs, one still picture elsewhere.

    interactive(draw, n=(2, 10), kind=["hard", "soft"], picture={"n": 6})

In JupyterLab this is an ipywidgets form. While the press executes the notebook, no control is made, because on the
site it would be dead: the call shows ``draw`` at the values of ``picture``, and one sentence on how to run it.
"""

import html
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Still", "interactive"]

Control = bool | str | int | float | tuple | Sequence | Mapping


class Still:
    """A function's default picture, followed by one sentence on how to make it move."""

    def __init__(self, function: Callable[..., Any], values: Mapping[str, Any]) -> None:
        self.function = function
        self.values = dict(values)

    @property
    def sentence(self) -> str:
        """What a reader without a kernel is told."""
        shown = ", ".join(f"{_label(name)} = {_said(value)}" for name, value in self.values.items())
        return f"Shown for {shown}. Run this cell in JupyterLab (make lab) to change these values."

    def _ipython_display_(self) -> None:
        from IPython.display import display

        picture = self.function(**self.values)
        if picture is not None:
            display(picture)
        words = {"text/html": f"<p><em>{html.escape(self.sentence)}</em></p>", "text/plain": self.sentence}
        display(words, raw=True)


def interactive(function: Callable[..., Any], *, picture: Mapping[str, Any] | None = None, **controls: Control) -> Any:
    """``function`` with a control for each argument; ``picture`` names the values it starts with.

    A control is (low, high) or (low, high, step) for a slider, a list or a mapping of names to values for a choice,
    a truth value for a box to tick, or a text. The function returns what is to be shown.
    """
    values = start(controls, picture or {})
    if os.environ.get("FLATCUBE_PRESS"):
        return Still(function, values)
    import ipywidgets

    form = ipywidgets.interactive(function, **controls)
    for control in form.kwargs_widgets:
        label = _label(control._kwarg)
        control.description, control.tooltip = label, label
        control.style.description_width = "initial"
        control.value = values[control._kwarg]
    return form


def start(controls: Mapping[str, Control], picture: Mapping[str, Any]) -> dict[str, Any]:
    """The value each control starts with: what ``picture`` says, else the middle of a slider or the first choice."""
    if not controls:
        raise ValueError("controls: expected at least one argument of the function, such as n=(2, 10), got none")
    for name in picture:
        if name not in controls:
            raise ValueError(f"picture: {name!r} is no control; the controls are {', '.join(controls)}")
    values = {name: _first(name, control) for name, control in controls.items()}
    for name, value in picture.items():
        if not _possible(controls[name], value):
            raise ValueError(f"picture: the control {name} = {controls[name]!r} cannot be {value!r}")
    return values | dict(picture)


def _first(name: str, control: Control) -> Any:
    if isinstance(control, (bool, str, int, float)):
        return control
    if isinstance(control, tuple) and len(control) in (2, 3) and all(isinstance(x, (int, float)) for x in control):
        low, high = control[:2]
        step = control[2] if len(control) == 3 else 1
        whole = all(isinstance(x, int) for x in control)
        return low + (high - low) // 2 // step * step if whole else low + (high - low) / 2
    if isinstance(control, Mapping) and control:
        return next(iter(control.values()))
    if isinstance(control, Sequence) and control:
        return control[0]
    raise ValueError(f"{name}: expected (low, high), (low, high, step), a list, a mapping or a value, got {control!r}")


def _possible(control: Control, value: Any) -> bool:
    if isinstance(control, tuple):
        return control[0] <= value <= control[1]
    if isinstance(control, Mapping):
        return value in control.values()
    if isinstance(control, (bool, str, int, float)):
        return isinstance(value, type(control))
    return value in control


def _label(name: str) -> str:
    return name.replace("_", " ")


def _said(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
