"""A source file as text, tree and places; what is not edited goes back byte for byte."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right

from ..core.errors import RewriteRefused
from ..core.span import Location, Span
from .decoding import decode
from .parsing import parse

_LINE_END = re.compile(r"\r\n|\r|\n")
_INDENT = re.compile(r"[ \t\f]*")


class Document:
    """One Python source. Lines are counted from 1 and end at \\n, \\r\\n or \\r, as for Python."""

    __slots__ = (
        "_anchors",
        "_ascii",
        "_data",
        "_fstring_nodes",
        "_indent_unit",
        "_legacy_async",
        "_line_starts",
        "_masked",
        "_tree",
        "bom",
        "encoding",
        "path",
        "regions",
        "text",
    )

    def __init__(
        self,
        text: str,
        path: str,
        encoding: str = "utf-8",
        bom: bytes = b"",
        data: bytes | None = None,
    ) -> None:
        self.text, self.path, self.encoding, self.bom = text, path, encoding, bom
        self._data = data
        self._ascii = text.isascii()
        self._tree: ast.Module | None = None
        self._masked: tuple[Span, ...] = ()
        self._legacy_async: tuple[Span, ...] | None = None
        self._line_starts: list[int] | None = None
        self._indent_unit: str | None = None
        self._fstring_nodes: frozenset[int] | None = None
        self._anchors: list[int] | None = None
        self.regions: dict[int, object] = {}  #: a place for `tokens` to keep what it scanned

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> Document:
        """Decode a file; raises UnreadableSource when it is not Python text."""
        decoded = decode(data, path)
        return cls(decoded.text, path, decoded.encoding, decoded.bom, data)

    @classmethod
    def from_text(cls, text: str, path: str) -> Document:
        """A document of text that is already decoded; it is written as UTF-8."""
        return cls(text, path)

    def with_text(self, text: str) -> Document:
        """The same file, in the same encoding, with another text."""
        return Document(text, self.path, self.encoding, self.bom)

    def plain(self, text: str) -> str:
        """The text, or a new one for this document, as people should read it."""
        return text

    def to_bytes(self, text: str | None = None) -> bytes:
        """The file's bytes, with `text` in place of its own text.

        Raises RewriteRefused when the file's encoding cannot hold the text, or when it has no
        single way to write it, so that untouched lines would change.
        """
        if (text is None or text == self.text) and self._data is not None:
            return self._data
        try:
            data = (self.text if text is None else text).encode(self.encoding)
            if self._data is not None and self.encoding.lower() not in ("utf-8", "utf8"):
                faithful = self.bom + self.text.encode(self.encoding) == self._data
            else:
                faithful = True
        except UnicodeEncodeError as error:
            what = error.object[error.start : error.end]
            reason = f"{self.path}: {what!r} cannot be written in its encoding {self.encoding}"
            raise RewriteRefused(reason) from None
        if not faithful:
            reason = f"{self.path}: its bytes are not the usual {self.encoding} for its text"
            raise RewriteRefused(reason)
        return self.bom + data

    # ---- lines

    @property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line, and of the empty line after a last \\n."""
        starts = self._line_starts
        if starts is None:
            starts = [0]
            if "\r" in self.text:
                starts += [found.end() for found in _LINE_END.finditer(self.text)]
            else:
                place = self.text.find("\n")
                while place >= 0:
                    starts.append(place + 1)
                    place = self.text.find("\n", place + 1)
            self._line_starts = starts
        return starts

    def line_start(self, lineno: int) -> int:
        """Offset of the first character of a line; the text's length past its last line."""
        starts = self.line_starts
        return starts[lineno - 1] if lineno <= len(starts) else len(self.text)

    def line_of(self, offset: int) -> int:
        """The line that holds the character at `offset`."""
        return bisect_right(self.line_starts, offset)

    def line_end(self, lineno: int) -> int:
        """Offset of a line's end, before its line break."""
        end = self.line_start(lineno + 1)
        if lineno >= len(self.line_starts):
            return end
        return end - (2 if self.text.startswith("\r\n", end - 2) and end >= 2 else 1)

    def line_text(self, lineno: int) -> str:
        """A line without its line break."""
        return self.text[self.line_start(lineno) : self.line_end(lineno)]

    def indent_of(self, lineno: int) -> str:
        """The white space that a line starts with (what follows a form feed, as for Python)."""
        found = _INDENT.match(self.text, self.line_start(lineno))
        indent = found.group() if found else ""
        return indent[indent.rfind("\f") + 1 :]

    @property
    def newline(self) -> str:
        """The line break that the file uses most; \\n when it has none."""
        if "\r" not in self.text:
            return "\n"
        pairs = self.text.count("\r\n")
        counts = {
            "\n": self.text.count("\n") - pairs,
            "\r\n": pairs,
            "\r": self.text.count("\r") - pairs,
        }
        return max(counts, key=lambda name: counts[name])

    @property
    def indent_unit(self) -> str:
        """One step of indentation as the file's first block has it; four spaces without one."""
        if self._indent_unit is None:
            self._indent_unit = self._first_indent() or "    "
        return self._indent_unit

    def _first_indent(self) -> str:
        for node in ast.walk(self.tree):
            body = getattr(node, "body", None)
            if not isinstance(body, list) or not body or not hasattr(node, "lineno"):
                continue
            outer, inner = self.indent_of(node.lineno), self.indent_of(body[0].lineno)
            first = self.offset(body[0].lineno, body[0].col_offset)
            begin = self.line_start(body[0].lineno)
            continued = self.text[:begin].endswith(("\\\n", "\\\r", "\\\r\n"))
            alone = self.text[begin:first].isspace() and not continued
            if alone and inner.startswith(outer) and len(inner) > len(outer):
                return inner[len(outer) :]
        return ""

    # ---- the tree and its places

    @property
    def tree(self) -> ast.Module:
        """The syntax tree; raises UnparsableSource. `async` as a name is read as one."""
        if self._tree is None:
            self._tree, self._masked = parse(self.text, self.path)
        return self._tree

    @property
    def legacy_async(self) -> tuple[Span, ...]:
        """The word `async` of each argument `async=...`, a syntax error since Python 3.7."""
        if self._legacy_async is None:
            tree, found = self.tree, []
            if self._masked:
                for node in ast.walk(tree):
                    if isinstance(node, ast.keyword) and node.arg == "async":
                        start = self.offset(node.lineno, node.col_offset)
                        found.append(Span(start, start + len("async")))
            self._legacy_async = tuple(sorted(found))
        return self._legacy_async

    @property
    def has_legacy_names(self) -> bool:
        """Whether `async` is used as a name, so that today's Python cannot run the file."""
        return bool(self.tree and self._masked)

    def offset(self, lineno: int, col_offset: int) -> int:
        """The character offset of an ast position (line from 1, column in UTF-8 bytes)."""
        start = self.line_start(lineno)
        if self._ascii:
            return start + col_offset
        line = self.text[start : start + col_offset]
        if line.isascii():
            return start + col_offset
        return start + len(line.encode()[:col_offset].decode("utf-8", "replace"))

    def span(self, node: ast.AST) -> Span:
        """Where a node stands; a module is the whole text. Grouping parentheses are not part of it.

        Raises ValueError for nodes that have no place (operators, `arguments`, comprehensions).
        """
        if isinstance(node, ast.Module):
            return Span(0, len(self.text))
        lineno = getattr(node, "lineno", None)
        if lineno is None:
            raise ValueError(f"{type(node).__name__} nodes have no place in the source")
        end_lineno, end_col = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        start = self.offset(lineno, node.col_offset)  # type: ignore[attr-defined]
        return Span(start, self.offset(end_lineno, end_col))

    def source(self, node: ast.AST) -> str:
        """The text of a node, as it stands in the file."""
        start, end = self.span(node)
        return self.text[start:end]

    def location(self, place: Span | ast.AST) -> Location:
        """Lines and columns from 1, columns in characters; the end column is one past the last."""
        start, end = place if isinstance(place, Span) else self.span(place)
        line, end_line = self.line_of(start), self.line_of(end)
        column = start - self.line_start(line) + 1
        return Location(self.path, line, column, end_line, end - self.line_start(end_line) + 1)

    def in_fstring(self, node: ast.AST) -> bool:
        """Whether a node is inside an f-string, where places are wrong before Python 3.12."""
        if self._fstring_nodes is None:
            inside: set[int] = set()
            for outer in ast.walk(self.tree):
                if isinstance(outer, ast.JoinedStr) or type(outer).__name__ == "TemplateStr":
                    inside.update(id(inner) for inner in ast.walk(outer) if inner is not outer)
            self._fstring_nodes = frozenset(inside)
        return id(node) in self._fstring_nodes

    @property
    def statement_starts(self) -> list[int]:
        """Offsets at which a statement starts (at `def` or `class`, not at a decorator), sorted."""
        if self._anchors is None:
            starts: list[int] = []
            blocks: list[ast.AST] = [self.tree]
            while blocks:
                for child in ast.iter_child_nodes(blocks.pop()):
                    if isinstance(child, ast.stmt):
                        starts.append(self.offset(child.lineno, child.col_offset))
                        blocks.append(child)
                    elif isinstance(child, ast.excepthandler | ast.match_case):
                        blocks.append(child)
            self._anchors = sorted(starts)
        return self._anchors
