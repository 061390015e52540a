"""The dispatch mode: sees every operator, checks the devices of its tensors and tags its results.

One runner per operator is prepared at its first call; operators.py says which kind each is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchferry.sim import checks, computing, context, factories, operators
from torchferry.sim.shortcut import VIEWS_PASS, close_shortcut
from torchferry.sim.tables import families
from torchferry.sim.tags import (
    CPU,
    FLOATING,
    NO_STORAGE,
    nbytes_of,
    origin_of,
    share_tag,
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
#: Types whose dispatch is PyTorch's own.
_PLAIN = frozenset({Tensor, torch.nn.Parameter, torch.nn.Buffer})


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
        """Let everything pass: a session inside this one is running, or this one is over."""
        self._resting, self._runners = self._runners, {}

    def prepare_anew(self) -> None:
        """Forget what is known of the operators: the session has changed."""
        self._runners = {}

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
        if types and _has_own_dispatch(types):  # may be an operator that only Python knows
            return _left_to_subclass(func, types, args, kwargs)
        run = _prepare(self.session, func)
        if self.session.broken:
            run = context.guarded(self.session, func, run)
        self._runners[id(func)] = run
        self._known.append(func)
    if types and (len(types) > 1 or types[0] not in _PLAIN) and _has_own_dispatch(types):
        return _left_to_subclass(func, types, args, kwargs)
    return run(args, kwargs or {})


def _left_to_subclass(func: Any, types: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The subclass is asked next, and its own calls come here.

    Not those of fake tensors, which compute nothing, and of DTensor, which computes with them.
    """
    close_shortcut()
    if any(t.__module__.startswith(("torch._subclasses", "torch.distributed")) for t in types):
        return func(*args, **(kwargs or {}))
    return NotImplemented


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
    return computing.runner(session, operator)


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
        site = session.counter.site_here(operator.name, device, 2)
        site.nbytes += tag_results(out, site)
        return out

    return run


def _detach_runner(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`detach` comes here even while views pass by: autograd calls it for every gradient."""
    tensor = args[0]
    out = _detach(tensor)
    if not VIEWS_PASS and tensor.layout is not torch.strided:
        share_tag(out, tensor)
    return out


def _is_composite(func: Any) -> bool:
    """True for operators that are made of others in C++ (seen whole in inference mode only)."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    try:
        return bool(func.has_kernel_for_dispatch_key(key))
    except RuntimeError:  # known to Python only: `sym_size` of subclasses
        return False


def _composite_runner(session: Session, func: Any) -> Runner:
    """Take the operator apart, so that the mode sees what it is made of."""

    whole = computing.runner(session, operators.describe(func))

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(isinstance(a, Tensor) and a.is_nested for a in args):
            return whole(args, kwargs)  # nested tensors have kernels of their own
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
                share_tag(out, args[0])
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
            made = None if origin is None else origin_of(origin)
            counter.move(here, there, nbytes_of(target), pinned, lazy, made)
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
    name, counter = operator.name, session.counter
    call = None if operator.short == "lift_fresh" else operator.func._op

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = args[0] if call is None else call(*args, **kwargs)  # it gives back what it gets
        storage = storage_of(out)
        if storage._ferry is None:
            site = storage._ferry = counter.site_here(name, CPU, 1)
            site.born(out, storage.nbytes())
        return out

    return run
