"""Runs PyTorch's own operator database on the simulated GPU.

    python benchmarks/sim_op_db.py [--dtypes float32,...|all] [--steps forward,...] [--ops REGEX]
        [--limit N] [--rows FILE] [--part 0/4]

Each sample runs on the CPU and on the simulated GPU, forward, backward, in place and with `out=`.
Right: every tensor of the result is on the GPU and equals the CPU's; an `out=` on the CPU is
refused. Prints what is wrong and a table of right / all by dtype and step. With --rows the results
are kept in FILE (JSON lines), and a second run goes on where the first stopped; an operator that
ended the process is passed over.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from op_db_samples import STEPS, Row, check_operator, full_name, op_db, wanted_dtypes


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--ops", default="")
    parser.add_argument("--limit", type=int, default=0, help="samples an operator and dtype")
    parser.add_argument("--seconds", type=float, default=0, help="most time for one dtype")
    parser.add_argument("--part", default="0/1", help="I/N: every Nth operator from the Ith")
    parser.add_argument("--rows", type=Path, help="file to keep the results in")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    part, parts = map(int, options.part.split("/"))
    chosen = [op for op in op_db if re.search(options.ops, full_name(op))][part::parts]
    rows = list(results(chosen, options))
    print_problems(rows)
    print_table(rows)
    return 1 if any(row.problems for row in rows) else 0


def results(chosen: list[Any], options: argparse.Namespace) -> Iterator[Row]:
    """Rows of all operators: those of an earlier run from the file, the others computed."""
    known, started = earlier(options.rows)
    steps = tuple(options.steps.split(","))
    for op in chosen:
        name = full_name(op)
        if name in known:
            yield from known[name]
            continue
        if name in started:
            print(f"{name}: ended the process earlier, passed over", file=sys.stderr)
            continue
        keep(options.rows, {"started": name})
        dtypes = wanted_dtypes(op, options.dtypes)
        rows = check_operator(op, dtypes, steps, options.limit, options.seconds)
        keep(options.rows, {"op": name, "rows": [vars(row) for row in rows]})
        yield from rows


def earlier(path: Path | None) -> tuple[dict[str, list[Row]], set[str]]:
    """Rows by operator of earlier runs, and the operators that were started."""
    known: dict[str, list[Row]] = {}
    started: set[str] = set()
    if path is not None and path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if "started" in entry:
                started.add(entry["started"])
                continue
            known[entry["op"]] = [
                Row(**{**row, "problems": Counter(row["problems"])}) for row in entry["rows"]
            ]
    return known, started


def keep(path: Path | None, entry: dict[str, Any]) -> None:
    """Append an entry to the file."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def print_problems(rows: list[Row]) -> None:
    """One line an operator, step and problem."""
    found: Counter[tuple[str, str, str]] = Counter()
    dtypes: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for problem, count in row.problems.items():
            key = (row.op, row.step, problem)
            found[key] += count
            dtypes.setdefault(key, []).append(row.dtype)
    for (op, step, problem), count in sorted(found.items()):
        where = ",".join(sorted(set(dtypes[op, step, problem])))
        print(f"{op} {step} x{count} [{where}]: {problem!r}")


def print_table(rows: list[Row]) -> None:
    """right / all by dtype and step."""
    sums: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        for dtype in (row.dtype, "all"):
            pair = sums.setdefault((dtype, row.step), [0, 0])
            pair[0] += row.right
            pair[1] += row.all
    dtypes = sorted({dtype for dtype, _ in sums} - {"all"})
    print("dtype".ljust(16) + "".join(step.rjust(16) for step in STEPS))
    for dtype in (*dtypes, "all"):
        cells = ["{}/{}".format(*sums.get((dtype, step), (0, 0))) for step in STEPS]
        print(dtype.ljust(16) + "".join(cell.rjust(16) for cell in cells))
    for step in STEPS:
        right, every = sums.get(("all", step), (0, 0))
        if every:
            print(f"{step}: {right / every:.3%}")
    wrong = {row.op for row in rows if row.problems}
    print(f"operators: {len({row.op for row in rows})}, wrong: {len(wrong)}")


if __name__ == "__main__":
    sys.exit(main())
