"""Pairs of a faulty program and its right version, of every kind of fault."""

from __future__ import annotations

import ast

import pytest

from torchferry.core.finding import Finding
from torchferry.rules.registry import all_rules, find_rule
from torchferry.rules.rule import family_of

from .checking import check
from .pairs import Pair, pairs, split

PAIRS = pairs()
FAMILIES: dict[str, set[str]] = {}
for _rule in all_rules():
    for _kind in (_rule.name, *_rule.kinds):
        FAMILIES.setdefault(_kind, set()).add(family_of(_rule))


def families_at(findings: list[Finding], line: int) -> set[str]:
    """The families of the findings in a line."""
    rules = [find_rule(f.rule) for f in findings if f.location.line == line]
    return {family_of(rule) for rule in rules if rule is not None}


def test_a_pair_is_split_by_its_marks() -> None:
    pair = split("x", "a = 1\nb = 2  #! kind-a\n#+ b = 3\nc = 4  #-\nd = 5  #= kind-b\n")
    assert pair.faulty == "a = 1\nb = 2\nc = 4\nd = 5\n"
    assert pair.right == "a = 1\nb = 3\nd = 5\n"
    assert pair.expected == (("kind-a", 2), ("kind-b", 4))


def test_every_rule_has_a_pair() -> None:
    kinds = {kind for pair in PAIRS for kind, _ in pair.expected}
    without = [
        rule.name for rule in all_rules()
        if rule.name != "unused-ignore" and not kinds & {rule.name, *rule.kinds}
    ]  # fmt: skip
    assert without == []


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_pair(pair: Pair) -> None:
    ast.parse(pair.faulty)
    ast.parse(pair.right)
    assert pair.expected
    found = check(pair.faulty)
    for kind, line in pair.expected:
        assert families_at(found, line) & FAMILIES[kind], (
            f"{kind} in line {line}: found {[(f.rule, f.location.line) for f in found]}"
        )
    assert [f for f in check(pair.right) if f.severity.value != "note"] == []
