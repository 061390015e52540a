"""Odd files: a clear line each, the exit code as documented, nothing lost, the rest processed."""

from __future__ import annotations

import codecs
import json
import os
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from .calling import from_shell, torchferry
from .programs import CPU_ONLY, NOTHING_TO_DO, REFUSED

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
COMMANDS = ["migrate", *(["check"] if find_spec("torchferry.rules.engine") else [])]


def lay_out(files: dict[str, bytes]) -> None:
    for name, data in files.items():
        Path(name).write_bytes(data)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_file_gets_one_clear_line(command: str, name: str) -> None:
    data, message = REFUSED[name]
    lay_out({name: data, "good.py": NOTHING_TO_DO.encode()})
    result = torchferry(command, name, "good.py")
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1
    assert "internal error" not in result.err
    assert "1 file" in result.out
    assert "1 file not processed" in result.out
    assert Path(name).read_bytes() == data


def test_all_refused_files_together_with_write() -> None:
    lay_out({name: data for name, (data, _) in REFUSED.items()})
    Path("train.py").write_text(CPU_ONLY)
    Path("missing_link.py").symlink_to("nowhere.py")
    result = torchferry("migrate", "--write", ".", "absent.py")
    assert result.code == 2
    assert len(result.err.splitlines()) == len(REFUSED) + 2
    assert "absent.py: no such file or folder" in result.err
    assert "missing_link.py: broken symbolic link" in result.err
    assert "device" in Path("train.py").read_text()
    assert all(Path(name).read_bytes() == data for name, (data, _) in REFUSED.items())
    assert f"1 of {len(REFUSED) + 3} files changed" in result.out


def odd(text: str) -> dict[str, bytes]:
    return {
        "crlf.py": text.replace("\n", "\r\n").encode(),
        "cr.py": text.replace("\n", "\r").encode(),
        "bom.py": codecs.BOM_UTF8 + text.encode(),
        "latin1.py": b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + text.encode(),
        "cp1252.py": b"# coding: cp1252\n# \x80\n" + text.encode(),
        "nonewline.py": text.rstrip("\n").encode(),
        "formfeed.py": ("\x0c\n" + text).encode(),
        "unicode.py": ("# \u2028 \U0001f600\n" + text).encode(),
        "bomcrlf.py": codecs.BOM_UTF8 + b"\r\n" + text.replace("\n", "\r\n").encode(),
    }


@pytest.mark.parametrize("name", odd(""))
def test_odd_encodings_and_line_ends_are_kept(name: str) -> None:
    data, plain = odd(CPU_ONLY)[name], CPU_ONLY.encode()
    lay_out({name: data, "plain.py": plain})
    assert torchferry("migrate", "--write", ".").code == 0
    after = Path("plain.py").read_text()
    assert after != CPU_ONLY
    assert Path(name).read_bytes() == odd(after)[name]
    assert torchferry("migrate", "--check", name).code == 0


def test_tabs_are_kept() -> None:
    text = CPU_ONLY.replace("print", "if True:\n\tprint")
    Path("tabs.py").write_text(text)
    assert torchferry("migrate", "--write", "tabs.py").code == 0
    changed = [line for line in Path("tabs.py").read_text().split("\n") if "print" in line]
    assert changed[0].startswith("\tprint(")
    assert ".cpu()" in changed[0]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "data", [b"", b"\n", b"# nothing\n", codecs.BOM_UTF8, b"'''doc'''", b"\x0c"]
)
def test_files_without_code_are_fine(command: str, data: bytes) -> None:
    Path("a.py").write_bytes(data)
    result = torchferry(command, "a.py")
    assert (result.code, result.err) == (0, "")
    if command == "migrate":
        torchferry("migrate", "-w", "a.py")
        assert Path("a.py").read_bytes() == data


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_named_like_a_folder_and_a_folder_named_like_a_file(command: str) -> None:
    Path("build").write_text(NOTHING_TO_DO)
    Path("pkg.py").mkdir()
    Path("pkg.py/a.py").write_text(NOTHING_TO_DO)
    assert "2 files" in torchferry(command, "build", "pkg.py").out


@pytest.mark.skipif(ROOT, reason="root may read everything")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_forbidden_file(command: str) -> None:
    Path("a.py").write_text(NOTHING_TO_DO)
    Path("a.py").chmod(0)
    result = torchferry(command, ".")
    assert result.code == 2
    assert "a.py: cannot be read: permission denied" in result.err


@pytest.mark.skipif(ROOT, reason="root may write everything")
def test_a_read_only_file_is_not_overwritten() -> None:
    Path("a.py").write_text(CPU_ONLY)
    Path("a.py").chmod(0o444)
    result = torchferry("migrate", "-w", "a.py")
    assert result.code == 2
    assert "a.py: cannot be written: the file is read-only" in result.err
    assert Path("a.py").read_text() == CPU_ONLY


def test_a_deep_tree_that_parses_is_processed_or_said() -> None:
    Path("sum.py").write_text(
        "import torch\nx = torch.ones(1) + " + " + ".join(["1"] * 3000) + "\n"
    )
    Path("good.py").write_text(CPU_ONLY)
    result = torchferry("migrate", "--check", ".")
    assert "internal error" not in result.err
    assert "good.py: would change" in result.out


def test_ten_thousand_files() -> None:
    for folder in range(100):
        Path(f"d{folder}").mkdir()
        for number in range(100):
            Path(f"d{folder}/f{number}.py").write_text(NOTHING_TO_DO)
    Path("d50/broken.py").write_text("(")
    start = time.process_time()
    result = torchferry("migrate", ".")
    assert result.code == 2
    assert "0 of 10001 files would change; 1 file not processed" in result.out
    assert time.process_time() - start < 20


def test_a_name_that_is_no_utf_8_is_shown() -> None:
    Path(os.fsdecode(b"caf\xe9.py")).write_bytes(b"(")
    done = from_shell("migrate", ".")
    assert done.returncode == 2
    assert b"\\udce9.py:1: syntax error" in done.stderr


def test_a_pipe_is_read() -> None:
    read, write = os.pipe()
    os.write(write, CPU_ONLY.encode())
    os.close(write)
    result = torchferry("migrate", "--check", f"/dev/fd/{read}")
    os.close(read)
    assert result.code == 1


def test_json_lists_what_was_not_processed() -> None:
    lay_out({name: data for name, (data, _) in REFUSED.items()})
    for command in COMMANDS:
        result = torchferry(command, ".", "--format", "json")
        listed = {error["path"] for error in json.loads(result.out)["errors"]}
        assert listed == set(REFUSED)
