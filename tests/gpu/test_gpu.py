"""The same programs on a card and on the simulated one, verdict by verdict.

    pytest -m gpu tests/gpu

Needs a card and torch with CUDA; takes less than 8 minutes, what is over its time is reported.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from . import programs as wanted  # noqa: E402
from .machines import run_all  # noqa: E402
from .outcome import disagreement  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no card here"),
]

#: Seconds for both machines together.
CASES_SECONDS, SAMPLES_SECONDS, EXAMPLES_SECONDS = 130.0, 180.0, 150.0
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def judge(programs: list[dict[str, Any]], seconds: float, expected: dict[str, str]) -> list[str]:
    """Disagreements of the two machines, and programs that neither reached."""
    card = run_all("card", programs, seconds / 2)
    simulated = run_all("simulated", programs, seconds / 2)
    both = [p["name"] for p in programs if p["name"] in card and p["name"] in simulated]
    found = []
    for name in both:
        problem = disagreement(card[name], simulated[name], expected.get(name, ""))
        if problem and name not in wanted.KNOWN:
            found.append(f"{name}: {problem}")
    print(f"{len(both) - len(found)} of {len(both)} agree; {len(programs) - len(both)} not reached")
    assert len(both) >= len(programs) * 0.9, "too little time: most programs must be compared"
    return found


def test_conformance_cases() -> None:
    expected = {name: expectation for name, _, expectation in wanted.conformance()}
    found = judge(wanted.case_programs(), CASES_SECONDS, expected)
    assert not found, "\n".join(found)


def test_operator_samples() -> None:
    pytest.importorskip("expecttest")
    found = judge(wanted.sample_programs(), SAMPLES_SECONDS, {})
    assert not found, "\n".join(found)


def test_examples() -> None:
    from torchferry.verification import Tolerance, VerifyOptions, verify

    pytest.importorskip("matplotlib")
    ends = time.monotonic() + EXAMPLES_SECONDS
    found = []
    for script in sorted(EXAMPLES.glob("*.py")):
        if time.monotonic() > ends:
            found.append(f"{script.name}: not reached")
            continue
        verdicts = {}
        for use in ("real", "simulated"):
            options = VerifyOptions(use=use, tolerance=Tolerance(rtol=1e-3, atol=1e-4), timeout=60)
            verdict = verify(script, options=options)
            verdicts[use] = (verdict.verified, verdict.reason)
        if verdicts["real"][0] != verdicts["simulated"][0]:
            found.append(f"{script.name}: {verdicts}")
    assert not found, "\n".join(found)
