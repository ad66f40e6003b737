"""The directives `{library}` and `{subjects}`: sections of the library reference, made from the source of modules.

Names come in the order of the module's `__all__`, with the signature as it was written and the docstring. The source
is read, not imported, so that the page needs neither torch nor any other package.
"""

from __future__ import annotations

import ast
import html
import importlib.util
import re
import textwrap
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from flatcube.press import front
from flatcube.press.ledger import typeset

__all__ = ["Module", "Subjects", "prose", "setup"]

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign


class Module(SphinxDirective):
    """`{library} flatcube.cube` lists the public names of a module in reading order."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            return [self.state.document.reporter.error(f"there is no module {name}.", line=self.lineno)]
        return [self.section(name, spec.origin)]

    def section(self, name: str, origin: str) -> nodes.section:
        """The module's own words, then its public names."""
        self.env.note_dependency(origin)
        source = Path(origin).read_text(encoding="utf-8")
        section = nodes.section("", nodes.title("", name), ids=[name.replace(".", "-")], classes=["fc-library"])
        section += _prose(ast.get_docstring(ast.parse(source)))
        for definition, label in _public(source):
            section += _entry(definition, source, f"{name}.{label}", label)
        return section


class Subjects(Module):
    """`{subjects}` lists the module of every chapter that the library has so far, in the order of the book."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # a new module belongs here at once
        names = dict.fromkeys(f"flatcube.{row['subject']}" for row in front.plan(self.config.flatcube_data))
        found = [(name, importlib.util.find_spec(name)) for name in names]
        sections = [self.section(name, spec.origin) for name, spec in found if spec and spec.origin]
        return [section for section in sections if section.next_node(nodes.container)]


def _public(source: str) -> list[tuple[Definition, str]]:
    """The definitions behind the names of `__all__`, in its order."""
    found: dict[str, Definition] = {}
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {part.id: node for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)}
    order = ast.literal_eval(found["__all__"].value) if "__all__" in found else []
    return [(found[label], label) for label in order if label in found]


def _entry(node: Definition, source: str, anchor: str, label: str) -> nodes.container:
    """One name: heading, signature, docstring, and for a class its public methods and properties."""
    heading = f'<h3 id="{html.escape(anchor)}"><code>{html.escape(label)}</code></h3>'
    entry = nodes.container("", nodes.raw("", heading, format="html"), classes=["fc-api"])
    entry += _code(_signature(node, source), "python")
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        entry += _prose(ast.get_docstring(node))
    if isinstance(node, ast.ClassDef):
        rows = [_member(member) for member in node.body if isinstance(member, ast.FunctionDef)]
        text = "".join(row for row in rows if row)
        if text:
            entry += nodes.raw("", f'<dl class="fc-members">{text}</dl>', format="html")
    return entry


def _member(node: ast.FunctionDef) -> str:
    """A public method or property, with the first paragraph of its docstring."""
    if node.name.startswith("_"):
        return ""
    decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
    words = node.name if decorators & {"property", "cached_property"} else f"{node.name}({', '.join(_arguments(node))})"
    first = (ast.get_docstring(node) or "").split("\n\n")[0]
    return f"<dt><code>{html.escape(words)}</code></dt><dd>{prose(first)}</dd>"


def _signature(node: Definition, source: str) -> str:
    if isinstance(node, ast.FunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        line = f"{node.name}({', '.join(_arguments(node))}){returns}"
        inside = "".join(f"    {part},\n" for part in _arguments(node))
        return line if len(line) <= 76 else f"{node.name}(\n{inside}){returns}"
    if isinstance(node, ast.ClassDef):
        fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
        made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
        return f"{node.name}({', '.join(_arguments(made[0]) if made else fields)})"
    return ast.get_source_segment(source, node) or ""


def _arguments(node: ast.FunctionDef) -> list[str]:
    """The arguments of a function as they were written, without `self`."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    words = [_argument(a, d) for a, d in zip(plain, defaults, strict=True) if a.arg != "self"]
    if given.vararg or given.kwonlyargs:
        words.append("*" + (_argument(given.vararg, None) if given.vararg else ""))
    words += [_argument(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return words + (["**" + _argument(given.kwarg, None)] if given.kwarg else [])


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


def _prose(text: str | None) -> list[nodes.Node]:
    """A docstring as nodes: paragraphs, indented displays, and examples."""
    result: list[nodes.Node] = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(text or "").strip("\n")):
        if block.startswith(">>>"):
            result.append(_code(block, "pycon"))
        elif block.startswith("    "):
            result.append(_code(textwrap.dedent(block), "text"))
        elif block.strip():
            result.append(nodes.raw("", f"<p>{prose(block)}</p>", format="html"))
    return result


def prose(text: str) -> str:
    """One paragraph of a docstring as HTML: code in backticks, emphasis in asterisks, indices and exponents.

    >>> prose("c_S of ``table``, *exact*")
    'c<sub>S</sub> of <code>table</code>, <em>exact</em>'
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
    app.add_directive("library", Module)
    app.add_directive("subjects", Subjects)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
