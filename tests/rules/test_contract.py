"""What every rule promises: code, name, family, documentation, and examples that tell the truth."""

from __future__ import annotations

import ast
import re

import pytest

from torchferry.core.edit import Safety
from torchferry.core.finding import Severity
from torchferry.rules.fixing import fix_document
from torchferry.rules.options import CheckOptions
from torchferry.rules.registry import all_rules, find_rule
from torchferry.rules.rule import FAMILIES, SECTIONS, Rule, documentation, family_of
from torchferry.source.document import Document

from .checking import check

RULES = all_rules()
#: the engine reports it, from the comments of a file
WITHOUT_CHECK = {"DEV001"}


@pytest.fixture(params=RULES, ids=lambda rule: rule.name)
def rule(request: pytest.FixtureRequest) -> Rule:
    return request.param  # type: ignore[no-any-return]


def test_there_are_at_least_forty_rules() -> None:
    assert len(RULES) >= 40


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_code_is_in_the_range_of_its_family(rule: Rule) -> None:
    first, last, _ = FAMILIES[family_of(rule)]
    assert first <= int(rule.code[3:]) <= last


def test_name_is_plain(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert find_rule(rule.code.lower()) is rule
    assert find_rule(rule.name.upper()) is rule


def test_docstring_has_all_sections_in_order(rule: Rule) -> None:
    sections = documentation(type(rule))
    assert tuple(name for name in sections if name) == SECTIONS
    for name, text in sections.items():
        assert text.strip(), f"{name or 'summary'} is empty"
    assert sections[""].count("\n") == 0
    assert sections[""].endswith(".")


def test_references_are_addresses(rule: Rule) -> None:
    for line in documentation(type(rule))["References"].split("\n"):
        assert line.startswith("https://"), line


def test_examples_parse(rule: Rule) -> None:
    sections = documentation(type(rule))
    ast.parse(sections["Example"])
    ast.parse(sections["Fix"])


def test_example_is_found_with_evidence_or_help(rule: Rule) -> None:
    found = [f for f in check(documentation(type(rule))["Example"]) if f.code == rule.code]
    assert found, "the example in the documentation is not found"
    for finding in found:
        assert finding.rule == rule.name
        assert finding.help, "says not what to do"
        first = finding.message.split()[0]
        assert first[0].islower() or not first[0].isalpha() or first.isupper() or "_" in first
        assert not finding.message.endswith(".")
        if finding.severity is Severity.ERROR and rule.code not in ("DEV809", "DEV104"):
            assert finding.evidence or finding.code in _SELF_EVIDENT


#: errors whose one line is the whole proof
_SELF_EVIDENT = {"DEV705", "DEV720", "DEV721", "DEV104"}


def test_fixed_example_is_right(rule: Rule) -> None:
    """The right version has no finding of this rule, and no error of any rule."""
    found = check(documentation(type(rule))["Fix"])
    assert [f for f in found if f.code == rule.code] == []
    assert [f for f in found if f.severity is Severity.ERROR] == []


def test_fixable_is_true(rule: Rule) -> None:
    """A rule that says so has a fix for its own example, or says which safety its fixes have."""
    found = [f for f in check(documentation(type(rule))["Example"]) if f.code == rule.code]
    fixes = [f.fix for f in found if f.fix is not None]
    if not rule.fixable:
        assert fixes == []
    for fix in fixes:
        assert fix.title
        assert fix.title[0].islower()
        assert fix.edits
        assert fix.safety is not Safety.UNSAFE or fix.reason, "unsafe, and does not say why"
    text = documentation(type(rule))["Fix safety"]
    if rule.fixable:
        assert text.startswith(("Safe", "Unsafe"))
    else:
        assert text.startswith("No automatic fix")


def test_fix_mends_its_example(rule: Rule) -> None:
    """With all its fixes applied, the rule has no complaint about its own example."""
    text = documentation(type(rule))["Example"]
    found = [f for f in check(text) if f.code == rule.code]
    if not any(f.fix for f in found):
        pytest.skip("no fix for the example")
    options = CheckOptions(select=(rule.code,))
    outcome = fix_document(Document.from_text(text, "example.py"), options, unsafe=True)
    assert outcome.fixed
    assert outcome.left == []
    again = fix_document(outcome.document, options, unsafe=True)
    assert again.document.text == outcome.document.text
