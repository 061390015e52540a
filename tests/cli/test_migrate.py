"""`torchferry migrate`: what is shown, what is written where, and the exit codes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from .calling import torchferry
from .programs import CPU_ONLY, NOTHING_TO_DO


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(CPU_ONLY)
    return path


def migrated(text: str = CPU_ONLY) -> str:
    result = torchferry("migrate", "-", "--output", "-", stdin=text.encode())
    assert result.code == 0, result.err
    return result.out


def test_by_default_a_diff_and_a_plan_are_shown_and_nothing_is_written(program: Path) -> None:
    result = torchferry("migrate", "train.py")
    assert result.code == 0
    assert result.out.startswith("--- train.py\n+++ train.py\n@@ ")
    for part in ("placed on the device:", "moved:", "1 of 1 file would change"):
        assert part in result.out
    assert result.err == ""
    assert program.read_text() == CPU_ONLY


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
def test_the_output_is_a_patch(program: Path) -> None:
    result = torchferry("migrate", "train.py")
    subprocess.run(["patch", "-s", "-p0"], input=result.raw, check=True)
    assert program.read_text() == migrated()


def test_write_changes_the_file_and_a_second_run_nothing(program: Path) -> None:
    program.chmod(0o755)
    result = torchferry("migrate", "--write", "train.py")
    assert result.code == 0
    assert program.read_text() == migrated()
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert "@@" not in result.out
    assert ", written\n" in result.out
    assert "1 of 1 file changed" in result.out
    before = program.stat()
    assert "0 of 1 file changed" in torchferry("migrate", "--write", "train.py").out
    assert program.stat().st_mtime_ns == before.st_mtime_ns
    assert torchferry("migrate", "--check", "train.py").code == 0


def test_check_exits_1_when_something_would_change(program: Path) -> None:
    Path("other.py").write_text(NOTHING_TO_DO)
    result = torchferry("migrate", "--check", "train.py", "other.py")
    assert result.code == 1
    assert result.out == "train.py: would change\n1 of 2 files would change\n"
    assert torchferry("migrate", "--check", "other.py").code == 0
    assert program.read_text() == CPU_ONLY


def test_standard_input_is_shown_and_written_to_standard_output() -> None:
    shown = torchferry("migrate", "-", stdin=CPU_ONLY.encode())
    assert shown.out.startswith("--- <stdin>\n")
    result = torchferry("migrate", "-", "-o", "-", stdin=CPU_ONLY.encode())
    assert result.out == migrated()
    assert "placed on the device" in result.err
    quiet = torchferry("migrate", "-", "-o", "-", "-q", stdin=CPU_ONLY.encode())
    assert (quiet.out, quiet.err) == (result.out, "")


def test_standard_output_gets_the_bytes_of_the_file() -> None:
    data = ("# coding: latin-1\r\n# caf\xe9\r\n" + CPU_ONLY.replace("\n", "\r\n")).encode("latin-1")
    result = torchferry("migrate", "-", "-o", "-", stdin=data)
    assert result.code == 0
    assert b"# caf\xe9\r\n" in result.raw
    assert result.raw.count(b"\n") == result.raw.count(b"\r\n")


def test_output_to_a_file(program: Path) -> None:
    assert torchferry("migrate", "train.py", "-o", "new/out.py").code == 0
    assert Path("new/out.py").read_text() == migrated()
    assert program.read_text() == CPU_ONLY


def test_output_to_a_folder_keeps_the_tree(program: Path) -> None:
    for name, text in (("p/a.py", CPU_ONLY), ("p/q/b.py", NOTHING_TO_DO)):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    result = torchferry("migrate", "p", "train.py", "--output", "out")
    assert result.code == 0, result.err
    assert Path("out/a.py").read_text() == migrated()
    assert Path("out/q/b.py").read_text() == NOTHING_TO_DO
    assert Path("out/train.py").read_text() == migrated()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["train.py", "--write", "--check"], "exclude each other"),
        (["train.py", "--write", "-o", "x"], "exclude each other"),
        (["-", "--write"], "standard input cannot be written"),
        (["train.py", "-", "-o", "out"], "standard input needs a file"),
        (["train.py", "train.py", "-o", "-"], "takes one file"),
        (["sub", "-o", "train.py"], "is a file, but more than one"),
        (["sub/a.py", "other/a.py", "-o", "out"], "would both be written to"),
        (["train.py", "--device", "not valid ("], "neither one of"),
        (["train.py", "--device", ""], "neither one of"),
        (["train.py", "--format", "xml"], "'xml' is not one of"),
        (["--frobnicate"], "No such option"),
        ([], "Missing argument"),
    ],
)
def test_wrong_use_exits_2_and_writes_nothing(program: Path, args: list[str], message: str) -> None:
    for name in ("sub/a.py", "other/a.py"):
        Path(name).parent.mkdir()
        Path(name).write_text(CPU_ONLY)
    result = torchferry("migrate", *args, stdin=b"")
    assert result.code == 2
    assert message in result.err.replace("\n", " ")
    assert not Path("out").exists()
    assert program.read_text() == CPU_ONLY


def test_json_holds_everything(program: Path) -> None:
    Path("bad.py").write_bytes(b"x = (\n")
    Path("other.py").write_text(NOTHING_TO_DO)
    result = torchferry("migrate", "--format", "json", "train.py", "bad.py", "other.py")
    assert result.code == 2
    content = json.loads(result.out)
    assert content["version"] == 1
    first, second = content["files"]
    assert first["path"] == "train.py"
    assert first["changed"]
    assert first["after"] == migrated()
    assert first["written"] is None
    assert first["plan"]["placed"]
    assert set(first["plan"]["moved"][0]) == {"line", "what", "why"}
    text = CPU_ONLY
    edits = {(e["start"], e["end"], e["text"]) for fix in first["fixes"] for e in fix["edits"]}
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    assert text == first["after"]
    lines = first["after"].split("\n")
    assert all(lines[line - 1] not in CPU_ONLY.split("\n") for line in first["edited_lines"])
    assert not second["changed"]
    assert second["after"] is None
    assert content["errors"] == [
        {"path": "bad.py", "line": 1, "column": 5, "reason": content["errors"][0]["reason"]}
    ]


def test_json_after_writing_names_the_files(program: Path) -> None:
    content = json.loads(torchferry("migrate", "-w", "--format", "json", "train.py").out)
    assert content["files"][0]["written"] == "train.py"


def test_quiet_prints_nothing(program: Path) -> None:
    result = torchferry("migrate", "-q", "train.py")
    assert (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("cuda", "cuda"),
        ("mps", "mps"),
        ("xpu", "xpu"),
        ("accelerator", "accelerator"),
        ("cuda:1", "cuda:1"),
    ],
)
def test_device(program: Path, device: str, expected: str) -> None:
    result = torchferry("migrate", "train.py", "--device", device)
    assert result.code == 0
    assert any(line.startswith("+") and expected in line for line in result.out.splitlines())


def test_keep_rng(program: Path) -> None:
    program.write_text(CPU_ONLY.replace("torch.ones", "torch.randn"))
    usual = torchferry("migrate", "train.py").out
    assert torchferry("migrate", "train.py", "--keep-rng").out != usual


def test_exclude(program: Path) -> None:
    Path("old").mkdir()
    Path("old/a.py").write_text(CPU_ONLY)
    assert "1 of 1 file would" in torchferry("migrate", ".", "--exclude", "old").out


def test_colours_only_when_asked_for(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in torchferry("migrate", "train.py").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    coloured = torchferry("migrate", "train.py").out
    assert "\x1b[32m+device" in coloured.replace("\x1b[1;", "\x1b[")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in torchferry("migrate", "train.py").out


def test_a_folder_without_python_is_said(tmp_path: Path) -> None:
    result = torchferry("migrate", ".")
    assert (result.code, result.out) == (0, "no Python files found\n")


def test_the_current_folder_gives_short_names(program: Path) -> None:
    assert "--- train.py\n" in torchferry("migrate", ".").out


def test_a_link_is_written_through(program: Path) -> None:
    os.symlink("train.py", "link.py")
    assert torchferry("migrate", "-w", "link.py").code == 0
    assert os.path.islink("link.py")
    assert program.read_text() == migrated()


def notebook_of(*cells: str) -> bytes:
    content = {
        "cells": [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1).encode()


def test_a_notebook_is_migrated_in_its_cells() -> None:
    head, tail = CPU_ONLY.split("\n\n")
    data = notebook_of("%matplotlib inline\n" + head, "%%bash\nls", tail)
    Path("n.ipynb").write_bytes(data)
    shown = torchferry("migrate", ".")
    assert shown.code == 0, shown.err
    assert " %matplotlib inline\n" in shown.out
    assert "cell 2" in shown.out
    content = json.loads(torchferry("migrate", "n.ipynb", "--format", "json").out)
    assert torchferry("migrate", "-w", "n.ipynb").code == 0
    written = Path("n.ipynb").read_bytes()
    assert content["files"][0]["after"] == written.decode()
    cells = [cell["source"] for cell in json.loads(written)["cells"]]
    assert cells[0].startswith("%matplotlib inline\n" + head)
    assert "device = " in cells[0]
    assert cells[1] == "%%bash\nls"
    assert ".cpu()" in cells[2]
    assert torchferry("migrate", "--check", "n.ipynb").code == 0
