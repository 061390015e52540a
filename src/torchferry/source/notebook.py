"""Jupyter notebooks as one document: code cells one after the other, magics masked.

The JSON is never printed anew: only the `source` of cells that changed is replaced in the file's
own text, so that outputs, metadata, indentation and escapes stay byte for byte. Line magics, shell
lines and help lines stand in the document as names that nothing defines; a cell that is no Python
(`%%bash`, a draft that does not parse) is one such name as a whole.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ..core.errors import RewriteRefused, SourceError, UnreadableSource
from .document import Document
from .json_places import JsonError, Place, places
from .parsing import parse

_MAGIC_LINE = re.compile(r"^(?P<indent>[ \t]*)(?P<magic>[%!?].*|(?!#)\S.*\?)$")
_SHELL_VALUE = re.compile(r"^(?P<head>[ \t]*[\w.\[\]'\", ]+=[ \t]*)(?P<magic>[%!].*)$")
#: Cell magics whose body is Python that runs in the notebook's own names.
_PYTHON_CELLS = re.compile(r"%%(?:time|timeit|capture|prun|python3?)\b(?!.*\s-n)")


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its source in the JSON text, and what stands for it in the document."""

    place: Place  #: of the value of "source", a string or a list of strings
    text: str
    shown: str
    masks: tuple[tuple[str, str], ...]  #: name in the document, text in the notebook


class NotebookDocument(Document):
    """The code of a notebook. `text` has a marker line before each cell, `# %% cell N`."""

    __slots__ = ("_cells", "_json", "_marker")

    def __init__(
        self, json_text: str, path: str, cells: list[Cell], marker: str, data: bytes
    ) -> None:
        self._json, self._cells, self._marker = json_text, cells, marker
        text = "".join(f"{marker} {n}\n{cell.shown}\n" for n, cell in enumerate(cells, 1))
        super().__init__(text, path, "utf-8", b"", data)

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> NotebookDocument:
        """Read a notebook; raises UnreadableSource when it is none, or none in Python."""
        try:
            text = data.decode("utf-8")
            content = json.loads(text)
            found = places(text)
        except (UnicodeDecodeError, ValueError, RecursionError, JsonError) as error:
            raise UnreadableSource(path, f"not a notebook: {error}") from None
        _check_kind(content, path)
        cells = list(_code_cells(content["cells"], found, text, path))
        marker = "# %% cell"
        while any(marker in cell.text for cell in cells):
            marker = marker.replace("%%", "%%%")
        return cls(text, path, cells, marker, data)

    @property
    def opaque_cells(self) -> list[tuple[int, int]]:
        """Cells that are no Python: the line of their marker in `text`, and their number."""
        starts = self.text.split("\n")
        return [
            (starts.index(f"{self._marker} {number}") + 1, number)
            for number, cell in enumerate(self._cells, 1)
            if cell.masks and cell.shown == cell.masks[0][0] and cell.masks[0][1] == cell.text
        ]

    def plain(self, text: str) -> str:
        """The document's text (or its new one) with the magics back in their places."""
        for cell in self._cells:
            for name, magic in cell.masks:
                text = text.replace(name, magic)
        return text

    def with_text(self, text: str) -> Document:
        """A plain document of the new code, for proof-reading."""
        return Document(text, self.path)

    def to_bytes(self, text: str | None = None) -> bytes:
        """The notebook with new code in its cells; RewriteRefused when it cannot come back."""
        assert self._data is not None
        if text is None or text == self.text:
            return self._data
        parts, last = [], 0
        for cell, shown in zip(self._cells, self._split(text), strict=True):
            if shown != cell.shown:
                start, end = cell.place.span
                parts += [self._json[last:start], self._source(cell, self._unmasked(cell, shown))]
                last = end
        return "".join([*parts, self._json[last:]]).encode("utf-8")

    def _split(self, text: str) -> list[str]:
        """The new text of each cell; every marker must be where it was."""
        lines = text.split("\n")
        starts = [n for n, line in enumerate(lines) if line.startswith(self._marker)]
        wanted = [f"{self._marker} {n}" for n in range(1, len(self._cells) + 1)]
        if [lines[start] for start in starts] != wanted or starts[:1] not in ([], [0]):
            raise RewriteRefused(f"{self.path}: not rewritten: a cell would lose its borders")
        ends = [*starts[1:], len(lines) - 1]
        return ["\n".join(lines[start + 1 : end]) for start, end in zip(starts, ends, strict=True)]

    def _unmasked(self, cell: Cell, shown: str) -> str:
        for name, magic in cell.masks:
            if shown.count(name) != 1:
                raise RewriteRefused(f"{self.path}: not rewritten: a magic would get lost")
            shown = shown.replace(name, magic)
        return shown

    def _source(self, cell: Cell, text: str) -> str:
        """The JSON of a new source, written as the old one is."""
        raw = self._json[cell.place.span.start : cell.place.span.end]
        ascii_only = raw.isascii()
        items = cell.place.items
        if items is None:
            return json.dumps(text, ensure_ascii=ascii_only)
        known = {json.loads(self._json[s:e]): self._json[s:e] for s, e in items}
        written = [
            known.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in _lines(text)
        ]
        base = cell.place.span.start
        opening = raw[: items[0].start - base] if items else "["
        closing = raw[items[-1].end - base :] if items else "]"
        between = self._json[items[0].end : items[1].start] if len(items) > 1 else "," + opening[1:]
        return opening + between.join(written) + closing


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    whole = [f"{line}\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole


def _check_kind(content: object, path: str) -> None:
    if not isinstance(content, dict):
        raise UnreadableSource(path, "not a notebook: no JSON object")
    if "worksheets" in content:
        raise UnreadableSource(
            path,
            "a notebook in format 3; bring it to format 4 with `jupyter nbconvert --to notebook`",
        )
    if not isinstance(content.get("cells"), list):
        raise UnreadableSource(path, "not a notebook: it has no cells")
    metadata = content.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key)
        language = part.get(name) if isinstance(part, dict) else None
        if isinstance(language, str) and language.lower() not in ("python", "ipython", "python3"):
            raise UnreadableSource(path, f"a notebook in {language}, not in Python")


def _code_cells(cells: list[object], found: Place, text: str, path: str) -> list[Cell]:
    """The code cells of a notebook, in order."""
    result: list[Cell] = []
    for number, cell in enumerate(cells):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        place = found.at("cells", number, "source")
        source = cell.get("source")
        if place is None or not isinstance(source, str | list):
            raise UnreadableSource(path, f"not a notebook: code cell {number + 1} has no source")
        if isinstance(source, list) and not all(isinstance(line, str) for line in source):
            raise UnreadableSource(path, f"not a notebook: cell {number + 1} has no text")
        code = source if isinstance(source, str) else "".join(source)
        result.append(_masked(place, code, len(result) + 1))
    return result


def _masked(place: Place, code: str, number: int) -> Cell:
    """What stands for a cell: its code with magics masked, or one name for all of it."""
    if not code.strip():
        return Cell(place, code, code, ())
    if "\r" not in code:
        if _parses(code):
            return Cell(place, code, code, ())
        masks: list[tuple[str, str]] = []
        lines = [_mask_line(line, n, number, masks) for n, line in enumerate(code.split("\n"))]
        shown = "\n".join(lines)
        foreign = code.lstrip().startswith("%%") and not _PYTHON_CELLS.match(code.lstrip())
        if masks and not foreign and _parses(shown):
            return Cell(place, code, shown, tuple(masks))
    name = f"__torchferry_cell_{number}__"
    return Cell(place, code, name, ((name, code),))


def _mask_line(line: str, line_number: int, cell: int, masks: list[tuple[str, str]]) -> str:
    found = _MAGIC_LINE.match(line) or _SHELL_VALUE.match(line)
    if not found or line.endswith("\\"):
        return line
    name = f"__torchferry_magic_{cell}_{line_number}__"
    masks.append((name, found.group("magic")))
    return line[: found.start("magic")] + name


def _parses(code: str) -> bool:
    try:
        parse(code, "<cell>")
    except SourceError:
        return False
    return True
