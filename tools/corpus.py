"""Try torchferry on a corpus of public PyTorch programs.

A developer's tool; ``tools/README.md`` says how to use it. It reads a list of programs
(``programs.json``), builds one folder per program from clones of their repositories, and runs the
programs before and after a migration, on the CPU and on the simulated GPU.

Nothing of the corpus is ever written into this repository: all data goes to ``--work``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from corpuslib.judging import baseline, evaluate, migrate, migrate_in_process, sim
from corpuslib.place import Json, Program, Workplace, load, save
from corpuslib.preparation import prepare
from corpuslib.runs import child_main

ROOT = Path(__file__).resolve().parent.parent

COMMANDS: dict[str, tuple[Callable[[Workplace, Program], Json], str]] = {
    "baseline": (baseline, "run the originals twice on the CPU"),
    "migrate": (migrate, "migrate a copy of each program, keep the diff"),
    "sim": (sim, "run the originals on the simulated GPU, compare with the baseline"),
    "eval": (evaluate, "migrate, run on the CPU and on the simulated GPU, give a verdict"),
}


def run_all(place: Workplace, name: str, programs: Sequence[Program], options: Any) -> int:
    command = COMMANDS[name][0]
    kind = name if not options.tag else f"{name}-{options.tag}"

    def one(program: Program) -> None:
        path = place.result(kind, program)
        old = load(path)
        if old and not options.force and old["verdict"] not in options.again:
            return
        if name == "eval" and options.migrate_again:
            migrate(place, program)
        try:
            result = command(place, program)
        except Exception as error:  # one program must not end the others
            result = {"id": program.id, "verdict": "harness-error", "message": repr(error)}
        save(path, result)
        print(f"{result['verdict']:14} {program.id}{_remark(result)}", flush=True)

    if name == "migrate" and options.in_process:
        migrate_in_process(place, programs)
    else:
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(one, programs))
    summary(place, kind, programs)
    return 0


def _remark(result: Json) -> str:
    for part in ("sim", "cpu"):
        error = result.get(part, {}).get("error")
        if error:
            return f"  {error['where']}  {error['message'][:120]!r}"
    for run in result.get("runs", []):
        if "error" in run:
            return f"  {run['error']['where']}  {run['error']['message'][:120]!r}"
    if result.get("difference"):
        return f"  {json.dumps(result['difference'], ensure_ascii=False)[:160]}"
    return f"  share {result['share']:.0%}" if result.get("share") is not None else ""


def summary(place: Workplace, kind: str, programs: Sequence[Program]) -> None:
    """Print the verdicts by style and write all results of this kind to one file."""
    results = {p.id: r for p in programs if (r := load(place.result(kind, p)))}
    save(place.work / f"{kind}.json", results)
    styles = sorted({p.style for p in programs})
    counts = Counter((results[p.id]["verdict"], p.style) for p in programs if p.id in results)
    verdicts = sorted({verdict for verdict, _ in counts}, key=lambda v: -_row(counts, v))
    print(f"\n{kind:16}{'all':>6}" + "".join(f"{style:>10}" for style in styles))
    for verdict in verdicts:
        cells = "".join(f"{counts[verdict, style]:>10}" for style in styles)
        print(f"{verdict:16}{_row(counts, verdict):>6}{cells}")
    print(f"{'total':16}{len(results):>6}")


def _row(counts: Counter[tuple[str, str]], verdict: str) -> int:
    return sum(n for (name, _), n in counts.items() if name == verdict)


def prepare_all(place: Workplace, programs: Sequence[Program], options: Any) -> int:
    bad = 0
    for program in programs:
        if place.pristine(program).exists() and not options.force:
            continue
        try:
            facts = prepare(place, program, options.clones)
        except (OSError, subprocess.CalledProcessError, KeyError, ValueError) as error:
            bad += 1
            print(f"FAILED         {program.id}: {error}")
            continue
        note = f", trims without a match: {facts['trims_unused']}" if facts["trims_unused"] else ""
        print(f"{program.id}: {facts['files']} files, {facts['bytes'] >> 10} KiB{note}")
    return 1 if bad else 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpus")
    work = os.environ.get("TORCHFERRY_CORPUS")
    shared.add_argument(
        "--work",
        type=Path,
        default=work,
        required=work is None,
        help="working data (default: $TORCHFERRY_CORPUS); never inside the repository",
    )
    shared.add_argument("--python", default=sys.executable, help="runs the programs")
    shared.add_argument("--nice", type=int, default=10)
    shared.add_argument("--ids", nargs="+", metavar="ID")
    shared.add_argument("--quick", action="store_true", help="only the programs of quick.txt")
    shared.add_argument("--style", nargs="+", choices=["modern", "legacy", "guarded"])
    shared.add_argument("--force", action="store_true", help="do again what is done")
    commands = top.add_subparsers(dest="command", required=True)
    make = commands.add_parser("prepare", parents=[shared], help="build one folder per program")
    make.add_argument("--clones", type=Path, required=True, help="clones, one folder a repository")
    for name, (_, text) in COMMANDS.items():
        command = commands.add_parser(name, parents=[shared], help=text)
        command.add_argument("--jobs", type=int, default=1)
        command.add_argument("--tag", default="", help="keep these results apart under a name")
        command.add_argument("--again", nargs="+", default=[], metavar="VERDICT")
        command.add_argument("--migrate-again", action="store_true", help="eval: do not reuse")
        command.add_argument("--in-process", action="store_true", help="migrate: in one process")
    show = commands.add_parser("summary", parents=[shared], help="print the verdicts again")
    show.add_argument("kind", help="baseline, migrate, sim, eval (with -TAG)")
    return top


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["_child"]:
        child_main(arguments[1], arguments[2], arguments[3:])
        return 0
    options = parser().parse_args(arguments)
    work = options.work.resolve()
    if work.is_relative_to(ROOT):
        raise SystemExit("--work must lie outside this repository: the corpus is never committed")
    place = Workplace(options.corpus.resolve(), work, options.python, options.nice)
    programs = place.select(options)
    if options.command == "prepare":
        return prepare_all(place, programs, options)
    if options.command == "summary":
        summary(place, options.kind, programs)
        return 0
    return run_all(place, options.command, programs, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
