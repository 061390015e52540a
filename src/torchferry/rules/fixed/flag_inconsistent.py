"""DEV802."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding

from ..operators.half_on_cpu import guarded
from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_FLAG = re.compile(r"(?i)(use_?|is_?|has_?|with_?)?(cuda|gpu)(_available)?$")


class FlagInconsistent(Rule):
    """`.cuda()` under a flag in one place, without it in another.

    What it does:
        Reports `.cuda()` that nothing guards in a file that guards others of its `.cuda()` calls
        with a flag such as `args.cuda` or `use_gpu`.

    Why is this bad:
        With the flag off (or without a GPU) the forgotten place fails, or mixes devices.

    Example:
        import torch

        use_cuda = torch.cuda.is_available()
        x, y = torch.ones(3), torch.ones(3)
        if use_cuda:
            x = x.cuda()
        y = y.cuda()

    Fix:
        import torch

        use_cuda = torch.cuda.is_available()
        x, y = torch.ones(3), torch.ones(3)
        if use_cuda:
            x = x.cuda()
            y = y.cuda()

    Fix safety:
        No automatic fix: one `device` for the whole file is better than another guard.

    References:
        https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code
    """

    code = "DEV802"
    name = "flag-inconsistent"
    word = ".cuda("

    def check(self, ctx: Context) -> Iterable[Finding]:
        guard, free = moves_without_flag(ctx)
        for call in free:
            yield self.finding(
                ctx,
                call,
                f"`{ctx.source(call)}` does not ask the flag that guards the other moves",
                evidence=[ctx.step(guard.test, "the flag is asked here")],
                help="use one device for the whole file, or guard this move too",
            )


def moves_without_flag(ctx: Context) -> tuple[Any, list[Any]]:
    """The first guard of a `.cuda()` by a flag, and the calls of `.cuda()` that no guard holds.

    None and no calls where the file has no such flag.
    """
    free: list[Any] = []
    guard: Any = None
    for call in ctx.nodes.get(ast.Call, []):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "cuda":
            continue
        found = _flag_around(ctx, call)
        if found is not None:
            guard = guard or found
        elif not guarded(ctx, call):
            free.append(call)
    return guard, free if guard is not None else []


def _flag_around(ctx: Context, call: Any) -> Any:
    for outer in ctx.around(call):
        if isinstance(outer, (ast.If, ast.IfExp)) and any(map(_is_flag, _atoms(outer.test))):
            return outer
    return None


def _atoms(test: Any) -> list[Any]:
    """The parts of a condition: `args.cuda and n > 1` has two."""
    return test.values if isinstance(test, ast.BoolOp) else [test]


def _is_flag(test: Any) -> bool:
    """A plain name or attribute that is called like a flag: `use_cuda`, `args.gpu`."""
    if isinstance(test, ast.Name):
        return _FLAG.match(test.id) is not None
    return isinstance(test, ast.Attribute) and _FLAG.match(test.attr) is not None
