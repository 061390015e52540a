"""Programs that `check` fixed: the same on the CPU, and no device error left on the GPU.

Everyday runs take every eighth program; `TORCHFERRY_TEST_STEP=1` runs all.
"""

from __future__ import annotations

import os
import re

import pytest

from torchferry.rules.fixing import fix_document
from torchferry.source.document import Document

from ..migration.running import printed, printed_on_gpu
from .test_check_fixes import PROGRAMS, Program

pytest.importorskip("torch")
STEP = min(int(os.environ.get("TORCHFERRY_TEST_STEP", "8")), 8)
#: they need a package that may not be there, a network, a file of their own, or print the time
_NOT_RUN = re.compile(
    r"transformers|torchmetrics|lightning|torchvision|distributed|onnx|export\.export|perf_counter"
    r"|np\.random|num_workers|open\(|\.pt\"|\"cuda\"\)|\.cuda\(\)|set_default|Generator|joblib|trace"
)
RUNNABLE = [p for p in PROGRAMS if not _NOT_RUN.search(p.text)]


def outcome(run: object, text: str) -> list[str] | str:
    """What a program prints, or the kind of its error."""
    try:
        result = run(text)  # type: ignore[operator]
    except Exception as error:
        return type(error).__name__
    lines = result[0] if isinstance(result, tuple) else result
    return [re.sub(r", grad_fn=<\w+>", "", line) for line in lines]


@pytest.mark.parametrize("program", RUNNABLE[::STEP], ids=lambda p: p.name)
def test_fixed_program(program: Program) -> None:
    safe = fix_document(Document.from_text(program.text, "p.py"))
    expected = outcome(printed, program.text)
    if expected == "ModuleNotFoundError":
        pytest.skip("it needs a package that is not here")
    if isinstance(expected, list):  # some faults strike on the CPU too, and are mended
        assert outcome(printed, safe.document.text) == expected
    done = fix_document(Document.from_text(program.text, "p.py"), unsafe=True)
    if any(f.severity.value == "error" for f in done.left):
        return
    before = outcome(printed_on_gpu, program.text)
    after = outcome(printed_on_gpu, done.document.text)
    if isinstance(before, str):
        assert not isinstance(after, str), f"still {after}"
    else:
        assert not isinstance(after, str), f"now {after}"
