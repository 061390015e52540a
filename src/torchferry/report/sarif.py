"""Findings as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from torchferry._version import __version__
from torchferry.core.edit import Fix
from torchferry.core.errors import SourceError
from torchferry.core.finding import Finding, NotAnalysed
from torchferry.core.span import Location

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_text(
    findings: Sequence[Finding],
    errors: Sequence[SourceError],
    rules: Sequence[dict[str, Any]],
    gaps: Sequence[NotAnalysed] = (),
    indent: int | None = 2,
) -> str:
    """The SARIF log of a whole run. rules: as plain data; gaps: what was not analysed."""
    index = {rule["code"]: number for number, rule in enumerate(rules)}
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "torchferry",
                        "semanticVersion": _semantic(__version__),
                        "version": __version__,
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not errors,
                        "toolExecutionNotifications": [
                            *(_notification(e) for e in errors),
                            *(_gap(g) for g in gaps),
                        ],
                    }
                ],
                "results": [_result(finding, index) for finding in findings],
            }
        ],
    }
    return json.dumps(log, indent=indent)


def _semantic(version: str) -> str:
    parts = version.split("+")[0].split(".")
    numbers = [p if p.isdigit() else "0" for p in [*parts, "0", "0"][:3]]
    return ".".join(numbers)


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    sections: dict[str, str] = rule["sections"]
    text = "\n\n".join(f"{title}\n{body}" for title, body in sections.items())
    described: dict[str, Any] = {
        "id": rule["code"],
        "name": "".join(word.capitalize() for word in rule["name"].split("-")),
        "shortDescription": {"text": rule["summary"]},
        "fullDescription": {"text": sections.get("What it does", rule["summary"])},
        "help": {"text": text},
        "defaultConfiguration": {"level": rule["severity"]},
        "properties": {"tags": [rule["family"]]},
    }
    references = sections.get("References", "").split()
    if references and references[0].startswith("https://"):
        described["helpUri"] = references[0]
    return described


def _result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    message = finding.message + (f". {finding.help}." if finding.help else "")
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": finding.severity.value,
        "message": {"text": message},
        "locations": [{"physicalLocation": _physical(finding.location)}],
        "partialFingerprints": {"torchferry/v1": _fingerprint(finding)},
    }
    if finding.evidence:
        steps: list[dict[str, Any]] = [
            {
                "location": {
                    "physicalLocation": _physical(step.location),
                    "message": {"text": step.text},
                }
            }
            for step in finding.evidence
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
        path = finding.location.path
        related = [
            s["location"]
            for s, e in zip(steps, finding.evidence, strict=True)
            if e.location.path != path
        ]
        if related:
            result["relatedLocations"] = [{"id": n, **r} for n, r in enumerate(related, 1)]
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix, finding.location)]
    return result


def _physical(place: Location) -> dict[str, Any]:
    return {
        "artifactLocation": {"uri": _uri(place.path)},
        "region": {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        },
    }


def _fix(fix: Fix, place: Location) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start},
            "insertedContent": {"text": edit.text},
        }
        for edit in sorted(fix.edits)
    ]
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(place.path)}, "replacements": replacements}
        ],
    }


def _notification(error: SourceError) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": "error", "message": {"text": error.reason}}
    region = {"startLine": error.line} if error.line else None
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(error.path)}}
    if region:
        place["region"] = region
    notification["locations"] = [{"physicalLocation": place}]
    return notification


def _gap(gap: NotAnalysed) -> dict[str, Any]:
    return {
        "level": "note",
        "message": {"text": f"not analysed: {gap.reason}"},
        "locations": [{"physicalLocation": _physical(gap.location)}],
    }


def _uri(path: str) -> str:
    text = path.replace(os.sep, "/")
    return ("file://" if text.startswith("/") else "") + quote(text)


def _fingerprint(finding: Finding) -> str:
    text = f"{finding.location.path}\0{finding.code}\0{finding.message}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
