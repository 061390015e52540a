"""What the child process is asked to do, and what it reports: plain data, as JSON files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from torchferry.trace import Account, DeviceErrorReport

#: the oldest torch that the simulator knows
TORCH_MINIMUM = (2, 6)


class Where(Enum):
    """On what a program runs."""

    CPU = "cpu"  #: as on a machine without a GPU
    SIMULATED = "simulated"
    REAL = "real"


class Status(Enum):
    """How a program ended."""

    FINISHED = "finished"
    EXITED = "exited"  #: by sys.exit
    RAISED = "raised"
    INTERRUPTED = "interrupted"
    NO_TORCH = "no torch"  #: it was not started: no torch, or one that is too old
    NOT_STARTED = "not started"  #: no such script or module, a syntax error
    DIED = "died"  #: without a report: killed, a crash in C, os._exit
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class SimulatedGpu:
    """The simulated machine, in the simulator's own terms."""

    gpus: int = 1
    memory: str = "80GB"
    name: str = ""
    rng: str = "host"


@dataclass(frozen=True, slots=True)
class Request:
    """One run of a program.

    target: a script's path, or a module's name where `module` is set. results: an existing folder,
    absolute, for the report and the values. seed: fix all seeds to it; None leaves them.
    values: write the final values of modules and learned tensors. edited_lines: lines to watch, by
    absolute file. trace_file: where to write the trace of a simulated run. protected: a folder of
    the user that must stay as it is; writable: the copy that the program runs in.
    """

    target: str
    args: tuple[str, ...]
    results: str
    module: bool = False
    where: Where = Where.SIMULATED
    gpu: SimulatedGpu = field(default_factory=SimulatedGpu)
    seed: int | None = None
    values: bool = False
    edited_lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    trace_file: str = ""
    protected: str = ""
    writable: str = ""

    def to_text(self) -> str:
        """The request as JSON."""
        data = asdict(self)
        data["where"] = self.where.value
        return json.dumps(data)

    @classmethod
    def from_text(cls, text: str) -> Request:
        """The request that `to_text` wrote."""
        data = json.loads(text)
        data["args"] = tuple(data["args"])
        data["where"] = Where(data["where"])
        data["gpu"] = SimulatedGpu(**data["gpu"])
        data["edited_lines"] = {f: tuple(lines) for f, lines in data["edited_lines"].items()}
        return cls(**data)


@dataclass(slots=True)
class Report:
    """What the child tells about a run.

    error: the last line of the traceback; traceback: the user's frames. code_lines: those of the
    edited lines that hold code. refused_write: a file of the user that the program would have
    written to. torch_version: empty if there is none. gpu_name: empty on the CPU.
    """

    status: Status
    exit_code: int
    seconds: float = 0.0
    error: str = ""
    traceback: str = ""
    device_error: DeviceErrorReport | None = None
    account: Account | None = None
    lines_ran: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    code_lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    refused_write: str = ""
    torch_version: str = ""
    torch_has_gpu: bool = False
    gpu_name: str = ""
    notes: tuple[str, ...] = ()

    @property
    def came_to_its_end(self) -> bool:
        """Whether the program ended as it wanted to."""
        return self.status in (Status.FINISHED, Status.EXITED)

    def write(self, path: Path) -> None:
        """Write the report to a file."""
        data: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data["status"] = self.status.value
        data["device_error"] = self.device_error.to_json() if self.device_error else None
        data["account"] = self.account.to_json() if self.account else None
        path.write_text(json.dumps(data), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Report:
        """Read a report from a file."""
        data = json.loads(path.read_text(encoding="utf-8"))
        data["status"] = Status(data["status"])
        if data["device_error"] is not None:
            data["device_error"] = DeviceErrorReport.from_json(data["device_error"])
        if data["account"] is not None:
            data["account"] = Account.from_json(data["account"])
        for name in ("lines_ran", "code_lines"):
            data[name] = {file: tuple(lines) for file, lines in data[name].items()}
        data["notes"] = tuple(data["notes"])
        return cls(**data)


REQUEST_FILE = "request.json"
REPORT_FILE = "report.json"
