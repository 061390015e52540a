"""`torchferry check`: device mistakes in PyTorch source, explained."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from torchferry.source.document import Document

from ._troubles import Troubles

if TYPE_CHECKING:
    from torchferry.core.finding import Finding

_HELP = """Find device mistakes in PyTorch source, without running it.

PATHS are files, folders, or - for standard input.

Exit codes: 0 no error and no warning, 1 errors or warnings, 2 wrong use or a file that could not
be processed (the others are).
"""


@click.command("check", help=_HELP)
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave files or folders out.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors of this command.")
def command(paths: tuple[str, ...], form: str, exclude: tuple[str, ...], quiet: bool) -> None:
    """Check PATHS; see `_HELP`."""
    troubles = Troubles()
    findings: list[Finding] = []
    files = 0
    for document in troubles.documents(troubles.files(paths, exclude)):
        with troubles.caught(document.path):
            found = _check(document)
            files += 1
            findings += found
            if form == "text" and not quiet:
                _show(document, found)
    if form == "json":
        from torchferry.report.check_json import findings_json

        click.echo(findings_json(findings, troubles.errors))
    elif not quiet:
        from torchferry.report.check_text import summary_text

        click.echo(summary_text(findings, files, troubles.errors))
    sys.exit(_exit_code(findings, troubles))


def _check(document: Document) -> list[Finding]:
    from torchferry.rules.engine import check_document

    return list(check_document(document))


def _show(document: Document, findings: list[Finding]) -> None:
    from torchferry.report.check_text import finding_text

    for finding in findings:
        click.echo(finding_text(finding, document) + "\n")


def _exit_code(findings: list[Finding], troubles: Troubles) -> int:
    if troubles.errors:
        return 2
    return 1 if any(finding.severity.value != "note" for finding in findings) else 0
