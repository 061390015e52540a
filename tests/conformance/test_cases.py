"""Runs every case of cases.py on the simulated GPU."""

import pytest
from cases import CASES

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("name", "code", "expected"), CASES, ids=[c[0] for c in CASES])
def test_case(name: str, code: str, expected: str) -> None:
    from torchferry.sim import simulate

    failure = None
    with simulate():
        try:
            exec(code, {"torch": torch})
        except Exception as error:
            failure = error
    if expected == "ok":
        assert failure is None, f"{type(failure).__name__}: {failure}"
    else:
        assert failure is not None, "no error was raised"
        assert not isinstance(failure, (AssertionError, AttributeError, SyntaxError, NameError))
