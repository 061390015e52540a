"""Comparing what two runs print.

Three texts take part: two runs of the original, which tell what differs by itself (timings,
unseeded numbers), and the run under test. A token that differs between the two originals is left
out; a line whose very form differs is left out as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from .alignment import Block, align
from .printed import Kind, Line, Token, device_names, lines_of
from .tolerance import Tolerance

_MOST_LISTED = 50


@dataclass(slots=True)
class Reference:
    """The original's output and what of it is unstable."""

    lines: list[Line]
    unstable_tokens: dict[int, frozenset[int]] = field(default_factory=dict)
    unstable_lines: set[int] = field(default_factory=set)
    passing_shapes: set[str] = field(default_factory=set)  #: of lines that only one run printed

    @property
    def left_out(self) -> list[str]:
        """The lines that are left out, wholly or in part, as text."""
        numbers = sorted(self.unstable_lines | set(self.unstable_tokens))
        return [self.lines[number].text for number in numbers]


@dataclass(slots=True)
class TextDifference:
    """The first place where two outputs part; a line is empty where only one run printed it."""

    before: str
    after: str
    line: int  #: of the original's output, from 1

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {"before": self.before, "after": self.after, "line": self.line}


@dataclass(slots=True)
class TextComparison:
    """What a comparison of two outputs showed."""

    numbers: int = 0  #: pairs that agree
    lines: int = 0
    largest_difference: float = 0.0  #: among the numbers that agree, absolute
    difference: TextDifference | None = None
    device_lines: list[tuple[str, str]] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.difference is None


def reference(
    first: str, second: str, *, same_device: bool = False, warnings: bool = True
) -> Reference:
    """The original's output, with what differs between its two runs marked as unstable."""
    options = {"same_device": same_device, "warnings": warnings}
    a, b = lines_of(first, **options), lines_of(second, **options)
    known = Reference(a)
    for block in align([line.shape for line in a], [line.shape for line in b]):
        if not block.same:
            known.unstable_lines.update(range(block.a_start, block.a_end))
            known.passing_shapes.update(line.shape for line in b[block.b_start : block.b_end])
            known.passing_shapes.update(line.shape for line in a[block.a_start : block.a_end])
            continue
        for i, j in zip(
            range(block.a_start, block.a_end), range(block.b_start, block.b_end), strict=True
        ):
            differing = _differing(a[i], b[j])
            if differing:
                known.unstable_tokens[i] = differing
    return known


def without_device_lines(
    known: Reference,
    text: str,
    ended: bool,
    *,
    same_device: bool = False,
    warnings: bool = True,
) -> tuple[Reference, list[tuple[str, str]]]:
    """`known` without what the original itself prints otherwise on a GPU, and those lines.

    A program that asks for a GPU rightly prints other things where there is one. `text` is what the
    original printed on the GPU; where it did not come to its end there (`ended`), what it left
    unprinted stays.
    """
    lines = lines_of(text, same_device=same_device, warnings=warnings)
    blocks = align([line.shape for line in known.lines], [line.shape for line in lines])
    found = Reference(
        known.lines,
        dict(known.unstable_tokens),
        set(known.unstable_lines),
        set(known.passing_shapes),
    )
    pairs: list[tuple[str, str]] = []
    for at, block in enumerate(blocks):
        before = known.lines[block.a_start : block.a_end]
        after = lines[block.b_start : block.b_end]
        if not block.same and (ended or at < len(blocks) - 1):
            found.unstable_lines.update(range(block.a_start, block.a_end))
            found.passing_shapes.update(line.shape for line in after)
            pairs += [
                (x.raw if x else "", y.raw if y else "") for x, y in zip_longest(before, after)
            ]
        elif block.same:
            for i, x, y in zip(range(block.a_start, block.a_end), before, after, strict=True):
                own = _differing(x, y) - known.unstable_tokens.get(i, frozenset())
                if own:
                    found.unstable_tokens[i] = own | known.unstable_tokens.get(i, frozenset())
                    pairs.append((x.raw, y.raw))
    return found, pairs


def _differing(a: Line, b: Line) -> frozenset[int]:
    """The tokens that differ in two lines of one shape."""
    pairs = enumerate(zip(a.tokens, b.tokens, strict=True))
    return frozenset(at for at, (x, y) in pairs if x.text != y.text and not x.kind.meaningless)


def compare_text(
    known: Reference,
    text: str,
    tolerance: Tolerance,
    *,
    same_device: bool = False,
    warnings: bool = True,
) -> TextComparison:
    """Compare a run's output with the original's.

    same_device and warnings must be what `known` was made with. The comparison ends at the first
    difference.
    """
    lines = lines_of(text, same_device=same_device, warnings=warnings)
    result = TextComparison()
    comparer = _Comparer(known, lines, tolerance, result)
    for block in align([line.shape for line in known.lines], [line.shape for line in lines]):
        comparer.compare(block)
        if result.difference is not None:
            break
    return result


class _Comparer:
    def __init__(
        self, known: Reference, lines: list[Line], tolerance: Tolerance, result: TextComparison
    ) -> None:
        self.known, self.lines, self.tolerance, self.result = known, lines, tolerance, result

    def compare(self, block: Block) -> None:
        if not block.same:
            self._compare_unlike(block)
            return
        for i, j in zip(
            range(block.a_start, block.a_end), range(block.b_start, block.b_end), strict=True
        ):
            if not self._compare_lines(i, j):
                return

    def _compare_lines(self, i: int, j: int) -> bool:
        if i in self.known.unstable_lines:
            return True
        before, after = self.known.lines[i], self.lines[j]
        unstable = self.known.unstable_tokens.get(i, frozenset())
        for at, (x, y) in enumerate(zip(before.tokens, after.tokens, strict=True)):
            if at not in unstable and not self._agree(x, y):
                self.result.difference = TextDifference(before.text, after.text, i + 1)
                return False
        self.result.lines += 1
        self._note_device_line(before, after)
        return True

    def _compare_unlike(self, block: Block) -> None:
        """A block whose lines have other forms: perhaps only broken at other places."""
        before = [
            i for i in range(block.a_start, block.a_end) if i not in self.known.unstable_lines
        ]
        every = list(range(block.b_start, block.b_end))
        after = [j for j in every if self.lines[j].shape not in self.known.passing_shapes]
        if not before and (not after or block.a_end - block.a_start == len(every)):
            return
        if self._compare_streams(before, after) or self._compare_streams(before, every):
            self.result.lines += len(before)
            return
        i, j = self._first_unlike(before, after)
        self.result.difference = TextDifference(
            self.known.lines[i].text if i is not None else "",
            self.lines[j].text if j is not None else "",
            (i if i is not None else block.a_start) + 1,
        )

    def _compare_streams(self, before: list[int], after: list[int]) -> bool:
        unstable = self.known.unstable_tokens
        a = [
            (token, at in unstable.get(i, ()))
            for i in before
            for at, token in enumerate(self.known.lines[i].tokens)
        ]
        b = [token for j in after for token in self.lines[j].tokens]
        if len(a) != len(b):
            return False
        return all(left_out or self._agree(x, y) for (x, left_out), y in zip(a, b, strict=True))

    def _first_unlike(
        self, before: Sequence[int], after: Sequence[int]
    ) -> tuple[int | None, int | None]:
        for i, j in zip(before, after, strict=False):
            x, y = self.known.lines[i], self.lines[j]
            if x.shape != y.shape or not all(
                self._agree(s, t) for s, t in zip(x.tokens, y.tokens, strict=True)
            ):
                return i, j
        shared = min(len(before), len(after))
        return (
            before[shared] if len(before) > shared else None,
            after[shared] if len(after) > shared else None,
        )

    def _agree(self, x: Token, y: Token) -> bool:
        if x.kind is not y.kind:
            return False
        if x.kind.meaningless or x.text == y.text:
            self.result.numbers += x.kind is Kind.NUMBER
            return True
        if self.tolerance.exact:
            return False
        if x.kind is Kind.GRADIENT:  # a copy to another device has a name of its own there
            return True
        if x.kind is not Kind.NUMBER:
            return False
        slack = (x.unit + y.unit) / 2  # either was rounded when it was printed
        if not self.tolerance.close(x.value, y.value, slack=slack):
            return False
        self.result.numbers += 1
        if x.value != y.value:
            self.result.largest_difference = max(
                self.result.largest_difference, abs(x.value - y.value)
            )
        return True

    def _note_device_line(self, before: Line, after: Line) -> None:
        if before.raw == after.raw or device_names(before.raw) == device_names(after.raw):
            return
        if len(self.result.device_lines) < _MOST_LISTED:
            self.result.device_lines.append((before.raw, after.raw))
