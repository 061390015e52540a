"""Suppress comments cover what they stand beside, and unused ones are known."""

from __future__ import annotations

import pytest

from torchferry.source.document import Document
from torchferry.source.suppress import Suppressions


def read(text: str) -> Suppressions:
    return Suppressions(Document.from_text(text, "p.py"))


@pytest.mark.parametrize(
    ("text", "line", "code", "silent"),
    [
        ("x  # torchferry: ignore\n", 1, "DEV101", True),
        ("x  #torchferry:ignore[dev101]\n", 1, "DEV101", True),
        ("x  # torchferry: ignore[DEV102, DEV101]\n", 1, "DEV101", True),
        ("x  # torchferry: ignore[DEV102]\n", 1, "DEV101", False),
        ("x  # noqa  # torchferry: ignore\n", 1, "DEV101", True),
        ("x\ny  # torchferry: ignore\n", 1, "DEV101", False),
        ("# torchferry: ignore\n# more\n\nx\n", 4, "DEV101", True),
        ("# torchferry: ignore\nx\ny\n", 3, "DEV101", False),
        ("x = '# torchferry: ignore'\n", 1, "DEV101", False),
        ("x\n# torchferry: ignore-file[DEV101]\n", 1, "DEV101", True),
        ("x\n# torchferry: ignore-file[DEV101]\n", 1, "DEV102", False),
        ("x  # torchferry: ignore-file\n", 1, "DEV101", False),
    ],
)
def test_silence(text: str, line: int, code: str, silent: bool) -> None:
    assert read(text).silence(code, line, line) is silent


def test_a_comment_on_any_line_of_the_finding_counts() -> None:
    assert read("f(\n    a,  # torchferry: ignore\n)\n").silence("DEV101", 1, 3)


def test_unused_comments_and_codes_are_known() -> None:
    found = read("x  # torchferry: ignore[DEV101, DEV102]\ny  # torchferry: ignore\n")
    assert [sorted(item.unused) for item in found.unused()] == [["DEV101", "DEV102"], ["*"]]
    found.silence("DEV101", 1, 1)
    found.silence("DEV103", 2, 2)
    assert [sorted(item.unused) for item in found.unused()] == [["DEV102"]]
