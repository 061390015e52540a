"""What `run` and `verify` say to people."""

from __future__ import annotations

import click
import pytest

from torchferry.report.run_text import account_text, code_frame, explain, size
from torchferry.report.verify_text import verdict_text
from torchferry.trace import Account, DeviceErrorReport, MoveRecord, Place, TensorReport
from torchferry.verification.text_comparison import TextDifference
from torchferry.verification.values import TensorDifference
from torchferry.verification.verdict import (
    Difference,
    EditedLines,
    Evidence,
    Outcome,
    Role,
    RunSummary,
    Verdict,
)

TEXT = "x = torch.ones(2)\nx = x.cuda()\n\nz = self.net(x) + h0\n"


def at(line: int) -> Place:
    return Place("/p/t.py", line, "forward", TEXT.splitlines()[line - 1])


ERROR = DeviceErrorReport(
    kind="mixed-devices",
    message="Expected all tensors to be on the same device",
    operator="add",
    place=at(4),
    tensors=(
        TensorReport(
            "cuda:0",
            (2,),
            "torch.float32",
            "x",
            "self",
            at(1),
            "ones",
            (MoveRecord("cuda:0", at(2)),),
        ),
        TensorReport(
            "cpu", (2,), "torch.float32", "h0", "other", Place("/q/lib.py", 7, "", "h0 = 1")
        ),
        TensorReport("cpu", (), "torch.float32", None, "weight"),
    ),
    suggestion="move `h0`.",
)


def plain(text: str) -> str:
    return click.unstyle(text)


def test_an_explanation_shows_the_line_of_the_text_that_ran() -> None:
    said = plain(explain(ERROR, {"/p/t.py": TEXT}))
    assert "--> /p/t.py:4, in forward" in said
    frame = said.splitlines()
    line = frame.index("4 | z = self.net(x) + h0")
    assert frame[line + 1].replace("  |", "") == "              ^    ^^"
    assert "2 | x = x.cuda()" in said


def test_an_explanation_tells_each_tensors_life() -> None:
    said = plain(explain(ERROR, {"/p/t.py": TEXT})).splitlines()
    x = said.index("  x: float32 [2] on cuda:0, argument `self`")
    assert said[x + 1].split() == [
        "made",
        "on",
        "the",
        "CPU",
        "line",
        "1",
        "x",
        "=",
        "torch.ones(2)",
    ]
    assert said[x + 2].split()[:5] == ["moved", "to", "cuda:0", "line", "2"]
    assert "/q/lib.py" in said[x + 4]  # not the file of the error
    assert any("argument `weight`" in line for line in said)
    assert said[-1] == "Fix: Move `h0`."


def test_the_holder_is_marked_where_the_line_does_not_say_the_full_name() -> None:
    frame = plain(code_frame(Place("/p/t.py", 1), ["model.bias"], "y = model(x)\n"))
    assert "    ^^^^^" in frame


def test_a_line_that_cannot_be_read_is_shown_as_it_ran() -> None:
    assert "1 | exec text" in plain(code_frame(Place("<string>", 1, "", "exec text"), []))
    assert "99 | gone" in plain(code_frame(Place("/p/t.py", 99, "", "gone"), [], TEXT))


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB"), (3 << 40, "3.0 TiB")],
)
def test_sizes(nbytes: int, text: str) -> None:
    assert size(nbytes) == text


def test_an_account_without_a_gpu_says_so() -> None:
    assert account_text(Account(host_operators=1200)).endswith(
        "none on the GPU, 1,200 on the host (0 B)"
    )
    full = account_text(Account(gpu_operators=1, gpu_bytes=3, host_bytes=1, d2d_copies=2))
    assert "75% of the bytes" in full
    assert "2 between GPUs" in full


def verdict(outcome: Outcome, **more: object) -> str:
    return plain(verdict_text(Verdict("/p/t.py", (), outcome, "because", **more)))  # type: ignore[arg-type]


def test_a_proof_is_told_with_what_was_left_out() -> None:
    said = verdict(
        Outcome.VERIFIED,
        evidence=Evidence(
            numbers=1,
            lines=2,
            tensors=3,
            elements=4000,
            largest_difference=1e-6,
            unstable_lines=[f"line {n}" for n in range(7)],
            unstable_tensors=["t"],
            unmatched_tensors=["u"],
            device_lines=[("cpu", "cuda")],
        ),
        edited_lines=EditedLines({"/p/t.py": (1, 2)}, {"/p/t.py": (9,)}),
        runs=[RunSummary(Role.ORIGINAL, 3, 1.25, "", ("net.pt",))],
        notes=["a note"],
    )
    assert said.startswith("/p/t.py: verified\n  because\n")
    for part in (
        "1 number in 2 lines agree",
        "3 tensors with 4,000 values agree",
        "1e-06",
        "'line 4' and 2 more",
        "'cpu' became 'cuda'",
        "2 of 3 ran",
        "did not run: /p/t.py, line 9 of the new text",
        "original 1.2 s, exit code 3",
        "net.pt",
        "a note",
    ):
        assert part in said, part


def test_differences_are_shown_before_and_after() -> None:
    text = Difference(Role.MIGRATED_GPU, "stdout", TextDifference("loss 1", "", 12))
    said = verdict(Outcome.FAILED, difference=text)
    assert "line 12 of stdout" in said
    assert "before: loss 1" in said
    assert "after:  (nothing)" in said
    tensor = TensorDifference("net.bias", "its values differ", 0.5, 0.25, 7)
    said = verdict(Outcome.FAILED, difference=Difference(Role.MIGRATED_CPU, tensor=tensor))
    assert "net.bias" in said
    assert "line 7" in said
    assert "0.5" in said


def test_a_device_error_is_explained_and_any_other_is_a_traceback() -> None:
    said = verdict(Outcome.FAILED, device_error=ERROR, texts={"/p/t.py": TEXT}, traceback="Trace")
    assert "Fix: Move" in said
    assert "Trace" not in said
    assert "  Trace" in verdict(Outcome.FAILED, traceback="Trace\n")
