"""What CUDA does, case by case: certain errors are found, legal programs are not accused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from torchferry.core.finding import Finding

from .checking import check

FOLDER = Path(__file__).parent.parent / "conformance"


def _cases(name: str) -> list[tuple[str, str, str]]:
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.CASES)


BASE, MORE, FAMILIES = _cases("cases"), _cases("more_cases"), _cases("family_cases")
#: legal programs that test on purpose what a rule warns of
WARNED = {"isinstance_types", "type_to_cpu", "pickle", "save_load", "lazy_copy_is_pinned"}


def findings(code: str) -> list[Finding]:
    return check(f"import torch\n{code}\n")


def has_error(code: str) -> bool:
    return any(f.severity.value == "error" for f in findings(code))


def test_four_in_five_certain_errors_of_the_list_are_found() -> None:
    errors = [(name, code) for name, code, expectation in BASE if expectation != "ok"]
    missed = [name for name, code in errors if not has_error(code)]
    assert len(missed) <= len(errors) // 5, missed


@pytest.mark.parametrize("cases", [MORE, FAMILIES], ids=["more", "families"])
def test_four_in_five_of_the_longer_lists_are_found(cases: list[tuple[str, str, str]]) -> None:
    errors = [(name, code) for name, code, expectation in cases if expectation != "ok"]
    missed = [name for name, code in errors if not has_error(code)]
    assert len(missed) <= len(errors) // 5, missed


ALL = [*BASE, *MORE, *FAMILIES]
LEGAL = [(name, code) for name, code, expectation in ALL if expectation == "ok"]


@pytest.mark.parametrize(("name", "code"), LEGAL, ids=[name for name, _ in LEGAL])
def test_legal_program_is_not_accused(name: str, code: str) -> None:
    accused = [f for f in findings(code) if f.severity.value != "note"]
    if name in WARNED:
        accused = [f for f in accused if f.severity.value == "error"]
    assert accused == []
