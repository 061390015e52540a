"""Statements put beside others, whatever shares the line with them."""

from __future__ import annotations

import ast

import pytest

from torchferry.source.build import (
    insert_at_block_start,
    insert_statement_after,
    insert_statement_before,
    remove_statement,
)

from .marked import rewritten

BEFORE = [
    ("⟦x⟧\n", "N = 1\nx\n"),
    ("⟦x⟧", "N = 1\nx"),
    ("a\n⟦x⟧\nb\n", "a\nN = 1\nx\nb\n"),
    ("if a:\n    ⟦x⟧\n", "if a:\n    N = 1\n    x\n"),
    ("if a:\n\t⟦x⟧\n", "if a:\n\tN = 1\n\tx\n"),
    ("class A:\n  def f(self):\n    ⟦x⟧\n", "class A:\n  def f(self):\n    N = 1\n    x\n"),
    # comments above belong to the statement
    ("a\n# c\n⟦x⟧\n", "a\nN = 1\n# c\nx\n"),
    ("# licence\n⟦x⟧\n", "# licence\nN = 1\nx\n"),
    ("a\n# ---- part\n⟦x⟧\n", "a\n# ---- part\nN = 1\nx\n"),
    ("a\n# %%\n⟦x⟧\n", "a\n# %%\nN = 1\nx\n"),
    ("if a:\n    # c\n    ⟦x⟧\n", "if a:\n    N = 1\n    # c\n    x\n"),
    ("if a:\n    b\n    # c\n# e\n    ⟦x⟧\n", "if a:\n    b\n    # c\n# e\n    N = 1\n    x\n"),
    # decorators
    ("a\n⟦@d\ndef f():\n    pass⟧\n", "a\nN = 1\n@d\ndef f():\n    pass\n"),
    ("a\n⟦@d(1)\n@e\nclass A:\n    pass⟧\n", "a\nN = 1\n@d(1)\n@e\nclass A:\n    pass\n"),
    # one line, several statements
    ("a; ⟦x⟧\n", "a; N = 1; x\n"),
    ("⟦a⟧; x\n", "N = 1\na; x\n"),
    ("a;⟦x⟧;b\n", "a;N = 1; x;b\n"),
    ("if c: ⟦x⟧\n", "if c:\n    N = 1\n    x\n"),
    ("if c: ⟦x⟧; y  # c\n", "if c:\n    N = 1\n    x; y  # c\n"),
    ("if c: x; ⟦y⟧\n", "if c: x; N = 1; y\n"),
    ("if c: x\nelse: ⟦y⟧\n", "if c: x\nelse:\n    N = 1\n    y\n"),
    ("try: x\nexcept E: ⟦y⟧\nfinally: z\n", "try: x\nexcept E:\n    N = 1\n    y\nfinally: z\n"),
    ("if a:\n  if c: ⟦x⟧\n", "if a:\n  if c:\n    N = 1\n    x\n"),
    ("def f(): ⟦return x⟧\n", "def f():\n    N = 1\n    return x\n"),
    ("if c: \\\n  ⟦x⟧\n", "if c:\n    N = 1\n    x\n"),
    ("if c and \\\n      d: ⟦x⟧\n", "if c and \\\n      d:\n    N = 1\n    x\n"),
    ("a; \\\n⟦x⟧\n", "a; \\\nN = 1; x\n"),
    ("a\n\x0c⟦x⟧\n", "a\nN = 1\n\x0cx\n"),
    ("é = 'ü'; ⟦x⟧\n", "é = 'ü'; N = 1; x\n"),
    ("a = '''\n  # c\n'''\n⟦x⟧\n", "a = '''\n  # c\n'''\nN = 1\nx\n"),
]


@pytest.mark.parametrize(("source", "expected"), BEFORE)
def test_before(source: str, expected: str) -> None:
    def build(doc, node):  # type: ignore[no-untyped-def]
        return insert_statement_before(doc, node, "N = 1")

    assert rewritten(source, build) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a\n⟦x⟧\n", "a\nif N:\n    M\nx\n"),
        ("if a:\n    ⟦x⟧\n", "if a:\n    if N:\n        M\n    x\n"),
        ("a; ⟦x⟧\n", "a\nif N:\n    M\nx\n"),
        ("if c: ⟦x⟧\n", "if c:\n    if N:\n        M\n    x\n"),
        ("if c: a; ⟦x⟧\n", None),
    ],
)
def test_block_before(source: str, expected: str | None) -> None:
    def build(doc, node):  # type: ignore[no-untyped-def]
        return insert_statement_before(doc, node, "if N:\n    M")

    assert rewritten(source, build) == expected


AFTER = [
    ("⟦x⟧\n", "x\nN = 1\n"),
    ("⟦x⟧", "x\nN = 1"),
    ("⟦x⟧  # c\nb\n", "x  # c\nN = 1\nb\n"),
    ("⟦x⟧;\nb\n", "x;\nN = 1\nb\n"),
    ("⟦x⟧; b\n", "x; N = 1; b\n"),
    ("a; ⟦x⟧\n", "a; x\nN = 1\n"),
    ("⟦f(\n    a,\n)⟧\nb\n", "f(\n    a,\n)\nN = 1\nb\n"),
    ("⟦x = a + \\\n    b⟧\nc\n", "x = a + \\\n    b\nN = 1\nc\n"),
    ("⟦x = '''\na'''⟧\nc\n", "x = '''\na'''\nN = 1\nc\n"),
    ("if a:\n    ⟦x⟧\nb\n", "if a:\n    x\n    N = 1\nb\n"),
    ("if a:\n    ⟦x⟧\n\n\nb\n", "if a:\n    x\n    N = 1\n\n\nb\n"),
    ("⟦if a:\n    x⟧\nb\n", "if a:\n    x\nN = 1\nb\n"),
    (
        "⟦if a:\n    x\nelse:\n    y  # c\n⟧".replace("  # c\n⟧", "⟧  # c\n"),
        "if a:\n    x\nelse:\n    y  # c\nN = 1\n",
    ),
    ("⟦for a in b: x⟧\nc\n", "for a in b: x\nN = 1\nc\n"),
    ("⟦for a in b: x;⟧\nc\n", "for a in b: x;\nN = 1\nc\n"),
    ("⟦@d\ndef f():\n    x⟧\n", "@d\ndef f():\n    x\nN = 1\n"),
    ("if a: ⟦x⟧\nb\n", "if a:\n    x\n    N = 1\nb\n"),
    ("if a: x; ⟦y⟧  # c\nb\n", "if a:\n    x; y  # c\n    N = 1\nb\n"),
    ("if a: ⟦x⟧; y\n", "if a: x; N = 1; y\n"),
    ("if a: ⟦x⟧\nelse: y\n", "if a:\n    x\n    N = 1\nelse: y\n"),
    ("if a: x\nelif b: ⟦y⟧", "if a: x\nelif b:\n    y\n    N = 1"),
    ("class A:\n\tx = 1; ⟦y = 2⟧\n", "class A:\n\tx = 1; y = 2\n\tN = 1\n"),
]


@pytest.mark.parametrize(("source", "expected"), AFTER)
def test_after(source: str, expected: str) -> None:
    def build(doc, node):  # type: ignore[no-untyped-def]
        return insert_statement_after(doc, node, "N = 1")

    assert rewritten(source, build) == expected


def test_elif_has_no_place_beside_it() -> None:
    source = "if a:\n    x\n⟦elif b:\n    y⟧\n"
    assert rewritten(source, lambda doc, node: insert_statement_before(doc, node, "N")) is None  # type: ignore[arg-type]
    assert rewritten(source, lambda doc, node: insert_statement_after(doc, node, "N")) is None  # type: ignore[arg-type]


def test_block_between_two_statements_of_a_line() -> None:
    def build(doc, node):  # type: ignore[no-untyped-def]
        return insert_statement_after(doc, node, "if N:\n    M")

    assert rewritten("if a:\n  ⟦x⟧; y\n", build) == "if a:\n  x\n  if N:\n      M\n  y\n"
    assert rewritten("if a: ⟦x⟧; y\n", build) is None


START = [
    ("⟦for a in b:\n    x⟧\n", "for a in b:\n    N = 1\n    x\n"),
    ("⟦for a in b:  # c\n    # e\n    x⟧\n", "for a in b:  # c\n    N = 1\n    # e\n    x\n"),
    ("⟦for a in b:\n\n    x⟧\n", "for a in b:\n    N = 1\n\n    x\n"),
    ("⟦for a in b: x⟧\n", "for a in b:\n    N = 1\n    x\n"),
    ("⟦while a: x; y⟧\n", "while a:\n    N = 1\n    x; y\n"),
    ("⟦with a as b:\n\tx⟧\n", "with a as b:\n\tN = 1\n\tx\n"),
    ("⟦for a in f(\n    b,\n):\n    x⟧\n", "for a in f(\n    b,\n):\n    N = 1\n    x\n"),
    ("⟦for a in b \\\n        :\n    x⟧\n", "for a in b \\\n        :\n    N = 1\n    x\n"),
    ("⟦def f():\n    x⟧\n", "def f():\n    N = 1\n    x\n"),
    ("⟦def f():\n    'doc'\n    x⟧\n", "def f():\n    'doc'\n    N = 1\n    x\n"),
    ("⟦def f():\n    '''doc\n    '''⟧\n", "def f():\n    '''doc\n    '''\n    N = 1\n"),
    ("⟦def f(): 'doc'⟧\n", "def f():\n    'doc'\n    N = 1\n"),
    ("⟦def f(): return a⟧\n", "def f():\n    N = 1\n    return a\n"),
    (
        "⟦def f(a: int = 1) -> dict[str, int]:\n    x⟧\n",
        "def f(a: int = 1) -> dict[str, int]:\n    N = 1\n    x\n",
    ),
    (
        "⟦class A:\n    @d\n    def f(self): pass⟧\n",
        "class A:\n    N = 1\n    @d\n    def f(self): pass\n",
    ),
    ("⟦class A(B):\n    'doc'; x = 1⟧\n", "class A(B):\n    'doc'; N = 1; x = 1\n"),
    ("⟦if a:\n    x\nelse:\n    y⟧\n", "if a:\n    N = 1\n    x\nelse:\n    y\n"),
    ("⟦async def f():\n    await x⟧\n", "async def f():\n    N = 1\n    await x\n"),
]


@pytest.mark.parametrize(("source", "expected"), START)
def test_block_start(source: str, expected: str) -> None:
    def build(doc, node):  # type: ignore[no-untyped-def]
        return insert_at_block_start(doc, node, "N = 1")

    assert rewritten(source, build) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("⟦x⟧\n", "N = 1\nx\n"),
        ("'doc'\n⟦x⟧\n", "'doc'\nN = 1\nx\n"),
        (
            "#!/usr/bin/python\n# -*- coding: utf-8 -*-\n⟦x⟧\n",
            "#!/usr/bin/python\n# -*- coding: utf-8 -*-\nN = 1\nx\n",
        ),
        (
            "'doc'\nfrom __future__ import annotations\n⟦x⟧\n",
            "'doc'\nfrom __future__ import annotations\nN = 1\nx\n",
        ),
        (
            "from __future__ import a; ⟦x⟧\n".replace("import a", "import division"),
            "from __future__ import division; N = 1; x\n",
        ),
    ],
)
def test_module_start(source: str, expected: str) -> None:
    assert (
        rewritten(source, lambda doc, node: insert_at_block_start(doc, doc.tree, "N = 1"))
        == expected
    )


def test_empty_module_has_no_place() -> None:
    assert insert_at_block_start.__doc__
    from torchferry.source.document import Document

    doc = Document.from_text("# nothing\n", "p.py")
    assert insert_at_block_start(doc, doc.tree, "N = 1") is None


REMOVED = [
    ("a\n⟦x⟧\nb\n", "a\nb\n"),
    ("a\n⟦x⟧", "a\n"),
    ("a\n⟦f(\n  1,\n)⟧\nb\n", "a\nb\n"),
    ("a; ⟦x⟧\n", "a\n"),
    ("⟦x⟧; b\n", "b\n"),
    ("a; ⟦x⟧; b\n", "a; b\n"),
    ("⟦x⟧;\nb\n", "b\n"),
    ("if a: ⟦x⟧\n", "if a: pass\n"),
    ("if a:\n    ⟦x⟧\nb\n", "if a:\n    pass\nb\n"),
    ("if a:\n    ⟦x⟧  # c\nb\n", "if a:\n    pass  # c\nb\n"),
    ("if a: ⟦x⟧; y\n", "if a: y\n"),
    ("if a: y; ⟦x⟧\n", "if a: y\n"),
    ("if a:\n    b\nelse:\n    ⟦x⟧\n", "if a:\n    b\nelse:\n    pass\n"),
    ("try:\n    b\nexcept E:\n    ⟦x⟧\n", "try:\n    b\nexcept E:\n    pass\n"),
    ("match a:\n    case 1:\n        ⟦x⟧\n", "match a:\n    case 1:\n        pass\n"),
    ("a\n⟦x⟧  # c\nb\n", None),
    ("a\n⟦if x: y⟧\nb\n", None),
]


@pytest.mark.parametrize(("source", "expected"), REMOVED)
def test_remove(source: str, expected: str | None) -> None:
    def build(doc, node):  # type: ignore[no-untyped-def]
        assert isinstance(node, ast.stmt)
        return remove_statement(doc, node)

    assert rewritten(source, build) == expected
