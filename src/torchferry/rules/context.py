"""What a rule may ask about a document: its tree, its flow, and the events of its run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Evidence
from torchferry.core.span import Span
from torchferry.flow.values import Ext, Func, Method, Seq, Tensor, Why

from .elsewhere import Elsewhere
from .tree import Nodes, Parents, walk

if TYPE_CHECKING:
    from torchferry.core.span import Location
    from torchferry.flow.events import Event
    from torchferry.flow.interp import Interp
    from torchferry.source.document import Document

_ACCELERATOR = re.compile(r"cuda|^mps$|\bmps\b|\bxpu\b|accelerator")
_DEVICE_TEXT = re.compile(r"(cuda|mps|xpu)(:\d+)?$")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Context:
    """One document under check."""

    def __init__(self, doc: Document, ip: Interp) -> None:
        self.doc, self.ip, self.tree = doc, ip, doc.tree
        self.elsewhere = Elsewhere(doc, ip)
        #: ids of the nodes that are at fault only where a value is more than one number
        self.doubtful: set[int] = set()
        self._by_name: dict[str, list[Event]] | None = None
        self._by_method: dict[str, list[Event]] = {}

    # ---- the tree

    @cached_property
    def _walked(self) -> tuple[Nodes, Parents]:
        return walk(self.tree)

    @property
    def parents(self) -> Parents:
        """id(node) -> the node around it, of this document."""
        return self._walked[1]

    @property
    def nodes(self) -> Nodes:
        """All nodes of the tree by type, in the order of the text."""
        return self._walked[0]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around `node`, from the inside out."""
        parent = self._parent(node)
        while parent is not None:
            yield parent
            parent = self._parent(parent)

    def _parent(self, node: ast.AST) -> ast.AST | None:
        found = self._walked[1].get(id(node))
        return self.elsewhere.parent(node) if found is None and node is not self.tree else found

    def own(self, node: Any) -> bool:
        """Whether a node stands in this document: in no other one may a fix change anything."""
        return id(node) in self.parents

    def statement(self, node: ast.AST) -> Any:
        """The statement that `node` is part of."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self._parent(current)
        return current

    def function(self, node: Any) -> Any:
        """The def or lambda around `node`; None at the level of the module or class."""
        child = node
        for outer in self.around(node):
            if isinstance(outer, _FUNCTIONS):
                decorators = getattr(outer, "decorator_list", [])
                if child is not outer.args and child not in decorators:
                    return outer
            child = outer
        return None

    def class_of(self, node: Any) -> ast.ClassDef | None:
        """The class statement around `node`."""
        return next((n for n in self.around(node) if isinstance(n, ast.ClassDef)), None)

    def loop(self, node: ast.AST) -> Any:
        """The innermost for or while around `node` in the same function."""
        child = node
        for outer in self.around(node):
            if isinstance(outer, (ast.For, ast.While, ast.AsyncFor)) and child in outer.body:
                return outer
            if isinstance(outer, (*_FUNCTIONS, ast.ClassDef)):
                return None
            child = outer
        return None

    def source(self, node: ast.AST) -> str:
        """The text of a node on one line, shortened."""
        text = " ".join(self.doc_of(node).source(node).split())
        return text if len(text) <= 60 else text[:57] + "..."

    def location(self, node: ast.AST) -> Location:
        """Where a node stands; a function or class stands at its header."""
        doc = self.doc_of(node)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            begin = doc.offset(node.lineno, node.col_offset)
            return doc.location(Span(begin, doc.span(node.iter).end))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            start = doc.offset(node.lineno, node.col_offset)
            return doc.location(Span(start, doc.line_end(node.lineno)))
        return doc.location(node)

    def where(self, node: Any) -> str:
        """The place of a node in a sentence: "line 3", "utils.py:3" for another file."""
        doc = self.doc_of(node)
        return f"line {node.lineno}" if doc is self.doc else f"{doc.path}:{node.lineno}"

    def doc_of(self, node: Any) -> Document:
        """The document that a node stands in."""
        if self.elsewhere.alone or id(node) in self.parents:
            return self.doc
        return self.elsewhere.doc_of(node)

    # ---- evidence

    def step(self, node: ast.AST, text: str) -> Evidence:
        """One link of a chain of evidence."""
        return Evidence(self.location(node), text)

    def chain(self, tensor: Tensor) -> list[Why]:
        """How a tensor came to be where it is, the oldest event first."""
        events = []
        why = tensor.why
        while why is not None:
            events.append(why)
            why = why.before
        return events[::-1]

    def evidence(self, tensor: Tensor) -> list[Evidence]:
        """The chain of a tensor as evidence."""
        steps = []
        for why in self.chain(tensor):
            if getattr(why.node, "lineno", None) is not None:
                step = self.step(why.node, f"`{self.source(why.node)}`: {why.text}")
                if step not in steps:
                    steps.append(step)
        return steps

    # ---- events

    def calls(self, *names: str) -> list[Event]:
        """Calls of functions and classes of other packages, by qualified name; one for a place."""
        self._sort()
        assert self._by_name is not None
        return [event for name in names for event in self._by_name.get(name, ())]

    def calls_under(self, prefix: str) -> list[Event]:
        """Calls of everything whose qualified name starts with `prefix`."""
        self._sort()
        assert self._by_name is not None
        return [
            e for name, found in self._by_name.items() if name.startswith(prefix) for e in found
        ]

    def methods(self, *names: str) -> list[Event]:
        """Calls of methods of known values: tensors, modules, optimizers, ..."""
        self._sort()
        return [event for name in names for event in self._by_method.get(name, ())]

    def _sort(self) -> None:
        if self._by_name is not None:
            return
        self._by_name = {}
        seen: set[tuple[int, int]] = set()
        for event in self.ip.events:
            if event.frame.unit.doc is not self.doc:
                continue
            func = event.func
            kind = type(func)
            if kind is Ext:
                key = (id(event.node), 0)
                if key not in seen:
                    seen.add(key)
                    self._by_name.setdefault(func.name, []).append(event)
            elif kind is Method:
                key = (id(event.node), event.frame.ctx)
                if key not in seen:
                    seen.add(key)
                    self._by_method.setdefault(func.name, []).append(event)

    @cached_property
    def order(self) -> dict[int, int]:
        """id(call node) -> the number of its first event."""
        found: dict[int, int] = {}
        for number, event in enumerate(self.ip.events):
            found.setdefault(id(event.node), number)
        return found

    @cached_property
    def event_at(self) -> dict[int, Event]:
        """id(call node) -> its first event."""
        found: dict[int, Event] = {}
        for event in self.ip.events:
            found.setdefault(id(event.node), event)
        return found

    def frames_of(self, function: Any) -> list[dict[str, Any]]:
        """The names of each run of a function, as they were left at its end."""
        return self._frames.get(id(function), [])

    @cached_property
    def _frames(self) -> dict[int, list[dict[str, Any]]]:
        found: dict[int, list[dict[str, Any]]] = {}
        seen: set[int] = set()
        for event in self.ip.events:
            frame = event.frame
            if isinstance(frame.func, Func) and id(frame) not in seen:
                seen.add(id(frame))
                found.setdefault(id(frame.func.node), []).append(frame.vars)
        return found

    @cached_property
    def cuda_certain(self) -> bool:
        """Whether the code itself (not a comment) names an accelerator."""
        if not _ACCELERATOR.search(self.doc.text):
            return False
        for node in self.nodes.get(ast.Attribute, []):
            if _ACCELERATOR.search(node.attr):
                return True
        for node in self.nodes.get(ast.Constant, []):
            if isinstance(node.value, str) and _DEVICE_TEXT.match(node.value):
                return True
        return any(_ACCELERATOR.search(n.id) for n in self.nodes.get(ast.Name, []))


def tensors_of(value: Any, depth: int = 0) -> Iterator[Tensor]:
    """The tensors in a value: itself, or what lists and tuples hold."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Seq) and depth < 4:
        items = value.state["items"]
        for item in items if items is not None else [value.state["elem"]]:
            yield from tensors_of(item, depth + 1)
    elif type(value).__name__ == "Map" and depth < 4:
        for item in value.state.values():
            yield from tensors_of(item, depth + 1)
    elif type(value).__name__ == "Batch":
        yield Tensor(value.var, value.dev, 0, value.why)


def in_method(event: Event, name: str) -> bool:
    """Whether an event happens directly in a method of that name of a module."""
    func = event.frame.func
    return isinstance(func, Func) and func.name == name and func.cls is not None
