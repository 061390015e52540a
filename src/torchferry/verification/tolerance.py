"""When two numbers count as the same."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tolerance:
    """`|a - b| <= atol + rtol * max(|a|, |b|)`; both zero means: the same."""

    rtol: float = 0.0
    atol: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether only equal numbers, and equal text, will do."""
        return self.rtol == 0.0 and self.atol == 0.0

    def close(self, a: float, b: float, slack: float = 0.0, scale: float = 0.0) -> bool:
        """Whether `a` and `b` agree; NaN agrees with NaN, an infinity with itself.

        `slack` widens the absolute tolerance (rounding of a print); `scale` is the size that the
        relative tolerance may take where both numbers are smaller (the size of their tensor).
        """
        if a == b or (math.isnan(a) and math.isnan(b)):
            return True
        if not (math.isfinite(a) and math.isfinite(b)):
            return False
        size = max(abs(a), abs(b), scale)
        return abs(a - b) <= self.atol + slack + self.rtol * size


EXACT = Tolerance()
#: of a GPU against a CPU, as text and as tensors
GPU = Tolerance(rtol=1e-4, atol=1e-6)
#: of tensors on the same CPU: the memory alignment of an array may change the order of a sum
SAME_CPU = Tolerance(rtol=1e-6, atol=1e-9)
