"""Where `--output` puts the rewritten files."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from torchferry.source.discovery import STDIN


class Destination:
    """A file for one named file, else a folder that takes the tree of each named folder."""

    def __init__(self, output: str, paths: Sequence[str]) -> None:
        self.output = output
        self.roots = [path for path in paths if path != STDIN and os.path.isdir(path)]
        single = len(paths) == 1 and not self.roots
        folder = os.path.isdir(output) or output.endswith(("/", os.sep))
        self.is_file = single and not folder
        if not self.is_file and STDIN in paths:
            raise click.UsageError("standard input needs a file for --output, not a folder")
        if not self.is_file and os.path.exists(output) and not os.path.isdir(output):
            raise click.UsageError(f"--output {output} is a file, but more than one may be written")
        self.taken: dict[str, str] = {}

    def of(self, path: str) -> str:
        """The file to write for a source; refuses to write two sources into one."""
        if self.is_file:
            return self.output
        target = os.path.normpath(os.path.join(self.output, self._relative(path)))
        owner = self.taken.setdefault(target, path)
        if owner != path:
            raise click.UsageError(
                f"{owner} and {path} would both be written to {target}; migrate them one by one"
            )
        return target

    def _relative(self, path: str) -> str:
        for root in self.roots:
            below = os.path.relpath(path, root)
            if not below.startswith(os.pardir):
                return below
        return os.path.basename(path)
