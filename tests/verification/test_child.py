"""What the child process does for a program, and what it reports of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchferry.verification.request import Status, Where

from .programs import run_program

pytest.importorskip("torch")


def test_values_lines_seeds_and_exit_of_one_program(tmp_path: Path) -> None:
    source = """\
        import atexit, sys
        import numpy as np
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(2, 1) for _ in range(2)])
                self.register_buffer("kept", torch.zeros(1))
                self.register_buffer("passing", torch.zeros(1), persistent=False)

        class Agent:
            def __init__(self):
                self.net = nn.Linear(1, 1)
                self.threshold = torch.zeros(1, requires_grad=True)

        def main():
            for number in range(3):
                net = Net()
                with torch.no_grad():
                    net.layers[1].bias.fill_(number)

        main()
        agent = Agent()
        weights = [torch.full((1,), 0.5, requires_grad=True), torch.zeros(1)]
        big = nn.Embedding(70_000, 1)
        print(np.random.default_rng().integers(10**9), np.random.randint(10**9), torch.rand(1))
        atexit.register(lambda: weights[0].data.fill_(0.75))
        sys.exit(3)
        """
    first = run_program(tmp_path, source, values=True)
    assert first.report.status is Status.EXITED
    assert first.report.exit_code == 3
    values = first.values
    assert list(values["layers.1.bias of the last Net made in main()"].numbers) == [2.0]
    assert "kept of the last Net made in main()" in values
    assert not [name for name in values if "passing" in name]
    assert {"agent.net.weight", "agent.threshold", "weights[0]"} <= set(values)
    assert "weights[1]" not in values  # it does not learn
    assert list(values["weights[0]"].numbers) == [0.75]  # after the program's own exit handlers
    assert values["big.weight"].step == 2
    assert len(values["big.weight"].numbers) == 35_000

    second = run_program(tmp_path, source, values=True)
    assert second.stdout == first.stdout  # no seed in the program: they are set for it
    assert second.values == values


def test_an_uncaught_error_has_the_users_traceback_only(tmp_path: Path) -> None:
    source = """\
        import torch
        def fails():
            return torch.ones(2) + torch.ones(2, device="cuda")
        try:
            fails()
        except RuntimeError as error:
            raise ValueError("mine") from error
        """
    done = run_program(tmp_path, source, where=Where.SIMULATED)
    assert done.report.status is Status.RAISED
    assert done.report.exit_code == 1
    assert done.report.error == "ValueError: mine"
    assert done.report.device_error is not None  # of the error that caused it
    assert done.stderr == done.report.traceback
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert all("program.py" in line for line in files)
    assert len(files) == 3


def test_a_program_that_dies_is_reported(tmp_path: Path) -> None:
    done = run_program(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert done.report.status is Status.DIED
    assert done.report.exit_code == 137
    assert "SIGKILL" in done.report.error
