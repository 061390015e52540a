"""Programs of several processes on simulated GPUs: the programs are in tests/sim/processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torchferry.sim import simulate  # noqa: E402

FOLDER = Path(__file__).with_name("processes")


def run(*arguments: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the ranks are forked")
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no distributed")
def test_distributed(tmp_path: Path) -> None:
    run(str(FOLDER / "distributed.py"), str(tmp_path))


def test_spawned_worker() -> None:
    run(str(FOLDER / "spawned.py"))


def in_child(function: object) -> str:
    """What `function` returns or raises in a forked process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = str(function())  # type: ignore[operator]
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


REFUSAL = (
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
    "multiprocessing, you must use the 'spawn' start method"
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_process_cannot_use_the_gpu_its_parent_used() -> None:
    def use() -> object:
        return torch.ones(1, device="cuda")

    with simulate():
        torch.ones(1, device="cuda")
        assert in_child(use) == REFUSAL
        assert in_child(lambda: torch.ones(2).tolist()) == "[1.0, 1.0]"
        assert in_child(lambda: torch.ones(2).cuda()) == REFUSAL
        assert in_child(lambda: torch.cuda.init()) == REFUSAL
        torch.ones(1, device="cuda")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_process_may_use_a_gpu_that_its_parent_did_not() -> None:
    """The handler of forks is registered by the first use of CUDA, which counting cards is, too
    (`_cuda_getDeviceCount` under is_available)."""
    with simulate():
        assert not torch.cuda.is_initialized()
        assert in_child(lambda: torch.ones(2, device="cuda").tolist()) == "[1.0, 1.0]"
        assert not torch.cuda.is_initialized()
        torch.ones(1, device="cuda")
        assert torch.cuda.is_initialized()
    with simulate():
        assert torch.cuda.is_available()
        assert not torch.cuda.is_initialized()
        assert in_child(lambda: torch.ones(1, device="cuda")) == REFUSAL
