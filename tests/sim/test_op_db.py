"""A part of PyTorch's operator database on the simulated GPU (all: benchmarks/sim_op_db.py)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from op_db_exceptions import EXCEPTIONS

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # torch.testing._internal needs it

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import sim_op_db
import torch

# torch.testing._internal forbids what programs do: setting `torch.backends.cudnn.benchmark`.
torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True

#: Every Nth operator is run each day, a few samples each.
STRIDE = 12


def names(ops: list[Any]) -> list[str]:
    return [sim_op_db.full_name(op) for op in ops]


def wrong(op: Any, dtype: torch.dtype, limit: int) -> list[dict[str, str]]:
    return [
        result
        for result in sim_op_db.check_operator(op, dtype, True, limit, 5)
        if result["problem"] and (result["op"], result["step"]) not in EXCEPTIONS
    ]


DAILY = sim_op_db.op_db[::STRIDE]


@pytest.mark.parametrize("op", DAILY, ids=names(DAILY))
def test_some_operators(op: Any) -> None:
    for dtype in sim_op_db.wanted_dtypes(op, "float32")[:1]:
        assert wrong(op, dtype, limit=2) == []


def test_exceptions_are_of_the_database() -> None:
    known = set(names(sim_op_db.op_db))
    assert {operator for operator, _ in EXCEPTIONS} <= known
    assert all(reason for reason in EXCEPTIONS.values())
