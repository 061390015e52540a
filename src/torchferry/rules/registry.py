"""Finds the rules by walking this package, and refuses what is no proper rule."""

from __future__ import annotations

import inspect
import pkgutil
import re
from functools import cache
from importlib import import_module

from .rule import FAMILIES, Rule, family_of

_CODE = re.compile(r"DEV(\d{3})$")


class MalformedRule(Exception):
    """A rule that breaks the contract; the message names its file and line."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """One instance of each rule, by code. Raises MalformedRule."""
    found: dict[str, Rule] = {}
    package = __package__ or "torchferry.rules"
    for family in FAMILIES:
        folder = import_module(f"{package}.{family}")
        for info in pkgutil.iter_modules(folder.__path__):
            if info.name.startswith("_"):
                continue
            rule = _rule_of(import_module(f"{folder.__name__}.{info.name}"))
            if rule.code in found:
                raise _malformed(type(rule), f"has the code of {found[rule.code].name}")
            found[rule.code] = rule
    return tuple(found[code] for code in sorted(found))


def find_rule(word: str) -> Rule | None:
    """The rule of a code or name, whatever its case; None when there is none."""
    for rule in all_rules():
        if word.upper() == rule.code or word.lower().replace("_", "-") == rule.name:
            return rule
    return None


def _rule_of(module: object) -> Rule:
    name = getattr(module, "__name__", "?")
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == name
    ]
    if len(classes) != 1:
        raise MalformedRule(f"{name}: one rule a file, not {len(classes)}")
    cls = classes[0]
    match = _CODE.match(getattr(cls, "code", ""))
    first, last, _ = FAMILIES[family_of(cls)]
    if match is None or not first <= int(match[1]) <= last:
        raise _malformed(cls, f"needs a code from DEV{first:03} to DEV{last:03}")
    if getattr(cls, "name", "").replace("-", "_") != name.rpartition(".")[2]:
        raise _malformed(cls, "must be named like its file")
    if not cls.__doc__:
        raise _malformed(cls, "has no documentation")
    return cls()


def _malformed(cls: type[Rule], reason: str) -> MalformedRule:
    try:
        line = inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        line = 0
    return MalformedRule(f"{inspect.getfile(cls)}:{line}: the rule {cls.__name__} {reason}")
