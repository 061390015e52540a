"""The public functions take text, bytes, paths and documents."""

from __future__ import annotations

import doctest
import inspect
from importlib.util import find_spec
from pathlib import Path

import pytest

import torchferry
from torchferry import api
from torchferry.core.errors import UnparsableSource, UnreadableSource
from torchferry.source.document import Document

from .cli.programs import CPU_ONLY


def test_migrate_takes_every_kind_of_source(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(CPU_ONLY)
    sources = [CPU_ONLY, CPU_ONLY.encode(), path, str(path), Document.from_text(CPU_ONLY, "a.py")]
    results = [torchferry.migrate(source) for source in sources]
    assert {result.after for result in results} == {results[0].after}
    assert results[0].changed
    assert path.read_text() == CPU_ONLY
    assert [result.path for result in results[:3]] == ["<string>", "<bytes>", str(path)]


def test_migrate_takes_a_device() -> None:
    assert 'torch.device("mps"' in torchferry.migrate(CPU_ONLY, device="mps").after


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("print 'a'\n", UnparsableSource),
        (b"\0", UnreadableSource),
        ("no such file", UnreadableSource),
        (Path("."), UnreadableSource),
    ],
)
def test_errors_are_torchferry_s_own(source: str | bytes | Path, error: type[Exception]) -> None:
    with pytest.raises(error):
        torchferry.migrate(source)
    if find_spec("torchferry.rules.engine"):
        with pytest.raises(error):
            torchferry.check(source)


def test_text_without_a_line_break_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(CPU_ONLY)
    assert torchferry.migrate("a.py").changed
    assert not torchferry.migrate("").changed


def test_public_functions_have_annotations_and_docs() -> None:
    for name in api.__all__:
        function = getattr(torchferry, name)
        assert inspect.getdoc(function)
        assert inspect.signature(function).return_annotation is not inspect.Signature.empty


def test_examples_of_the_documentation_hold() -> None:
    assert doctest.testmod(api).failed == 0
    assert doctest.testmod(api).attempted
