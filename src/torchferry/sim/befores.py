"""What is looked at around an operator: generators, arguments and results that stay on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

from torchferry.sim import waits
from torchferry.sim.determinism import with_alert
from torchferry.sim.errors import raise_device_error
from torchferry.sim.generators import default_generators, generator_device
from torchferry.sim.messages import generator_message
from torchferry.sim.operators import Before, Call, Operator, argument_of, named_arguments
from torchferry.sim.tables.bindings import BINDINGS
from torchferry.sim.tables.refusals import NO_KERNEL, REFUSALS, SCALAR_NAMES, Refusal
from torchferry.sim.tags import CPU, device_named, device_number

if TYPE_CHECKING:
    from torchferry.sim.session import Session


def lookup(operator: Operator) -> Before | None:
    """The check of an operator, None for most."""
    before = _BY_NAME.get(operator.short, _generator if operator.random else None)
    return with_alert(operator, before)


def _generator(
    session: Session,
    operator: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: int,
) -> Call:
    """A generator must be of the tensor's device; a GPU may have its own stream of numbers."""
    takes_one = "generator" in operator.arguments
    generator = argument_of(operator, "generator", args, kwargs) if takes_one else None
    if generator is not None:
        found = generator_device(generator)
        if (found >= 0) != (device >= 0):
            raise_device_error("generator", generator_message(device, found), operator.name)
        return args, kwargs
    session.drawing_device = device
    return args, kwargs


def fast_call(operator: Operator) -> Callable[..., Any]:
    """The kernel of an operator: through its Python binding where that is the same and cheaper."""
    func = operator.func
    call: Callable[..., Any] = func._op
    if operator.name in BINDINGS and func.namespace == "aten":
        return getattr(torch._C._VariableFunctions, operator.short, call)
    if takes_tensors(func) and ("linalg" in operator.short or _calls_others(func)):
        return _with_lazy_conjugates(call)
    return call


#: Kernels that call other operators.
_COMPOSITE = (
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)
_LAZY_KEYS = (
    torch._C.DispatchKey.Conjugate,
    torch._C.DispatchKey.Negative,
    torch._C.DispatchKey.ZeroTensor,
)


def takes_tensors(func: Any) -> bool:
    """True where an argument may be a tensor, or a list that holds some."""
    return any("Tensor" in str(a.type) for a in func._schema.arguments)


def _calls_others(func: Any) -> bool:
    try:
        return any(map(func.has_kernel_for_dispatch_key, _COMPOSITE))
    except RuntimeError:  # `sym_size` and the like are known to Python alone
        return False


def _with_lazy_conjugates(call: Callable[..., Any]) -> Callable[..., Any]:
    """Below a mode the dispatcher does not resolve `conj()`, on which such kernels rely.

    Nor the zeros without memory of forward-mode differentiation, which crash them.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        if not _any_lazy(args):
            return call(*args, **kwargs)
        included = torch._C._dispatch_tls_local_include_set()
        excluded = torch._C._dispatch_tls_local_exclude_set()
        for key in _LAZY_KEYS:
            excluded = excluded.remove(key)
        with torch._C._ForceDispatchKeyGuard(included, excluded):
            return call(*args, **kwargs)

    return run


def _any_lazy(args: tuple[Any, ...]) -> bool:
    """Whether a tensor may be a conjugate, which is complex, or zeros of forward mode.

    Optimizers come here with long lists: `map` with a C function has no Python frame for each.
    """
    test = _IS_ZEROS if forward_ad._current_level >= 0 else None
    tensors: Any
    for arg in args:
        if arg.__class__ is not list:
            tensors = (arg,) if isinstance(arg, torch.Tensor) else ()
        elif not arg or isinstance(arg[0], torch.Tensor):
            tensors = arg
        else:
            tensors = [item for item in arg if isinstance(item, torch.Tensor)]
        try:
            if any(map(_IS_COMPLEX, tensors)) or (test and any(map(test, tensors))):
                return True
        except TypeError:  # a list with gaps: indices
            return True
    return False


_IS_COMPLEX: Callable[..., bool] = torch._C.TensorBase.is_complex
_IS_ZEROS: Callable[..., bool] = torch._C.TensorBase._is_zerotensor


def random_call(session: Session, operator: Operator) -> Callable[..., Any]:
    """The kernel of an operator; with `rng="device"` random ones draw from the GPU's generator."""
    call = fast_call(operator)
    if not (operator.random and session.device_rng):
        return call

    def run(*args: Any, **kwargs: Any) -> Any:
        device, session.drawing_device = session.drawing_device, CPU
        if device < 0:
            return call(*args, **kwargs)
        # Not every random operator takes a generator: lend the default one the GPU's state.
        own, default = default_generators()[device], torch.default_generator
        saved = default.get_state()
        default.set_state(own.get_state())
        try:
            return call(*args, **kwargs)
        finally:
            own.set_state(default.get_state())
            default.set_state(saved)

    return run


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


def _dtypes(
    session: Session,
    operator: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: int,
) -> Call:
    """CUDA has no kernel for some dtypes."""
    if device < 0:
        return args, kwargs
    dtype = args[0].dtype
    for refusal in REFUSALS[operator.short]:
        if dtype in refusal.dtypes and _applies(refusal, operator, args, kwargs):
            tensors = named_arguments(operator, args)
            if refusal.not_empty and not all(tensor.numel() for _, tensor in tensors):
                continue
            words = refusal.words.format(name=refusal.name, dtype=SCALAR_NAMES[dtype])
            raise_device_error("not-on-gpu", words, operator.name, tensors, refusal.error)
    return args, kwargs


def _applies(
    refusal: Refusal, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    """True unless the refusal asks for another value of an argument."""
    if not refusal.argument:
        return True
    return argument_of(operator, refusal.argument, args, kwargs) in refusal.values


def _no_kernel(
    session: Session,
    operator: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    device: int,
) -> Call:
    if device >= 0:
        raise_device_error(
            "not-on-gpu",
            f"Could not run 'aten::{operator.name}' with arguments from the 'CUDA' backend. This "
            "could be because the operator doesn't exist for this backend, or was omitted during "
            "the selective/custom build process (if using custom build).",
            operator.name,
            [("self", args[0])],
            NotImplementedError,
        )
    return args, kwargs


_BY_NAME: dict[str, Before] = {
    **waits.BY_NAME,
    "_pack_padded_sequence": _packed_lengths,
    **dict.fromkeys(REFUSALS, _dtypes),
    **dict.fromkeys(NO_KERNEL, _no_kernel),
}
