"""Findings as annotations of GitHub Actions.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchferry.core.errors import SourceError
from torchferry.core.finding import Finding

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def workflow_commands(findings: Sequence[Finding], errors: Sequence[SourceError]) -> Iterator[str]:
    """One workflow command for each finding and each file that was not processed."""
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
        text = finding.message + (f". {finding.help}" if finding.help else "")
        yield f"::{_LEVELS[finding.severity.value]} {where},title={title}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
