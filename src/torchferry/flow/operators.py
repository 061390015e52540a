"""Where tensors are born, meet, and cross to the host: the graph grows here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchferry.torchapi.modules import PARAMETERLESS

from .events import Clash
from .graph import DEVICE_NODE, HARD, HOST_NODE, Birth
from .join import UNSURE_TENSOR
from .operands import Operand, tensors_in
from .values import (
    ACCEL,
    BATCHED,
    BUFFER,
    COMPUTED,
    CPU,
    DOUBLE,
    GRAPH,
    INTEGER,
    LEAF,
    MAYBE_NUMBER,
    MODEL,
    PARAM,
    SCALAR,
    UNKNOWN,
    UNSURE,
    Batch,
    Inst,
    Kept,
    OfModule,
    Tensor,
    Value,
    Why,
)

if TYPE_CHECKING:
    from .interp import Interp

USE = 4  #: a move at one use
AFTER = 3  #: a move behind the operator that made the value
BIND = 2  #: a move at the head of the loop that binds a batch
BORN = 1  #: a birth written for the device
COMPUTE = 8  #: an operator that computes on the host
ANCHOR = 400  #: a learned tensor on the host


def move_cost(ip: Interp, base: int) -> int:
    """A move costs an edit, and time for each run of its loop."""
    return base + 2 * (ip.weight - 1)


def birth(
    ip: Interp,
    node: Any,
    how: str,
    *,
    stmt: Any = None,
    dev: int = CPU,
    flags: int = 0,
    why: Why | None = None,
    text: str = "made on the CPU here",
) -> Tensor:
    """A tensor that is made at `node`; one variable for each place in the source."""
    graph = ip.graph
    # a class makes its parts once for each instance
    ctx = ip.frame.ctx if ip.in_module_init or how == "module" else 0
    var = graph.variable(("birth", id(node), ctx), how)
    if var not in graph.births:
        unit = ip.frame.unit
        owner = ip.in_module_init[-1].name if ip.in_module_init else ""
        graph.births[var] = Birth(how, node, unit, stmt, getattr(node, "id", ""), owner)
        if how in ("bind", "append", "load", "factory", "legacy"):
            graph.edge(var, HOST_NODE, BIND if how == "bind" else BORN, 0, None, None, "birth")
        if how == "fixed" or (ip.editable and id(unit.doc) not in ip.editable):
            graph.want_host(var, HARD)  # nothing can be written there
    if ip.host_context:
        graph.want_host(var, HARD, "host context")
    if flags & LEAF and ip.compute_pays:
        graph.want_device(var, ANCHOR)
    if why is None:
        why = Why(text, node, ip.frame.unit)
    if dev == CPU and how != "placed" and not ip.migrating:
        dev = ip.default_dev
    return Tensor(var, dev, flags, why)


def meet(
    ip: Interp,
    node: Any,
    operands: list[Operand],
    op: str,
    *,
    compute: bool = True,
    elementwise: bool = False,
    place: int | None = None,
    place_dev: int = 0,
    flags: int = 0,
    owner: Any = None,
) -> Value:
    """An operator: all tensors on one device, the result there.

    `place` is a variable that the operator cannot leave (its module, or the tensor that is
    changed in place), `place_dev` where that is as the source stands.
    """
    found = tensors_in(ip, operands)
    if not found and place is None:
        return UNKNOWN
    graph = ip.graph
    if not ip.migrating:
        found = [(live(t), e) for t, e in found]
        flags |= _carried(ip, node, found, op, compute, owner)
    dev = _clash(ip, node, found, op, elementwise, place_dev, owner)
    strict = [(t, e) for t, e in found if not (elementwise and t.flags & SCALAR)]
    if not strict and place is None:
        strict, compute = found, False  # a few numbers are not worth a device
        flags |= SCALAR
    elif elementwise and place is None and all(t.flags & _NUMBERS for t, _ in found):
        flags |= MAYBE_NUMBER
    roots = {graph.find(v) for v in (*(t.var for t, _ in strict), *_given(place))}
    roots_seen = frozenset(roots)
    if len(roots) == 1:
        var = roots.pop()
        why = next((t.why for t, _ in strict), None)
    else:
        if place is not None:
            var = graph.find(place)
        else:
            var = graph.variable(("op", id(node), ip.frame.ctx), "op")
        for tensor, expr in strict:
            cost = move_cost(ip, USE)
            if expr is None or tensor.flags & UNSURE_TENSOR:
                cost, expr = HARD // 100, None
            graph.edge(graph.find(tensor.var), var, cost, cost, expr, ip.frame.unit, "use")
        why = _why(strict, dev)
    for tensor, expr in found:
        if elementwise and tensor.flags & SCALAR and graph.find(tensor.var) != var:
            # a 0-dim host tensor may join device tensors, not the other way round
            graph.edge(
                graph.find(tensor.var), var, move_cost(ip, USE), 0, expr, ip.frame.unit, "use"
            )
    if compute and ip.compute_pays and not ip.in_module_init and HOST_NODE not in roots_seen:
        graph.want_device(var, COMPUTE * ip.weight)
    if ip.host_context and place is None:
        graph.want_host(var, HARD, "host context")
    return Tensor(var, dev, flags, why)


def _given(place: int | None) -> tuple[int, ...]:
    return () if place is None else (place,)


def _why(found: list[tuple[Tensor, Any]], dev: int) -> Why | None:
    for tensor, _ in found:
        if tensor.dev == dev:
            return tensor.why
    return found[0][0].why if found else None


def live(tensor: Tensor) -> Tensor:
    """A parameter or buffer where its module is now."""
    why = tensor.why
    if type(why) is OfModule and tensor.flags & (PARAM | BUFFER):
        dev = why.inst.state.get("dev", UNSURE)
        if dev != tensor.dev:
            return Tensor(tensor.var, dev, tensor.flags, why)
    return tensor


_NUMBERS = SCALAR | MAYBE_NUMBER
_WHOLE = frozenset("matmul bmm mm add sub mul mv dot neg abs sum max min bitwise_and".split())


def _carried(ip: Interp, node: Any, found: list[Any], op: str, compute: bool, owner: Any) -> int:
    """What a result inherits: that it depends on a model, holds a graph, is of integers."""
    union, common = 0, INTEGER | DOUBLE
    for tensor, _ in found:
        union |= tensor.flags
        common &= tensor.flags
    carried = union & (MODEL | GRAPH)
    if union & (PARAM | LEAF) or (isinstance(owner, Inst) and op not in PARAMETERLESS):
        carried |= MODEL | GRAPH
    if ip.graph_off or op in _NO_GRAPH:
        carried &= ~GRAPH
    if compute:
        carried |= COMPUTED
        if common & INTEGER and op in _PRODUCTS and found:
            ip.note("integer-product", node, op, found[0][0].dev, ip.frame, ip.exploring)
        if op not in _WHOLE:
            common &= ~INTEGER
    elif op in _CASTS or op == "type":
        common = _CASTS.get(op, 0)
    return carried | common


#: results without a graph: whole numbers and truth values have no derivative
_NO_GRAPH = frozenset(
    "detach argmax argmin argsort eq ne lt le gt ge greater greater_equal less less_equal "
    "not_equal isclose isnan isinf isfinite logical_and logical_or logical_not logical_xor "
    "bitwise_and bitwise_or bitwise_not bitwise_xor long int bool byte short char nonzero "
    "count_nonzero bincount one_hot searchsorted bucketize allclose equal".split()
)
_PRODUCTS = frozenset("matmul bmm mm mv dot addmm baddbmm addmv linear".split())
_CASTS = {
    "float": 0, "half": 0, "bool": 0, "double": DOUBLE, "long": INTEGER, "int": INTEGER,
    "short": INTEGER, "byte": INTEGER, "char": INTEGER,
}  # fmt: skip


#: take lengths or targets on the host beside data on the device
_LEGAL_MIXES = frozenset(
    "ctc_loss CTCLoss tensor_split pad_packed_sequence fill select_scatter slice_scatter "
    "pad_sequence".split()
)


def _clash(
    ip: Interp,
    node: Any,
    found: list[Any],
    op: str,
    elementwise: bool,
    place_dev: int,
    owner: Any = None,
) -> int:
    """Where the result is as the source stands; a clash is noted."""
    bits = place_dev
    if not ip.migrating and found and (not op or op in _LEGAL_MIXES):
        return (place_dev or found[0][0].dev) if op else UNSURE
    for tensor, _ in found:
        if not (tensor.flags & SCALAR and elementwise and tensor.dev == CPU):
            bits |= tensor.dev
    if bits == 0:
        return CPU
    if bits == CPU | ACCEL and not ip.migrating:
        certain = (place_dev in (0, CPU, ACCEL)) and all(
            t.dev in (CPU, ACCEL) and not t.flags & UNSURE_TENSOR for t, _ in found
        )
        if certain:
            met = ip.clash("mixed", node, op, [found, place_dev], owner)
            met.doubtful = (
                elementwise
                and place_dev != CPU
                and all(t.flags & MAYBE_NUMBER for t, _ in found if t.dev == CPU)
            )
            return UNSURE  # one mistake is said once
    if bits & ACCEL and not ip.migrating and not ip.exploring:
        for tensor, _ in found:
            if tensor.dev == CPU | ACCEL and type(tensor.why) is Kept:
                ip.note("either", node, tensor, found, op, ip.frame, ip.stack)
    if bits == CPU and not ip.migrating and not ip.exploring and len(found) > 1 and ip.stack:
        meeting = Clash("host", node, ip.frame.unit, op, [found, place_dev])
        meeting.frame, meeting.stack, meeting.owner = ip.frame, ip.stack, owner
        ip.meetings.append(meeting)
    return ACCEL if bits & ACCEL and bits & CPU and ip.migrating else bits


def passed(ip: Interp, value: Tensor, expr: Any) -> Tensor:
    """A tensor passed to a function of the project: it can be moved at the call."""
    graph = ip.graph
    root = graph.find(value.var)
    if value.flags & (PARAM | BATCHED | UNSURE_TENSOR) or root == DEVICE_NODE:
        return value
    var = graph.variable(("arg", id(expr), ip.frame.ctx), "arg")
    cost = move_cost(ip, USE - 1)
    graph.edge(root, var, cost, cost, expr, ip.frame.unit, "use")
    graph.views[var] = root
    return Tensor(var, value.dev, value.flags, value.why)


def named(ip: Interp, value: Tensor, expr: Any, stmt: Any) -> Tensor:
    """A tensor gets a name: it can be moved where it is computed, for all later uses."""
    graph = ip.graph
    root = graph.find(value.var)
    if root == DEVICE_NODE or value.flags & (PARAM | BATCHED | UNSURE_TENSOR | LEAF):
        return value
    made = graph.births.get(value.var)
    if made is not None and made.node is expr:
        return value
    var = graph.variable(("name", id(stmt), ip.frame.ctx), "name")
    cost = move_cost(ip, AFTER)
    graph.edge(root, var, cost, cost, expr, ip.frame.unit, "use")
    graph.views[var] = root
    return Tensor(var, value.dev, value.flags, value.why)


def written(ip: Interp, tensor: Tensor) -> None:
    """A tensor is changed in place: a view or an argument of it must be the same storage."""
    graph = ip.graph
    var = tensor.var
    while True:
        base = graph.views.get(var)
        if base is None or graph.find(base) == graph.find(var):
            return
        graph.same(var, base)
        var = base


def anchor(ip: Interp, tensor: Tensor) -> None:
    """A learned tensor wants to be on the device."""
    ip.learned.add(tensor.var)
    if not ip.host_context and ip.compute_pays:
        ip.graph.want_device(ip.graph.find(tensor.var), ANCHOR)


def module_place(ip: Interp, inst: Inst) -> tuple[int, int]:
    """The variable of a module, and where it is as the source stands."""
    return inst.state.get("var", HOST_NODE), inst.state.get("dev", CPU)


def bound_tensor(ip: Interp, value: Tensor | Batch, node: Any, how: str, stmt: Any) -> Tensor:
    """A part of a batch gets a name or is taken out: from here on it can live on the device."""
    made = birth(ip, node, how, stmt=stmt, dev=value.dev, why=value.why)
    return Tensor(made.var, value.dev, 0, value.why)
