"""Fixtures are run: the same program on the CPU, and a program that works on a GPU."""

from __future__ import annotations

import re

import pytest

from .fixtures import Fixture, load
from .running import printed, printed_on_gpu

pytest.importorskip("torch")
pytest.importorskip("numpy")

RUNNABLE = [f for f in load() if not f.not_run]
each = pytest.mark.parametrize("fixture", RUNNABLE, ids=lambda f: f.name)


def without_numbers(lines: list[str]) -> list[str]:
    """The GPU draws other random numbers; all else is the same."""
    return [re.sub(r"-?\d+(\.\d*)?(e-?\d+)?", "#", line) for line in lines]


@each
def test_runs(fixture: Fixture) -> None:
    before = printed(fixture.before)
    assert printed(fixture.after) == before, "the same numbers on the CPU"
    lines, account = printed_on_gpu(fixture.after)
    assert without_numbers(lines) == without_numbers(before)
    if fixture.changes and fixture.options.device == "auto":
        assert account.gpu_operators, "some of the work is on the GPU"
