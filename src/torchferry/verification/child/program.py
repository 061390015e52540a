"""Running a user's program as `__main__`, as the python command does."""

from __future__ import annotations

import importlib.machinery
import io
import os
import runpy
import sys
from dataclasses import dataclass
from types import CodeType, ModuleType


class CannotStart(Exception):
    """There is no such program, or it does not compile; `str()` says so in one line."""


@dataclass(frozen=True)
class Program:
    """A script or module, ready to run: its compiled code, or the name of a module."""

    path: str  #: absolute; of a module: empty
    name: str  #: as the user wrote it
    code: CodeType | None

    def run(self, args: tuple[str, ...]) -> None:
        """Run it in a fresh `__main__`. Whatever it raises passes through."""
        main = ModuleType("__main__")
        sys.modules["__main__"] = main
        main.__dict__["__builtins__"] = sys.modules["builtins"]
        if self.code is None:
            sys.argv[:] = ["-m", *args]
            if not _safe_path():
                sys.path.insert(0, os.getcwd())
            # the function behind `python -m`; run_module would take __main__ away at the end
            runpy._run_module_as_main(self.name)  # type: ignore[attr-defined]
            return
        sys.argv[:] = [self.name, *args]
        if not _safe_path():
            sys.path.insert(0, os.path.dirname(os.path.realpath(self.path)))
        main.__file__ = self.path
        main.__dict__.update(__annotations__={}, __cached__=None)
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", self.path)
        exec(self.code, main.__dict__)


def load(target: str, module: bool) -> Program:
    """Find and compile a program. Raises CannotStart; a syntax error passes as SyntaxError."""
    if module:
        return Program("", target, None)
    path = os.path.abspath(target)
    if os.path.isdir(path):
        path = os.path.join(path, "__main__.py")
        if not os.path.exists(path):
            raise CannotStart(f"{target} is a folder without a __main__.py; name a script")
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        raise CannotStart(f"cannot read {target}: {error.strerror}") from None
    try:
        return Program(path, target, compile(source, path, "exec", dont_inherit=True))
    except ValueError as error:  # null bytes
        raise CannotStart(f"{target} is not a Python source: {error}") from None


def _safe_path() -> bool:
    return bool(getattr(sys.flags, "safe_path", False))
