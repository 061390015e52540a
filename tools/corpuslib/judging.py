"""Baseline, migration and verdict of one program."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import shutil
import subprocess
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpuslib.comparison import Unstable, first_difference, normalise, numbers
from corpuslib.place import Json, Program, Workplace, load, save
from corpuslib.runs import run_program


@dataclass(frozen=True)
class Baseline:
    """What the original prints on the CPU."""

    seconds: float
    output: str
    unstable: Unstable

    @classmethod
    def load(cls, place: Workplace, program: Program) -> Baseline | None:
        data = load(place.result("baseline", program))
        if data is None or not data["ok"]:
            return None
        first, second = (
            place.result("baseline", program, f".{n}.out").read_bytes().decode("utf-8")
            for n in (1, 2)
        )
        seconds = max(run["seconds"] for run in data["runs"])
        return cls(seconds, first, Unstable.between(first, second))

    def difference(self, output: str) -> Json | None:
        return first_difference(self.output, output, self.unstable)


def baseline(place: Workplace, program: Program) -> Json:
    """Run the original twice on the CPU; note what it prints and which lines are not stable."""
    runs = []
    for number in (1, 2):
        run = run_program(place, program, place.pristine(program), "plain", 3 * program.timeout)
        runs.append(run)
        place.result("baseline", program, f".{number}.out").write_bytes(run.stdout.encode("utf-8"))
        if not run.ok:
            break
    ok = len(runs) == 2 and all(run.ok for run in runs)
    data: Json = {"id": program.id, "ok": ok, "verdict": "ok" if ok else "fails"}
    data["runs"] = [run.summary() for run in runs]
    if ok:
        first, second = runs[0].stdout, runs[1].stdout
        unstable = Unstable.between(first, second)
        data["numbers"] = sum(len(numbers(line)) for line in normalise(first))
        data["compared"] = len(unstable.stable_numbers(normalise(first), set(unstable.lines)))
    return data


def judge_sim(place: Workplace, program: Program, source: Path, known: Baseline) -> Json:
    """Run ``source`` on the simulated GPU and compare it with the baseline."""
    limit = max(3 * program.timeout, 12 * known.seconds)
    run = run_program(place, program, source, "sim", limit)
    result: Json = {"sim": run.summary(), "share": gpu_share(run.account)}
    result["slower"] = round(run.seconds / known.seconds, 2)
    if run.timed_out:
        return result | {"verdict": "timeout"}
    if not run.ok:
        return result | {"verdict": "fails"}
    difference = known.difference(run.stdout)
    if difference:
        return result | {"verdict": "wrong-numbers", "difference": difference}
    return result | {"verdict": "same"}


def gpu_share(account: Json | None) -> float | None:
    """The part of all bytes computed that was computed on the GPU."""
    if not account:
        return None
    gpu, host = account["gpu_bytes"], account["host_bytes"]
    return round(gpu / (gpu + host), 4) if gpu + host else 0.0


def sim(place: Workplace, program: Program) -> Json:
    """The verdict on the unmodified program on the simulated GPU."""
    known = Baseline.load(place, program)
    result: Json = {"id": program.id, "style": program.style}
    if known is None:
        return result | {"verdict": "no-baseline"}
    return result | judge_sim(place, program, place.pristine(program), known)


def migrate(place: Workplace, program: Program) -> Json:
    """Migrate a copy with no hand edit; keep the diff."""
    target = place.migrated(program)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(place.pristine(program), target, symlinks=True)
    command = [place.python, "-m", "torchferry", "migrate", "--write", *program.pyfiles]
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=target, capture_output=True, text=True, errors="replace", timeout=120
        )
        code, output = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, output = -1, "migrate did not end within 120 s"
    seconds = round(time.monotonic() - start, 2)
    return _note_migration(place, program, code, output, seconds)


def _note_migration(
    place: Workplace, program: Program, code: int, output: str, seconds: float
) -> Json:
    diff = "".join(
        _diff(place.pristine(program) / path, place.migrated(program) / path, path)
        for path in program.pyfiles
    )
    place.result("out", program, ".diff").write_bytes(diff.encode("utf-8", "surrogateescape"))
    crashed = code not in (0, 1) or "Traceback (most recent call last)" in output
    verdict = "crashed" if crashed else "changed" if diff else "unchanged"
    result: Json = {
        "id": program.id,
        "verdict": verdict,
        "code": code,
        "seconds": seconds,
        "output": output[-8000:],
    }
    save(place.result("migrate", program), result)
    return result


def _diff(before: Path, after: Path, name: str) -> str:
    old = before.read_bytes().decode("utf-8", "surrogateescape").splitlines(keepends=True)
    new = after.read_bytes().decode("utf-8", "surrogateescape").splitlines(keepends=True)
    lines = difflib.unified_diff(old, new, "a/" + name, "b/" + name)
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def migrate_in_process(place: Workplace, programs: Sequence[Program]) -> None:
    """Migrate many programs in this process: quick, but a hard crash ends them all."""
    from torchferry.cli.main import main

    for program in programs:
        target = place.migrated(program)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(place.pristine(program), target, symlinks=True)
        output, here, code = io.StringIO(), Path.cwd(), 0
        start = time.monotonic()
        os.chdir(target)
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                main(["migrate", "--write", *program.pyfiles])
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 2
        except Exception:  # a crash of the tool is what we look for
            code, _ = 70, output.write(traceback.format_exc())
        finally:
            os.chdir(here)
        seconds = round(time.monotonic() - start, 2)
        result = _note_migration(place, program, code, output.getvalue(), seconds)
        print(f"{result['verdict']:14} {program.id}", flush=True)


def evaluate(place: Workplace, program: Program) -> Json:
    """The verdict on the migrated program: on the CPU as before, on the simulated GPU the same."""
    known = Baseline.load(place, program)
    result: Json = {"id": program.id, "style": program.style}
    if known is None:
        return result | {"verdict": "no-baseline"}
    migrated = load(place.result("migrate", program)) or migrate(place, program)
    result["migrate"] = migrated["verdict"]
    if migrated["verdict"] == "crashed":
        return result | {"verdict": "migrate-crashed", "output": migrated["output"]}
    source = place.migrated(program)
    if migrated["verdict"] == "changed":
        run = run_program(place, program, source, "plain", 4 * program.timeout)
        result["cpu"] = run.summary()
        difference = known.difference(run.stdout) if run.ok else None
        if not run.ok or difference:
            return result | {"verdict": "cpu-broken", "difference": difference}
    result |= judge_sim(place, program, source, known)
    return result | {"verdict": _verdict(result, migrated["verdict"] == "changed")}


def _verdict(result: Json, changed: bool) -> str:
    names = {"fails": "gpu-fail", "same": "carried"}
    verdict = names.get(result["verdict"], result["verdict"])
    if verdict == "carried" and (result["share"] or 0.0) < 0.5:
        return "low-share" if changed else "unchanged"
    return str(verdict)
