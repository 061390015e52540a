"""`torch.autocast("cuda")`, with CUDA's lists and for tensors of the GPU only.

Underneath all tensors are on the host, whose autocast key they carry. So kernels of our own take
that key for every operator on one of the two lists; they look where the tensors live and cast by
the rule of that device, if the program has autocast on for it.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from torchferry.sim.patching import Patcher
from torchferry.sim.tables import autocast as tables
from torchferry.sim.tags import CPU, FLOATING, device_number

Rule = Callable[[Any, torch.dtype], Any]

_KEY = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
_set_enabled: Any = torch.set_autocast_enabled
_is_enabled: Any = torch.is_autocast_enabled
_clear_cache: Any = torch.clear_autocast_cache
_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
_LOW = (torch.float16, torch.bfloat16)
_CASTS = (torch.float32, *_LOW)
#: The registered kernels, while a simulation runs that used autocast.
_library: list[Any] = []


class _Local(threading.local):
    """Of one thread: what the program set for the CPU, and cast weights."""

    def __init__(self) -> None:
        self.host = False
        self.cache: dict[tuple[int, torch.dtype, bool], tuple[Any, Any]] = {}


_local = _Local()

_BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_"
    "logits\nor torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits "
    "are\nsafe to autocast."
)


def set_autocast_enabled(*args: Any) -> None:
    """As torch's. The key of the CPU is on where either device has autocast on."""
    kind, enabled = args if len(args) == 2 else ("cuda", args[0])
    if kind not in ("cpu", "cuda"):
        _set_enabled(*args)
        return
    if enabled:
        _register()
    if kind == "cpu":
        _local.host = bool(enabled)
    else:
        _set_enabled("cuda", enabled)
    _set_enabled("cpu", _local.host or _is_enabled("cuda"))


def is_autocast_enabled(kind: str | None = None) -> bool:
    """As torch's, of the CPU what the program set."""
    if kind == "cpu":
        return _local.host
    return bool(_is_enabled() if kind is None else _is_enabled(kind))


def clear_autocast_cache() -> None:
    """As torch's."""
    _local.cache.clear()
    _clear_cache()


def _register() -> None:
    """Register a kernel for each operator that one of the two devices casts."""
    if _library:
        return
    library = torch.library.Library("aten", "IMPL")
    _library.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the CPU's own kernels are overridden
        for name in _listed():
            library.impl(name, _kernel(name), "AutocastCPU", **_OVERRIDE)


_OVERRIDE = (
    {"allow_override": True}
    if "allow_override" in torch.library.Library.impl.__code__.co_varnames
    else {}
)


def _listed() -> list[str]:
    ours = tables.TO_FLOAT | tables.TO_HALF | tables.TO_WIDEST | tables.BANNED
    found = set()
    for full in torch._C._dispatch_get_all_op_names():
        name = full.removeprefix("aten::").removesuffix(".default")
        if full.startswith("aten::") and (name in ours or _cast_on_host(full)):
            found.add(name)
    return sorted(found)


def _cast_on_host(full: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(full, "AutocastCPU"))


def _kernel(name: str) -> Callable[..., Any]:
    base, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, base), overload or "default")
    on_gpu, on_host = _gpu_rule(name), _host_rule(name)
    banned = name in tables.BANNED
    composite = operator.has_kernel_for_dispatch_key(_COMPOSITE)

    def run(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        kind, rule = ("cuda", on_gpu) if _on_gpu(values) else ("cpu", on_host)
        active = is_autocast_enabled(kind)
        if active and banned and kind == "cuda":
            raise RuntimeError(_BANNED)
        if active and rule is None and composite:  # what it is made of may be on the list
            return operator._op_dk(_COMPOSITE, *args, **kwargs)
        with torch._C._ExcludeDispatchKeyGuard(_KEY):
            if active and rule is not None:
                wanted = torch.get_autocast_dtype(kind)
                if rule is _to_widest:
                    wanted = _widest(values, wanted)
                args = tuple(rule(a, wanted) for a in args)
                kwargs = {k: rule(v, wanted) for k, v in kwargs.items()}
            return operator(*args, **kwargs)

    return run


def _gpu_rule(name: str) -> Rule | None:
    if name in tables.TO_FLOAT:
        return _to_float
    if name in tables.TO_HALF:
        return _to_half
    return _to_widest if name in tables.TO_WIDEST else None


def _host_rule(name: str) -> Rule | None:
    if name in tables.HOST_TO_HALF:
        return _to_half
    if name in tables.HOST_TO_WIDEST:
        return _to_widest
    return _to_float if _cast_on_host(f"aten::{name}") else None


def _tensors(values: Iterable[Any]) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (item for item in value if isinstance(item, torch.Tensor))


def _on_gpu(values: Iterable[Any]) -> bool:
    """True where a tensor is on a GPU, or all of them have no device yet while CUDA casts."""
    numbers = {device_number(tensor) for tensor in _tensors(values)}
    if any(number >= 0 for number in numbers):
        return True
    return numbers == {FLOATING} and bool(_is_enabled("cuda"))


def _widest(values: Iterable[Any], low: torch.dtype) -> torch.dtype:
    wide = any(tensor.dtype is torch.float32 for tensor in _tensors(values))
    return torch.float32 if wide else low


def _to_float(value: Any, wanted: torch.dtype) -> Any:
    return _cast(value, torch.float32, _LOW)


def _to_half(value: Any, wanted: torch.dtype) -> Any:
    return _cast(value, wanted, _CASTS)


def _to_widest(value: Any, wanted: torch.dtype) -> Any:
    return _cast(value, wanted, _CASTS)


def _cast(value: Any, dtype: torch.dtype, sources: tuple[torch.dtype, ...]) -> Any:
    if isinstance(value, torch.Tensor):
        if value.dtype not in sources or value.dtype == dtype:
            return value
        if device_number(value) == CPU and not _local.host:
            return value  # CUDA's autocast leaves the host's 0-dim tensors alone
        return _cached(value, dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype, sources) for item in value)
    return value


def _cached(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A weight is cast once within the outermost autocast block."""
    weight = value.requires_grad and value.is_leaf and value.dtype is torch.float32
    if not (weight and dtype in _LOW and torch.is_autocast_cache_enabled()):
        return value.to(dtype)
    key = (id(value), dtype, torch.is_grad_enabled())
    found = _local.cache.get(key)
    if found is None:
        found = _local.cache[key] = (value, value.to(dtype))
    out: torch.Tensor = found[1]
    return out


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    for function in (set_autocast_enabled, is_autocast_enabled, clear_autocast_cache):
        patcher.set(torch, function.__name__, function, copies=True)
    patcher.set(torch, "set_autocast_cpu_enabled", lambda on: set_autocast_enabled("cpu", on))
    patcher.set(torch, "is_autocast_cpu_enabled", lambda: _local.host)
    patcher.on_undo(_forget)


def _forget() -> None:
    _local.cache.clear()
    _local.host = False
    while _library:
        _library.pop()._destroy()
