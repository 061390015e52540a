"""The tensor types of old programs: `torch.FloatTensor`, `torch.cuda.FloatTensor` and friends.

As constructors, as types in `isinstance`, as arguments of `x.type()` and as default types.
"""

from __future__ import annotations

from typing import Any

import torch

from torchferry.sim import state
from torchferry.sim.patching import Patcher
from torchferry.sim.tags import CPU, FLOATING, device_number, tag_of

DTYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
    "ComplexFloatTensor": torch.complex64,
    "ComplexDoubleTensor": torch.complex128,
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_original_type: Any = torch._C.TensorBase.type


class TensorType(type):
    """Metaclass of the stand-ins: `isinstance` looks at dtype and device, a call makes a tensor."""

    dtype: torch.dtype
    is_cuda: bool
    layout = torch.strided
    is_sparse = False

    def __instancecheck__(cls, value: Any) -> bool:
        return (
            isinstance(value, torch.Tensor)
            and value.dtype == cls.dtype
            and (device_number(value) >= 0) == cls.is_cuda
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        return make(cls, args, kwargs)

    def __repr__(cls) -> str:
        return f"<class '{type_string(cls)}'>"

    def __str__(cls) -> str:
        return f"<class '{type_string(cls)}'>"


def type_string(cls: TensorType) -> str:
    """`torch.cuda.FloatTensor`."""
    return f"torch.{'cuda.' if cls.is_cuda else ''}{cls.__name__}"


def make(cls: TensorType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    """What the constructor of the type gives for sizes, data, a storage or nothing."""
    session = state.current()
    where = kwargs.pop("device", None)
    if where is not None and (torch.device(where).type == "cuda") != cls.is_cuda:
        kind = "cuda" if cls.is_cuda else "cpu"
        raise RuntimeError(
            f"legacy constructor expects device type: {kind} but device type: "
            f"{torch.device(where).type} was passed"
        )
    number = session.index_of(torch.device(where or "cuda")) if cls.is_cuda else CPU
    if len(args) == 1 and isinstance(args[0], torch.Tensor):
        return _alias(cls, args[0])
    out: torch.Tensor = _PLAIN[cls.__name__](*args, **kwargs)
    tag = tag_of(out)
    if tag is None or tag.device == FLOATING or number >= 0:
        session.birth(out, number, cls.__name__)
    return out


def _alias(cls: TensorType, tensor: torch.Tensor) -> torch.Tensor:
    if not isinstance(tensor, cls):
        raise TypeError(
            f"expected {cls.__name__.removesuffix('Tensor')} (got {type_of_tensor(tensor)})"
        )
    return tensor.detach()


_PLAIN: dict[str, Any] = {name: getattr(torch, name) for name in DTYPES if hasattr(torch, name)}


def _stand_in(name: str, on_gpu: bool) -> TensorType:
    cls = TensorType(
        name, (), {"__module__": "torch.cuda" if on_gpu else "torch", "__qualname__": name}
    )
    cls.dtype = DTYPES[name]
    cls.is_cuda = on_gpu
    return cls


HOST_TYPES = {name: _stand_in(name, False) for name in DTYPES}
GPU_TYPES = {name: _stand_in(name, True) for name in DTYPES}


def type_of_tensor(tensor: torch.Tensor) -> str:
    """`x.type()`."""
    name = _NAMES.get(tensor.dtype)
    if name is None or tensor.layout is not torch.strided:
        text: str = _original_type(tensor)
        return text.replace("torch.", "torch.cuda.", 1) if device_number(tensor) >= 0 else text
    return f"torch.{'cuda.' if device_number(tensor) >= 0 else ''}{name}"


def wanted_type(wanted: Any, tensor: torch.Tensor) -> tuple[torch.dtype, int]:
    """dtype and device number that `tensor.type(wanted)` asks for."""
    here = max(device_number(tensor), CPU)
    if isinstance(wanted, torch.dtype):
        return wanted, here
    if isinstance(wanted, TensorType):
        name, on_gpu = wanted.__name__, wanted.is_cuda
    else:
        text = wanted if isinstance(wanted, str) else _type_text(wanted)
        on_gpu = ".cuda." in text
        name = text.rsplit(".", 1)[-1]
    if name == "Tensor":
        return torch.get_default_dtype(), CPU
    if name not in DTYPES:
        raise ValueError(f"invalid type: '{wanted}'")
    if not on_gpu:
        return DTYPES[name], CPU
    session = state.current()
    return DTYPES[name], here if here >= 0 else session.index_of(torch.device("cuda"))


def _type_text(wanted: Any) -> str:
    return f"{getattr(wanted, '__module__', 'torch')}.{getattr(wanted, '__name__', '')}"


def set_default_tensor_type(wanted: Any) -> None:
    """`torch.set_default_tensor_type`, also with a type of the GPU."""
    if wanted is torch.Tensor:
        torch._C._set_default_tensor_type(wanted)
        return
    text = wanted if isinstance(wanted, str) else type_string(wanted) if isinstance(
        wanted, TensorType
    ) else _type_text(wanted)  # fmt: skip
    name = text.rsplit(".", 1)[-1]
    if name not in DTYPES:
        raise TypeError(f"invalid type object: {text}")
    torch.set_default_dtype(DTYPES[name])
    session = state.current()
    if ".cuda." in text:
        session.legacy_device = session.index_of(torch.device("cuda"))
        torch.set_default_device("cuda")
    elif session.legacy_device >= 0:
        session.legacy_device = CPU
        torch.set_default_device(None)


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch and torch.cuda."""
    for name in DTYPES:
        if hasattr(torch, name):
            patcher.set(torch, name, HOST_TYPES[name], copies=True)
        if hasattr(torch.cuda, name):
            patcher.set(torch.cuda, name, GPU_TYPES[name], copies=True)
    patcher.set(torch, "set_default_tensor_type", set_default_tensor_type, copies=True)
