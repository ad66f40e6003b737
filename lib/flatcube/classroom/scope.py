"""Which names a piece of code needs from outside, and which it defines."""

from __future__ import annotations

import ast
from collections.abc import Iterable

__all__ = ["names"]

_INNER = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def names(source: str) -> tuple[set[str], set[str], set[str]]:
    """The names that a text uses from outside, those that it defines, and among these random number generators.

    What is surely defined before its use comes from inside. Uses inside functions count, since these are called some
    time, unless the text defines the name itself. In doubt a name counts: that is more than is needed, never less.

    >>> used, defined, _ = names("def double(x):\\n    return factor * x\\nn = 2\\ny = double(n)")
    >>> sorted(used), sorted(defined)
    (['factor'], ['double', 'n', 'y'])
    """
    tree = ast.parse(source)
    defined = _stored(_outside(tree))
    scan = _Scan(set())
    scan.all(tree.body)
    made = (node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _is_generator(node.value))
    drawn = {target.id for node in made for target in node.targets if isinstance(target, ast.Name)}
    return scan.used | scan.later - defined, defined, drawn


class _Scan(ast.NodeVisitor):
    """Reads code in the order in which it runs."""

    def __init__(self, sure: set[str]) -> None:
        self.sure = sure  # names that are surely defined by now
        self.used: set[str] = set()  # used although they are not
        self.later: set[str] = set()  # used inside functions, which run some time

    def all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def perhaps(self, *blocks: Iterable[ast.AST]) -> None:
        """Blocks that may or may not run: what they define is not sure afterwards."""
        for block in blocks:
            before, self.sure = self.sure, set(self.sure)
            self.all(block)
            self.sure = before

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.sure.add(node.id)
        elif node.id not in self.sure:
            self.used.add(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.all([node.value, *node.targets])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.all([node.annotation, node.value, node.target if node.value else None])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):  # it is read before it is written
            self.visit_Name(ast.Name(node.target.id, ast.Load()))
        self.all([node.value, node.target])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.all([node.value, node.target])

    def visit_For(self, node: ast.For) -> None:
        self.all([node.iter, node.target, *node.body])
        self.perhaps(node.orelse)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self.perhaps(node.body, node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit_If(node)

    def visit_Try(self, node: ast.Try) -> None:
        self.perhaps(node.body, *(handler.body for handler in node.handlers), node.orelse)
        self.all(handler.type for handler in node.handlers)
        self.all(node.finalbody)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.sure |= _stored([node])

    visit_ImportFrom = visit_Import

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        before, self.sure = self.sure, set(self.sure)
        for part in node.generators:
            self.all([part.iter, part.target, *part.ifs])
        self.all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.sure = before

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._body(node.args, [node.body], set())

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.all(node.decorator_list)
        ours = {name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names}
        self._body(node.args, node.body, _stored(_outside(node)) - ours)
        self.sure.add(node.name)

    def _body(self, given: ast.arguments, body: Iterable[ast.AST], own: set[str]) -> None:
        """The body of a function, in which its arguments and what it stores are its own."""
        self.all([*given.defaults, *given.kw_defaults])
        extra = [one for one in (given.vararg, given.kwarg) if one]
        own = own | {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *extra)}
        inside = _Scan(set(own))
        inside.all(body)
        self.later |= (inside.used | inside.later) - own

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.all([*node.decorator_list, *node.bases, *node.keywords])
        self.perhaps(node.body)
        self.sure.add(node.name)


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that assignments, definitions and imports among some nodes bind."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return found


def _outside(tree: ast.AST) -> Iterable[ast.AST]:
    """The nodes of a module or a function that are not inside a function, a class or a comprehension in it."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, _INNER):
            yield from _outside(node)


def _is_generator(value: ast.expr) -> bool:
    """Whether an expression makes a generator, whose numbers depend on who has drawn from it before."""
    return isinstance(value, ast.Call) and ast.unparse(value.func).endswith("default_rng")
