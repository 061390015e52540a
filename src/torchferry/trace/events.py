"""The events of one run on a (simulated) GPU. Plain data, standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

#: Version of the trace format. A reader refuses a newer major version than it knows.
TRACE_VERSION = 1


@dataclass(frozen=True)
class Place:
    """A line of source code. `line` is 1-based; 0 means unknown."""

    file: str
    line: int
    function: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Header:
    """First line of a trace: what ran, on what."""

    version: int = TRACE_VERSION
    torch_version: str = ""
    device_name: str = ""
    device_count: int = 1
    simulated: bool = True


@dataclass(frozen=True)
class Birth:
    """A storage came to be on `device`, made by `operator` at `place`. `nbytes`: its size."""

    device: str
    operator: str
    nbytes: int
    place: Place | None = None


@dataclass(frozen=True)
class Move:
    """Copies between places. `direction`: h2d, d2h or d2d; `nbytes`: of all `count` copies."""

    direction: str
    nbytes: int
    place: Place | None = None
    source: str = ""
    target: str = ""
    pinned: bool = False
    non_blocking: bool = False
    count: int = 1


@dataclass(frozen=True)
class HostWait:
    """The host waited for the GPU `count` times at `place`, for `what` (item, print...)."""

    what: str
    place: Place | None = None
    count: int = 1


@dataclass(frozen=True)
class OperatorCount:
    """Operators called at `place` on `device`: how many, and the bytes of their results."""

    operator: str
    device: str
    count: int
    nbytes: int
    place: Place | None = None


@dataclass(frozen=True)
class MemoryPeak:
    """Largest memory in use on `device`, in bytes (as the caching allocator rounds)."""

    device: str
    allocated: int
    reserved: int


@dataclass(frozen=True)
class MemorySample:
    """Memory in use on `device` after `step` allocations: memory over time."""

    device: str
    step: int
    allocated: int


Event: TypeAlias = Header | Birth | Move | HostWait | OperatorCount | MemoryPeak | MemorySample

EVENT_TYPES: dict[str, type] = {
    cls.__name__: cls
    for cls in (Header, Birth, Move, HostWait, OperatorCount, MemoryPeak, MemorySample)
}
