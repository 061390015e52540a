"""`torch.use_deterministic_algorithms(True)`: CUDA kernels without a deterministic variant refuse.

Many of them are deterministic on the CPU, so a program finds this only on a GPU.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim.errors import raise_device_error
from torchferry.sim.messages import TORCH_VERSION
from torchferry.sim.operators import Before, Call, Operator, argument_of
from torchferry.sim.tables import nondeterministic as tables

if TYPE_CHECKING:
    from torchferry.sim.session import Session


def with_alert(operator: Operator, before: Before | None) -> Before | None:
    """`before`, with the alert of CUDA's kernel where it has one."""
    kernel = _kernel(operator)
    if kernel is None:
        return before

    def look(
        session: Session,
        operator: Operator,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        device: int,
    ) -> Call:
        strict = device >= 0 and torch.are_deterministic_algorithms_enabled()
        if strict and _is_refused(operator, args, kwargs):
            _alert(kernel, operator)
        if before is None:
            return args, kwargs
        return before(session, operator, args, kwargs, device)

    return look


def _kernel(operator: Operator) -> str | None:
    """Name that CUDA's alert gives the kernel of an operator; None if it gives none."""
    if operator.short in tables.DEPENDING:
        return tables.DEPENDING[operator.short][2]
    if TORCH_VERSION < (2, 13) and operator.short in tables.BEFORE_2_13:
        return tables.BEFORE_2_13[operator.short]
    overload = operator.name.removesuffix("_values")
    return tables.ALWAYS.get(operator.short) or tables.OVERLOADS.get(overload)


def _is_refused(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """False where the arguments choose a deterministic kernel."""
    if operator.short not in tables.DEPENDING:
        return True
    name, refused, _ = tables.DEPENDING[operator.short]
    value = argument_of(operator, name, args, kwargs)
    return value is not None if refused is None else value in refused


def _alert(kernel: str, operator: Operator) -> None:
    text = f"{kernel} does not have a deterministic implementation, but you set "
    if torch.is_deterministic_algorithms_warn_only_enabled():
        warnings.warn(
            f"{text}'torch.use_deterministic_algorithms(True, warn_only=True)'. You can file an "
            "issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
            "deterministic support for this operation.",
            stacklevel=4,
        )
        return
    raise_device_error(
        "not-deterministic",
        f"{text}'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for "
        "this operation, or you can use the 'warn_only=True' option, if that's acceptable for your "
        "application. You can also file an issue at https://github.com/pytorch/pytorch/issues to "
        "help us prioritize adding deterministic support for this operation.",
        operator.name,
    )
