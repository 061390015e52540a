"""What to check for."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """select, ignore: codes, beginnings of codes ("DEV9") or rule names; an empty select is all.

    per_file_ignores: (glob of paths, codes) pairs. level: the least severity that is shown.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    level: str = "note"
    exclude: tuple[str, ...] = field(default=())


def wanted(options: CheckOptions, path: str, code: str, name: str) -> bool:
    """Whether the options ask for a rule in a file."""
    if options.select and not any(_names(word, code, name) for word in options.select):
        return False
    if any(_names(word, code, name) for word in options.ignore):
        return False
    for pattern, words in options.per_file_ignores:
        if any(_names(word, code, name) for word in words) and _matches(path, pattern):
            return False
    return True


def _names(word: str, code: str, name: str) -> bool:
    return code.startswith(word.upper()) or word.lower() == name


def _matches(path: str, pattern: str) -> bool:
    from fnmatch import fnmatch

    path = path.replace("\\", "/").removeprefix("./")
    return fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}")
