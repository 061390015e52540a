"""Checking one document: analyse it once, ask every rule, silence what the author silenced.

With a project, the files that the document imports are followed, and a fault may turn out to be
in one of them: it is a finding there, without a fix, unless a comment there silences it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, NotAnalysed, Severity
from torchferry.core.span import Location
from torchferry.flow.analyse import analyse
from torchferry.source.suppress import Suppressions

from .context import Context
from .options import CheckOptions, wanted
from .registry import all_rules

if TYPE_CHECKING:
    from torchferry.flow.interp import Interp
    from torchferry.source.document import Document
    from torchferry.source.project import Project

    from .comments.unused_ignore import Unused

UNUSED = "DEV001"
#: a program that moves tensors may leave it to its other files to name torch
_MOVES = re.compile(r"\.(?:cuda|cpu|backward|numpy)\(\)|\.to\(|no_grad")


@dataclass(slots=True)
class Checked:
    """What the check of one document has found."""

    findings: list[Finding] = field(default_factory=list)  #: in the document
    elsewhere: list[Finding] = field(default_factory=list)  #: in files that it imports
    unused: list[Unused] = field(default_factory=list)  #: comments in it that silenced nothing
    #: comments in files that it imports, and what they silenced: (path, line, codes)
    silenced: list[tuple[str, int, frozenset[str]]] = field(default_factory=list)
    not_analysed: list[NotAnalysed] = field(default_factory=list)


def check_document(
    doc: Document, options: CheckOptions | None = None, project: Project | None = None
) -> list[Finding]:
    """The findings of a document in the order of its lines.

    project: where the files are found that the document imports; None leaves them unknown.
    Raises UnparsableSource when it is not Python 3.
    """
    return all_findings(check_in_project(doc, options, project))


def all_findings(checked: Checked) -> list[Finding]:
    """The findings in the document itself, comments without use among them."""
    return sorted([*checked.findings, *(u.finding for u in checked.unused)], key=order)


def check_in_project(
    doc: Document, options: CheckOptions | None = None, project: Project | None = None
) -> Checked:
    """`check_document` with all that was found, in this document and in others."""
    options = options or CheckOptions()
    comments = Suppressions(doc)
    checked = Checked()
    if _concerned(doc, project):
        ip = analyse(doc, migrating=False, project=project)
        _sort(checked, _findings(doc, ip, options), comments, doc, ip, options)
        checked.not_analysed = _gaps(doc, ip)
    if comments.comments and wanted(options, doc.path, UNUSED, "unused-ignore"):
        from .comments.unused_ignore import unused_comments

        if Severity.WARNING.rank <= Severity(options.level).rank:
            checked.unused = unused_comments(doc, comments)
    return checked


def _concerned(doc: Document, project: Project | None) -> bool:
    """Whether a document has to do with PyTorch at all."""
    if "torch" in doc.text.replace("torchferry", ""):
        return True
    return project is not None and "import" in doc.text and _MOVES.search(doc.text) is not None


def _findings(doc: Document, ip: Interp, options: CheckOptions) -> list[Finding]:
    texts = [unit.doc.text for unit in ip.units.values()]
    there = {
        word: not word or any(word in text for text in texts)
        for word in {rule.word for rule in all_rules()}
    }
    rules = [
        rule
        for rule in all_rules()
        if there[rule.word] and wanted(options, doc.path, rule.code, rule.name)
    ]
    ctx = Context(doc, ip)
    found: dict[tuple[str, Location], Finding] = {}
    for rule in rules:
        for finding in rule.check(ctx):
            place = finding.location
            key = (finding.code, Location(place.path, place.line, place.column, 0, 0))
            old = found.get(key)
            if old is None or finding.severity.rank < old.severity.rank:
                found[key] = finding
    return list(found.values())


def _sort(
    checked: Checked,
    findings: list[Finding],
    own: Suppressions,
    doc: Document,
    ip: Interp,
    options: CheckOptions,
) -> None:
    """Findings to their files, without those that are silenced there or not severe enough."""
    least = Severity(options.level).rank
    others: dict[str, tuple[Document, Suppressions]] = {}
    for found in findings:
        place, comments = found.location, own
        if place.path != doc.path:
            if place.path not in others:
                other = next(u.doc for u in ip.units.values() if u.doc.path == place.path)
                others[place.path] = other, Suppressions(other)
            comments = others[place.path][1]
            if not wanted(options, place.path, found.code, found.rule):
                continue
        if comments.silence(found.code, place.line, place.end_line):
            continue
        if found.severity.rank <= least:
            (checked.findings if comments is own else checked.elsewhere).append(found)
    checked.findings.sort(key=order)
    checked.elsewhere.sort(key=order)
    for path, (other, comments) in others.items():
        for item in comments.comments:
            if item.used:
                line = other.line_of(item.span.start)
                checked.silenced.append((path, line, frozenset(item.used)))


def _gaps(doc: Document, ip: Interp) -> list[NotAnalysed]:
    from torchferry.flow.gaps import gaps_of

    return [NotAnalysed(_place(doc, gap.line, gap.node), gap.reason) for gap in gaps_of(ip, doc)]


def _place(doc: Document, line: int, node: object) -> Location:
    column = 1
    if node is not None:
        start = doc.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        column = start - doc.line_start(line) + 1
    return Location(doc.path, line, column, line, len(doc.line_text(line)) + 1)


def order(finding: Finding) -> tuple[str, int, int, str]:
    """Findings are shown file by file, in the order of their places."""
    place = finding.location
    return place.path, place.line, place.column, finding.code
