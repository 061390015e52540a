"""Migrating documents: analyse, place, write, read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchferry.core.errors import RewriteRefused
from torchferry.flow.analyse import analyse
from torchferry.flow.graph import HARD
from torchferry.source.apply import Applied, apply_fixes
from torchferry.source.project import Project
from torchferry.source.reread import check_rewrite

from .buffers import find_buffers
from .device import DeviceNames, self_devices, torch_name
from .emit import Emission, Emitter, short
from .model import Migration, MigrationOptions, PlanItem
from .placement import solve
from .scopes import Scopes
from .switches import find_switches

if TYPE_CHECKING:
    from torchferry.core.edit import Fix
    from torchferry.flow.interp import Interp
    from torchferry.source.document import Document

_ROUNDS = 12  #: placements tried when an edit cannot be written


def migrate_document(doc: Document, options: MigrationOptions | None = None) -> Migration:
    """Migrate a document; nothing is written. Files that it imports are read, not changed.

    Raises UnparsableSource when it is no Python 3, RewriteRefused when the result did not survive
    proof-reading.
    """
    return migrate_documents([doc], options)[0]


def migrate_documents(
    docs: Sequence[Document], options: MigrationOptions | None = None
) -> list[Migration]:
    """Migrate documents that import each other, as one program; nothing is written.

    The results are in the order of `docs`. Raises as `migrate_document` does, for all of them.
    """
    options = options or MigrationOptions()
    results = [Migration(doc.path, doc.text, doc.text) for doc in docs]
    if not any("torch" in doc.text for doc in docs):
        return results
    pairs = zip(docs, results, strict=True)
    turned = [_turn_switches(doc, options, result) for doc, result in pairs]
    settled = _settle(turned, options, results)
    declared = [names.declaration() for _, names in settled]
    for (_, names), result, fixes in zip(settled, results, declared, strict=True):
        if fixes is None:
            why = "a device is needed before torch is there"
            result.plan.left.append(PlanItem(names.first_line, "the whole file", why))
    if any(fixes is None for fixes in declared):
        return results
    for doc, result, (emission, _), fixes in zip(turned, results, settled, declared, strict=True):
        if emission.fixes:
            _write(doc, result, emission, [*(fixes or ()), *emission.fixes])
    return results


def _write(doc: Document, result: Migration, emission: Emission, fixes: Sequence[Fix]) -> None:
    applied = apply_fixes(doc, fixes)
    if applied.refused:
        raise RewriteRefused(f"{doc.path}: not rewritten: the edits exclude each other")
    check_rewrite(applied)
    _fill(result, emission, applied)


def _turn_switches(doc: Document, options: MigrationOptions, result: Migration) -> Document:
    """The document with its switches turned, recorded in `result`; itself when it has none."""
    if "torch" not in doc.text:
        return doc
    scopes = Scopes(doc.tree)
    torch, _ = torch_name(doc.tree)
    switches = find_switches(doc, scopes, options.device, torch)
    if not switches:
        return doc
    applied = apply_fixes(doc, [fix for fix, _ in switches])
    turned = check_rewrite(applied)
    result.after = applied.text
    result.fixes = list(applied.applied)
    result.edited_lines = list(applied.edited_lines)
    result.plan.placed = [item for _, item in switches]
    return turned


def _settle(
    docs: Sequence[Document], options: MigrationOptions, results: Sequence[Migration]
) -> list[tuple[Emission, DeviceNames]]:
    """Place and write until every edit of the placement can be made."""
    scopes = [Scopes(doc.tree) for doc in docs]
    project = Project(docs)
    ip = analyse(docs, migrating=True, project=project)
    side = solve(ip.graph)
    buffers = find_buffers(ip, side)
    if buffers:
        ip = analyse(docs, migrating=True, buffers=frozenset(buffers), project=project)
        side = solve(ip.graph)
    settled: list[tuple[Emission, DeviceNames]] = []
    blocked: list[tuple[int, PlanItem, Migration]] = []
    for _ in range(_ROUNDS):
        ip.self_devices = self_devices(ip)
        settled = []
        for doc, scope in zip(docs, scopes, strict=True):
            ip.library = id(doc) in ip.libraries
            names = DeviceNames(doc, ip, scope, side, options.device)
            settled.append((Emitter(doc, ip, side, names, options, buffers).run(), names))
        if not any(emission.blocked or _open(ip, emission) for emission, _ in settled):
            _tell_left(ip, side, blocked)
            return settled
        for doc, result, (emission, _) in zip(docs, results, settled, strict=True):
            blocked += [(var, item, result) for var, item in _restrict(ip, emission, doc)]
        side = solve(ip.graph)
    why = "no placement was found whose moves can all be written"
    for result in results:
        result.plan.left.append(PlanItem(1, "the whole file", why))
    return [(Emission(), names) for _, names in settled]


def _open(ip: Interp, emission: Emission) -> bool:
    """Whether another placement could spare a move that cannot be written.

    Between what is on the device for good and what is on the host for good there is no other.
    """
    find = ip.graph.find
    return any(max(find(use.u), find(use.v)) >= 2 for use in emission.tied)


def _restrict(ip: Interp, emission: Emission, doc: Document) -> list[tuple[int, PlanItem]]:
    """What could not be written must not be asked for again; the births that are left alone."""
    left = []
    for var, reason in emission.blocked:
        if var >= 2:
            ip.graph.want_host(var, HARD, "blocked")
            node = ip.graph.births[var].node
            left.append((var, PlanItem(node.lineno, short(doc.source(node)), reason)))
    for use in emission.tied:
        use.cost = use.back = HARD
        use.tied = True
    return left


def _tell_left(ip: Interp, side: set[int], blocked: list[tuple[int, PlanItem, Migration]]) -> None:
    """Births that stay on the host are in the plan, unless they move where they are used."""
    find = ip.graph.find
    moved = {
        find(use.u)
        for use in ip.graph.edges
        if use.expr is not None and not use.tied and find(use.v) in side
    } - side
    for var, item, result in blocked:
        if find(var) not in moved and item not in result.plan.left:
            result.plan.left.append(item)


def _fill(result: Migration, emission: Emission, applied: Applied) -> None:
    earlier = [applied.new_line(line) for line in result.edited_lines]
    result.after = applied.text
    result.fixes += applied.applied
    result.edited_lines = sorted({*earlier, *applied.edited_lines})
    plan = result.plan
    plan.placed = sorted([*plan.placed, *emission.placed], key=lambda item: item.line)
    plan.moved = sorted(emission.moved, key=lambda item: item.line)
