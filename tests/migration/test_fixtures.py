"""Every fixture is migrated as it says, and keeps the promises that all migrations keep."""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections import Counter

import pytest

from torchferry.migration import Migration

from .fixtures import Fixture, load, migrated

FIXTURES = load()
each = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)


def comments(text: str) -> Counter[str]:
    """The comments of a source text."""
    tokens = tokenize.generate_tokens(io.StringIO(re.sub(r"\r\n?", "\n", text)).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def check_promises(result: Migration) -> None:
    """What holds for every migration, of whatever source."""
    compile(result.after, "after", "exec", dont_inherit=True)
    again = migrated(result.after)
    assert again.after == result.after, "a second run changes nothing"
    assert not comments(result.before) - comments(result.after), "comments are kept"
    before, after = (re.split(r"\r\n|\r|\n", t) for t in (result.before, result.after))
    edited = {
        line
        for tag, _, _, start, end in difflib.SequenceMatcher(
            None, before, after, autojunk=False
        ).get_opcodes()
        if tag != "equal"
        for line in range(start + 1, end + 1)
    }
    told = set(result.edited_lines)
    for line in edited - told:
        assert any(after[line - 1].strip() in old for old in before), f"line {line} is told"
    assert all(after[line - 1] in before for line in told - edited), "what is told is edited"
    plan = result.plan
    if result.changed:
        assert plan.placed or plan.moved, "a change is in the plan"
    else:
        assert not plan.placed
        assert not plan.moved
    for item in (*plan.placed, *plan.moved, *plan.left):
        assert 1 <= item.line <= len(before)
        assert item.what
        assert item.why


@each
def test_fixture(fixture: Fixture, request: pytest.FixtureRequest) -> None:
    if fixture.not_yet:
        request.applymarker(pytest.mark.xfail(reason=fixture.not_yet, strict=True))
    result = migrated(fixture.before, fixture.options)
    assert result.after == fixture.after
    if fixture.plan is not None:
        assert tuple(plan_lines(result)) == fixture.plan


@each
def test_promises(fixture: Fixture) -> None:
    result = migrated(fixture.before, fixture.options)
    check_promises(result)
    ast.parse(fixture.after)


def plan_lines(result: Migration) -> list[str]:
    """The plan as fixtures write it."""
    return [
        f"{name} {item.line}: {item.what}"
        for name in ("placed", "moved", "left")
        for item in getattr(result.plan, name)
    ]


def test_fixtures_are_well_spread() -> None:
    assert len({f.name for f in FIXTURES}) == len(FIXTURES)
    silent = [f for f in FIXTURES if not f.changes]
    assert len(silent) >= 0.4 * len(FIXTURES), "two in five prove that nothing is changed"
    kinds = {f.kind for f in FIXTURES}
    assert {f.kind for f in silent} == kinds, "each kind proves silence"
    assert {f.kind for f in FIXTURES if f.plan is not None} == kinds, "each kind shows a plan"
