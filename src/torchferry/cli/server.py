"""`torchferry server`: a language server, for editors."""

from __future__ import annotations

import sys

import click

_HELP = """Speak the Language Server Protocol on standard input and output.

Gives diagnostics, quick fixes, and, on hovering, the device of a tensor and why it is there. Needs
the extra torchferry[lsp].
"""


@click.command("server", help=_HELP)
def command() -> None:
    """Serve an editor until it says good bye."""
    try:
        from ._language_server import make_server
    except ImportError:
        click.echo(
            "torchferry: the language server needs pygls: pip install torchferry[lsp]", err=True
        )
        sys.exit(2)
    make_server().start_io()
