"""The account of a run: what was computed where, what was copied, how often the host waited."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from torchferry.trace.places import PlaceTotals, merged


@dataclass(frozen=True)
class Account:
    """Sums over a run.

    Bytes computed are those of operator results. Views, moves, and the making of tensors
    (factories, fills, random initial values, clones) do not count; what a DataLoader computes
    while it fetches a batch is counted apart, in `loading_bytes`. `places`: the same by line, where
    a session traces.
    """

    gpu_operators: int = 0
    gpu_bytes: int = 0
    host_operators: int = 0
    host_bytes: int = 0
    h2d_copies: int = 0
    h2d_bytes: int = 0
    d2h_copies: int = 0
    d2h_bytes: int = 0
    d2d_copies: int = 0
    d2d_bytes: int = 0
    host_waits: int = 0
    peak_memory: int = 0
    loading_bytes: int = 0
    places: tuple[PlaceTotals, ...] = ()

    @property
    def gpu_share(self) -> float:
        """Share of all bytes computed that were computed on the GPU, 0.0 to 1.0."""
        total = self.gpu_bytes + self.host_bytes
        return self.gpu_bytes / total if total else 0.0

    def to_json(self, *, places: bool = True) -> dict[str, Any]:
        """Return the account as plain JSON-able data (with the share of the GPU)."""
        data: dict[str, Any] = {**self._sums(), "gpu_share": self.gpu_share}
        if places:
            data["places"] = [one.to_json() for one in self.places]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Account:
        """Rebuild an account from `to_json`'s data; unknown keys are ignored."""
        values = {k: v for k, v in data.items() if k in cls.__dataclass_fields__}
        places = tuple(PlaceTotals.from_json(one) for one in values.get("places", ()))
        return cls(**{**values, "places": places})

    def _sums(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "places"}

    def __add__(self, other: Account) -> Account:
        """Account of two runs together; the peak is the larger one."""
        left, right = self._sums(), other._sums()
        sums: dict[str, Any] = {name: left[name] + right[name] for name in left}
        return replace(
            Account(**sums),
            peak_memory=max(self.peak_memory, other.peak_memory),
            places=merged((*self.places, *other.places)),
        )
