"""Notes of the ledger: what a test found, in words that cannot say something else than the test.

The note of a claim test is a sentence with two sorts of numbers. What the test *found* it returns, by name, and the
note has a place for it, such as ``{largest:.1f}``. What it was *given*, sizes and tolerances, stands in its code, and
`loose` finds the numbers of a note that stand nowhere there.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["filled", "loose", "slips"]

_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_NUMBER = re.compile(r"(?<![\w.^₀-₉√/])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w½⁰-⁹ⁿ])")


def filled(note: str, found: Mapping[str, object] | None) -> str:
    """The note with what the test found in its places.

    >>> filled("the largest of {count:,} is {largest:.2f}", {"count": 2000, "largest": 0.1234})
    'the largest of 2,000 is 0.12'
    """
    try:
        return note.format(**(found or {}))
    except KeyError as missing:
        raise ValueError(f"note: the test returns no {missing}, which its note names") from None


def slips(path: Path) -> list[str]:
    """The notes of a file with numbers that are neither found nor given by their test."""
    tree = _parsed(path, path.stat().st_mtime_ns)
    found = []
    for test in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for mark in filter(_is_claim, test.decorator_list):
            note = next((key.value for key in mark.keywords if key.arg == "note"), None)
            wrong = loose(ast.literal_eval(note), test, tree) if note is not None else []
            if wrong:
                found.append(f"{path.name}::{test.name}, {ast.literal_eval(mark.args[0])}: {', '.join(wrong)}")
    return found


def loose(note: str, test: ast.FunctionDef, tree: ast.Module) -> list[str]:
    """The numbers of a note that are no constants of the test, its helpers in the same file or the file's own."""
    given = _given(test, tree)
    text = re.sub(r"\{[^}]*\}", "", note)
    text = re.sub(r"10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)", lambda power: "1e" + power[1].translate(_RAISED), text)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return [number for number in _NUMBER.findall(text) if not any(_same(number, value) for value in given)]


def _same(number: str, value: float) -> bool:
    """Whether a number in words is a constant, that rounded, a per cent of it, its power of ten or the end of a "
    "range."""
    if "e" in number and float(number.partition("e")[2]) == value:
        return True
    alike, decimals = {value, -value, value - 1, 100 * value}, len(number.partition(".")[2])
    return float(number) in (alike | {round(value, decimals)} if decimals else alike)


@functools.lru_cache(maxsize=256)
def _parsed(path: Path, changed: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _is_claim(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "claim"


def _given(test: ast.FunctionDef, tree: ast.Module) -> set[float]:
    """All numbers in the code of a test and of what it uses from its file; its markers say nothing."""
    known = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    parts = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    parts += [node for node in test.decorator_list if not _is_claim(node)]
    left, seen = [test], {test.name}
    while left:
        node = left.pop()
        parts += [*node.body, node.args]
        for name in (part.id for part in ast.walk(node) if isinstance(part, ast.Name)):
            if name in known and name not in seen:
                seen.add(name)
                left.append(known[name])
    return {value for part in parts for node in ast.walk(part) for value in _values(node)}


def _values(node: ast.AST) -> set[float]:
    """The number that an expression is, if it is made of numbers only."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return {float(node.value)}
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.Mult, ast.Add, ast.Sub, ast.Div)):
        for one in _values(node.left):
            for other in _values(node.right):
                if isinstance(node.op, ast.Pow):
                    return {one**other} if abs(other) < 99 and one else set()
                return {{ast.Mult: one * other, ast.Add: one + other, ast.Sub: one - other}.get(type(node.op), one)}
    return set()
