"""Runs small programs in this process: on the CPU, and on the simulated GPU."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from typing import Any


def printed(source: str, name: str = "program.py") -> list[str]:
    """The lines that a program prints here, from a fresh state of the random generators."""
    import torch

    random.seed(0)
    torch.manual_seed(0)
    torch.set_grad_enabled(True)
    out = io.StringIO()
    argv = sys.argv
    sys.argv = [name]
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, name, "exec", dont_inherit=True), {"__name__": "__main__"})
    finally:
        sys.argv = argv
    return out.getvalue().splitlines()


def printed_on_gpu(source: str, name: str = "program.py") -> tuple[list[str], Any]:
    """The lines that a program prints on the simulated GPU, and the account of its work."""
    from torchferry.sim import simulate

    with simulate() as session:
        lines = printed(source, name)
        return lines, session.account()
