"""Findings as annotations of GitHub Actions.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchferry.core.errors import SourceError
from torchferry.core.finding import Finding, NotAnalysed

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def workflow_commands(
    findings: Sequence[Finding], errors: Sequence[SourceError], gaps: Sequence[NotAnalysed] = ()
) -> Iterator[str]:
    """One workflow command for each finding, each file that was not processed, and each gap."""
    for error in errors:
        line = f",line={error.line}" if error.line else ""
        where = f"file={_property(error.path)}{line}"
        yield f"::error {where},title={_property('torchferry')}::{_data(error.reason)}"
    for finding in findings:
        place = finding.location
        where = (
            f"file={_property(place.path)},line={place.line},endLine={place.end_line},"
            f"col={place.column},endColumn={place.end_column}"
        )
        title = _property(f"{finding.code} {finding.rule}")
        text = finding.message + (f". {finding.help}" if finding.help else "") + _proof(finding)
        yield f"::{_LEVELS[finding.severity.value]} {where},title={title}::{_data(text)}"
    for gap in gaps:
        where = f"file={_property(gap.location.path)},line={gap.location.line}"
        title = _property("torchferry: not analysed")
        yield f"::notice {where},title={title}::{_data(gap.reason)}"


def _proof(finding: Finding) -> str:
    """The chain of evidence, where a part of it is in another file than the annotation."""
    path = finding.location.path
    if all(step.location.path == path for step in finding.evidence):
        return ""
    return "".join(
        f"\n{step.location.path}:{step.location.line}: {step.text}" for step in finding.evidence
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
