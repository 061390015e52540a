"""Findings as text and as JSON."""

from __future__ import annotations

import json

import pytest

from torchferry.core.edit import Edit, Fix
from torchferry.core.errors import UnparsableSource
from torchferry.core.finding import Evidence, Finding, Severity
from torchferry.core.span import Location
from torchferry.report.check_json import findings_json
from torchferry.report.check_text import finding_text, summary_text
from torchferry.report.frame import code_frame
from torchferry.source.document import Document

TEXT = "import torch\nmodel = net.cuda()\nx = torch.ones(2)\nmodel(x)\n"
FINDING = Finding(
    code="DEV101",
    rule="input-not-moved",
    severity=Severity.ERROR,
    location=Location("a.py", 4, 7, 4, 8),
    message="`x` is on the CPU, `model` on the GPU",
    evidence=(
        Evidence(Location("a.py", 3, 5, 3, 18), "`x` is made on the CPU"),
        Evidence(Location("b.py", 9, 1, 9, 2), "and passed on here"),
    ),
    help="move `x` to the device of `model`",
    fix=Fix("move `x`", (Edit(62, 62, ".to(device)"),)),
    notes=("seen once",),
)


def test_a_finding_for_people() -> None:
    doc = Document.from_text(TEXT, "a.py")
    assert finding_text(FINDING, doc) == (
        "a.py:4:7: error DEV101 input-not-moved: `x` is on the CPU, `model` on the GPU\n"
        "  4 | model(x)\n"
        "    |       ^\n"
        "  line 3: `x` is made on the CPU\n"
        "  b.py:9:1: and passed on here\n"
        "  help: move `x` to the device of `model`\n"
        "  fix (safe): move `x`\n"
        "  note: seen once"
    )


@pytest.mark.parametrize(
    ("text", "columns", "frame"),
    [
        ("\tx = y\n", (6, 7), "1 |     x = y\n  |         ^"),
        ("x = f(\n  1)\n", (5, None), "1 | x = f(\n  |     ^^"),
        ("数 = y\n", (5, 6), "1 | 数 = y\n  |      ^"),
        ("x = '\x1b[0m', y\n", (13, 14), "1 | x = '\ufffd[0m', y\n  |             ^"),
        ("", (1, 1), "1 |\n  | ^"),
    ],
)
def test_marks_stand_below_what_they_mean(
    text: str, columns: tuple[int, int | None], frame: str
) -> None:
    doc = Document.from_text(text, "a.py")
    start, end = columns
    place = Location("a.py", 1, start, 1, end) if end else Location("a.py", 1, start, 2, 5)
    assert code_frame(doc, place) == frame


def test_a_frame_with_lines_around() -> None:
    doc = Document.from_text("a\nb\nc\n", "a.py")
    frame = code_frame(doc, Location("a.py", 1, 1, 1, 2), margin=1)
    assert frame == "1 | a\n  | ^\n2 | b"


def test_the_summary_counts_by_severity() -> None:
    note = Finding("DEV1", "r", Severity.NOTE, FINDING.location, "m")
    errors = [UnparsableSource("b.py", "no", 1), UnparsableSource("b.py", "no", 2)]
    assert summary_text([FINDING, note, note], 2, []) == "1 error, 2 notes in 2 files"
    assert summary_text([], 1, errors) == "nothing found in 1 file; 1 file not processed"
    assert summary_text([], 0, []) == "no Python files found"


def test_json_holds_every_part() -> None:
    content = json.loads(findings_json([FINDING], [UnparsableSource("b.py", "broken", 3)]))
    place = {"path": "a.py", "line": 4, "column": 7, "end_line": 4, "end_column": 8}
    (found,) = content["findings"]
    assert content["version"] == 1
    assert found["location"] == place
    assert set(found) == {
        "code", "rule", "severity", "location", "message", "evidence", "help", "notes", "fix",
    }  # fmt: skip
    assert found["fix"]["edits"] == [{"start": 62, "end": 62, "text": ".to(device)"}]
    assert content["errors"] == [{"path": "b.py", "line": 3, "column": None, "reason": "broken"}]
