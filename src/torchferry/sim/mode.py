"""The dispatch mode: sees every operator, checks the devices of its tensors and tags its results.

One runner per operator is prepared at its first call; operators.py says which kind each is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchferry.sim import checks, factories, failures, operators
from torchferry.sim.befores import lookup, random_call
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.places import internal_files, is_internal, user_frame
from torchferry.sim.shortcut import close_shortcut
from torchferry.sim.tables import families
from torchferry.sim.tags import (
    CPU,
    FLOATING,
    LOADING,
    NO_STORAGE,
    DeviceTag,
    HostTag,
    nbytes_of,
    set_tag,
    storage_of,
    tag_of,
    tag_results,
)

if TYPE_CHECKING:
    from torchferry.sim.session import Session

Runner = Callable[[tuple[Any, ...], dict[str, Any]], Any]
Tensor = torch.Tensor
_CPU_KERNEL = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_detach: Any = torch._C.TensorBase.detach
#: No tensor seen yet.
_NONE = -3


class SimulationMode(TorchDispatchMode):
    """Runs each operator on the CPU and keeps account of where it would have run."""

    #: Views may pass by this mode (shortcut.py).
    sees_no_views = True

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._runners: dict[int, Runner] = {}
        self._resting: dict[int, Runner] | None = None
        self._known: list[Any] = []  # keeps the operators, and with them their ids

    def rest(self) -> None:
        """Let everything pass: a session inside this one is running."""
        self._resting, self._runners = self._runners, {}

    def resume(self) -> None:
        """Work again."""
        if self._resting is not None:
            self._runners, self._resting = self._resting, None


def _dispatch(
    self: SimulationMode, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
) -> Any:
    run = self._runners.get(id(func))
    if run is None:
        if self._resting is not None:
            return func(*args, **(kwargs or {}))
        run = self._runners[id(func)] = _prepare(self.session, func)
        self._known.append(func)
    if types and _has_own_dispatch(types):
        close_shortcut()
        return func(*args, **(kwargs or {}))
    return run(args, kwargs or {})


# Set afterwards: for a method in the class body, torch adds a wrapper that imports the whole of
# torch._dynamo (seconds) and costs time at every operator.
setattr(SimulationMode, "__torch_dispatch__", _dispatch)  # noqa: B010


def _has_own_dispatch(types: Any) -> bool:
    """True for wrapper subclasses: their dispatch calls plain operators, which are seen."""
    plain = torch._C._disabled_torch_dispatch_impl
    return any(t.__torch_dispatch__ is not plain for t in types if hasattr(t, "__torch_dispatch__"))


def _prepare(session: Session, func: Any) -> Runner:
    if func.namespace in families.UNSEEN:
        return _unseen_runner(func)
    operator = operators.describe(func)
    if func.namespace not in families.NAMESPACES:
        return _foreign_runner(session, operator)
    if _is_composite(func):
        return _composite_runner(session, func)
    if operator.kind is operators.Kind.VIEW:
        return _view_runner(func)
    if operator.kind is operators.Kind.FACTORY:
        return factories.runner(session, operator)
    if operator.kind is operators.Kind.READ:
        return _read_runner(session, operator)
    if operator.kind is operators.Kind.BIRTH:
        return _birth_runner(session, operator)
    if operator.kind is operators.Kind.COPY:
        return _copy_runner(session, operator)
    return _computing_runner(session, operator)


def _unseen_runner(func: Any) -> Runner:
    """Operators that do nothing to tensors."""
    call = func._op

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call(*args, **kwargs)

    return run


def _foreign_runner(session: Session, operator: operators.Operator) -> Runner:
    """Operators of other libraries: their kernels may be Python, so the mode looks inside."""
    func = operator.func

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = checks.first_device(args, kwargs)
        with session.mode:
            out = func.redispatch(_CPU_KERNEL, *args, **kwargs)
        frame = user_frame(3)
        code, lasti = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
        tag_results(out, device, operator.short, code, lasti, session.memory)
        return out

    return run


def _detach_runner(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`detach` comes here even while views pass by: autograd calls it for every gradient."""
    tensor = args[0]
    out = _detach(tensor)
    if tensor.layout is not torch.strided:
        tag = tag_of(tensor)
        if tag is not None:
            set_tag(out, tag)
    return out


def _is_composite(func: Any) -> bool:
    """True for operators that are made of others in C++ (seen whole in inference mode only)."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return bool(func.has_kernel_for_dispatch_key(key))


def _composite_runner(session: Session, func: Any) -> Runner:
    """Take the operator apart, so that the mode sees what it is made of."""

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with session.mode:
            return func.decompose(*args, **kwargs)

    return run


def _view_runner(func: Any) -> Runner:
    if func is torch.ops.aten.detach.default:
        return _detach_runner
    call = func._op

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = call(*args, **kwargs)
        if type(out) is Tensor:
            try:
                storage_of(out)
            except NO_STORAGE:
                tag = tag_of(args[0])
                if tag is not None:
                    set_tag(out, tag)
        return out

    return run


def _copy_runner(session: Session, operator: operators.Operator) -> Runner:
    """`copy_`: legal across devices; counted as a move when it crosses."""
    call = operator.func._op
    counter = session.counter

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target, source = args[0], args[1]
        to, origin = tag_of(target), tag_of(source)
        there = CPU if to is None else to.device
        here = CPU if origin is None else origin.device
        if there == FLOATING and here != FLOATING:
            session.adopt(target, here)
        elif there != here and here != FLOATING and there != FLOATING:
            lazy = bool(args[2]) if len(args) > 2 else bool(kwargs.get("non_blocking", False))
            pinned = bool((origin is not None and origin.pinned) or (to is not None and to.pinned))
            counter.move(here, there, nbytes_of(target), pinned, lazy)
            if there <= CPU and not lazy:
                counter.wait("copy to the host")
            checks.carry_gradient_home(session, source, here)
        return call(*args, **kwargs)

    return run


def _read_runner(session: Session, operator: operators.Operator) -> Runner:
    """A value for Python: the host waits where the tensor is on a GPU."""
    call, short, counter = operator.func._op, operator.short, session.counter

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tag = tag_of(args[0])
        if tag is not None and tag.device >= 0:
            counter.wait(short)
        return call(*args, **kwargs)

    return run


def _birth_runner(session: Session, operator: operators.Operator) -> Runner:
    """`lift_fresh`: data from Python becomes a tensor on the host. Not counted as computing."""
    call = operator.func._op

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = call(*args, **kwargs)
        storage = storage_of(out)
        if storage._ferry is None:
            frame = user_frame(3)
            if frame is not None:
                storage._ferry = HostTag(
                    CPU, storage.nbytes(), operator.short, frame.f_code, frame.f_lasti
                )
        return out

    return run


def _computing_runner(session: Session, operator: operators.Operator) -> Runner:
    # The hot path: everything it needs is a local, and the walk to the user's frame is inlined.
    call, name, short = random_call(session, operator), operator.name, operator.short
    before, waits = lookup(operator), operator.waits
    silent = not operator.func._schema.returns
    on_host = families.HOST_RESULTS.get(short)
    counter, memory, cards = session.counter, session.memory, session.memory.cards
    counts, codes = counter.operators, counter.codes
    files, getframe = internal_files, sys._getframe

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = _NONE
        try:
            for arg in args:
                if isinstance(arg, Tensor):
                    tag = storage_of(arg)._ferry
                    here = CPU if tag is None else tag.device
                    if here != device:
                        if device != _NONE:
                            raise _Mixed
                        device = here
                elif arg.__class__ is list and arg:
                    first = arg[0]
                    if isinstance(first, Tensor):
                        if device == _NONE:
                            tag = storage_of(first)._ferry
                            device = CPU if tag is None else tag.device
                        for item in arg:
                            tag = storage_of(item)._ferry
                            if (CPU if tag is None else tag.device) != device:
                                raise _Mixed
                    elif first is None:
                        raise _Mixed
            if kwargs:
                for arg in kwargs.values():
                    if isinstance(arg, (Tensor, list)):
                        raise _Mixed
        except (_Mixed, *NO_STORAGE, TypeError):
            device = checks.settle(session, operator, args, kwargs)
        if before is not None:
            args, kwargs = before(session, operator, args, kwargs, device)
        try:
            out = call(*args, **kwargs)
        except (RuntimeError, IndexError) as error:
            out = failures.recover(session, operator, device, args, kwargs, error)
        if device == _NONE:
            device = CPU
        if silent:
            out = None  # a binding returns its argument where the operator returns nothing
        if on_host is not None:
            _tag_on_host(out, on_host, short)
        frame = getframe(2)
        filename = frame.f_code.co_filename
        while files[filename] if filename in files else is_internal(filename):
            back = frame.f_back
            if back is None:
                break
            frame = back
            filename = frame.f_code.co_filename
        code = frame.f_code
        lasti = frame.f_lasti
        try:
            if out.__class__ is Tensor:
                storage = storage_of(out)
                if storage._ferry is None:
                    nbytes = storage.nbytes()
                    if device >= 0:
                        storage._ferry = DeviceTag(
                            device, nbytes, short, code, lasti, cards[device]
                        )
                    else:
                        where = FLOATING if session.lenient else device
                        storage._ferry = HostTag(where, nbytes, short, code, lasti)
                else:
                    nbytes = out.nbytes
            elif out.__class__ is list or out.__class__ is tuple:
                nbytes = 0
                for item in out:
                    if item.__class__ is Tensor:
                        storage = storage_of(item)
                        if storage._ferry is None:
                            size = storage.nbytes()
                            nbytes += size
                            storage._ferry = (
                                DeviceTag(device, size, short, code, lasti, cards[device])
                                if device >= 0
                                else HostTag(device, size, short, code, lasti)
                            )
                        else:
                            nbytes += item.nbytes
                    elif item is not None:
                        nbytes += tag_results(item, device, short, code, lasti, memory)
            elif out is None:
                nbytes = 0
            else:
                nbytes = tag_results(out, device, short, code, lasti, memory)
        except OutOfMemory as full:
            session.out_of_memory(full, name)
        except NO_STORAGE:
            nbytes = tag_results(out, device, short, code, lasti, memory)
        if device < 0 and counter.loading:
            device = LOADING
        key = (name, device, id(code), lasti)
        entry = counts.get(key)
        if entry is None:
            codes[id(code)] = code
            counts[key] = [1, nbytes]
        else:
            entry[0] += 1
            entry[1] += nbytes
        if waits and device >= 0:
            counter.wait(short)
        return out

    return run


def _tag_on_host(out: Any, positions: tuple[int, ...], operator: str) -> None:
    for position in positions:
        set_tag(out[position], HostTag(CPU, 0, operator, None, 0))


class _Mixed(Exception):
    """Tensors of an operator are on several devices, or not where the hot path looks."""
