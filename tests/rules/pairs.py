"""Programs with a fault and their right versions, written as one text.

A case is a `## kind: title` of a Markdown file and a program. Its lines say where they belong:

    line  #! kind     faulty program only; a finding of the kind's family is expected here
    line  #= kind     in both programs; the finding is expected in the faulty one
    line  #-          faulty program only
    #+ line           right program only
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "cases" / "own"
_CASE = re.compile(r"^## ([\w-]+): ([^\n]+)\n+```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"^(.*?)  #([!=-])(?: ([\w-]+))?$")
_RIGHT = re.compile(r"^(\s*)#\+ (.*)$")


class Pair(NamedTuple):
    """A faulty program, what is expected in it as (kind, line), and its right version."""

    name: str
    faulty: str
    expected: tuple[tuple[str, int], ...]
    right: str


def split(name: str, text: str) -> Pair:
    """The two programs of one text."""
    faulty: list[str] = []
    right: list[str] = []
    expected: list[tuple[str, int]] = []
    for line in text.rstrip("\n").split("\n"):
        if found := _RIGHT.match(line):
            right.append(found[1] + found[2])
        elif found := _MARK.match(line):
            code, mark, kind = found.groups()
            faulty.append(code)
            if mark == "=":
                right.append(code)
            if mark in "!=":
                expected.append((kind, len(faulty)))
        else:
            faulty.append(line)
            right.append(line)
    return Pair(name, "\n".join(faulty) + "\n", tuple(expected), "\n".join(right) + "\n")


def pairs(folder: Path = FOLDER) -> list[Pair]:
    """All cases of a folder, in the order of its files."""
    found = []
    for path in sorted(folder.glob("*.md")):
        content = path.read_text(encoding="utf-8")
        cases = _CASE.findall(content)
        if len(cases) != content.count("\n## "):
            raise ValueError(f"{path.name}: a section that is no case")
        found += [split(f"{path.stem}: {kind}: {title}", text) for kind, title, text in cases]
    return found
