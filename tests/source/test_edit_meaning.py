"""Edits of real code mean exactly what the same change of its tree means.

Random nodes of the standard library are edited in the text and, apart from that, in the tree;
parsing the text must give the tree. Many fixes are applied at once, nested ones too.
"""

from __future__ import annotations

import ast
import os
import random
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchferry.core.edit import Edit, Fix
from torchferry.source.apply import apply_fixes
from torchferry.source.build import (
    add_keyword,
    insert_at_block_start,
    insert_statement_after,
    insert_statement_before,
    method_call,
    remove_method_call,
    remove_statement,
    replace,
    wrap_call,
)
from torchferry.source.document import Document
from torchferry.source.reread import check_rewrite

LIBRARY = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
SUITE = sorted((Path(sysconfig.get_paths()["stdlib"]) / "test").glob("test_*.py"))
HARD = [
    path for path in SUITE if path.stem in {"test_grammar", "test_patma", "test_named_expressions"}
]
SMALL = [path for path in LIBRARY if path.stat().st_size < 30_000]
STEP = int(os.environ.get("TORCHFERRY_TEST_STEP", "8"))  # 1 tries every file
FILES = [*HARD, *SMALL[::STEP]]


def _moved(node: ast.expr) -> ast.expr:
    attribute = ast.Attribute(value=node, attr="to", ctx=ast.Load())
    return ast.Call(func=attribute, args=[ast.Name(id="d", ctx=ast.Load())], keywords=[])


def _wrapped(node: ast.expr) -> ast.expr:
    return ast.Call(func=ast.Name(id="F", ctx=ast.Load()), args=[node], keywords=[])


def _with_keyword(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.Call)
    node.keywords.append(ast.keyword(arg="device", value=ast.Name(id="d", ctx=ast.Load())))
    return node


def _stripped(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    return node.func.value


def _replaced(node: ast.expr) -> ast.expr:
    return ast.parse("a if b else c", mode="eval").body


EXPRESSION_EDITS: dict[str, tuple[Callable[..., object], Callable[[ast.expr], ast.expr]]] = {
    "move": (lambda doc, node: method_call(doc, node, ".to(d)"), _moved),
    "wrap": (lambda doc, node: wrap_call(doc, node, "F"), _wrapped),
    "keyword": (
        lambda doc, node: (
            add_keyword(doc, node, "device", "d") if isinstance(node, ast.Call) else None
        ),
        _with_keyword,
    ),
    "strip": (
        lambda doc, node: remove_method_call(doc, node) if isinstance(node, ast.Call) else None,
        _stripped,
    ),
    "replace": (lambda doc, node: replace(doc, node, "a if b else c"), _replaced),
}


def first_difference(found: ast.Module, wanted: ast.Module) -> tuple[str, str] | None:
    """The first statements that differ, unparsed."""
    if ast.dump(found) == ast.dump(wanted):
        return None
    for one, two in zip(ast.walk(found), ast.walk(wanted), strict=False):
        if (
            isinstance(one, ast.stmt)
            and not hasattr(one, "body")
            and ast.dump(one) != ast.dump(two)
        ):
            return ast.unparse(one), ast.unparse(two)
    for one, two in zip(ast.walk(found), ast.walk(wanted), strict=False):
        if ast.dump(one) != ast.dump(two) and isinstance(one, ast.expr):
            return ast.unparse(one), ast.unparse(two)
    return ast.unparse(found), ast.unparse(wanted)


def fresh(doc: Document) -> ast.Module:
    """A tree of its own (parsing is quicker than copying)."""
    return Document.from_text(doc.text, doc.path).tree


def editable(tree: ast.Module) -> list[ast.expr]:
    """Expressions at whose place the grammar takes any other."""
    found: list[ast.expr] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.match_case):
            pending += [node.guard, *node.body] if node.guard else node.body
            continue
        if isinstance(node, ast.AnnAssign | ast.Delete | ast.Global):
            continue
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", None), ast.Load | None):
            found.append(node)
        pending.extend(ast.iter_child_nodes(node))
    return found


class _Change(ast.NodeTransformer):
    def __init__(self, marks: dict[tuple[type, int, int, int, int], str]) -> None:
        self.marks = marks

    def visit(self, node: ast.AST) -> ast.AST:
        name = self.marks.get(place(node)) if isinstance(node, ast.expr) else None
        self.generic_visit(node)
        return EXPRESSION_EDITS[name][1](node) if name else node  # type: ignore[arg-type]


def place(node: ast.expr) -> tuple[type, int, int, int, int]:
    return (
        type(node),
        node.lineno,
        node.col_offset,
        node.end_lineno or 0,
        node.end_col_offset or 0,
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_edits_of_expressions(path: Path) -> None:
    doc = Document.from_bytes(path.read_bytes(), str(path))
    chance = random.Random(path.stem)
    nodes = editable(doc.tree)
    for _ in range(3):
        fixes: list[Fix] = []
        names: dict[str, tuple[ast.expr, str]] = {}
        for node in chance.sample(nodes, min(30, len(nodes))):
            kind = chance.choice(list(EXPRESSION_EDITS))
            if kind == "replace" and any(
                isinstance(n, ast.Yield | ast.Await) for n in ast.walk(node)
            ):
                continue
            edits = EXPRESSION_EDITS[kind][0](doc, node)
            if edits is None or isinstance(node, ast.JoinedStr):
                continue
            title = f"{kind} {len(fixes)}"
            fixes.append(Fix(title, edits))  # type: ignore[arg-type]
            names[title] = (node, kind)
        applied = apply_fixes(doc, fixes)
        after = check_rewrite(applied)
        assert len(applied.refused) <= len(fixes) // 2 or len(nodes) < 300
        marks = {place(names[fix.title][0]): names[fix.title][1] for fix in applied.applied}
        if len(marks) < len(applied.applied):
            continue  # two nodes of one kind and place (an empty format spec)
        expected = _Change(marks).visit(fresh(doc))
        assert first_difference(after.tree, expected) is None


def blocks(tree: ast.AST) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                yield node, block


def _edit_block(
    doc: Document, owner: ast.AST, block: list[ast.stmt], index: int, kind: str
) -> tuple[tuple[Edit, ...] | None, int]:
    """The edits, and the place of the new statement in its block."""
    if kind == "before":
        return insert_statement_before(doc, block[index], "N = 1"), index
    if kind == "after":
        return insert_statement_after(doc, block[index], "N = 1"), index + 1
    if kind == "remove":
        return remove_statement(doc, block[index]), index
    start = 1 if ast.get_docstring(owner, clean=False) is not None else 0  # type: ignore[arg-type]
    if isinstance(owner, ast.Module):
        while start < len(block) and getattr(block[start], "module", "") == "__future__":
            start += 1
    return insert_at_block_start(doc, owner, "N = 1"), start  # type: ignore[arg-type]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_edits_of_statements(path: Path) -> None:
    doc = Document.from_bytes(path.read_bytes(), str(path))
    chance = random.Random(path.stem)
    for _ in range(5):
        tree = fresh(doc)
        number = chance.randrange(len(list(blocks(tree))))
        owner, block = list(blocks(doc.tree))[number]
        target = list(blocks(tree))[number][1]
        documented = isinstance(owner, ast.FunctionDef | ast.ClassDef | ast.Module)
        kinds = [
            "before",
            "after",
            "remove",
            *(["start"] if documented and block is owner.body else []),
        ]  # type: ignore[attr-defined]
        kind = chance.choice(kinds)
        index = chance.randrange(len(block))
        first = isinstance(owner, ast.Module) and index < 4  # docstring and __future__ go first
        edits, at = _edit_block(doc, owner, block, index, kind)
        if edits is None or (first and kind != "start"):
            continue
        applied = apply_fixes(doc, [Fix(kind, edits)])
        after = check_rewrite(applied)
        if kind == "remove":
            target[at : at + 1] = (
                [] if len(target) > 1 or isinstance(owner, ast.Module) else [ast.Pass()]
            )
        else:
            target.insert(at, ast.parse("N = 1").body[0])
        assert first_difference(after.tree, tree) is None, (kind, doc.location(block[index]))
