"""The command `torchferry`: finds its commands, and ends every run with a clear word."""

from __future__ import annotations

import os
import pkgutil
import sys
from importlib import import_module
from typing import NoReturn

import click

from torchferry._version import __version__
from torchferry.core.errors import TorchferryError

from ._troubles import internal_error

_HELP = """Carry PyTorch programs from the CPU to the GPU, and prove that they arrived.

Exit codes: 0 fine, 1 something was found (or is not verified), 2 wrong use, a file that could not
be processed, or an internal error.
"""


class Commands(click.Group):
    """Each module of this package without a leading underscore is a command, loaded when used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        package = import_module(__package__ or "torchferry.cli")
        names = (module.name for module in pkgutil.iter_modules(package.__path__))
        return sorted(
            name.replace("_", "-") for name in names if not name.startswith("_") and name != "main"
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; None when there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"{__package__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command


@click.group(
    "torchferry", cls=Commands, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="torchferry")
def group() -> None:
    """The root of all commands; see `_HELP`."""


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command line and exit."""
    sys.exit(run(sys.argv[1:] if args is None else args))


def run(args: list[str]) -> int:
    """Run a command line; its exit code. Never raises but for SystemExit of a command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        code = group.main(args, prog_name="torchferry", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("torchferry: interrupted", err=True)
        return 130
    except BrokenPipeError:
        # the reader went away (`torchferry migrate x | head`); keep Python silent about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except TorchferryError as error:
        click.echo(f"torchferry: {error}", err=True)
        return 2
    except Exception as error:
        click.echo(f"torchferry: {internal_error(error)}", err=True)
        return 2
    return code if isinstance(code, int) else 0
