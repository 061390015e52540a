"""The errors of torchferry.

    TorchferryError
    |- SourceError        a file that cannot be analysed (the run goes on with the others)
    |  |- UnreadableSource   missing, a folder, no permission, not text
    |  `- UnparsableSource   text that is not Python 3 (syntax error, Python 2)
    |- UsageError         wrong options or arguments
    |- RewriteRefused     a rewrite that did not survive re-reading; nothing was written
    `- MissingTorch       `run` or `verify` without a usable torch
"""

from __future__ import annotations


class TorchferryError(Exception):
    """Base of all errors that torchferry raises on purpose; `str()` is fit for people."""


class SourceError(TorchferryError):
    """A source file that cannot be analysed."""

    def __init__(self, path: str, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(path, reason, line, column)
        self.path, self.reason, self.line, self.column = path, reason, line, column

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.reason}"


class UnreadableSource(SourceError):
    """A file that is missing, forbidden, or not text."""


class UnparsableSource(SourceError):
    """A text that the running Python cannot parse."""


class UsageError(TorchferryError):
    """Options or arguments that do not fit; the message says what would."""


class RewriteRefused(TorchferryError):
    """A rewrite that failed its own proof reading; the original is untouched."""


class MissingTorch(TorchferryError):
    """No usable torch in the environment that should run the program."""
