"""What a program did on a machine, and how two machines' outcomes compare. No torch here."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

#: Error classes that are one to the user: AcceleratorError is a RuntimeError, newer than torch 2.8.
_SAME_CLASS = {"AcceleratorError": "RuntimeError", "NotImplementedError": "RuntimeError"}

#: (rtol, atol) by dtype: what the order of additions alone may change between two machines.
TOLERANCES = {
    "torch.float16": (1e-2, 1e-3),
    "torch.bfloat16": (5e-2, 1e-2),
    "torch.float32": (1e-3, 1e-4),
    "torch.float64": (1e-6, 1e-8),
}


@dataclass(frozen=True)
class TensorSummary:
    """A tensor of a result: its first elements (complex ones as pairs) stand for all."""

    shape: list[int]
    dtype: str
    device: str
    values: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """One program on one machine. `error`: class of the exception, "" where it ran to its end."""

    name: str
    error: str = ""
    message: str = ""
    results: list[TensorSummary] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON line."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Outcome:
        """Rebuild from `to_json`'s data."""
        results = [TensorSummary(**r) for r in data["results"]]
        return cls(data["name"], data["error"], data["message"], results)


def disagreement(card: Outcome, simulated: Outcome, expected: str = "") -> str:
    """What the simulated machine does otherwise than the card: "" if nothing.

    expected: "ok", "err", a part of the message that both must show, or "" where nothing is known.
    """
    if not card.error and not simulated.error:
        if expected not in ("", "ok"):
            return f"both run, {expected!r} was expected"
        return _other_results(card.results, simulated.results)
    if bool(card.error) != bool(simulated.error):
        return f"card: {_said(card)}; simulated: {_said(simulated)}"
    if expected == "ok":
        return f"both raise {_said(card)}, though it should run"
    one, other = (_SAME_CLASS.get(o.error, o.error) for o in (card, simulated))
    if one != other:
        return f"card: {_said(card)}; simulated: {_said(simulated)}"
    if expected not in ("", "err"):
        for where, outcome in (("card", card), ("simulated", simulated)):
            if expected not in outcome.message:
                return f"{where}: {_said(outcome)}, expected: {expected!r}"
    return ""


def _said(outcome: Outcome) -> str:
    if not outcome.error:
        return "runs"
    return f"{outcome.error}: {outcome.message.splitlines()[0][:150] if outcome.message else ''}"


def _other_results(card: list[TensorSummary], simulated: list[TensorSummary]) -> str:
    if len(card) != len(simulated):
        return f"card: {len(card)} tensors; simulated: {len(simulated)}"
    for number, (one, other) in enumerate(zip(card, simulated, strict=True)):
        for what in ("shape", "dtype", "device"):
            left, right = getattr(one, what), getattr(other, what)
            if left != right:
                return f"result {number}: {what} {left} on the card, {right} simulated"
        worst = _largest_difference(one, other)
        if worst:
            return f"result {number}: {worst}"
    return ""


def _largest_difference(one: TensorSummary, other: TensorSummary) -> str:
    rtol, atol = TOLERANCES.get(one.dtype, (1e-3, 1e-4) if "complex" in one.dtype else (0.0, 0.0))
    if len(one.values) != len(other.values):
        return f"{len(one.values)} values on the card, {len(other.values)} simulated"
    scale = max((abs(v) for v in one.values if math.isfinite(v)), default=0.0)
    for left, right in zip(one.values, other.values, strict=True):
        if left == right or (math.isnan(left) and math.isnan(right)):
            continue
        if not (math.isfinite(left) and math.isfinite(right)):
            return f"{left!r} on the card, {right!r} simulated"
        # Sums that cancel are as uncertain as their terms: allow for the largest value too.
        allowed = atol + rtol * max(abs(left), 0.1 * scale)
        if not abs(left - right) <= allowed:
            return f"{left!r} on the card, {right!r} simulated"
    return ""
