"""Raises device errors as PyTorch words them, with a report of what is known about the tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import torch

from torchferry.sim.naming import Holder, holder_of
from torchferry.sim.places import place_of, user_frame, user_stack
from torchferry.sim.suggestions import suggest
from torchferry.sim.tags import device_named, device_number, origin_of, tag_of
from torchferry.trace import DeviceErrorReport, MoveRecord, TensorReport

#: (name of the operator's argument or None, tensor)
Named = tuple["str | None", torch.Tensor]


def raise_device_error(
    kind: str,
    message: str,
    operator: str,
    tensors: Sequence[Named] = (),
    error: type[Exception] = RuntimeError,
) -> NoReturn:
    """Raise `error(message)` with a DeviceErrorReport as its `__torchferry__` attribute."""
    exception = error(message)
    frame = user_frame(2)
    try:
        report = _report(kind, message, operator, tensors, frame)
        exception.__torchferry__ = report  # type: ignore[attr-defined]
        raise exception
    finally:
        # Else this frame, which the exception's traceback holds, would hold the exception: the
        # tensors of the failed program would live until the next garbage collection.
        del frame, exception


def _report(
    kind: str,
    message: str,
    operator: str,
    tensors: Sequence[Named],
    frame: FrameType | None,
) -> DeviceErrorReport:
    place = place_of(frame.f_code, frame.f_lasti) if frame is not None else None
    holders = [holder_of(tensor, frame) for _, tensor in tensors]
    reports = tuple(
        _tensor_report(argument, tensor, holder)
        for (argument, tensor), holder in zip(tensors, holders, strict=True)
    )
    return DeviceErrorReport(
        kind=kind,
        message=message,
        operator=operator,
        place=place,
        tensors=reports,
        suggestion=suggest(kind, reports, tensors, holders, place),
        stack=user_stack(frame if frame is not None else sys._getframe(1)),
    )


def _tensor_report(
    argument: str | None, tensor: torch.Tensor, holder: Holder | None
) -> TensorReport:
    tag = tag_of(tensor)
    moves: tuple[MoveRecord, ...] = ()
    if tag is not None and tag.moves:
        moves = tuple(
            MoveRecord(str(device_named(device)), place_of(code, lasti))
            for device, code, lasti in tag.moves
        )
    origin = None if tag is None else origin_of(tag)
    return TensorReport(
        device=str(device_named(device_number(tensor))),
        shape=() if tensor.is_nested else tuple(tensor.shape),
        dtype=str(tensor.dtype),
        name=None if holder is None else holder.expression,
        argument=argument,
        born=None if origin is None else place_of(origin.code, origin.lasti),
        born_by="" if origin is None else origin.operator,
        moves=moves,
    )


def attach_report(
    exception: BaseException, kind: str, operator: str, tensors: Sequence[Named] = ()
) -> None:
    """Attach a report to an exception that something else raises."""
    if not hasattr(exception, "__torchferry__"):
        frame = user_frame(2)
        report: Any = _report(kind, str(exception), operator, tensors, frame)
        exception.__torchferry__ = report  # type: ignore[attr-defined]
