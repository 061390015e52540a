"""What a rule or a run has found: plain data that every report reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .edit import Fix
from .span import Location


class Severity(Enum):
    """error: certain to fail on a GPU; warning: wrong or slow there; note: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return (Severity.ERROR, Severity.WARNING, Severity.NOTE).index(self)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One link of the chain that proves a finding: what happened at one place."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one place, with its proof and, where there is one, its fix."""

    code: str  #: "DEV101"
    rule: str  #: "input-not-moved", the rule's name everywhere
    severity: Severity
    location: Location
    message: str  #: one sentence: what is wrong, and with which name
    evidence: tuple[Evidence, ...] = ()  #: in the order of execution
    help: str = ""  #: what to do, one sentence
    fix: Fix | None = None
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class NotAnalysed:
    """A place that the analysis could not see into, and why."""

    location: Location
    reason: str
