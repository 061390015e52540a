"""Findings as JSON, for programs.

{"version": 1, "findings": [...], "errors": [{"path", "line", "column", "reason"}]}; the keys of a
finding are those of `core.finding.Finding`, places are {"path", "line", "column", "end_line",
"end_column"}, and the edits of a fix are characters of the file's text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from torchferry.core.errors import SourceError
from torchferry.core.finding import Finding

from .plain import error_dict, finding_dict


def findings_json(
    findings: Sequence[Finding], errors: Sequence[SourceError], indent: int | None = 2
) -> str:
    """The JSON text of a whole run."""
    content = {
        "version": 1,
        "findings": [finding_dict(finding) for finding in findings],
        "errors": [error_dict(error) for error in errors],
    }
    return json.dumps(content, indent=indent)
