"""The pytest plugin: option, marker and fixture, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

TESTS = """
import sys
import pytest

def test_plain():
    import torch
    assert torch.cuda.is_available() is {everywhere}

@pytest.mark.simulated_gpu(gpus=2, memory="1MB")
def test_marked():
    import torch
    assert torch.cuda.device_count() == 2
    with pytest.raises(torch.OutOfMemoryError):
        torch.ones(10**6, device="cuda")

def test_fixture(simulated_gpu):
    import torch
    torch.ones(2, device="cuda")
    assert simulated_gpu.account().gpu_operators == 1

def test_after():
    import torch
    assert torch.cuda.is_available() is {everywhere}
"""


def pytest_in(folder: Path, *options: str, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    plugin = ["-p", "torchferry.sim.pytest_plugin"]
    import importlib.metadata

    points = importlib.metadata.entry_points(group="pytest11")
    if any(p.value == "torchferry.sim.pytest_plugin" for p in points):
        plugin = []
    command = [sys.executable, "-m", "pytest", "-q", *plugin, *options, "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_marker_and_fixture(tmp_path: Path) -> None:
    done = pytest_in(tmp_path, "--strict-markers", text=TESTS.format(everywhere=False))
    assert "4 passed" in done.stdout, done.stdout


def test_option_simulates_for_every_test(tmp_path: Path) -> None:
    done = pytest_in(tmp_path, "--simulate-gpu=2", text=TESTS.format(everywhere=True))
    assert "4 passed" in done.stdout, done.stdout


def test_unused_plugin_does_not_import_torch(tmp_path: Path) -> None:
    text = "import sys\ndef test_it():\n    assert 'torch' not in sys.modules\n"
    done = pytest_in(tmp_path, text=text)
    assert "1 passed" in done.stdout, done.stdout
