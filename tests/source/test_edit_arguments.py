"""`add_keyword` and `remove_argument` in every layout that an argument list can have."""

from __future__ import annotations

import ast

import pytest

from torchferry.source.build import add_keyword, remove_argument

from .marked import expression, marked, rewritten


def with_device(source: str, **options: bool) -> str | None:
    def build(doc, node):  # type: ignore[no-untyped-def]
        return add_keyword(doc, expression(doc, node), "device", "d", **options)

    return rewritten(source, build)


ADDED = [
    ("⟦f()⟧\n", "f(device=d)\n"),
    ("⟦f( )⟧\n", "f(device=d )\n"),
    ("⟦f(a)⟧\n", "f(a, device=d)\n"),
    ("⟦f(a)⟧", "f(a, device=d)"),
    ("⟦f(a,)⟧\n", "f(a, device=d,)\n"),
    ("⟦f(a , )⟧\n", "f(a , device=d, )\n"),
    ("⟦f( a )⟧\n", "f( a, device=d )\n"),
    ("⟦f((a))⟧\n", "f((a), device=d)\n"),
    ("⟦f((a, b))⟧\n", "f((a, b), device=d)\n"),
    ("⟦f(((a)),)⟧\n", "f(((a)), device=d,)\n"),
    ("⟦f(k=(a))⟧\n", "f(k=(a), device=d)\n"),
    ("⟦f(k=(a),)⟧\n", "f(k=(a), device=d,)\n"),
    ("⟦f(lambda: 0)⟧\n", "f(lambda: 0, device=d)\n"),
    ("⟦f(a if b else c)⟧\n", "f(a if b else c, device=d)\n"),
    ("⟦f(a := b)⟧\n", "f(a := b, device=d)\n"),
    ("⟦f(x for x in y)⟧\n", "f((x for x in y), device=d)\n"),
    ("⟦f((x for x in y))⟧\n", "f((x for x in y), device=d)\n"),
    ("⟦f([x for x in y])⟧\n", "f([x for x in y], device=d)\n"),
    ("⟦(f)(a)⟧\n", "(f)(a, device=d)\n"),
    ("⟦((f))(a)⟧\n", "((f))(a, device=d)\n"),
    ("⟦f (a)⟧\n", "f (a, device=d)\n"),
    ("⟦f(a)(b)⟧\n", "f(a)(b, device=d)\n"),
    ("⟦f(')', \")\")⟧\n", "f(')', \")\", device=d)\n"),
    ("⟦f('a' 'b')⟧\n", "f('a' 'b', device=d)\n"),
    ("⟦f(f'{a}')⟧\n", "f(f'{a}', device=d)\n"),
    ("⟦f(r'\\')', b'x')⟧\n", "f(r'\\')', b'x', device=d)\n"),
    ("⟦f('é', ü)⟧\n", "f('é', ü, device=d)\n"),
    ("if x: ⟦f(a)⟧; y\n", "if x: f(a, device=d); y\n"),
    ("x = ⟦f(a)⟧ + \\\n    b\n", "x = f(a, device=d) + \\\n    b\n"),
    (
        "\tif x:\n\t\t⟦f(a)⟧\n".replace("\tif", "if").replace("\t\t", "\t"),
        "if x:\n\tf(a, device=d)\n",
    ),
    ("@⟦f(a)⟧\ndef g(): pass\n", "@f(a, device=d)\ndef g(): pass\n"),
    ("def g(x=⟦f(a)⟧): pass\n", "def g(x=f(a, device=d)): pass\n"),
    ("x = [⟦f(a)⟧ for a in b]\n", "x = [f(a, device=d) for a in b]\n"),
    ("x\x0c = ⟦f(a)⟧\n", "x\x0c = f(a, device=d)\n"),
    # comments in the brackets
    ("⟦f(  # c\n)⟧\n", "f(device=d  # c\n)\n"),
    ("⟦f(\n    # c\n)⟧\n", "f(device=d\n    # c\n)\n"),
    ("⟦f(a  # c\n)⟧\n", "f(a, device=d  # c\n)\n"),
    ("⟦f(a,  # c\n)⟧\n", "f(a, device=d,  # c\n)\n"),
    ("⟦f(a,  # ) c\n  b)⟧\n", "f(a,  # ) c\n  b, device=d)\n"),
    # one argument a line
    ("⟦f(\n    a,\n    b,\n)⟧\n", "f(\n    a,\n    b,\n    device=d,\n)\n"),
    ("⟦f(\n    a,\n    b\n)⟧\n", "f(\n    a,\n    b,\n    device=d\n)\n"),
    ("⟦f(\n    a,\n    b,  # c\n)⟧\n", "f(\n    a,\n    b,  # c\n    device=d,\n)\n"),
    ("⟦f(\n    a,\n    b  # c\n)⟧\n", "f(\n    a,\n    b,  # c\n    device=d\n)\n"),
    ("⟦f(\n    a,\n    # c\n)⟧\n", "f(\n    a,\n    device=d,\n    # c\n)\n"),
    ("⟦f(\n\ta,\n)⟧\n", "f(\n\ta,\n\tdevice=d,\n)\n"),
    ("⟦f(\n    a, b,\n)⟧\n", "f(\n    a, b, device=d,\n)\n"),
    ("⟦f(\n    a\n    , b\n)⟧\n", "f(\n    a\n    , b, device=d\n)\n"),
    ("⟦f(\n    (\n        a\n    ),\n)⟧\n", "f(\n    (\n        a\n    ),\n    device=d,\n)\n"),
    ("⟦f(\n    '''x\n)''',\n)⟧\n", "f(\n    '''x\n)''',\n    device=d,\n)\n"),
    ("⟦f(a,\n  b)⟧\n", "f(a,\n  b, device=d)\n"),
]


@pytest.mark.parametrize(("source", "expected"), ADDED)
def test_keyword_is_added(source: str, expected: str) -> None:
    assert with_device(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "⟦f(device=c)⟧\n",
        "⟦f(a, device = None)⟧\n",
        "⟦f(*a)⟧\n",
        "⟦f(**k)⟧\n",
        "⟦f(a, *b, c=1, **k)⟧\n",
    ],
)
def test_keyword_that_may_be_there_is_not_added(source: str) -> None:
    assert with_device(source) is None


def test_call_in_an_fstring_is_left_alone() -> None:
    doc, _ = marked("⟦x⟧ = f'{f(a)}'\n")
    call = next(node for node in ast.walk(doc.tree) if isinstance(node, ast.Call))
    assert add_keyword(doc, call, "device", "d") is None
    assert remove_argument(doc, call, call.args[0]) is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("⟦f(*a)⟧\n", "f(*a, device=d)\n"),
        ("⟦f(*a, b=1)⟧\n", "f(*a, b=1, device=d)\n"),
        ("⟦f(**k)⟧\n", "f(device=d, **k)\n"),
        ("⟦f(a, **k)⟧\n", "f(a, device=d, **k)\n"),
        ("⟦f(a,\n  **k,\n)⟧\n", "f(a,\n  device=d, **k,\n)\n"),
        ("⟦f(**k, **m)⟧\n", "f(device=d, **k, **m)\n"),
        ("⟦f(*a or b)⟧\n", "f(*a or b, device=d)\n"),
    ],
)
def test_stars_that_cannot_hold_the_keyword(source: str, expected: str) -> None:
    assert with_device(source, past_star=True, past_double_star=True) == expected


@pytest.mark.parametrize(
    ("source", "name", "expected"),
    [
        ("⟦f(x=1)⟧\n", "x", "f()\n"),
        ("⟦f(a, x=1)⟧\n", "x", "f(a)\n"),
        ("⟦f(a, x=(1),)⟧\n", "x", "f(a,)\n"),
        ("⟦f(x=1, y=2)⟧\n", "x", "f(y=2)\n"),
        ("⟦f((a), x=1, y=2)⟧\n", "x", "f((a), y=2)\n"),
        ("⟦f(\n    a,\n    x=1,\n)⟧\n", "x", "f(\n    a,\n)\n"),
        ("⟦f(\n    x=1,\n    a=(2),\n)⟧\n", "x", "f(\n    a=(2),\n)\n"),
        ("⟦f(x=1  # c\n)⟧\n", "x", None),
        ("⟦f(a, # c\n x=1)⟧\n", "x", None),
    ],
)
def test_argument_is_removed(source: str, name: str, expected: str | None) -> None:
    def build(doc, node):  # type: ignore[no-untyped-def]
        call = expression(doc, node)
        return remove_argument(doc, call, next(k for k in call.keywords if k.arg == name))

    assert rewritten(source, build) == expected
