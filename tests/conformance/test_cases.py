"""Runs every case on the simulated GPU."""

from __future__ import annotations

import pytest
from more_cases import CASES as MORE_CASES
from more_cases import TWO_GPUS

from cases import CASES

torch = pytest.importorskip("torch")

#: What a broken case raises: never the error that CUDA would raise.
BROKEN = (AssertionError, AttributeError, SyntaxError, NameError, ImportError, RecursionError)


def run(code: str, gpus: int = 1) -> Exception | None:
    """Run `code` on a simulated GPU; the exception, if any."""
    from torchferry.sim import simulate

    with simulate(gpus=gpus):
        try:
            exec(code, {"torch": torch})
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize(("name", "code", "expected"), CASES, ids=[c[0] for c in CASES])
def test_case(name: str, code: str, expected: str) -> None:
    error = run(code)
    if expected == "ok":
        assert error is None, f"{type(error).__name__}: {error}"
    else:
        assert error is not None, "no error was raised"
        assert not isinstance(error, BROKEN), f"{type(error).__name__}: {error}"


def judge(error: Exception | None, expected: str) -> None:
    if expected == "ok":
        assert error is None, f"{type(error).__name__}: {error}"
    else:
        assert error is not None, "no error was raised"
        assert expected in str(error), f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(("name", "code", "expected"), MORE_CASES, ids=[c[0] for c in MORE_CASES])
def test_more(name: str, code: str, expected: str) -> None:
    judge(run(code), expected)


@pytest.mark.parametrize(("name", "code", "expected"), TWO_GPUS, ids=[c[0] for c in TWO_GPUS])
def test_two_gpus(name: str, code: str, expected: str) -> None:
    judge(run(code, gpus=2), expected)
