"""`torchferry verify`: prove a migration."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from torchferry.verification import Verdict, VerifyOptions
    from torchferry.verification.verdict import Role

_HELP = """Prove that a migrated script is the same program, on the CPU and on a GPU.

Runs SCRIPT with its ARGS twice as it is on the CPU, then migrated on the CPU and on a GPU (the
machine's own, else the simulated one), with fixed seeds, and compares what is printed and the final
values of modules and learned tensors. Every run works on a copy of the project's folder: no file
is changed.

Exit code: 0 verified, 1 failed or not shown, 2 wrong use or no PyTorch.
"""
_DOING = {
    "original": "the original on the CPU",
    "original-again": "the original once more",
    "migrated-cpu": "the migrated program on the CPU",
    "migrated-gpu": "the migrated program on the GPU",
    "original-gpu": "the original on the GPU",
}
_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)


@click.command(
    "verify",
    help=_HELP,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("--migrated", type=_FILE, help="The script after the migration; else migrate it now.")
@click.option("--device", default="auto", show_default=True, help="As for `torchferry migrate`.")
@click.option("--keep-rng", is_flag=True, help="As for `torchferry migrate`.")
@click.option(
    "--gpu",
    "use",
    type=click.Choice(["auto", "real", "simulated"]),
    default="auto",
    show_default=True,
    help="The GPU to run on; auto: a real one where there is one.",
)
@click.option("--gpus", default=1, show_default=True, type=click.IntRange(1, 64), metavar="N")
@click.option("--memory", default="80GB", show_default=True, help="Memory of a simulated GPU.")
@click.option("--rtol", default=1e-4, show_default=True, help="Relative tolerance, on a GPU.")
@click.option("--atol", default=1e-6, show_default=True, help="Absolute tolerance, on a GPU.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds for each run.")
@click.option("--root", type=_FOLDER, help="The folder that the program needs; else its project.")
@click.option("--stdin", type=_FILE, help="A file for the program to read.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1), metavar="N")
@click.option("--keep", is_flag=True, help="Keep the copies and the outputs of the runs.")
@click.option(
    "--python", default=sys.executable, help="The Python that has PyTorch.", metavar="EXE"
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    script: Path,
    args: tuple[str, ...],
    migrated: Path | None,
    device: str,
    keep_rng: bool,
    form: str,
    **settings: Any,
) -> None:
    """Verify SCRIPT; see `_HELP`."""
    from torchferry.core.errors import MissingTorch, TorchferryError
    from torchferry.migration import MigrationOptions
    from torchferry.verification import verify

    try:
        with _progress() as progress:
            verdict = verify(
                script,
                args,
                migrated=migrated,
                migration_options=MigrationOptions(device=device, keep_rng=keep_rng),
                options=_options(settings),
                progress=progress,
            )
    except MissingTorch as error:
        from torchferry.report.missing_torch import missing_torch_text

        click.echo(missing_torch_text(str(error), settings["python"]), err=True)
        sys.exit(2)
    except (TorchferryError, OSError) as error:
        click.echo(f"torchferry: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("torchferry: interrupted", err=True)
        sys.exit(130)
    _show(verdict, form)
    sys.exit(0 if verdict.verified else 1)


def _options(settings: dict[str, Any]) -> VerifyOptions:
    from torchferry.verification import Tolerance, VerifyOptions
    from torchferry.verification.request import SimulatedGpu

    gpu = SimulatedGpu(gpus=settings.pop("gpus"), memory=settings.pop("memory"))
    tolerance = Tolerance(rtol=settings.pop("rtol"), atol=settings.pop("atol"))
    for name in ("root", "stdin"):
        if settings[name] is not None:
            settings[name] = settings[name].resolve()
    return VerifyOptions(tolerance=tolerance, gpu=gpu, **settings)


def _show(verdict: Verdict, form: str) -> None:
    if form == "json":
        from torchferry.report.verify_json import verdict_json

        click.echo(verdict_json(verdict))
        return
    from torchferry.report.verify_text import verdict_text

    click.echo(verdict_text(verdict))


@contextmanager
def _progress() -> Iterator[Callable[[Role], None] | None]:
    """A line on the terminal that says which run is under way; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda role: status.update(f"running {_DOING[role.value]} ...")
