"""The examples run on the CPU, in one process to import torch once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .programs import EXAMPLES

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

_RUN_ALL = """
import contextlib, io, json, runpy, sys
printed = {}
for path in sys.argv[1:]:
    sys.argv = [path]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(path, run_name="__main__")
    printed[path] = out.getvalue()
print(json.dumps(printed))
"""


def test_all_examples_run_and_learn(tmp_path: Path) -> None:
    scripts = sorted(EXAMPLES.glob("*.py"))
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _RUN_ALL, *map(str, scripts)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    import json

    printed = {Path(path).stem: text for path, text in json.loads(done.stdout).items()}
    assert set(printed) >= {
        "linear_regression",
        "linear_regression_half_moved",
        "tensors_and_variables",
        "dataloader_classifier",
        "lstm_tagger",
        "vae",
        "plots",
    }
    assert printed["linear_regression"] == printed["linear_regression_half_moved"]
    assert printed["linear_regression"].count("epoch") == 10
    assert "torch.FloatTensor" in printed["tensors_and_variables"]
    assert "accuracy 1.000" in printed["dataloader_classifier"]
    assert "False" not in printed["lstm_tagger"]
    assert (tmp_path / "plots.png").exists()
