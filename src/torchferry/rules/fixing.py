"""Fixing a document: apply what may be applied, check again, until nothing is left to fix."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchferry.core.edit import Safety
from torchferry.core.errors import RewriteRefused
from torchferry.source.apply import apply_fixes
from torchferry.source.project import Project
from torchferry.source.reread import check_rewrite

from .engine import Checked, all_findings, check_in_project
from .options import CheckOptions

if TYPE_CHECKING:
    from torchferry.core.edit import Fix
    from torchferry.core.finding import Finding
    from torchferry.source.document import Document
    from torchferry.source.project import Store

_ROUNDS = 10


@dataclass(slots=True)
class Fixed:
    """The outcome: the new document, what was fixed, and the findings that are left."""

    document: Document
    checked: Checked
    fixed: list[Finding] = field(default_factory=list)

    @property
    def left(self) -> list[Finding]:
        """The findings in the new document."""
        return all_findings(self.checked)


def fix_document(
    doc: Document,
    options: CheckOptions | None = None,
    *,
    unsafe: bool = False,
    store: Store | None = None,
    keep: Collection[str] = (),
) -> Fixed:
    """Apply the fixes of a document's findings, in rounds. Nothing is written.

    unsafe: also the fixes that may change what the program does. store: where imported files are
    read from; None leaves them unknown. keep: lines whose ignore comments other files need.
    A rewrite that does not survive proof-reading is left out, and the round ends the work.
    """
    fixed: list[Finding] = []
    for _ in range(_ROUNDS):
        checked = _check(doc, options, store)
        checked.unused = [
            u._replace(finding=replace(u.finding, fix=None))
            if doc.line_text(u.line).strip() in keep
            else u
            for u in checked.unused
        ]
        findings = all_findings(checked)
        wanted = [f for f in findings if f.fix is not None and _allowed(f.fix, unsafe)]
        after, done = _apply(doc, wanted)
        if after is None or after.text == doc.text:
            return Fixed(doc, checked, fixed)
        doc = after
        fixed += done
    return Fixed(doc, _check(doc, options, store), fixed)


def _check(doc: Document, options: CheckOptions | None, store: Store | None) -> Checked:
    project = None if store is None else Project([doc], store)
    return check_in_project(doc, options, project)


def _allowed(fix: Fix, unsafe: bool) -> bool:
    return fix.safety is Safety.SAFE or (unsafe and fix.safety is Safety.UNSAFE)


def _apply(doc: Document, findings: list[Finding]) -> tuple[Document | None, list[Finding]]:
    """All fixes at once; when that does not read well, one by one."""
    if not findings:
        return None, []
    fixes = [f.fix for f in findings if f.fix is not None]
    try:
        applied = apply_fixes(doc, fixes)
        after = check_rewrite(applied)
        taken = set(map(id, applied.applied))
        return after, [f for f in findings if id(f.fix) in taken or f.fix in applied.applied]
    except RewriteRefused:
        pass
    done = []
    for finding in findings:
        try:
            applied = apply_fixes(doc, [finding.fix])  # type: ignore[list-item]
            after = check_rewrite(applied)
        except RewriteRefused:
            continue
        if after.text != doc.text:
            done.append(finding)
            return after, done
    return None, []
