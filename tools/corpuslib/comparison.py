"""Compare the numbers that two runs of a program print."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from corpuslib.place import Json

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|(?<!\w)[-+]?\b(?:nan|inf)\b"
)
_DEVICE = re.compile(r",?\s*device='?cuda(?::\d+)?'?|\bcuda:\d+\b")
_NOISE = re.compile(r"\b0x[0-9a-fA-F]+\b|\x1b\[[0-9;]*[A-Za-z]")
_CLOCK = re.compile(r"(?i)\b(?:time|elapsed|took|duration|eta|secs?|seconds?)\b[^\w\n]{0,6}$")
_UNIT = re.compile(r"\s*(?:[hms]|ms|(?i:secs?|seconds?|mins?|minutes?|hrs?|hours?))\b(?!\s*=)")
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


@dataclass(frozen=True)
class Unstable:
    """What differs between two runs of the same program: timings, mostly.

    ``fields`` are numbers by the shape of their line, so that a timing is known on each line of its
    kind, also where both runs happened to print the same. A line of bare numbers has no shape of
    its own: ``lines`` are such lines, by index.
    """

    fields: frozenset[tuple[str, int]]
    lines: frozenset[int]

    @classmethod
    def between(cls, first: str, second: str) -> Unstable:
        a, b = normalise(first), normalise(second)
        partner = _align(a, b)
        fields: set[tuple[str, int]] = set()
        lines: set[int] = set()
        for i, line in enumerate(a):
            other = b[partner[i]] if i in partner else ""
            x, y = numbers(line), numbers(other)
            moved = {k for k, pair in enumerate(zip(x, y, strict=False)) if not _repeats(*pair)}
            if len(x) == len(y) and not moved:
                continue
            shape = template(line)
            if not _named(shape):
                lines.add(i)
            elif shape == template(other):
                fields |= {(shape, k) for k in moved}
            else:
                fields |= {(shape, k) for k in range(len(x))}
        return cls(frozenset(fields), frozenset(lines))

    def stable_numbers(self, lines: Sequence[str], skip: set[int]) -> list[tuple[int, str]]:
        """The numbers of an output that can be compared, each with the index of its line."""
        found = []
        for index, line in enumerate(lines):
            if index in skip:
                continue
            shape = template(line)
            for k, match in enumerate(_NUMBER.finditer(line)):
                if (shape, k) not in self.fields and not _is_timing(line, match):
                    found.append((index, match[0]))
        return found


def _repeats(left: str, right: str) -> bool:
    """Whether two runs of one program printed the same, but for the order of a sum."""
    return left == right or math.isclose(float(left), float(right), rel_tol=1e-6)


def _named(shape: str) -> bool:
    return re.search("[A-Za-z]", shape) is not None


def _is_timing(line: str, match: re.Match[str]) -> bool:
    return bool(_CLOCK.search(line[: match.start()]) or _UNIT.match(line[match.end() :]))


def _align(a: list[str], b: list[str]) -> dict[int, int]:
    if len(a) == len(b):
        return {i: i for i in range(len(a))}
    left, right = [template(x) for x in a[:5000]], [template(x) for x in b[:5000]]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=len(left) > 1000)
    blocks = matcher.get_matching_blocks()
    return {block.a + k: block.b + k for block in blocks for k in range(block.size)}


def first_difference(before: str, after: str, unstable: Unstable) -> Json | None:
    """Where the numbers of two outputs part, or None."""
    a, b = normalise(before), normalise(after)
    skip = set(unstable.lines)
    partner = _align(a, b) if skip else {}
    left = unstable.stable_numbers(a, skip)
    right = unstable.stable_numbers(b, {partner[i] for i in skip if i in partner})
    for (i, x), (j, y) in zip(left, right, strict=False):
        if not equal(x, y):
            return {"line": i + 1, "before": a[i][:300], "after": b[j][:300], "numbers": [x, y]}
    if len(left) == len(right):
        return None
    longer, lines = (left, a) if len(left) > len(right) else (right, b)
    index, number = longer[min(len(left), len(right))]
    difference: Json = {"line": index + 1, "numbers": [number], "counts": [len(left), len(right)]}
    return difference | {"before" if longer is left else "after": lines[index][:300]}
