"""Explorers: interactive figures whose arithmetic runs in the page.

An explorer lives in its chapter's room, in files side by side: ``explorer.js``, an ES module that draws and computes
in the browser, and ``explorer.py``, which documents the state the two share (a small JSON), checks it, and says
through the library which numbers the page must show. The module imports only from ``kit.js``. What the entries
of the state may be is in ``explorer.json``, which both read; looks that no other explorer has are in ``explorer.css``.
It is called like its room. Small ones beside it stand in the room's folder ``explorers``: the files
``fourier/explorers/butterfly.*`` are the explorer "fourier.butterfly".

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
from urllib.parse import quote

from flatcube import cast, paths
from flatcube.classroom.explorers.schema import Schema
from flatcube.classroom.mime import ELEMENT as MIME
from flatcube.classroom.mime import checked_label
from flatcube.classroom.palette import MUTED

__all__ = ["MIME", "Explorer", "explorer", "names", "bundle", "classic", "stylesheet"]

_HERE = Path(__file__).parent
_IMPORT = re.compile(r"^import\s*\{([^}]*)\}\s*from\s*\"[./\w]*\bkit\.js\";$", re.MULTILINE)
_EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function|const|let|class)\b[\s*]+(\w+))", re.MULTILINE)
# what may stand in the place of a text (a table may be a list of numbers), a list or a number
_LIKE = {str: (str, list, tuple), list: (list, tuple), int: (int, float), float: (int, float)}
_DEFAULT = re.compile(r"^export\s+default\b", re.MULTILINE)
_MODULAR = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


class Explorer(ABC):
    """An interactive figure with one documented ``state``; a subclass per explorer.

    >>> explorer("cube", n=4).state["n"]
    4
    """

    name: ClassVar[str]  # by which the files are found: "fourier", or "fourier.butterfly" in its folder explorers
    label: ClassVar[str]  # what a screen reader calls the figure
    schema: ClassVar[Schema]  # of the state, from the JSON file beside the two
    content: ClassVar[Any] = None  # what one figure shows besides its state, where that differs from call to call
    height: ClassVar[str] = ""  # what the page keeps free until it is alive, such as "14rem"; 46rem if nothing is said
    figure = ""  # the label by which a chapter's text refers to it

    def __init__(self, **state: Any) -> None:
        self._state = self.complete(state)
        self._widget = None

    @classmethod
    def complete(cls, state: Mapping[str, Any]) -> dict[str, Any]:
        """The full state that starts from the default one; a ValueError says what is wrong with it."""
        return cls.clean(cls.schema.accept({**cls.schema.default, **cls.plain(state)}))

    @classmethod
    def plain(cls, state: Mapping[str, Any]) -> dict[str, Any]:
        """The same entries without numpy, if the explorer has them; those without a field are of the default's kind."""
        default = cls.schema.default
        if not isinstance(state, Mapping):
            raise ValueError(f"state: expected a mapping with entries such as {default}, got {state!r:.40}")
        for key, value in (found := dict(state)).items():
            if key not in default:
                raise ValueError(f"state: the explorer {cls.name!r} has no {key!r}; it has {', '.join(default)}")
            found[key] = value = value.tolist() if hasattr(value, "tolist") else value
            if key not in cls.schema and not isinstance(value, _LIKE.get(type(default[key]), object)):
                raise ValueError(f"{key}: expected something like {default[key]!r}, got {value!r:.60}")
        return found

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        """The same state in normal form, each entry being allowed; a ValueError says what does not go together."""
        return state

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
            self._widget = _widget_class(self.name)(state=self._state, content=self.content)
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
        payload |= {"figure": self.figure} if self.figure else {}
        payload |= {"height": self.height} if self.height else {}
        payload |= {} if self.content is None else {"content": self.content}
        return {
            MIME: payload,
            "text/html": f"{_image(self.picture(self.state), self.label)}<p>{html.escape(sentence)}</p>",
            "text/plain": sentence,
        }


def _image(picture: str, label: str) -> str:
    """An SVG picture as an image: of a drawing in HTML a notebook that is not trusted shows the words alone.

    An image knows nothing of the page's colours; its ink is legible on white and on black.
    """
    drawing = re.sub(r"var\(--[\w-]+, (#\w+)\)", r"\1", picture).replace("#222", MUTED).replace('"', "'")
    drawing = drawing.replace("<svg ", "<svg xmlns='http://www.w3.org/2000/svg' ", 1)
    address = quote(drawing, safe=" '/:=,.;()-+")
    return f'<img alt="{html.escape(label)}" src="data:image/svg+xml,{address}">' if picture else ""


def explorer(name: str, /, *, label: str = "", **state: Any) -> Explorer:
    """The explorer called ``name``, in its default state but for what ``state`` says.

    With a ``label`` such as "fig-cube" the text can refer to the figure, which the press numbers.
    """
    if not isinstance(name, str) or name not in names():
        raise ValueError(f"name: there is no explorer {name!r}; there are {', '.join(names())}")
    made = _kind(name)(**state)
    made.figure = checked_label(label)
    return made


def names() -> list[str]:
    """The names of all explorers."""
    return sorted(_scripts())


def bundle(name: str) -> str:
    """One self-contained ES module: the kit and the explorer, with anywidget's default export."""
    return f"{_joined(name)}\nexport default explorer;\n"


def classic(name: str) -> str:
    """The same as a classic script, which also loads from file://; it registers itself with the loader."""
    given = ", ".join([json.dumps(name), "explorer", *([json.dumps(looks)] if (looks := _looks(name)) else [])])
    return f"(() => {{\n{_joined(name)}\nwindow.flatcube.register({given});\n}})();\n"


def stylesheet(name: str) -> str:
    """The looks that all interactive elements share, and those of one explorer."""
    return (_HERE.parent / "site" / "elements.css").read_text(encoding="utf-8") + _looks(name)


def _looks(name: str) -> str:
    """The style sheet beside an explorer's script; many need none."""
    path = _scripts()[name].with_suffix(".css")
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _scripts() -> dict[str, Path]:
    """Where the scripts are, by the names of the explorers."""
    small = {f"{path.parts[-3]}.{path.stem}": path for path in paths.LIBRARY.glob("*/explorers/*.js")}
    found = {path.parent.name: path for path in paths.LIBRARY.glob("*/explorer.js")} | small
    return {name: path for name, path in found.items() if path.with_suffix(".py").exists()}


def _kind(name: str) -> type[Explorer]:
    inside = _scripts()[name].relative_to(paths.LIBRARY).with_suffix("")
    importlib.import_module(".".join(["flatcube", *inside.parts]))
    return next(kind for kind in Explorer.__subclasses__() if kind.name == name)


def _joined(name: str) -> str:
    path = _scripts()[name]
    kit, own = (script.read_text(encoding="utf-8") for script in (_HERE / "kit.js", path))
    kit = _put(_put(kit, "schema = {}", Schema.beside(path).rules()), "cast = []", cast.NAMES)
    if "stored" in _imported(own):
        kit = _put(kit, "stored = null", _kind(name).stored())
    return _join(kit, own)


def _put(kit: str, place: str, content: Any) -> str:
    """The kit with ``content`` in one of the places that it keeps for it."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return kit.replace(f"export const {place};", f"export const {place.split()[0]} = {text};")


def _imported(own: str) -> list[str]:
    """The names that a module imports from the kit."""
    return [part.split()[0] for names in _IMPORT.findall(own) for part in names.split(",") if part.strip()]


def _join(kit: str, own: str) -> str:
    """Both modules as one script without imports and exports, which leaves ``explorer`` in scope."""
    exported = ", ".join(_EXPORT.findall(kit))
    # the kit gets a scope of its own, so that an explorer may use any name it does not import
    scope = f"const kit = (() => {{\n{_EXPORT.sub('', kit)}\nreturn {{ {exported} }};\n}})();\n"
    joined = scope + _DEFAULT.sub("const explorer =", _IMPORT.sub(_destructured, own))
    if left := _MODULAR.search(joined):
        raise ValueError(f"script: expected imports from kit.js in braces and one default export, got {left[0]!r}")
    return joined


def _destructured(match: re.Match[str]) -> str:
    names = re.sub(r"\s+as\s+", ": ", match[1])
    return f"const {{{names}}} = kit;"


def _widget_class(name: str) -> type:
    """The anywidget class of an explorer; imported late, because only JupyterLab needs it."""
    import anywidget
    import traitlets

    class ExplorerWidget(anywidget.AnyWidget):
        _esm = bundle(name)
        _css = stylesheet(name)
        state = traitlets.Dict().tag(sync=True)
        content = traitlets.Any().tag(sync=True)

    ExplorerWidget.__name__ = name  # under the name of its class anywidget keeps one style sheet for the whole window
    return ExplorerWidget
