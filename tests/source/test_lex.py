"""The scanner agrees with `tokenize` on valid source."""

from __future__ import annotations

import io
import sysconfig
import tokenize
from pathlib import Path

import pytest

from torchferry.source.document import Document
from torchferry.source.lex import comments, lexemes, skip_trivia

SNIPPETS = [
    "x = 'a#b'  # c\n",
    "x = '''a\n#b'''  # c\n",
    'x = "a\\"#"  # c\n',
    "x = rb'\\'#'  # c\n",
    "x = 'a' 'b#' \"c'#\"  # d\n",
    "x = f'{a!r:>{w}}#{{#}}{d[\"k#\"]}'  # c\n",
    "x = f'{a:#x}' # c\n",
    "x = rf'\\{a}#' # c\n",
    "x = f'\\N{DIGIT ONE}#{a}' # c\n",
    "x = f'''{\na}#\n''' # c\n",
    "x = 'a\\\n#b' # c\n",
    "x = 'a\\\r\n#b' # c\r\n",
    "x = 1 # a # b\n#c\n#d",
    "xb'' # not a prefix\n".replace("xb''", "xb"),
    "x = ''; y = '' '''#'''  # c\n",
]
LIBRARY = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))


def expected_comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return [token.string.rstrip("\r") for token in tokens if token.type == tokenize.COMMENT]


@pytest.mark.parametrize("text", SNIPPETS)
def test_comments_of_snippets(text: str) -> None:
    found = [text[start:end] for _, start, end in comments(text)]
    assert found == expected_comments(text)
    lexed = [
        text[start:end] for kind, start, end in lexemes(text, 0, len(text)) if kind == "comment"
    ]
    assert lexed == found


def test_nested_quotes_of_python_3_12() -> None:
    text = "x = f'{d['#']}#' # c\n"
    assert [text[start:end] for _, start, end in comments(text)] == ["# c"]


@pytest.mark.parametrize("path", LIBRARY[::4], ids=lambda path: path.stem)
def test_comments_and_brackets_of_the_standard_library(path: Path) -> None:
    doc = Document.from_bytes(path.read_bytes(), str(path))
    text = doc.text
    assert [text[start:end] for _, start, end in comments(text)] == expected_comments(text)
    kinds = {tokenize.NAME: "name", tokenize.STRING: "string", tokenize.NUMBER: "number"}
    wanted = [
        (kinds[token.type], token.string)
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline)
        if token.type in kinds
    ]
    found = [
        (kind, text[start:end])
        for kind, start, end in lexemes(text, 0, len(text))
        if kind in kinds.values()
    ]
    if not hasattr(tokenize, "FSTRING_START"):
        assert found == wanted


def test_trivia_ends_at_the_next_token() -> None:
    text = "  # c\n \\\n\t\x0c x"
    assert text[skip_trivia(text, 0) :] == "x"
    assert skip_trivia("  ", 0) == 2
