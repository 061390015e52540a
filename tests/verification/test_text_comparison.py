"""What counts as the same output, and what is left out of the comparison."""

from __future__ import annotations

import pytest

from torchferry.verification.text_comparison import (
    TextComparison,
    compare_text,
    reference,
    without_device_lines,
)
from torchferry.verification.tolerance import EXACT, GPU, Tolerance


def compare(
    first: str,
    after: str,
    second: str | None = None,
    tolerance: Tolerance = EXACT,
    *,
    same_device: bool = False,
) -> TextComparison:
    known = reference(first, first if second is None else second, same_device=same_device)
    return compare_text(known, after, tolerance, same_device=same_device)


def test_equal_text_is_the_same_and_its_numbers_are_counted() -> None:
    result = compare("epoch 1 loss 0.5\ndone\n", "epoch 1 loss 0.5\ndone\n")
    assert result.same
    assert (result.numbers, result.lines) == (2, 2)


def test_the_first_difference_is_told_with_its_line() -> None:
    result = compare("a 1\nb 2\nc 3\n", "a 1\nb 3\nc 4\n")
    assert result.difference is not None
    assert (result.difference.before, result.difference.after) == ("b 2", "b 3")
    assert result.difference.line == 2


def test_on_the_same_device_the_last_digit_counts() -> None:
    assert not compare("loss 0.123456", "loss 0.123457").same
    assert not compare("loss 0.50", "loss 0.5").same


def test_on_a_gpu_numbers_have_a_tolerance() -> None:
    assert compare("loss 0.123456", "loss 0.123461", tolerance=GPU).same
    assert not compare("loss 0.123456", "loss 0.1236", tolerance=GPU).same
    assert compare("loss nan", "loss nan", tolerance=GPU).same
    assert not compare("loss nan", "loss 0.5", tolerance=GPU).same


def test_a_printed_number_stands_for_all_that_round_to_it() -> None:
    assert compare("accuracy 0.12", "accuracy 0.13", tolerance=GPU).same
    assert not compare("accuracy 0.12", "accuracy 0.14", tolerance=GPU).same
    assert not compare("correct 97", "correct 98", tolerance=GPU).same  # no rounding in a count


def test_unstable_numbers_are_left_out_and_the_rest_of_their_line_is_not() -> None:
    first, second = "loss 0.5 at 17\n", "loss 0.5 at 18\n"
    assert compare(first, "loss 0.5 at 99\n", second).same
    assert not compare(first, "loss 0.6 at 99\n", second).same


def test_lines_that_only_one_run_of_the_original_prints_may_come_or_not() -> None:
    first, second = "a 1\nretry (busy)\nb 2\n", "a 1\nb 2\n"
    assert compare(first, "a 1\nb 2\n", second).same
    assert compare(first, "a 1\nretry (busy)\nretry (busy)\nb 2\n", second).same
    assert not compare(first, "a 1\nretry (busy)\n", second).same


@pytest.mark.parametrize("after", ["a 1\n", "a 1\nb 2\nc 3\n", "b 2\na 1\n", ""])
def test_missing_extra_and_exchanged_lines_are_differences(after: str) -> None:
    assert not compare("a 1\nb 2\n", after).same


def test_line_breaks_inside_an_array_do_not_count() -> None:
    assert compare("[1.0 2.0\n 3.0]\n", "[1.0\n 2.0 3.0]\n", tolerance=GPU).same


def test_device_names_may_differ_on_a_gpu_and_are_listed() -> None:
    result = compare("on cpu: 1", "on cuda:0: 1", tolerance=GPU, same_device=True)
    assert result.same
    assert result.device_lines == [("on cpu: 1", "on cuda:0: 1")]
    assert not compare("on cpu: 1", "on cuda:0: 1").same


def test_a_line_with_other_numbers_but_the_same_device_is_not_listed() -> None:
    result = compare("GPU 0.500001", "GPU 0.500002", tolerance=GPU, same_device=True)
    assert result.same
    assert result.device_lines == []


def test_the_gradient_function_of_a_copy_may_differ_on_a_gpu_only() -> None:
    before, after = "tensor(1., grad_fn=<MulBackward0>)", "tensor(1., grad_fn=<ToCopyBackward0>)"
    assert compare(before, after, tolerance=GPU).same
    assert not compare(before, after).same


def test_what_the_original_prints_otherwise_on_a_gpu_is_left_out() -> None:
    cpu = "available False\nloss 0.5\nend 1\n"
    gpu = "available True\nname X\nloss 0.5\nend 1\n"
    known, pairs = without_device_lines(reference(cpu, cpu), gpu, ended=True)
    assert compare_text(known, gpu, GPU).same
    assert compare_text(known, gpu.replace("0.5", "0.7"), GPU).difference is not None
    assert ("available False", "available True") in pairs


def test_what_a_failing_original_did_not_print_on_a_gpu_stays() -> None:
    cpu = "available False\nloss 0.5\nend 1\n"
    known, _ = without_device_lines(reference(cpu, cpu), "available True\nloss 0.5\n", ended=False)
    assert compare_text(known, "available True\nloss 0.5\nend 1\n", GPU).same
    assert not compare_text(known, "available True\nloss 0.5\nend 2\n", GPU).same


def test_long_outputs_are_compared_in_reasonable_time() -> None:
    lines = [f"step {n} loss {1 / (n + 1):.4f}" for n in range(20_000)]
    first = "\n".join(lines)
    second = "\n".join(["start", *lines[:9_000], *lines[9_001:]])
    result = compare(first, first, second)
    assert result.same
