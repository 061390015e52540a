"""How each statement changes the state."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .binding import assign
from .classes import define_class, define_function
from .container_methods import extend_sequence
from .imports import exec_import, exec_import_from
from .loops import for_loop, while_loop
from .operands import used
from .operators import meet, named, written
from .subscripts import set_item_operator
from .values import (
    CPU,
    HOST,
    NONE,
    UNKNOWN,
    UNSURE,
    Const,
    Device,
    Ext,
    Seq,
    Tensor,
    truth,
)

if TYPE_CHECKING:
    from .interp import Interp


def _expr(ip: Interp, node: ast.Expr) -> bool:
    if type(node.value) is not ast.Constant:
        ip.eval(node.value)
    return False


def _assign(ip: Interp, node: ast.Assign) -> bool:
    value = ip.eval(node.value)
    targets = node.targets
    first = targets[0]
    if (
        type(first) is ast.Tuple
        and type(node.value) is ast.Tuple
        and len(first.elts) == len(node.value.elts)
        and len(targets) == 1
        and isinstance(value, Seq)
        and value.state["items"] is not None
        and len(value.state["items"]) == len(first.elts)
    ):
        for target, item in zip(first.elts, value.state["items"], strict=False):
            assign(ip, target, item, node)
        return False
    one_name = type(first) is ast.Name and len(targets) == 1
    if type(value) is Tensor and ip.migrating and one_name and type(node.value) is not ast.Name:
        value = named(ip, value, node.value, node)
    for target in targets:
        assign(ip, target, value, node)
    return False


def _ann_assign(ip: Interp, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        assign(ip, node.target, ip.eval(node.value), node)
    return False


def _aug_assign(ip: Interp, node: ast.AugAssign) -> bool:
    right = used(ip.eval(node.value))
    target = node.target
    if isinstance(target, ast.Subscript):
        if not ip.migrating:
            ip.note("augmented", node, None, right, ip.frame, ip.depth, ip.exploring)
        set_item_operator(ip, target, right, node.value)
        return False
    load = ip.loads.get(id(target))
    if load is None:
        load = ip.loads[id(target)] = ast.copy_location(_load(target), target)
    left = used(ip.eval(load))
    if not ip.migrating:
        ip.note("augmented", node, left, right, ip.frame, ip.depth, ip.exploring)
    if isinstance(left, Tensor):
        # in place: the left tensor stays where it is; one number can be moved for little
        stays = not (ip.migrating and left.flags & 1)
        written(ip, left)
        value: Any = meet(
            ip, node, [(left, target), (right, node.value)], type(node.op).__name__,
            elementwise=True, place=left.var if stays else None,
            place_dev=left.dev if stays else 0, flags=left.flags & ~6,
        )  # fmt: skip
        value = Tensor(value.var, value.dev, left.flags, left.why) if _same(value, left) else value
    elif isinstance(right, Tensor):
        value = meet(
            ip, node, [(left, target), (right, node.value)], type(node.op).__name__,
            elementwise=True,
        )  # fmt: skip
    elif isinstance(left, Seq) and isinstance(right, Seq):
        extend_sequence(ip, left, right)
        return False
    elif isinstance(left, Const) or left is HOST:
        value = HOST if (isinstance(right, Const) or right is HOST) else UNKNOWN
    else:
        value = left if type(left) is type(right) else UNKNOWN
    assign(ip, target, value, None)
    return False


def _same(a: Any, b: Tensor) -> bool:
    return isinstance(a, Tensor) and a.var == b.var and a.dev == b.dev


def _load(target: Any) -> Any:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Attribute(target.value, target.attr, ast.Load())


def _return(ip: Interp, node: ast.Return) -> bool:
    ip.frame.returns.append(ip.eval(node.value) if node.value is not None else NONE)
    ip.stop = "leave"
    return True


def _stop(ip: Interp, node: Any) -> bool:
    ip.leave_iteration("break" if isinstance(node, ast.Break) else "continue")
    return True


def _raise(ip: Interp, node: ast.Raise) -> bool:
    if node.exc is not None:
        ip.eval(node.exc)
    ip.stop = "leave"
    return True


def _if(ip: Interp, node: ast.If) -> bool:
    known = truth(ip.eval(node.test))
    if known is True:
        return ip.exec_block(node.body)
    if known is False:
        return ip.exec_block(node.orelse)
    return ip.branches(
        lambda: ip.exec_block(node.body),
        lambda: ip.exec_block(node.orelse) if node.orelse else False,
    )


def _with(ip: Interp, node: Any) -> bool:
    for item in node.items:
        value = ip.eval(item.context_expr)
        if item.optional_vars is not None:
            assign(ip, item.optional_vars, value, node)
    if ip.migrating:
        return ip.exec_block(node.body)
    off = any(graph_off(ip, item.context_expr) for item in node.items)
    default = ip.default_dev
    if any(places(ip, item.context_expr) for item in node.items):
        ip.default_dev = UNSURE
    ip.graph_off += off
    try:
        return ip.exec_block(node.body)
    finally:
        ip.graph_off -= off
        ip.default_dev = default


def places(ip: Interp, node: Any) -> bool:
    """Whether a context manager is a device that tensors are made on."""
    value = ip.eval(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Call)) else None
    return isinstance(value, Device) and value.bits != CPU


def graph_off(ip: Interp, node: Any) -> bool:
    """Whether a context manager switches the recording of gradients off."""
    if not isinstance(node, ast.Call):
        return False
    func = ip.eval(node.func)
    if not isinstance(func, Ext):
        return False
    if func.name == "torch.set_grad_enabled":
        first = node.args[0] if node.args else None
        return not (isinstance(first, ast.Constant) and first.value is True)
    return func.name in ("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad")


def _try(ip: Interp, node: Any) -> bool:
    stopped = ip.exec_block(node.body)
    if not stopped and node.orelse:
        stopped = ip.exec_block(node.orelse)
    all_stop = stopped
    for handler in node.handlers:
        result: list[bool] = []

        def run(handler: Any = handler, result: list[bool] = result) -> bool:
            if handler.name:
                ip.store(handler.name, HOST)
            result.append(ip.exec_block(handler.body))
            return result[-1]

        ip.branches(lambda: False, run)
        all_stop = all_stop and result[-1]
    if node.finalbody and ip.exec_block(node.finalbody):
        return True
    return all_stop


def _function(ip: Interp, node: Any) -> bool:
    ip.store(node.name, define_function(ip, node))
    return False


def _class(ip: Interp, node: ast.ClassDef) -> bool:
    ip.store(node.name, define_class(ip, node))
    return False


def _global(ip: Interp, node: ast.Global) -> bool:
    for name in node.names:
        ip.frame.outer[name] = ip.frame.unit.frame
    return False


def _nonlocal(ip: Interp, node: ast.Nonlocal) -> bool:
    for name in node.names:
        frame = ip.frame.parent
        while frame is not None and name not in frame.vars:
            frame = frame.parent
        if frame is not None:
            ip.frame.outer[name] = frame
    return False


def _delete(ip: Interp, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            ip.trail.set(ip.frame.vars, target.id, UNKNOWN)
    return False


def _assert(ip: Interp, node: ast.Assert) -> bool:
    ip.eval(node.test)
    return False


def _match(ip: Interp, node: Any) -> bool:
    ip.eval(node.subject)

    def names(pattern: Any) -> None:
        for part in ast.walk(pattern):
            bound = getattr(part, "name", None) or getattr(part, "rest", None)
            if isinstance(bound, str):
                ip.store(bound, UNKNOWN)

    def case(case: Any) -> bool:
        names(case.pattern)
        return ip.exec_block(case.body)

    return ip.branches(lambda: False, *(lambda c=c: case(c) for c in node.cases))


EXEC: dict[type, Any] = {
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _ann_assign,
    ast.AugAssign: _aug_assign,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _stop,
    ast.Continue: _stop,
    ast.If: _if,
    ast.For: for_loop,
    ast.AsyncFor: for_loop,
    ast.While: while_loop,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Import: exec_import,
    ast.ImportFrom: exec_import_from,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Delete: _delete,
    ast.Assert: _assert,
}
if hasattr(ast, "TryStar"):
    EXEC[ast.TryStar] = _try
EXEC[ast.Match] = _match
