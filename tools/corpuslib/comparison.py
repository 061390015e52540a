"""Compare the numbers that two runs of a program print."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence

from corpuslib.place import Json

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|(?<!\w)[-+]?\b(?:nan|inf)\b"
)
_DEVICE = re.compile(r",?\s*device='?cuda(?::\d+)?'?|\bcuda:\d+\b")
_NOISE = re.compile(r"\b0x[0-9a-fA-F]+\b|\x1b\[[0-9;]*[A-Za-z]")
RELATIVE, ABSOLUTE = 1e-4, 1e-6


def normalise(text: str) -> list[str]:
    """Lines of an output without what names a device, an address or a colour."""
    text = _NOISE.sub("", _DEVICE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return text.split("\n")


def numbers(line: str) -> list[str]:
    return _NUMBER.findall(line)


def template(line: str) -> str:
    return " ".join(_NUMBER.sub("#", line).split())


def equal(left: str, right: str) -> bool:
    """Whether two printed numbers agree: 1e-4 relative, 1e-6 absolute or one unit at the end."""
    if left == right:
        return True
    x, y = float(left), float(right)
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or math.isinf(y):
        return x == y or (math.isnan(x) and math.isnan(y))
    unit = max(_last_digit(left), _last_digit(right))
    return math.isclose(x, y, rel_tol=RELATIVE, abs_tol=max(ABSOLUTE, unit))


def _last_digit(number: str) -> float:
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if not decimals and not exponent:
        return 0.0  # an integer: exact up to the relative tolerance
    return 1.01 * 10.0 ** (int(exponent or 0) - decimals)


def same_numbers(left: str, right: str) -> bool:
    a, b = numbers(left), numbers(right)
    return len(a) == len(b) and all(map(equal, a, b))


def volatile_lines(first: str, second: str) -> list[int]:
    """Lines of ``first`` that differ between two runs of the same program (timings, ...)."""
    a, b = normalise(first), normalise(second)
    partner = _align(a, b)
    return [
        i
        for i, line in enumerate(a)
        if numbers(line) and (i not in partner or not same_numbers(line, b[partner[i]]))
    ]


def _align(a: list[str], b: list[str]) -> dict[int, int]:
    if len(a) == len(b):
        return {i: i for i in range(len(a))}
    left, right = [template(x) for x in a[:5000]], [template(x) for x in b[:5000]]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=len(left) > 1000)
    return {
        block.a + k: block.b + k
        for block in matcher.get_matching_blocks()
        for k in range(block.size)
    }


def first_difference(before: str, after: str, volatile: Sequence[int]) -> Json | None:
    """Where the numbers of two outputs part, or None. ``volatile`` are lines of ``before``."""
    a, b = normalise(before), normalise(after)
    partner = _align(a, b) if volatile else {}
    skip = set(volatile)
    shapes = {template(a[i]) for i in skip}
    skip_after = {partner[i] for i in skip if i in partner}
    if len(a) != len(b):
        skip_after |= {j for j, line in enumerate(b) if template(line) in shapes}
        skip |= {i for i, line in enumerate(a) if template(line) in shapes}
    left = [(i, n) for i, line in enumerate(a) if i not in skip for n in numbers(line)]
    right = [(j, n) for j, line in enumerate(b) if j not in skip_after for n in numbers(line)]
    for (i, x), (j, y) in zip(left, right, strict=False):
        if not equal(x, y):
            return {"line": i + 1, "before": a[i][:300], "after": b[j][:300], "numbers": [x, y]}
    if len(left) != len(right):
        longer, lines = (left, a) if len(left) > len(right) else (right, b)
        i, x = longer[min(len(left), len(right))]
        which = "before" if longer is left else "after"
        return {
            "line": i + 1,
            which: lines[i][:300],
            "numbers": [x],
            "counts": [len(left), len(right)],
        }
    return None
