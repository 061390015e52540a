"""From runs to a verdict."""

from __future__ import annotations

from pathlib import Path

from .child.write_guard import REFUSAL
from .options import VerifyOptions
from .request import Report, Status, Where
from .runs import Run, Runner
from .text_comparison import TextDifference, compare_text, reference, without_device_lines
from .tolerance import EXACT, SAME_CPU, Tolerance
from .values import TensorDifference, compare_values
from .verdict import Difference, EditedLines, Evidence, Outcome, Role, Verdict

_STREAMS = ("stdout", "stderr")


class Judge:
    """Knows the original's runs; judges the migrated program's."""

    def __init__(self, script: Path, runner: Runner, options: VerifyOptions) -> None:
        self.script, self.runner, self.options = script, runner, options
        self.where = Where.SIMULATED
        self.home = Where.CPU  #: where the original ran
        self.first: Run | None = None
        self.second: Run | None = None
        self.gpu_original: Run | None = None
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        """Add a note to the verdict."""
        self._notes.append(text)

    def take_reference(self, first: Run, second: Run, home: Where) -> None:
        """Set what the other runs are compared with."""
        self.first, self.second, self.home = first, second, home

    def take_gpu_reference(self, run: Run) -> None:
        """Let the migrated program print on the GPU what the original itself prints there."""
        self.gpu_original = run

    # ---- verdicts on single runs

    def original_failed(self, run: Run) -> Verdict:
        """The original does not come to its end, so there is nothing to compare with."""
        if run.report.status is Status.TIMED_OUT:
            reason = f"the original takes longer than the time limit of {self.options.timeout:g} s"
        elif REFUSAL in run.report.error:
            reason = (
                f"the original writes to {run.report.refused_write} by its full path, "
                "which a verification does not touch"
            )
        else:
            reason = f"the original fails by itself: {_first_line(run.report)}"
            self._hint(run.report)
        return self._verdict(Outcome.NOT_SHOWN, reason, failing=run)

    def _hint(self, report: Report) -> None:
        """What a failure may come from that is none outside of a verification."""
        kind = report.error.partition(":")[0]
        if kind == "EOFError":
            self.note("a program that reads its standard input needs --stdin FILE")
        elif kind in ("FileNotFoundError", "ModuleNotFoundError", "NotADirectoryError"):
            root = self.runner.scratch.root
            self.note(f"it ran in a copy of {root}; --root names a folder that holds all it needs")

    def unsteady(self, run: Run) -> Verdict:
        """The original came to its end once, but not again."""
        reason = f"the original fails in its second run: {_first_line(run.report)}"
        return self._verdict(Outcome.NOT_SHOWN, reason, failing=run)

    def on_cpu(self, run: Run) -> Verdict | None:
        """A verdict where the migrated program is another one on the CPU, else None."""
        failed = self.ended_badly(run)
        if failed is not None:
            return failed
        same = self.home is Where.CPU
        found, _ = self._compare(
            run,
            EXACT if same else self.options.tolerance,
            SAME_CPU if same else self.options.tolerance,
            same_device=not same,
        )
        if found is None:
            return None
        return self._verdict(Outcome.FAILED, _difference_text(found, "the CPU"), difference=found)

    def ended_badly(self, run: Run) -> Verdict | None:
        """A verdict where a run of the migrated program did not end as the original, else None."""
        report, place = run.report, self._place(run.role)
        if report.status is Status.TIMED_OUT:
            reason = f"on {place} the program takes longer than {self.options.timeout:g} s"
            return self._verdict(Outcome.NOT_SHOWN, reason, failing=run)
        if not report.came_to_its_end:
            who = "the migrated program" if self.runner.rewrite.changed else "the program"
            reason = f"{who} fails on {place}: {_first_line(report)}"
            return self._verdict(Outcome.FAILED, reason, failing=run)
        assert self.first is not None
        if report.exit_code != self.first.report.exit_code:
            codes = f"{report.exit_code}, not {self.first.report.exit_code}"
            return self._verdict(Outcome.FAILED, f"its exit code on {place} is {codes}")
        return None

    def differs_on_gpu(self, run: Run) -> bool:
        """Whether the run on the GPU differs from the original's on the CPU."""
        return self._compare_on_gpu(run)[0] is not None

    def on_gpu(self, run: Run) -> Verdict:
        """The final verdict, after the run of the migrated program on the GPU."""
        found, evidence = self._compare_on_gpu(run)
        place = self._place(run.role)
        if found is not None:
            reason = _difference_text(found, place)
            outcome = Outcome.FAILED
        else:
            outcome, reason = self._weigh(run, evidence)
        return self._verdict(outcome, reason, difference=found, evidence=evidence, gpu_run=run)

    def _weigh(self, run: Run, evidence: Evidence) -> tuple[Outcome, str]:
        """What agreement is worth."""
        account, place = run.report.account, self._place(run.role)
        share = account.gpu_share if account else 0.0
        if share < self.options.least_share:
            stayed = f"{100 * share:.0f}% of the bytes were computed on the GPU"
            if not self.runner.rewrite.changed:
                return Outcome.NOT_SHOWN, f"nothing was migrated, and only {stayed}"
            return Outcome.FAILED, f"the work stayed on the CPU: only {stayed}"
        if not evidence.numbers and not evidence.tensors:
            if evidence.unstable_lines or evidence.unstable_tensors:
                return Outcome.NOT_SHOWN, (
                    "two runs of the original give other numbers, and nothing else can be compared"
                )
            return Outcome.NOT_SHOWN, "the program prints no numbers and learns nothing"
        lines = self._edited_lines()
        if lines.count and not lines.ran_count:
            return Outcome.NOT_SHOWN, "no edited line ran"
        if not self.runner.rewrite.changed:
            return Outcome.VERIFIED, f"nothing had to be migrated; it does the same on {place}"
        return Outcome.VERIFIED, f"the migrated program does the same on the CPU and on {place}"

    # ---- comparing

    def _compare_on_gpu(self, run: Run) -> tuple[Difference | None, Evidence]:
        tolerance = self.options.tolerance
        same_device = self.home is not Where.CPU
        return self._compare(run, tolerance, tolerance, same_device=not same_device)

    def _compare(
        self, run: Run, text: Tolerance, tensors: Tolerance, *, same_device: bool
    ) -> tuple[Difference | None, Evidence]:
        """The first difference from the original, if any, and what was compared.

        same_device: device names are made alike first.
        """
        evidence = Evidence()
        found: Difference | None = None
        for stream in _STREAMS:
            difference = self._compare_stream(run, stream, text, same_device, evidence)
            if difference is not None and found is None:
                found = Difference(run.role, stream, text=difference)
        return self._compare_tensors(run, tensors, found, evidence), evidence

    def _compare_stream(
        self, run: Run, stream: str, tolerance: Tolerance, same_device: bool, evidence: Evidence
    ) -> TextDifference | None:
        assert self.first is not None
        assert self.second is not None
        # what `warnings` writes tells the line of the source, and may come once more or less
        options = {"same_device": same_device, "warnings": stream == "stdout"}
        printed = getattr(run, stream)
        known = reference(getattr(self.first, stream), getattr(self.second, stream), **options)
        evidence.unstable_lines += known.left_out
        result = compare_text(known, printed, tolerance, **options)
        gpu = self.gpu_original
        if result.difference is not None and gpu is not None and run.role is Role.MIGRATED_GPU:
            there, ended = getattr(gpu, stream), gpu.report.came_to_its_end
            own, pairs = without_device_lines(known, there, ended, **options)
            again = compare_text(own, printed, tolerance, **options)
            if again.same and ended and not _each_is_printed(pairs, printed):
                again.difference = compare_text(
                    reference(there, there, **options), printed, tolerance, **options
                ).difference
            if again.same and again.lines > len(pairs):
                evidence.device_lines += pairs
                result = again
        evidence.numbers += result.numbers
        evidence.lines += result.lines
        evidence.largest_difference = max(evidence.largest_difference, result.largest_difference)
        evidence.device_lines += result.device_lines
        return result.difference

    def _compare_tensors(
        self, run: Run, tolerance: Tolerance, found: Difference | None, evidence: Evidence
    ) -> Difference | None:
        assert self.first is not None
        assert self.second is not None
        result = compare_values(self.first.values, self.second.values, run.values, tolerance)
        evidence.tensors, evidence.elements = result.tensors, result.elements
        evidence.unmatched_tensors = list(result.unmatched)
        evidence.unstable_tensors = list(result.unstable)
        evidence.largest_difference = max(evidence.largest_difference, result.largest_difference)
        lost = result.difference or self._lost_leaf(run)
        if found is None and lost is not None:
            return Difference(run.role, tensor=lost)
        return found

    def _lost_leaf(self, run: Run) -> TensorDifference | None:
        """A learned variable of the main module that is one on the CPU only.

        The copy that a move makes of a leaf is no leaf: its gradient goes elsewhere.
        """
        assert self.first is not None
        on_cpu = [r.values for r in self.runner.runs if r.role is Role.MIGRATED_CPU]
        if run.role is not Role.MIGRATED_GPU or not on_cpu:
            return None
        own, gpu = self.first.values, self.gpu_original
        if gpu is not None and gpu.report.came_to_its_end:
            own = gpu.values
        variables = (name for name in self.first.values if name.isidentifier())
        for name in variables:
            if name in own and name in on_cpu[-1] and name not in run.values:
                return TensorDifference(name, "it is no leaf any more, and cannot learn")
        return None

    # ---- writing the verdict

    def _verdict(
        self,
        outcome: Outcome,
        reason: str,
        *,
        difference: Difference | None = None,
        evidence: Evidence | None = None,
        failing: Run | None = None,
        gpu_run: Run | None = None,
    ) -> Verdict:
        shown = failing or gpu_run
        gpu_runs = [run for run in self.runner.runs if run.role is Role.MIGRATED_GPU]
        report = gpu_runs[-1].report if gpu_runs else None
        return Verdict(
            script=str(self.script),
            args=self.runner.args,
            outcome=outcome,
            reason=reason,
            gpu="real" if self.where is Where.REAL else "simulated",
            gpu_name=report.gpu_name if report else "",
            changed=self.runner.rewrite.changed,
            texts=self.runner.rewrite.texts,
            difference=difference,
            device_error=shown.report.device_error if shown else None,
            traceback=shown.report.traceback if shown else "",
            account=report.account if report else None,
            edited_lines=self._edited_lines(),
            evidence=evidence or Evidence(),
            runs=[run.summary for run in self.runner.runs],
            notes=self._notes + self._refused_writes(),
        )

    def _refused_writes(self) -> list[str]:
        refused = dict.fromkeys(run.report.refused_write for run in self.runner.runs)
        return [f"the program was kept from writing to {path}" for path in refused if path]

    def _edited_lines(self) -> EditedLines:
        ran: dict[str, tuple[int, ...]] = {}
        not_run: dict[str, tuple[int, ...]] = {}
        for path, lines in self.runner.code_lines.items():
            hit = self.runner.lines_ran.get(path, set())
            ran[str(path)] = tuple(line for line in lines if line in hit)
            not_run[str(path)] = tuple(line for line in lines if line not in hit)
        return EditedLines(ran, not_run)

    def _place(self, role: Role) -> str:
        if role is Role.MIGRATED_CPU:
            return "the CPU"
        return "the GPU" if self.where is Where.REAL else "the simulated GPU"


def _first_line(report: Report) -> str:
    return report.error.splitlines()[0] if report.error else f"exit code {report.exit_code}"


def _difference_text(found: Difference, place: str) -> str:
    if found.tensor is not None:
        return f"on {place} {found.tensor.name} ends with other values: {found.tensor.reason}"
    return f"on {place} the program prints something else"


def _each_is_printed(pairs: list[tuple[str, str]], printed: str) -> bool:
    """Whether each line that the original prints otherwise on a GPU is there in one of its forms.

    What only one of the two forms has (a warning that a GPU is not used) may be there or not.
    """
    lines = set(printed.splitlines())
    return all(not (x and y) or x in lines or y in lines for x, y in pairs)
