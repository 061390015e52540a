"""Values of tensors: written, read, compared."""

from __future__ import annotations

import math
from array import array
from pathlib import Path

from torchferry.verification.tolerance import GPU, SAME_CPU
from torchferry.verification.values import (
    TensorValue,
    compare_values,
    difference,
    read_values,
    write_values,
)


def value(name: str, numbers: list[float], shape: tuple[int, ...] | None = None) -> TensorValue:
    return TensorValue(name, shape or (len(numbers),), "torch.float32", array("d", numbers))


def by_name(*values: TensorValue) -> dict[str, TensorValue]:
    return {one.name: one for one in values}


def test_written_values_are_read_again(tmp_path: Path) -> None:
    sampled = TensorValue("big", (9,), "torch.float64", array("d", [1, 4]), 4, math.nan, 7.5, 12)
    values = [value("w", [0.1, math.inf, -0.0]), value("empty", []), sampled]
    write_values(tmp_path, values)
    read = read_values(tmp_path)
    assert list(read) == ["w", "empty", "big"]
    assert read["w"] == values[0]
    assert math.isnan(read["big"].total)
    assert (read["big"].step, read["big"].absolute_total, read["big"].place) == (4, 7.5, 12)


def test_no_values_where_none_were_written(tmp_path: Path) -> None:
    assert read_values(tmp_path) == {}


def test_small_elements_are_measured_by_their_tensor() -> None:
    before, after = value("w", [1.0, 1e-9]), value("w", [1.0, 5e-5])
    assert difference(before, after, GPU) is None
    found = difference(before, value("w", [1.0, 5e-3]), GPU)
    assert found is not None
    assert found.max_absolute == 5e-3 - 1e-9


def test_another_shape_is_a_difference() -> None:
    found = difference(value("w", [1, 2], (2, 1)), value("w", [1, 2], (1, 2)), GPU)
    assert found is not None
    assert "shape" in found.reason


def test_nan_in_both_agrees_and_in_one_does_not() -> None:
    assert difference(value("w", [math.nan]), value("w", [math.nan]), SAME_CPU) is None
    found = difference(value("w", [math.nan, 1]), value("w", [0.0, 1]), SAME_CPU)
    assert found is not None
    assert math.isinf(found.max_absolute)


def test_a_sampled_tensor_is_compared_by_its_sum_too() -> None:
    def sampled(total: float) -> TensorValue:
        return TensorValue("w", (9,), "float", array("d", [1, 1]), 4, total, 9.0)

    assert difference(sampled(9.0), sampled(9.00001), GPU) is None
    assert difference(sampled(9.0), sampled(8.0), GPU) is not None


def test_unstable_and_unmatched_tensors_are_left_out_and_listed() -> None:
    first = by_name(value("a", [1]), value("b", [1]), value("old", [1]))
    second = by_name(value("a", [1]), value("b", [2]), value("old", [1]))
    after = by_name(value("a", [1]), value("b", [3]), value("new", [1]))
    result = compare_values(first, second, after, GPU)
    assert result.difference is None
    assert (result.tensors, result.elements) == (1, 1)
    assert result.unstable == ("b",)
    assert result.unmatched == ("new", "old")


def test_the_first_differing_tensor_is_told() -> None:
    known = by_name(value("a", [1]), value("b", [1]), value("c", [1]))
    after = by_name(value("a", [1]), value("b", [2]), value("c", [3]))
    result = compare_values(known, known, after, GPU)
    assert result.difference is not None
    assert result.difference.name == "b"
