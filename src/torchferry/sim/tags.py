"""Device tags: which (simulated) device a storage lives on, where it was born and moved.

A tag is an attribute of the storage's Python object, which lives as long as the storage and is
shared by views, `detach`, Parameters and `param.data`. No tag: an ordinary CPU storage.
Tensors without a storage (sparse) carry the tag themselves.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, NamedTuple, TypeAlias

import torch
from torch.nn import parameter

from torchferry.sim.shortcut import close_shortcut
from torchferry.sim.sites import FIRST, Site

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
MoveNote: TypeAlias = "tuple[int, CodeType | None, int]"


class History(NamedTuple):
    """What few storages have: earlier moves, pinned memory, a hint for floating ones."""

    moves: tuple[MoveNote, ...] = ()
    pinned: bool = False
    #: Where a floating tensor belongs if it meets no other before the program looks at it.
    hint: int = CPU


PLAIN = History()


class HostTag:
    """Tag of one storage on the host that is pinned, moved or floating with a hint.

    A storage that was just made on the host is tagged with its site itself.
    """

    __slots__ = ("device", "history", "origin")

    def __init__(self, device: int, origin: Site, history: History = PLAIN) -> None:
        self.device = device
        self.origin = origin
        self.history = history

    @property
    def pinned(self) -> bool:
        """True for pinned memory of the host."""
        return self.history.pinned

    @property
    def moves(self) -> tuple[MoveNote, ...]:
        """(device number, code, instruction) of the last moves."""
        return self.history.moves

    @property
    def hint(self) -> int:
        """Device number that a floating tensor takes when the program looks at it."""
        return self.history.hint


class DeviceTag:
    """Tag of a storage on a GPU: gives its memory back when the storage dies.

    site: where the storage was made; nbytes: its size. Set by who makes the tag, once the memory
    is taken: a call of an `__init__` would cost as much as all the rest.
    """

    __slots__ = ("device", "nbytes", "site")
    device: int
    nbytes: int
    site: Site
    pinned = False
    moves: tuple[MoveNote, ...] = ()
    hint = CPU

    def __del__(self) -> None:
        site, nbytes = self.site, self.nbytes
        card = site.card
        if card is not None:
            if card.freed >= card.due:
                card.look()
            site.freed += nbytes
            card.allocated -= (nbytes + 511) & -512
            card.freed += 1

    @property
    def origin(self) -> Site:
        """Where the tensor's values were made."""
        return self.site


class MovedTag(DeviceTag):
    """Tag of a copy on a GPU: `site` is the move, `origin` where the tensor was made before."""

    __slots__ = ("moves", "origin")
    moves: tuple[MoveNote, ...]
    origin: Site


Tag: TypeAlias = "Site | HostTag | DeviceTag"


def origin_of(tag: Tag) -> Site:
    """Where the values of a storage were made."""
    return tag if isinstance(tag, Site) else tag.origin


def tag_storage(
    storage: Any,
    site: Site,
    origin: Site | None = None,
    moves: tuple[MoveNote, ...] = (),
) -> int:
    """Tag a storage as born at `site`: on a GPU it takes memory (OutOfMemory where none is left).

    origin, moves: of a copy, where its values were made and moved. Returns its bytes.
    """
    nbytes: int = storage.nbytes()
    if site.card is None:
        new: Tag = site if not moves else HostTag(site.device, origin or site, History(moves))
    else:
        site.card.take(nbytes)
        if moves:
            new = MovedTag()
            new.origin, new.moves = origin or site, moves
        else:
            new = DeviceTag()
        new.device, new.nbytes, new.site = site.device, nbytes, site
    storage._ferry = new
    return nbytes


def tag_tensor(
    tensor: Any,
    site: Site,
    origin: Site | None = None,
    moves: tuple[MoveNote, ...] = (),
) -> int:
    """Tag a tensor's storage, or the tensor and the parts inside where it has none, as `site`'s."""
    storage = storage_or_none(tensor)
    if storage is not None:
        return tag_storage(storage, site, origin, moves)
    close_shortcut()
    setattr(tensor, ATTRIBUTE, HostTag(site.device, origin or site, History(moves)))
    parts = _sparse_parts(tensor)
    return sum(tag_tensor(part, site, origin, moves) for part in parts)


def tag_of(tensor: Any) -> Tag | None:
    """Tag of `tensor`'s storage, or of the tensor where it has none."""
    try:
        return storage_of(tensor)._ferry
    except (*NO_STORAGE, AttributeError):
        return tag_without_storage(tensor)


def tag_without_storage(tensor: Any) -> Tag | None:
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
    if isinstance(tensor, torch.Tensor) and tensor.layout is not torch.strided:
        parts = _sparse_parts(tensor)  # autograd makes new Python objects, without the tag
        return parts[-1] if parts else None
    return None


def device_number(tensor: Any) -> int:
    """CPU, FLOATING or the index of the GPU that `tensor` lives on."""
    tag = tag_of(tensor)
    return CPU if tag is None else tag.device


def set_tag(tensor: Any, tag: Site | HostTag) -> None:
    """Tag `tensor`'s storage on the host; where it has none, the tensor and the parts inside."""
    storage = storage_or_none(tensor)
    if storage is not None:
        storage._ferry = tag
        return
    close_shortcut()
    setattr(tensor, ATTRIBUTE, tag)
    for part in _sparse_parts(tensor):
        set_tag(part, tag)


def share_tag(tensor: Any, source: Any) -> None:
    """Tag a view without a storage as what it was made from."""
    tag = tag_of(source)
    if tag is not None:
        close_shortcut()
        setattr(tensor, ATTRIBUTE, HostTag(tag.device, origin_of(tag)))


def pin(tensor: Any) -> None:
    """Mark the memory of a host tensor as pinned."""
    tag = tag_of(tensor)
    if tag is not None:
        set_tag(tensor, HostTag(tag.device, origin_of(tag), History(tag.moves, True)))


_DEVICES: dict[int, torch.device] = dict.fromkeys((CPU, FLOATING, LOADING), torch.device("cpu"))


def device_named(number: int) -> torch.device:
    """`torch.device` of a device number."""
    device = _DEVICES.get(number)
    if device is None:
        device = _DEVICES[number] = torch.device("cuda", number)
    return device


def tag_results(out: Any, site: Site) -> int:
    """Tag every untagged tensor in `out` as born at `site`; returns the bytes of all of them."""
    if isinstance(out, torch.Tensor):
        storage = storage_or_none(out)
        if storage is None:
            return _tag_without_storage(out, site)
        if storage._ferry is None:
            nbytes = tag_storage(storage, site)
            site.add_birth(out, nbytes)
            return nbytes
        nbytes = nbytes_of(out)
        site.kept_bytes += nbytes
        return nbytes
    if not isinstance(out, (tuple, list)):
        return 0
    nbytes, card = 0, site.card
    for item in out:  # as below for the usual case, without the calls: optimizers come here
        if item.__class__ is not torch.Tensor:
            nbytes += tag_results(item, site)
            continue
        try:
            storage = storage_of(item)
        except NO_STORAGE:
            nbytes += tag_results(item, site)
            continue
        if storage._ferry is not None:
            nbytes += tag_results(item, site)
            continue
        size = storage.nbytes()
        if card is None:
            storage._ferry = site
        else:
            card.take(size)
            tag = storage._ferry = DeviceTag()
            tag.device, tag.nbytes, tag.site = site.device, size, site
        if site.more < FIRST:
            site.note(item, size)
        site.more += 1
        nbytes += size
    return nbytes


def _tag_without_storage(out: Any, site: Site) -> int:
    close_shortcut()
    if getattr(out, ATTRIBUTE, None) is None:
        setattr(out, ATTRIBUTE, HostTag(site.device, site))
    if out.layout is not torch.strided:
        return sum(tag_results(part, site) for part in _sparse_parts(out))
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
