"""The one applier of edits: whole fixes or nothing, whatever order they come in."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from ..core.edit import Edit, Fix, Safety
from ..core.span import Span
from .document import Document
from .lex import lexemes

_KEYWORD = re.compile(r"[\s,]*(\w+)=(?!=)")


#: A suffix at the end of changed text, or a function's name at its start, may have been meant for
#: an operand that is no longer there: nobody can tell, so these exclude each other.
_OPPOSITE = {"suffix": "ended", "ended": "suffix", "prefix": "begun", "begun": "prefix"}


class _Rank(IntEnum):
    """The order of insertions at one place: what ends the text before it comes first."""

    SUFFIX = 0  # .to(device)
    CLOSING = 1  # ).to(device)
    SEPARATED = 2  # , device=device
    LINE_AFTER = 3  # \n x = 1
    LINE_BEFORE = 4  # x = 1 \n
    OPENING = 5  # nn.ModuleList(
    OTHER = 6


class _Piece(NamedTuple):
    """An edit, or the two edits that open and close one pair of brackets."""

    edits: tuple[Edit, ...]

    @property
    def extent(self) -> Span:
        return Span(self.edits[0].start, self.edits[-1].end)


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome: the new text, which fixes it holds, and where old places are now."""

    before: Document
    text: str
    applied: tuple[Fix, ...]
    refused: tuple[Fix, ...]
    edits: tuple[Edit, ...]  #: in the order of the text
    edited_lines: tuple[int, ...]  #: lines of the new text, from 1, that differ; no blank ones

    def new_offset(self, offset: int) -> int:
        """Where the character at `offset` of the old text stands in the new one."""
        shift = 0
        for edit in self.edits:
            if edit.end > offset:
                if edit.start <= offset:  # the character was replaced
                    return edit.start + shift
                break
            shift += len(edit.text) - (edit.end - edit.start)
        return offset + shift

    def new_line(self, line: int) -> int:
        """The line (from 1) of the new text that line `line` of the old one became."""
        start = self.before.line_start(line)
        text = self.before.line_text(line)
        offset = self.new_offset(start + len(text) - len(text.lstrip(" \t\f")))
        return _line_breaks(self.text, 0, offset) + 1


@dataclass(slots=True)
class _Accepted:
    """The pieces accepted so far, with what is needed to see a conflict quickly."""

    text: str
    pieces: set[_Piece] = field(default_factory=set)
    replacements: list[tuple[int, int]] = field(default_factory=list)
    insertions: dict[int, list[_Piece]] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)
    edges: set[tuple[str, int]] = field(default_factory=set)  #: see `_edges`

    def takes(self, piece: _Piece) -> bool:
        return piece in self.pieces or all(self._takes(edit, piece) for edit in piece.edits)

    def _takes(self, edit: Edit, piece: _Piece) -> bool:
        if self._crosses_replacement(edit):
            return False
        if any((_OPPOSITE[kind], place) in self.edges for kind, place in self._edges(edit, piece)):
            return False
        if edit.start == edit.end:
            beside = self.insertions.get(edit.start, ())
            return not any(_clash(edit, piece, other) for other in beside)
        inner = bisect_right(self.places, edit.start)
        return inner == len(self.places) or self.places[inner] >= edit.end

    def _crosses_replacement(self, edit: Edit) -> bool:
        index = bisect_left(self.replacements, (edit.start, edit.start))
        around = self.replacements[max(0, index - 1) : index + 1]
        later = self.replacements[index + 1 : index + 2]
        return any(start < edit.end and edit.start < end for start, end in (*around, *later))

    def _edges(self, edit: Edit, piece: _Piece) -> tuple[tuple[str, int], ...]:
        """Where an edit touches an operand's edge, in the words of `_OPPOSITE`."""
        if edit.start < edit.end:
            shortened = not edit.text and self.text[edit.start : edit.end].lstrip().startswith(".")
            if shortened:  # x.cuda() became x, which takes a suffix at its old end
                return ()
            return ("begun", edit.start), ("ended", edit.end)
        rank = _rank(edit, piece)
        if rank is _Rank.SUFFIX:
            return (("suffix", edit.start),)
        return (("prefix", edit.start),) if rank is _Rank.OTHER else ()

    def add(self, piece: _Piece) -> None:
        if piece in self.pieces:
            return
        self.pieces.add(piece)
        for edit in piece.edits:
            self.edges.update(self._edges(edit, piece))
            if edit.start < edit.end:
                insort(self.replacements, (edit.start, edit.end))
            else:
                self.insertions.setdefault(edit.start, []).append(piece)
                insort(self.places, edit.start)


def apply_fixes(doc: Document, fixes: Iterable[Fix]) -> Applied:
    """Apply all fixes that fit together.

    A fix is applied wholly or not at all, and so are the fixes of one non-empty `group`. The same
    change wanted twice is made once. Of two that exclude each other the safer one wins, then the
    one that comes first in the text, so that the order of `fixes` does not matter. Fixes that are
    only for display are refused.
    """
    accepted = _Accepted(doc.text)
    applied: list[Fix] = []
    refused: list[Fix] = []
    for unit in _units(fixes):
        pieces = [piece for fix in unit for piece in _pieces(fix.edits)]
        displayed = any(fix.safety is Safety.DISPLAY for fix in unit)
        if not displayed and _fits(doc, pieces, accepted):
            for piece in pieces:
                accepted.add(piece)
            applied += unit
        else:
            refused += unit
    edits = _in_order(accepted.pieces)
    text, lines = _splice(doc, edits)
    return Applied(doc, text, tuple(applied), tuple(refused), edits, lines)


def _units(fixes: Iterable[Fix]) -> list[list[Fix]]:
    """Fixes that stand or fall together, in the order of their claims."""
    groups: dict[object, list[Fix]] = {}
    for number, fix in enumerate(fixes):
        groups.setdefault(fix.group or number, []).append(fix)
    units = [sorted(unit, key=_claim) for unit in groups.values()]
    return sorted(units, key=lambda unit: [_claim(fix) for fix in unit])


def _claim(fix: Fix) -> tuple[int, tuple[Edit, ...], str]:
    return fix.safety.rank, tuple(sorted(fix.edits)), fix.title


def _fits(doc: Document, pieces: Sequence[_Piece], accepted: _Accepted) -> bool:
    """Whether pieces fit beside the accepted ones and beside each other."""
    own = _Accepted(doc.text)
    for piece in pieces:
        extent = piece.extent
        if not 0 <= extent.start <= extent.end <= len(doc.text):
            raise ValueError(f"edit outside of the text: {piece.edits}")
        if not accepted.takes(piece) or not own.takes(piece):
            return False
        own.add(piece)
    return True


def _clash(edit: Edit, piece: _Piece, other: _Piece) -> bool:
    """Whether two different insertions at one place exclude each other."""
    if len(piece.edits) > 1 and len(other.edits) > 1:
        return piece.extent == other.extent
    beside = next(e for e in other.edits if e.start == edit.start == e.end)
    rank, other_rank = _rank(edit, piece), _rank(beside, other)
    if rank != other_rank:
        return False
    if rank is _Rank.SEPARATED:
        one, two = _KEYWORD.match(edit.text), _KEYWORD.match(beside.text)
        return bool(one and two and one.group(1) == two.group(1))
    return rank in (_Rank.SUFFIX, _Rank.OTHER)


def _pieces(edits: Iterable[Edit]) -> list[_Piece]:
    """Join the insertions that open and close brackets to pairs."""
    pieces: list[_Piece] = []
    open_edits: list[tuple[Edit, int]] = []
    for edit in sorted(set(edits)):
        depth = _depth(edit.text) if edit.start == edit.end else 0
        if depth > 0:
            open_edits.append((edit, depth))
        elif depth < 0 and open_edits and open_edits[-1][1] == -depth:
            pieces.append(_Piece((open_edits.pop()[0], edit)))
        else:
            pieces.append(_Piece((edit,)))
    return pieces + [_Piece((edit,)) for edit, _ in open_edits]


def _depth(text: str) -> int:
    kinds = [lexeme.kind for lexeme in lexemes(text, 0, len(text))]
    return kinds.count("open") - kinds.count("close")


def _rank(edit: Edit, piece: _Piece) -> _Rank:
    if len(piece.edits) > 1:
        return _Rank.OPENING if edit is piece.edits[0] else _Rank.CLOSING
    text = edit.text
    if text.startswith("."):
        return _Rank.SUFFIX
    if text.startswith((",", ";")) or text.endswith(","):
        return _Rank.SEPARATED
    if text.startswith(("\n", "\r")):
        return _Rank.LINE_AFTER
    if text.endswith(("\n", "\r", "; ")):
        return _Rank.LINE_BEFORE
    return _Rank.OTHER


def _in_order(pieces: Iterable[_Piece]) -> tuple[Edit, ...]:
    """Edits by place; at one place, brackets nest and what belongs to the text before is first."""
    keyed = []
    for piece in pieces:
        for edit in piece.edits:
            rank = _rank(edit, piece) if edit.start == edit.end else _Rank.OTHER
            nesting = 0
            if rank is _Rank.OPENING:
                nesting = -piece.extent.end
            elif rank is _Rank.CLOSING:
                nesting = -piece.extent.start
            replaces = edit.start < edit.end
            keyed.append(((edit.start, replaces, rank, nesting, edit.text), edit))
    return tuple(edit for _, edit in sorted(keyed, key=lambda pair: pair[0]))


def _splice(doc: Document, edits: Sequence[Edit]) -> tuple[str, tuple[int, ...]]:
    parts: list[str] = []
    lines: set[int] = set()
    last, line = 0, 1
    for edit in edits:
        kept = doc.text[last : edit.start]
        line += _line_breaks(kept, 0, len(kept))
        lines.update(_touched(doc, edit, line))
        line += _line_breaks(edit.text, 0, len(edit.text))
        parts += [kept, edit.text]
        last = edit.end
    parts.append(doc.text[last:])
    after = doc.with_text("".join(parts))
    return after.text, tuple(line for line in sorted(lines) if after.line_text(line).strip())


def _touched(doc: Document, edit: Edit, line: int) -> range:
    """The lines of the new text that an edit changes, when its text begins on `line`."""
    count = _line_breaks(edit.text, 0, len(edit.text))
    first, last = line, line + count
    if edit.text.startswith(("\n", "\r")):
        first += 1
    if edit.text.endswith(("\n", "\r")):
        last -= 1
    at_start = edit.start == doc.line_start(doc.line_of(edit.start))
    whole_lines = at_start and doc.text[: edit.end].endswith(("\n", "\r"))
    if not edit.text and edit.start < edit.end and whole_lines:
        return range(0)
    return range(first, last + 1)


def _line_breaks(text: str, start: int, end: int) -> int:
    if "\r" not in text:
        return text.count("\n", start, end)
    pairs = text.count("\r\n", start, end)
    return text.count("\n", start, end) + text.count("\r", start, end) - pairs
