"""Findings as JSON, for programs.

{"version": 1, "findings": [...], "errors": [{"path", "line", "column", "reason"}],
"not_analysed_count": n}; the keys of a finding are those of `core.finding.Finding`, places are
{"path", "line", "column", "end_line", "end_column"}, and the edits of a fix are characters of the
text of the finding's file. "not_analysed": [{"location", "reason"}] is there on request.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from torchferry.core.errors import SourceError
from torchferry.core.finding import Finding, NotAnalysed

from .plain import error_dict, finding_dict, location_dict


def findings_json(
    findings: Sequence[Finding],
    errors: Sequence[SourceError],
    gaps: Sequence[NotAnalysed] = (),
    *,
    listed: bool = False,
    indent: int | None = 2,
) -> str:
    """The JSON text of a whole run; gaps: what was not analysed, counted or listed."""
    content: dict[str, Any] = {
        "version": 1,
        "findings": [finding_dict(finding) for finding in findings],
        "errors": [error_dict(error) for error in errors],
        "not_analysed_count": len(gaps),
    }
    if listed:
        content["not_analysed"] = [
            {"location": location_dict(gap.location), "reason": gap.reason} for gap in gaps
        ]
    return json.dumps(content, indent=indent)
