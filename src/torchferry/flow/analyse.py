"""Analysing a document: the module runs first, then what nothing in the file calls."""

from __future__ import annotations

import ast
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from torchferry.source.document import Document

from .binding import bind_arguments
from .calls import call_value
from .expressions import EVAL
from .imports import followed_lines
from .interp import Interp, Semantics
from .operators import ANCHOR, birth
from .state import Frame
from .statements import EXEC
from .values import CPU, UNKNOWN, UNSURE, Class, Func, Inst, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torchferry.source.project import Project

_MOVES = re.compile(
    r"\.cuda\(|torch\.cuda\.\w*Tensor"
    r"|(\.to\s*\(|device\s*=)[\s(]*(self\.|args\.|opt\.)?(device|dev|DEVICE)\b"
)
_SEMANTICS = Semantics(EVAL, EXEC, call_value, bind_arguments)
_DEEP = 12_000  #: Python frames that nested abstract calls may need


def analyse(
    doc: Document | Sequence[Document],
    *,
    migrating: bool,
    buffers: frozenset[tuple[int, str]] = frozenset(),
    project: Project | None = None,
) -> Interp:
    """Run the device flow over a document, or over documents that import each other.

    migrating: follow the placement graph; otherwise note clashes as the source stands.
    buffers: (id of class, attribute) that will be registered as buffers.
    project: where imports of the project's own files are found; None leaves them unknown.
    Raises UnparsableSource when a document is not Python 3.
    """
    docs = [doc] if isinstance(doc, Document) else list(doc)
    ip = Interp(_SEMANTICS, migrating=migrating)
    ip.buffers, ip.project = buffers, project
    ip.editable = {id(d) for d in docs}
    # who moves tensors already has decided what is worth it: only mistakes are mended there
    ip.compute_pays = not any(_MOVES.search(d.text) for d in docs)
    ip.budget = 3000
    lines = sum(d.text.count("\n") + 1 for d in docs)
    ip.abroad_left, ip.followed_lines = 1500 + 4 * lines, followed_lines(lines)
    with _deep_recursion():
        for one in docs:
            if id(one) not in ip.units:
                ip.run_unit(one, "__main__")
        made_in = {id(b.unit.doc) for b in ip.graph.births.values()}
        ip.libraries = {id(d) for d in docs} - made_in
        ip.budget = ip.steps + 1000 + 12 * lines
        ip.exploring = True
        ip.abroad_left = min(ip.abroad_left, 200 + lines // 2)
        for one in docs:
            ip.frame = ip.units[id(one)].frame
            _uncalled(ip, ip.frame)
    return ip


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _uncalled(ip: Interp, frame: Frame) -> None:
    """What a library offers: classes are made, functions called, with unknown arguments."""
    for cls in list(ip.classes):
        if cls.unit is not frame.unit:
            continue
        methods = [f for f in cls.attrs.values() if isinstance(f, Func) and f.cls is cls]
        if all(id(m.node) in ip.called for m in methods):
            continue
        inst = cls.last or _instance(ip, cls)
        hosted = cls.kind == "dataset"
        ip.host_context += hosted
        for method in methods:
            if id(method.node) not in ip.called:
                _call_unknown(ip, method, inst, cls)
        ip.host_context -= hosted
    for func in list(ip.functions):
        if func.unit is frame.unit and id(func.node) not in ip.called:
            _call_unknown(ip, func, None, None)
    ip.frame = frame


def _instance(ip: Interp, cls: Class) -> Inst:
    inst = Inst(cls, "", cls.kind, cls.node)
    if cls.kind == "module":
        made = birth(ip, cls.node, "assumed", text="a module of this class")
        inst.state["var"], inst.state["dev"] = made.var, CPU if ip.migrating else UNSURE
        ip.graph.want_device(made.var, ANCHOR)
    init = cls.find("__init__")
    if isinstance(init, Func) and cls.kind != "function":
        if cls.kind == "module":
            ip.in_module_init.append(cls)
            ip.constructing.append(inst)
        _call_unknown(ip, init, inst, cls)
        if cls.kind == "module":
            ip.in_module_init.pop()
            ip.constructing.pop()
    return inst


def _call_unknown(ip: Interp, func: Func, inst: Inst | None, cls: Class | None) -> None:
    """Call with what is known of the parameters: annotations, and that forward takes tensors."""
    spec = func.node.args
    names = [*spec.posonlyargs, *spec.args]
    receiver: Any = None
    if inst is not None and "staticmethod" not in func.decorators:
        receiver = cls if "classmethod" in func.decorators else inst
        names = names[1:]
    forward = inst is not None and inst.kind == "module" and func.name == "forward"
    args = []
    without_default = len(names) - len(spec.defaults)
    for index, arg in enumerate(names):
        value: Value = UNKNOWN
        tensor = _annotated(arg.annotation)
        if tensor or (forward and index < without_default and arg.annotation is None):
            value = _argument(ip, arg, inst)
        elif index >= without_default:
            value = UNKNOWN
        args.append((value, None, False))
    ip.call_function(func, args, {}, func.node, receiver)


def _annotated(annotation: Any) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value in ("Tensor", "torch.Tensor")
    if isinstance(annotation, ast.Attribute):
        return annotation.attr == "Tensor"
    return isinstance(annotation, ast.Name) and annotation.id == "Tensor"


def _argument(ip: Interp, arg: ast.arg, inst: Inst | None) -> Tensor:
    """A tensor argument lives where the module of the call lives."""
    made = birth(ip, arg, "param", text="an argument")
    if inst is not None and inst.kind == "module":
        ip.graph.same(made.var, inst.state["var"])
    if not ip.host_context:
        ip.graph.want_device(made.var, 40)
    return Tensor(made.var, 4)
