"""Blocks cover both sequences in order, and equal blocks are equal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torchferry.verification.alignment import align

words = st.lists(st.sampled_from("abc"), max_size=12)


@given(words, words)
def test_blocks_cover_both_sides(a: list[str], b: list[str]) -> None:
    at_a = at_b = 0
    for block in align(a, b):
        assert (block.a_start, block.b_start) == (at_a, at_b)
        at_a, at_b = block.a_end, block.b_end
        if block.same:
            assert a[block.a_start : block.a_end] == b[block.b_start : block.b_end]
    assert (at_a, at_b) == (len(a), len(b))


def test_what_is_added_is_a_block_of_its_own() -> None:
    kinds = [(block.same, block.a_end - block.a_start) for block in align("ab", "axb")]
    assert kinds == [(True, 1), (False, 0), (True, 1)]
