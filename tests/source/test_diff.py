"""Diffs are what `patch` needs to turn one text into the other, byte for byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchferry.source.diff import unified_diff


def test_equal_texts_have_no_diff() -> None:
    assert unified_diff("a\n", "a\n", "p.py") == ""


def test_missing_final_newlines_are_said() -> None:
    assert unified_diff("a\nb", "a\nc\n", "p.py") == (
        "--- p.py\n+++ p.py\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )
    assert unified_diff("a", "b", "p.py") == (
        "--- p.py\n+++ p.py\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n"
        "+b\n\\ No newline at end of file\n"
    )


def test_only_line_feeds_end_lines() -> None:
    diff = unified_diff("a\x0cb\u2028c\r\nd\r\n", "a\x0cb\u2028c\r\ne\r\n", "p.py")
    assert diff == "--- p.py\n+++ p.py\n@@ -1,2 +1,2 @@\n a\x0cb\u2028c\r\n-d\r\n+e\r\n"


LINES = st.lists(st.sampled_from(["a\n", "b\r\n", "c\r", "\x0c\n", "d\n", "\n"]), max_size=8)


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=LINES, after=LINES, ends=st.booleans())
def test_patch_takes_them(tmp_path: Path, before: list[str], after: list[str], ends: bool) -> None:
    old, new = "".join(before), "".join(after) + ("" if ends else "z")
    if not old or old == new:
        return
    path = tmp_path / "p.py"
    path.write_bytes(old.encode())
    diff = unified_diff(old, new, "p.py").encode()
    subprocess.run(["patch", "--binary", "-s", str(path)], input=diff, check=True)
    assert (path.read_bytes() if path.exists() else b"") == new.encode()
