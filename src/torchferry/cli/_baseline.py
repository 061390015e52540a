"""A baseline: the findings of an old code base, so that one hears only of what is new.

The file is JSON: {"version": 1, "findings": {path: {"CODE: text of the line": number}}}. Lines are
known by their text, not by their number, so that edits above them change nothing.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from torchferry.core.finding import Finding
    from torchferry.source.document import Document


class Baseline:
    """One baseline file; paths in it are relative to its folder."""

    def __init__(self, path: str, document: Callable[[str], Document]) -> None:
        self.path, self.document = path, document
        self.folder = os.path.dirname(os.path.abspath(path))

    def write(self, findings: Sequence[Finding]) -> None:
        """Replace the file by these findings."""
        table: dict[str, Counter[str]] = {}
        for finding in findings:
            path, key = self._key(finding)
            table.setdefault(path, Counter())[key] += 1
        content = {
            "version": 1,
            "findings": {p: dict(sorted(table[p].items())) for p in sorted(table)},
        }
        with open(self.path, "w", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def fresh(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings that the file does not hold; raises UsageError when it is no baseline."""
        known = self._read()
        left = []
        for finding in findings:
            path, key = self._key(finding)
            counts = known.get(path, {})
            if counts.get(key, 0) > 0:
                counts[key] -= 1
            else:
                left.append(finding)
        return left

    def _read(self) -> dict[str, dict[str, int]]:
        try:
            with open(self.path, encoding="utf-8") as file:
                content = json.load(file)
            found: dict[str, dict[str, int]] = content["findings"]
            if content["version"] != 1 or not isinstance(found, dict):
                raise ValueError("another version")
        except FileNotFoundError:
            raise click.UsageError(
                f"there is no baseline {self.path}; make one with --write-baseline"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise click.UsageError(f"{self.path} is no baseline of torchferry: {error}") from None
        return found

    def _key(self, finding: Finding) -> tuple[str, str]:
        place = finding.location
        text = self.document(place.path).line_text(place.line).strip()
        path = os.path.relpath(os.path.abspath(place.path), self.folder).replace(os.sep, "/")
        return path, f"{finding.code}: {text}"
