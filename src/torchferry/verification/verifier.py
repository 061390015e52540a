"""Proving a migration: the same program before and after, on the CPU and on a GPU."""

from __future__ import annotations

from pathlib import Path

from torchferry.core.errors import UnreadableSource

from .judge import Judge
from .options import VerifyOptions
from .request import Status, Where
from .rewrite import Rewrite
from .runs import Progress, Run, Runner
from .scratch import Scratch, choose_root
from .verdict import Role, Verdict


def verify_rewrite(
    script: Path,
    args: tuple[str, ...],
    rewrite: Rewrite,
    options: VerifyOptions,
    progress: Progress | None = None,
) -> Verdict:
    """Run `script` as it is and rewritten, and judge.

    Raises UsageError (a script that cannot start, a folder too large to copy), UnreadableSource,
    and MissingTorch.
    """
    if not script.is_file():
        reason = "is a folder" if script.is_dir() else "No such file"
        raise UnreadableSource(str(script), reason)
    script = script.parent.resolve() / script.name
    root = choose_root(script, Path.cwd(), options.root)
    scratch = Scratch(root, Path.cwd())
    try:
        runner = Runner(script, args, rewrite, scratch, options, progress)
        verdict = _Verification(runner, script, options).verdict()
    finally:
        if not options.keep:
            scratch.close()
    if options.keep:
        verdict.kept = str(scratch.folder)
    return verdict


class _Verification:
    """One verification; `verdict` makes the runs that it needs, one after another."""

    def __init__(self, runner: Runner, script: Path, options: VerifyOptions) -> None:
        self.runner, self.options = runner, options
        self.rewrite = runner.rewrite
        self.judge = Judge(script, runner, options)

    def verdict(self) -> Verdict:
        first = self.runner.run(Role.ORIGINAL, Where.CPU)
        where = Where.REAL if self.runner.real_gpu(first.report) else Where.SIMULATED
        self.judge.where = where
        home = Where.CPU
        if not first.report.came_to_its_end:
            if not _asks_for_gpu(first):
                return self.judge.original_failed(first)
            first = self.runner.run(Role.ORIGINAL, where)
            if not first.report.came_to_its_end:
                return self.judge.original_failed(first)
            home = where
            self.judge.note(
                "the original needs a GPU: its run on the GPU is what the others are compared with"
            )
        second = self.runner.run(Role.ORIGINAL_AGAIN, home)
        if not second.report.came_to_its_end:
            return self.judge.unsteady(second)
        self.judge.take_reference(first, second, home)
        return self._judge_migrated(where)

    def _judge_migrated(self, where: Where) -> Verdict:
        if self.rewrite.changed:
            failed = self.judge.on_cpu(self.runner.run(Role.MIGRATED_CPU, Where.CPU))
            if failed is not None:
                return failed
        run = self.runner.run(Role.MIGRATED_GPU, where)
        failed = self.judge.ended_badly(run)
        if failed is not None:
            return failed
        if self.judge.home is Where.CPU and self.judge.differs_on_gpu(run):
            # perhaps rightly: a program that asks for a GPU may say so where there is one
            self.judge.take_gpu_reference(self.runner.run(Role.ORIGINAL_GPU, where))
        return self.judge.on_gpu(run)


def _asks_for_gpu(run: Run) -> bool:
    return run.report.status is Status.RAISED and "cuda" in run.report.traceback.lower()
