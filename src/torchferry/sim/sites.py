"""Sites: an operator at one instruction of the program, with its results on one device.

All that is counted by place hangs on them, so a run's account is bounded by its source, not by its
length. A site is also the tag of the storages that were born at it on the host (tags.py): many
share it, so nothing about one storage may be written to it.
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchferry.sim.memory import CardMemory

#: So many births of each site are kept with shape and dtype.
FIRST = 3


class Site:
    """Sums of one operator at one place.

    name: of the overload (`add.Tensor`); operator: without it (`add`). device: where its results
    live; side: the same for the counts, where loading data is apart. direct: the program's own line
    called the operator. count, nbytes: calls and bytes of their results. A call with one result is
    a birth, unless it is among the `kept` with `kept_bytes`, which made no storage of their own;
    `more`: births beyond those. freed: bytes of births that are gone (GPUs only).
    """

    __slots__ = (
        "card",
        "code",
        "count",
        "device",
        "direct",
        "first",
        "freed",
        "kept",
        "kept_bytes",
        "lasti",
        "more",
        "name",
        "nbytes",
        "operator",
        "side",
    )
    # A site as a tag: what only tags of single storages have.
    history = None
    pinned = False
    moves = ()
    hint = -1

    def __init__(
        self,
        name: str,
        operator: str,
        device: int,
        side: int,
        code: CodeType | None,
        lasti: int,
        card: CardMemory | None,
    ) -> None:
        self.name = name
        self.operator = operator
        self.device = device
        self.side = side
        self.code = code
        self.lasti = lasti
        self.card = card
        self.direct = False
        self.count = 0
        self.nbytes = 0
        self.kept = 0
        self.kept_bytes = 0
        self.more = 0
        self.freed = 0
        self.first: tuple[tuple[tuple[int, ...], str, int], ...] = ()

    @property
    def births(self) -> int:
        """Storages that were made here."""
        return self.count - self.kept + self.more

    @property
    def born_bytes(self) -> int:
        """Bytes of all births."""
        return self.nbytes - self.kept_bytes

    def note(self, tensor: Any, nbytes: int) -> None:
        """Keep shape and dtype of one of the first births."""
        if len(self.first) < FIRST:
            dtype = str(tensor.dtype).removeprefix("torch.")
            shape = () if tensor.is_nested else tuple(tensor.shape)
            self.first = (*self.first, (shape, dtype, nbytes))

    def born(self, tensor: Any, nbytes: int) -> None:
        """Count a birth that is no call of an operator (a copy between devices, data of Python)."""
        self.add_birth(tensor, nbytes)
        self.nbytes += nbytes

    def add_birth(self, tensor: Any, nbytes: int) -> None:
        """Count a birth whose call and bytes are counted elsewhere."""
        if self.more < FIRST and self.code is not None:
            self.note(tensor, nbytes)
        self.more += 1

    def keep(self, nbytes: int) -> None:
        """A result with `nbytes` made no storage of its own."""
        self.kept += 1
        self.kept_bytes += nbytes
