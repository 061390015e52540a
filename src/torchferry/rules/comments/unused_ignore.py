"""DEV001."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from torchferry.core.edit import Edit, Fix
from torchferry.core.finding import Finding, Severity

from ..rule import Rule

if TYPE_CHECKING:
    from torchferry.source.document import Document
    from torchferry.source.suppress import Suppression, Suppressions

    from ..context import Context


class UnusedIgnore(Rule):
    """A `# torchferry: ignore` comment that silences nothing.

    What it does:
        Reports suppress comments, and single codes in them, for which there is no finding.

    Why is this bad:
        A comment that is not needed today hides the fault of tomorrow.

    Example:
        import torch

        x = torch.ones(3)  # torchferry: ignore[DEV103]

    Fix:
        import torch

        x = torch.ones(3)

    Fix safety:
        Safe: only the comment goes.

    References:
        https://docs.astral.sh/ruff/rules/unused-noqa/
    """

    code = "DEV001"
    name = "unused-ignore"
    severity = Severity.WARNING
    fixable = True

    def check(self, ctx: Context) -> Iterable[Finding]:
        return ()  # the engine knows what was silenced only after all other rules


class Unused(NamedTuple):
    """A comment, or codes in it ("*": all of it), that silence nothing in its own document."""

    line: int
    codes: frozenset[str]
    finding: Finding

    def beside(self, used: Collection[str]) -> Finding | None:
        """The finding, where other files that import this one are known to need some codes."""
        if not used:
            return self.finding
        left = self.codes - set(used)
        if not left or "*" in self.codes:
            return None
        return replace(self.finding, message=_message(left), fix=None)


def unused_comments(doc: Document, comments: Suppressions) -> list[Unused]:
    """The comments of a document that silenced nothing."""
    found = []
    for item in comments.unused():
        finding = Finding(
            UnusedIgnore.code,
            UnusedIgnore.name,
            UnusedIgnore.severity,
            doc.location(item.span),
            _message(item.unused),
            help="remove it",
            fix=_fix(doc, item),
        )
        found.append(Unused(doc.line_of(item.span.start), frozenset(item.unused), finding))
    return found


def _message(codes: Collection[str]) -> str:
    known = sorted(codes)
    what = "nothing is silenced here" if known == ["*"] else f"{', '.join(known)}: not found here"
    return f"an ignore comment that is not needed: {what}"


def _fix(doc: Document, item: Suppression) -> Fix | None:
    if sorted(item.unused) != ["*"] and item.unused != item.codes:
        return None
    start = item.span.start
    while start > 0 and doc.text[start - 1] in " \t":
        start -= 1
    line_end = doc.line_end(doc.line_of(item.span.start))
    alone = start == doc.line_start(doc.line_of(item.span.start))
    if doc.text[item.span.end : line_end].strip() == "" and not alone:
        return Fix("remove the comment", (Edit(start, item.span.end, ""),))
    return None
