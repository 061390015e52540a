"""Programs with a known fault, and their right versions.

Each program says what is expected: `# expect: KIND line N: ...`. The kind is a name of a rule, or
one of the kinds that a rule says it covers; a finding of the same family counts.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchferry.core.finding import Finding
from torchferry.rules.engine import check_document
from torchferry.rules.registry import all_rules, find_rule
from torchferry.rules.rule import family_of
from torchferry.source.files import load

FOLDER = Path(__file__).parent.parent / "cases"
PROGRAMS = sorted(FOLDER.glob("*.py"))
RIGHT = sorted((FOLDER / "right").glob("*.py"))
_EXPECT = re.compile(r"^# expect: ([\w-]+) line (\d+)", re.MULTILINE)

FAMILIES: dict[str, set[str]] = {}
for _rule in all_rules():
    for _kind in (_rule.name, *_rule.kinds):
        FAMILIES.setdefault(_kind, set()).add(family_of(_rule))


def findings_of(path: Path) -> list[Finding]:
    return check_document(load(str(path)))


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == len(RIGHT) >= 60


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_fault_is_found_on_its_line(path: Path) -> None:
    findings = findings_of(path)
    expectations = _EXPECT.findall(path.read_text())
    assert expectations
    for kind, line in expectations:
        families = FAMILIES[kind]
        here = [f for f in findings if f.location.line == int(line)]
        named = {family_of(rule) for f in here if (rule := find_rule(f.rule)) is not None}
        assert named & families, (
            f"{kind} in line {line}: found {[(f.rule, f.location) for f in findings]}"
        )


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_right_version_is_left_in_peace(path: Path) -> None:
    assert [f for f in findings_of(path) if f.severity.value != "note"] == []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_errors_come_with_a_proof(path: Path) -> None:
    for finding in findings_of(path):
        if finding.severity.value == "error":
            assert finding.evidence or finding.help
            for step in finding.evidence:
                assert step.text
                assert step.location.line >= 1
