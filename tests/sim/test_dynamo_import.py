"""torch._dynamo, which the first optimizer imports, loads with torch's own names in place."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")

PROGRAM = """
import sys, torch
from torchferry.sim import simulate
kept = [torch.tensor]  # in a list: names of a program are replaced too
with simulate():
    sys.modules.pop("torch._dynamo", None)
    weight = torch.nn.Parameter(torch.ones(2, device="cuda"))
    import torch._dynamo.trace_rules
    assert torch.tensor is not kept[0] and torch.tensor(1, device="cuda").is_cuda
    assert torch._dynamo.__loader__ is torch._dynamo.__spec__.loader
    assert type(torch._dynamo.__loader__).__module__ == "_frozen_importlib_external"
    weight.sum().backward()
    torch.optim.Adam([weight]).step()
assert torch.tensor is kept[0]
compiled = torch.compile(lambda x: x + 1, backend="eager")
assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
assert not [finder for finder in sys.meta_path if "torchferry" in type(finder).__module__]
"""


def test_the_tables_of_dynamo_hold_no_stand_in() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
