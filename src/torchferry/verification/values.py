"""Values of tensors in a file, and their comparison. Standard library only.

A tensor is kept as float64 numbers (complex ones as pairs). Of one with more than `SAMPLE_LIMIT`
elements every n-th is kept, and the sum and the absolute sum of all.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from .tolerance import Tolerance

SAMPLE_LIMIT = 65_536


@dataclass(frozen=True, slots=True)
class TensorValue:
    """The value of one tensor at the end of a run.

    `numbers` are all its elements in order, or every `step`-th. `place` is the line of the program
    that made its owner, 0 if unknown.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    numbers: array[float]
    step: int = 1
    total: float = 0.0
    absolute_total: float = 0.0
    place: int = 0

    @property
    def totals(self) -> tuple[float, float]:
        """Sum and absolute sum of all elements."""
        return self.total, self.absolute_total


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """Two values of one tensor that do not agree; the largest differences over its elements."""

    name: str
    reason: str
    max_absolute: float = 0.0
    max_relative: float = 0.0
    place: int = 0

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)


@dataclass(slots=True)
class ValuesComparison:
    """What a comparison of two sets of values showed."""

    tensors: int = 0  #: that agree
    elements: int = 0
    unmatched: tuple[str, ...] = ()  #: known in one run only
    unstable: tuple[str, ...] = ()  #: differ between two runs of the original
    largest_difference: float = 0.0
    difference: TensorDifference | None = None


def write_values(folder: Path, values: list[TensorValue]) -> None:
    """Write `values` to two files in `folder`."""
    index = []
    with open(folder / "values.bin", "wb") as data:
        for value in values:
            entry = {
                "name": value.name,
                "shape": list(value.shape),
                "dtype": value.dtype,
                "count": len(value.numbers),
                "step": value.step,
                "total": repr(value.total),
                "absolute_total": repr(value.absolute_total),
                "place": value.place,
            }
            index.append(entry)
            value.numbers.tofile(data)
    (folder / "values.json").write_text(json.dumps(index), encoding="utf-8")


def read_values(folder: Path) -> dict[str, TensorValue]:
    """The values that a run wrote, by name; empty if it did not come that far."""
    index = folder / "values.json"
    if not index.exists():
        return {}
    values = {}
    with open(folder / "values.bin", "rb") as data:
        for entry in json.loads(index.read_text(encoding="utf-8")):
            numbers = array("d")
            numbers.fromfile(data, entry["count"])
            values[entry["name"]] = TensorValue(
                entry["name"],
                tuple(entry["shape"]),
                entry["dtype"],
                numbers,
                entry["step"],
                float(entry["total"]),
                float(entry["absolute_total"]),
                entry["place"],
            )
    return values


def compare_values(
    first: Mapping[str, TensorValue],
    second: Mapping[str, TensorValue],
    after: Mapping[str, TensorValue],
    tolerance: Tolerance,
) -> ValuesComparison:
    """Compare the values after a run with those after two runs of the original.

    Tensors that differ between the two runs of the original are left out, and so are those that
    only one of the programs has: a rewrite may turn an attribute into a buffer.
    """
    result = ValuesComparison()
    unmatched = sorted(set(first) ^ set(after))
    unstable = []
    for name, value in first.items():
        if name not in after:
            continue
        if name not in second or difference(value, second[name], tolerance) is not None:
            unstable.append(name)
            continue
        found = difference(value, after[name], tolerance)
        if found is None:
            result.tensors += 1
            result.elements += math.prod(value.shape)
            largest = _largest(value, after[name], _size(value))[0]
            result.largest_difference = max(result.largest_difference, largest)
        elif result.difference is None:
            result.difference = found
    result.unmatched, result.unstable = tuple(unmatched), tuple(unstable)
    return result


def difference(a: TensorValue, b: TensorValue, tolerance: Tolerance) -> TensorDifference | None:
    """How two values of a tensor differ, None if they agree.

    The relative tolerance is taken of the element, or of the root mean square of the tensor where
    that is more: an element near zero carries the rounding errors of its neighbours.
    """
    if a.shape != b.shape:
        return TensorDifference(a.name, f"its shape is {b.shape}, not {a.shape}", place=b.place)
    if a.numbers == b.numbers and a.totals == b.totals:
        return None
    size = _size(a)
    pairs = zip(a.numbers, b.numbers, strict=True)
    close = all(tolerance.close(x, y, scale=size) for x, y in pairs)
    sums = a.step == 1 or tolerance.close(a.total, b.total, scale=a.absolute_total)
    if close and sums:
        return None
    absolute, relative = _largest(a, b, size)
    reason = "its values differ" if not close else "the sum of its values differs"
    return TensorDifference(a.name, reason, absolute, relative, b.place)


def _size(value: TensorValue) -> float:
    """Root mean square of the finite elements."""
    squares = [x * x for x in value.numbers if math.isfinite(x)]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else 0.0


def _largest(a: TensorValue, b: TensorValue, size: float) -> tuple[float, float]:
    """The largest absolute difference, and the largest relative to max(|element|, size)."""
    absolute = relative = 0.0
    for x, y in zip(a.numbers, b.numbers, strict=True):
        if x == y or (math.isnan(x) and math.isnan(y)):
            continue
        gap = abs(x - y)
        if not math.isfinite(gap):
            return math.inf, math.inf
        absolute = max(absolute, gap)
        relative = max(relative, gap / max(abs(x), abs(y), size))
    return absolute, relative
