"""The trail undoes a branch completely and tells what it had changed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from torchferry.flow.state import MISSING, Trail

WRITES = st.lists(st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.integers(0, 4)))


def test_without_a_branch_nothing_is_recorded() -> None:
    trail = Trail()
    slots: dict[Any, Any] = {}
    trail.set(slots, "x", 1)
    assert slots == {"x": 1}
    assert not trail.log


@given(WRITES, WRITES, WRITES)
def test_close_undoes_and_tells(
    before: list[tuple[int, str, int]],
    outer: list[tuple[int, str, int]],
    inner: list[tuple[int, str, int]],
) -> None:
    trail = Trail()
    states: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})

    def write(writes: list[tuple[int, str, int]]) -> None:
        for which, key, value in writes:
            trail.set(states[which], key, value)

    write(before)
    at_start = [dict(s) for s in states]
    outer_mark = trail.open()
    write(outer)
    between = [dict(s) for s in states]
    inner_mark = trail.open()
    write(inner)
    at_end = [dict(s) for s in states]
    changes = trail.close(inner_mark)
    assert [dict(s) for s in states] == between
    for (_, key), (slots, new) in changes.items():
        which = 0 if slots is states[0] else 1
        assert at_end[which].get(key, MISSING) == new
    assert {(s is states[1], k) for (_, k), (s, _) in changes.items()} == {
        (bool(which), key) for which, key, _ in inner
    }
    trail.close(outer_mark)
    assert [dict(s) for s in states] == at_start
    assert not trail.log
    assert not trail.marks
