"""What the rules about tensors born on the host have in common."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Evidence, Finding, Severity
from torchferry.flow.values import CPU, Inst, Kept, OfModule

from ..causes import causes
from ..origins import birth_rule, is_factory
from ..rule import Rule
from ..wording import birth_fix, operator_name, proof

if TYPE_CHECKING:
    from ..context import Context

_RNN = frozenset("LSTM GRU RNN LSTMCell GRUCell RNNCell".split())


@dataclass(slots=True)
class HostBirth:
    """A tensor that a function makes on the host and combines with what it was given."""

    rule: str
    node: Any
    meeting: Any
    steps: list[Evidence]


def host_births(ctx: Context) -> dict[str, list[HostBirth]]:
    """By rule: births that only work as long as the whole program stays on the CPU."""
    known: dict[str, list[HostBirth]] | None = getattr(ctx, "_host_births", None)
    if known is not None:
        return known
    found: dict[str, list[HostBirth]] = {}
    ctx._host_births = found  # type: ignore[attr-defined]
    if ctx.cuda_certain:
        return found
    seen: set[int] = set()
    for meeting in ctx.ip.meetings:
        if meeting.unit.doc is not ctx.doc or meeting.op == "index":
            continue  # a CPU index into a GPU tensor is legal
        for one in _births(ctx, meeting):
            if id(one.node) not in seen:
                seen.add(id(one.node))
                found.setdefault(one.rule, []).append(one)
    return found


def _births(ctx: Context, meeting: Any) -> Iterator[HostBirth]:
    parties = meeting.parties[0]
    here = ctx.function(meeting.node)
    for index, (tensor, _) in enumerate(parties):
        chain = ctx.chain(tensor)
        born = chain[0] if chain else None
        if born is None or tensor.dev != CPU or not is_factory(born):
            continue
        if any(isinstance(w, (OfModule, Kept)) for w in chain):
            continue
        place = ctx.function(born.node)
        if place is None or getattr(place, "name", "") in ("main", "__init__"):
            continue
        hidden = meeting.op in _RNN and index > 0
        if place is not here and not hidden and not _called_from(ctx, place, here):
            continue
        if not hidden and not _foreign(ctx, parties, index, place, meeting):
            continue
        rule = "rnn-hidden-on-cpu" if hidden else birth_rule(born)
        steps = [
            ctx.step(born.node, "made on the CPU here"),
            ctx.step(meeting.node, f"meets what the function was given here, in {meeting.op}"),
        ]
        yield HostBirth(rule, born.node, meeting, steps)


def _called_from(ctx: Context, place: Any, here: Any) -> bool:
    """Whether a function of the file that takes arguments is called by name in another."""
    name = getattr(place, "name", "")
    return here is not None and bool(place.args.args) and any(
        isinstance(call.func, ast.Name) and call.func.id == name and ctx.function(call) is here
        for call in ctx.nodes.get(ast.Call, [])
    )  # fmt: skip


def _foreign(ctx: Context, parties: list[Any], index: int, place: Any, meeting: Any) -> bool:
    """Whether a partner comes from outside the function, so that it will move."""
    if isinstance(meeting.owner, Inst) and meeting.parties[1]:
        return True
    for other, (tensor, _) in enumerate(parties):
        if other == index:
            continue
        chain = ctx.chain(tensor)
        if any(isinstance(w, OfModule) for w in chain):
            return True
        if chain and ctx.function(chain[0].node) is not place:
            return True
    return False


class BirthRule(Rule):
    """Base of the rules of this family: certain clashes, and births that wait for one."""

    certain = "`{source}` makes a CPU tensor that meets a GPU tensor in {op}"
    waiting = "`{source}` makes a CPU tensor; it fails as soon as its partners are on a GPU"
    advice = "make it on the device of its partner: `device=x.device`, or a `*_like` function"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            fix = birth_fix(ctx, cause, cause.node) if isinstance(cause.node, ast.Call) else None
            yield self.finding(
                ctx,
                cause.node,
                self.certain.format(source=ctx.source(cause.node), op=operator_name(cause)),
                severity=Severity.ERROR,
                evidence=proof(ctx, cause),
                help=self.advice,
                fix=fix,
            )
        for birth in host_births(ctx).get(self.name, ()):
            yield self.finding(
                ctx,
                birth.node,
                self.waiting.format(source=ctx.source(birth.node)),
                severity=Severity.NOTE,
                evidence=birth.steps,
                help=self.advice,
            )
