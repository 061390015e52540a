"""Copies of the user's folder: complete, fresh, and apart from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchferry.core.errors import UsageError
from torchferry.verification import scratch as scratch_module
from torchferry.verification.scratch import Scratch, choose_root, survey


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "data" / "empty").mkdir(parents=True)
    (folder / "sub").mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "sub" / "train.py").write_text("print(1)\n")
    (folder / "data" / "points.csv").write_text("1,2\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "index").write_text("x")
    (folder / "env" / "lib").mkdir(parents=True)
    (folder / "env" / "pyvenv.cfg").write_text("")
    return folder


@pytest.fixture
def copy(project: Path) -> Iterator[Scratch]:
    made = Scratch(project, project / "sub")
    yield made
    made.close()


def test_the_project_around_the_script_is_the_root(project: Path) -> None:
    script = project / "sub" / "train.py"
    assert choose_root(script, project / "sub") == project
    assert choose_root(script, project / "sub", project / "sub") == project / "sub"
    with pytest.raises(UsageError, match="not in the folder"):
        choose_root(script, project, project / "data")


def test_without_a_project_the_folder_of_script_and_cwd_is_the_root(tmp_path: Path) -> None:
    script = tmp_path / "a" / "b" / "train.py"
    script.parent.mkdir(parents=True)
    script.write_text("")
    assert choose_root(script, tmp_path / "a") == tmp_path / "a"
    assert choose_root(script, tmp_path / "a" / "b") == tmp_path / "a" / "b"


def test_a_folder_that_is_too_large_gives_way_to_a_smaller(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_module, "MOST_FILES", 2)
    assert survey(project).too_much
    script = project / "sub" / "train.py"
    assert choose_root(script, project) == project / "sub"
    (project / "sub" / "a").write_text("")
    (project / "sub" / "b").write_text("")
    with pytest.raises(UsageError, match="--root"):
        choose_root(script, project)


def test_a_copy_holds_the_program_and_its_data_only(project: Path, copy: Scratch) -> None:
    copy.fresh_copy({})
    inner = copy.inner(project)
    assert (inner / "data" / "points.csv").read_text() == "1,2\n"
    assert (inner / "data" / "empty").is_dir()
    assert not (inner / ".git").exists()
    assert not (inner / "env").exists()
    assert copy.new_files() == ()


def test_each_copy_is_fresh_and_at_the_same_place(project: Path, copy: Scratch) -> None:
    copy.fresh_copy({})
    first = copy.inner(project)
    (first / "data" / "points.csv").write_text("changed")
    (first / "made").mkdir()
    (first / "made" / "model.pt").write_text("m")
    assert copy.new_files() == (
        os.path.join("data", "points.csv"),
        os.path.join("made", "model.pt"),
    )
    copy.fresh_copy({})
    assert copy.inner(project) == first
    assert (first / "data" / "points.csv").read_text() == "1,2\n"
    assert not (first / "made").exists()
    assert (project / "data" / "points.csv").read_text() == "1,2\n"


def test_changed_files_stand_in_the_copy_only(project: Path, copy: Scratch) -> None:
    script = project / "sub" / "train.py"
    copy.fresh_copy({script: "print(2)\n"})
    assert copy.inner(script).read_text() == "print(2)\n"
    assert script.read_text() == "print(1)\n"
    assert copy.new_files() == ()


def test_links_lead_into_the_copy_and_never_back(
    project: Path, copy: Scratch, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("o")
    (project / "inside").symlink_to(project / "data" / "points.csv")
    (project / "relative").symlink_to(Path("data") / "points.csv")
    (project / "folder").symlink_to(project / "data")
    (project / "outside").symlink_to(outside)
    copy.fresh_copy({})
    inner = copy.inner(project)
    for name in ("inside", "relative"):
        (inner / name).write_text("changed")
    (inner / "folder" / "new").write_text("n")
    assert (project / "data" / "points.csv").read_text() == "1,2\n"
    assert not (project / "data" / "new").exists()
    assert (inner / "outside").read_text() == "o"


def test_large_files_are_linked(
    project: Path, copy: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_module, "LINKED_FROM", 3)
    copy.fresh_copy({})
    assert (copy.inner(project) / "data" / "points.csv").is_symlink()


def test_paths_are_the_users_in_what_is_shown(project: Path, copy: Scratch) -> None:
    copy.fresh_copy({})
    inner = copy.inner(project / "sub" / "train.py")
    assert copy.outer_text(f"File {inner}") == f"File {project / 'sub' / 'train.py'}"
    paths = os.pathsep.join([str(project / "sub"), "/elsewhere", "relative"])
    inside = str(copy.inner(project / "sub"))
    assert copy.inner_path_list(paths).split(os.pathsep) == [inside, "/elsewhere", "relative"]


def test_closing_removes_everything(project: Path) -> None:
    made = Scratch(project, project)
    made.fresh_copy({})
    made.results("original")
    made.close()
    assert not made.folder.exists()
