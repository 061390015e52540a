"""One run of a program, from the request to the report."""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
import time
import traceback as traceback_module
from pathlib import Path
from typing import Any

from torchferry.trace import DeviceErrorReport

from ..request import REPORT_FILE, TORCH_MINIMUM, Report, Request, Status
from .program import CannotStart, Program, load
from .traceback import device_error_of, without_torchferry


def run_request(path: str) -> None:
    """Run the program that the request at `path` names; the process ends as the program does."""
    request = Request.from_text(Path(path).read_text(encoding="utf-8"))
    session = _Session(request)
    program = session.prepare()
    if program is None:
        sys.exit(2)
    session.run(program)


class _Session:
    def __init__(self, request: Request) -> None:
        self.request = request
        self.report = Report(Status.FINISHED, 0)
        self.process = os.getpid()
        self.started = time.monotonic()
        self.hits: Any = None
        self.learned: Any = None
        self.device: Any = None

    def prepare(self) -> Program | None:
        """Everything up to the program's first line; None (and a report) where it cannot start."""
        try:
            program = load(self.request.target, self.request.module)
        except CannotStart as error:
            self._refuse(Status.NOT_STARTED, str(error))
            return None
        except SyntaxError as error:
            self.report.traceback = "".join(traceback_module.format_exception_only(error))
            self._refuse(Status.NOT_STARTED, _syntax_message(error))
            return None
        problem = self._check_torch()
        if problem:
            self._refuse(Status.NO_TORCH, problem)
            return None
        try:
            self._enter_device()
        except ValueError as error:  # a memory size or a number of GPUs that makes no sense
            self._refuse(Status.NOT_STARTED, str(error))
            return None
        self._install(program)
        return program

    def _check_torch(self) -> str:
        """Why torch cannot be used, else an empty text."""
        try:
            import torch
        except ImportError as error:
            return f"PyTorch cannot be imported: {error}"
        self.report.torch_version = str(torch.__version__)
        self.report.torch_has_gpu = bool(torch.version.cuda or torch.version.hip)
        numbers = re.findall(r"\d+", self.report.torch_version)[:2]
        if tuple(map(int, numbers)) < TORCH_MINIMUM:
            return f"PyTorch {torch.__version__} is too old"
        return ""

    def _enter_device(self) -> None:
        from .devices import device_for

        if self.request.seed is not None:
            from .seeding import seed_everything

            seed_everything(self.request.seed)
        self.device = device_for(self.request)
        self.device.enter()
        self.report.gpu_name = self.device.name

    def _install(self, program: Program) -> None:
        from .spawning import follow_spawned_processes

        request = self.request
        atexit.register(self.finish)  # first, so that it runs after the program's own
        follow_spawned_processes(request)
        if request.values:
            from .learned import LearnedValues

            self.learned = LearnedValues(request.writable or os.path.dirname(program.path))
            self.learned.start()
        if request.writable:
            from .write_guard import WriteGuard

            guard = WriteGuard(request.protected, request.writable, self._refused)
            guard.watch_torch()
            guard.install()
        if request.edited_lines:
            from .line_hits import LineHits

            self.hits = LineHits(request.edited_lines)

    def run(self, program: Program) -> None:
        """Run the program; ends by SystemExit where the python command would."""
        if self.hits is not None:
            self.hits.start()
        try:
            program.run(self.request.args)
        except SystemExit as leaving:
            self._note_exit(leaving)
            raise
        except BaseException as error:
            self._note_error(error)
            sys.exit(self.report.exit_code)

    def _note_exit(self, leaving: SystemExit) -> None:
        code = leaving.code
        self.report.status = Status.EXITED
        self.report.exit_code = 0 if code is None else code if isinstance(code, int) else 1
        if isinstance(code, str):
            self.report.error = code

    def _note_error(self, error: BaseException) -> None:
        interrupted = isinstance(error, KeyboardInterrupt)
        self.report.status = Status.INTERRUPTED if interrupted else Status.RAISED
        self.report.exit_code = 130 if interrupted else 1
        found = device_error_of(error)
        if isinstance(found, DeviceErrorReport):
            self.report.device_error = found
        without_torchferry(error)
        self.report.error = "".join(traceback_module.format_exception_only(error)).strip()
        self.report.traceback = "".join(traceback_module.format_exception(error))
        sys.excepthook(type(error), error, error.__traceback__)

    def finish(self) -> None:
        """At the very end of the process: read the values, leave the device, write the report."""
        if os.getpid() != self.process:
            return
        sys.settrace(None)
        threading.settrace(None)
        self.report.seconds = time.monotonic() - self.started
        if self.hits is not None:
            self.report.lines_ran = self.hits.result()
            self.report.code_lines = self.hits.code_lines()
        self.report.account = self.device.leave()
        if self.learned is not None:
            self._write_values()
        self._write_report()

    def _write_values(self) -> None:
        if not self.report.came_to_its_end:
            self.learned.stop()
            return
        from ..values import write_values

        names = vars(sys.modules["__main__"])
        write_values(Path(self.request.results), self.learned.collect(names))

    def _refused(self, path: str) -> None:
        self.report.refused_write = self.report.refused_write or path

    def _refuse(self, status: Status, message: str) -> None:
        """Report why the program cannot start."""
        self.report.status, self.report.exit_code, self.report.error = status, 2, message
        self._write_report()

    def _write_report(self) -> None:
        self.report.write(Path(self.request.results) / REPORT_FILE)


def _syntax_message(error: SyntaxError) -> str:
    where = f"{error.filename}:{error.lineno}" if error.lineno else str(error.filename)
    hint = " (Python 2?)" if "Missing parentheses in call to 'print'" in str(error.msg) else ""
    return f"{where}: {error.msg}{hint}"
