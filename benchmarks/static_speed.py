"""The speed of the static half, beside LibCST's parser in the same run.

    python benchmarks/static_speed.py [--rounds 3] [--folder FOLDER ...] [--file FILE]

Measures the user CPU time for all Python files of torch/nn, torch/optim, torch/distributions and
torch/utils/data of the installed torch (which is not imported), and of one small file from the
shell, start of Python included. Each measurement has a process of its own; the best round counts.
LibCST is measured if it is installed (`pip install torchferry[bench]`).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PARTS = ("nn", "optim", "distributions", "utils/data")
SMALL = Path(__file__).parent.parent / "examples" / "lstm_tagger.py"

#: Other tools on the same 253 files (82,269 lines), measured once on 2 shared cores with
#: Python 3.11: lines a second, and seconds of CPU time for one file of 57 lines.
PEERS = (
    ("hotpath (17 rules on ast, no data flow)", 122_000, 0.05),
    ("torch_gpu2mlu (regular expressions)", 135_000, None),
    ("FakeGPU analyze-repo", 67_500, None),
    ("PaConvert --no_format", 22_800, 0.25),
    ("musa_converter (LibCST)", 8_840, 0.54),
    ("PaConvert with black and isort", 3_080, None),
    ("torch-preflight (13 rules, data flow)", 1_150, 0.40),
    ("torchfix ALL (LibCST)", 1_040, 0.69),
    ("Ascend GPU2Ascend", 190, None),
)


def parse_with_ast(path: str, data: bytes) -> None:
    """The floor: Python's own parser."""
    ast.parse(data)


def parse_with_libcst(path: str, data: bytes) -> None:
    """The parser that most rewriters of Python stand on."""
    import libcst

    libcst.parse_module(data)


def open_document(path: str, data: bytes) -> None:
    """Our own reading: decoded, parsed, nothing analysed."""
    from torchferry.source.document import Document

    _ = Document.from_bytes(data, path).tree


def check_alone(path: str, data: bytes) -> None:
    """All rules, each file by itself."""
    from torchferry.rules import engine
    from torchferry.source.document import Document

    engine.check_document(Document.from_bytes(data, path))


def check(path: str, data: bytes) -> None:
    """`torchferry check` as its processes do it: imports of the same project are followed."""
    from torchferry.cli._checking import check_file
    from torchferry.rules.options import CheckOptions
    from torchferry.source.project import Store

    if path == "warm.py":
        check_alone(path, data)
        return
    check_file(path, CheckOptions(), _shared.setdefault("store", Store()))


def migrate(path: str, data: bytes) -> None:
    """`torchferry migrate`: analysed, rewritten and proof-read, not written."""
    from torchferry.core.errors import RewriteRefused
    from torchferry.migration import migrate_document
    from torchferry.source.document import Document

    try:
        migrate_document(Document.from_bytes(data, path))
    except RewriteRefused:
        print(f"refused: {path}", file=sys.stderr)


_shared: dict[str, Any] = {}  #: what the files of one run have in common
WORK: dict[str, Callable[[str, bytes], None]] = {
    "ast.parse": parse_with_ast,
    "libcst.parse_module": parse_with_libcst,
    "torchferry: read and parse": open_document,
    "torchferry check, imports unknown": check_alone,
    "torchferry check": check,
    "torchferry migrate": migrate,
}
NEEDS = {
    "libcst.parse_module": "libcst",
    "torchferry check": "torchferry.rules.engine",
    "torchferry check, imports unknown": "torchferry.rules.engine",
}


def files_of(folders: list[str]) -> list[str]:
    """All Python files below some folders."""
    return sorted(str(path) for folder in folders for path in Path(folder).rglob("*.py"))


def torch_folders() -> list[str]:
    """The four folders of the installed torch."""
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("no torch is installed; name folders with --folder")
    return [str(Path(spec.submodule_search_locations[0]) / part) for part in PARTS]


def measure(name: str, folders: list[str]) -> None:
    """Run one tool over all files in this process, and print what it took as JSON."""
    contents = [(path, Path(path).read_bytes()) for path in files_of(folders)]
    work = WORK[name]
    work("warm.py", b"import torch\n")  # the imports of the tool are not its speed
    start = time.process_time()
    for path, data in contents:
        work(path, data)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"seconds": seconds, "peak": peak}))


def in_child(name: str, folders: list[str], rounds: int) -> dict[str, float]:
    """The best of some rounds, each in a fresh process."""
    command = [sys.executable, __file__, "--measure", name]
    for folder in folders:
        command += ["--folder", folder]
    results = []
    for _ in range(rounds):
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        results.append(json.loads(done.stdout))
    return min(results, key=lambda result: float(result["seconds"]))


def from_shell(command: list[str], rounds: int) -> float:
    """Seconds of CPU time (user and system) of a whole process; the best of some rounds.

    Byte code is cached, as on a user's machine after the first start.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=False)
        return min(_cpu_time(command, environment) for _ in range(rounds))


def _cpu_time(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def folder_table(folders: list[str], rounds: int) -> None:
    """Print lines a second for every tool at hand."""
    files = files_of(folders)
    lines = sum(Path(path).read_bytes().count(b"\n") for path in files)
    print(f"{len(files)} files, {lines:,} lines, best of {rounds}\n")
    print(f"{'tool':<42}{'CPU s':>8}{'lines/s':>10}{'peak MB':>9}{'x LibCST':>10}")
    libcst: float | None = None
    for name in WORK:
        if name in NEEDS and find_spec(NEEDS[name]) is None:
            print(f"{name:<42}{'not installed':>18}")
            continue
        result = in_child(name, folders, rounds)
        speed = lines / result["seconds"]
        libcst = speed if name.startswith("libcst") else libcst
        ratio = f"{speed / libcst:.1f}" if libcst else "-"
        row = f"{result['seconds']:>8.2f}{speed:>10,.0f}{result['peak']:>9.0f}{ratio:>10}"
        print(f"{name:<42}{row}")
    print("\nother tools, measured elsewhere on the same files:")
    for tool, speed, small in PEERS:
        alone = f"{small:.2f} s for one small file" if small else ""
        print(f"{tool:<42}{'':>8}{speed:>10,}  {alone}")


def small_table(path: Path, rounds: int) -> None:
    """Print what one small file costs from the shell."""
    print(f"\n{path.name}, {path.read_bytes().count(10)} lines, from the shell (CPU s):")
    torchferry = [sys.executable, "-m", "torchferry"]
    for name, command in (
        ("python -c pass", [sys.executable, "-c", "pass"]),
        ("torchferry migrate", [*torchferry, "migrate", str(path)]),
        ("torchferry check", [*torchferry, "check", str(path)]),
    ):
        if name.endswith("check") and find_spec(NEEDS["torchferry check"]) is None:
            continue
        print(f"  {name:<40}{from_shell(command, rounds):>8.3f}")


def main() -> None:
    """Parse the command line and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", action="append", help="instead of torch's")
    parser.add_argument("--file", type=Path, default=SMALL)
    parser.add_argument("--measure", choices=list(WORK), help=argparse.SUPPRESS)
    options = parser.parse_args()
    folders = options.folder or torch_folders()
    if options.measure:
        measure(options.measure, folders)
        return
    folder_table(folders, options.rounds)
    small_table(options.file, max(options.rounds, 5))


if __name__ == "__main__":
    main()
