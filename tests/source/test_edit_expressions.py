"""Suffixes, wrappers and replacements keep the meaning of what they touch."""

from __future__ import annotations

import ast

import pytest

from torchferry.source.build import method_call, remove_method_call, replace, wrap_call
from torchferry.source.document import Document

from .marked import expression, rewritten

MOVED = [
    ("⟦x⟧\n", "x.to(d)\n"),
    ("y = ⟦x⟧", "y = x.to(d)"),
    ("y = ⟦x⟧  # c\n", "y = x.to(d)  # c\n"),
    ("y = ⟦x.y[0](z)⟧\n", "y = x.y[0](z).to(d)\n"),
    ("y = ⟦[a, b]⟧\n", "y = [a, b].to(d)\n"),
    ("y = ⟦[a for a in b]⟧\n", "y = [a for a in b].to(d)\n"),
    ("y = ⟦'a' 'b'⟧\n", "y = 'a' 'b'.to(d)\n"),
    ("y = ⟦f'{a}'⟧\n", "y = f'{a}'.to(d)\n"),
    # what binds looser gets parentheses
    ("y = ⟦a + b⟧\n", "y = (a + b).to(d)\n"),
    ("y = ⟦a @ b⟧ + c\n", "y = (a @ b).to(d) + c\n"),
    ("y = ⟦-a⟧\n", "y = (-a).to(d)\n"),
    ("y = ⟦not a⟧\n", "y = (not a).to(d)\n"),
    ("y = ⟦a < b⟧\n", "y = (a < b).to(d)\n"),
    ("y = ⟦a and b⟧\n", "y = (a and b).to(d)\n"),
    ("y = ⟦a if b else c⟧\n", "y = (a if b else c).to(d)\n"),
    ("y = ⟦lambda: a⟧\n", "y = (lambda: a).to(d)\n"),
    ("f(⟦a := b⟧)\n", "f((a := b).to(d))\n"),
    ("async def f():\n    y = ⟦await a⟧\n", "async def f():\n    y = (await a).to(d)\n"),
    ("def f():\n    y = ⟦yield a⟧\n", "def f():\n    y = (yield a).to(d)\n"),
    ("y = ⟦a, b⟧\n", "y = (a, b).to(d)\n"),
    ("y = ⟦(a), (b)⟧\n", "y = ((a), (b)).to(d)\n"),
    ("y = ⟦(a, b)⟧\n", "y = (a, b).to(d)\n"),
    ("y = ⟦(a,)⟧\n", "y = (a,).to(d)\n"),
    ("y = ⟦a,⟧\n", "y = (a,).to(d)\n"),
    ("y = ⟦5⟧\n", "y = (5).to(d)\n"),
    ("y = ⟦5.⟧\n", "y = (5.).to(d)\n"),
    ("y = ⟦True⟧\n", "y = True.to(d)\n"),
    ("return_ = [⟦a if b else c⟧ for a in x]\n", "return_ = [(a if b else c).to(d) for a in x]\n"),
    ("def f():\n    return⟦-a⟧\n", "def f():\n    return(-a).to(d)\n"),
    ("y = ⟦a + \\\n    b⟧\n", "y = (a + \\\n    b).to(d)\n"),
    # parentheses that are there
    ("y = (⟦a + b⟧)\n", "y = (a + b).to(d)\n"),
    ("y = ((⟦a⟧))\n", "y = ((a)).to(d)\n"),
    ("y = (  # c\n    ⟦a\n    + b⟧  # e\n)\n", "y = (  # c\n    a\n    + b  # e\n).to(d)\n"),
    ("y = (⟦a⟧ + b)\n", "y = (a.to(d) + b)\n"),
    ("f(⟦a + b⟧)\n", "f((a + b).to(d))\n"),
    ("f (⟦a + b⟧)\n", "f ((a + b).to(d))\n"),
    ("f()(⟦a + b⟧)\n", "f()((a + b).to(d))\n"),
    ("f[0](⟦a + b⟧)\n", "f[0]((a + b).to(d))\n"),
    ("f((⟦a + b⟧))\n", "f((a + b).to(d))\n"),
    ("f(\n  g\n  (⟦a⟧)\n)\n", "f(\n  g\n  (a.to(d))\n)\n"),
    ("f(⟦a⟧, b)\n", "f(a.to(d), b)\n"),
    ("f(k=⟦a + b⟧)\n", "f(k=(a + b).to(d))\n"),
    ("f(*⟦a⟧)\n", "f(*a.to(d))\n"),
    ("f(*⟦a or b⟧)\n", "f(*(a or b).to(d))\n"),
    ("f(**⟦a⟧)\n", "f(**a.to(d))\n"),
    ("f(⟦(x for x in y)⟧)\n", "f((x for x in y).to(d))\n"),
    ("y = x[⟦a⟧]\n", "y = x[a.to(d)]\n"),
    ("y = x[⟦a, b⟧]\n", "y = x[(a, b).to(d)]\n"),
    ("y = x[⟦a⟧:b]\n", "y = x[a.to(d):b]\n"),
    ("if (⟦a⟧):\n    pass\n", "if (a).to(d):\n    pass\n"),
    ("for a in ⟦b⟧: pass\n", "for a in b.to(d): pass\n"),
    ("for a in ⟦b, c⟧: pass\n", "for a in (b, c).to(d): pass\n"),
    ("while not(⟦a⟧): pass\n", "while not(a).to(d): pass\n"),
    ("with ⟦a⟧ as b: pass\n", "with a.to(d) as b: pass\n"),
    ("with (⟦a⟧): pass\n", "with (a).to(d): pass\n"),
    ("with (⟦a⟧ as b): pass\n", "with (a.to(d) as b): pass\n"),
    ("assert (⟦a⟧), b\n", "assert (a).to(d), b\n"),
    ("@⟦a⟧\ndef f(): pass\n", "@a.to(d)\ndef f(): pass\n"),
    ("class A(⟦b⟧): pass\n", "class A(b.to(d)): pass\n"),
    ("def f(a=⟦b⟧): pass\n", "def f(a=b.to(d)): pass\n"),
    ("def f(a=(⟦b⟧)): pass\n", "def f(a=(b).to(d)): pass\n"),
    ("x = 'é'; y = ⟦ü + é⟧\n", "x = 'é'; y = (ü + é).to(d)\n"),
    ("match (⟦x⟧):\n    case 1: pass\n", "match (x.to(d)):\n    case 1: pass\n"),
    ("y = ⟦a\n⟧".replace("\n⟧", "⟧\n"), "y = a.to(d)\n"),
    ("y = x if (⟦a⟧)else b\n", "y = x if (a).to(d)else b\n"),
    ("if x: y = ⟦a⟧; z\n", "if x: y = a.to(d); z\n"),
]


@pytest.mark.parametrize(("source", "expected"), MOVED)
def test_suffix(source: str, expected: str) -> None:
    assert (
        rewritten(source, lambda doc, node: method_call(doc, expression(doc, node), ".to(d)"))
        == expected
    )


def test_suffix_of_the_generator_of_a_call() -> None:
    doc = Document.from_text("f(x for x in y)\n", "p.py")
    call = doc.tree.body[0].value  # type: ignore[attr-defined]
    edits = method_call(doc, call.args[0], ".to(d)")
    assert edits is not None
    text = doc.text
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    assert text == "f((x for x in y).to(d))\n"


@pytest.mark.parametrize(
    "source",
    ["⟦x⟧ = 1\n", "del ⟦x⟧\n", "for ⟦x⟧ in y: pass\n", "f(⟦*x⟧)\n", "x[⟦1:2⟧]\n", "x[⟦1:2, 0⟧]\n"],
)
def test_what_is_no_value_gets_no_suffix(source: str) -> None:
    assert (
        rewritten(source, lambda doc, node: method_call(doc, expression(doc, node), ".to(d)"))
        is None
    )
    assert rewritten(source, lambda doc, node: wrap_call(doc, expression(doc, node), "F")) is None


@pytest.mark.parametrize(
    "source", ["f'{x}'\n", "f'''{\nx\n}'''\n", "f'{y:{x}}'\n", "g(f'{y}' f'{x}')\n"]
)
def test_inside_an_fstring_nothing_is_edited(source: str) -> None:
    doc = Document.from_text(source, "p.py")
    names = [node for node in ast.walk(doc.tree) if isinstance(node, ast.Name) and node.id in "xy"]
    for name in names:
        assert method_call(doc, name, ".cpu()") is None
        assert wrap_call(doc, name, "F") is None
        assert replace(doc, name, "z") is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = ⟦[a, b]⟧\n", "y = F([a, b])\n"),
        ("y = ⟦a + b⟧\n", "y = F(a + b)\n"),
        ("y = ⟦a, b⟧\n", "y = F((a, b))\n"),
        ("y = ⟦(a, b)⟧\n", "y = F((a, b))\n"),
        ("y = (⟦a⟧)\n", "y = F(a)\n"),
        ("y = ((⟦a⟧))\n", "y = (F(a))\n"),
        ("y = ((⟦(a, b)⟧))\n", "y = (F((a, b)))\n"),
        ("def f():\n    return(⟦a⟧)\n", "def f():\n    return F(a)\n"),
        ("def f():\n    return⟦[a]⟧\n", "def f():\n    return F([a])\n"),
        ("def f():\n    y = ⟦yield a⟧\n", "def f():\n    y = F((yield a))\n"),
        ("def f():\n    y = (⟦yield a⟧)\n", "def f():\n    y = F((yield a))\n"),
        ("f(⟦a := b⟧)\n", "f(F(a := b))\n"),
        ("f(⟦(x for x in y)⟧)\n", "f(F((x for x in y)))\n"),
        ("y = ⟦lambda: a⟧\n", "y = F(lambda: a)\n"),
        ("y = ⟦[\n    a,  # c\n    b,\n]⟧\n", "y = F([\n    a,  # c\n    b,\n])\n"),
    ],
)
def test_wrap(source: str, expected: str) -> None:
    assert (
        rewritten(source, lambda doc, node: wrap_call(doc, expression(doc, node), "F")) == expected
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = ⟦a + b⟧\n", "y = F(a + b, k=1)\n"),
        ("y = (⟦a⟧)\n", "y = F(a, k=1)\n"),
        ("y = ⟦a, b⟧\n", "y = F((a, b), k=1)\n"),
        ("def f():\n    y = ⟦yield a⟧\n", "def f():\n    y = F((yield a), k=1)\n"),
        ("f(⟦a if b else c⟧)\n", "f(F(a if b else c, k=1))\n"),
    ],
)
def test_wrap_with_more_arguments(source: str, expected: str) -> None:
    build = lambda doc, node: wrap_call(doc, expression(doc, node), "F", ", k=1")  # noqa: E731
    assert rewritten(source, build) == expected


@pytest.mark.parametrize(
    ("more", "expected"), [("", "f(F(x for x in y))\n"), (", 1", "f(F((x for x in y), 1))\n")]
)
def test_wrap_the_generator_of_a_call(more: str, expected: str) -> None:
    doc = Document.from_text("f(x for x in y)\n", "p.py")
    edits = wrap_call(doc, doc.tree.body[0].value.args[0], "F", more)  # type: ignore[attr-defined]
    text = doc.text
    for edit in reversed(edits or ()):
        text = text[: edit.start] + edit.text + text[edit.end :]
    assert text == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = ⟦x.cuda()⟧\n", "y = x\n"),
        ("y = ⟦x.cuda(0)⟧.float()\n", "y = x.float()\n"),
        ("y = ⟦(a + b).cuda()⟧\n", "y = (a + b)\n"),
        ("y = (⟦x\n     .cuda()⟧\n     .float())\n", "y = (x\n     .float())\n"),
        ("y = ⟦x \\\n    .cuda()⟧\n", "y = x\n"),
        ("y = ⟦x.cuda(\n    0,\n)⟧\n", "y = x\n"),
        ("y = ⟦x.cuda(  # c\n)⟧\n", None),
        ("y = ⟦(x.cuda)()⟧\n", None),
        ("y = ⟦cuda(x)⟧\n", None),
    ],
)
def test_method_call_is_removed(source: str, expected: str | None) -> None:
    assert (
        rewritten(source, lambda doc, node: remove_method_call(doc, expression(doc, node)))
        == expected
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("y = ⟦x⟧\n", "z", "y = z\n"),
        ("y = ⟦x⟧\n", "a if b else c", "y = a if b else c\n"),
        ("y = ⟦x⟧ + 1\n", "a if b else c", "y = (a if b else c) + 1\n"),
        ("y = ⟦x⟧.z\n", "a + b", "y = (a + b).z\n"),
        ("y = ⟦x⟧.z\n", "5", "y = (5).z\n"),
        ("y = ⟦x⟧.z\n", "'5'", "y = '5'.z\n"),
        ("y = (⟦x⟧).z\n", "a + b", "y = (a + b).z\n"),
        ("y = f(⟦x⟧, 1)\n", "a + b", "y = f(a + b, 1)\n"),
        ("y = f(k=⟦x⟧)\n", "lambda: 0", "y = f(k=lambda: 0)\n"),
        ("y = f(⟦x⟧)\n", "a, b", "y = f((a, b))\n"),
        ("y = -⟦x⟧\n", "a + b", "y = -(a + b)\n"),
        ("y = z % ⟦(x,)⟧\n", "a + b", "y = z % (a + b)\n"),
        ("y = z == ⟦x⟧\n", "a if b else c", "y = z == (a if b else c)\n"),
        ("y += ⟦x⟧\n", "a if b else c", "y += a if b else c\n"),
        ("y = 1 if⟦(x, y)⟧else 2\n", "z", "y = 1 if z else 2\n"),
        ("def f():\n    return⟦[x]⟧\n", "z", "def f():\n    return z\n"),
        ("y = ⟦x⟧\n", "f(\n    a,\n)", "y = f(\n    a,\n)\n"),
        ("y = ⟦x⟧\n", "a\n+ b", "y = (a\n+ b)\n"),
        ("y = ⟦f(  # c\n)⟧\n", "z", None),
        ("y = ⟦f(  # c\n)⟧\n", "g(  # c\n)", "y = g(  # c\n)\n"),
        ("y = ⟦x⟧\n", "not valid(", None),
        ("while ⟦x⟧: pass\n", "a or b", "while (a or b): pass\n"),
        ("y = [⟦x⟧ for x in z]\n", "a if b else c", "y = [(a if b else c) for x in z]\n"),
    ],
)
def test_replace(source: str, text: str, expected: str | None) -> None:
    assert (
        rewritten(source, lambda doc, node: replace(doc, expression(doc, node), text)) == expected
    )
