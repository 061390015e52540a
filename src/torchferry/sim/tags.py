"""Device tags: which (simulated) device a storage lives on, where it was born and moved.

A tag is an attribute of the storage's Python object, which lives as long as the storage and is
shared by views, `detach`, Parameters and `param.data`. No tag: an ordinary CPU storage.
Tensors without a storage (sparse) carry the tag themselves.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, NamedTuple

import torch
from torch.nn import parameter

from torchferry.sim.memory import CardMemory, Memory
from torchferry.sim.shortcut import close_shortcut

#: Class of lazy parameters and buffers, which refuse torch functions.
LAZY: Any = parameter.UninitializedTensorMixin  # type: ignore[attr-defined]

CPU = -1
#: Made inside an operator in C++, which knows only CPU options: takes the device it first meets.
FLOATING = -2
#: In the counts only: computed on the host while a DataLoader fetches a batch.
LOADING = -3

#: Storage of a tensor: C, fast. Raises one of NO_STORAGE for sparse, nested and lazy tensors.
storage_of: Any = torch._C.TensorBase.untyped_storage
NO_STORAGE = (NotImplementedError, RuntimeError, ValueError)


def storage_or_none(tensor: Any) -> Any | None:
    """Storage of a tensor, also of a lazy parameter, which refuses torch functions; else None."""
    try:
        return storage_of(tensor)
    except NO_STORAGE:
        if not isinstance(tensor, LAZY):
            return None
    with torch._C.DisableTorchFunctionSubclass():
        return storage_of(tensor)


#: Name of the attribute that holds the tag.
ATTRIBUTE = "_ferry"


#: (device number, code, instruction)
MoveNote = tuple[int, "CodeType | None", int]


class History(NamedTuple):
    """What few storages have: earlier moves, pinned memory, a hint for floating ones."""

    moves: tuple[MoveNote, ...] = ()
    pinned: bool = False
    #: Where a floating tensor belongs if it meets no other before the program looks at it.
    hint: int = CPU


class HostTag:
    """Tag of a storage on the host. `code` and `lasti` name the instruction that made it."""

    __slots__ = ("code", "device", "history", "lasti", "nbytes", "operator")

    def __init__(
        self,
        device: int,
        nbytes: int,
        operator: str,
        code: CodeType | None,
        lasti: int,
    ) -> None:
        self.device = device
        self.nbytes = nbytes
        self.operator = operator
        self.code = code
        self.lasti = lasti
        self.history: History | None = None

    @property
    def pinned(self) -> bool:
        """True for pinned memory of the host."""
        return self.history is not None and self.history.pinned

    @property
    def moves(self) -> tuple[MoveNote, ...]:
        """(device number, code, instruction) of the last moves."""
        return () if self.history is None else self.history.moves

    @property
    def hint(self) -> int:
        """Device number that a floating tensor takes when the program looks at it."""
        return CPU if self.history is None else self.history.hint

    def pin(self) -> None:
        """Mark the memory as pinned."""
        self.history = History(self.moves, True)


class DeviceTag(HostTag):
    """Tag of a storage on a GPU: gives its memory back when the storage dies."""

    __slots__ = ("card",)

    def __init__(
        self,
        device: int,
        nbytes: int,
        operator: str,
        code: CodeType | None,
        lasti: int,
        card: CardMemory,
    ) -> None:
        self.nbytes = nbytes
        now = card.allocated + ((nbytes + 511) & -512)
        if now > card.threshold:
            card.grow(now, nbytes)  # may raise: then `card` is not set, nothing is given back
        card.allocated = now
        card.blocks += 1
        self.card = card
        self.device = device
        self.operator = operator
        self.code = code
        self.lasti = lasti
        self.history = None

    def __del__(self) -> None:
        try:
            card = self.card
        except AttributeError:
            return
        card.allocated -= (self.nbytes + 511) & -512
        card.blocks -= 1


def tag_of(tensor: Any) -> HostTag | None:
    """Tag of `tensor`'s storage, or of the tensor where it has none."""
    try:
        return storage_of(tensor)._ferry
    except (*NO_STORAGE, AttributeError):
        return tag_without_storage(tensor)


def tag_without_storage(tensor: Any) -> HostTag | None:
    """Tag of a tensor without a storage at hand: sparse, nested, lazy, wrapped by torch.func."""
    storage = storage_or_none(tensor)
    if storage is not None:
        return storage._ferry
    tag = getattr(tensor, ATTRIBUTE, None)
    if tag is not None:
        return tag
    inner = inner_tensor(tensor)
    return None if inner is None else tag_of(inner)


def inner_tensor(tensor: Any) -> Any | None:
    """The tensor inside a torch.func wrapper or the values of a sparse or nested one, else None."""
    functorch = torch._C._functorch
    if functorch.is_functorch_wrapped_tensor(tensor):
        return functorch.get_unwrapped(tensor)
    return None


def device_number(tensor: Any) -> int:
    """CPU, FLOATING or the index of the GPU that `tensor` lives on."""
    tag = tag_of(tensor)
    return CPU if tag is None else tag.device


def set_tag(tensor: Any, tag: HostTag) -> None:
    """Tag `tensor`'s storage; where it has none, the tensor itself and the parts inside."""
    storage = storage_or_none(tensor)
    if storage is not None:
        storage._ferry = tag
        return
    close_shortcut()
    setattr(tensor, ATTRIBUTE, tag)
    for part in _sparse_parts(tensor):
        set_tag(part, HostTag(tag.device, 0, tag.operator, tag.code, tag.lasti))


_DEVICES: dict[int, torch.device] = dict.fromkeys((CPU, FLOATING, LOADING), torch.device("cpu"))


def device_named(number: int) -> torch.device:
    """`torch.device` of a device number."""
    device = _DEVICES.get(number)
    if device is None:
        device = _DEVICES[number] = torch.device("cuda", number)
    return device


def tag_results(
    out: Any, device: int, operator: str, code: CodeType | None, lasti: int, memory: Memory
) -> int:
    """Tag every untagged tensor in `out`; returns the bytes of all of them."""
    if isinstance(out, torch.Tensor):
        storage = storage_or_none(out)
        if storage is None:
            return _tag_without_storage(out, device, operator, code, lasti, memory)
        if storage._ferry is None:
            nbytes: int = storage.nbytes()
            storage._ferry = new_tag(device, nbytes, operator, code, lasti, memory)
            return nbytes
        return nbytes_of(out)
    if isinstance(out, (tuple, list)):
        return sum(tag_results(item, device, operator, code, lasti, memory) for item in out)
    return 0


def _tag_without_storage(
    out: Any, device: int, operator: str, code: CodeType | None, lasti: int, memory: Memory
) -> int:
    close_shortcut()
    if getattr(out, ATTRIBUTE, None) is None:
        setattr(out, ATTRIBUTE, HostTag(device, 0, operator, code, lasti))
    if out.layout is not torch.strided:
        parts = _sparse_parts(out)
        return sum(tag_results(p, device, operator, code, lasti, memory) for p in parts)
    return 0


def _sparse_parts(tensor: Any) -> list[Any]:
    """Tensors with storages inside a sparse tensor."""
    layout = tensor.layout
    if layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return []


def nbytes_of(tensor: Any) -> int:
    """Bytes of a tensor's elements; of its parts for a sparse one."""
    try:
        return int(tensor.nbytes)
    except NO_STORAGE:
        return sum(nbytes_of(part) for part in _sparse_parts(tensor))


def new_tag(
    device: int, nbytes: int, operator: str, code: CodeType | None, lasti: int, memory: Memory
) -> HostTag:
    """A tag for `device`; on a GPU it takes memory (OutOfMemory where there is none left)."""
    if device >= 0:
        return DeviceTag(device, nbytes, operator, code, lasti, memory.cards[device])
    return HostTag(device, nbytes, operator, code, lasti)
