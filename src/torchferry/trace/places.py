"""What happened at each line: the events of a run, summed by place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from torchferry.trace.events import (
    Birth,
    Event,
    HostWait,
    MemoryHolder,
    Move,
    OperatorCount,
    Place,
)


@dataclass(frozen=True)
class PlaceTotals:
    """Sums of one line (`place`, None for what belongs to no line).

    Operators are calls, their bytes those of all results; born_bytes: of tensors that were made;
    copies as in `Move`; peak_bytes: held by tensors made here when most memory was in use, over
    all GPUs.
    """

    place: Place | None = None
    gpu_operators: int = 0
    gpu_bytes: int = 0
    host_operators: int = 0
    host_bytes: int = 0
    births: int = 0
    born_bytes: int = 0
    h2d_copies: int = 0
    h2d_bytes: int = 0
    d2h_copies: int = 0
    d2h_bytes: int = 0
    d2d_copies: int = 0
    d2d_bytes: int = 0
    unpinned_copies: int = 0
    host_waits: int = 0
    peak_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON-able data; sums that are 0 are left out."""
        data = {key: value for key, value in asdict(self).items() if value != 0}
        return {**data, "place": asdict(self.place) if self.place else None}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> PlaceTotals:
        """Rebuild from `to_json`'s data; unknown keys are ignored."""
        values = {k: v for k, v in data.items() if k in cls.__dataclass_fields__}
        place = values.get("place")
        return cls(**{**values, "place": Place(**place) if place else None})


_SUMS = tuple(field.name for field in fields(PlaceTotals) if field.name != "place")
_Key = tuple[str, int]


def by_place(events: Iterable[Event]) -> tuple[PlaceTotals, ...]:
    """Sum events by file and line, in the order of the source."""
    table = _Table()
    for event in events:
        if isinstance(event, OperatorCount):
            side = "host" if event.device == "cpu" else "gpu"
            table.add(event.place, f"{side}_operators", event.count)
            table.add(event.place, f"{side}_bytes", event.nbytes)
        elif isinstance(event, Birth):
            table.add(event.place, "births", event.count)
            table.add(event.place, "born_bytes", event.nbytes)
        elif isinstance(event, Move):
            table.add(event.place, f"{event.direction}_copies", event.count)
            table.add(event.place, f"{event.direction}_bytes", event.nbytes)
            if not event.pinned and event.direction != "d2d":
                table.add(event.place, "unpinned_copies", event.count)
        elif isinstance(event, HostWait):
            table.add(event.place, "host_waits", event.count)
        elif isinstance(event, MemoryHolder):
            table.add(event.place, "peak_bytes", event.nbytes)
    return table.totals()


def merged(totals: Iterable[PlaceTotals]) -> tuple[PlaceTotals, ...]:
    """Sum totals of several runs by place."""
    table = _Table()
    for one in totals:
        for name in _SUMS:
            table.add(one.place, name, getattr(one, name))
    return table.totals()


class _Table:
    def __init__(self) -> None:
        self._places: dict[_Key, Place | None] = {}
        self._sums: dict[_Key, dict[str, int]] = {}

    def add(self, place: Place | None, name: str, amount: int) -> None:
        key = ("", 0) if place is None else (place.file, place.line)
        self._places.setdefault(key, place)
        sums = self._sums.setdefault(key, {})
        sums[name] = sums.get(name, 0) + amount

    def totals(self) -> tuple[PlaceTotals, ...]:
        return tuple(
            PlaceTotals(self._places[key], **self._sums[key]) for key in sorted(self._sums)
        )
