"""Names of tensors in the source: what a line assigns its result to. Looked for when a trace is
written, never while the program runs."""

from __future__ import annotations

import ast
import linecache
import sys
from types import CodeType

from torchferry.sim.places import line_of

#: Calls that hand on the tensor they get.
_WRAPPERS = frozenset({"Parameter", "Buffer", "Variable", "requires_grad_", "contiguous", "detach"})
_MAX_LENGTH = 60

#: First and last line and column, columns in bytes: as instructions and syntax trees give them.
Span = tuple[int, int, int, int]


class Variables:
    """Looks names up; keeps the files it has read."""

    def __init__(self) -> None:
        self._files: dict[str, dict[Span, ast.expr]] = {}
        self._parents: dict[ast.AST, ast.AST] = {}

    def assigned(self, code: CodeType | None, lasti: int, direct: bool = True) -> str:
        """What the line assigns the result of an instruction to: `x`, `self.mask`, `a, b`, or "".

        direct: the instruction itself made the tensor; else something inside the call did, then
        only a name for the object that was made is given (`self.layer = Linear(4, 2)`).
        """
        node: ast.AST | None = self._node(code, lasti)
        if node is None or not (direct or _makes_object(node)):
            return ""
        parent = self._parents.get(node)
        while parent is not None:
            if isinstance(parent, ast.Assign) and parent.value is node:
                return _short(parent.targets[0])
            if isinstance(parent, (ast.AnnAssign, ast.NamedExpr)) and parent.value is node:
                return _short(parent.target)
            if not _hands_on(parent, node):
                return ""
            node, parent = parent, self._parents.get(parent)
        return ""

    def receiver(self, code: CodeType | None, lasti: int) -> str:
        """What the method called by an instruction belongs to: `batch` of `batch.to(device)`."""
        node = self._node(code, lasti)
        function = node.func if isinstance(node, ast.Call) else None
        held = function.value if isinstance(function, ast.Attribute) else None
        return _short(held) if isinstance(held, (ast.Name, ast.Attribute, ast.Subscript)) else ""

    def _node(self, code: CodeType | None, lasti: int) -> ast.expr | None:
        """The expression that an instruction computes."""
        if code is None:
            return None
        nodes = self._files.get(code.co_filename)
        if nodes is None:
            nodes = self._files[code.co_filename] = self._read(code.co_filename)
        if sys.version_info >= (3, 11):
            for index, span in enumerate(code.co_positions()):
                if index == lasti // 2 and None not in span:
                    return nodes.get(span)  # type: ignore[arg-type]
            return None
        line = line_of(code, lasti)
        calls = [n for (first, *_), n in nodes.items() if first == line and _computes(n)]
        return calls[0] if len(calls) == 1 else None

    def _read(self, file: str) -> dict[Span, ast.expr]:
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {}
        nodes: dict[Span, ast.expr] = {}
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                self._parents[child] = parent
                if isinstance(child, ast.expr):
                    last, end = child.end_lineno or 0, child.end_col_offset or 0
                    nodes[child.lineno, last, child.col_offset, end] = child
        return nodes


def _computes(node: ast.expr) -> bool:
    return isinstance(node, (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript))


def _makes_object(node: ast.AST) -> bool:
    """True for a call of what is named as classes are."""
    return isinstance(node, ast.Call) and _last_name(node.func)[:1].isupper()


def _hands_on(parent: ast.AST, node: ast.AST) -> bool:
    """True where `parent` is, or leads to, the same tensor as `node`."""
    if isinstance(parent, ast.Attribute):
        return parent.attr in _WRAPPERS
    if not isinstance(parent, ast.Call) or _last_name(parent.func) not in _WRAPPERS:
        return False
    return parent.func is node or parent.args[:1] == [node]


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    if isinstance(node, ast.Tuple):
        text = text.removeprefix("(").removesuffix(")")
    return text if len(text) <= _MAX_LENGTH else ""
