"""Documents: bytes to text to tree and back, and places that are right in every odd file."""

from __future__ import annotations

import ast
import codecs
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchferry.core.errors import RewriteRefused, UnparsableSource, UnreadableSource
from torchferry.core.span import Span
from torchferry.source.document import Document


def names(doc: Document) -> list[str]:
    return [doc.source(node) for node in ast.walk(doc.tree) if isinstance(node, ast.Name)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aa = bb\n", ["aa", "bb"]),
        ("aa = 1\r\nbb = '''x\r\n'''; cc\r\n", ["aa", "bb", "cc"]),
        ("aa = 1\rbb = 2\r", ["aa", "bb"]),
        ("aa = 1\r\nbb = 2\ncc = 3\rdd\n", ["aa", "bb", "cc", "dd"]),
        ("é = 1; bb = 'é'; cc\n", ["é", "bb", "cc"]),
        ("aa = '\U0001f600'; bb\n", ["aa", "bb"]),
        ("aa = 1\n\x0cbb = 2\n", ["aa", "bb"]),
        ("if aa:\n\tbb\n", ["aa", "bb"]),
        ("aa = 'x\u2028y'; bb\ncc\n", ["aa", "bb", "cc"]),
        ("aa = 'x\x1cy\x85z\x0b'; bb\ncc", ["aa", "bb", "cc"]),
        ("aa = bb + \\\n    cc\n", ["aa", "bb", "cc"]),
    ],
)
def test_places_are_characters_of_the_text(text: str, expected: list[str]) -> None:
    assert names(Document.from_text(text, "p.py")) == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_location_counts_lines_and_columns_from_one(newline: str) -> None:
    doc = Document.from_text(newline.join(["x = 1", "é = 'ü'; yy", ""]), "p.py")
    node = doc.tree.body[2]
    location = doc.location(node)
    assert location == ("p.py", 2, 10, 2, 12)
    assert doc.location(doc.span(node)) == location


def test_span_of_a_node_without_a_place_is_refused() -> None:
    doc = Document.from_text("a + b", "p.py")
    operator = doc.tree.body[0].value.op  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="Add nodes have no place"):
        doc.span(operator)
    assert doc.span(doc.tree) == Span(0, 5)


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        (b"x = 1", "utf-8", "x = 1"),
        (codecs.BOM_UTF8 + "é = 1\r\n".encode(), "utf-8", "é = 1\r\n"),
        (codecs.BOM_UTF8 + b"# coding: utf-8\nx\n", "utf-8", "# coding: utf-8\nx\n"),
        (
            b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
            "latin-1",
            "# -*- coding: latin-1 -*-\nx = 'é'\n",
        ),
        (b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'\x80'", "cp1252", None),
        (b"#\r# coding: latin-1\r'\xe9'\r", "latin-1", "#\r# coding: latin-1\r'é'\r"),
        (b"x = 1\n# coding: latin-1\n", "utf-8", "x = 1\n# coding: latin-1\n"),
    ],
)
def test_bytes_are_decoded_as_python_does(data: bytes, encoding: str, text: str | None) -> None:
    doc = Document.from_bytes(data, "p.py")
    assert doc.encoding == encoding
    assert text is None or doc.text == text
    assert doc.to_bytes() == data
    assert doc.tree is doc.tree
    assert doc.to_bytes(doc.text + "#") == data + b"#"


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (b"x = '\xe9'\n", "byte 0xe9 is not utf-8, and no coding cookie", 1),
        (b"\n\r\nx = '\xe9'\n", "byte 0xe9", 3),
        (b"a\0b", "null byte at offset 1", 0),
        (b"\x7fELF\x02\0\0", "null byte", 0),
        (codecs.BOM_UTF16_LE + "x".encode("utf-16-le"), "UTF-16", 0),
        (b"# coding: klingon\n", "unknown encoding 'klingon'", 1),
        (b"\n# coding: rot13\n", "no text encoding", 2),
        (b"# coding: ascii\n\xe9\n", "is not ascii", 2),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "byte order mark", 1),
    ],
)
def test_what_is_not_text_is_named(data: bytes, reason: str, line: int) -> None:
    with pytest.raises(UnreadableSource) as caught:
        Document.from_bytes(data, "p.py")
    assert reason in caught.value.reason
    assert caught.value.line == line


def test_text_that_the_encoding_cannot_hold_is_refused() -> None:
    doc = Document.from_bytes(b"# coding: latin-1\nx\n", "p.py")
    with pytest.raises(RewriteRefused, match="latin-1"):
        doc.to_bytes(doc.text + "# \u2192")


def test_an_encoding_with_two_spellings_of_a_text_is_refused_for_edits() -> None:
    data = b"# coding: utf-7\nx = '+AGEAYg-'\n"  # decodes to 'ab', which encodes as plain ab
    doc = Document.from_bytes(data, "p.py")
    assert doc.to_bytes() == data
    with pytest.raises(RewriteRefused, match="not the usual utf-7"):
        doc.to_bytes(doc.text + "y\n")


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("x = 1\nprint 'a'\n", "Python 2 source (print statement)", 2),
        ("print >>f, 'a'\nprint 'b'\n", "Python 2 source (print statement)", 2),
        ("exec 'a'\n", "Python 2 source (exec statement)", 1),
        ("try:\n    x\nexcept E, e:\n    y\n", "Python 2 source (except clause", 3),
        ("try:\n    x\nexcept (E, F), e:\n    y\n", "Python 2 source (except clause", 3),
        ("raise E, 'x'\n", "Python 2 source (raise", 1),
        ("x = `y`\n", "Python 2 source (backticks)", 1),
        ("x = 10L\n", "Python 2 source (long", 1),
        ("x = 0777\n", "Python 2 source (octal", 1),
        ("if a <> b:\n    pass\n", "Python 2 source (`<>`", 1),
        ("def f(a, (b, c)):\n    pass\n", "Python 2 source (tuple parameter)", 1),
        ("if x:\n\ty\n        z\n", "Python 2 source (tabs and spaces", 3),
        ("x = (\n", "syntax error: '(' was never closed", 1),
        ("x = 1\n  y = 2\n", "syntax error: unexpected indent", 2),
        ("(" * 500, "nested", 1),
        ("x = " + "-" * 100_000 + "1", "nested too deeply", 0),
        ("x = '\ud800'", "surrogate", 1),
        ("x\0", "null bytes", 0),
    ],
)
def test_unparsable_text_is_explained(text: str, reason: str, line: int) -> None:
    with pytest.raises(UnparsableSource) as caught:
        _ = Document.from_text(text, "p.py").tree
    assert reason in caught.value.reason
    assert caught.value.line == line


def test_async_as_a_name_is_read_and_only_arguments_are_reported() -> None:
    text = (
        "x.cuda(async=True)  # async=True\n"
        "s = 'async=True'\n"
        "async def f():\n    async with a: pass\n    async for b in c: pass\n"
        "    return [d async for d in e]\n"
        "def cuda(self, async=False): self.async = async\n"
        "y.cuda(0, async = False)\n"
    )
    doc = Document.from_text(text, "p.py")
    assert [doc.location(span)[:3] for span in doc.legacy_async] == [
        ("p.py", 1, 8),
        ("p.py", 8, 11),
    ]
    assert all(text[start:end] == "async" for start, end in doc.legacy_async)
    assert "asynk" not in ast.dump(doc.tree)
    assert doc.has_legacy_names
    assert doc.text == text


def test_modern_source_has_no_legacy_names() -> None:
    doc = Document.from_text("async def f():\n    await g()\n", "p.py")
    assert doc.legacy_async == ()
    assert not doc.has_legacy_names


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("x = 1\n", "    "),
        ("if x:\n  y\n", "  "),
        ("if x:\n\ty\n", "\t"),
        ("if x: y\nwhile z:\n   w\n", "   "),
        ("class A:\n  def f(self):\n     pass\n", "  "),
    ],
)
def test_indent_unit_is_the_file_s_own(text: str, unit: str) -> None:
    assert Document.from_text(text, "p.py").indent_unit == unit


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a\n", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\r", "\r"), ("a\r\nb\nc\n", "\n")],
)
def test_newline_is_the_most_used(text: str, newline: str) -> None:
    assert Document.from_text(text, "p.py").newline == newline


def test_lines() -> None:
    doc = Document.from_text("ab\r\n  c\rd\n\n", "p.py")
    assert [doc.line_text(line) for line in range(1, 6)] == ["ab", "  c", "d", "", ""]
    assert doc.indent_of(2) == "  "
    assert doc.line_of(5) == 2
    assert doc.line_start(99) == len(doc.text)


def test_parsing_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Document.from_text("x = '\\d'\nif x is 1: pass\nassert (x, 1)\n", "p.py").tree


def test_nodes_in_fstrings_are_known() -> None:
    doc = Document.from_text("f'{a}' + b\n", "p.py")
    inside = {
        node.id: doc.in_fstring(node) for node in ast.walk(doc.tree) if isinstance(node, ast.Name)
    }
    assert inside == {"a": True, "b": False}


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60),
    st.sampled_from(["", "\ufeff"]),
)
def test_every_text_goes_back_byte_for_byte(text: str, mark: str) -> None:
    data = (mark + "#" + text).encode()
    try:
        doc = Document.from_bytes(data, "p.py")
    except UnreadableSource:
        return
    assert doc.to_bytes() == data
    assert doc.to_bytes(doc.text + " ") == data + b" "


@given(st.binary(max_size=80))
def test_every_byte_string_is_read_or_refused(data: bytes) -> None:
    try:
        doc = Document.from_bytes(data, "p.py")
    except UnreadableSource:
        return
    assert doc.to_bytes() == data
    try:
        tree = doc.tree
    except UnparsableSource:
        return
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            start, end = doc.span(node)
            assert 0 <= start <= end <= len(doc.text)
