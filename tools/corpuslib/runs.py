"""Run a program in a fresh copy of its folder."""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from corpuslib.place import Json, Program, Workplace

CHILD = Path(__file__).resolve().parent.parent / "corpus.py"

ENVIRONMENT = {
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CORPUS_SEED": "0",
    "CORPUS_THREADS": "1",
    "CORPUS_NO_NET": "1",
    "PYTHONHASHSEED": "0",
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
    "TQDM_DISABLE": "1",
    "GYM_API": "old",
    "PYTHONBREAKPOINT": "0",
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True)
class Run:
    """What one run of a program gave."""

    code: int
    seconds: float
    timed_out: bool
    stdout: str
    stderr: str
    account: Json | None = None

    @property
    def ok(self) -> bool:
        return self.code == 0 and not self.timed_out

    def summary(self) -> Json:
        data: Json = {"code": self.code, "seconds": round(self.seconds, 2)}
        if self.timed_out:
            data["timed_out"] = True
        if self.account is not None:
            data["account"] = self.account
        if not self.ok:
            data["error"] = failure(self.stderr)
            data["traceback"] = self.stderr[-6000:]
        return data


def environment(place: Workplace, program: Program, root: Path) -> dict[str, str]:
    paths = [str(place.corpus / "preamble"), str(place.corpus / "stubs")]
    own = {name: value.replace("{root}", str(root)) for name, value in program.env.items()}
    paths += filter(None, [own.pop("PYTHONPATH_EXTRA", "")])
    base = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TORCH"))}
    cache = place.work / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    base |= ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(paths), "MPLCONFIGDIR": str(cache)}
    return base | {"PYTHONDONTWRITEBYTECODE": "1"} | own


def run_program(place: Workplace, program: Program, source: Path, mode: str, timeout: float) -> Run:
    """Run a fresh copy of ``source``, ``plain`` by Python or ``sim`` on the simulated GPU."""
    scratch = place.work / "run" / f"{mode}-{program.id}-{os.getpid()}"
    root = scratch / "up" / "root"  # a program that writes to ../data stays inside its scratch
    shutil.copytree(source, root, symlinks=True)
    cwd = root / program.cwd
    script = os.path.relpath(root / program.entry, cwd)
    arguments = program.args
    account = scratch / "account.json"
    command = [place.python]
    if mode == "sim":
        command += [str(CHILD), "_child", str(account)]
        arguments = program.gpu_args if program.gpu_args is not None else arguments
    command += [script, *arguments]
    try:
        env = environment(place, program, root)
        code, seconds, late = _execute(command, cwd, env, timeout, scratch, place.nice)
        run = Run(
            code=code,
            seconds=seconds,
            timed_out=late,
            stdout=_text(scratch / "stdout", root),
            stderr=_text(scratch / "stderr", root),
            account=json.loads(account.read_text()) if account.is_file() else None,
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return run


def _execute(
    command: list[str], cwd: Path, env: dict[str, str], timeout: float, logs: Path, nice: int
) -> tuple[int, float, bool]:
    start = time.monotonic()
    with open(logs / "stdout", "wb") as out, open(logs / "stderr", "wb") as err:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=lambda: os.nice(nice) and None,
        )
        late = False
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)  # the child and the workers it left behind
            child.wait()
    return child.returncode, time.monotonic() - start, late


def _text(path: Path, root: Path) -> str:
    with path.open("rb") as stream:
        text = stream.read(20 << 20).decode("utf-8", "replace")
    return text.replace(str(root), "{root}")


def failure(stderr: str) -> Json:
    """The last exception of a traceback, and the last line of the program in it."""
    start = stderr.rfind("Traceback (most recent call last)")
    if start < 0:
        return {"message": stderr.strip()[-500:], "where": "", "code": ""}
    lines = stderr[start:].rstrip().split("\n")
    ends = [i for i, line in enumerate(lines) if i and line and not line[0].isspace()]
    message = "\n".join(lines[ends[0] : ends[0] + 8])[:2000] if ends else ""
    where = code = ""
    for index, line in enumerate(lines[:-1]):
        match = re.match(r'  File "(?:\{root\}/)?([^/"<][^"]*)", line (\d+)', line)
        if match:
            where, code = f"{match[1]}:{match[2]}", lines[index + 1].strip()
    return {"message": message, "where": where, "code": code}


def child_main(account: str, script: str, arguments: list[str]) -> None:
    """Run a script on the simulated GPU, as ``python SCRIPT ARGUMENTS`` would run it."""
    from torchferry.sim import simulate

    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    with simulate() as gpu:
        try:
            runpy.run_path(script, run_name="__main__")
        finally:
            Path(account).write_text(json.dumps(asdict(gpu.account())))
