"""When two numbers agree."""

from __future__ import annotations

import math

from torchferry.verification.tolerance import EXACT, Tolerance


def test_relative_and_absolute_tolerance_add_up() -> None:
    tolerance = Tolerance(rtol=0.1, atol=1.0)
    assert tolerance.close(100, 110)
    assert tolerance.close(100, 112)  # 1 + 0.1 * 112
    assert not tolerance.close(100, 113)


def test_special_numbers_agree_with_themselves_only() -> None:
    assert EXACT.close(math.nan, math.nan)
    assert EXACT.close(math.inf, math.inf)
    wide = Tolerance(rtol=1.0, atol=1e300)
    assert not wide.close(math.inf, -math.inf)
    assert not wide.close(math.inf, 1.0)
    assert not wide.close(math.nan, 1.0)


def test_scale_is_a_lower_bound_of_the_size() -> None:
    tolerance = Tolerance(rtol=0.01)
    assert not tolerance.close(0.0, 0.005)
    assert tolerance.close(0.0, 0.005, scale=1.0)
