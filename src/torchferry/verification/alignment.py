"""Which parts of two sequences belong together."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

#: above this many items difflib's time, quadratic where items repeat, is no longer spent
_EXACT_LIMIT = 2_000


class Block(NamedTuple):
    """`a[a_start:a_end]` stands where `b[b_start:b_end]` stands; `same` if they are equal."""

    same: bool
    a_start: int
    a_end: int
    b_start: int
    b_end: int


def align(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """Cut two sequences into blocks that are equal and blocks that are not, in order."""
    if a == b:
        return [Block(True, 0, len(a), 0, len(b))] if a else []
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    blocks = [Block(True, 0, head, 0, head)] if head else []
    blocks += _middle(a, b, head, len(a) - tail, len(b) - tail)
    if tail:
        blocks.append(Block(True, len(a) - tail, len(a), len(b) - tail, len(b)))
    return blocks


def _middle(a: Sequence[str], b: Sequence[str], start: int, a_end: int, b_end: int) -> list[Block]:
    a_part, b_part = a[start:a_end], b[start:b_end]
    if not a_part or not b_part:
        return [Block(False, start, a_end, start, b_end)]
    if max(len(a_part), len(b_part)) > _EXACT_LIMIT:
        return [Block(False, start, a_end, start, b_end)]
    matcher = SequenceMatcher(None, a_part, b_part, autojunk=False)
    return [
        Block(tag == "equal", start + a1, start + a2, start + b1, start + b2)
        for tag, a1, a2, b1, b2 in matcher.get_opcodes()
    ]
