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
    called the operator. count, nbytes: calls and bytes of their results; births: storages made;
    kept_bytes: bytes of results that were no births; freed: bytes of births that are gone (GPUs
    only).
    """

    __slots__ = (
        "births",
        "card",
        "code",
        "count",
        "device",
        "direct",
        "first",
        "freed",
        "kept_bytes",
        "lasti",
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
        self.births = 0
        self.kept_bytes = 0
        self.freed = 0
        self.first: tuple[tuple[tuple[int, ...], str, int], ...] = ()

    @property
    def born_bytes(self) -> int:
        """Bytes of all births."""
        return self.nbytes - self.kept_bytes

    def note(self, tensor: Any, nbytes: int) -> None:
        """Keep shape and dtype of one of the first births."""
        if len(self.first) < FIRST:
            dtype = str(tensor.dtype).removeprefix("torch.")
            self.first = (*self.first, (tuple(tensor.shape), dtype, nbytes))

    def born(self, tensor: Any, nbytes: int) -> None:
        """Count a birth that is no call of an operator (a copy between devices, data of Python)."""
        if self.code is not None and self.births < FIRST:
            self.note(tensor, nbytes)
        self.births += 1
        self.nbytes += nbytes
