"""How to verify."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from .request import SimulatedGpu
from .tolerance import GPU, Tolerance


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How to verify.

    tolerance: of what a GPU computes against the CPU. timeout: seconds for each run. use: "auto"
    (a real GPU where there is one), "simulated" or "real". least_share: of all bytes computed, what
    must have been computed on the GPU. root: the folder to copy, found if None. stdin: a file for
    the program to read. threads: of torch and its libraries; more than one may change sums.
    keep: leave the copies and outputs of the runs behind. python: the interpreter with the user's
    torch.
    """

    tolerance: Tolerance = GPU
    timeout: float = 600.0
    use: str = "auto"
    least_share: float = 0.5
    gpu: SimulatedGpu = field(default_factory=SimulatedGpu)
    root: Path | None = None
    stdin: Path | None = None
    seed: int = 0
    threads: int = 1
    keep: bool = False
    python: str = sys.executable
