"""The plan of a migration, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchferry.core.errors import SourceError

if TYPE_CHECKING:
    from torchferry.migration.model import Migration, PlanItem

_TITLES = (("placed", "placed on the device"), ("moved", "moved"), ("left", "left alone"))


def plan_text(migration: Migration, written: str = "", brief: bool = False) -> str:
    """What was decided about one file; "" where there is nothing to say.

    written: the file that now holds the result. brief: say only that the file would change.
    """
    plan = migration.plan
    if brief:
        return f"{migration.path}: would change" if migration.changed else ""
    if not (migration.changed or plan.left or plan.notes):
        return ""
    head = f"{migration.path}: {_lines_changed(migration)}"
    if written and migration.changed:
        head += ", written" if written == migration.path else f", written to {written}"
    lines = [head]
    for name, title in _TITLES:
        items: list[PlanItem] = getattr(plan, name)
        if items:
            lines.append(f"  {title}:")
            lines += _items(items)
    lines += [f"  note: {note}" for note in plan.notes]
    return "\n".join(lines) + "\n"


def _items(items: Sequence[PlanItem]) -> list[str]:
    width = max(len(str(item.line)) for item in items)
    whats = [_short(_flat(item.what)) for item in items]
    column = max(len(what) for what in whats)
    return [
        f"    line {item.line:>{width}}  {what:<{column}}  {_flat(item.why)}".rstrip()
        for item, what in zip(items, whats, strict=True)
    ]


def _short(text: str) -> str:
    return text if len(text) <= 48 else f"{text[:45]}..."


def _flat(text: str) -> str:
    return " ".join(text.split())


def _lines_changed(migration: Migration) -> str:
    if not migration.changed:
        return "unchanged"
    return _count(len(migration.edited_lines), "line") + " changed"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summary_text(
    migrations: Sequence[Migration], errors: Sequence[SourceError], wrote: bool
) -> str:
    """One line about all files."""
    changed = sum(migration.changed for migration in migrations)
    total = len(migrations) + len({error.path for error in errors})
    if not total:
        return "no Python files found"
    verb = "changed" if wrote else "would change"
    parts = [f"{changed} of {_count(total, 'file')} {verb}"]
    left = sum(len(migration.plan.left) for migration in migrations)
    if left:
        parts.append(f"{_count(left, 'place')} left alone")
    if errors:
        parts.append(f"{_count(len({error.path for error in errors}), 'file')} not processed")
    return "; ".join(parts)
