"""Turns errors of CPU kernels into what CUDA says of the same fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torchferry.sim.context import device_assert
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.only_cuda import kernel_of
from torchferry.sim.operators import Operator, named_arguments
from torchferry.sim.tables.device_asserts import DEVICE_ASSERTS
from torchferry.sim.tables.kernel_names import cuda_name

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_NO_KERNEL = re.compile(
    r"not implemented for '|Unsupported dtype|doesn't support tensors of type|"
    r"does not support complex|Could not run 'aten::"
)
_KERNEL_NAME = re.compile(r'"(\w+)" not implemented for')
_NO_HOST_MEMORY = re.compile(r"you tried to allocate (\d+) bytes")


def recover(
    session: Session,
    operator: Operator,
    device: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception,
) -> Any:
    """Result of an operator whose CPU kernel failed, if CUDA has one; else CUDA's error."""
    if device < 0 or hasattr(error, "__torchferry__"):
        raise error
    text = str(error)
    room = _NO_HOST_MEMORY.search(text)
    if room is not None:
        card = session.memory.cards[device]
        wanted = int(room[1])
        if wanted + card.allocated > session.total_memory:
            session.out_of_memory(OutOfMemory(device, wanted), operator.name)
        raise error
    words = DEVICE_ASSERTS.get(operator.short.removesuffix("_"))
    if words is not None and re.search(words, text):
        device_assert(session, operator.name, named_arguments(operator, args), text)
    if _NO_KERNEL.search(text):
        kernel = kernel_of(operator, args)
        if kernel is not None:
            return kernel(*args, **kwargs)
    raise _in_cuda_words(error, text) from None


def _in_cuda_words(error: Exception, text: str) -> Exception:
    """The error, with CUDA's name of the kernel where the CPU's is named."""
    found = _KERNEL_NAME.match(text)
    if found is None or cuda_name(found[1]) == found[1]:
        return error
    return type(error)(text.replace(found[1], cuda_name(found[1]), 1))
