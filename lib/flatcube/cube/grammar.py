"""Reading and evaluating Boolean formulas such as ``x1 & (x2 ^ ~x3)``.

The grammar, weakest operator first (the explorers in the browser implement the same one)::

    formula  = xors   { ("|" | "or")  xors }
    xors     = ands   { ("^" | "xor") ands }
    ands     = not    { ("&" | "and") not }
    not      = { "~" | "not" } atom
    atom     = "0" | "1" | variable | "maj" "(" formula { "," formula } ")" | "(" formula ")"
    variable = "x" number          with number = 1, 2, 3, … and no leading zero

Blanks (space, tab, line ends, no-break space) separate tokens and mean nothing else. Letters and
digits are those of ASCII; words may be written in capitals; ``maj`` is true if more than half of
its arguments are. Operators of one kind group to the left. Parentheses may be nested 100
deep, and a formula may have 100,000 characters.
"""

import re
from functools import reduce
from typing import NamedTuple

import numpy as np

from flatcube import checks

__all__ = ["Node", "parse", "variables"]

_DEEPEST = 100  # far beyond what a person types, far below Python's recursion limit
_LONGEST = 100_000  # characters; reading them takes a second

_BLANKS = " \t\n\r\f\v\u00a0"
_TOKEN = re.compile(
    rf"[{_BLANKS}]*"
    rf"(?:(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9]+)|(?P<sign>[~&^|(),])|(?P<other>[^{_BLANKS}]))"
)
_LEVELS = (("or", "|"), ("xor", "^"), ("and", "&"))  # weakest first
_ATOM = "a variable such as x1, 0, 1, ~, maj or ("


class Node(NamedTuple):
    """One node of a parsed formula: ``kind`` is or, xor, and, not, maj, variable or constant.

    ``parts`` holds the operands; ``number`` is i for the variable x_i, and 0 or 1 for a constant.
    """

    kind: str
    parts: tuple["Node", ...] = ()
    number: int = 0


class _Token(NamedTuple):
    text: str  # as the grammar spells it
    column: int  # of its first character, counted from 1
    shown: str  # as the reader typed it


def parse(text: str) -> Node:
    """The syntax tree of ``text``; a ValueError names the column of the first mistake.

    >>> parse("~x2").parts[0].number
    2
    """
    if not isinstance(text, str):
        raise TypeError(f"formula: expected a string, got {type(text).__name__}")
    if len(text) > _LONGEST:
        raise ValueError(f"formula: expected at most {_LONGEST} characters, got {len(text)}")
    parser = _Parser(_tokens(text))
    tree = parser.binary(0)
    parser.expect("", "an operator (& ^ |) or the end")
    return tree


def variables(tree: Node) -> set[int]:
    """The numbers of the variables that occur in ``tree``."""
    checks.instance(tree, "tree", Node)
    found = {tree.number} if tree.kind == "variable" else set()
    return found.union(*map(variables, tree.parts))


def evaluate(tree: Node, indices: np.ndarray) -> np.ndarray:
    """The truth values of ``tree`` at points given by table indices: bit i − 1 of an index is the truth of x_i."""
    if tree.kind == "variable":
        return indices >> (tree.number - 1) & 1 == 1
    if tree.kind == "constant":
        return np.full(indices.shape, tree.number == 1)
    parts = (evaluate(part, indices) for part in tree.parts)  # one at a time
    if tree.kind == "not":
        return ~next(parts)
    if tree.kind == "maj":
        ones = sum(parts, np.zeros(indices.shape, np.int32))
        return 2 * ones > len(tree.parts)
    return reduce({"or": np.logical_or, "xor": np.logical_xor, "and": np.logical_and}[tree.kind], parts)


def _tokens(text: str) -> list[_Token]:
    tokens = []
    end = len(text.rstrip(_BLANKS))
    position = 0
    while position < end:
        match = _TOKEN.match(text, position)
        shown = match[match.lastgroup]
        tokens.append(_Token(shown.lower(), match.start(match.lastgroup) + 1, shown))
        position = match.end()
    return [*tokens, _Token("", end + 1, "the end")]


class _Parser:
    """Recursive descent over a list of tokens, one method per level of the grammar."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.next = 0
        self.depth = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def fail(self, expected: str) -> None:
        token = self.token
        raise ValueError(f"formula, column {token.column}: expected {expected}, found {token.shown:.20}")

    def accept(self, *texts: str) -> bool:
        found = self.token.text in texts
        self.next += found and self.token.text != ""
        return found

    def expect(self, text: str, expected: str) -> None:
        if not self.accept(text):
            self.fail(expected)

    def binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self.negation()
        parts = [self.binary(level + 1)]
        while self.accept(*_LEVELS[level]):
            parts.append(self.binary(level + 1))
        return parts[0] if len(parts) == 1 else Node(_LEVELS[level][0], tuple(parts))

    def negation(self) -> Node:
        negated = False
        while self.accept("~", "not"):
            negated = not negated
        atom = self.atom()
        return Node("not", (atom,)) if negated else atom

    def atom(self) -> Node:
        text = self.token.text
        if self.accept("("):
            return self.closed([self.inside()], ")")[0]
        if self.accept("maj"):
            self.expect("(", "( after maj")
            parts = [self.inside()]
            while self.accept(","):
                parts.append(self.inside())
            return Node("maj", tuple(self.closed(parts, ", or )")))
        if self.accept("0", "1"):
            return Node("constant", number=int(text))
        if re.fullmatch(r"x[1-9][0-9]{0,15}", text):
            self.next += 1
            return Node("variable", number=int(text[1:]))
        self.fail("variables to be numbered x1, x2, …" if re.fullmatch(r"x[0-9]*", text) else _ATOM)

    def inside(self) -> Node:
        """A formula between parentheses, one level deeper."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"at most {_DEEPEST} nested parentheses")
        tree = self.binary(0)
        self.depth -= 1
        return tree

    def closed(self, parts: list[Node], expected: str) -> list[Node]:
        self.expect(")", f"an operator (& ^ |) or {expected}")
        return parts
