"""Discovery: every file once, every trouble listed, nothing stops it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from torchferry.source.discovery import discover

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def names(root: Path, *paths: Path, **options: list[str]) -> list[str]:
    found = discover([str(path) for path in paths or (root,)], **options)
    assert not found.errors, [str(error) for error in found.errors]
    return [os.path.relpath(file, root) for file in found.files]


def test_folders_are_searched_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.py", "a/b/c.py", "n.ipynb", "readme.md", "a.pyc")
    assert names(tmp_path) == ["b.py", "n.ipynb", "a/z.py", "a/b/c.py"]


@pytest.mark.parametrize(
    "folder",
    [
        ".git",
        ".hidden",
        "__pycache__",
        "venv",
        "node_modules",
        "site-packages",
        "build",
        "x.egg-info",
    ],
)
def test_folders_that_are_not_the_user_s_are_skipped(tmp_path: Path, folder: str) -> None:
    make(tmp_path, "a.py", f"{folder}/b.py", f"pkg/{folder}/c.py", ".d.py")
    assert names(tmp_path) == ["a.py"]
    assert names(tmp_path, tmp_path / folder) == [f"{folder}/b.py"]


def test_an_environment_is_known_by_its_marker(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "my-env/pyvenv.cfg", "my-env/lib/b.py")
    assert names(tmp_path) == ["a.py"]


def test_exclude(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "test_a.py", "legacy/b.py", "pkg/legacy/c.py", "pkg/d.py")
    assert names(tmp_path, exclude=["test_*"]) == [
        "a.py",
        "legacy/b.py",
        "pkg/d.py",
        "pkg/legacy/c.py",
    ]
    assert names(tmp_path, exclude=["legacy"]) == ["a.py", "test_a.py", "pkg/d.py"]
    assert names(tmp_path, exclude=["pkg/legacy"]) == [
        "a.py",
        "test_a.py",
        "legacy/b.py",
        "pkg/d.py",
    ]


def test_named_files_are_taken_whatever_their_name(tmp_path: Path) -> None:
    make(tmp_path, "script", "build")
    assert names(tmp_path, tmp_path / "script", tmp_path / "build") == ["script", "build"]


def test_a_file_is_found_once(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b/c.py")
    (tmp_path / "link.py").symlink_to("a.py")
    (tmp_path / "z").symlink_to("b")
    found = names(tmp_path, tmp_path / "a.py", tmp_path, tmp_path / "b", tmp_path / "b" / "c.py")
    assert sorted(found) == ["a.py", "b/c.py"]


def test_linked_folders_are_followed(tmp_path: Path) -> None:
    make(tmp_path, "root/a.py", "elsewhere/b.py")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "elsewhere")
    assert names(tmp_path, tmp_path / "root") == ["root/a.py", "root/link/b.py"]


def test_troubles_are_listed_and_the_rest_is_found(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "sub/b.py")
    (tmp_path / "broken.py").symlink_to("nowhere.py")
    (tmp_path / "self.py").symlink_to("self.py")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    make(tmp_path, "folder.py/c.py")
    found = discover([str(tmp_path), str(tmp_path / "missing.py"), str(tmp_path / "broken.py")])
    assert [os.path.relpath(file, tmp_path) for file in found.files] == [
        "a.py",
        "folder.py/c.py",
        "sub/b.py",
    ]
    errors = {os.path.relpath(error.path, tmp_path): error.reason for error in found.errors}
    assert errors == {
        "broken.py": "broken symbolic link: no such file or directory",
        "self.py": "broken symbolic link: too many levels of symbolic links",
        "sub/up": "symbolic link to a folder that it is in",
        "pipe.py": "neither a file nor a folder",
        "missing.py": "no such file or folder",
    }


@pytest.mark.skipif(ROOT, reason="root may read every folder")
def test_a_forbidden_folder_is_listed(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "closed/b.py")
    (tmp_path / "closed").chmod(0)
    found = discover([str(tmp_path)])
    (tmp_path / "closed").chmod(0o700)
    assert [error.reason for error in found.errors] == ["folder cannot be read: permission denied"]
    assert len(found.files) == 1


def test_standard_input_is_passed_through() -> None:
    assert discover(["-", "-"]).files == ["-"]


def test_ten_thousand_files_are_found_quickly(tmp_path: Path) -> None:
    for folder in range(100):
        (tmp_path / f"d{folder}").mkdir()
        for number in range(100):
            (tmp_path / f"d{folder}" / f"f{number}.py").touch()
    start = time.process_time()
    assert len(discover([str(tmp_path)]).files) == 10_000
    assert time.process_time() - start < 1.0


def test_a_very_deep_tree_is_walked(tmp_path: Path) -> None:
    path = tmp_path
    for _ in range(300):
        path = path / "d"
    path.mkdir(parents=True)
    make(path, "a.py")
    assert len(discover([str(tmp_path)]).files) == 1
