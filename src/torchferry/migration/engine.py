"""Migrating one document: analyse, place, write, read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchferry.core.errors import RewriteRefused
from torchferry.flow.analyse import analyse
from torchferry.flow.graph import HARD
from torchferry.source.apply import Applied, apply_fixes
from torchferry.source.reread import check_rewrite

from .buffers import find_buffers
from .device import DeviceNames, device_expression, self_devices, torch_name
from .emit import Emission, Emitter, short
from .model import Migration, MigrationOptions, Plan, PlanItem
from .placement import solve
from .scopes import Scopes
from .switches import find_switches

if TYPE_CHECKING:
    from torchferry.flow.interp import Interp
    from torchferry.source.document import Document

_ROUNDS = 6  #: placements tried when an edit cannot be written


def migrate_document(doc: Document, options: MigrationOptions | None = None) -> Migration:
    """Migrate a document; nothing is written.

    Raises UnparsableSource when it is no Python 3, RewriteRefused when the result did not survive
    proof-reading.
    """
    options = options or MigrationOptions()
    result = Migration(doc.path, doc.text, doc.text)
    if "torch" not in doc.text:
        return result
    turned = _turn_switches(doc, options, result)
    if turned is not None:
        doc = turned
    emission, names = _settle(doc, options, result.plan)
    fixes = list(emission.fixes)
    if not fixes:
        return result
    declared = names.declaration()
    if declared is None:
        result.plan.left.append(
            PlanItem(names.first_line, "the whole file", "a device is needed before torch is there")
        )
        return result
    fixes = [*declared, *fixes]
    applied = apply_fixes(doc, fixes)
    if applied.refused:
        raise RewriteRefused(f"{doc.path}: not rewritten: the edits exclude each other")
    check_rewrite(applied)
    _fill(result, emission, applied)
    return result


def _turn_switches(
    doc: Document, options: MigrationOptions, result: Migration
) -> Document | None:
    """The document with its switches turned, recorded in `result`; None when it has none."""
    scopes = Scopes(doc.tree)
    torch, _ = torch_name(doc.tree)
    expression = device_expression(options.device, torch)
    switches = find_switches(doc, scopes, expression, torch)
    if not switches:
        return None
    applied = apply_fixes(doc, [fix for fix, _ in switches])
    turned = check_rewrite(applied)
    result.after = applied.text
    result.fixes = list(applied.applied)
    result.edited_lines = list(applied.edited_lines)
    result.plan.placed = [item for _, item in switches]
    return turned


def _settle(
    doc: Document, options: MigrationOptions, plan: Plan
) -> tuple[Emission, DeviceNames]:
    """Place and write until every edit of the placement can be made."""
    scopes = Scopes(doc.tree)
    buffers: frozenset[tuple[int, str]] = frozenset()
    statements = {}
    ip = analyse(doc, migrating=True)
    side = solve(ip.graph)
    found = find_buffers(ip, side)
    if found:
        buffers, statements = frozenset(found), found
        ip = analyse(doc, migrating=True, buffers=buffers)
        side = solve(ip.graph)
    emission = Emission()
    names = DeviceNames(doc, ip, scopes, side, options.device)
    for _ in range(_ROUNDS):
        ip.self_devices = self_devices(ip)
        names = DeviceNames(doc, ip, scopes, side, options.device)
        emission = Emitter(doc, ip, side, names, options, statements).run()
        if not emission.blocked and not emission.tied:
            break
        _restrict(ip, emission, plan, doc)
        side = solve(ip.graph)
    return emission, names


def _restrict(ip: Interp, emission: Emission, plan: Plan, doc: Document) -> None:
    """What could not be written must not be asked for again."""
    for var, reason in emission.blocked:
        if var >= 2:
            ip.graph.want_host(var, HARD, "blocked")
            node = ip.graph.births[var].node
            item = PlanItem(getattr(node, "lineno", 0), short(doc.source(node)), reason)
            if item not in plan.left:
                plan.left.append(item)
    for use in emission.tied:
        use.cost = use.back = HARD
        use.expr = None


def _fill(result: Migration, emission: Emission, applied: Applied) -> None:
    earlier = [applied.new_line(line) for line in result.edited_lines]
    result.after = applied.text
    result.fixes += applied.applied
    result.edited_lines = sorted({*earlier, *applied.edited_lines})
    plan = result.plan
    plan.placed = sorted([*plan.placed, *emission.placed], key=lambda item: item.line)
    plan.moved = sorted(emission.moved, key=lambda item: item.line)
