"""Which lines of the migrated text count as edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchferry.core.errors import UnreadableSource
from torchferry.verification.rewrite import edited_lines, rewrite_of


def test_changed_and_added_lines_are_edited() -> None:
    assert edited_lines(b"a\nb\nc\n", b"a\nB\nc\nd\n") == (2, 4)


def test_the_line_after_removed_ones_stands_for_them() -> None:
    assert edited_lines(b"a\nb\nc\n", b"a\nc\n") == (2,)
    assert edited_lines(b"a\nb\n", b"a\n") == (1,)


def test_an_unchanged_file_is_no_rewrite(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"a = 1\n")
    assert not rewrite_of({path: b"a = 1\n"}).changed
    assert rewrite_of({path: b"a = 1\n"}).files == {}
    assert rewrite_of({path: b"a = 2\n"}).changed


def test_a_change_of_line_ends_alone_is_written_though_no_line_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"a = 1\n")
    rewrite = rewrite_of({path: b"a = 1\r\n"})
    assert rewrite.files == {path: b"a = 1\r\n"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match="nope"):
        rewrite_of({tmp_path / "nope.py": b""})
