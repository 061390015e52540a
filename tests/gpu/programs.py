"""The programs that both machines run: conformance cases and operator samples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]

#: Every Nth operator of PyTorch's database, and this many samples of each.
STRIDE, SAMPLES = 3, 2

#: Parts of names of operators whose values are not determined: random, uninitialised, or one
#: answer of several that are right (signs and bases of decompositions).
UNDETERMINED = (
    "empty", "rand", "normal", "dropout", "bernoulli", "multinomial", "exponential", "cauchy",
    "geometric", "uniform", "svd", "eig", "qr", "geqrf", "ormqr", "pca_lowrank", "householder",
    "lu", "ldl", "rrelu", "fractional_max_pool", "scaled_dot_product", "resize_", "pinv", "lstsq",
)  # fmt: skip

#: Where card and simulated GPU differ, and why that stays so. Keys: names of programs.
KNOWN: dict[str, str] = {}


#: Cases of what only the simulated GPU does, by its default `rng="host"`: no card does it.
NOT_OF_CARDS = {"seed_same_stream"}


def conformance() -> list[tuple[str, str, str]]:
    """(name, code, expectation) of the cases for one GPU."""
    folder = str(TESTS / "conformance")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    from more_cases import CASES as MORE

    from cases import CASES

    return [case for case in (*CASES, *MORE) if case[0] not in NOT_OF_CARDS]


def case_programs() -> list[dict[str, Any]]:
    """The conformance cases; those that break CUDA for their process come last."""
    found = conformance()
    found.sort(key=lambda case: "device-side assert" in case[2])
    return [{"name": name, "code": code} for name, code, _ in found]


def sample_programs() -> list[dict[str, Any]]:
    """Samples of PyTorch's operator database."""
    sys.path.insert(0, str(TESTS.parent / "benchmarks"))
    import sim_op_db

    programs = []
    for op in sim_op_db.op_db[::STRIDE]:
        name = sim_op_db.full_name(op)
        if name.startswith("jiterator"):
            continue  # compiles kernels: refused, see the simulator's tables
        for dtype in sim_op_db.wanted_dtypes(op, "float32,int64"):
            short = str(dtype).removeprefix("torch.")
            for number in range(SAMPLES):
                programs.append(
                    {
                        "name": f"{name} {short} {number}",
                        "op": name,
                        "dtype": short,
                        "sample": number,
                        "values": not any(part in name for part in UNDETERMINED),
                    }
                )
    return programs
