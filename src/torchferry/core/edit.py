"""Edits of a text, as data; `source.apply` is the only code that applies them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .span import Span


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace `text[start:end]` by `text`; an insertion where start == end."""

    start: int
    end: int
    text: str

    @property
    def span(self) -> Span:
        """The range that is replaced."""
        return Span(self.start, self.end)


class Safety(Enum):
    """How far a fix can be trusted without running the program."""

    SAFE = "safe"  #: same meaning on the CPU, right on a GPU
    UNSAFE = "unsafe"  #: very probably right; read it, or let `verify` prove it
    DISPLAY = "display"  #: a suggestion that only a person can judge; never applied

    @property
    def rank(self) -> int:
        """0 for the safest."""
        return (Safety.SAFE, Safety.UNSAFE, Safety.DISPLAY).index(self)


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all of them are applied, or none.

    `group` names the object that the fix is about ("model", "batch at line 12"): fixes of one
    group stand or fall together. `title` says in the imperative what the fix does.
    """

    title: str
    edits: tuple[Edit, ...]
    safety: Safety = Safety.SAFE
    reason: str = ""  #: why it is not safe, for people
    group: str = ""
