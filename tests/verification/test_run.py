"""`torchferry run`: the program as the python command runs it, on a simulated GPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from .programs import EXAMPLES, torchferry

pytest.importorskip("torch")


def test_a_device_error_is_explained(tmp_path: Path) -> None:
    script = tmp_path / "half_moved.py"
    script.write_bytes((EXAMPLES / "linear_regression_half_moved.py").read_bytes())
    lines = script.read_text().splitlines()
    number = {text: lines.index(text) + 1 for text in lines}
    born = number["x_train = torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0]])"]
    moved = number["x_train = x_train.to(device)"]
    back = number['model.to(torch.device("cpu"))']
    used = number["    predicted = model(x_train).numpy()"]

    done = torchferry(
        "run", "--trace", "trace.jsonl", "--report", "r.json", script.name, cwd=tmp_path
    )

    assert done.returncode == 1
    assert "epoch 100/100" in done.stdout
    said = done.stderr
    assert "Expected all tensors to be on the same device" in said
    assert f'half_moved.py", line {used}, in <module>' in said
    assert "torchferry/sim" not in said  # only the user's frames and torch's
    explained = said[said.index("torchferry: ") :]
    assert f"half_moved.py:{used}" in explained
    assert "x_train: float32 [5, 1] on cuda:0" in explained
    assert f"made on the CPU     line {born}" in explained
    assert f"moved to cuda:0     line {moved}" in explained
    assert "model." in explained
    assert f"moved to the CPU    line {back}" in explained
    assert "Fix: " in explained
    assert "operators" in explained
    assert "peak memory" in explained

    report = json.loads((tmp_path / "r.json").read_text())
    assert report["device_error"]["place"]["line"] == used
    assert report["account"]["gpu_operators"] > 0
    trace = (tmp_path / "trace.jsonl").read_text().splitlines()
    assert json.loads(trace[0])["event"] == "Header"


def test_arguments_input_modules_and_exit_codes_are_the_programs_own(tmp_path: Path) -> None:
    package = tmp_path / "tool"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("value = 42\n")
    (package / "__main__.py").write_text(
        dedent(
            """
            import sys
            import torch
            from .helper import value
            print(sys.argv[1:], input(), __name__, __package__, value)
            cuda = torch.cuda
            print(cuda.is_available(), cuda.device_count(), cuda.get_device_name())
            print(torch.ones(2, device="cuda") * 2)
            sys.exit(7)
            """
        )
    )
    options = ("--gpus", "3", "--name", "Card", "--no-account", "-m", "tool", "-m", "--gpus", "x")
    done = torchferry("run", *options, cwd=tmp_path, stdin="typed\n")
    assert done.returncode == 7
    assert done.stdout.splitlines() == [
        "['-m', '--gpus', 'x'] typed __main__ tool 42",
        "True 3 Card",
        "tensor([2., 2.], device='cuda:0')",
    ]
    assert done.stderr == ""


def test_spawned_processes_and_loader_workers_see_the_same_gpu(tmp_path: Path) -> None:
    script = tmp_path / "spawns.py"
    script.write_text(
        dedent(
            """
            import torch
            import torch.multiprocessing as mp
            from torch.utils.data import DataLoader

            def work(number, queue):
                made = torch.ones(2, device="cuda") * number
                queue.put((torch.cuda.device_count(), made.device.type, made.sum().item()))

            if __name__ == "__main__":
                context = mp.get_context("spawn")
                queue = context.Queue()
                process = context.Process(target=work, args=(3, queue))
                process.start()
                print(*queue.get())
                process.join()
                loader = DataLoader(torch.arange(4.0), batch_size=2, num_workers=1)
                print([batch.cuda().sum().item() for batch in loader])
            """
        )
    )
    done = torchferry("run", "--gpus", "2", "--no-account", script.name, cwd=tmp_path)
    assert done.stdout == "2 cuda 6.0\n[1.0, 5.0]\n", done.stderr
    assert done.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="signals of a process group")
def test_an_interrupt_is_the_programs_to_handle(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(
        dedent(
            """
            import time
            try:
                print("ready", flush=True)
                time.sleep(60)
            finally:
                print("tidied up", flush=True)
            """
        )
    )
    child = subprocess.Popen(
        [sys.executable, "-m", "torchferry", "run", "--no-account", "waits.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert out == "tidied up\n"
    assert child.returncode == 130
    assert err.strip().endswith("KeyboardInterrupt")
    assert "torchferry" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.py",), "cannot read missing.py: No such file"),
        (("folder",), "folder without a __main__.py"),
        (("syntax.py",), "syntax.py:2: "),
        (("--python", "/nowhere/python", "fine.py"), "cannot start /nowhere/python"),
        (("--gpus", "0", "fine.py"), "--gpus"),
        ((), "TARGET"),
    ],
)
def test_what_cannot_start_is_said_clearly(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "syntax.py").write_text("x = 1\nprint 'x'\n")
    (tmp_path / "fine.py").write_text("")
    done = torchferry("run", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("torch", "said"),
    [
        ("raise ImportError('broken build')", "broken build"),
        ("__version__ = '2.5.1+cpu'\nclass version: cuda = hip = None", "2.5.1+cpu is too old"),
    ],
)
def test_without_a_usable_torch_it_says_what_to_do(tmp_path: Path, torch: str, said: str) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "torch.py").write_text(torch)
    (tmp_path / "fine.py").write_text("")
    for command in ("run", "verify"):
        extra = ("--migrated", "fine.py") if command == "verify" else ()
        done = torchferry(
            command, *extra, "fine.py", cwd=tmp_path, PYTHONPATH=str(tmp_path / "path")
        )
        assert done.returncode == 2
        assert said in done.stderr
        assert "2.6 or newer" in done.stderr
        assert "Traceback" not in done.stderr
