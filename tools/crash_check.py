"""Check every Python file of the standard library and of the installed packages: nothing may crash.

    python tools/crash_check.py [--fix] [--folder FOLDER ...] [--limit SECONDS]

Each file is analysed or listed as not analysed with its reason. With --fix all fixes, unsafe too,
are applied in memory and read again, as `torchferry check --diff --unsafe-fixes` does. The exit
status is 1 if a file crashed or took longer than the limit.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import time
import traceback
from collections import Counter
from pathlib import Path

from torchferry.core.errors import SourceError
from torchferry.rules.engine import check_document
from torchferry.rules.fixing import fix_document
from torchferry.source.files import load

_SKIPPED = ("__pycache__",)


def installed_folders() -> list[Path]:
    """The folder of the standard library and that of the installed packages."""
    names = sysconfig.get_paths()
    return [Path(names["stdlib"]), Path(names["purelib"])]


def python_files(folders: list[Path]) -> list[Path]:
    """All Python files below the folders, each once."""
    found: dict[Path, None] = {}
    for folder in folders:
        for root, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if name not in _SKIPPED]
            found |= {Path(root) / name: None for name in sorted(files) if name.endswith(".py")}
    return list(found)


def examine(path: Path, fixing: bool) -> str:
    """What became of a file: "analysed", "fixed", or why it was not analysed."""
    try:
        document = load(str(path))
        if not fixing:
            check_document(document)
            return "analysed"
        return "fixed" if fix_document(document, unsafe=True).fixed else "analysed"
    except SourceError as error:
        return f"not analysed: {type(error).__name__}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--fix", action="store_true", help="apply all fixes in memory too")
    parser.add_argument("--folder", type=Path, nargs="*", help="instead of what is installed")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one file")
    options = parser.parse_args()
    files = python_files(options.folder or installed_folders())
    outcomes: Counter[str] = Counter()
    bad = []
    start = time.process_time()
    for path in files:
        begun = time.process_time()
        try:
            outcome = examine(path, options.fix)
        except Exception:  # that is what this tool looks for
            outcome = "crashed"
            bad.append(f"{path}: {traceback.format_exc(limit=-3)}")
        if (spent := time.process_time() - begun) > options.limit:
            bad.append(f"{path}: {spent:.1f} s")
        outcomes[outcome] += 1
        if outcome.startswith("not"):
            print(f"{path}: {outcome}")
    for line in bad:
        print(line, file=sys.stderr)
    print(f"{len(files)} files in {time.process_time() - start:.0f} s of CPU time")
    for outcome, count in outcomes.most_common():
        print(f"{count:7} {outcome}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
