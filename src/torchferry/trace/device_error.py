"""What is known about a device error: plain data that a report can show."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from torchferry.trace.events import Place


@dataclass(frozen=True)
class MoveRecord:
    """One move of a tensor (or of its storage) to `device`."""

    device: str
    place: Place | None = None


@dataclass(frozen=True)
class TensorReport:
    """A tensor that takes part in a device error.

    `name` is the expression that holds it in the user's frame (`h0`, `self.mask`), else None.
    `argument` is its name in the operator's signature.
    """

    device: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    name: str | None = None
    argument: str | None = None
    born: Place | None = None
    born_by: str = ""
    moves: tuple[MoveRecord, ...] = ()


@dataclass(frozen=True)
class DeviceErrorReport:
    """Why a device error was raised, at which line of the user, and what to write instead."""

    kind: str
    message: str
    operator: str
    place: Place | None = None
    tensors: tuple[TensorReport, ...] = ()
    suggestion: str = ""
    stack: tuple[Place, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON-able data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DeviceErrorReport:
        """Rebuild a report from `to_json`'s data."""
        values = dict(data)
        values["place"] = place_from_json(values.get("place"))
        values["tensors"] = tuple(_tensor(t) for t in values.get("tensors", ()))
        values["stack"] = tuple(
            p for p in (place_from_json(s) for s in values.get("stack", ())) if p is not None
        )
        return cls(**values)


def place_from_json(data: dict[str, Any] | None) -> Place | None:
    """Rebuild a Place, None for None."""
    return None if data is None else Place(**data)


def _tensor(data: dict[str, Any]) -> TensorReport:
    values = dict(data)
    values["shape"] = tuple(values.get("shape", ()))
    values["born"] = place_from_json(values.get("born"))
    values["moves"] = tuple(
        MoveRecord(device=m["device"], place=place_from_json(m.get("place")))
        for m in values.get("moves", ())
    )
    return TensorReport(**values)
