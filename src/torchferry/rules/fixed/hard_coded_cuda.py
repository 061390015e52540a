"""DEV801."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding, Severity

from ..causes import causes
from ..operators.half_on_cpu import guarded
from ..origins import is_literal_move
from ..rule import Rule
from .flag_inconsistent import moves_without_flag

if TYPE_CHECKING:
    from ..context import Context


class HardCodedCuda(Rule):
    """`.cuda()` in a function, whatever device its arguments are on.

    What it does:
        Reports `.cuda()` and `device="cuda"` on a tensor that a function or method makes, when no
        branch asks for the GPU; notes them at the top level of a script that never asks.

    Why is this bad:
        The function cannot run without a GPU, and fails when its arguments are on the CPU or on
        another GPU.

    Example:
        import torch

        def mix(parts):
            total = torch.zeros(3).cuda()
            for part in parts:
                total = total + part
            return total

    Fix:
        import torch

        def mix(parts):
            total = torch.zeros_like(parts[0])
            for part in parts:
                total = total + part
            return total

    Fix safety:
        No automatic fix.

    References:
        https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code
    """

    code = "DEV801"
    name = "hard-coded-cuda"
    kinds = ("hard-coded-device",)
    word = "cuda"

    def check(self, ctx: Context) -> Iterable[Finding]:
        seen = {id(call) for call in moves_without_flag(ctx)[1]}  # flag-inconsistent says it
        for call in ctx.nodes.get(ast.Call, []):
            if not is_literal_move(call) or not _made_here(call):
                continue
            function = ctx.function(call)
            if id(call) in seen or function is None or _is_entry(function) or guarded(ctx, call):
                continue
            if not function.args.args:
                continue
            seen.add(id(call))
            yield self._report(ctx, call, Severity.WARNING)
        for call in _in_script(ctx):
            if id(call) not in seen:
                seen.add(id(call))
                yield self.finding(
                    ctx,
                    call,
                    f"`{ctx.source(call)}`: the script cannot run without a GPU",
                    severity=Severity.NOTE,
                    help='device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
                )
        for cause in causes(ctx, self.name):
            if id(cause.node) not in seen:
                yield self._report(ctx, cause.node, Severity.WARNING)

    def _report(self, ctx: Context, call: Any, severity: Severity) -> Finding:
        return self.finding(
            ctx,
            call,
            f"`{ctx.source(call)}` is on the GPU whatever device the arguments are on",
            severity=severity,
            help="make it on the device of an argument: `device=x.device`, `*_like`, `x.new_*`",
        )


_ASKS = re.compile(r"is_available|device_count|current_accelerator|skipif|skipIf|argparse|argv")


def _in_script(ctx: Context) -> Iterator[Any]:
    """Moves to the GPU, and devices, at the top level of a program that never asks for one."""
    if _ASKS.search(ctx.doc.text):
        return
    for call in ctx.nodes.get(ast.Call, []):
        if not is_literal_move(call) or ctx.function(call) or ctx.class_of(call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in ("cuda", "to", "device") and not guarded(ctx, call):
            yield call


_FACTORIES = frozenset(
    "zeros ones empty full rand randn randint arange linspace eye tensor FloatTensor LongTensor "
    "Tensor from_numpy as_tensor randperm DoubleTensor ByteTensor IntTensor Variable".split()
)


def _made_here(call: Any) -> bool:
    """Whether the call makes a tensor, or moves one that was made in the same expression."""
    current = call
    while isinstance(current, ast.Call):
        func = current.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if name in _FACTORIES:
            return True
        current = func.value if isinstance(func, ast.Attribute) else None
    return False


def _is_entry(function: Any) -> bool:
    name = getattr(function, "name", "")
    return name in ("main", "run", "train", "test", "__init__") or name.startswith("test_")
