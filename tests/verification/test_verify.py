"""`torchferry verify`, from the command line to the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from .programs import torchferry

pytest.importorskip("torch")

BEFORE = """\
import os
import time
import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(0, 1, 8).unsqueeze(1)
net = nn.Linear(1, 1)
for step in range(3):  # by hand: importing the optimizers takes as long as all else
    loss = (net(x) - x).pow(2).mean()
    net.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= 0.1 * parameter.grad
print("loss", loss.item(), "at", time.time_ns())
print(x[:2])
torch.save(net.state_dict(), "net.pt")
open("log.txt", "a").write("one more run\\n")
"""
AFTER = (
    BEFORE.replace(
        "torch.manual_seed(0)",
        "torch.manual_seed(0)\n"
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    )
    .replace("unsqueeze(1)", "unsqueeze(1).to(device)")
    .replace("nn.Linear(1, 1)", "nn.Linear(1, 1).to(device)")
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(BEFORE)
    (folder / "after.py").write_text(AFTER)
    (folder / "net.pt").write_text("precious")
    (folder / "log.txt").write_text("")
    return folder


def test_a_right_migration_is_verified_and_no_file_is_touched(project: Path) -> None:
    before = {path: path.read_bytes() for path in project.iterdir()}
    done = torchferry(
        "verify", "--format", "json", "--migrated", "after.py", "train.py", cwd=project
    )
    verdict = json.loads(done.stdout)
    assert verdict["outcome"] == "verified", verdict
    assert done.returncode == 0
    assert {path: path.read_bytes() for path in project.iterdir()} == before
    assert verdict["evidence"]["tensors"] == 2
    assert "at" in verdict["evidence"]["unstable_lines"][0]
    assert "cuda" in verdict["evidence"]["device_lines"][0][1]
    assert verdict["account"]["gpu_share"] > 0.5
    edited = verdict["edited_lines"]
    assert [len(lines) for lines in edited["ran"].values()] == [3]
    assert [len(lines) for lines in edited["not_run"].values()] == [0]
    assert verdict["runs"][-1]["created_files"] == ["log.txt", "net.pt"]


def test_a_wrong_migration_fails_with_the_error_explained(project: Path) -> None:
    wrong = AFTER.replace("unsqueeze(1).to(device)", "unsqueeze(1)")
    (project / "wrong.py").write_text(wrong)
    done = torchferry("verify", "--migrated", "wrong.py", "train.py", cwd=project)
    assert done.returncode == 1
    assert done.stdout.startswith("train.py: failed\n")
    line = wrong.splitlines().index("    loss = (net(x) - x).pow(2).mean()") + 1
    assert f"train.py:{line}" in done.stdout
    assert f"{line} |     loss = (net(x) - x).pow(2).mean()" in done.stdout  # of the new text
    assert "x: float32 [8, 1] on the CPU" in done.stdout
    assert "Fix: " in done.stdout
    assert not list(project.glob("*cache*"))


def test_a_program_that_fails_by_itself_is_not_shown(project: Path) -> None:
    (project / "train.py").write_text(
        dedent(
            f"""
            import torch
            open({str(project / "net.pt")!r}, "w").write("overwritten")
            """
        )
    )
    done = torchferry("verify", "--keep", "--migrated", "after.py", "train.py", cwd=project)
    assert done.returncode == 1
    assert done.stdout.startswith("train.py: not shown\n")
    assert "net.pt by its full path" in done.stdout
    assert (project / "net.pt").read_text() == "precious"
    kept = Path(done.stdout.split("kept in")[1].split()[0])
    assert (kept / "original" / "stderr").read_text()
    assert (kept / "original" / "work").is_dir()
    import shutil

    shutil.rmtree(kept)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.py",), "missing.py: No such file"),
        (("--migrated", "missing.py", "train.py"), "missing.py: No such file"),
        (("--root", "elsewhere", "train.py"), "not in the folder"),
        (("--rtol", "x", "train.py"), "--rtol"),
    ],
)
def test_wrong_use_is_said_clearly(project: Path, arguments: tuple[str, ...], said: str) -> None:
    (project / "elsewhere").mkdir()
    if "--migrated" not in arguments:
        arguments = ("--migrated", "after.py", *arguments)
    done = torchferry("verify", *arguments, cwd=project)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
