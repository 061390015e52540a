"""The applier: all or nothing, the same result in any order, places mapped."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchferry.core.edit import Edit, Fix, Safety
from torchferry.core.errors import RewriteRefused
from torchferry.source.apply import Applied, apply_fixes
from torchferry.source.document import Document
from torchferry.source.reread import check_rewrite


def fix(*edits: tuple[int, int, str], group: str = "", safety: Safety = Safety.SAFE) -> Fix:
    return Fix("fix", tuple(Edit(*edit) for edit in edits), safety, group=group)


def applied(text: str, *fixes: Fix) -> Applied:
    """Applied in every order, with one result."""
    doc = Document.from_text(text, "p.py")
    outcomes = {}
    for order in itertools.permutations(fixes):
        outcome = apply_fixes(doc, order)
        outcomes[outcome.text, frozenset(map(repr, outcome.refused))] = outcome
    assert len(outcomes) == 1, list(outcomes)
    return next(iter(outcomes.values()))


def test_the_same_change_wanted_twice_is_made_once() -> None:
    declare = (0, 0, "d = 1\n")
    outcome = applied("x\ny\n", fix(declare, (1, 1, ".to(d)")), fix(declare, (3, 3, ".to(d)")))
    assert outcome.text == "d = 1\nx.to(d)\ny.to(d)\n"
    assert not outcome.refused


def test_equal_brackets_of_different_pairs_are_both_kept() -> None:
    inner = fix((0, 0, "("), (5, 5, ").to(d)"))
    outer = fix((0, 0, "("), (9, 9, ").to(d)"))
    text = "a + b + c\n"
    assert applied(text, inner, outer).text == "((a + b).to(d) + c).to(d)\n"
    assert applied(text, inner, outer, inner).text == "((a + b).to(d) + c).to(d)\n"


def test_brackets_that_end_together_nest() -> None:
    whole = fix((0, 0, "F("), (9, 9, ")"))
    right = fix((4, 4, "("), (9, 9, ").to(d)"))
    last = fix((8, 8, ""), (9, 9, ".to(e)"))
    assert applied("a + b * c", whole, right, last).text == "F(a + (b * c.to(e)).to(d))"


def test_what_ends_an_operand_comes_before_the_next_argument() -> None:
    keyword = fix((7, 7, ", device=d"))
    moved = fix((7, 7, ".to(d)"))
    bracket = fix((2, 2, "("), (7, 7, ").cpu()"))
    assert applied("f(a + b)", keyword, moved, bracket).text == "f((a + b.to(d)).cpu(), device=d)"


def test_overlapping_fixes_exclude_each_other() -> None:
    outcome = applied("abcdef", fix((0, 4, "1")), fix((2, 6, "2")))
    assert outcome.text == "1ef"
    assert len(outcome.refused) == 1


def test_an_insertion_inside_of_deleted_text_excludes_it() -> None:
    assert len(applied("abcdef", fix((0, 4, "")), fix((2, 2, "x"))).refused) == 1
    assert not applied("abcdef", fix((0, 4, "")), fix((4, 4, "x"))).refused


@pytest.mark.parametrize(
    ("one", "two"), [(".to(d)", ".cpu()"), ("device=d", "dtype=t"), (", device=d", ", device=e")]
)
def test_two_answers_for_one_place_exclude_each_other(one: str, two: str) -> None:
    assert len(applied("f(a)", fix((3, 3, one)), fix((3, 3, two))).refused) == 1


def test_a_suffix_at_the_end_of_a_replacement_is_ambiguous() -> None:
    assert len(applied("a in b", fix((0, 6, "c")), fix((6, 6, ".to(d)"))).refused) == 1
    assert len(applied("f(a, k=b)", fix((3, 8, "")), fix((8, 8, ".to(d)"))).refused) == 1
    assert applied("a.cuda()", fix((1, 8, "")), fix((8, 8, ".to(d)"))).text == "a.to(d)"


def test_a_function_at_the_start_of_a_replacement_is_ambiguous() -> None:
    assert len(applied("(a) + b", fix((0, 7, "c")), fix((0, 0, "F"))).refused) == 1


def test_two_keywords_fit_together() -> None:
    assert applied("f(a)", fix((3, 3, ", y=1")), fix((3, 3, ", x=2"))).text == "f(a, x=2, y=1)"


def test_a_fix_is_all_or_nothing() -> None:
    outcome = applied("abcdef", fix((0, 2, "1")), fix((1, 3, "2"), (5, 6, "3")))
    assert outcome.text == "1cdef"
    assert outcome.edits == (Edit(0, 2, "1"),)


def test_a_group_is_all_or_nothing() -> None:
    blocked = fix((1, 3, "2"), group="model")
    friend = fix((5, 6, "3"), group="model")
    outcome = applied("abcdef", fix((0, 2, "1")), blocked, friend)
    assert outcome.text == "1cdef"
    assert set(map(repr, outcome.refused)) == {repr(blocked), repr(friend)}


def test_a_fix_that_contradicts_itself_is_refused() -> None:
    assert applied("abcdef", fix((0, 3, "1"), (2, 4, "2"))).text == "abcdef"


def test_the_safer_fix_wins() -> None:
    outcome = applied("abcdef", fix((0, 4, "1"), safety=Safety.UNSAFE), fix((2, 6, "2")))
    assert outcome.text == "ab2"


def test_display_fixes_are_never_applied() -> None:
    assert applied("abc", fix((0, 1, "x"), safety=Safety.DISPLAY)).text == "abc"


def test_an_edit_outside_of_the_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="outside"):
        apply_fixes(Document.from_text("abc", "p.py"), [fix((2, 9, ""))])


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_mapped(newline: str) -> None:
    text = newline.join(["a", "b", "c", "d", ""])
    step = 1 + len(newline)
    outcome = applied(
        text,
        fix((1, 1, f"{newline}new")),
        fix((step, 2 * step, "")),
        fix((2 * step, 2 * step, f"x{newline}y{newline}")),
        fix((3 * step + 1, 3 * step + 1, ".e")),
    )
    assert outcome.text == newline.join(["a", "new", "x", "y", "c", "d.e", ""])
    assert [outcome.new_line(line) for line in (1, 3, 4)] == [1, 5, 6]
    assert outcome.edited_lines == (2, 3, 4, 6)


def test_an_inserted_line_moves_the_line_it_stands_before() -> None:
    outcome = applied("a\nb\n", fix((2, 2, "N\n")), fix((2, 2, "("), (3, 3, ")")))
    assert outcome.text == "a\nN\n(b)\n"
    assert outcome.new_line(2) == 3
    assert outcome.edited_lines == (2, 3)


EDITS = st.builds(
    lambda start, length, text: (start, start + length, text),
    st.integers(0, 12),
    st.integers(0, 4),
    st.sampled_from(["", "x", ".y", ", k=1", "\n", "(", ")", "z\n"]),
)


@given(st.lists(st.builds(fix, EDITS, EDITS), max_size=4), st.randoms())
def test_any_fixes_give_one_text_in_any_order(fixes: list[Fix], chance) -> None:  # type: ignore[no-untyped-def]
    doc = Document.from_text("abcdefgh\njklmnop", "p.py")
    first = apply_fixes(doc, fixes)
    chance.shuffle(fixes)
    second = apply_fixes(doc, fixes)
    assert first.text == second.text
    assert len(first.applied) + len(first.refused) == len(fixes)
    grown = sum(len(edit.text) - (edit.end - edit.start) for edit in first.edits)
    assert len(first.text) == len(doc.text) + grown
    kept = [i for i in range(len(doc.text)) if not any(e.start <= i < e.end for e in first.edits)]
    assert all(first.text[first.new_offset(i)] == doc.text[i] for i in kept)


# ---- proof-reading


@pytest.mark.parametrize(
    ("text", "edit", "reason"),
    [
        ("x = 1\n", (4, 5, "("), "does not parse (line 1"),
        ("def f():\n    x\n", (13, 14, "break"), "does not compile"),
        ("x  # c\ny\n", (1, 6, "\n"), None),
        ("x  # c\n", (1, 1, ' + """'), "a comment would be lost"),
        ("x = '''\n'''  # c\n", (7, 7, "'''  ''' "), None),
        ("x  # c\ny  # d\n", (1, 1, "  #"), "a comment would be lost: # c"),
        ("x\r\ny\r\n", (1, 1, "\nz"), "other line breaks"),
        ("if a:\n    x\n    y\n", (11, 11, "\nif b:"), "another"),
        ("a * b\n", (1, 1, " + c"), None),
        ("f(a + b)\n", (2, 3, "a)(a"), None),
        ("x\ny\n", (1, 1, "; '''"), "does not parse"),
        ("x\nif a: y\n", (1, 1, "\nif b:\n  z\nelse:\n  w\nwhile 0:\n  v"), None),
        ("x = 1\ny = 2\n", (5, 5, " + \\"), "does not parse"),
        ("if a:\n  x\ny\n", (0, 0, "for z in w:\n  "), "does not parse"),
        ("x = a\n-b\n", (5, 5, " \\"), "meaning"),
        ("f\n(a)\n", (1, 1, " \\"), "meaning"),
    ],
)
def test_proof_reading(text: str, edit: tuple[int, int, str], reason: str | None) -> None:
    outcome = apply_fixes(Document.from_text(text, "p.py"), [fix(edit)])
    assert outcome.text != text
    if reason is None:
        assert check_rewrite(outcome).text == outcome.text
    else:
        with pytest.raises(RewriteRefused) as caught:
            check_rewrite(outcome)
        assert reason in str(caught.value)


def test_a_text_that_the_file_cannot_hold_is_refused() -> None:
    doc = Document.from_bytes(b"# coding: ascii\nx\n", "p.py")
    with pytest.raises(RewriteRefused, match="ascii"):
        check_rewrite(apply_fixes(doc, [fix((17, 17, " # é"))]))


def test_legacy_async_is_proof_read_like_any_source() -> None:
    doc = Document.from_text("x.cuda(async=True)\ny.cuda(async=True)\n", "p.py")
    span = doc.legacy_async[0]
    check_rewrite(apply_fixes(doc, [fix((*span, "non_blocking"))]))


def test_code_that_never_compiled_may_still_be_edited() -> None:
    doc = Document.from_text("return x\n", "p.py")
    check_rewrite(apply_fixes(doc, [fix((8, 8, ".cpu()"))]))


def test_deep_trees_are_compared() -> None:
    doc = Document.from_text("x = " + "+".join(["a"] * 900) + "\ny\n", "p.py")
    check_rewrite(apply_fixes(doc, [fix((len(doc.text) - 1, len(doc.text) - 1, ".z"))]))
