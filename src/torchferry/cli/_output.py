"""Standard output: bytes as they are for programs, colours for people."""

from __future__ import annotations

import os
import sys

import click

from torchferry.source.document import Document

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def wants_colour() -> bool:
    """Whether standard output is a terminal that shows colours (https://no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def show_diff(doc: Document, after: str, new_path: str | None = None) -> None:
    """Print the diff of a document and its new text; for programs in its own encoding."""
    from torchferry.source.diff import unified_diff

    mark = "\ufeff" if doc.bom else ""
    before, after = mark + doc.plain(doc.text), mark + doc.plain(after)
    diff = unified_diff(before, after, doc.path, new_path)
    if not wants_colour():
        click.echo(diff.encode(doc.encoding, "backslashreplace"), nl=False)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True, force_terminal=True)
    for line in diff.rstrip("\n").split("\n"):
        style = "bold" if line.startswith(("---", "+++")) else _STYLES.get(line[:1], "")
        console.print(Text(line.rstrip("\r"), style=style))
