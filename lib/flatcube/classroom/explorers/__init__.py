"""Explorers: interactive figures whose arithmetic runs in the page.

An explorer lives in two files side by side: ``<name>.js``, an ES module that draws and computes in the
browser, and ``<name>.py``, which documents the state the two share (a small JSON), checks it, and says
through the library which numbers the page must show. The module imports only from ``kit.js``.

The same module has three homes. In JupyterLab it is mounted by anywidget, two-way with Python; in a stored
notebook it is a MIME bundle; on the site the press turns that bundle into an element which the loader mounts.
"""

import html
import importlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from flatcube.classroom.mime import ELEMENT as MIME

__all__ = ["MIME", "Explorer", "explorer", "names", "bundle", "classic", "stylesheet"]

_HERE = Path(__file__).parent
_IMPORT = re.compile(r"^import (\{[^}]*\}) from \"\./kit\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class) (\w+))", re.MULTILINE)
_DEFAULT = re.compile(r"^export default (.*);\n", re.MULTILINE)


class Explorer(ABC):
    """An interactive figure with one documented ``state``; a subclass per explorer.

    >>> explorer("cube", n=4).state["n"]
    4
    """

    name: ClassVar[str]  # of the two files
    label: ClassVar[str]  # what a screen reader calls the figure
    default_state: ClassVar[dict[str, Any]]

    def __init__(self, **state: Any) -> None:
        self._state = self.complete(state)
        self._widget = None

    @classmethod
    def complete(cls, state: Mapping[str, Any]) -> dict[str, Any]:
        """The full state that starts from the default one; a ValueError says what is wrong with it."""
        for key in state:
            if key not in cls.default_state:
                allowed = ", ".join(cls.default_state)
                raise ValueError(f"state: the explorer {cls.name!r} has no {key!r}; it has {allowed}")
        return cls.clean({**cls.default_state, **state})

    @classmethod
    @abstractmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        """The same state in normal form; a ValueError says what is wrong with it."""

    @classmethod
    @abstractmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        """What the page shows for ``state``, computed by the library: data-value → number or text."""

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """A still picture of ``state`` as SVG, for homes without scripts."""
        return ""

    @classmethod
    def stored(cls) -> Any:
        """What the page needs besides the state; a script that imports ``stored`` from the kit finds it there."""
        return None

    @property
    def state(self) -> dict[str, Any]:
        """The present state; in JupyterLab it follows the reader's hands, and may be assigned."""
        return dict(self._widget.state) if self._widget is not None else dict(self._state)

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        self._state = self.complete(state)
        if self._widget is not None:
            self._widget.state = self._state

    @property
    def widget(self) -> Any:
        """The live widget of JupyterLab, made when it is first needed."""
        if self._widget is None:
            self._widget = _widget_class(self.name)(state=self._state)
        return self._widget

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        still = self._still()
        if os.environ.get("FLATCUBE_PRESS"):  # a widget would carry random ids into the stored notebook
            return still
        live = self.widget._repr_mimebundle_(**kwargs)
        live = live[0] if isinstance(live, tuple) else live
        return {**still, **(live or {})}

    def _still(self) -> dict[str, Any]:
        sentence = f"{self.label}: run this cell to make it interactive."
        payload = {"element": "explorer", "name": self.name, "label": self.label, "state": self.state}
        return {
            MIME: payload,
            "text/html": f"{self.picture(self.state)}<p>{html.escape(sentence)}</p>",
            "text/plain": sentence,
        }


def explorer(name: str, /, **state: Any) -> Explorer:
    """The explorer called ``name``, in its default state but for what ``state`` says."""
    if name not in names():
        raise ValueError(f"name: there is no explorer {name!r}; there are {', '.join(names())}")
    return _kind(name)(**state)


def names() -> list[str]:
    """The names of all explorers."""
    return sorted(path.stem for path in _HERE.glob("*.js") if path.stem != "kit")


def bundle(name: str) -> str:
    """One self-contained ES module: the kit and the explorer, with anywidget's default export."""
    return f"{_joined(name)}\nexport default explorer;\n"


def classic(name: str) -> str:
    """The same as a classic script, which also loads from file://; it registers itself with the loader."""
    return f"(() => {{\n{_joined(name)}\nwindow.flatcube.register({json.dumps(name)}, explorer);\n}})();\n"


def stylesheet() -> str:
    """The looks of all interactive elements, for the site and for JupyterLab."""
    return (_HERE.parent / "site" / "elements.css").read_text(encoding="utf-8")


def _kind(name: str) -> type[Explorer]:
    importlib.import_module(f"{__name__}.{name}")
    return next(kind for kind in Explorer.__subclasses__() if kind.name == name)


def _joined(name: str) -> str:
    kit, own = ((_HERE / f"{stem}.js").read_text(encoding="utf-8") for stem in ("kit", name))
    if " stored," in _IMPORT.search(own)[1]:
        kit = kit.replace("stored = null", f"stored = {json.dumps(_kind(name).stored(), separators=(',', ':'))}")
    exported = ", ".join(_EXPORT.findall(kit))
    # the kit gets a scope of its own, so that an explorer may use any name it does not import
    scope = f"const kit = (() => {{\n{_EXPORT.sub('', kit)}\nreturn {{ {exported} }};\n}})();\n"
    return scope + _DEFAULT.sub(r"const explorer = \1;\n", _IMPORT.sub(r"const \1 = kit;\n", own))


def _widget_class(name: str) -> type:
    """The anywidget class of an explorer; imported late, because only JupyterLab needs it."""
    import anywidget
    import traitlets

    class ExplorerWidget(anywidget.AnyWidget):
        _esm = bundle(name)
        _css = stylesheet()
        state = traitlets.Dict().tag(sync=True)

    return ExplorerWidget
