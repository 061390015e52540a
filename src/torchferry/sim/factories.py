"""Operators that make tensors from options: decides the device and runs them on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim import checks, failures
from torchferry.sim.befores import lookup, random_call
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.operators import Operator
from torchferry.sim.places import user_frame
from torchferry.sim.tags import CPU, FLOATING, tag_of, tag_results

if TYPE_CHECKING:
    from torchferry.sim.session import Session


def runner(session: Session, operator: Operator) -> Callable[..., Any]:
    """Runner of a factory.

    The Python bindings always pass `pin_memory`; C++ code that makes a tensor with the options of
    another (CPU) tensor does not: then the device is not the user's wish. It follows the tensor
    arguments, else it floats until the tensor meets another.
    """
    call, short, memory = random_call(session, operator), operator.short, session.memory
    before, counter = lookup(operator), session.counter

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wish = kwargs.get("device")
        if wish is not None and wish.type not in ("cpu", "cuda"):
            return call(*args, **kwargs)
        device = _device(session, operator, args, kwargs, wish)
        kwargs = {k: v for k, v in kwargs.items() if k != "device"}
        pinned = bool(kwargs.get("pin_memory"))
        if pinned:
            checks.pinnable(device, short)
            del kwargs["pin_memory"]
        if before is not None:
            args, kwargs = before(session, operator, args, kwargs, device)
        try:
            out = call(*args, **kwargs)
        except (RuntimeError, IndexError) as error:
            out = failures.recover(session, operator, device, args, kwargs, error)
        frame = user_frame(2)
        code, lasti = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
        try:
            nbytes = tag_results(out, device, short, code, lasti, memory)
        except OutOfMemory as full:
            session.out_of_memory(full, operator.name)
        if pinned:
            tag = tag_of(out)
            if tag is not None:
                tag.pinned = True
        counter.operator(operator.name, device, code, lasti, nbytes)
        return out

    return run


def _device(
    session: Session, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], wish: Any
) -> int:
    if wish is not None and wish.type == "cuda":
        return session.index_of(wish)
    if wish is not None and "pin_memory" in kwargs:
        return CPU
    if any(isinstance(a, torch.Tensor) for a in args):
        return checks.settle(session, operator, args, kwargs)
    if "pin_memory" in kwargs:
        return CPU
    return FLOATING if session.legacy_device < 0 else session.legacy_device
