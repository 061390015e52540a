"""Findings for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torchferry.core.errors import SourceError
from torchferry.core.finding import Finding, NotAnalysed, Severity
from torchferry.source.document import Document

from .frame import code_frame


def finding_text(finding: Finding, doc: Document) -> str:
    """What is wrong and where, the line, the proof step by step, and what to do."""
    head = f"{finding.location}: {finding.severity.value} {finding.code} {finding.rule}"
    lines = [f"{head}: {finding.message}", _indented(code_frame(doc, finding.location))]
    for link in finding.evidence:
        same = link.location.path == finding.location.path
        place = f"line {link.location.line}" if same else str(link.location)
        lines.append(f"  {place}: {link.text}")
    if finding.help:
        lines.append(f"  help: {finding.help}")
    if finding.fix:
        lines.append(f"  fix ({finding.fix.safety.value}): {finding.fix.title}")
    lines += [f"  note: {note}" for note in finding.notes]
    return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def not_analysed_text(gaps: Sequence[NotAnalysed]) -> str:
    """What the analysis could not see, one line a place."""
    return "\n".join(f"{gap.location}: not analysed: {gap.reason}" for gap in gaps)


def summary_text(
    findings: Sequence[Finding], files: int, errors: Sequence[SourceError], gaps: int = 0
) -> str:
    """One line about all files; gaps: the number of places that were not analysed."""
    counts = Counter(finding.severity for finding in findings)
    parts = [_count(counts[level], level.value) for level in Severity if counts[level]]
    failed = len({error.path for error in errors})
    if not files and not failed:
        return "no Python files found"
    text = f"{', '.join(parts) or 'nothing found'} in {_count(files, 'file')}"
    if failed:
        text += f"; {_count(failed, 'file')} not processed"
    return f"{text}; {_count(gaps, 'place')} not analysed" if gaps else text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
