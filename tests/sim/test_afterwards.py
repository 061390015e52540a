"""After a session everything is as before, in threads that outlive it too."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchferry.sim import simulate  # noqa: E402

PROGRAM = """
import torch
from torchferry.sim import simulate

def words():
    try:
        torch.zeros(1, device="cuda")
    except BaseException as error:
        return type(error).__name__, str(error)

if FIRST:
    before = words()
for _ in range(2):
    with simulate():
        assert torch.zeros(1, device="cuda").is_cuda
    after = words()
    assert after is not None and "Could not run" not in after[1], after
    assert not FIRST or after == before, after
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="a card has no such error")
@pytest.mark.parametrize("first", [True, False])
def test_the_error_of_a_machine_without_cuda_comes_back(first: bool) -> None:
    program = PROGRAM.replace("FIRST", str(first))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_threads_that_outlive_the_session_go_on() -> None:
    over, found = threading.Event(), []

    def work() -> None:
        over.wait(30)
        try:
            found.append((torch.ones(2) + 1).tolist())
            found.append(torch.nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward())
        except Exception as error:  # a thread's own error would be lost
            found.append(error)

    with simulate():
        thread = threading.Thread(target=work)
        thread.start()
    over.set()
    thread.join()
    assert found == [[2.0, 2.0], None]


def names() -> dict[str, Any]:
    return {**vars(torch.Tensor), **{f"torch.{k}": v for k, v in vars(torch).items()}}


def test_no_name_stays_where_an_error_passes_through_nested_sessions() -> None:
    with simulate():
        pass  # loads what a session loads
    before = names()
    with pytest.raises(KeyError), simulate(gpus=2), simulate():
        raise KeyError
    assert names() == before
