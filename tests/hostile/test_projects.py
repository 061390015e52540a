"""Fixtures as two files: what the program defines stands in a module that the script imports."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from torchferry.migration import Migration, migrate_documents
from torchferry.source.files import load as read

from ..migration.fixtures import Fixture, load
from ..migration.running import printed, printed_on_gpu
from ..migration.test_fixtures import comments
from ..migration.test_running import without_numbers

DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def parted(source: str, style: str) -> tuple[str, str] | None:
    """Script and module; None where nothing is defined, or definitions need the script's names."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    defined = [s for s in tree.body if isinstance(s, DEFINITIONS)]
    names = {s.name for s in defined}
    bound = {
        n.id
        for s in tree.body
        if not isinstance(s, DEFINITIONS)
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    used = {n.id for s in defined for n in ast.walk(s) if isinstance(n, ast.Name)}
    if not defined or used & bound or names & {"torch"}:
        return None
    imports = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    head = "".join("".join(lines[s.lineno - 1 : s.end_lineno]) for s in imports)
    module = head + "".join("\n\n" + "".join(lines[s.lineno - 1 : s.end_lineno]) for s in defined)
    script = "".join(
        "".join(lines[s.lineno - 1 : s.end_lineno])
        for s in tree.body
        if not isinstance(s, (*DEFINITIONS, ast.Import, ast.ImportFrom))
    )
    if style == "from":
        link = f"from torchferry_test_parts import {', '.join(sorted(names))}\n"
    else:
        link = "import torchferry_test_parts\n"
        link += "".join(f"{n} = torchferry_test_parts.{n}\n" for n in sorted(names))
    return head + link + script, module


CASES = [
    pytest.param(fixture, style, id=f"{fixture.name}-{style}")
    for fixture in load()
    if not (fixture.not_yet or fixture.not_run)
    for style in ("from", "import")
    if parted(fixture.before, style) is not None
]


@pytest.mark.parametrize(("fixture", "style"), CASES)
def test_project(
    fixture: Fixture, style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pair = parted(fixture.before, style)
    assert pair is not None
    paths = [tmp_path / "script.py", tmp_path / "torchferry_test_parts.py"]
    monkeypatch.syspath_prepend(str(tmp_path))
    write(paths, list(pair))
    before = run(paths[0])
    results = migrate(paths, fixture)
    write(paths, [result.after for result in results])
    assert [r.after for r in migrate(paths, fixture)] == [r.after for r in results]
    for result in results:
        compile(result.after, "after", "exec", dont_inherit=True)
        assert not comments(result.before) - comments(result.after)
    assert any(result.changed for result in results) == fixture.changes
    assert run(paths[0]) == before
    if fixture.changes and fixture.options.device == "auto":
        sys.modules.pop("torchferry_test_parts", None)
        lines, account = printed_on_gpu(paths[0].read_text())
        assert without_numbers(lines) == without_numbers(before)
        assert account.gpu_operators


def write(paths: list[Path], texts: list[str]) -> None:
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)


def migrate(paths: list[Path], fixture: Fixture) -> list[Migration]:
    return migrate_documents([read(str(path)) for path in paths], fixture.options)


def run(script: Path) -> list[str]:
    sys.modules.pop("torchferry_test_parts", None)
    sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
    try:
        return printed(script.read_text())
    finally:
        sys.dont_write_bytecode = kept
        sys.modules.pop("torchferry_test_parts", None)
