"""A shape is another way to write the same program; this is what shapes are made with."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

#: gives the program in its new shape, or None where it has no place for the shape
Apply = Callable[[str], "str | bytes | None"]
Edit = tuple[int, int, str]


@dataclass(frozen=True)
class Shape:
    """One way to write a program.

    harder: the shape may hide something that migrate would otherwise move; it must then be left
    alone, with all that belongs to it.
    """

    name: str
    apply: Apply
    harder: bool = False


SHAPES: dict[str, Shape] = {}


def shape(harder: bool = False) -> Callable[[Apply], Apply]:
    """Register a shape under its function's name."""

    def register(apply: Apply) -> Apply:
        name = apply.__name__.replace("_", "-")
        assert name not in SHAPES
        SHAPES[name] = Shape(name, apply, harder)
        return apply

    return register


class Source:
    """A program text with its tree; edits are collected and made at the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))
        self.edits: list[Edit] = []

    def offset(self, line: int, column: int) -> int:
        """Where a place of the tree is in the text."""
        before = self.lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(before)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node in the text."""
        assert isinstance(node, ast.stmt | ast.expr)
        end = self.offset(node.end_lineno or 0, node.end_col_offset or 0)
        return self.offset(node.lineno, node.col_offset), end

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def replace(self, node: ast.AST, text: str) -> None:
        """Plan another text for a node."""
        self.edits.append((*self.span(node), text))

    def insert(self, at: int, text: str) -> None:
        """Plan an insertion."""
        self.edits.append((at, at, text))

    def done(self) -> str | None:
        """The text with all edits; None without any, or when the result is no program."""
        if not self.edits:
            return None
        text = self.text
        for start, end, new in sorted(self.edits, key=lambda e: (e[0], e[1]), reverse=True):
            text = text[:start] + new + text[end:]
        ast.parse(text)
        return text

    # -- parts -------------------------------------------------------------------------------

    def walk(self, kind: type[ast.AST]) -> Iterator[ast.AST]:
        """All nodes of a kind, those inside format strings left out."""
        inside = {
            id(n)
            for f in ast.walk(self.tree)
            if isinstance(f, ast.JoinedStr)
            for n in ast.walk(f)
            if n is not f
        }
        return (n for n in ast.walk(self.tree) if isinstance(n, kind) and id(n) not in inside)

    def calls(self) -> list[ast.Call]:
        """All calls outside format strings."""
        return [n for n in self.walk(ast.Call) if isinstance(n, ast.Call)]

    def head_end(self) -> int:
        """The line behind the docstring and the imports that open the program."""
        last = 0
        for index, stmt in enumerate(self.tree.body):
            docstring = index == 0 and isinstance(stmt, ast.Expr)
            if not docstring and not isinstance(stmt, ast.Import | ast.ImportFrom):
                break
            last = stmt.end_lineno or 0
        return last

    def head_binds(self, *names: str) -> bool:
        """Whether the opening imports bind all the names."""
        bound = {
            (alias.asname or alias.name).split(".")[0]
            for stmt in self.tree.body
            if isinstance(stmt, ast.Import | ast.ImportFrom)
            and (stmt.end_lineno or 0) <= self.head_end()
            for alias in stmt.names
        }
        return set(names) <= bound

    def parted(self) -> tuple[str, str]:
        """The opening imports, and the rest."""
        end = self.head_end()
        return "".join(self.lines[:end]), "".join(self.lines[end:])

    def blocks(self) -> Iterator[list[ast.stmt]]:
        """All lists of statements."""
        for node in ast.walk(self.tree):
            for part in ("body", "orelse", "finalbody"):
                block = getattr(node, part, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    yield block

    def uses(self, name: str) -> bool:
        """Whether the program has a name."""
        return re.search(rf"\b{name}\b", self.text) is not None


def indented(text: str, by: str = "    ") -> str:
    """The lines of a text, but those inside strings, moved to the right."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            inside |= set(range(node.lineno + 1, (node.end_lineno or 0) + 1))
    lines = text.splitlines(keepends=True)
    return "".join(
        line if number in inside or not line.strip() else by + line
        for number, line in enumerate(lines, 1)
    )


def plain_call(call: ast.Call) -> bool:
    """Whether a call's arguments are all written one by one."""
    return not any(isinstance(a, ast.Starred | ast.GeneratorExp) for a in call.args) and not any(
        k.arg is None for k in call.keywords
    )


def simple(stmt: ast.stmt) -> bool:
    """Whether a statement has no block of its own."""
    return not hasattr(stmt, "body") and not isinstance(stmt, ast.Match)
