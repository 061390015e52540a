"""From the results of single files to those of a run: each fault once, in the file where it is."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchferry.core.errors import SourceError
from torchferry.core.finding import Evidence, Finding
from torchferry.source.discovery import excluded

if TYPE_CHECKING:
    from torchferry.rules.engine import Checked
    from torchferry.source.project import Stamp


@dataclass(slots=True)
class FileResult:
    """What came of one file, and what it was made of: the files and names that were looked up."""

    path: str
    checked: Checked | None = None
    error: SourceError | None = None
    stamp: Stamp = (0, 0, 0)
    stamps: dict[str, Stamp] = field(default_factory=dict)
    asked: dict[tuple[str, str], str | None] = field(default_factory=dict)
    folders: tuple[str, ...] = ()


class Merger:
    """The findings of a run.

    paths: the files under check, as the user names them. A file that was only imported is
    reported on as well, unless it was left out.
    """

    def __init__(self, paths: Iterable[str], exclude: Collection[str]) -> None:
        self.names = {os.path.abspath(path): path for path in paths}
        self.exclude = tuple(exclude)

    def merge(self, results: Iterable[FileResult]) -> list[Finding]:
        """All findings: file by file as given, then those in files that were only imported."""
        checked = [(r.path, r.checked) for r in results if r.checked is not None]
        used: dict[tuple[str, int], set[str]] = {}
        others: dict[str, list[Finding]] = {}
        for _, one in checked:
            for path, line, codes in one.silenced:
                used.setdefault((os.path.abspath(path), line), set()).update(codes)
            for finding in one.elsewhere:
                others.setdefault(os.path.abspath(finding.location.path), []).append(finding)
        merged: list[Finding] = []
        for path, one in checked:
            place = os.path.abspath(path)
            comments = [u.beside(used.get((place, u.line), ())) for u in one.unused]
            own = [*one.findings, *(c for c in comments if c is not None)]
            merged += self._together(own, others.pop(place, []))
        for path in sorted(others):
            if path in self.names or not excluded(os.path.relpath(path), self.exclude):
                merged += self._together([], others[path])
        return merged

    def _together(self, own: list[Finding], others: list[Finding]) -> list[Finding]:
        """Each fault once: what its own file knows (a fix), as severe as any file knows it."""
        from torchferry.rules.engine import order

        known = {_place(f): f for f in own}
        for finding in others:
            old = known.get(_place(finding))
            if old is None:
                known[_place(finding)] = self._respelled(finding)
            elif finding.severity.rank < old.severity.rank:
                known[_place(finding)] = replace(self._respelled(finding), fix=old.fix)
        return sorted(known.values(), key=order)

    def _respelled(self, finding: Finding) -> Finding:
        """Paths as the user names them."""
        steps = tuple(
            Evidence(s.location._replace(path=self._name(s.location.path)), s.text)
            for s in finding.evidence
        )
        place = finding.location._replace(path=self._name(finding.location.path))
        return replace(finding, location=place, evidence=steps)

    def _name(self, path: str) -> str:
        return self.names.get(os.path.abspath(path), path)


def _place(finding: Finding) -> tuple[str, int, int]:
    return finding.code, finding.location.line, finding.location.column
