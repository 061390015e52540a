"""Which mixes of devices run: a part of the comparison with FakeTensorMode.

All: benchmarks/sim_against_fake_tensors.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fake_tensor_disagreements import DISAGREEMENTS, explained

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # torch.testing._internal needs it

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import sim_against_fake_tensors as judge  # noqa: E402

from torchferry.sim.messages import TORCH_VERSION  # noqa: E402

# torch.testing._internal forbids what programs do: setting `torch.backends.cudnn.benchmark`.
torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True

#: Operators of each day: every Nth, and some that tell much.
STRIDE = 48
TELLING = "cat where index_add index_fill masked_fill lerp nextafter select_scatter take mm".split()


def test_some_operators() -> None:
    ops = [
        op
        for number, op in enumerate(judge.op_db)
        if number % STRIDE == 0 or judge.full_name(op) in TELLING
    ]
    found = judge.judge(ops, limit=1)
    assert len(found) > 60
    apart = [v for v in found if not v.agree and explained(v.case.op, v.fake, v.sim) is None]
    assert apart == []


@pytest.mark.skipif(TORCH_VERSION != (2, 13), reason="the list is of the database of torch 2.13")
def test_disagreements_are_of_the_database() -> None:
    assert set(DISAGREEMENTS) <= {judge.full_name(op) for op in judge.op_db}


def test_a_wrong_verdict_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "sim_verdict", lambda call, on_cpu: (judge.RUNS, ""))
    found = judge.judge([op for op in judge.op_db if op.name == "mm"], limit=2)
    assert any(not v.agree and explained(v.case.op, v.fake, v.sim) is None for v in found)
