"""The memory of the simulated GPUs, counted as PyTorch's caching allocator counts it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torchferry.sim.sites import Site

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


#: Samples of the memory over time: at most twice so many a card.
SAMPLES = 256


class Sample(NamedTuple):
    """Memory in use. `births`: tensors made until then; `peak`: most since the sample before."""

    seconds: float
    births: int
    allocated: int
    peak: int


@dataclass
class CardMemory:
    """Bytes of one card.

    threshold: what `allocated` may grow to without a closer look: the most since the last sample,
    or the limit where that is lower. peak: since `reset_peaks`; top: of the whole session. freed:
    tensors that are gone. holders: who held how many bytes at the top (or within 2% of it).
    """

    index: int
    limit: int
    allocated: int = 0
    freed: int = 0
    threshold: int = 0
    peak: int = 0
    top: int = 0
    reserved: int = 0
    reserved_peak: int = 0
    reserved_top: int = 0
    ooms: int = 0
    fraction: float = 1.0
    sites: list[Site] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    holders: list[tuple[Site, int]] = field(default_factory=list)
    at_new_top: bool = False
    due: int = 1  #: `look` when so many tensors are gone
    since: float = field(default_factory=time.perf_counter)
    _holders_at: int = 0
    _recent_peak: int = 0
    _stride: int = 1
    _next_sample: int = 1

    @property
    def births(self) -> int:
        """Tensors made on the card so far."""
        return sum(site.births for site in self.sites)

    def take(self, nbytes: int) -> None:
        """Take memory for a tensor (the hot path of computing.py does the same inline)."""
        size = (nbytes + 511) & -512
        if self.allocated + size > self.threshold:
            self.grow(self.allocated + size, nbytes)
        self.allocated += size

    def look(self) -> None:
        """Do what is due: note who holds the memory at a new top, take a sample."""
        if self.at_new_top:
            self.keep_holders()
        if self.freed >= self._next_sample:
            self.sample(self.allocated)
        self.due = self._next_sample

    def grow(self, now: int, nbytes: int) -> None:
        """Look closer: `allocated` would become `now`. Raises OutOfMemory."""
        if now > self.limit:
            self.ooms += 1
            raise OutOfMemory(self.index, nbytes)
        self.threshold = self._recent_peak = now
        self.peak = max(self.peak, now)
        if now > self.top:
            self.top = now
            self.at_new_top = True
            self.due = 0
        if now > self.reserved:
            self.reserved = _segments(now)
            self.reserved_peak = max(self.reserved_peak, self.reserved)
            self.reserved_top = max(self.reserved_top, self.reserved)
        self._next_sample -= 1
        if self.freed >= self._next_sample:
            self.sample(now)

    def sample(self, now: int) -> None:
        """Note that `now` bytes are in use; thin the samples out where there are many."""
        seconds = time.perf_counter() - self.since
        self.samples.append(Sample(seconds, self.births, now, self._recent_peak))
        self._recent_peak = now
        self.threshold = min(now, self.limit)
        if len(self.samples) >= 2 * SAMPLES:
            pairs = zip(self.samples[::2], self.samples[1::2], strict=True)
            self.samples = [b._replace(peak=max(a.peak, b.peak)) for a, b in pairs]
            self._stride *= 2
        self._next_sample = self.freed + self._stride

    def keep_holders(self) -> None:
        """Note who holds the memory now, at the top; not again for a top that is hardly higher."""
        self.at_new_top = False
        if self.top * 64 >= self._holders_at * 65:
            self._holders_at = self.top
            held = ((site, site.born_bytes - site.freed) for site in self.sites)
            self.holders = [(site, nbytes) for site, nbytes in held if nbytes > 0]

    def finish(self) -> None:
        """Take the last look at the memory, for an account."""
        if self.at_new_top:
            self.keep_holders()
        last = self.samples[-1] if self.samples else Sample(0.0, 0, 0, 0)
        if last.births != self.births or last.allocated != self.allocated:
            self.sample(self.allocated)


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
        card.threshold = min(card.threshold, card.limit)

    def release_cached(self) -> None:
        """Give back what is reserved but not in use (`torch.cuda.empty_cache`)."""
        for card in self.cards:
            card.reserved = _segments(card.allocated)

    def reset_peaks(self, device: int) -> None:
        """Start the peaks again from what is in use now."""
        card = self.cards[device]
        card.sample(card.allocated)
        card.peak = card.allocated
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
        in_use = card.births - card.freed
        blocks = pools(in_use, in_use)
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
