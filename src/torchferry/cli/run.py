"""`torchferry run`: a program on a simulated GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from torchferry.verification.request import Report

_HELP = """Run a program on a simulated GPU.

The program sees a GPU (`torch.cuda.is_available()` is true), computes real numbers, and meets the
errors that a GPU would raise; such an error is explained. Nothing else changes: TARGET, its
arguments, its input and output and its exit code are those of `python TARGET ARGS...`.

Exit code: the program's own; 2 where it cannot be started.
"""


@click.command(
    "run",
    help=_HELP,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", is_flag=True, help="TARGET is a module, as for `python -m`.")
@click.option("--gpus", default=1, show_default=True, type=click.IntRange(1, 64), metavar="N")
@click.option("--memory", default="80GB", show_default=True, help="Memory of each GPU.")
@click.option("--name", default="", help="What torch.cuda.get_device_name() says.")
@click.option(
    "--rng",
    type=click.Choice(["host", "device"]),
    default="host",
    show_default=True,
    help="Random numbers on the GPU: those that a CPU would draw, or a generator of its own.",
)
@click.option("--trace", type=click.Path(dir_okay=False), help="Write what happened as JSON lines.")
@click.option("--report", type=click.Path(dir_okay=False), help="Write error and account as JSON.")
@click.option("--account/--no-account", default=True, show_default=True, help="Sums at the end.")
@click.option(
    "--python", default=sys.executable, help="The Python that has PyTorch.", metavar="EXE"
)
@click.argument("target")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    module: bool,
    gpus: int,
    memory: str,
    name: str,
    rng: str,
    trace: str | None,
    report: str | None,
    account: bool,
    python: str,
    target: str,
    args: tuple[str, ...],
) -> None:
    """Run TARGET; see `_HELP`."""
    from torchferry.verification.launch import Surroundings, run_child
    from torchferry.verification.request import Request, SimulatedGpu

    with TemporaryDirectory(prefix="torchferry-", ignore_cleanup_errors=True) as results:
        request = Request(
            target=target,
            args=args,
            results=results,
            module=module,
            gpu=SimulatedGpu(gpus, memory, name, rng),
            trace_file=str(Path(trace).absolute()) if trace else "",
        )
        try:
            done = run_child(request, Surroundings(Path.cwd(), python=python, captured=False))
        except OSError as error:
            raise click.UsageError(f"cannot start {python}: {error.strerror}") from None
    sys.exit(_tell(done, python, report, account))


def _tell(done: Report, python: str, report_file: str | None, account: bool) -> int:
    """Say what there is to say on standard error; the exit code."""
    from torchferry.report.run_text import account_text, explain
    from torchferry.verification.request import Status

    if done.status is Status.NO_TORCH:
        from torchferry.report.missing_torch import missing_torch_text

        _say(missing_torch_text(done.error, python))
        return 2
    if done.status is Status.NOT_STARTED:
        _say(f"torchferry: {done.error}")
        return 2
    if done.status is Status.DIED:
        _say(f"torchferry: {done.error}; there is no account")
    if done.device_error is not None:
        _say("\n" + explain(done.device_error))
    if account and done.account is not None:
        _say(f"\ntorchferry: {done.gpu_name or 'simulated GPU'}\n{account_text(done.account)}")
    if report_file:
        from torchferry.report.run_json import run_json

        text = run_json(done.exit_code, done.device_error, done.account)
        Path(report_file).write_text(text + "\n", encoding="utf-8")
    return done.exit_code


def _say(text: str) -> None:
    click.echo(text, err=True)
