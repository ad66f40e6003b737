"""Hints that give the answer away: code in a hint that stands, up to the names of variables, in the solution."""

import ast
import copy
import re

from flatcube.classroom.exercises import Exercise

__all__ = ["given_away"]

_STEPS = (ast.BinOp, ast.Call, ast.Compare, ast.BoolOp, ast.Subscript, ast.ListComp, ast.GeneratorExp)


class _Nameless(ast.NodeTransformer):
    """Variables without their names; the names of functions, methods and modules stay."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(node.id if node.id in ("np", "sum", "max", "min", "len", "range") else "_")

    def visit_Call(self, node: ast.Call) -> ast.Call:
        function = node.func if isinstance(node.func, ast.Name) else self.visit(node.func)
        return ast.Call(function, [self.visit(part) for part in node.args], [self.visit(key) for key in node.keywords])


def _normal(node: ast.AST) -> str:
    return ast.unparse(_Nameless().visit(copy.deepcopy(node)))


def _parsed(code: str) -> ast.expr | None:
    """The expression that `code` is or, for an assignment or a return, computes; None if it is no code."""
    try:
        (statement,) = ast.parse(code.strip().removeprefix("return ")).body
    except (SyntaxError, ValueError):
        return None
    return getattr(statement, "value", None)


def _steps(node: ast.AST) -> int:
    return sum(isinstance(part, _STEPS) for part in ast.walk(node))


def _secrets(task: Exercise) -> set[str]:
    """Every expression of two steps or more in the lines of the solution that the stub does not show."""
    shown = {line.strip() for line in task.stub().splitlines()}
    tree = ast.parse(task.code())
    lines = task.code().splitlines()
    hidden = {number for number, line in enumerate(lines, 1) if line.strip() not in shown}
    return {
        _normal(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and node.lineno in hidden and _steps(node) >= 2
    }


def given_away(task: Exercise) -> list[str]:
    """The pieces of code in the hints of an exercise that contain an expression of two steps of its solution."""
    secrets = _secrets(task)
    pieces = [piece for hint in task.hints for piece in re.findall(r"`([^`]*)`", hint)]
    found = []
    for piece in pieces:
        parsed = _parsed(piece)
        parts = {_normal(node) for node in ast.walk(parsed) if isinstance(node, ast.expr)} if parsed else set()
        found += [piece] * bool(parts & secrets)
    return found
