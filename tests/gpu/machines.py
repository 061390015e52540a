"""Starts the child processes: one that sees the card, one that sees none and simulates one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .outcome import Outcome

CHILD = Path(__file__).with_name("child.py")


def run_all(
    machine: str, programs: list[dict[str, Any]], seconds: float, folder: Path | None = None
) -> dict[str, Outcome]:
    """Outcomes by name. A program that ends its process has the error "Died".

    machine: "card" or "simulated". seconds: for all of them; what was not reached has no outcome.
    folder: where the programs run, a temporary one if None.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            return run_all(machine, programs, seconds, Path(made))
    outcomes: dict[str, Outcome] = {}
    ends = time.monotonic() + seconds
    rest = list(programs)
    while rest and time.monotonic() < ends:
        found, clean = _run_some(machine, rest, ends - time.monotonic(), folder)
        outcomes.update((o.name, o) for o in found)
        rest = rest[len(found) :]
        if rest and not clean and time.monotonic() < ends:
            name = rest.pop(0)["name"]
            outcomes[name] = Outcome(name, "Died", "the process ended")
    return outcomes


def _run_some(
    machine: str, programs: list[dict[str, Any]], seconds: float, folder: Path
) -> tuple[list[Outcome], bool]:
    """Outcomes of one child; False where the program after them ended it."""
    path = folder / "programs.json"
    path.write_text(json.dumps(programs), encoding="utf-8")
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    if machine != "card":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    errors = folder / "errors.txt"
    with errors.open("w") as stderr, (folder / "out.txt").open("w+") as stdout:
        child = subprocess.Popen(
            [sys.executable, str(CHILD), machine, str(path)],
            stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, env=environment, cwd=folder,
        )  # fmt: skip
        try:
            code = child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            code = 0  # out of time: nothing is to blame
        stdout.seek(0)
        lines = [line for line in stdout.read().splitlines() if line.startswith('{"name"')]
    found = [Outcome.from_json(json.loads(line)) for line in lines]
    if not found and code not in (0, 86):
        text = errors.read_text(encoding="utf-8", errors="replace")
        if "Error" in text and "File" in text:  # the child itself is at fault, not a program
            raise RuntimeError(f"the child for the {machine} machine failed:\n{text[-2000:]}")
    return found, code in (0, 86)
