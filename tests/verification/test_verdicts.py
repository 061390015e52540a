"""From runs to a verdict, with runs that are made up: no process is started."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchferry.trace import Account, DeviceErrorReport, Place
from torchferry.verification import verifier
from torchferry.verification.child.write_guard import REFUSAL
from torchferry.verification.options import VerifyOptions
from torchferry.verification.request import Report, Status, Where
from torchferry.verification.rewrite import Rewrite
from torchferry.verification.runs import Run
from torchferry.verification.values import TensorValue
from torchferry.verification.verdict import Outcome, Role, Verdict

ON_GPU = Account(gpu_operators=9, gpu_bytes=90, host_operators=1, host_bytes=10)
ON_HOST = Account(gpu_operators=1, gpu_bytes=10, host_operators=9, host_bytes=90)


def ended(account: Account | None = None, **more: Any) -> Report:
    return Report(Status.FINISHED, 0, account=account, **more)


def raised(error: str = "ValueError: no", **more: Any) -> Report:
    return Report(Status.RAISED, 1, error=error, **more)


def tensor(*numbers: float) -> TensorValue:
    return TensorValue("w", (len(numbers),), "torch.float32", array("d", numbers))


class Runs:
    """Answers the runs of a verification from a table; what is not in it must not be asked for."""

    def __init__(self, changed: bool = True) -> None:
        lines = {Path("/p/train.py"): (1, 2)} if changed else {}
        self.rewrite = Rewrite({Path("/p/train.py"): b"x"} if changed else {}, lines)
        self.args: tuple[str, ...] = ()
        self.scratch = SimpleNamespace(root=Path("/p"))
        self.table: dict[tuple[Role, Where], Run] = {}
        self.runs: list[Run] = []
        self.code_lines: dict[Path, tuple[int, ...]] = dict(lines)
        self.lines_ran: dict[Path, set[int]] = {path: {1} for path in lines}
        self.add(Role.ORIGINAL)
        self.add(Role.ORIGINAL_AGAIN)
        self.add(Role.MIGRATED_CPU)
        self.add(Role.MIGRATED_GPU, Where.SIMULATED, report=ended(ON_GPU))
        self.add(Role.ORIGINAL_GPU, Where.SIMULATED, report=ended(ON_HOST))

    def add(
        self,
        role: Role,
        where: Where = Where.CPU,
        report: Report | None = None,
        stdout: str = "loss 0.5\n",
        stderr: str = "",
        weight: tuple[float, ...] | None = (1.0, 2.0),
    ) -> Runs:
        values = {"w": tensor(*weight)} if weight is not None else {}
        self.table[role, where] = Run(role, report or ended(), stdout, stderr, values, ())
        return self

    def run(self, role: Role, where: Where) -> Run:
        self.runs.append(self.table[role, where])
        return self.runs[-1]

    def real_gpu(self, report: Report) -> bool:
        return False


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., Verdict]:
    def judge(runs: Runs) -> Verdict:
        script = tmp_path / "train.py"
        script.write_text("import torch\n")
        return verifier._Verification(runs, script, VerifyOptions()).verdict()  # type: ignore[arg-type]

    return judge


Judged = Callable[..., Verdict]


def test_the_same_on_both_is_verified(judged: Judged) -> None:
    verdict = judged(Runs())
    assert verdict.outcome is Outcome.VERIFIED
    assert verdict.evidence.numbers == 1
    assert verdict.evidence.tensors == 1
    assert verdict.gpu_share == 0.9
    assert verdict.edited_lines.not_run == {"/p/train.py": (2,)}
    assert [run.role for run in verdict.runs] == [
        Role.ORIGINAL,
        Role.ORIGINAL_AGAIN,
        Role.MIGRATED_CPU,
        Role.MIGRATED_GPU,
    ]


def test_an_original_that_fails_shows_nothing(judged: Judged) -> None:
    runs = Runs().add(Role.ORIGINAL, report=raised())
    verdict = judged(runs)
    assert verdict.outcome is Outcome.NOT_SHOWN
    assert "fails by itself: ValueError: no" in verdict.reason
    assert len(verdict.runs) == 1


@pytest.mark.parametrize(
    ("error", "option"),
    [("EOFError: EOF when reading a line", "--stdin"), ("FileNotFoundError: data", "--root")],
)
def test_a_failure_that_an_option_may_cure_names_it(
    judged: Judged, error: str, option: str
) -> None:
    verdict = judged(Runs().add(Role.ORIGINAL, report=raised(error)))
    assert option in verdict.notes[0]


def test_an_original_that_takes_too_long_shows_nothing(judged: Judged) -> None:
    verdict = judged(Runs().add(Role.ORIGINAL, report=Report(Status.TIMED_OUT, 124)))
    assert verdict.outcome is Outcome.NOT_SHOWN
    assert "time limit" in verdict.reason


def test_an_original_that_would_overwrite_a_file_shows_nothing(judged: Judged) -> None:
    refused = f"PermissionError: [Errno 13] {REFUSAL}: '/p/model.pt'"
    verdict = judged(Runs().add(Role.ORIGINAL, report=raised(refused, refused_write="/p/model.pt")))
    assert "/p/model.pt" in verdict.reason


def test_a_refused_write_that_the_program_survives_is_noted(judged: Judged) -> None:
    verdict = judged(Runs().add(Role.ORIGINAL, report=ended(refused_write="/p/model.pt")))
    assert verdict.outcome is Outcome.VERIFIED
    assert verdict.notes == ["the program was kept from writing to /p/model.pt"]


def test_an_original_that_needs_a_gpu_is_compared_with_itself_there(judged: Judged) -> None:
    failed = raised("AssertionError: no CUDA", traceback="Torch not compiled with CUDA enabled")
    runs = Runs().add(Role.ORIGINAL, report=failed)
    runs.add(Role.ORIGINAL, Where.SIMULATED).add(Role.ORIGINAL_AGAIN, Where.SIMULATED)
    verdict = judged(runs)
    assert verdict.outcome is Outcome.VERIFIED
    assert verdict.notes


def test_other_text_on_the_cpu_fails_without_a_gpu_run(judged: Judged) -> None:
    verdict = judged(Runs().add(Role.MIGRATED_CPU, stdout="loss 0.50001\n"))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.difference is not None
    assert verdict.difference.text is not None
    assert verdict.difference.text.after == "loss 0.50001"
    assert verdict.difference.role is Role.MIGRATED_CPU
    assert len(verdict.runs) == 3


def test_other_values_on_the_cpu_fail(judged: Judged) -> None:
    verdict = judged(Runs().add(Role.MIGRATED_CPU, weight=(1.0, 2.001)))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.difference is not None
    assert verdict.difference.tensor is not None


def test_another_exit_code_fails(judged: Judged) -> None:
    verdict = judged(Runs().add(Role.MIGRATED_CPU, report=Report(Status.EXITED, 3)))
    assert verdict.outcome is Outcome.FAILED
    assert "exit code" in verdict.reason


def test_a_device_error_on_the_gpu_is_handed_on(judged: Judged) -> None:
    error = DeviceErrorReport("mixed-devices", "m", "addmm", Place("/p/train.py", 2))
    failed = raised("RuntimeError: two devices\nmore", device_error=error, account=ON_GPU)
    verdict = judged(Runs().add(Role.MIGRATED_GPU, Where.SIMULATED, report=failed))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.device_error == error
    assert verdict.reason.endswith("RuntimeError: two devices")


def test_a_run_on_the_gpu_that_takes_too_long_shows_nothing(judged: Judged) -> None:
    report = Report(Status.TIMED_OUT, 124)
    verdict = judged(Runs().add(Role.MIGRATED_GPU, Where.SIMULATED, report=report))
    assert verdict.outcome is Outcome.NOT_SHOWN


def test_work_that_stays_on_the_cpu_is_not_verified(judged: Judged) -> None:
    verdict = judged(Runs().add(Role.MIGRATED_GPU, Where.SIMULATED, report=ended(ON_HOST)))
    assert verdict.outcome is Outcome.FAILED
    assert "stayed on the CPU" in verdict.reason


def test_a_program_that_needs_no_migration_can_be_verified(judged: Judged) -> None:
    verdict = judged(Runs(changed=False))
    assert verdict.outcome is Outcome.VERIFIED
    assert not verdict.changed


def test_an_unchanged_program_on_the_cpu_shows_nothing(judged: Judged) -> None:
    runs = Runs(changed=False).add(Role.MIGRATED_GPU, Where.SIMULATED, report=ended(ON_HOST))
    verdict = judged(runs)
    assert verdict.outcome is Outcome.NOT_SHOWN
    assert "nothing was migrated" in verdict.reason


@pytest.mark.parametrize("role", [Role.MIGRATED_CPU, Role.MIGRATED_GPU])
def test_a_lost_file_name_in_a_traceback_is_shown(judged: Judged, role: Role) -> None:
    where = Where.CPU if role is Role.MIGRATED_CPU else Where.SIMULATED
    verdict = judged(Runs().add(role, where, report=raised(traceback="Traceback ...")))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.traceback == "Traceback ..."


def every_run(runs: Runs, stdout: Callable[[int], str], weight: Callable[[int], float]) -> Runs:
    roles = [*[(role, Where.CPU) for role in list(Role)[:3]], (Role.MIGRATED_GPU, Where.SIMULATED)]
    for number, (role, where) in enumerate(roles):
        report = ended(ON_GPU) if where is Where.SIMULATED else ended()
        runs.add(role, where, report, stdout(number), weight=(weight(number),))
    return runs


def test_a_program_whose_every_number_is_random_shows_nothing(judged: Judged) -> None:
    runs = every_run(Runs(), lambda n: f"loss 0.{n}1\n", float)
    verdict = judged(runs)
    assert verdict.outcome is Outcome.NOT_SHOWN
    assert "other numbers" in verdict.reason


def test_a_stable_part_of_a_random_program_is_enough(judged: Judged) -> None:
    runs = every_run(Runs(), lambda n: f"at 0.{n}1\n", lambda n: 1.0)
    assert judged(runs).outcome is Outcome.VERIFIED


def test_a_program_without_numbers_shows_nothing(judged: Judged) -> None:
    runs = Runs()
    for (role, where), run in list(runs.table.items()):
        runs.add(role, where, run.report, "done\n", weight=None)
    verdict = judged(runs)
    assert verdict.outcome is Outcome.NOT_SHOWN
    assert "no numbers" in verdict.reason


def test_edited_lines_that_never_run_show_nothing(judged: Judged) -> None:
    runs = Runs()
    runs.lines_ran = {}
    assert judged(runs).outcome is Outcome.NOT_SHOWN


def test_small_differences_on_the_gpu_are_tolerated_and_told(judged: Judged) -> None:
    gpu = Where.SIMULATED
    runs = Runs().add(Role.MIGRATED_GPU, gpu, ended(ON_GPU), "loss 0.5\n", weight=(1.00001, 2.0))
    verdict = judged(runs)
    assert verdict.outcome is Outcome.VERIFIED
    assert verdict.evidence.largest_difference == pytest.approx(1e-5, rel=1e-3)


def test_logged_numbers_count_and_warnings_do_not(judged: Judged) -> None:
    runs = Runs()
    gpu = (Role.MIGRATED_GPU, Where.SIMULATED)
    for (role, where), run in list(runs.table.items()):
        warning = "/p/train.py:7: UserWarning: slow\n  x.item()\n" if (role, where) == gpu else ""
        runs.add(role, where, run.report, stderr=warning + "INFO loss 0.25\n")
    assert judged(runs).outcome is Outcome.VERIFIED
    runs.runs.clear()
    verdict = judged(runs.add(*gpu, report=ended(ON_GPU), stderr="INFO loss 0.29\n"))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.difference is not None
    assert verdict.difference.stream == "stderr"


CPU_TEXT = "available False\nloss 0.5\nend 0.25\n"
GPU_TEXT = "available True\nloss 0.5\nend 0.25\n"


def asks_for_gpu(original: Report, printed: str, migrated: str = GPU_TEXT) -> Runs:
    runs = Runs()
    for role in (Role.ORIGINAL, Role.ORIGINAL_AGAIN, Role.MIGRATED_CPU):
        runs.add(role, stdout=CPU_TEXT)
    runs.add(Role.MIGRATED_GPU, Where.SIMULATED, ended(ON_GPU), migrated)
    return runs.add(Role.ORIGINAL_GPU, Where.SIMULATED, original, printed)


def test_what_a_program_prints_of_the_gpu_by_itself_may_differ(judged: Judged) -> None:
    verdict = judged(asks_for_gpu(ended(), GPU_TEXT))
    assert verdict.outcome is Outcome.VERIFIED
    assert ("available False", "available True") in verdict.evidence.device_lines


def test_a_program_that_never_asks_for_a_gpu_must_print_the_same(judged: Judged) -> None:
    assert judged(asks_for_gpu(ended(), CPU_TEXT)).outcome is Outcome.FAILED


def test_a_failing_original_still_tells_what_it_prints_on_a_gpu(judged: Judged) -> None:
    runs = asks_for_gpu(raised(), GPU_TEXT.replace("end 0.25\n", ""))
    assert judged(runs).outcome is Outcome.VERIFIED
    runs = asks_for_gpu(raised(), "available True\n", GPU_TEXT.replace("0.25", "0.75"))
    assert judged(runs).outcome is Outcome.FAILED


def test_mostly_other_output_on_a_gpu_is_a_difference(judged: Judged) -> None:
    other = "available True\nloss 0.7\nend 0.25\n"
    assert judged(asks_for_gpu(ended(), other, other)).outcome is Outcome.FAILED


def test_a_leaf_that_is_lost_on_the_gpu_fails(judged: Judged) -> None:
    runs = Runs().add(Role.MIGRATED_GPU, Where.SIMULATED, ended(ON_GPU), weight=None)
    verdict = judged(runs)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.difference is not None
    assert verdict.difference.tensor is not None
    assert "leaf" in verdict.difference.tensor.reason


def test_a_verdict_is_plain_data(judged: Judged) -> None:
    import json

    verdict = judged(Runs().add(Role.MIGRATED_CPU, stdout="other\n"))
    data = json.loads(json.dumps(verdict.to_json()))
    assert data["outcome"] == "failed"
    assert data["difference"]["text"]["after"] == "other"
