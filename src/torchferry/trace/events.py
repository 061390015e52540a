"""The events of one run on a (simulated) GPU. Plain data, standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

#: Version of the trace format; docs/trace.md says what changed. A reader refuses a newer one.
TRACE_VERSION = 2


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
class FirstBirth:
    """One of the first tensors made at a place: its shape, its dtype (`float32`), its bytes."""

    shape: tuple[int, ...]
    dtype: str
    nbytes: int


@dataclass(frozen=True)
class Birth:
    """`count` storages came to be on `device`, made by `operator` at `place`.

    nbytes: of all of them. variable: what the line assigns the tensor, or the object that holds it,
    to (`x`, `self.layer`), "" where that is not known. first: the first few of them.
    """

    device: str
    operator: str
    nbytes: int
    place: Place | None = None
    variable: str = ""
    count: int = 1
    first: tuple[FirstBirth, ...] = ()


@dataclass(frozen=True)
class Move:
    """`count` copies between devices. `direction`: h2d, d2h or d2d; `nbytes`: of all copies.

    variable: what was moved, as the line calls it (`batch` of `batch.to(device)`). born: where the
    tensors were made.
    """

    direction: str
    nbytes: int
    place: Place | None = None
    source: str = ""
    target: str = ""
    pinned: bool = False
    non_blocking: bool = False
    count: int = 1
    variable: str = ""
    born: Place | None = None


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
class MemoryHolder:
    """Tensors made at `place` held `nbytes` of `device`'s memory when most was in use.

    Taken within 2% of the peak.
    """

    device: str
    nbytes: int
    operator: str = ""
    place: Place | None = None
    variable: str = ""


@dataclass(frozen=True)
class MemorySample:
    """Bytes in use on `device` after `step` tensors were made there: memory over time.

    peak: the most since the sample before. seconds: since the session began.
    """

    device: str
    step: int
    allocated: int
    peak: int = 0
    seconds: float = 0.0


Event: TypeAlias = (
    Header | Birth | Move | HostWait | OperatorCount | MemoryPeak | MemoryHolder | MemorySample
)

EVENT_TYPES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        Header,
        Birth,
        Move,
        HostWait,
        OperatorCount,
        MemoryPeak,
        MemoryHolder,
        MemorySample,
    )
}
