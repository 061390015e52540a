"""Suppress comments: `# torchferry: ignore` and `# torchferry: ignore[DEV101, DEV203]`.

At the end of a line the comment covers what is found on that line; alone on its line it covers
the next line of code. `# torchferry: ignore-file`, alone on a line, covers the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..core.span import Span
from .document import Document
from .lex import comments, skip_trivia

_COMMENT = re.compile(
    r"#\s*torchferry:\s*(?P<what>ignore-file|ignore)\s*(?:\[(?P<codes>[^\]]*)\])?", re.IGNORECASE
)


@dataclass(slots=True)
class Suppression:
    """One comment. `codes` is empty when it silences every rule."""

    span: Span
    line: int  #: the line of code that it covers; 0 for the whole file
    codes: frozenset[str]
    used: set[str] = field(default_factory=set)

    @property
    def unused(self) -> frozenset[str]:
        """Codes that silenced nothing; {"*"} for a comment without codes that did not."""
        if not self.codes:
            return frozenset() if self.used else frozenset("*")
        return self.codes - self.used

    def covers(self, code: str, first_line: int, last_line: int) -> bool:
        """Whether the comment silences a finding on these lines."""
        if self.codes and code.upper() not in self.codes:
            return False
        return self.line == 0 or first_line <= self.line <= last_line


class Suppressions:
    """All suppress comments of a document; remembers which of them were needed."""

    def __init__(self, doc: Document) -> None:
        self.comments = list(_read(doc)) if "torchferry" in doc.text.lower() else []

    def silence(self, code: str, first_line: int, last_line: int) -> bool:
        """Whether a finding is silenced; the comments that do it count as used."""
        covering = [item for item in self.comments if item.covers(code, first_line, last_line)]
        for item in covering:
            item.used.add(code.upper())
        return bool(covering)

    def unused(self) -> list[Suppression]:
        """Comments, or codes in them, that silenced nothing."""
        return [item for item in self.comments if item.unused]


def _read(doc: Document) -> Iterator[Suppression]:
    for _, start, end in comments(doc.text):
        found = _COMMENT.search(doc.text, start, end)
        if not found:
            continue
        codes = frozenset(
            code.strip().upper() for code in (found.group("codes") or "").split(",") if code.strip()
        )
        line = doc.line_of(start)
        alone = not doc.text[doc.line_start(line) : start].strip()
        if found.group("what").lower() == "ignore-file":
            if not alone:
                continue
            line = 0
        elif alone:
            line = doc.line_of(skip_trivia(doc.text, end))
        yield Suppression(Span(start, found.end()), line, codes)
