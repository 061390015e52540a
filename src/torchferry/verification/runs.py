"""The runs of one verification: copy, start, collect."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torchferry.core.errors import MissingTorch, UsageError

from .child.hidden_gpus import HIDING_ENVIRONMENT
from .launch import Surroundings, run_child
from .options import VerifyOptions
from .request import Report, Request, Status, Where
from .rewrite import Rewrite
from .scratch import Scratch
from .values import TensorValue, read_values
from .verdict import Role, RunSummary

_LARGEST_OUTPUT = 64 << 20
Progress = Callable[[Role], None]


@dataclass(slots=True)
class Run:
    """A run that is over: its report, what it printed, its values."""

    role: Role
    report: Report
    stdout: str
    stderr: str
    values: dict[str, TensorValue]
    created_files: tuple[str, ...]

    @property
    def summary(self) -> RunSummary:
        """For the verdict."""
        report = self.report
        error = report.error.splitlines()[0] if report.error else ""
        return RunSummary(self.role, report.exit_code, report.seconds, error, self.created_files)


class Runner:
    """Makes the runs of one script in a scratch folder."""

    def __init__(
        self,
        script: Path,
        args: tuple[str, ...],
        rewrite: Rewrite,
        scratch: Scratch,
        options: VerifyOptions,
        progress: Progress | None,
    ) -> None:
        self.script, self.args, self.rewrite = script, args, rewrite
        self.scratch, self.options, self.progress = scratch, options, progress
        self.runs: list[Run] = []
        self._lines_left: dict[Path, tuple[int, ...]] = dict(rewrite.edited_lines)
        self.lines_ran: dict[Path, set[int]] = {}
        self.code_lines: dict[Path, tuple[int, ...]] = {}

    def run(self, role: Role, where: Where) -> Run:
        """Make one run. Raises MissingTorch, and UsageError for a script that cannot start."""
        if self.progress is not None:
            self.progress(role)
        migrated = role in (Role.MIGRATED_CPU, Role.MIGRATED_GPU)
        self.scratch.fresh_copy(self.rewrite.files if migrated else {})
        results = self.scratch.results(role.value)
        report = run_child(self._request(results, where, migrated), self._surroundings(where))
        self._refuse(report)
        if migrated:
            self._note_lines(report)
        run = Run(
            role,
            self._outer(report),
            self._text(results / "stdout"),
            self._text(results / "stderr"),
            read_values(results),
            self.scratch.new_files(),
        )
        if self.options.keep:
            self.scratch.keep_copy(role.value)
        self.runs.append(run)
        return run

    def real_gpu(self, report: Report) -> bool:
        """Whether to use the machine's GPU, after a first run has told what torch can.

        Raises UsageError where a real GPU is asked for and there is none.
        """
        if self.options.use == "simulated":
            return False
        found = report.torch_has_gpu and self._probe()
        if self.options.use == "real" and not found:
            raise UsageError("PyTorch finds no GPU on this machine; a simulated one needs none")
        return found

    def _probe(self) -> bool:
        command = "import torch; print(torch.cuda.is_available())"
        done = subprocess.run(
            [self.options.python, "-c", command], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() == "True"

    def _request(self, results: Path, where: Where, migrated: bool) -> Request:
        lines = {str(self.scratch.inner(p)): ls for p, ls in self._lines_left.items() if ls}
        return Request(
            target=str(self.scratch.inner(self.script)),
            args=tuple(self._inner_argument(argument) for argument in self.args),
            results=str(results),
            where=where,
            gpu=self.options.gpu,
            seed=self.options.seed,
            values=True,
            edited_lines=lines if migrated else {},
            protected=str(self.scratch.root),
            writable=str(self.scratch.folder),
        )

    def _inner_argument(self, argument: str) -> str:
        if not os.path.isabs(argument):
            return argument
        path = Path(os.path.abspath(argument))
        return str(self.scratch.inner(path)) if path.is_relative_to(self.scratch.root) else argument

    def _surroundings(self, where: Where) -> Surroundings:
        threads = str(self.options.threads)
        environment = {
            "PYTHONHASHSEED": str(self.options.seed),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONFAULTHANDLER": "1",
            "PYTHONIOENCODING": "utf-8",
            "MPLBACKEND": "Agg",
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "COLUMNS": "80",
            "TMPDIR": str(self.scratch.temporary),
            "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        }
        if where is not Where.REAL:
            environment |= HIDING_ENVIRONMENT
        if os.environ.get("PYTHONPATH"):
            environment["PYTHONPATH"] = self.scratch.inner_path_list(os.environ["PYTHONPATH"])
        options = self.options
        return Surroundings(
            self.scratch.inner(self.scratch.cwd),
            python=options.python,
            environment=environment,
            stdin=options.stdin,
            timeout=options.timeout,
        )

    def _refuse(self, report: Report) -> None:
        if report.status is Status.NO_TORCH:
            raise MissingTorch(report.error)
        if report.status is Status.NOT_STARTED:
            raise UsageError(self.scratch.outer_text(report.error))

    def _note_lines(self, report: Report) -> None:
        for file, lines in report.code_lines.items():
            self.code_lines.setdefault(self._outer_path(file), lines)
        for file, lines in report.lines_ran.items():
            path = self._outer_path(file)
            self.lines_ran.setdefault(path, set()).update(lines)
            left = self._lines_left[path]
            self._lines_left[path] = tuple(line for line in left if line not in lines)

    def _outer_path(self, file: str) -> Path:
        return self.scratch.base / Path(file).relative_to(self.scratch.work)

    def _outer(self, report: Report) -> Report:
        """The report with the user's paths."""
        text = self.scratch.outer_text
        error = report.device_error
        if error is not None:
            from torchferry.trace import DeviceErrorReport

            inner, outer = str(self.scratch.work), str(self.scratch.base).rstrip(os.sep)
            error = DeviceErrorReport.from_json(_replace_text(error.to_json(), inner, outer))
        return replace(
            report,
            error=text(report.error),
            traceback=text(report.traceback),
            refused_write=text(report.refused_write),
            device_error=error,
        )

    def _text(self, path: Path) -> str:
        if not path.exists():
            return ""
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST_OUTPUT)
        return self.scratch.outer_text(data.decode("utf-8", "replace"))


def _replace_text(value: Any, old: str, new: str) -> Any:
    """JSON data with `old` replaced in all its strings."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, (list, tuple)):
        return [_replace_text(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _replace_text(item, old, new) for key, item in value.items()}
    return value
