"""The memory of the simulated GPUs, counted as PyTorch's caching allocator counts it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
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
    """Bytes and blocks of one card.

    `threshold`: what `allocated` may grow to without a closer look: the peak, or the limit where
    that is lower.
    """

    index: int
    limit: int
    allocated: int = 0
    blocks: int = 0
    threshold: int = 0
    peak: int = 0
    reserved: int = 0
    reserved_peak: int = 0
    ooms: int = 0
    fraction: float = 1.0

    def grow(self, now: int, nbytes: int) -> None:
        """Look closer: `allocated` would become `now`. Raises OutOfMemory."""
        if now > self.limit:
            self.ooms += 1
            raise OutOfMemory(self.index, nbytes)
        self.peak = max(self.peak, now)
        if now > self.reserved:
            self.reserved = _segments(now)
            self.reserved_peak = max(self.reserved_peak, self.reserved)
        self.threshold = min(self.peak, self.limit)


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
        self.cards = [CardMemory(index, total) for index in range(cards)]

    def set_fraction(self, device: int, fraction: float) -> None:
        """Let the program use `fraction` (0 to 1) of the card."""
        card = self.cards[device]
        card.fraction = fraction
        card.limit = int(self.total * fraction)
        card.threshold = min(card.peak, card.limit)

    def release_cached(self) -> None:
        """Give back what is reserved but not in use (`torch.cuda.empty_cache`)."""
        for card in self.cards:
            card.reserved = _segments(card.allocated)

    def reset_peaks(self, device: int) -> None:
        """Start the peaks again from what is in use now."""
        card = self.cards[device]
        card.peak = card.threshold = card.allocated
        card.reserved_peak = card.reserved

    def stats(self, device: int) -> dict[str, Any]:
        """Nested statistics as `torch._C._cuda_memoryStats` gives them."""
        card = self.cards[device]
        card.reserved = max(card.reserved, card.allocated)
        card.reserved_peak = max(card.reserved_peak, card.reserved)

        def pools(now: int, peak: int) -> dict[str, dict[str, int]]:
            full = {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}
            none = dict.fromkeys(full, 0)
            return {"all": full, "small_pool": none, "large_pool": dict(full)}

        allocated = pools(card.allocated, card.peak)
        blocks = pools(card.blocks, card.blocks)
        reserved = pools(card.reserved, card.reserved_peak)
        segments = pools(card.reserved // LARGE_SEGMENT, card.reserved_peak // LARGE_SEGMENT)
        inactive = pools(max(card.reserved - card.allocated, 0), 0)
        none = pools(0, 0)
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
            "requested_bytes": allocated,
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
