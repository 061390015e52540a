"""What the simulated GPU costs: plain torch, simulated, and FakeTensorMode, as ratios in one run.

OMP_NUM_THREADS=1 python benchmarks/sim_overhead.py
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from torchferry.sim import simulate

warnings.simplefilter("ignore")


def best(step: Callable[[], Any], count: int, rounds: int = 7) -> float:
    """Least microseconds of one step over several rounds."""
    for _ in range(max(count // 20, 3)):
        step()
    times = []
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(count):
            step()
        times.append((time.process_time() - started) / count * 1e6)
    return min(times)


def paired(
    make: Callable[[str], Callable[[], Any]], count: int, rounds: int = 9
) -> tuple[float, float, float]:
    """Plain and simulated microseconds of a step, and the median of their ratios.

    The two are measured in turns, so that a busy machine slows both.
    """
    plain, there, ratios = [], [], []
    step = make("cpu")
    for _ in range(rounds):
        plain.append(best(step, count, 2))
        with simulate():
            there.append(best(make("cuda"), count, 2))
        ratios.append(there[-1] / plain[-1])
    return min(plain), min(there), statistics.median(ratios)


def small_operators(device: str) -> dict[str, Callable[[], Any]]:
    """Operators whose work is next to nothing."""
    a, b = torch.ones(3, device=device), torch.ones(3, device=device)
    w = torch.ones(3, device=device, requires_grad=True)
    return {
        "a + b": lambda: a + b,
        "a * w (grad)": lambda: a * w,
        "a.sum()": lambda: a.sum(),
        "a.view(3, 1)": lambda: a.view(3, 1),
        "torch.zeros(3)": lambda: torch.zeros(3, device=device),
        "torch.cat": lambda: torch.cat([a, b]),
        "a.add_(b)": lambda: a.add_(b),
    }


def mlp_step(device: str) -> Callable[[], Any]:
    """A step of a 64-128-10 perceptron, batch 64, Adam."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    loss = torch.nn.CrossEntropyLoss()
    x = torch.randn(64, 64).to(device)
    y = torch.randint(10, (64,)).to(device)

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def convolution_step(device: str) -> Callable[[], Any]:
    """Forward and backward of a ResNet-sized convolution block: 64 channels, 56 x 56, batch 8."""
    torch.manual_seed(0)
    block = torch.nn.Sequential(
        torch.nn.Conv2d(64, 64, 3, padding=1, bias=False), torch.nn.BatchNorm2d(64), torch.nn.ReLU()
    ).to(device)
    x = torch.randn(8, 64, 56, 56).to(device)

    def step() -> None:
        block.zero_grad()
        block(x).sum().backward()

    return step


def fake_mode() -> AbstractContextManager[Any]:
    """FakeTensorMode, on the CPU (on "cuda" it aborts the process in a CPU build)."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode()


def memory_growth(steps: int) -> int:
    """KiB that `steps` steps of the perceptron add after a warm-up."""
    with simulate():
        step = mlp_step("cuda")
        for _ in range(500):
            step()
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(steps):
            step()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000, help="steps of the memory check")
    options = parser.parse_args()
    torch.set_num_threads(1)
    count = 5000
    plain = {name: best(run, count) for name, run in small_operators("cpu").items()}
    with simulate():
        simulated = {name: best(run, count) for name, run in small_operators("cuda").items()}
    with fake_mode():
        fake = {name: best(run, 500, 3) for name, run in small_operators("cpu").items()}
    print(f"{'operator':16} {'plain us':>9} {'sim adds':>9} {'fake adds':>10}")
    for name, base in plain.items():
        print(f"{name:16} {base:9.2f} {simulated[name] - base:9.2f} {fake[name] - base:10.2f}")
    steps: list[tuple[str, Callable[[str], Callable[[], Any]], int]] = [
        ("MLP + Adam", mlp_step, 200),
        ("convolution", convolution_step, 5),
    ]
    for name, make, number in steps:
        base, there, ratio = paired(make, number)
        print(f"{name}: plain {base:.0f} us, simulated {there:.0f} us, median ratio {ratio:.2f}")
    print(f"memory after {options.steps} more steps: +{memory_growth(options.steps)} KiB")


if __name__ == "__main__":
    main()
