"""Running the rules over snippets, and reading what a snippet expects."""

from __future__ import annotations

import re

from torchferry.core.finding import Finding
from torchferry.rules.engine import check_document
from torchferry.rules.options import CheckOptions
from torchferry.source.document import Document

_EXPECT = re.compile(r"#\s*expect:\s*(DEV\d+(?:\s*,\s*DEV\d+)*)")


def check(
    text: str, options: CheckOptions | None = None, path: str = "snippet.py"
) -> list[Finding]:
    """The findings of a program text."""
    return check_document(Document.from_text(text, path), options)


def expected(text: str) -> set[tuple[int, str]]:
    """(line, code) of each `# expect: DEV101` comment."""
    found = set()
    for number, line in enumerate(text.split("\n"), 1):
        match = _EXPECT.search(line)
        if match:
            found |= {(number, code.strip()) for code in match[1].split(",")}
    return found


def places(findings: list[Finding]) -> set[tuple[int, str]]:
    """(line, code) of findings."""
    return {(finding.location.line, finding.code) for finding in findings}
