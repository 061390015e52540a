"""Every fix of `check`, safe and unsafe, in every hostile shape.

The programs are the examples in the documentation of the rules, and the faulty programs of all
families. Everyday runs take a sample in which each shape and each program has its turn;
`TORCHFERRY_TEST_STEP=1` tries all combinations.
"""

from __future__ import annotations

import ast
import io
import os
import tokenize
from collections import Counter
from typing import NamedTuple

import pytest

from torchferry.rules.engine import check_document
from torchferry.rules.fixing import Fixed, fix_document
from torchferry.rules.registry import all_rules
from torchferry.rules.rule import documentation
from torchferry.source.document import Document

from ..rules.pairs import pairs
from . import Shape, turns

STEP = int(os.environ.get("TORCHFERRY_TEST_STEP", "120"))


class Program(NamedTuple):
    """A program in which something can be fixed."""

    name: str
    text: str


def fixable_programs() -> list[Program]:
    """The examples and the faulty programs whose findings carry fixes."""
    programs = [Program(r.name, documentation(type(r))["Example"] + "\n") for r in all_rules()]
    programs += [Program(pair.name, pair.faulty) for pair in pairs()]
    return [
        program for program in programs
        if any(f.fix for f in check_document(Document.from_text(program.text, "p.py")))
    ]  # fmt: skip


PROGRAMS = fixable_programs()


COMBINATIONS = [
    pytest.param(shape, program, id=f"{shape.name}-{program.name}")
    for shape, program in turns(PROGRAMS, STEP)
]


def comments(text: str) -> Counter[str]:
    """The comments of a program."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(t.string for t in tokens if t.type == tokenize.COMMENT)


def shaped(shape: Shape, text: str) -> Document | None:
    """The program in its shape; None where it cannot have it."""
    source = shape.apply(text)
    if source is None:
        return None
    return Document.from_bytes(source if isinstance(source, bytes) else source.encode(), "p.py")


def check_outcome(before: Document, outcome: Fixed, *, unsafe: bool) -> None:
    """What a run of fixes promises."""
    after = outcome.document
    if not outcome.fixed:
        assert after.to_bytes() == before.to_bytes()
        return
    ast.parse(after.text)
    lost = comments(before.text) - comments(after.text)
    assert all("torchferry: ignore" in comment for comment in lost), lost  # what DEV001 removes
    assert comments(after.text) <= comments(before.text)
    for ending in ("\r\n", "\r"):
        if ending in before.text and before.text.replace(ending, "").count("\n") == 0:
            assert after.text.replace(ending, "").count("\n") == 0, "line ends are mixed"
    had = Counter(f.rule for f in check_document(before))
    left = Counter(f.rule for f in outcome.left)
    for rule in {finding.rule for finding in outcome.fixed}:
        # a mistake that stood behind another one may come up, and is fixed in its turn
        assert left[rule] < max(had[rule], 1), f"{rule} is still there"
    loud = {f.rule for f in outcome.left if f.severity.value != "note"}
    assert loud <= set(had), "a fix made a new finding"
    again = fix_document(after, unsafe=unsafe)
    assert again.document.text == after.text, "a second run changes more"
    assert again.fixed == []


@pytest.mark.parametrize(("shape", "program"), COMBINATIONS)
def test_fixes_survive(shape: Shape, program: Program) -> None:
    before = shaped(shape, program.text)
    if before is None:
        return
    for unsafe in (False, True):
        outcome = fix_document(before, unsafe=unsafe)
        check_outcome(before, outcome, unsafe=unsafe)


def test_each_program_and_each_fixable_rule_has_its_turn() -> None:
    met = {program.name for _, program in turns(PROGRAMS, STEP)}
    wanted = {program.name for program in PROGRAMS}
    assert len(met) >= min(len(wanted), len(COMBINATIONS)) // 2
    fixed = {
        f.rule for program in PROGRAMS
        for f in check_document(Document.from_text(program.text, "p.py")) if f.fix
    }  # fmt: skip
    assert {rule.name for rule in all_rules() if rule.fixable} - fixed <= {"unused-ignore"}
