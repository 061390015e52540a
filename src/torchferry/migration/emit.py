"""From a placement to fixes: every birth on the device, every move across the cut."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Edit, Fix
from torchferry.core.span import Span
from torchferry.flow.graph import HARD, HOST_NODE, Birth, Use
from torchferry.source.build import (
    add_keyword,
    insert_at_block_start,
    insert_statement_after,
    method_call,
    remove_argument,
    replace,
)

from .buffers import moves, value_span
from .model import MigrationOptions, PlanItem

if TYPE_CHECKING:
    from torchferry.flow.interp import Interp
    from torchferry.source.document import Document

    from .device import DeviceNames

Edits = tuple[Edit, ...]
_RANDOM = frozenset(("rand", "randn", "randint", "randperm", "normal"))
_CASTS = {
    "Float": "float",
    "Double": "double",
    "Half": "half",
    "Long": "long",
    "Int": "int",
    "Short": "short",
    "Char": "char",
    "Byte": "byte",
    "Bool": "bool",
}


@dataclass(slots=True)
class Emission:
    """What one placement asks for. `blocked` are variables whose edit could not be made."""

    fixes: list[Fix] = field(default_factory=list)
    placed: list[PlanItem] = field(default_factory=list)
    moved: list[PlanItem] = field(default_factory=list)
    left: list[PlanItem] = field(default_factory=list)
    blocked: list[tuple[int, str]] = field(default_factory=list)  #: must stay on the host
    tied: list[Use] = field(default_factory=list)  #: edges whose move could not be written


class Emitter:
    """Writes the edits of a placement of one document."""

    def __init__(
        self,
        doc: Document,
        ip: Interp,
        device_side: set[int],
        names: DeviceNames,
        options: MigrationOptions,
        buffers: dict[tuple[int, str], ast.Assign],
    ) -> None:
        self.doc, self.ip, self.side, self.names = doc, ip, device_side, names
        self.options, self.buffers = options, buffers
        self.out = Emission()
        self.done: set[tuple[int, str]] = set()
        self.casts = {id(n): (t, e, k) for n, t, _, e, k, _ in ip.facts.get("cast", ())}

    def run(self) -> Emission:
        """All fixes of the placement."""
        graph = self.ip.graph
        module_roots = {
            graph.find(v)
            for v, b in graph.births.items()
            if b.how in ("module", "assumed")
        }
        binds: dict[int, list[tuple[int, Birth]]] = {}
        for var, made in graph.births.items():
            root = graph.find(var)
            if root not in self.side or made.unit.doc is not self.doc:
                continue
            if made.how == "module":
                self._module(var, made)
            elif made.how == "bind":
                binds.setdefault(id(made.stmt), []).append((var, made))
            elif root not in module_roots or made.how == "load":
                self._birth(var, made)
        for group in binds.values():
            self._bind(group)
        contradicted = self._contradictions()
        for use in graph.edges:
            if use.unit is not None and use.unit.doc is not self.doc:
                continue
            if use.expr is not None and (id(use.expr), self._move_of(use)) in contradicted:
                self.out.tied.append(use)
            else:
                self._use(use)
        for key, stmt in self.buffers.items():
            ours = id(stmt) in self.names.scopes.parents and moves(self.ip, self.side, key)
            if ours and self._once(stmt, "buffer"):
                self._buffer(key[1], stmt)
        return self.out

    def _move_of(self, use: Use) -> str:
        """ "cpu" or "device" where the edge is a move, else the side it stays on."""
        graph = self.ip.graph
        u, v = graph.find(use.u) in self.side, graph.find(use.v) in self.side
        if u == v:
            return "stays on the device" if u else "stays on the host"
        return "cpu" if u else "device"

    def _contradictions(self) -> set[tuple[int, str]]:
        """Moves in a function that another call of it must not make."""
        moves: dict[int, set[str]] = {}
        for use in self.ip.graph.edges:
            if use.expr is not None:
                moves.setdefault(id(use.expr), set()).add(self._move_of(use))
        against = (("cpu", "stays on the device"), ("device", "stays on the host"))
        return {
            (expr, move)
            for expr, found in moves.items()
            for move, other in against
            if move in found and (other in found or {"cpu", "device"} <= found)
        }

    def _inside(self, span: Span) -> str:
        """The text of `span` with the edits that fall into it; those are taken over."""
        inner: list[Edit] = []
        kept = []
        for fix in self.out.fixes:
            if all(span.contains(e.span) for e in fix.edits):
                inner += fix.edits
            else:
                kept.append(fix)
        self.out.fixes = kept
        text = self.doc.text[span.start : span.end]
        for edit in sorted(inner, reverse=True):
            start, end = edit.start - span.start, edit.end - span.start
            text = text[:start] + edit.text + text[end:]
        return text

    # -- births ------------------------------------------------------------------------------

    def _module(self, var: int, made: Birth) -> None:
        if id(made.node) in self.ip.owned or not isinstance(made.node, ast.Call):
            return
        if self.ip.library:
            return  # who makes modules in a library moves them where they are used
        device = self.names.at(made.node)
        edits = method_call(self.doc, made.node, f".to({device})")
        self._place(var, made, edits, "the module is moved where it is made")

    def _birth(self, var: int, made: Birth) -> None:
        node = made.node
        device = self.names.at(node) if made.how != "param" else ""
        edits: Edits | None
        if not device:
            if made.how in ("factory", "append", "load"):
                self.out.blocked.append((var, "no device is at hand here"))
        elif made.how == "factory":
            edits = self._factory(node, device)
            self._place(var, made, edits, "made on the device")
        elif made.how == "append":
            edits = self._cast(node) if id(node) in self.casts else None
            if edits is None:
                edits = self._legacy_device(node)
            if edits is None:
                edits = method_call(self.doc, node, f".to({device})")
            self._place(var, made, edits, "moved where it is made")
        elif made.how == "load":
            edits = add_keyword(self.doc, node, "map_location", device, past_star=True)
            self._place(var, made, edits, "loaded to the device")

    def _factory(self, node: ast.Call, device: str) -> Edits | None:
        last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Name):
            last = node.func.id
        if self.options.keep_rng and last in _RANDOM:
            suffix = f".to({device})"
            learned = [k for k in node.keywords if k.arg == "requires_grad"]
            if not learned:
                return method_call(self.doc, node, suffix)
            less = remove_argument(self.doc, node, learned[0])
            more = method_call(self.doc, node, suffix + ".requires_grad_()")
            return None if less is None or more is None else (*less, *more)
        return add_keyword(self.doc, node, "device", device, past_star=True)

    def _legacy_device(self, node: Any) -> Edits | None:
        """`torch.Tensor(data, device=d)`: the old constructors refuse a device, `.to(d)` works."""
        words = [k for k in getattr(node, "keywords", ()) if k.arg == "device"]
        if not words:
            return None
        less = remove_argument(self.doc, node, words[0])
        more = method_call(self.doc, node, f".to({self.doc.source(words[0].value)})")
        return None if less is None or more is None else (*less, *more)

    def _cast(self, node: Any) -> Edits | None:
        """`x.type(torch.FloatTensor)` becomes `x.float()` where x is on the device."""
        tensor, expr, kind = self.casts[id(node)]
        if self.ip.graph.find(tensor.var) not in self.side or not isinstance(node, ast.Call):
            return None
        name = _CASTS.get(kind.name.rpartition(".")[2].removesuffix("Tensor"))
        if name is None or isinstance(expr, ast.Name) or not isinstance(node.func, ast.Attribute):
            return None
        start, end = self.doc.span(node.func.value).end, self.doc.span(node).end
        text = self.doc.text[start:end]
        match = re.fullmatch(r"(\)*)\.type\([\w.\"']+\)", text)
        if match is None:
            return None
        return (Edit(start + len(match[1]), end, f".{name}()"),)

    def _bind(self, group: list[tuple[int, Birth]]) -> None:
        """`x, y = x.to(device), y.to(device)` behind the statement that binds a batch."""
        stmt = group[0][1].stmt
        nodes = {b.node.id: b for _, b in sorted(group, key=lambda g: _position(g[1].node))}
        first = group[0][1].node
        edits: Edits | None = None
        device = self.names.at(first)
        if stmt is not None and device:
            left = ", ".join(nodes)
            text = f"{left} = " + ", ".join(f"{n}.to({device})" for n in nodes)
            if isinstance(stmt, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)):
                edits = insert_at_block_start(self.doc, stmt, text)
            else:
                edits = insert_statement_after(self.doc, stmt, text)
        if edits is None:
            self.out.blocked += [(v, "the batch has no place to be moved at") for v, _ in group]
            return
        names = " and ".join(nodes)
        what = f"the batch ({names})" if isinstance(stmt, ast.For) else names
        self._add(stmt, f"move {what} to the device", edits)
        self.out.moved.append(PlanItem(first.lineno, f"{names} to the device", "read on the host"))

    def _place(self, var: int, made: Birth, edits: Edits | None, why: str) -> None:
        text = short(self.doc.source(made.node))
        if edits is None:
            self.out.blocked.append((var, f"`{text}` cannot take a device here"))
            return
        if self._once(made.node, "birth"):
            self._add(made.node, f"put `{text}` on the device", edits)
            self.out.placed.append(PlanItem(made.node.lineno, text, why))

    # -- moves -------------------------------------------------------------------------------

    def _use(self, use: Use) -> None:
        graph = self.ip.graph
        u, v = graph.find(use.u), graph.find(use.v)
        from_device, to_device = u in self.side, v in self.side
        if from_device == to_device or use.reason in ("", "birth", "host context", "setitem"):
            return
        if (use.cost if from_device else use.back) == 0:
            return
        if use.expr is None or use.tied:
            if not use.reason.startswith(("index", "cast", "kept")):
                self.out.tied.append(use)
            return
        if use.unit.doc is not self.doc:
            return
        if not self._once(use.expr, "cpu" if from_device else "device"):
            return
        edits = self._move(use, from_device)
        if edits is None:
            self.out.tied.append(use)
            return
        text = short(self.doc.source(use.expr))
        where, why = "the host", use.reason.partition(":")[2] or "meets host tensors"
        if not from_device:
            where, why = "the device", "meets device tensors"
        self._add(use.expr, f"move `{text}` to {where}", edits)
        self.out.moved.append(PlanItem(use.expr.lineno, f"{text} to {where}", why))

    def _move(self, use: Use, from_device: bool) -> Edits | None:
        expr = use.expr
        if not isinstance(expr, ast.expr):
            return None
        if isinstance(getattr(expr, "ctx", None), (ast.Store, ast.Del)):
            return None
        if use.reason.startswith("border-list"):
            return replace(self.doc, expr, f"[t.cpu() for t in {self.doc.source(expr)}]")
        if isinstance(expr, ast.Starred):
            return None
        suffix = ".cpu()"
        if self.ip.library and use.reason == "use":
            return None  # a library moves nothing that it is given
        if not from_device:
            device = self.names.at(expr)
            if not device:
                return None
            suffix = f".to({device})"
        return method_call(self.doc, expr, suffix)

    def _buffer(self, name: str, stmt: ast.Assign) -> None:
        target = stmt.targets[0]
        assert isinstance(target, ast.Attribute)
        owner = self.doc.source(target.value)
        value = self._inside(value_span(self.doc, stmt))
        text = f'{owner}.register_buffer("{name}", {value}, persistent=False)'
        edit = Edit(self.doc.span(stmt).start, self.doc.span(stmt).end, text)
        self._add(stmt, f"register {owner}.{name} as a buffer", (edit,))
        self.out.placed.append(
            PlanItem(stmt.lineno, f"{owner}.{name}", "a buffer, which moves with the module")
        )

    # -- keeping -----------------------------------------------------------------------------

    def _once(self, node: Any, what: str) -> bool:
        key = (id(node), what)
        if key in self.done:
            return False
        self.done.add(key)
        return True

    def _add(self, node: Any, title: str, edits: Edits) -> None:
        self.out.fixes.append(Fix(title, edits, group="migration"))


def _position(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def short(text: str) -> str:
    """A source text on one line, shortened for the plan."""
    one = " ".join(text.split())
    return one if len(one) <= 60 else one[:57] + "..."


__all__ = ["HARD", "HOST_NODE", "Emission", "Emitter"]
