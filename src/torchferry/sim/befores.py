"""What is looked at around an operator: generators, arguments and results that stay on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim.errors import raise_device_error
from torchferry.sim.generators import default_generators, generator_device
from torchferry.sim.messages import generator_message
from torchferry.sim.operators import Before, Operator
from torchferry.sim.tags import CPU, device_named, device_number

if TYPE_CHECKING:
    from torchferry.sim.session import Session

Call = tuple[tuple[Any, ...], dict[str, Any]]


def lookup(name: str, random: bool) -> Before | None:
    """The check of an operator, None for most."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    return _generator if random else None


def _generator(
    session: Session,
    operator: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: int,
) -> Call:
    """A generator must be of the tensor's device; a GPU may have its own stream of numbers."""
    generator = kwargs.get("generator")
    place = operator.arguments.index("generator") if "generator" in operator.arguments else -1
    if generator is None and 0 <= place < len(args):
        generator = args[place]
    if generator is not None:
        found = generator_device(generator)
        if (found >= 0) != (device >= 0):
            raise_device_error("generator", generator_message(device, found), operator.name)
        return args, kwargs
    if device >= 0 and session.device_rng and place >= 0:
        own = default_generators()[device]
        if place < len(args):
            args = (*args[:place], own, *args[place + 1 :])
        else:
            kwargs = {**kwargs, "generator": own}
    return args, kwargs


def _packed_lengths(
    session: Session,
    operator: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: int,
) -> Call:
    lengths = args[1] if len(args) > 1 else kwargs.get("lengths")
    if isinstance(lengths, torch.Tensor):
        here = device_number(lengths)
        if here > CPU:
            kind = str(lengths.dtype).removeprefix("torch.")
            name = {"int64": "Long", "int32": "Int"}.get(kind, kind)
            message = (
                "'lengths' argument should be a 1D CPU int64 tensor, but got "
                f"{lengths.dim()}D {device_named(here)} {name} tensor"
            )
            raise_device_error("packed-lengths", message, operator.name, [("lengths", lengths)])
    return args, kwargs


_BY_NAME: dict[str, Before] = {"_pack_padded_sequence": _packed_lengths}
