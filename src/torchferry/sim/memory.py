"""The memory of the simulated GPUs, counted as PyTorch's caching allocator counts it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

BLOCK = 512
SMALL_SIZE = 1 << 20
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
LARGE_SIZE = 10 << 20
ROUND_LARGE = 2 << 20

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_size(size: int | str) -> int:
    """Bytes of `80GB`, `16 GiB`, `512MB` or a plain number (units are powers of 1024, as on cards).

    Raises ValueError for anything else.
    """
    if isinstance(size, int):
        return size
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", size.lower())
    if match is None:
        raise ValueError(f"not a size of memory: {size!r} (write '80GB' or a number of bytes)")
    return int(float(match[1]) * _UNITS[match[2]])


@dataclass
class CardMemory:
    """Bytes and blocks of one card."""

    allocated: int = 0
    peak: int = 0
    requested: int = 0
    requested_peak: int = 0
    blocks: int = 0
    blocks_peak: int = 0
    reserved: int = 0
    reserved_peak: int = 0
    total_allocated: int = 0
    total_blocks: int = 0
    ooms: int = 0
    fraction: float = 1.0
    samples: list[tuple[int, int]] = field(default_factory=list)


class OutOfMemory(Exception):
    """The card has no room for `nbytes`."""

    def __init__(self, device: int, nbytes: int) -> None:
        super().__init__(device, nbytes)
        self.device = device
        self.nbytes = nbytes


class Memory:
    """Memory of all cards of a session. `total`: bytes of each card."""

    def __init__(self, cards: int, total: int) -> None:
        self.total = total
        self.cards = [CardMemory() for _ in range(cards)]
        self._limits = [total] * cards

    def allocate(self, device: int, nbytes: int) -> None:
        """Take `nbytes` (rounded up to blocks of 512). Raises OutOfMemory."""
        if not nbytes:
            return
        card = self.cards[device]
        rounded = (nbytes + 511) & -512
        now = card.allocated + rounded
        if now > self._limits[device]:
            card.ooms += 1
            raise OutOfMemory(device, nbytes)
        card.allocated = now
        card.requested += nbytes
        card.blocks += 1
        card.total_allocated += rounded
        card.total_blocks += 1
        if now > card.peak:
            card.peak = now
            if now > card.reserved:
                self._grow(card, now)

    def free(self, device: int, nbytes: int) -> None:
        """Give `nbytes` back."""
        if not nbytes:
            return
        card = self.cards[device]
        card.allocated -= (nbytes + 511) & -512
        card.requested -= nbytes
        card.blocks -= 1

    def set_fraction(self, device: int, fraction: float) -> None:
        """Let the program use `fraction` (0 to 1) of the card."""
        self.cards[device].fraction = fraction
        self._limits[device] = int(self.total * fraction)

    def release_cached(self) -> None:
        """Give back what is reserved but not in use (`torch.cuda.empty_cache`)."""
        for card in self.cards:
            card.reserved = _segments(card.allocated)

    def reset_peaks(self, device: int) -> None:
        """Start the peaks again from what is in use now."""
        card = self.cards[device]
        card.peak = card.allocated
        card.reserved_peak = card.reserved
        card.blocks_peak = card.blocks
        card.requested_peak = card.requested

    def _grow(self, card: CardMemory, needed: int) -> None:
        card.reserved = _segments(needed)
        card.reserved_peak = max(card.reserved_peak, card.reserved)

    def stats(self, device: int) -> dict[str, Any]:
        """Nested statistics as `torch._C._cuda_memoryStats` gives them."""
        card = self.cards[device]
        card.peak = max(card.peak, card.allocated)
        card.blocks_peak = max(card.blocks_peak, card.blocks)

        def pools(now: int, peak: int, total: int) -> dict[str, dict[str, int]]:
            full = {"current": now, "peak": peak, "allocated": total, "freed": total - now}
            none = dict.fromkeys(full, 0)
            return {"all": full, "small_pool": none, "large_pool": dict(full)}

        allocated = pools(card.allocated, card.peak, card.total_allocated)
        blocks = pools(card.blocks, card.blocks_peak, card.total_blocks)
        reserved = pools(card.reserved, card.reserved_peak, card.reserved_peak)
        segments = pools(card.reserved // LARGE_SEGMENT, card.reserved_peak // LARGE_SEGMENT, 0)
        requested = pools(card.requested, max(card.requested_peak, card.requested), 0)
        inactive = pools(max(card.reserved - card.allocated, 0), 0, 0)
        none = pools(0, 0, 0)
        plain = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
        return {
            "allocation": blocks,
            "segment": segments,
            "active": blocks,
            "inactive_split": none,
            "allocated_bytes": allocated,
            "reserved_bytes": reserved,
            "active_bytes": allocated,
            "inactive_split_bytes": inactive,
            "requested_bytes": requested,
            "oversize_allocations": dict(plain),
            "oversize_segments": dict(plain),
            "max_split_size": -1,
            "num_ooms": card.ooms,
            "num_alloc_retries": 0,
            "num_sync_all_streams": 0,
            "num_device_alloc": 0,
            "num_device_free": 0,
        }


def _segments(nbytes: int) -> int:
    """Bytes of the segments that hold `nbytes`."""
    if nbytes == 0:
        return 0
    if nbytes <= SMALL_SEGMENT:
        return SMALL_SEGMENT
    return -(-nbytes // ROUND_LARGE) * ROUND_LARGE
