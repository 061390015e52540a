"""Every edit is of a kind that cannot change the program on the CPU."""

from __future__ import annotations

import pytest

from .edit_kinds import other_edits
from .fixtures import Fixture, load, migrated

CHANGING = [f for f in load() if f.changes and not f.not_yet]


@pytest.mark.parametrize("fixture", CHANGING, ids=lambda f: f.name)
def test_edits_are_of_known_kinds(fixture: Fixture) -> None:
    wanted = fixture.options.device
    if "(" in wanted:
        pytest.skip("the user's own expression")
    assert other_edits(fixture.before, migrated(fixture.before, fixture.options).after) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f(1)", "x = f(2)"),
        ("x = f(1)", "x = f(1).half()"),
        ("x = f(1)", "x = f(1, dtype=d)"),
        ("x = f(1)", "x = f(1).to(dtype=d)"),
        ("f(x)", "f(x)\ng(x)"),
        ("f(x)\ng(x)", "f(x)"),
        ("x = 'cpu'", "x = 'cuda'"),
        ("self.x = f()", "self.register_buffer('y', f(), persistent=False)"),
        ("self.x = f()", "self.register_buffer('x', f())"),
        ("x = y.type(torch.FloatTensor)", "x = z.float()"),
        ("x, y = a", "x, y = a\nx = y.to(device)"),
        ("f(a, device=b)", "f(a, device=c)"),
        ("if a:\n    f()", "if a:\n    g()"),
        ("for x in a: f(x)", "for x in a: f(x.to(device), 1)"),
    ],
)
def test_other_edits_are_found(before: str, after: str) -> None:
    assert other_edits(before, after)
