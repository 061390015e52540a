"""A part of PyTorch's operator database on the simulated GPU (all: benchmarks/sim_op_db.py).

Each day has its part; OP_DB_PART=17 runs the part of another day.
"""

from __future__ import annotations

import datetime
import os
import sys
from pathlib import Path

import pytest
from op_db_exceptions import EXCEPTIONS, NOT_COMPUTED

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # torch.testing._internal needs it

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import op_db_samples
import sim_refusals
import torch

# torch.testing._internal forbids what programs do: setting `torch.backends.cudnn.benchmark`.
torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True

#: The database is run in so many days.
PARTS = 100
TODAY = datetime.datetime.now(datetime.timezone.utc).timetuple().tm_yday
PART = int(os.environ.get("OP_DB_PART", TODAY)) % PARTS
OPERATORS = {op_db_samples.full_name(op): op for op in op_db_samples.op_db}
DAILY = list(OPERATORS)[PART::PARTS]


@pytest.mark.parametrize("name", DAILY)
def test_some_operators(name: str) -> None:
    op = OPERATORS[name]
    dtypes = op_db_samples.wanted_dtypes(op, "all")
    rows = op_db_samples.check_operator(op, dtypes, op_db_samples.STEPS, limit=2, seconds=1)
    wrong = [row for row in rows if row.problems and (name, row.step) not in EXCEPTIONS]
    assert wrong == [], f"OP_DB_PART={PART}"
    for dtype in sim_refusals.only_on_cpu(op):
        assert not sim_refusals.check_refused(op, dtype, 1).problems
    for dtype in sim_refusals.only_on_cuda(op):
        if name not in NOT_COMPUTED:
            assert not sim_refusals.check_computed(op, dtype, 1).problems


@pytest.mark.parametrize(("name", "step"), EXCEPTIONS, ids=" ".join)
def test_exceptions_are_still_needed(name: str, step: str) -> None:
    op = OPERATORS[name]
    dtypes = op_db_samples.wanted_dtypes(op, "float32")
    rows = op_db_samples.check_operator(op, dtypes, ("forward", "out", step), limit=3)
    assert [row.step for row in rows if row.problems] == [step]


@pytest.mark.parametrize("name", NOT_COMPUTED)
def test_what_is_not_computed_is_still_not_computed(name: str) -> None:
    op = OPERATORS[name]
    for dtype in sim_refusals.only_on_cuda(op):
        assert sim_refusals.check_computed(op, dtype, 1).problems


def test_exceptions_have_reasons() -> None:
    assert all((*EXCEPTIONS.values(), *NOT_COMPUTED.values()))
