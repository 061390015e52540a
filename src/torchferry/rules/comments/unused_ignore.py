"""DEV001."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.edit import Edit, Fix
from torchferry.core.finding import Finding, Severity

from ..rule import Rule

if TYPE_CHECKING:
    from torchferry.source.document import Document
    from torchferry.source.suppress import Suppressions

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


def unused_comments(doc: Document, comments: Suppressions) -> list[Finding]:
    """The findings about the comments of a document that silenced nothing."""
    found = []
    for item in comments.unused():
        codes = sorted(item.unused)
        what = (
            "nothing is silenced here" if codes == ["*"] else f"{', '.join(codes)}: not found here"
        )
        fix = None
        if codes == ["*"] or item.unused == item.codes:
            start = item.span.start
            while start > 0 and doc.text[start - 1] in " \t":
                start -= 1
            line_end = doc.line_end(doc.line_of(item.span.start))
            alone = start == doc.line_start(doc.line_of(item.span.start))
            if doc.text[item.span.end : line_end].strip() == "" and not alone:
                fix = Fix("remove the comment", (Edit(start, item.span.end, ""),))
        found.append(
            Finding(
                UnusedIgnore.code,
                UnusedIgnore.name,
                UnusedIgnore.severity,
                doc.location(item.span),
                f"an ignore comment that is not needed: {what}",
                help="remove it",
                fix=fix,
            )
        )
    return found
