"""The user's files stay as they are, whatever a program in the copy does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

_RUN = """
from torchferry.verification.child.write_guard import WriteGuard
WriteGuard({protected!r}, {writable!r}, lambda path: print("refused", path)).install()
import os, shutil
USER, COPY = {protected!r}, {writable!r}
try:
{body}
except PermissionError as error:
    print("PermissionError", error.filename)
"""


class Guarded:
    """A user's folder, its copy, and a way to run code under the guard."""

    def __init__(self, folder: Path) -> None:
        self.user, self.copy, self.other = folder / "user", folder / "copy", folder / "other"
        for one in (self.user, self.copy, self.other):
            one.mkdir()
            (one / "file").write_text("before")

    def run(self, body: str) -> str:
        code = _RUN.format(
            protected=str(self.user),
            writable=str(self.copy),
            body="\n".join("    " + line for line in dedent(body).strip().splitlines()),
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.copy,
            capture_output=True,
            text=True,
            check=True,
            env={"TMPDIR": str(self.copy), "HOME": str(self.copy.parent / "home")},
        )
        return done.stdout

    def untouched(self) -> bool:
        return all(
            [path.name for path in one.iterdir()] == ["file"]
            and (one / "file").read_text() == "before"
            for one in (self.user, self.other)
        )


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    return Guarded(tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        'open(USER + "/file", "w").write("x")',
        'open(USER + "/new", "w").write("x")',
        'open(USER + "/file", "r+").write("x")',
        'os.open(USER + "/file", os.O_WRONLY | os.O_TRUNC)',
        'os.remove(USER + "/file")',
        'os.rename(USER + "/file", COPY + "/stolen")',
        'os.replace(COPY + "/file", USER + "/file")',
        "shutil.rmtree(USER)",
        'os.truncate(USER + "/file", 0)',
        'open(USER + "/../other/file", "w").write("x")',
        'os.symlink(USER, COPY + "/link"); open(COPY + "/link/new", "w")',
    ],
)
def test_writes_to_the_user_are_refused(guarded: Guarded, body: str) -> None:
    printed = guarded.run(body)
    assert "refused" in printed
    assert "PermissionError" in printed
    assert guarded.untouched()


@pytest.mark.parametrize(
    "body",
    [
        'open("file", "w").write("x")',
        'open("new", "w").write("x"); os.rename("new", "newer"); os.remove("newer")',
        'open(USER + "/file").read(); open(COPY + "/../other/file", "rb").read()',
        'open("/dev/null", "w").write("x")',
        'os.mkdir("d"); shutil.rmtree("d")',
        'import tempfile; tempfile.TemporaryFile().write(b"x")',
    ],
)
def test_the_copy_is_free_and_reading_is(guarded: Guarded, body: str) -> None:
    assert guarded.run(body) == ""
    assert guarded.untouched()


def test_a_linked_file_is_copied_before_it_is_written(guarded: Guarded) -> None:
    (guarded.copy / "large").symlink_to(guarded.user / "file")
    guarded.run('open("large", "a").write("+")')
    assert (guarded.copy / "large").read_text() == "before+"
    assert guarded.untouched()


def test_the_state_of_applications_is_free_and_other_files_at_home_are_not(
    guarded: Guarded,
) -> None:
    home = guarded.copy.parent / "home"
    (home / ".tool").mkdir(parents=True)
    (home / ".tool" / "history").write_text("h")
    (home / "thesis.txt").write_text("t")
    assert guarded.run(f'open({str(home)!r} + "/.tool/history", "w").write("x")') == ""
    assert "refused" in guarded.run(f'open({str(home)!r} + "/thesis.txt", "w").write("x")')
    assert (home / "thesis.txt").read_text() == "t"


def test_a_link_may_be_removed(guarded: Guarded) -> None:
    (guarded.copy / "large").symlink_to(guarded.user / "file")
    assert guarded.run('os.remove("large")') == ""
    assert guarded.untouched()
