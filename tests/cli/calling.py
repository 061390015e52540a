"""Call the command line in this process, or as a shell does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from torchferry.cli.main import run


class Result(NamedTuple):
    """Exit code, and what was printed."""

    code: int
    out: str
    err: str
    raw: bytes


@contextmanager
def _streams(stdin: bytes):  # type: ignore[no-untyped-def]
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    try:
        yield sys.stdout, sys.stderr
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved


def torchferry(*args: str | Path, stdin: bytes = b"") -> Result:
    """Run a command line in this process."""
    with _streams(stdin) as (out, err):
        try:
            code = run([str(arg) for arg in args])
        except SystemExit as done:
            code = int(done.code or 0)
        out.flush()
        err.flush()
        raw = out.buffer.getvalue()
        text = raw.decode("utf-8", "replace")
        return Result(code, text, err.buffer.getvalue().decode(), raw)


def from_shell(*args: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line in a process of its own."""
    command = [sys.executable, "-m", "torchferry", *map(str, args)]
    return subprocess.run(
        command, capture_output=True, env={**os.environ, **environment}, timeout=60, check=False
    )
