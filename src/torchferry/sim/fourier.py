"""Fourier transforms of half precision: CUDA has them, the CPU has not.

torch.fft's C++ code refuses the dtype before any operator runs, so stand-ins compute in single
precision and round the result. Backward follows through the conversions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from torchferry.sim.errors import raise_device_error
from torchferry.sim.out_checks import copied_into
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import device_number

_NAMES = tuple(
    f"{inverse}{kind}fft{rank}"
    for kind in ("", "r", "h")
    for inverse in ("", "i")
    for rank in ("", "2", "n")
)
_WIDER = {torch.float16: torch.float32, torch.complex32: torch.complex64}
_NARROWER = {wide: narrow for narrow, wide in _WIDER.items()}


def _stand_in(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def transform(*args: Any, **kwargs: Any) -> Any:
        source: Any = args[0] if args else kwargs.get("input")
        wide = _WIDER.get(getattr(source, "dtype", None))  # type: ignore[arg-type]
        if wide is None or device_number(source) < 0:
            return original(*args, **kwargs)
        out = kwargs.pop("out", None)
        if args:
            args = (source.to(wide), *args[1:])
        else:
            kwargs["input"] = source.to(wide)
        made = original(*args, **kwargs)
        _check_sizes(original.__name__, source, made, args[1:], kwargs)
        made = made.to(_NARROWER[made.dtype])
        return made if out is None else copied_into(out, made)

    return transform


def _check_sizes(
    name: str, source: torch.Tensor, made: torch.Tensor, args: Any, kwargs: dict[str, Any]
) -> None:
    """cuFFT's half precision knows only sizes that are powers of two."""
    name = name.removeprefix("fft_")
    rest = dict(zip(("n" if name[-1] == "t" else "s", "dim"), args, strict=False), **kwargs)
    default = {"t": -1, "2": (-2, -1)}.get(name[-1])
    dims = rest.get("dim", default)
    if dims is None:
        count = source.dim() if rest.get("s") is None else len(rest["s"])
        dims = range(-count, 0)
    # A real signal is as long as the real side of the transform.
    real = source if name.startswith(("rfft", "ihfft")) else made
    dims = (dims,) if isinstance(dims, int) else dims
    sizes = [(made if name.startswith(("fft", "ifft")) else real).shape[dim] for dim in dims]
    wanted = rest.get("n", rest.get("s"))
    if wanted is not None and real is source:
        wanted = [wanted] if isinstance(wanted, int) else wanted
        sizes = [size if n == -1 else n for n, size in zip(wanted, sizes, strict=False)]
    if any(size & (size - 1) for size in sizes):
        raise_device_error(
            "not-on-gpu",
            "cuFFT only supports dimensions whose sizes are powers of two when computing in half "
            f"precision, but got a signal size of{sizes}",
            name,
            [("input", source)],
        )


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch.fft."""
    for name in _NAMES:
        patcher.set(torch.fft, name, _stand_in(getattr(torch.fft, name)), copies=True)
