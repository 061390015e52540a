"""DEV905."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity
from torchferry.flow.values import ACCEL, UNKNOWN, Ext, Method, Tensor

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_CLOCKS = (
    "time.time",
    "time.perf_counter",
    "time.monotonic",
    "time.process_time",
    "timeit.default_timer",
)
_WAITS = ("synchronize", ".item(", ".cpu(", ".tolist(", ".numpy(", "elapsed_time")
#: packages whose functions start work on the GPU or none, and do not wait
_NO_WORK = frozenset("torch torchvision time timeit math random itertools builtins tqdm".split())
_WAITING = frozenset("item cpu tolist numpy".split())


class TimingNoSync(Rule):
    """A clock around GPU work, without waiting for it.

    What it does:
        Reports the two readings of a clock around calls that compute on the GPU, when nothing
        between them waits for the GPU.

    Why is this bad:
        Operators on a GPU are queued: the clock measures how long it takes to queue them.

    Example:
        import time
        import torch

        x = torch.ones(100, 100, device="cuda")
        start = time.perf_counter()
        y = torch.matmul(x, x)
        spent = time.perf_counter() - start

    Fix:
        import time
        import torch

        x = torch.ones(100, 100, device="cuda")
        torch.cuda.synchronize()
        start = time.perf_counter()
        y = torch.matmul(x, x)
        torch.cuda.synchronize()
        spent = time.perf_counter() - start

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/tutorials/recipes/recipes/benchmark.html
    """

    code = "DEV905"
    name = "timing-no-sync"
    word = "time"

    def check(self, ctx: Context) -> Iterable[Finding]:
        clocks = sorted(ctx.calls(*_CLOCKS), key=lambda e: (e.node.lineno, e.node.col_offset))
        for first in clocks:
            name = _bound_name(ctx, first.node)
            if not name:
                continue
            second = next((e for e in clocks if _difference(ctx, first, e, name)), None)
            if second is None or not self._computes(ctx, first, second):
                continue
            start, end = first.node.lineno, second.node.lineno
            between = _between(ctx, first, second)
            if any(w in _lines(ctx, start, end) for w in _WAITS) or any(map(_waits, between)):
                continue
            # over a whole training the last step that is not waited for counts for nothing, and
            # what is not known may wait
            training = ".backward(" in _lines(ctx, start, end)
            unknown = any(map(_unknown, between))
            level = Severity.NOTE if training or unknown else Severity.WARNING
            before = "synchronize" in _lines(ctx, max(1, start - 4), start)
            if not before:
                yield self.finding(
                    ctx,
                    first.node,
                    "the clock is read while the GPU may still be at work",
                    severity=level,
                    evidence=[ctx.step(second.node, "and compared with this reading")],
                    help="synchronize before each reading (where the device is a GPU)",
                )
            yield self.finding(
                ctx,
                second.node,
                "the clock is read before the GPU is done: it measures launches, not the work",
                severity=level,
                evidence=[ctx.step(first.node, "the measurement starts here")],
                help="synchronize before each reading (where the device is a GPU)",
            )

    def _computes(self, ctx: Context, first: Any, second: Any) -> bool:
        for event in ctx.ip.events:
            line = getattr(event.node, "lineno", 0)
            if not first.node.lineno < line <= second.node.lineno or event.exploring:
                continue
            if event.frame.unit.doc is ctx.doc and isinstance(event.result, Tensor):
                moves = isinstance(event.func, Ext) and event.func.name.endswith("randn")
                if event.result.dev == ACCEL and not moves:
                    return True
        return False


def _between(ctx: Context, first: Any, second: Any) -> list[Any]:
    """The calls between two readings, in other functions and files too, in their order."""
    events = ctx.ip.events
    positions = {id(event): index for index, event in enumerate(events)}
    start, end = positions[id(first)], positions[id(second)]
    return events[start + 1 : end] if start < end else []


def _waits(event: Any) -> bool:
    if isinstance(event.func, Method):
        return event.func.name in _WAITING and isinstance(event.func.receiver, Tensor)
    return isinstance(event.func, Ext) and event.func.name.endswith(".synchronize")


def _unknown(event: Any) -> bool:
    if isinstance(event.func, Ext):
        top, dot, _ = event.func.name.partition(".")
        return bool(dot) and top not in _NO_WORK
    return event.func is UNKNOWN


def _bound_name(ctx: Context, call: Any) -> str:
    stmt = ctx.parents.get(id(call))
    if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], (ast.Name, ast.Attribute)):
        return ast.unparse(stmt.targets[0])
    return ""


def _difference(ctx: Context, first: Any, second: Any, name: str) -> bool:
    """`clock() - name` behind the first reading."""
    parent = ctx.parents.get(id(second.node))
    if second.node.lineno <= first.node.lineno:
        return False
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub):
        return ast.unparse(parent.right) == name
    other = _bound_name(ctx, second.node)
    if not other or ctx.function(first.node) is not ctx.function(second.node):
        return False
    scope = ctx.function(second.node) or ctx.tree
    return any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)
        and ast.unparse(n.left) == other and ast.unparse(n.right) == name
        for n in ast.walk(scope)
    )  # fmt: skip


def _lines(ctx: Context, start: int, end: int) -> str:
    return "\n".join(ctx.doc.line_text(line) for line in range(start, end + 1))
