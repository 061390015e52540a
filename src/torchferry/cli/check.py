"""`torchferry check`: device mistakes in PyTorch source, explained and fixed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from torchferry.source.discovery import STDIN

if TYPE_CHECKING:
    from ._checking import CheckRun

_HELP = """Find device mistakes in PyTorch source, without running it.

PATHS are files, folders, or - for standard input. Settings are read from [tool.torchferry] in the
nearest pyproject.toml; options of the command line win.

Files of the same project that PATHS import are followed, and reported on where a fault is theirs.

Exit codes: 0 no error and no warning, 1 errors or warnings, 2 wrong use or a file that could not
be processed (the others are).
"""
_FORMATS = ("text", "json", "sarif", "github")


@click.command("check", help=_HELP)
@click.argument("paths", nargs=-1, required=True)
@click.option("--fix", is_flag=True, help="Write the safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="Take fixes that may change the program too.")
@click.option("--diff", is_flag=True, help="Show what the fixes would change; write nothing.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True)
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules (DEV1, DEV301).")
@click.option("--ignore", multiple=True, metavar="CODES", help="Not these rules.")
@click.option(
    "--level",
    type=click.Choice(("error", "warning", "note")),
    help="The least severity that is shown.  [default: note]",
)
@click.option("--baseline", metavar="FILE", help="Hear only of what is not in this file.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline file.")
@click.option("--stdin-filename", metavar="PATH", help="The name of what comes from -.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave files or folders out.")
@click.option("--jobs", "-j", type=click.IntRange(0), default=0, help="Processes; 0: by the work.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write .torchferry_cache.")
@click.option("--show-not-analysed", is_flag=True, help="List what the analysis could not see.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors of this command.")
def command(
    paths: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    form: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    level: str | None,
    baseline: str | None,
    write_baseline: bool,
    stdin_filename: str | None,
    exclude: tuple[str, ...],
    jobs: int,
    no_cache: bool,
    show_not_analysed: bool,
    quiet: bool,
) -> None:
    """Check PATHS; see `_HELP`."""
    from ._checking import CheckRun
    from ._settings import read_settings

    if stdin_filename and STDIN not in paths:
        raise click.UsageError("--stdin-filename needs - among the paths")
    if fix and diff:
        raise click.UsageError("--fix and --diff exclude each other")
    if fix and STDIN in paths:
        raise click.UsageError("standard input cannot be written in place; use --diff")
    settings = read_settings(stdin_filename or paths[0])
    settings = settings.override(select, ignore, level, exclude, baseline)
    if write_baseline and not settings.baseline:
        raise click.UsageError("--write-baseline needs --baseline FILE")
    run = CheckRun(settings, stdin_filename, jobs, cached=not no_cache)
    if fix or diff:
        run.fix(paths, unsafe=unsafe_fixes, write=fix, quiet=quiet or form != "text")
        if diff and not quiet:
            sys.exit(2 if run.troubles.errors else int(run.changed > 0))
    else:
        run.check(paths)
    if write_baseline:
        run.write_baseline()
    else:
        run.hide_baseline()
    if not quiet:
        _report(run, form, show_not_analysed)
    sys.exit(run.exit_code())


def _report(run: CheckRun, form: str, listed: bool) -> None:
    errors = run.troubles.errors
    if form == "json":
        from torchferry.report.check_json import findings_json

        click.echo(findings_json(run.findings, errors, run.not_analysed, listed=listed))
    elif form == "sarif":
        from torchferry.report.sarif import sarif_text

        from ._settings import described_rules

        gaps = run.not_analysed if listed else ()
        click.echo(sarif_text(run.findings, errors, described_rules(), gaps))
    elif form == "github":
        from torchferry.report.github import workflow_commands

        for line in workflow_commands(run.findings, errors, run.not_analysed if listed else ()):
            click.echo(line)
    else:
        _report_text(run, listed)


def _report_text(run: CheckRun, listed: bool) -> None:
    from torchferry.report.check_text import finding_text, not_analysed_text, summary_text

    for finding in run.findings:
        click.echo(finding_text(finding, run.document(finding.location.path)) + "\n")
    if listed and run.not_analysed:
        click.echo(not_analysed_text(run.not_analysed) + "\n")
    text = summary_text(run.findings, run.files, run.troubles.errors, len(run.not_analysed))
    if run.hidden:
        text += f"; {run.hidden} in the baseline"
    if run.fixed:
        text = f"{run.fixed} fixed; {text}"
    click.echo(text)
