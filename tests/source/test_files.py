"""Files are read whole or refused, and replaced in one step."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from torchferry.core.errors import UnreadableSource
from torchferry.source import files
from torchferry.source.files import load, read_bytes, write_bytes

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.py", "no such file"),
        ("folder", "a folder, not a file"),
        ("link.py", "broken symbolic link"),
        ("/dev/null", "not a regular file"),
        ("a\0b", "null byte"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.py").symlink_to("nowhere")
    with pytest.raises(UnreadableSource) as caught:
        read_bytes(str(tmp_path / name))
    assert reason in caught.value.reason


@pytest.mark.skipif(ROOT, reason="root may read every file")
def test_a_forbidden_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x")
    path.chmod(0)
    with pytest.raises(UnreadableSource, match=r"cannot be read: permission denied"):
        load(str(path))


def test_mode_and_link_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "sub" / "a.py", tmp_path / "link.py"
    target.parent.mkdir()
    target.write_bytes(b"old")
    target.chmod(0o751)
    link.symlink_to("sub/a.py")
    write_bytes(str(link), b"new\r\n", expected=b"old")
    assert link.is_symlink()
    assert target.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o751
    assert sorted(os.listdir(target.parent)) == ["a.py"]


def test_a_new_file_gets_the_usual_mode(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_bytes(str(tmp_path / "a.py"), b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == 0o640


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"newer")
    with pytest.raises(UnreadableSource, match="changed since"):
        write_bytes(str(path), b"mine", expected=b"old")
    assert path.read_bytes() == b"newer"


def test_a_failed_write_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(UnreadableSource, match="cannot be written: no space left on device"):
        write_bytes(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.py"]


@pytest.mark.parametrize("path", ["missing/a.py", "file/a.py"])
def test_a_folder_that_is_none_is_named(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnreadableSource, match="cannot be written"):
        write_bytes(str(tmp_path / path), b"x")


@pytest.mark.skipif(ROOT, reason="root may write every file")
def test_a_read_only_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(UnreadableSource, match="read-only"):
        write_bytes(str(path), b"new")
