"""Migrations as JSON, for programs.

    {"version": 1,
     "files": [{"path", "changed", "written", "edited_lines", "after",
                "plan": {"placed": [{"line", "what", "why"}], "moved", "left", "notes"},
                "fixes": [{"title", "safety", "reason", "group",
                           "edits": [{"start", "end", "text"}]}]}],
     "errors": [{"path", "line", "column", "reason"}]}

Lines count from 1; `start` and `end` are characters of the original text. `after` is the whole new
text, null for an unchanged file. `written` is the file that now holds it, null when none was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchferry.core.errors import SourceError

from .plain import error_dict, fix_dict

if TYPE_CHECKING:
    from torchferry.migration.model import Migration, PlanItem


def migrations_json(
    done: Sequence[tuple[Migration, str]], errors: Sequence[SourceError], indent: int | None = 2
) -> str:
    """The JSON text of all files, each with the file that was written or ""."""
    content = {
        "version": 1,
        "files": [_file(migration, written) for migration, written in done],
        "errors": [error_dict(error) for error in errors],
    }
    return json.dumps(content, indent=indent, ensure_ascii=True)


def _file(migration: Migration, written: str) -> dict[str, Any]:
    plan = migration.plan
    return {
        "path": migration.path,
        "changed": migration.changed,
        "written": written or None,
        "edited_lines": migration.edited_lines,
        "after": migration.after if migration.changed else None,
        "plan": {
            "placed": [_item(item) for item in plan.placed],
            "moved": [_item(item) for item in plan.moved],
            "left": [_item(item) for item in plan.left],
            "notes": list(plan.notes),
        },
        "fixes": [fix_dict(fix) for fix in migration.fixes],
    }


def _item(item: PlanItem) -> dict[str, Any]:
    return {"line": item.line, "what": item.what, "why": item.why}
