"""What `verify` has found: plain data for reports, and for the repair of a migration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from torchferry.trace import Account, DeviceErrorReport

from .text_comparison import TextDifference
from .values import TensorDifference


class Outcome(Enum):
    """verified: shown to be the same program; failed: shown not to be; not shown: neither."""

    VERIFIED = "verified"
    FAILED = "failed"
    NOT_SHOWN = "not shown"


class Role(Enum):
    """A run that a verification makes; the values name folders and JSON keys."""

    ORIGINAL = "original"  #: on the CPU
    ORIGINAL_AGAIN = "original-again"
    MIGRATED_CPU = "migrated-cpu"
    MIGRATED_GPU = "migrated-gpu"
    ORIGINAL_GPU = "original-gpu"  #: only where the original itself looks for a GPU


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How one run ended."""

    role: Role
    exit_code: int
    seconds: float
    error: str = ""  #: the last line of its traceback
    created_files: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "run": self.role.value,
            "exit_code": self.exit_code,
            "seconds": round(self.seconds, 3),
            "error": self.error,
            "created_files": list(self.created_files),
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference, in the run where it showed: in a stream of text, or in a tensor."""

    role: Role
    stream: str = ""  #: "stdout" or "stderr"; empty for a tensor
    text: TextDifference | None = None
    tensor: TensorDifference | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "run": self.role.value,
            "stream": self.stream,
            "text": self.text.to_json() if self.text else None,
            "tensor": self.tensor.to_json() if self.tensor else None,
        }


@dataclass(frozen=True, slots=True)
class EditedLines:
    """Which edited lines of the migrated files ran, by file; lines without code are not counted."""

    ran: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    not_run: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many edited lines hold code."""
        return self.ran_count + sum(map(len, self.not_run.values()))

    @property
    def ran_count(self) -> int:
        """How many of them ran."""
        return sum(map(len, self.ran.values()))

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "ran": {file: list(lines) for file, lines in self.ran.items()},
            "not_run": {file: list(lines) for file, lines in self.not_run.items()},
        }


@dataclass(slots=True)
class Evidence:
    """What was compared, and what was left out of the comparison."""

    numbers: int = 0  #: printed numbers that agree, on the GPU
    lines: int = 0
    tensors: int = 0
    elements: int = 0
    largest_difference: float = 0.0  #: absolute, among all that agree
    unstable_lines: list[str] = field(default_factory=list)
    unstable_tensors: list[str] = field(default_factory=list)
    unmatched_tensors: list[str] = field(default_factory=list)
    device_lines: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "numbers": self.numbers,
            "lines": self.lines,
            "tensors": self.tensors,
            "elements": self.elements,
            "largest_difference": self.largest_difference,
            "unstable_lines": self.unstable_lines,
            "unstable_tensors": self.unstable_tensors,
            "unmatched_tensors": self.unmatched_tensors,
            "device_lines": [list(pair) for pair in self.device_lines],
        }


@dataclass(slots=True)
class Verdict:
    """The result of a verification.

    `device_error` is what the GPU refused, in the lines of the migrated program: a repair of the
    migration starts from it.
    """

    script: str
    args: tuple[str, ...]
    outcome: Outcome
    reason: str  #: one sentence
    gpu: str = "simulated"  #: or "real"
    gpu_name: str = ""
    changed: bool = True  #: whether the migrated program differs from the original
    texts: Mapping[str, str] = field(default_factory=dict)  #: of the migrated files, by path
    difference: Difference | None = None
    device_error: DeviceErrorReport | None = None
    traceback: str = ""  #: of the run that failed, the user's frames
    account: Account | None = None
    edited_lines: EditedLines = field(default_factory=EditedLines)
    evidence: Evidence = field(default_factory=Evidence)
    runs: list[RunSummary] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    kept: str = ""  #: folder of the runs' copies and outputs, if kept

    @property
    def verified(self) -> bool:
        """Whether the migration is proved."""
        return self.outcome is Outcome.VERIFIED

    @property
    def gpu_share(self) -> float | None:
        """Share of all bytes computed that were computed on the GPU, None if no run came there."""
        return self.account.gpu_share if self.account else None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "version": 1,
            "script": self.script,
            "args": list(self.args),
            "outcome": self.outcome.value,
            "reason": self.reason,
            "gpu": self.gpu,
            "gpu_name": self.gpu_name,
            "changed": self.changed,
            "difference": self.difference.to_json() if self.difference else None,
            "device_error": self.device_error.to_json() if self.device_error else None,
            "traceback": self.traceback,
            "account": self.account.to_json(places=False) if self.account else None,
            "edited_lines": self.edited_lines.to_json(),
            "evidence": self.evidence.to_json(),
            "runs": [run.to_json() for run in self.runs],
            "notes": self.notes,
            "kept": self.kept,
        }
