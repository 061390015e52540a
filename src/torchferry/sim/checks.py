"""Which mixes of devices an operator takes, and what PyTorch says of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import torch

from torchferry.sim.errors import Named, raise_device_error
from torchferry.sim.messages import (
    different_from_others,
    found_two_devices,
    special_message,
    wrapper_name,
)
from torchferry.sim.operators import Check, Operator
from torchferry.sim.tables import families
from torchferry.sim.tags import CPU, FLOATING, device_named, device_number, tag_of

if TYPE_CHECKING:
    from torchferry.sim.session import Session

#: (argument, tensor, device number)
Placed = tuple[str, torch.Tensor, int]


def settle(
    session: Session, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> int:
    """Device of the results of an operator whose tensors may be on several devices.

    Floating tensors take the device that they meet. Raises the error of CUDA for an illegal mix.
    """
    tensors = list(_tensors(operator, args, kwargs))
    if not tensors:
        return CPU
    if session.lenient:
        tensors = [(n, t, FLOATING if d == CPU and tag_of(t) is None else d) for n, t, d in tensors]
    tensors = _land(session, tensors)
    devices = {device for _, _, device in tensors}
    if len(devices) == 1:
        return devices.pop()
    devices.discard(FLOATING)
    if len(devices) == 1:
        return devices.pop()
    return _mixed(session, operator, tensors, args)


def first_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The first GPU among the tensors of a call, the CPU where there is none."""
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, torch.Tensor) and device_number(item) >= 0:
                return device_number(item)
    return CPU


def _tensors(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Placed]:
    found: list[Placed] = []
    for name, value in (*zip(operator.arguments, args), *kwargs.items()):  # noqa: B905
        if isinstance(value, torch.Tensor):
            found.append((name, value, device_number(value)))
        elif isinstance(value, (list, tuple)):
            found.extend(
                (name, item, device_number(item))
                for item in value
                if isinstance(item, torch.Tensor)
            )
    return found


def _land(session: Session, tensors: list[Placed]) -> list[Placed]:
    """Give floating tensors the device of the others, unless only 0-dim CPU tensors are there."""
    if all(device != FLOATING for _, _, device in tensors):
        return tensors
    firm = [d for _, t, d in tensors if d >= 0]
    firm = firm or [d for _, t, d in tensors if d == CPU and t.dim() > 0]
    if not firm:
        return tensors
    target = firm[0]
    landed = []
    for name, tensor, device in tensors:
        if device == FLOATING:
            session.adopt(tensor, target)
            device = target
        landed.append((name, tensor, device))
    return landed


def _mixed(
    session: Session, operator: Operator, tensors: list[Placed], args: tuple[Any, ...]
) -> int:
    name = operator.short
    if name in families.ANY_MIX:
        _generated_out(operator, tensors)
        return tensors[0][2]
    special = special_message(operator, tensors)
    if special is not None:
        _refuse("mixed-devices", special, operator, tensors)
    if name in families.CPU_INDICES:
        return _indexing(session, operator, tensors)
    if name.startswith("_foreach_"):
        return _foreach(session, operator, args, tensors)
    if name.startswith("_fused_") and operator.check is not Check.WRAPPER:
        return tensors[0][2]  # the learning rate may be on the CPU
    allowed = families.CPU_SCALAR_VALUES.get(name)
    if allowed is not None:
        return _iterator(session, operator, _without_scalar(session, tensors, allowed))
    checked = operator.check in (Check.STRUCTURED, Check.WRAPPER)
    if (
        operator.check is Check.ITERATOR
        or name in families.BEGIN_WITH_ITERATOR
        or (not checked and torch.Tag.pointwise in operator.func.tags)
    ):
        return _iterator(session, operator, tensors)
    return _same(operator, tensors)


def _without_scalar(session: Session, tensors: list[Placed], allowed: str) -> list[Placed]:
    """The tensors that must be together: not a 0-dim CPU tensor as the argument `allowed`."""
    rest = []
    for name, tensor, device in tensors:
        if name == allowed and device == CPU and tensor.dim() == 0:
            carry_gradient_home(session, tensor, CPU)
        else:
            rest.append((name, tensor, device))
    return rest


def _iterator(session: Session, operator: Operator, tensors: list[Placed]) -> int:
    """TensorIterator: the common device is the first GPU; 0-dim CPU inputs may join."""
    common = next(device for _, _, device in tensors if device >= 0)
    scalars_allowed = operator.short not in families.NO_CPU_SCALAR
    for name, tensor, device in tensors:
        if device == common:
            continue
        is_input = name not in operator.mutated
        if scalars_allowed and is_input and device == CPU and tensor.dim() == 0:
            carry_gradient_home(session, tensor, CPU)
            continue
        message = found_two_devices(common, device)
        _refuse("mixed-devices", message, operator, _pair(tensors, common, tensor))
    return common


def _generated_out(operator: Operator, tensors: list[Placed]) -> None:
    """`out=` of operators that PyTorch generates it for: a copy of the result, which it checks."""
    home, last = tensors[0][2], tensors[-1]
    if last[0] == "out" and last[2] != home:
        message = (
            f"Expected out tensor to have device {device_named(home)}, but got "
            f"{device_named(last[2])} instead"
        )
        _refuse("mixed-devices", message, operator, [tensors[0], last])


def _same(operator: Operator, tensors: list[Placed]) -> NoReturn:
    """The generated wrapper: the first tensor's device is the common one."""
    common = tensors[0][2]
    name, tensor, device = next(t for t in tensors if t[2] != common)
    message = different_from_others(name, device, common, wrapper_name(operator))
    _refuse("mixed-devices", message, operator, _pair(tensors, common, tensor))


def _pair(tensors: list[Placed], common: int, odd: torch.Tensor) -> list[Placed]:
    """The odd tensor and the first one on the common device, in the operator's order."""
    first = next(t for t in tensors if t[2] == common)
    return [t for t in tensors if t[1] is odd or t is first]


def _indexing(session: Session, operator: Operator, tensors: list[Placed]) -> int:
    home = tensors[0][2]
    for name, tensor, device in tensors[1:]:
        if device == home:
            continue
        if name == "indices":
            if device != CPU:
                message = (
                    "indices should be either on cpu or on the same device as the indexed tensor "
                    f"({device_named(home)})"
                )
                _refuse("index-device", message, operator, [tensors[0], (name, tensor, device)])
        elif device == CPU and tensor.dim() == 0:
            carry_gradient_home(session, tensor, CPU)
        else:
            message = (
                found_two_devices(max(home, device), min(home, device))
                if home >= 0
                else "expected self and values to be on the same device, but found at least two "
                "devices, cpu and cuda:0!"
            )
            _refuse("mixed-devices", message, operator, [tensors[0], (name, tensor, device)])
    return home


def _foreach(
    session: Session, operator: Operator, args: tuple[Any, ...], tensors: list[Placed]
) -> int:
    """Lists of tensors: each position is an operator of its own."""
    lists = [a for a in args if isinstance(a, (list, tuple)) and a]
    lists = [a for a in lists if isinstance(a[0], torch.Tensor)]
    for row in zip(*lists):  # noqa: B905
        placed = [("self", t, device_number(t)) for t in row]
        if len({d for _, t, d in placed if not (d == CPU and t.dim() == 0)}) > 1:
            _iterator(session, operator, placed)
    return tensors[0][2]


def carry_gradient_home(session: Session, tensor: torch.Tensor, device: int) -> None:
    """Make the gradient of `tensor` come back to its own device, as autograd does."""
    if not tensor.requires_grad or not torch.is_grad_enabled():
        return
    if getattr(tensor, "_ferry_home", False):
        return
    tensor._ferry_home = True  # type: ignore[attr-defined]
    tensor.register_hook(lambda grad: session.transfer(grad, device))


def pinnable(device: int, operator: str) -> None:
    """Refuse to pin memory of a GPU."""
    if device >= 0:
        raise_device_error("pin", "Only dense CPU tensors can be pinned", operator)


def _refuse(kind: str, message: str, operator: Operator, tensors: list[Placed]) -> NoReturn:
    named: list[Named] = [(name, tensor) for name, tensor, _ in tensors]
    raise_device_error(kind, message, operator.name, named)
