"""Runs every case on the simulated GPU."""

from __future__ import annotations

import pytest
from cases import CASES
from more_cases import CASES as MORE_CASES

torch = pytest.importorskip("torch")

#: What a broken case raises: never the error that CUDA would raise.
BROKEN = (AssertionError, AttributeError, SyntaxError, NameError, ImportError, RecursionError)


def run(code: str) -> Exception | None:
    """Run `code` on a simulated GPU; the exception, if any."""
    from torchferry.sim import simulate

    with simulate():
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


@pytest.mark.parametrize(("name", "code", "expected"), MORE_CASES, ids=[c[0] for c in MORE_CASES])
def test_more(name: str, code: str, expected: str) -> None:
    error = run(code)
    if expected == "ok":
        assert error is None, f"{type(error).__name__}: {error}"
    else:
        assert error is not None, "no error was raised"
        assert expected in str(error), f"{type(error).__name__}: {error}"
