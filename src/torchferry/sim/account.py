"""Counts what happens in a session, cheaply; turns it into events when asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import CodeType

from torchferry.sim.memory import Memory
from torchferry.sim.places import place_of, user_frame
from torchferry.sim.tables.families import MAKING
from torchferry.sim.tags import CPU, LOADING, device_named
from torchferry.trace import (
    Account,
    Event,
    Header,
    HostWait,
    MemoryPeak,
    Move,
    OperatorCount,
)

#: Waits that the program asks for: `set_sync_debug_mode` says nothing of them.
EXPLICIT_WAITS = frozenset({"synchronize", "stream.synchronize", "event.synchronize"})


class Counter:
    """Sums of a session. Keys hold the user's instruction, so memory is bounded by the source."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.by_place = True
        self.operators: dict[tuple[str, int, int, int], list[int]] = {}
        self.codes: dict[int, CodeType] = {}
        self.moves: dict[tuple[int, int, bool, bool, int, int], list[int]] = {}
        self.waits: dict[tuple[str, int, int], int] = {}
        self.paused = 0
        self.loading = 0  #: batches that are being fetched
        self.sync_debug: int = 0  #: torch.cuda.set_sync_debug_mode: 0 silent, 1 warns, 2 raises

    def operator(
        self, name: str, device: int, code: CodeType | None, lasti: int, nbytes: int
    ) -> None:
        """Count an operator (the hot path of mode.py does the same inline)."""
        key = (name, device, id(code), lasti)
        entry = self.operators.get(key)
        if entry is None:
            if code is not None:
                self.codes[id(code)] = code
            self.operators[key] = [1, nbytes]
        else:
            entry[0] += 1
            entry[1] += nbytes

    def move(self, source: int, target: int, nbytes: int, pinned: bool, non_blocking: bool) -> None:
        """Count a copy of `nbytes` bytes from `source` to `target` (device numbers)."""
        if self.paused:
            return
        code, lasti = self._here()
        entry = self.moves.setdefault((source, target, pinned, non_blocking, code, lasti), [0, 0])
        entry[0] += 1
        entry[1] += nbytes

    def wait(self, what: str) -> None:
        """Count a wait of the host for the GPU."""
        if self.paused:
            return
        if self.sync_debug and what not in EXPLICIT_WAITS:
            self._complain()
        key = (what, *self._here())
        self.waits[key] = self.waits.get(key, 0) + 1

    def _complain(self) -> None:
        """What torch.cuda.set_sync_debug_mode asks for where the host waits unasked."""
        message = "called a synchronizing CUDA operation"
        if self.sync_debug > 1:
            raise RuntimeError(message)
        warnings.warn(message, stacklevel=4)

    def _here(self) -> tuple[int, int]:
        frame = user_frame(3)
        if frame is None:
            return 0, 0
        code = frame.f_code
        self.codes[id(code)] = code
        return id(code), frame.f_lasti

    def account(self) -> Account:
        """Sums so far."""
        gpu = [0, 0]
        host = [0, 0]
        loading = 0
        for (name, device, _, _), (count, nbytes) in self.operators.items():
            if device == LOADING:
                loading += nbytes
                continue
            side = host if device < 0 else gpu
            side[0] += count
            if name.partition(".")[0] not in MAKING:
                side[1] += nbytes
        copies = {"h2d": [0, 0], "d2h": [0, 0], "d2d": [0, 0]}
        for (source, target, *_), (count, nbytes) in self.moves.items():
            entry = copies[direction(source, target)]
            entry[0] += count
            entry[1] += nbytes
        return Account(
            gpu_operators=gpu[0],
            gpu_bytes=gpu[1],
            host_operators=host[0],
            host_bytes=host[1],
            loading_bytes=loading,
            h2d_copies=copies["h2d"][0],
            h2d_bytes=copies["h2d"][1],
            d2h_copies=copies["d2h"][0],
            d2h_bytes=copies["d2h"][1],
            d2d_copies=copies["d2d"][0],
            d2d_bytes=copies["d2d"][1],
            host_waits=sum(self.waits.values()),
            peak_memory=max(card.peak for card in self.memory.cards),
        )

    def events(self, header: Header) -> Iterator[Event]:
        """Everything counted, as events of the trace."""
        yield header
        for (operator, device, code, lasti), (count, nbytes) in self.operators.items():
            place = place_of(self.codes.get(code), lasti)
            yield OperatorCount(operator, str(device_named(device)), count, nbytes, place)
        for (source, target, pinned, lazy, code, lasti), (count, nbytes) in self.moves.items():
            yield Move(
                direction=direction(source, target),
                nbytes=nbytes,
                place=place_of(self.codes.get(code), lasti),
                source=str(device_named(source)),
                target=str(device_named(target)),
                pinned=pinned,
                non_blocking=lazy,
                count=count,
            )
        for (what, code, lasti), count in self.waits.items():
            yield HostWait(what, place_of(self.codes.get(code), lasti), count)
        for index, card in enumerate(self.memory.cards):
            reserved = max(card.reserved_peak, card.peak)
            yield MemoryPeak(f"cuda:{index}", card.peak, reserved)


def direction(source: int, target: int) -> str:
    """h2d, d2h or d2d."""
    if source <= CPU:
        return "h2d"
    return "d2h" if target <= CPU else "d2d"
