"""Child of pytorch_tests.py: runs the tests of one PyTorch test file in this process.

    python benchmarks/pytorch_tests_child.py FILE LOG SETTINGS_JSON

Writes a JSON line to LOG before and after each test, so that the parent knows what crashed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import sys
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn, TextIO

#: Outcomes of a test.
PASSED, FAILED, SKIPPED, TIMED_OUT = "passed", "failed", "skipped", "timed out"


class TimeLimitError(BaseException):
    """A test ran for too long."""


def main() -> None:
    """Run the file named on the command line."""
    path, log, settings = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    sys.argv = [str(path)]
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    with contextlib.ExitStack() as stack:
        if settings["device"] == "cuda":
            from torchferry.sim import simulate

            stack.enter_context(
                simulate(gpus=settings["gpus"], memory=settings["memory"], trace=False)
            )
        module = load(path)
        signal.signal(signal.SIGALRM, _time_is_up)
        with log.open("a", encoding="utf-8") as file:
            chosen = choose(collect(module, settings["device"]), settings)
            write(file, {"chosen": len(chosen)})
            run_all(chosen, file, settings["timeout"])
    os._exit(0)  # threads and processes that tests left behind do not hold this one


def load(path: Path) -> ModuleType:
    """Import a test file, with the folder of the tests importable."""
    root = next((p for p in path.resolve().parents if (p / "test_torch.py").exists()), path.parent)
    sys.path[:0] = [str(path.parent), str(root)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    while True:
        try:
            spec.loader.exec_module(module)
            return module
        except ImportError as error:
            if not stand_in(error):
                raise


class Missing:
    """Stands for a helper of torch.testing that the torch installed does not have."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return unittest.skip(f"needs {self.name}, which this torch does not have")(args[0])
        return self

    def __radd__(self, other: Any) -> Any:
        return other

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False


def stand_in(error: ImportError) -> bool:
    """Put a stand-in where a name is missing; False if that cannot help."""
    name = re.match(r"cannot import name '(\w+)'", str(error))
    home = sys.modules.get(error.name or "")
    if name is None or home is None or not home.__name__.startswith("torch.testing"):
        return False
    setattr(home, name[1], Missing(f"{home.__name__}.{name[1]}"))
    return True


def collect(module: ModuleType, device: str) -> list[tuple[type[unittest.TestCase], str]]:
    """Tests of `module` for `device`: variants made for it; elsewhere those that name it."""
    found = []
    for cls in vars(module).values():
        if not (isinstance(cls, type) and issubclass(cls, unittest.TestCase)):
            continue
        made_for = getattr(cls, "device_type", None)
        for name in unittest.defaultTestLoader.getTestCaseNames(cls):
            if made_for == device or (
                made_for is None
                and device == "cuda"
                and (module.__name__.startswith("test_cuda") or "cuda" in name.lower())
            ):
                found.append((cls, name))
    return found


def choose(
    tests: list[tuple[type[unittest.TestCase], str]], settings: dict[str, Any]
) -> list[tuple[type[unittest.TestCase], str]]:
    """Every Nth test, or those named, without those that are done."""
    done, only = set(settings["done"]), settings.get("only")
    if only is not None:
        return [t for t in tests if full_name(*t) in set(only) - done]
    pattern = re.compile(settings["match"])
    tests = [t for t in tests if pattern.search(full_name(*t))]
    every = settings["every"]
    if settings["most"]:
        every = max(every, len(tests) // settings["most"])
    return [t for t in tests[::every] if full_name(*t) not in done]


def full_name(cls: type, name: str) -> str:
    """Class.test"""
    return f"{cls.__name__}.{name}"


def run_all(tests: list[tuple[type[unittest.TestCase], str]], file: TextIO, timeout: float) -> None:
    """Run `tests` class by class."""
    ready: dict[type, str | None] = {}
    for cls, name in tests:
        write(file, {"start": full_name(cls, name)})
        if cls not in ready:
            ready[cls] = set_up(cls)
        reason = ready[cls]
        if reason is not None:
            outcome = (SKIPPED, reason) if reason.startswith("SkipTest") else (FAILED, reason)
        else:
            outcome = run_one(cls, name, timeout)
        write(file, {"id": full_name(cls, name), "outcome": outcome[0], "reason": outcome[1]})
        if "device-side assert" in outcome[1]:
            os._exit(0)  # CUDA is broken for this process; a new one goes on


def set_up(cls: type[unittest.TestCase]) -> str | None:
    """Run the fixture of the class; what it raised, None if nothing."""
    try:
        cls.setUpClass()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return None


def run_one(cls: type[unittest.TestCase], name: str, timeout: float) -> tuple[str, str]:
    """(outcome, reason) of one test."""
    result = unittest.TestResult()
    signal.setitimer(signal.ITIMER_REAL, timeout)
    try:
        cls(name).run(result)
    except BaseException as error:
        return FAILED, f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    trouble = [*result.errors, *result.failures]
    if trouble:
        text = trouble[0][1]
        return (TIMED_OUT, "") if "TimeLimitError" in text else (FAILED, last_error(text))
    if result.unexpectedSuccesses:
        return FAILED, "unexpected success"
    if result.skipped:
        return SKIPPED, str(result.skipped[0][1])
    return PASSED, ""


def last_error(text: str) -> str:
    """The message of a traceback, with the last place in the test file."""
    lines = text.rstrip().splitlines()
    starts = [
        n for n, line in enumerate(lines) if re.match(r"[\w.]+(Error|Exception|Stop|Warning)", line)
    ]
    message = " ".join(lines[starts[-1] :] if starts else lines[-1:])
    message = message.split("To execute this test, run")[0].strip()
    places = re.findall(r'File "[^"]*/(test[^"/]*\.py|[^"/]*torchferry[^"]*)", line (\d+)', text)
    place = f" [{places[-1][0]}:{places[-1][1]}]" if places else ""
    return message[:600] + place


def write(file: TextIO, record: dict[str, Any]) -> None:
    """One line of the log."""
    file.write(json.dumps(record) + "\n")
    file.flush()


def _time_is_up(number: int, frame: FrameType | None) -> NoReturn:
    raise TimeLimitError


if __name__ == "__main__":
    main()
