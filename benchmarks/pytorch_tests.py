"""Runs PyTorch's own test files on the simulated GPU.

    python benchmarks/pytorch_tests.py PATH/test/test_torch.py ... [--every N] [--seconds S]

The files are those of PyTorch's repository, of a version near the torch installed; they are not
part of this project. Each file runs in a child process with the simulation on from before its
import, so that PyTorch makes the CUDA variants of its device-generic tests. A test that crashes or
hangs ends its child; a new one goes on after it. Each test that failed runs a second time, without
the simulation, as its CPU variant: what fails there too says nothing about the simulated GPU.

`--every N` takes every Nth test, `--seconds S` stops each file after S seconds: the sums then speak
of the part that ran.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pytorch_test_kinds import kind_of

CHILD = Path(__file__).with_name("pytorch_tests_child.py")
PASSED, FAILED, SKIPPED, CRASHED = "passed", "failed", "skipped", "crashed"
#: Failed, and so does the CPU variant on plain torch.
NOT_HERE = "fails on the CPU too"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every Nth test")
    parser.add_argument("--most", type=int, default=0, help="take about so many tests of a file")
    parser.add_argument("--match", default="", help="only tests whose name has this (a regex)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for one test")
    parser.add_argument("--seconds", type=float, default=1800, help="most seconds for one file")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--memory", default="4GB", help="of each GPU; PyTorch skips tests for more")
    parser.add_argument("--no-baseline", action="store_true", help="no second run on the CPU")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    options = parser.parse_args()
    every: dict[str, dict[str, dict[str, str]]] = {}
    for path in options.paths:
        found = run_file(path, "cuda", options)
        if not options.no_baseline:
            mark_baseline(path, found, options)
        every[path.name] = found
        print_file(path, found)
        if options.json:
            options.json.write_text(json.dumps(every, indent=1), encoding="utf-8")
    print_table(every)
    return 0


def run_file(
    path: Path, device: str, options: argparse.Namespace, only: list[str] | None = None
) -> dict[str, dict[str, str]]:
    """Outcome and reason of each test of a file, by name."""
    found: dict[str, dict[str, str]] = {}
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            log = Path(folder) / "log"
            names = ("gpus", "memory", "every", "most", "match", "timeout")
            settings = {
                "device": device, "done": list(found), "only": only,
                **{name: getattr(options, name) for name in names},
            }  # fmt: skip
            before = len(found)
            why = run_child(path, log, settings, end, folder)
            ended, running = read(log, found)
            if running is not None and time.monotonic() < end:
                found[running] = {"outcome": CRASHED, "reason": why}
            elif ended:
                break
            elif len(found) == before and time.monotonic() < end:
                print(f"{path.name}: no test ran: {why}", file=sys.stderr)
                break
            log.unlink(missing_ok=True)
    return found


def run_child(path: Path, log: Path, settings: dict[str, Any], end: float, folder: str) -> str:
    """Run a child until it ends, hangs or the time is up; the reason if it did not end well."""
    device = settings["device"]
    environment = {
        **os.environ, "PYTORCH_TESTING_DEVICE_ONLY_FOR": device, "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    output = Path(folder) / "output"
    with output.open("wb") as sink:
        child = subprocess.Popen(
            [sys.executable, str(CHILD), str(path.resolve()), str(log), json.dumps(settings)],
            stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment,
            cwd=folder, start_new_session=True,
        )  # fmt: skip
        why = watch(child, log, settings["timeout"], end)
    if why:
        return why
    tail = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    return f"exit {child.returncode}: {''.join(tail)[:200]}" if child.returncode else ""


def watch(child: subprocess.Popen[bytes], log: Path, timeout: float, end: float) -> str:
    """Wait for the child; kill it (and its children) where it writes nothing for long."""
    size, since = -1, time.monotonic()
    while True:
        try:
            child.wait(0.5)
            return ""
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            current = log.stat().st_size if log.exists() else 0
            if current != size:
                size, since = current, now
            hangs = now - since > timeout * 2 + (180 if current == 0 else 0)
            if hangs or now > end:
                os.killpg(child.pid, 9)
                child.wait()
                return "hangs" if hangs else "out of time"


def read(log: Path, found: dict[str, dict[str, str]]) -> tuple[bool, str | None]:
    """Take over the outcomes of a log: (all chosen tests ran, the test that was running)."""
    chosen, ran, running = None, 0, None
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        record = json.loads(line)
        if "chosen" in record:
            chosen = record["chosen"]
        elif "start" in record:
            running = record["start"]
        else:
            found[record["id"]] = {"outcome": record["outcome"], "reason": record["reason"]}
            ran, running = ran + 1, None
    return chosen == ran, running


def mark_baseline(
    path: Path, found: dict[str, dict[str, str]], options: argparse.Namespace
) -> None:
    """Mark failed tests whose CPU variant fails on plain torch."""
    twins = {on_cpu(name): name for name, one in found.items() if one["outcome"] == FAILED}
    if not twins:
        return
    for twin, one in run_file(path, "cpu", options, list(twins)).items():
        if one["outcome"] not in (PASSED, SKIPPED):
            found[twins[twin]]["outcome"] = NOT_HERE


def on_cpu(name: str) -> str:
    """Name of the CPU variant of a CUDA test."""
    return re.sub(r"_cuda(?=_|$)", "_cpu", name.replace("CUDA.", "CPU."))


def shape(reason: str) -> str:
    """A reason without its numbers and places, to group by."""
    reason = re.sub(r"\[[\w./-]+:\d+\]$", "", reason)
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?(e-?\d+)?", "N", reason)[:150]


def print_file(path: Path, found: dict[str, dict[str, str]]) -> None:
    """Outcomes and reasons of one file."""
    print(f"\n{path.name}: {summary(found)}")
    groups: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for name, one in found.items():
        if one["outcome"] != PASSED:
            groups[one["outcome"], shape(one["reason"])].append(name)
    for (outcome, reason), names in sorted(groups.items(), key=lambda g: (g[0][0], -len(g[1]))):
        print(f"  {outcome} x{len(names)}: {reason}\n      {', '.join(names[:3])}")
    sys.stdout.flush()


def summary(found: dict[str, dict[str, str]]) -> str:
    """Sums of the outcomes."""
    counts = collections.Counter(one["outcome"] for one in found.values())
    judged = len(found) - counts[SKIPPED] - counts[NOT_HERE]
    rest = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if name != PASSED)
    share = f" ({counts[PASSED] / judged:.1%})" if judged else ""
    return f"{counts[PASSED]} of {judged} pass{share}; {rest or 'nothing else'}"


def print_table(every: dict[str, dict[str, dict[str, str]]]) -> None:
    """One line a file."""
    import torch

    print(f"\ntorch {torch.__version__}")
    for name, found in every.items():
        print(f"{name}: {summary(found)}")
    print("\nwhy the others do not pass:")
    kinds = collections.Counter(
        kind_of(test, one["outcome"], one["reason"])
        for found in every.values()
        for test, one in found.items()
        if one["outcome"] not in (PASSED, SKIPPED, NOT_HERE)
    )
    for kind, count in kinds.most_common():
        print(f"  {count}: {kind}")
    print(f"all: {summary({f'{f}:{n}': o for f, t in every.items() for n, o in t.items()})}")


if __name__ == "__main__":
    sys.exit(main())
