"""The command line as a whole: finding commands, and never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from torchferry import __version__, cli, migration

from .calling import from_shell, torchferry
from .programs import CPU_ONLY


def test_help_lists_every_command() -> None:
    result = torchferry("--help")
    assert result.code == 0
    folder = Path(cli.__path__[0])
    names = {p.stem for p in folder.glob("[a-z]*.py")} - {"main"}
    assert {"check", "migrate", "run", "verify"} <= names
    for name in names:
        assert f"  {name}" in result.out
        assert torchferry(name, "--help").code == 0


def test_version() -> None:
    assert torchferry("--version").out == f"torchferry, version {__version__}\n"


@pytest.mark.parametrize(
    "args", [["fly"], ["--fly"], ["main"], ["_troubles"], ["migrate/../check"]]
)
def test_unknown_commands_are_wrong_use(args: list[str]) -> None:
    result = torchferry(*args)
    assert result.code == 2
    assert "No such" in result.err


def test_a_bug_in_the_engine_is_reported_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(doc, options):  # type: ignore[no-untyped-def]
        if doc.path == "bad.py":
            raise KeyError("weights")
        return original(doc, options)

    original = migration.migrate_document
    monkeypatch.setattr(migration, "migrate_document", broken)
    Path("bad.py").write_text(CPU_ONLY)
    Path("good.py").write_text(CPU_ONLY)
    result = torchferry("migrate", "--write", ".")
    assert result.code == 2
    assert "bad.py: internal error (KeyError: 'weights', " in result.err
    assert "bug in torchferry" in result.err
    assert "Traceback" not in result.err
    assert Path("bad.py").read_text() == CPU_ONLY
    assert Path("good.py").read_text() != CPU_ONLY
    monkeypatch.setenv("TORCHFERRY_TRACEBACK", "1")
    assert "Traceback" in torchferry("migrate", "bad.py").err


def test_a_closed_pipe_is_no_error() -> None:
    for number in range(300):
        Path(f"f{number}.py").write_text(CPU_ONLY)
    command = f"{sys.executable} -m torchferry migrate . | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    assert done.stdout.startswith(b"--- f0.py")


def test_an_interrupt_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(migration, "migrate_document", interrupted)
    Path("a.py").write_text(CPU_ONLY)
    result = torchferry("migrate", "a.py")
    assert (result.code, result.err.strip()) == (130, "torchferry: interrupted")


def test_as_a_module_in_a_process() -> None:
    Path("a.py").write_text(CPU_ONLY)
    done = from_shell("migrate", "a.py")
    assert done.returncode == 0
    assert done.stdout.startswith(b"--- a.py\n")
