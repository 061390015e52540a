"""The settings of a check: [tool.torchferry] of the nearest pyproject.toml, and options."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click

from torchferry.rules.options import CheckOptions


@dataclass(frozen=True, slots=True)
class Settings:
    """What a check works with. root: the folder of the pyproject.toml, or the current one."""

    options: CheckOptions = field(default_factory=CheckOptions)
    exclude: tuple[str, ...] = ()
    baseline: str = ""
    root: str = "."

    def override(
        self,
        select: Sequence[str],
        ignore: Sequence[str],
        level: str | None,
        exclude: Sequence[str],
        baseline: str | None,
    ) -> Settings:
        """These settings with the options of a command line; what is not given stays."""
        options = replace(
            self.options,
            select=_codes(select) or self.options.select,
            ignore=self.options.ignore + _codes(ignore),
            level=level or self.options.level,
        )
        _check_codes((*options.select, *options.ignore))
        return replace(
            self,
            options=options,
            exclude=(*self.exclude, *exclude),
            baseline=baseline or self.baseline,
        )


def read_settings(path: str) -> Settings:
    """The settings for a path; raises UsageError when they are malformed."""
    found = _pyproject(path)
    if found is None:
        return Settings()
    table = _table(found)
    root = os.path.dirname(found) or "."
    known = {"select", "ignore", "exclude", "level", "baseline", "per-file-ignores"}
    unknown = sorted(set(table) - known)
    if unknown:
        names = ", ".join(sorted(known))
        raise click.UsageError(f"{found}: [tool.torchferry] has no {unknown[0]!r}; it has {names}")
    level = table.get("level", "note")
    if level not in ("error", "warning", "note"):
        raise click.UsageError(f"{found}: level is error, warning or note, not {level!r}")
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise click.UsageError(f"{found}: per-file-ignores is a table of patterns and codes")
    options = CheckOptions(
        select=_strings(found, table, "select"),
        ignore=_strings(found, table, "ignore"),
        per_file_ignores=tuple((p, _strings(found, per_file, p)) for p in per_file),
        level=level,
    )
    baseline = table.get("baseline", "")
    return Settings(
        options,
        _strings(found, table, "exclude"),
        os.path.join(root, baseline) if baseline else "",
        root,
    )


def described_rules() -> list[dict[str, Any]]:
    """All rules as plain data, for reports."""
    from torchferry.rules.registry import all_rules
    from torchferry.rules.rule import FAMILIES, documentation, family_of

    described = []
    for rule in all_rules():
        sections = documentation(type(rule))
        described.append(
            {
                "code": rule.code,
                "name": rule.name,
                "family": family_of(rule),
                "family_title": FAMILIES[family_of(rule)][2],
                "severity": rule.severity.value,
                "fixable": rule.fixable,
                "summary": sections.pop(""),
                "sections": sections,
            }
        )
    return described


def _pyproject(path: str) -> str | None:
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    while True:
        candidate = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(candidate):
            return os.path.relpath(candidate) if _below_here(candidate) else candidate
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _below_here(path: str) -> bool:
    return os.path.abspath(path).startswith(os.getcwd() + os.sep)


def _table(path: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
    try:
        with open(path, "rb") as file:
            content = file.read()
        if b"torchferry" not in content:
            return {}
        table = tomllib.loads(content.decode("utf-8", "replace")).get("tool", {})
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{path}: cannot be read: {error}") from None
    found = table.get("torchferry", {}) if isinstance(table, dict) else {}
    if not isinstance(found, dict):
        raise click.UsageError(f"{path}: [tool.torchferry] is no table")
    return found


def _strings(path: str, table: dict[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise click.UsageError(f"{path}: {key} is a list of strings")
    return tuple(value)


def _codes(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


def _check_codes(words: Sequence[str]) -> None:
    if not words:
        return
    from torchferry.rules.registry import all_rules

    for word in words:
        if not any(r.code.startswith(word.upper()) or r.name == word.lower() for r in all_rules()):
            raise click.UsageError(f"no rule is named {word!r}; see `torchferry rules`")
