"""Files that could not be processed: each is said at once, and the others go on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from torchferry.core.errors import RewriteRefused, SourceError, UnparsableSource
from torchferry.source.discovery import discover
from torchferry.source.document import Document
from torchferry.source.files import load

_REPORT = (
    "This is a bug in torchferry; no file was changed by it. Please report it, with the file and "
    "what TORCHFERRY_TRACEBACK=1 makes this command print."
)


class Troubles:
    """What went wrong in a run; it decides the exit code and is part of every report."""

    def __init__(self, *, silent: bool = False) -> None:
        self.errors: list[SourceError] = []
        self.silent = silent  #: said later, by another one

    def add(self, error: SourceError) -> None:
        """Tell the user about a file that cannot be processed."""
        self.errors.append(error)
        if not self.silent:
            click.echo(f"torchferry: {error}", err=True)

    @contextmanager
    def caught(self, path: str) -> Iterator[None]:
        """Turn whatever happens to one file into a trouble of that file."""
        try:
            yield
        except SourceError as error:
            self.add(error)
        except RewriteRefused as error:
            self.add(SourceError(path, str(error).removeprefix(f"{path}: ")))
        except RecursionError:
            self.add(UnparsableSource(path, "nested too deeply to be analysed"))
        except BrokenPipeError:
            raise
        except Exception as error:
            self.add(SourceError(path, internal_error(error)))

    def files(self, paths: Sequence[str], exclude: Sequence[str]) -> list[str]:
        """The files that some files and folders stand for."""
        found = discover(paths, exclude)
        for error in found.errors:
            self.add(error)
        return found.files

    def documents(self, files: Sequence[str]) -> Iterator[Document]:
        """The documents of all files that can be read and parsed."""
        for path in files:
            with self.caught(path):
                document = load(path)
                _ = document.tree  # files that nobody looks into must be Python too
                yield document


def internal_error(error: Exception) -> str:
    """What to say about a bug: where it is, and how to report it; never a traceback by itself."""
    if os.environ.get("TORCHFERRY_TRACEBACK") == "1":
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        file = trace.tb_frame.f_code.co_filename.replace(os.sep, "/").split("torchferry/")[-1]
        where = f", {file}:{trace.tb_lineno}"
    what = " ".join(str(error).split())[:200]
    return f"internal error ({type(error).__name__}: {what}{where}). {_REPORT}"
