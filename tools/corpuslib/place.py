"""The programs of a corpus, and the folders their data lives in."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """One entry of ``programs.json``. Paths are relative to the root of its repository."""

    id: str
    repo: str
    commit: str
    kind: str
    style: str
    entry: str
    cwd: str
    pyfiles: list[str]
    timeout: float
    notebook: str | None = None
    args: list[str] = field(default_factory=list)
    gpu_args: list[str] | None = None
    env: dict[str, str] = field(default_factory=dict)
    trims: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def from_json(cls, data: Json) -> Program:
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})


@dataclass(frozen=True)
class Workplace:
    """Where the corpus comes from and where its working data goes."""

    corpus: Path
    work: Path
    python: str
    nice: int

    def programs(self) -> list[Program]:
        return [
            Program.from_json(p) for p in json.loads((self.corpus / "programs.json").read_text())
        ]

    def quick(self) -> list[str]:
        return (self.corpus / "quick.txt").read_text().split()

    def pristine(self, program: Program) -> Path:
        return self.work / "programs" / program.id

    def migrated(self, program: Program) -> Path:
        return self.work / "migrated" / program.id

    def result(self, kind: str, program: Program, suffix: str = ".json") -> Path:
        path = self.work / kind / (program.id + suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def select(self, options: argparse.Namespace) -> list[Program]:
        """The programs asked for: quick ones first, then the single files, then the packages."""
        quick = set(self.quick())
        chosen = self.programs()
        if options.ids:
            unknown = set(options.ids) - {p.id for p in chosen}
            if unknown:
                raise SystemExit(f"unknown program: {', '.join(sorted(unknown))}")
            chosen = [p for p in chosen if p.id in options.ids]
        if options.quick:
            chosen = [p for p in chosen if p.id in quick]
        if options.style:
            chosen = [p for p in chosen if p.style in options.style]
        chosen.sort(key=lambda p: (p.id not in quick, len(p.pyfiles) > 1, p.timeout, p.id))
        return chosen


def load(path: Path) -> Json | None:
    return json.loads(path.read_text()) if path.is_file() else None


def save(path: Path, data: Json) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(data, indent=1, ensure_ascii=False))
    part.replace(path)
