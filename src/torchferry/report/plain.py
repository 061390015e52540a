"""Core data as plain dictionaries, the same in every JSON report."""

from __future__ import annotations

from typing import Any

from torchferry.core.edit import Fix
from torchferry.core.errors import SourceError
from torchferry.core.finding import Finding
from torchferry.core.span import Location


def error_dict(error: SourceError) -> dict[str, Any]:
    """A file that was not processed; line and column are null when they are not known."""
    return {
        "path": error.path,
        "line": error.line or None,
        "column": error.column or None,
        "reason": error.reason,
    }


def fix_dict(fix: Fix) -> dict[str, Any]:
    """A fix with its edits, in characters of the original text."""
    return {
        "title": fix.title,
        "safety": fix.safety.value,
        "reason": fix.reason,
        "group": fix.group,
        "edits": [{"start": e.start, "end": e.end, "text": e.text} for e in fix.edits],
    }


def location_dict(location: Location) -> dict[str, Any]:
    """A place: lines and columns from 1, columns in characters, the end past the last one."""
    return {
        "path": location.path,
        "line": location.line,
        "column": location.column,
        "end_line": location.end_line,
        "end_column": location.end_column,
    }


def finding_dict(finding: Finding) -> dict[str, Any]:
    """A finding with its proof and its fix."""
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "location": location_dict(finding.location),
        "message": finding.message,
        "evidence": [
            {"location": location_dict(link.location), "text": link.text}
            for link in finding.evidence
        ],
        "help": finding.help,
        "notes": list(finding.notes),
        "fix": fix_dict(finding.fix) if finding.fix else None,
    }
