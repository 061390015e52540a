"""The value of each kind of expression."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .attributes import get_attribute
from .binding import assign
from .calls import eval_call
from .classes import define_lambda
from .iteration import loader_item, part_of
from .join import join
from .operands import used
from .operators import meet
from .state import Frame
from .subscripts import get_item
from .values import (
    ARRAY,
    HOST,
    TEXT,
    UNKNOWN,
    Const,
    Device,
    Ext,
    Guard,
    Map,
    Seq,
    Tensor,
    Value,
    truth,
)

if TYPE_CHECKING:
    from .interp import Interp


def _constant(ip: Interp, node: ast.Constant) -> Value:
    return Const(node.value)


def _name(ip: Interp, node: ast.Name) -> Value:
    return ip.lookup(node.id)


def _display(kind: str) -> Any:
    def run(ip: Interp, node: Any) -> Value:
        items: list[Value] = []
        nodes: list[Any] = []
        for element in node.elts:
            if type(element) is ast.Starred:
                inner = ip.eval(element.value)
                parts = inner.state["items"] if isinstance(inner, Seq) else None
                if parts is None:
                    elem: Any = part_of(ip, inner)
                    for item in items:
                        elem = join(ip, elem, item)
                    return Seq(kind, None, elem)
                items.extend(parts)
                nodes.extend([None] * len(parts))
            else:
                items.append(ip.eval(element))
                nodes.append(element)
        return Seq(kind, items, None, nodes)

    return run


def _dict(ip: Interp, node: ast.Dict) -> Value:
    result = Map()
    for key, item in zip(node.keys, node.values, strict=False):
        value = ip.eval(item)
        if key is None:
            if isinstance(value, Map):
                result.state.update(value.state)
            continue
        known = ip.eval(key)
        if isinstance(known, Const) and isinstance(known.value, (str, int)):
            result.state[("k", known.value)] = value
        else:
            old = result.state["elem"]
            result.state["elem"] = value if old is None else join(ip, old, value)
    return result


_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}


def _binop(ip: Interp, node: ast.BinOp) -> Value:
    left, right = used(ip.eval(node.left)), used(ip.eval(node.right))
    tl, tr = type(left), type(right)
    if tl is Tensor or tr is Tensor:
        # numpy refuses `array * tensor`: what stands beside a tensor is a numpy scalar
        if tl is Const and isinstance(left.value, str):  # type: ignore[attr-defined]
            return HOST
        op = _OPERATORS.get(type(node.op), "op")
        operands = [(left, node.left), (right, node.right)]
        return meet(ip, node, operands, op, elementwise=op != "matmul")
    if left is ARRAY or right is ARRAY:
        return ARRAY
    if tl is Seq and tr is Seq and type(node.op) is ast.Add:
        return _concatenated(ip, left, right)  # type: ignore[arg-type]
    if tl is Seq or tr is Seq:
        seq, other = (left, right) if tl is Seq else (right, left)
        if type(node.op) is ast.Mult and (isinstance(other, Const) or other is HOST):
            return Seq(seq.kind, None, part_of(ip, seq))  # type: ignore[attr-defined]
        return UNKNOWN
    if (tl is Const or left is HOST) and (tr is Const or right is HOST):
        if tl is Const and tr is Const and type(node.op) is ast.Add:
            a, b = left.value, right.value  # type: ignore[attr-defined]
            if isinstance(a, str) and isinstance(b, str):
                return Const(a + b)
        return _text_or_number(ip, node, left)
    if tl is Const and isinstance(left.value, str):  # type: ignore[attr-defined]
        return _text_or_number(ip, node, left)
    return UNKNOWN


def _text_or_number(ip: Interp, node: ast.BinOp, left: Value) -> Value:
    """`"item %d" % i` is a string; of other host values not even that is known."""
    formatted = isinstance(left, Const) and isinstance(left.value, str) and type(node.op) is ast.Mod
    return TEXT if formatted and not ip.migrating else HOST


def _concatenated(ip: Interp, left: Seq, right: Seq) -> Value:
    a, b = left.state["items"], right.state["items"]
    if a is not None and b is not None:
        return Seq(left.kind, a + b)
    return Seq(left.kind, None, join(ip, part_of(ip, left), part_of(ip, right)))


def _unary(ip: Interp, node: ast.UnaryOp) -> Value:
    value = used(ip.eval(node.operand))
    if type(node.op) is ast.Not:
        if isinstance(value, Guard):
            return Guard(not value.truth)
        known = truth(value)
        return HOST if known is None else Const(not known)
    if isinstance(value, Tensor):
        return meet(ip, node, [(value, node.operand)], "neg", flags=value.flags & 1)
    if isinstance(value, Const) and isinstance(node.op, ast.USub):
        if isinstance(value.value, (int, float)):
            return Const(-value.value)
        return HOST
    return value if value is ARRAY or value is HOST else UNKNOWN


def _boolop(ip: Interp, node: ast.BoolOp) -> Value:
    conjunction = type(node.op) is ast.And
    result: Value | None = None
    guarded = unknown = False
    for part in node.values:
        value = ip.eval(part)
        known = truth(value)
        guarded = guarded or isinstance(value, Guard)
        if known is (not conjunction) and (conjunction or not unknown):
            return Guard(known) if guarded else value
        unknown = unknown or known is None
        result = value if result is None else join(ip, result, value)
    if guarded:
        # an unknown flag beside a question for the GPU: the user asks for the GPU
        return Guard(conjunction)
    return result or UNKNOWN


def _compare(ip: Interp, node: ast.Compare) -> Value:
    left = ip.eval(node.left)
    values = [ip.eval(c) for c in node.comparators]
    op = node.ops[0]
    if len(values) > 1:
        return HOST
    right = values[0]
    if isinstance(op, (ast.Is, ast.IsNot)):
        return _identity(left, right, isinstance(op, ast.Is))
    if isinstance(op, (ast.In, ast.NotIn)):
        return HOST
    left, right = used(left), used(right)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        operands = [(left, node.left), (right, node.comparators[0])]
        return meet(ip, node, operands, "eq", elementwise=True)
    if left is ARRAY or right is ARRAY:
        return ARRAY
    if isinstance(left, Guard) and isinstance(right, Const):
        return left
    return _compare_constants(left, right, op)


def _identity(left: Value, right: Value, positive: bool) -> Value:
    for a, b in ((left, right), (right, left)):
        if isinstance(b, Const) and b.value is None:
            if isinstance(a, Const):
                return Const((a.value is None) == positive)
            if a is not UNKNOWN and a is not HOST and not _maybe_none(a):
                return Const(not positive)
    return HOST


def _maybe_none(value: Value) -> bool:
    if isinstance(value, Ext):  # `torch.version.cuda` is None where there is none
        return True
    return isinstance(value, Tensor) and bool(value.flags & 128)


def _compare_constants(left: Value, right: Value, op: Any) -> Value:
    if isinstance(left, Device) and isinstance(right, Const) and left.bits == 2:
        equal = isinstance(right.value, str) and right.value.startswith("cuda")
        if isinstance(op, ast.Eq):
            return Guard(equal)
        if isinstance(op, ast.NotEq):
            return Guard(not equal)
    words = [v.value for v in (left, right) if isinstance(v, Const) and isinstance(v.value, str)]
    if len(words) == 2:
        if isinstance(op, ast.Eq):
            return Const(words[0] == words[1])
        if isinstance(op, ast.NotEq):
            return Const(words[0] != words[1])
    return HOST


def _ifexp(ip: Interp, node: ast.IfExp) -> Value:
    known = truth(ip.eval(node.test))
    if known is True:
        return ip.eval(node.body)
    if known is False:
        return ip.eval(node.orelse)
    return join(ip, ip.eval(node.body), ip.eval(node.orelse))  # type: ignore[no-any-return]


def _comprehension(ip: Interp, node: Any) -> Value:
    frame = Frame(ip.frame, ip.frame.unit, ip.frame.func, ip.frame.ctx)
    frame.cls, frame.comprehension = ip.frame.cls, True
    caller, ip.frame = ip.frame, frame
    depth = ip.depth
    try:
        for gen in node.generators:
            iterable = ip.eval(gen.iter)
            item = loader_item(ip, iterable, gen.iter)
            ip.depth += 1
            assign(ip, gen.target, part_of(ip, iterable) if item is None else item, None)
            for test in gen.ifs:
                ip.eval(test)
        if isinstance(node, ast.DictComp):
            ip.eval(node.key)
            result = Map()
            result.state["elem"] = ip.eval(node.value)
            return result
        value = ip.eval(node.elt)
    finally:
        ip.frame, ip.depth = caller, depth
    kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "iter")
    seq = Seq(kind, None, value)
    seq.state["inserts"] = ((value, node.elt),)
    return seq


def _joined(ip: Interp, node: ast.JoinedStr) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            ip.eval(part.value)
    return HOST if ip.migrating else TEXT


def _walrus(ip: Interp, node: ast.NamedExpr) -> Value:
    value = ip.eval(node.value)
    frame, ip.frame = ip.frame, _around_comprehensions(ip.frame)
    ip.store(node.target.id, value)
    ip.frame = frame
    return value


def _around_comprehensions(frame: Frame) -> Frame:
    """The frame whose names `:=` binds."""
    while frame.comprehension and frame.parent is not None:
        frame = frame.parent
    return frame


def _yield(ip: Interp, node: ast.Yield) -> Value:
    ip.frame.yields.append(ip.eval(node.value) if node.value is not None else UNKNOWN)
    return UNKNOWN


def _yield_from(ip: Interp, node: ast.YieldFrom) -> Value:
    ip.frame.yields.append(part_of(ip, ip.eval(node.value)))
    return UNKNOWN


def _await(ip: Interp, node: ast.Await) -> Value:
    return ip.eval(node.value)


def _starred(ip: Interp, node: ast.Starred) -> Value:
    return ip.eval(node.value)


def _slice(ip: Interp, node: ast.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            ip.eval(part)
    return HOST


EVAL: dict[type, Any] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: get_attribute,
    ast.Call: eval_call,
    ast.Subscript: get_item,
    ast.BinOp: _binop,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolop,
    ast.Compare: _compare,
    ast.IfExp: _ifexp,
    ast.Lambda: define_lambda,
    ast.List: _display("list"),
    ast.Tuple: _display("tuple"),
    ast.Set: _display("set"),
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.JoinedStr: _joined,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: _await,
    ast.Starred: _starred,
    ast.Slice: _slice,
}
