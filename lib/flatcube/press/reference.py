"""The library reference: three directives that list public names where readers look for them.

`{rooms}` lists every name of every room's door, in the order of the house; `{experiments}` the modules with the
experiments of the chapters' rooms; `{library} flatcube.sampling` one more module. The order of the house is that of
import-linter's layers in `pyproject.toml`, so that a new room stands on the page at once.

Names are looked up through the doors of the imported library, as Sphinx's autodoc does; signatures and docstrings are
then read in the source that defines them. Those of autodoc serve readers less: it writes `Components` out as
`Sequence[tuple[Iterable[int], float]]` and `1 << 27` as 134217728, and takes docstrings for reStructuredText, which
ours, with x_i and |f|, are not.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import html
import importlib
import pkgutil
import posixpath
import re
import sys
import textwrap
import tomllib
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from flatcube import paths
from flatcube.classroom import exercises
from flatcube.press import front
from flatcube.press.rows import typeset

__all__ = ["order", "setup"]

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign

_WIDTH = 76  # characters of a line of code that fit on the page
_NO_LIBRARY = ("exercises", "explorer")  # of a room: what its chapter shows


def order(house: Path) -> list[str]:
    """The names of all rooms, in the order of imports that ``house``, a pyproject.toml, gives to import-linter."""
    contracts = tomllib.loads(house.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "house")
    names = re.findall(r"\w+", " ".join(reversed(layers)))
    return [name for name in names if (paths.LIBRARY / name / "__init__.py").is_file()]


# --- directives -------------------------------------------------------------------------------------------------------


class _Library(SphinxDirective):
    """`{library} flatcube.sampling` lists the public names of a module in reading order."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return self.sections(self.arguments)

    def sections(self, modules: list[str]) -> list[nodes.Node]:
        """A section for each of these modules, or an error on the page."""
        try:
            return [self.section(name) for name in modules]
        except (ImportError, AttributeError, LookupError) as error:  # a door that leads nowhere
            return [self.state.document.reporter.error(str(error), line=self.lineno)]

    def section(self, name: str) -> nodes.section:
        """The module's own words, then its public names."""
        module = importlib.import_module(name)
        section = nodes.section("", nodes.title("", name), ids=[name.replace(".", "-")], classes=["fc-library"])
        section += self.chapter(name.split(".")[1])
        section += _blocks(module.__doc__)
        section += [_entry(module, label) for label in module.__all__]
        return section

    def chapter(self, room: str) -> list[nodes.Node]:
        """A line that leads to the chapter of a room, if it has one."""
        numbers = {name: number for number, name in exercises.rooms().items()}
        rows = [row for row in front.plan(self.config.flatcube_data) if row["number"] == numbers.get(room)]
        return [nodes.raw("", f'<p class="fc-where">{self.link(row)}</p>', format="html") for row in rows]

    def link(self, row: dict[str, str]) -> str:
        words = f"Chapter {row['number']} · {html.escape(row['title'])}"
        name = posixpath.join(posixpath.dirname(self.env.docname), row["slug"])
        if name not in self.env.found_docs:
            return words
        address = self.env.app.builder.get_relative_uri(self.env.docname, name)
        return f'<a href="{html.escape(address)}">{words}</a>'


class _Rooms(_Library):
    """`{rooms}` lists every room that has a door, in the order of the house, with all of its names."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        rooms = [f"flatcube.{room}" for room in order(self.config.flatcube_house)]
        return self.sections([room for room in rooms if _has_door(room)])


class _Experiments(_Library):
    """`{experiments}` lists the modules of the chapters' rooms that hold experiments."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        rooms = takewhile(lambda room: room != "classroom", order(self.config.flatcube_house))
        return self.sections([name for room in rooms if room != "experiments" for name in _studies(f"flatcube.{room}")])


# --- what a room has --------------------------------------------------------------------------------------------------


def _has_door(room: str) -> bool:
    return hasattr(importlib.import_module(room), "__all__")


def _studies(room: str) -> list[str]:
    """The modules of a room that import `experiments`; if it has no door, all that it has beside its chapter's."""
    found = (module.name for module in pkgutil.iter_modules(importlib.import_module(room).__path__, f"{room}."))
    public = [name for name in found if not name.split(".")[-1].startswith(("_", *_NO_LIBRARY))]
    return [name for name in public if not _has_door(room) or "from flatcube.experiments" in _source(name)]


def _source(module: str) -> str:
    return ModuleAnalyzer.for_module(module).code


@functools.cache
def _definitions(module: str) -> dict[str, Definition]:
    """What the source of a module defines, by name."""
    found: dict[str, Definition] = {}
    for node in ast.parse(_source(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {part.id: node for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return found


def _place(module: ModuleType, label: str) -> str:
    """The module behind a door, or the module itself or one beside it, that defines what is there for ``label``."""
    thing, here = getattr(module, label), module.__name__
    room = here if hasattr(module, "__path__") else here.rpartition(".")[0]
    for name in (here, *sorted(name for name in sys.modules if name.startswith(f"{room}."))):
        if label in _definitions(name) and vars(sys.modules[name]).get(label) is thing:
            return name
    raise LookupError(f"{here}.{label}: no module of {room} defines it.")


# --- an entry ---------------------------------------------------------------------------------------------------------


def _entry(module: ModuleType, label: str) -> nodes.section:
    """One name: heading, signature, docstring, and for a class its public methods and properties."""
    place = _place(module, label)
    node, title = _definitions(place)[label], nodes.title("", "", nodes.literal(label, label))
    entry = nodes.section("", title, ids=[f"{module.__name__}.{label}"], classes=["fc-api"])
    if isinstance(node, ast.FunctionDef):
        entry += [_code(_call(label, _arguments(node), node.returns), "python"), *_blocks(ast.get_docstring(node))]
    elif isinstance(node, ast.ClassDef):
        entry += [_code(_call(label, _fields(getattr(module, label))), "python"), *_blocks(ast.get_docstring(node))]
        entry += _members(node)
    else:
        lines = _source(place).splitlines()[node.lineno - 1 : node.end_lineno]  # with the remark at its end
        entry += _code("\n".join(lines), "python")
    return entry


def _call(label: str, arguments: list[str], returns: ast.expr | None = None) -> str:
    """How a function or a class is called, with an argument to the line if one line is too short for it."""
    end = f") -> {ast.unparse(returns)}" if returns else ")"
    line = f"{label}({', '.join(arguments)}{end}"
    inside = "".join(f"    {argument},\n" for argument in arguments)
    return line if len(line) <= _WIDTH else f"{label}(\n{inside}{end}"


def _arguments(node: ast.FunctionDef) -> list[str]:
    """The arguments of a function as they were written, without `self`."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    words = [_argument(a, d) for a, d in zip(plain, defaults, strict=True)]
    if given.posonlyargs:
        words.insert(len(given.posonlyargs), "/")
    if given.vararg or given.kwonlyargs:
        words.append("*" + (_argument(given.vararg, None) if given.vararg else ""))
    words += [_argument(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    words += ["**" + _argument(given.kwarg, None)] if given.kwarg else []
    return [word for word in words if word != "self"]


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


def _fields(made: type) -> list[str]:
    """What makes an object of a class: the arguments of `__init__`, or the fields, also those of its ancestors."""
    ours = [_definitions(kind.__module__)[kind.__name__] for kind in made.__mro__ if kind.__module__[:9] == "flatcube."]
    for node in ours:
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                return _arguments(part)
    parts = [part for node in reversed(ours) for part in node.body if isinstance(part, ast.AnnAssign)]
    written = {ast.unparse(part.target): part for part in parts}
    if dataclasses.is_dataclass(made):
        taken = {field.name for field in dataclasses.fields(made) if field.init}
        written = {name: part for name, part in written.items() if name in taken}
    return [ast.unparse(part) for part in written.values()]


def _members(node: ast.ClassDef) -> list[nodes.Node]:
    found = [part for part in node.body if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")]
    rows = "".join(map(_member, found))
    return [nodes.raw("", f'<dl class="fc-members">{rows}</dl>', format="html")] if rows else []


def _member(node: ast.FunctionDef) -> str:
    """A method or property, with the first paragraph of its docstring."""
    decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
    words = node.name if decorators & {"property", "cached_property"} else f"{node.name}({', '.join(_arguments(node))})"
    first = (ast.get_docstring(node) or "").split("\n\n")[0]
    return f"<dt><code>{html.escape(words)}</code></dt><dd>{_inline(first)}</dd>"


# --- docstrings -------------------------------------------------------------------------------------------------------


def _blocks(text: str | None) -> list[nodes.Node]:
    """A docstring as nodes: paragraphs, lists, indented displays, and examples."""
    result: list[nodes.Node] = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(text or "").strip("\n")):
        if block.startswith(">>>"):
            result.append(_code(block, "pycon"))
        elif block.startswith("    "):
            result.append(_code(textwrap.dedent(block), "text"))
        elif block.startswith("- "):
            items = "".join(f"<li>{_inline(item)}</li>" for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:])
            result.append(nodes.raw("", f"<ul>{items}</ul>", format="html"))
        elif block.strip():
            result.append(nodes.raw("", f"<p>{_inline(block)}</p>", format="html"))
    return result


def _inline(text: str) -> str:
    """One paragraph of a docstring as HTML: code in backticks, emphasis in asterisks, indices and exponents.

    >>> _inline("c_S of ``table`` or `n`, *exact*, (f * g)(x)")
    'c<sub>S</sub> of <code>table</code> or <code>n</code>, <em>exact</em>, (f * g)(x)'
    """
    parts = re.split(r"(``?[^`]+``?)", " ".join(text.split()))
    for i, part in enumerate(parts):
        if part.startswith("`"):
            parts[i] = f"<code>{html.escape(part.strip('`'))}</code>"
        else:
            parts[i] = re.sub(r"(?<!\w)\*(?=\S)([^*]+?)(?<=\S)\*(?!\w)", r"<em>\1</em>", typeset(part))
    return "".join(parts)


def _code(text: str, language: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language=language)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("flatcube_house", Path(app.srcdir).parents[1] / "pyproject.toml", "env")
    app.add_directive("rooms", _Rooms)
    app.add_directive("experiments", _Experiments)
    app.add_directive("library", _Library)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
