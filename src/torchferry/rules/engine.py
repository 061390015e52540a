"""Checking one document: analyse it once, ask every rule, silence what the author silenced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.analyse import analyse
from torchferry.source.suppress import Suppressions

from .context import Context
from .options import CheckOptions, wanted
from .registry import all_rules

if TYPE_CHECKING:
    from torchferry.source.document import Document

UNUSED = "DEV001"


def check_document(doc: Document, options: CheckOptions | None = None) -> list[Finding]:
    """The findings of a document in the order of its lines.

    Raises UnparsableSource when it is not Python 3.
    """
    options = options or CheckOptions()
    comments = Suppressions(doc)
    shown: list[Finding] = []
    if "torch" in doc.text.replace("torchferry", ""):
        least = Severity(options.level).rank
        for found in _findings(doc, options):
            place = found.location
            if comments.silence(found.code, place.line, place.end_line):
                continue
            if found.severity.rank <= least:
                shown.append(found)
    if comments.comments and wanted(options, doc.path, UNUSED, "unused-ignore"):
        from .comments.unused_ignore import unused_comments

        shown += unused_comments(doc, comments)
    return sorted(shown, key=_order)


def _findings(doc: Document, options: CheckOptions) -> list[Finding]:
    rules = [
        rule
        for rule in all_rules()
        if (not rule.word or rule.word in doc.text)
        and wanted(options, doc.path, rule.code, rule.name)
    ]
    ctx = Context(doc, analyse(doc, migrating=False))
    found: dict[tuple[str, int, int], Finding] = {}
    for rule in rules:
        for finding in rule.check(ctx):
            key = (finding.code, finding.location.line, finding.location.column)
            old = found.get(key)
            if old is None or finding.severity.rank < old.severity.rank:
                found[key] = finding
    return list(found.values())


def _order(finding: Finding) -> tuple[int, int, str]:
    return finding.location.line, finding.location.column, finding.code
