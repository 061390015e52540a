"""`torchferry migrate`: CPU-only source in, device-agnostic source out."""

from __future__ import annotations

import ast
import os
import re
import sys
from typing import TYPE_CHECKING

import click

from torchferry.source.discovery import NOTEBOOK, STDIN
from torchferry.source.document import Document
from torchferry.source.project import groups

from ._destination import Destination
from ._output import show_diff
from ._troubles import Troubles

if TYPE_CHECKING:
    from torchferry.migration import Migration, MigrationOptions

_HELP = """Rewrite PyTorch programs so that they use the GPU where there is one.

PATHS are files, folders, or - for standard input. By default nothing is written: a diff is shown,
and what was placed on the device, what was moved, and what was left alone and why.

Exit codes: 0 fine, 1 something would change (with --check), 2 wrong use or a file that could not
be processed (the others are).
"""
_DEVICE = re.compile(r"(?:cpu|cuda|mps|xpu)(?::\d+)?")
_NAMED = ("auto", "cuda", "mps", "xpu", "accelerator")


@click.command("migrate", help=_HELP)
@click.argument("paths", nargs=-1, required=True)
@click.option("--write", "-w", is_flag=True, help="Write the files in place.")
@click.option("--output", "-o", metavar="PATH", help="Write to a file, a folder, or - instead.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if anything would change.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--device",
    default="auto",
    show_default=True,
    metavar="NAME|EXPR",
    help=f"{', '.join(_NAMED)}, a device such as cuda:1, or a Python expression that gives one.",
)
@click.option("--keep-rng", is_flag=True, help="Draw random tensors on the CPU, as before.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave files or folders out.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def command(
    paths: tuple[str, ...],
    write: bool,
    output: str | None,
    check: bool,
    form: str,
    device: str,
    keep_rng: bool,
    exclude: tuple[str, ...],
    quiet: bool,
) -> None:
    """Migrate PATHS; see `_HELP`."""
    from torchferry.migration import MigrationOptions

    if write + check + (output is not None) > 1:
        raise click.UsageError("--write, --output and --check exclude each other")
    if write and STDIN in paths:
        raise click.UsageError("standard input cannot be written in place; use --output -")
    options = MigrationOptions(device=device_expression(device), keep_rng=keep_rng)
    run = _Run(options, form, quiet, write, check)
    if output is not None and output != STDIN:
        run.destination = Destination(output, paths)
    elif output == STDIN and (len(paths) > 1 or os.path.isdir(paths[0])):
        raise click.UsageError("--output - takes one file")
    run.to_stdout = output == STDIN
    files = run.troubles.files(paths, exclude)
    if run.destination:
        for path in files:
            run.destination.of(path)  # a clash must be said before anything is written
    for documents in groups(list(run.troubles.documents(files))):
        run.together(documents)
    sys.exit(run.finish())


def device_expression(device: str) -> str:
    """The value of --device for the engine: a known name, or an expression that parses."""
    if device in _NAMED:
        return device
    if _DEVICE.fullmatch(device):
        return f'torch.device("{device}")'
    try:
        ast.parse(device, mode="eval")
    except (SyntaxError, ValueError):
        choices = ", ".join(_NAMED)
        raise click.UsageError(
            f"--device {device!r} is neither one of {choices} nor a Python expression"
        ) from None
    return device


def _list_opaque_cells(doc: Document, migration: Migration) -> None:
    from torchferry.migration import PlanItem

    for line, number in getattr(doc, "opaque_cells", ()):
        migration.plan.left.append(PlanItem(line, f"cell {number}", "not Python, not analysed"))


class _Run:
    """One call of the command: settings, and the files done so far."""

    def __init__(
        self, options: MigrationOptions, form: str, quiet: bool, write: bool, check: bool
    ) -> None:
        self.options, self.form, self.quiet = options, form, quiet
        self.write, self.check = write, check
        self.destination: Destination | None = None
        self.to_stdout = False
        self.troubles = Troubles()
        self.done: list[tuple[Migration, str]] = []  #: with the file that was written, or ""

    def together(self, docs: list[Document]) -> None:
        """Migrate documents that import each other; where that fails, each by itself."""
        from torchferry.migration import migrate_documents

        migrations: list[Migration] | None = None
        if len(docs) > 1:
            try:
                migrations = migrate_documents(docs, self.options)
            except Exception:
                migrations = None  # the file at fault is said when its turn comes
        for index, doc in enumerate(docs):
            self.one(doc, None if migrations is None else migrations[index])

    def one(self, doc: Document, migration: Migration | None) -> None:
        """Migrate one document; whatever happens, the next one can follow."""
        from torchferry.migration import migrate_document

        target = self.destination.of(doc.path) if self.destination else ""
        with self.troubles.caught(doc.path):
            if migration is None:
                migration = migrate_document(doc, self.options)
            _list_opaque_cells(doc, migration)
            written = self._put(doc, migration, target)
            self.done.append((migration, written))
            if self.form == "json" and doc.path.endswith(NOTEBOOK):
                migration.after = doc.to_bytes(
                    migration.after
                ).decode()  # the file's, not the code's
            if self.form == "text" and not self.quiet:
                self._show(doc, migration, written)

    def _put(self, doc: Document, migration: Migration, target: str) -> str:
        """Write the result where it was asked for; the name of the file, or ""."""
        from torchferry.source.files import write_bytes

        data = doc.to_bytes(migration.after)
        if self.to_stdout:
            click.echo(data, nl=False)
        elif target:
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            write_bytes(target, data)
            return target
        elif self.write and migration.changed:
            write_bytes(doc.path, data, expected=doc.to_bytes())
            return doc.path
        return ""

    def _show(self, doc: Document, migration: Migration, written: str) -> None:
        from torchferry.report.migrate_text import plan_text

        if migration.changed and not (written or self.to_stdout or self.check):
            show_diff(doc, migration.after)
        text = plan_text(migration, written=written, brief=self.check)
        if text:
            click.echo(text, err=self.to_stdout)

    def finish(self) -> int:
        """Print what sums the run up; the exit code."""
        migrations = [migration for migration, _ in self.done]
        if self.form == "json":
            from torchferry.report.migrate_json import migrations_json

            click.echo(migrations_json(self.done, self.troubles.errors), err=self.to_stdout)
        elif not self.quiet:
            from torchferry.report.migrate_text import summary_text

            wrote = bool(self.write or self.destination)
            text = summary_text(migrations, self.troubles.errors, wrote)
            click.echo(text, err=self.to_stdout)
        if self.troubles.errors:
            return 2
        return 1 if self.check and any(migration.changed for migration in migrations) else 0
