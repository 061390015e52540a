"""The fixtures of the rules: Markdown with programs that must fire and programs that must not.

`## fires: title` is followed by a program with `# expect: DEV101` on each line that is found;
nothing else above a note may be found in it. `## silent: title` is followed by right code, about
which there is neither a warning nor an error of any rule.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from torchferry.core.errors import RewriteRefused
from torchferry.rules.engine import check_document
from torchferry.rules.fixing import fix_document
from torchferry.rules.registry import all_rules, find_rule
from torchferry.source.apply import apply_fixes
from torchferry.source.document import Document
from torchferry.source.reread import check_rewrite

from .checking import check, expected, places

FOLDER = Path(__file__).parent / "fixtures"
_CASE = re.compile(
    r"^## (fires|silent): ([^\n]+)\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


class Case(NamedTuple):
    rule: str
    kind: str
    title: str
    text: str


def read(path: Path) -> list[Case]:
    content = path.read_text(encoding="utf-8")
    cases = [Case(path.stem, *found.groups()) for found in _CASE.finditer(content)]
    assert len(cases) == content.count("\n## "), f"{path.name}: a section that is no case"
    return cases


CASES = [case for path in sorted(FOLDER.glob("*.md")) for case in read(path)]
FIRES = [case for case in CASES if case.kind == "fires"]
SILENT = [case for case in CASES if case.kind == "silent"]


def name(case: Case) -> str:
    return f"{case.rule}: {case.title}"


def test_every_fixture_is_of_a_rule() -> None:
    for path in FOLDER.glob("*.md"):
        assert find_rule(path.stem) is not None
        assert path.read_text(encoding="utf-8").startswith(f"# {path.stem}\n")


def test_every_rule_has_a_fixture_that_fires_and_one_that_is_silent() -> None:
    names = {rule.name for rule in all_rules()}
    assert {case.rule for case in FIRES} == names
    assert {case.rule for case in SILENT} == names


def test_two_cases_in_five_prove_silence() -> None:
    """Counted with the documentation: each rule shows one program that fires, one that does not."""
    rules = len(all_rules())
    fires, silent = len(FIRES) + rules, len(SILENT) + rules
    assert silent >= 0.4 * (fires + silent)


@pytest.mark.parametrize("case", FIRES, ids=name)
def test_fires(case: Case) -> None:
    wanted = expected(case.text)
    assert wanted, "expects nothing"
    found = check(case.text)
    loud = [f for f in found if f.severity.value != "note"]
    assert wanted <= places(found)
    assert places(loud) <= wanted


@pytest.mark.parametrize("case", SILENT, ids=name)
def test_silent(case: Case) -> None:
    assert expected(case.text) == set()
    assert [f for f in check(case.text) if f.severity.value != "note"] == []


@pytest.mark.parametrize("case", CASES, ids=name)
def test_fixes_converge_and_stay(case: Case) -> None:
    """Every fix survives proof-reading; all of them end, and a second run changes nothing."""
    document = Document.from_text(case.text, "fixture.py")
    for finding in check_document(document):
        if finding.fix is not None:
            applied = apply_fixes(document, [finding.fix])
            assert applied.text != case.text
            try:
                check_rewrite(applied)
            except RewriteRefused as error:
                pytest.fail(f"{finding.code}: {error}")
    outcome = fix_document(document, unsafe=True)
    again = fix_document(outcome.document, unsafe=True)
    assert again.document.text == outcome.document.text
    assert again.fixed == []
