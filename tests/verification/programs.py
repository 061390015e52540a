"""Starting child processes in tests, and small programs for them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from torchferry.verification.launch import Surroundings, run_child
from torchferry.verification.request import Report, Request, Where
from torchferry.verification.values import TensorValue, read_values

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@dataclass
class Ended:
    """A child process that is over."""

    report: Report
    stdout: str
    stderr: str
    values: dict[str, TensorValue]


def run_program(
    folder: Path,
    source: str,
    *,
    name: str = "program.py",
    args: tuple[str, ...] = (),
    **more: object,
) -> Ended:
    """Write `source` to a file in `folder` and run it in a child process, captured."""
    script = folder / name
    script.write_text(dedent(source))
    results = folder / "results"
    results.mkdir(exist_ok=True)
    settings: dict[str, object] = {"where": Where.CPU, "seed": 0, **more}
    request = Request(str(script), args, str(results), **settings)  # type: ignore[arg-type]
    report = run_child(request, Surroundings(folder, environment={"OMP_NUM_THREADS": "1"}))
    out, err = ((results / stream).read_text() for stream in ("stdout", "stderr"))
    return Ended(report, out, err, read_values(results))


def torchferry(
    *arguments: str, cwd: Path, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return subprocess.run(
        [sys.executable, "-m", "torchferry", *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
