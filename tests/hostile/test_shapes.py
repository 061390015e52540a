"""Every fixture of migration in every hostile shape: no crash, the same promises, the same meaning.

Everyday runs take a sample in which each shape and each fixture has its turn;
`TORCHFERRY_TEST_STEP=1` tries all combinations (about ten thousand, five minutes).
"""

from __future__ import annotations

import importlib.util
import os

import pytest

from torchferry.migration import Migration, migrate_document
from torchferry.source.document import Document

from ..migration.fixtures import Fixture, load
from ..migration.running import printed, printed_on_gpu
from ..migration.test_fixtures import check_promises
from ..migration.test_running import without_numbers
from . import SHAPES, Shape, turns

STEP = int(os.environ.get("TORCHFERRY_TEST_STEP", "24"))
HAS_TORCH = importlib.util.find_spec("torch") is not None
FIXTURES = [fixture for fixture in load() if not fixture.not_yet]


PAIRS = [
    pytest.param(shape, fixture, id=f"{shape.name}-{fixture.name}")
    for shape, fixture in turns(FIXTURES, STEP)
]


def migrated(shape: Shape, fixture: Fixture) -> Migration | None:
    """The migration of the fixture in this shape; None where it cannot have it."""
    source = shape.apply(fixture.before)
    if source is None:
        return None
    data = source if isinstance(source, bytes) else source.encode()
    return migrate_document(Document.from_bytes(data, "program.py"), fixture.options)


@pytest.mark.parametrize(("shape", "fixture"), PAIRS)
def test_shape(shape: Shape, fixture: Fixture) -> None:
    result = migrated(shape, fixture)
    if result is None:
        return
    check_promises(result)
    if not fixture.changes:
        assert result.after == result.before, "nothing changes"
    elif not shape.harder:
        assert result.changed, "the shape hides nothing"
    if HAS_TORCH and result.changed and not fixture.not_run:
        check_meaning(result, fixture)


def check_meaning(result: Migration, fixture: Fixture) -> None:
    """The same output on the CPU; on the GPU no error, and some of the work."""
    before = printed(result.before)
    assert printed(result.after) == before
    if fixture.options.device == "auto":
        lines, account = printed_on_gpu(result.after)
        assert without_numbers(lines) == without_numbers(before)
        assert account.gpu_operators


def test_each_fixture_has_its_turn() -> None:
    assert {f.name for _, f in turns(FIXTURES, STEP)} == {
        f.name for f in FIXTURES
    }


def test_each_shape_finds_fixtures() -> None:
    for shape in SHAPES.values():
        found = [f for f in FIXTURES if shape.apply(f.before) is not None]
        assert len(found) >= 15, shape.name


def test_shapes_keep_the_meaning() -> None:
    """A shape that changed the program would prove nothing."""
    pytest.importorskip("torch")
    runnable = [f for f in FIXTURES if not f.not_run]
    for number, shape in enumerate(SHAPES.values()):
        fixture = runnable[number * 7 % len(runnable)]
        source = shape.apply(fixture.before)
        if source is not None:
            lines = printed(source)
            missing = [line for line in printed(fixture.before) if line not in lines]
            assert not missing or shape.name == "format-strings", (shape.name, fixture.name)
