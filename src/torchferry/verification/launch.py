"""Starting a child process and waiting for its report."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .request import REPORT_FILE, REQUEST_FILE, Report, Request, Status

_START = Path(__file__).parent / "child" / "start.py"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a child gets beside its request.

    python: the interpreter that has the user's torch. environment: added to this process's own.
    captured: write the streams to `stdout` and `stderr` in the results folder, and run in a process
    group of its own; otherwise the child has this process's streams. stdin: a file, for captured
    runs (nothing else is read there). timeout: seconds, None for no limit.
    """

    cwd: Path
    python: str = sys.executable
    environment: Mapping[str, str] | None = None
    captured: bool = True
    stdin: Path | None = None
    timeout: float | None = None


def run_child(request: Request, around: Surroundings) -> Report:
    """Run a program in a child process. An unknown interpreter raises OSError."""
    results = Path(request.results)
    request_file = results / REQUEST_FILE
    request_file.write_text(request.to_text(), encoding="utf-8")
    command = [around.python, str(_START), str(request_file)]
    started = time.monotonic()
    with ExitStack() as stack:
        streams = _open_streams(around, results, stack)
        child = subprocess.Popen(
            command,
            cwd=around.cwd,
            env={**os.environ, **(around.environment or {})},
            start_new_session=around.captured and os.name == "posix",
            **streams,  # type: ignore[call-overload]
        )
        try:
            code = _wait(child, around)
        except subprocess.TimeoutExpired:
            _kill(child)
            return Report(Status.TIMED_OUT, 124, time.monotonic() - started)
        except BaseException:
            _kill(child)
            raise
    return _report(results / REPORT_FILE, code, time.monotonic() - started)


def _open_streams(around: Surroundings, results: Path, stack: ExitStack) -> dict[str, object]:
    if not around.captured:
        return {}
    source = around.stdin or Path(os.devnull)
    return {
        "stdin": stack.enter_context(open(source, "rb")),
        "stdout": stack.enter_context(open(results / "stdout", "wb")),
        "stderr": stack.enter_context(open(results / "stderr", "wb")),
    }


def _wait(child: subprocess.Popen[bytes], around: Surroundings) -> int:
    handlers: dict[int, Any] = {}
    if around.captured:
        handlers[signal.SIGTERM] = _leave
    else:
        # Ctrl-C reaches the child as well: the program decides what it means, this process waits
        handlers[signal.SIGINT] = signal.SIG_IGN
        handlers[signal.SIGTERM] = lambda *_: child.terminate()
    if threading.current_thread() is not threading.main_thread():
        handlers = {}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        return child.wait(around.timeout)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: object) -> None:
    """Let a signal end this process as an exception does, so that the child ends too."""
    raise SystemExit(128 + number)


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and, where it leads a group of its own, all that it started."""
    try:
        if os.name == "posix" and os.getpgid(child.pid) == child.pid:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    except ProcessLookupError:
        pass
    child.wait()


def _report(path: Path, code: int, seconds: float) -> Report:
    if not path.exists():
        return Report(Status.DIED, _shell_code(code), seconds, error=_death(code))
    report = Report.read(path)
    report.seconds = report.seconds or seconds
    if report.came_to_its_end and _shell_code(code) != report.exit_code & 0xFF:
        report.exit_code = _shell_code(code)  # changed on the way out, by an exit handler
    return report


def _shell_code(code: int) -> int:
    return 128 - code if code < 0 else code


def _death(code: int) -> str:
    if code >= 0:
        return f"the process ended with code {code} before its report (os._exit?)"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the process was ended by {name}"
