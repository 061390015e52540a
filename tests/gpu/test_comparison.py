"""The comparison of two machines, tested without a card."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from . import programs
from .machines import run_all
from .outcome import Outcome, TensorSummary, disagreement

RAN = Outcome("p", results=[TensorSummary([2], "torch.float32", "cuda", [1.0, 2.0])])
RAISED = Outcome("p", "RuntimeError", "Expected all tensors to be on the same device")


def with_tensor(**changes: object) -> Outcome:
    return Outcome("p", results=[replace(RAN.results[0], **changes)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("card", "simulated", "expected"),
    [
        (RAN, RAN, ""),
        (RAN, RAN, "ok"),
        (RAISED, RAISED, "err"),
        (RAISED, RAISED, "same device"),
        (replace(RAISED, error="AcceleratorError"), RAISED, "err"),
        (RAISED, replace(RAISED, message="other words"), ""),
        (RAN, with_tensor(values=[1.0, 2.0005]), ""),
        (with_tensor(values=[math.nan, 2.0]), with_tensor(values=[math.nan, 2.0]), ""),
        (with_tensor(values=[math.inf, 2.0]), with_tensor(values=[math.inf, 2.0]), ""),
    ],
)
def test_agreement(card: Outcome, simulated: Outcome, expected: str) -> None:
    assert disagreement(card, simulated, expected) == ""


@pytest.mark.parametrize(
    ("card", "simulated", "expected", "said"),
    [
        (RAN, RAISED, "", "card: runs; simulated: RuntimeError"),
        (RAISED, RAN, "", "simulated: runs"),
        (RAISED, RAISED, "ok", "should run"),
        (RAN, RAN, "same device", "both run"),
        (RAISED, replace(RAISED, error="TypeError"), "", "TypeError"),
        (replace(RAISED, message="other"), RAISED, "same device", "card: RuntimeError: other"),
        (RAISED, replace(RAISED, message="other"), "same device", "simulated: RuntimeError: other"),
        (RAN, with_tensor(values=[1.0, 2.1]), "", "2.0 on the card, 2.1 simulated"),
        (RAN, with_tensor(values=[1.0, math.nan]), "", "nan simulated"),
        (with_tensor(values=[math.inf, 2.0]), RAN, "", "inf on the card"),
        (RAN, with_tensor(values=[1.0]), "", "2 values on the card"),
        (RAN, with_tensor(device="cpu"), "", "device cuda on the card, cpu simulated"),
        (RAN, with_tensor(dtype="torch.float64"), "", "dtype"),
        (RAN, with_tensor(shape=[1, 2]), "", "shape"),
        (RAN, Outcome("p"), "", "1 tensors"),
        (
            with_tensor(dtype="torch.int64"),
            with_tensor(dtype="torch.int64", values=[1.0, 2.0001]),
            "",
            "2.0001 simulated",
        ),
    ],
)
def test_disagreement(card: Outcome, simulated: Outcome, expected: str, said: str) -> None:
    assert said in disagreement(card, simulated, expected)


def test_outcome_survives_json() -> None:
    assert Outcome.from_json(RAN.to_json()) == RAN


def test_child_runs_programs_and_is_started_again(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    mixed = "torch.ones(2, device='cuda') + torch.ones(2)"
    todo = [
        {"name": "runs", "code": "assert torch.ones(2, device='cuda').is_cuda; print('noise')"},
        {"name": "dies", "code": "import os; os._exit(3)"},
        {"name": "raises", "code": mixed},
    ]
    found = run_all("simulated", todo, 120, tmp_path)
    assert {name: o.error for name, o in found.items()} == {
        "runs": "",
        "dies": "Died",
        "raises": "RuntimeError",
    }
    assert disagreement(found["raises"], found["raises"], "at least two devices") == ""


def test_programs_have_names_of_their_own() -> None:
    names = [p["name"] for p in programs.case_programs()]
    assert len(names) == len(set(names)) > 200


def test_cases_that_no_card_knows_are_cases() -> None:
    programs.conformance()
    from more_cases import CASES as MORE

    assert {name for name, _, _ in MORE} >= programs.NOT_OF_CARDS
