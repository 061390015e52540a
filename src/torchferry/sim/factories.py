"""Operators that make tensors from options: decides the device and runs them on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim import checks, failures
from torchferry.sim.befores import lookup, random_call, takes_tensors
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.operators import Operator
from torchferry.sim.places import caller, internal_files
from torchferry.sim.tags import (
    CPU,
    FLOATING,
    History,
    HostTag,
    device_number,
    pin,
    set_tag,
    tag_of,
    tag_results,
)

if TYPE_CHECKING:
    from torchferry.sim.session import Session
    from torchferry.sim.sites import Site


_HOST = torch.device("cpu")


def _device_rule(session: Session, operator: Operator) -> Callable[..., int]:
    """What decides the device of a factory's result.

    The Python bindings always pass `pin_memory`; C++ code that makes a tensor with the options of
    another (CPU) tensor does not: then the device is not the user's wish. It follows the tensor
    arguments (a sparse tensor its parts), else it floats until the tensor meets another.
    """
    short, arguments = operator.short, takes_tensors(operator.func)
    copies, of_parts = short == "_to_copy", arguments and "_sparse_" in f"_{short}"

    def decide(wish: torch.device | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        if wish is not None and wish.type == "cuda":
            return session.index_of(wish)
        if copies and session.moving_to is not None:
            return session.moving_to
        if wish is not None and "pin_memory" in kwargs and not of_parts:
            return CPU
        if arguments and _has_tensor(args):
            device = _only_device(args)
            return device if device != FLOATING else checks.settle(session, operator, args, kwargs)
        if "pin_memory" in kwargs:
            return CPU
        return FLOATING if session.legacy_device < 0 else session.legacy_device

    return decide


def runner(session: Session, operator: Operator) -> Callable[..., Any]:
    """Runner of a factory."""
    call, before = random_call(session, operator), lookup(operator)
    decide = _device_rule(session, operator)
    name, short, site_of = operator.name, operator.short, session.counter.site
    tracing, internal = session.counter.tracing, internal_files
    call_directly, arguments = operator.func._op, takes_tensors(operator.func)

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wish = kwargs.pop("device", None)  # the kernel makes a CPU tensor
        if wish is not None and wish.type != "cpu" and wish.type != "cuda":
            return call_directly(*args, device=wish, **kwargs)
        device = decide(wish, args, kwargs)
        pinned = kwargs.get("pin_memory")
        if pinned:
            checks.pinnable(device, short)
            del kwargs["pin_memory"]
        if before is not None:
            args, kwargs = before(session, operator, args, kwargs, device)
        if wish is not None and arguments and getattr(args[0], "is_meta", False):
            kwargs["device"] = _HOST  # else the kernel would make a meta tensor
        try:
            out = call(*args, **kwargs)
        except (RuntimeError, IndexError) as error:
            out = failures.recover(session, operator, device, args, kwargs, error)
        start = frame = caller(2)
        while tracing and internal[frame.f_code.co_filename] and frame.f_back is not None:
            frame = frame.f_back
        site = site_of(name, device, frame.f_code, frame.f_lasti, start)
        site.count, site.kept = site.count + 1, site.kept + 1
        try:
            site.nbytes += tag_results(out, site)
        except OutOfMemory as full:
            session.out_of_memory(full, name)
        if pinned:
            pin(out)
        elif device == FLOATING and tag_of(out) is site:  # else it was made before
            _give_hint(out, site, start)
        return out

    return run


def _give_hint(out: torch.Tensor, site: Site, start: FrameType) -> None:
    hint = _device_in_sight(start)
    if hint != CPU:
        set_tag(out, HostTag(FLOATING, site, History(hint=hint)))


def _device_in_sight(frame: FrameType) -> int:
    """The GPU that all tensors of the calling Python frame are on; the CPU if they disagree."""
    found: set[int] = set()
    for value in frame.f_locals.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, torch.Tensor):
                found.add(device_number(item))
    found.discard(FLOATING)
    return found.pop() if len(found) == 1 else CPU


def _only_device(args: tuple[Any, ...]) -> int:
    """Device of the first argument where it is the only tensor, else FLOATING."""
    for arg in args[1:]:
        if arg.__class__ is list or isinstance(arg, torch.Tensor):
            return FLOATING
    return device_number(args[0]) if isinstance(args[0], torch.Tensor) else FLOATING


def _has_tensor(args: tuple[Any, ...]) -> bool:
    for arg in args:
        if isinstance(arg, torch.Tensor):
            return True
        if arg.__class__ is list and arg and isinstance(arg[0], torch.Tensor):
            return True
    return False
