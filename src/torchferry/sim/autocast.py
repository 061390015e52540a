"""`torch.autocast("cuda")`: switches the CPU's autocast on underneath, with CUDA's lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchferry.sim.patching import Patcher
from torchferry.sim.tables.autocast import TO_FLOAT, TO_HALF, TO_WIDEST

_KEY = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
_set_enabled: Any = torch.set_autocast_enabled
_set_dtype: Any = torch.set_autocast_dtype
_LOW = (torch.float16, torch.bfloat16)
#: The registered kernels, while a simulation runs that used autocast.
_library: list[Any] = []


def set_autocast_enabled(*args: Any) -> None:
    """As torch's; for CUDA the CPU's autocast follows."""
    _set_enabled(*args)
    kind, enabled = args if len(args) == 2 else ("cuda", args[0])
    if kind == "cuda":
        if enabled:
            _register()
            _set_dtype("cpu", torch.get_autocast_dtype("cuda"))
        _set_enabled("cpu", enabled)


def set_autocast_dtype(kind: str, dtype: torch.dtype) -> None:
    """As torch's; for CUDA the CPU's autocast follows."""
    _set_dtype(kind, dtype)
    if kind == "cuda":
        _set_dtype("cpu", dtype)


def _register() -> None:
    """Register what CUDA's autocast casts and the CPU's does not."""
    if _library:
        return
    library = torch.library.Library("aten", "IMPL")
    _library.append(library)
    for names, rule in ((TO_FLOAT, _to_float), (TO_HALF, _to_half), (TO_WIDEST, _to_widest)):
        for name in names:
            if _known(name):
                library.impl(name, _kernel(name, rule), "AutocastCPU")


def _known(name: str) -> bool:
    """True if this torch has the operator and its CPU autocast has no kernel for it yet."""
    full = f"aten::{name}"
    try:
        if not torch._C._dispatch_has_kernel(full):
            return False
        return not torch._C._dispatch_has_kernel_for_dispatch_key(full, "AutocastCPU")
    except RuntimeError:
        return False


def _kernel(name: str, rule: Callable[[Any, torch.dtype], Any]) -> Callable[..., Any]:
    base, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, base), overload or "default")

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_KEY):
            if torch.is_autocast_enabled("cuda"):
                wanted = _widest(args) if rule is _to_widest else torch.get_autocast_dtype("cuda")
                args = tuple(rule(a, wanted) for a in args)
                kwargs = {k: rule(v, wanted) for k, v in kwargs.items()}
            return operator(*args, **kwargs)

    return run


def _widest(args: Any) -> torch.dtype:
    found = torch.get_autocast_dtype("cuda")
    for arg in args:
        for item in arg if isinstance(arg, (list, tuple)) else (arg,):
            if isinstance(item, torch.Tensor) and item.dtype is torch.float32:
                found = torch.float32
    return found


def _to_float(value: Any, wanted: torch.dtype) -> Any:
    return _cast(value, torch.float32, _LOW)


def _to_half(value: Any, wanted: torch.dtype) -> Any:
    return _cast(value, wanted, (torch.float32, *_LOW))


def _to_widest(value: Any, wanted: torch.dtype) -> Any:
    return _cast(value, wanted, (torch.float32, *_LOW))


def _cast(value: Any, dtype: torch.dtype, sources: tuple[torch.dtype, ...]) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype in sources and value.dtype != dtype else value
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype, sources) for item in value)
    return value


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    patcher.set(torch, "set_autocast_enabled", set_autocast_enabled)
    patcher.set(torch, "set_autocast_dtype", set_autocast_dtype)
    patcher.on_undo(_forget)


def _forget() -> None:
    while _library:
        _library.pop()._destroy()
