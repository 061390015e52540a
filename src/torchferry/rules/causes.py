"""From a clash to its cause: which of the two tensors is at fault, and where it should change.

Each clash of the flow gets exactly one rule by name; the rules give words, proof and fix. The
culprit is the value on the host: what a program moved, it meant to move.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchferry.flow.values import (
    ACCEL,
    BUFFER,
    COMPUTED,
    CPU,
    PARAM,
    Copied,
    Inst,
    Kept,
    OfModule,
    Tensor,
    Why,
)

from .context import Context, tensors_of
from .meanings import (
    is_noise,
    is_parameter,
    is_weight,
    kept_device,
    led_from_here,
    literal_move,
    method_of,
)
from .modules import ModuleHistory, is_loss, is_metric, listed_in, root_of
from .origins import (
    argument_of,
    birth_rule,
    discarded_births,
    frozen_default,
    is_entry,
    is_factory,
    parameter_list,
    passed_at,
)

if TYPE_CHECKING:
    from torchferry.flow.events import Clash

_RNN = frozenset("LSTM GRU RNN LSTMCell GRUCell RNNCell".split())
_INDEX_OPS = frozenset(
    "gather scatter scatter_add index_select take take_along_dim index_add index_copy index_fill "
    "scatter_reduce repeat_interleave".split()
)
_LABEL = re.compile(r"(?i)(label|target|tag|gold|truth|^y|_y\b|^t$|cls|class)")
_STORES = ("pickle", "joblib", "csv", "wandb")  #: take GPU tensors as they are


@dataclass(slots=True)
class Cause:
    """Why two devices met. `node` is where the finding stands, `expr` what a move would mend."""

    rule: str
    node: Any
    clash: Clash
    tensor: Tensor | None = None
    expr: Any = None
    partner: Any = None
    module: Inst | None = None
    moved_back: Any = None
    extra: list[tuple[Any, str]] = field(default_factory=list)


class Causes:
    """All causes of a document, sorted by rule; made once for all rules."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.history = ModuleHistory(ctx)
        self.by_rule: dict[str, list[Cause]] = {}
        self.discarded = discarded_births(ctx)
        seen: set[tuple[str, int]] = set()
        for clash in ctx.ip.clashes:
            if clash.unit.doc is not ctx.doc and not led_from_here(ctx, clash):
                continue
            for cause in self._causes(clash):
                if clash.doubtful:
                    ctx.doubtful.add(id(cause.node))
                key = (cause.rule, id(cause.node))
                if key not in seen:
                    seen.add(key)
                    self.by_rule.setdefault(cause.rule, []).append(cause)

    def _causes(self, clash: Clash) -> list[Cause]:
        if clash.kind in ("border", "border-list"):
            return [] if clash.op in _STORES else [self._border(clash)]
        found, place_dev = clash.parties
        if clash.kind == "index":
            (base, _), (_, part) = found
            if type(base.why) is OfModule and base.flags & (PARAM | BUFFER):
                return [self._module(clash, base.why.inst, found)]
            return [self._index(clash, base, part)]
        partner = next((e for t, e in found if t.dev == ACCEL and e is not None), None)
        if self._in_hook(clash):
            tensor = next((t for t, _ in found if t.dev == CPU), None)
            return [Cause("hook-closure-device", clash.node, clash, tensor)]
        if isinstance(clash.owner, Inst) and place_dev == CPU:
            return [self._module(clash, clash.owner, found)]
        causes = []
        if isinstance(clash.owner, Tensor) and clash.owner.dev == CPU:
            receiver = getattr(getattr(clash.node, "func", None), "value", None)
            cause = self._tensor(clash, clash.owner, receiver, found)
            cause.partner = cause.partner or partner
            return [cause]
        for tensor, expr in found:
            if tensor.dev != CPU:
                continue
            cause = self._tensor(clash, tensor, expr, found)
            cause.partner = cause.partner or partner
            causes.append(cause)
        return causes

    # ---- modules

    def _module(self, clash: Clash, inst: Inst, found: list[Any]) -> Cause:
        """A module on the host met data on the device."""
        ctx, root = self.ctx, root_of(inst)
        data = next((e for t, e in found if t.dev == ACCEL), None)
        cause = Cause("model-not-moved", clash.node, clash, module=root, expr=data)
        back = self.history.moved_back(inst)
        if back is not None:
            cause.rule, cause.moved_back = "model-moved-back", back
            cause.node = back if id(back) in ctx.parents else cause.node
            return cause
        copied = root.state.get("copied")
        if copied is not None and not isinstance(clash.owner, Inst):
            return self._copied(cause, copied)
        function = ctx.function(inst.node)
        if getattr(function, "name", "") == "forward" and ctx.class_of(inst.node) is not None:
            cause.rule, cause.node = "layer-built-in-forward", inst.node
            return cause
        holder = listed_in(ctx, inst)
        if holder is not None:
            cause.rule, cause.node = "unregistered-module-list", holder
            return cause
        late = self.history.added_late(inst)
        if late is not None:
            cause.rule, cause.node, cause.module = "layer-added-after-move", late.node, late
            return cause
        if is_loss(root):
            cause.rule, cause.node = "loss-module-not-moved", root.node
        elif is_metric(root):
            cause.rule, cause.node = "metric-device", root.node
        elif not self.history.ever_moved(root) and root.node is not None:
            cause.node = root.node
        if not isinstance(cause.node, ast.expr) or ctx.statement(cause.node) is None:
            cause.node = clash.node
        return cause

    # ---- tensors

    def _tensor(self, clash: Clash, tensor: Tensor, expr: Any, found: list[Any]) -> Cause:
        ctx, why = self.ctx, tensor.why
        cause = Cause("mixed-devices", clash.node, clash, tensor, expr)
        if is_weight(clash.node, expr):
            cause.rule = "loss-weight-on-cpu"
            return cause
        if type(why) is OfModule and tensor.flags & (PARAM | BUFFER):
            if why.inst.ext.endswith("Loss"):
                cause.rule, cause.node, cause.module = "loss-weight-on-cpu", why.inst.node, why.inst
                return cause
            return self._module(clash, why.inst, found)
        chain = ctx.chain(tensor)
        copied = next((w for w in chain if type(w) is Copied), None)
        if copied is not None:
            return self._copied(cause, copied)
        if type(why) is OfModule:
            return self._module(clash, why.inst, found)
        hard = None if self.history.moved_nodes else literal_move(ctx, found)
        if hard is not None:
            cause.rule, cause.node = "hard-coded-cuda", hard
            return cause
        last = why
        if type(last) is Kept and not tensor.flags & COMPUTED:
            self._kept(cause, last, tensor)
            if cause.rule != "mixed-devices":
                return cause
        born = chain[0] if chain else None
        newest = next((w for w in reversed(chain) if type(w) is not Kept), None)
        if newest is not None and newest.text.startswith("cast to a CPU type"):
            cause.rule, cause.node = "cast-moves-back", newest.node
            return cause
        if newest is not None and newest.text.startswith("moved to the CPU"):
            cause.rule = "tensor-moved-back"
            function = ctx.function(newest.node)
            if function is not None and frozen_default(newest.node, function):
                cause.rule, cause.node = "default-arg-frozen", function
            return cause
        if born is not None:
            self._born(cause, born, newest or born, found)
        return cause

    def _copied(self, cause: Cause, copied: Copied) -> Cause:
        node = copied.node
        owner = None
        for call, unit, _ in copied.stack:
            if unit.doc is self.ctx.doc:
                node = call
                break
        event = self.ctx.event_at.get(id(node))
        if event is not None and isinstance(event.result, Inst) and event.result.cls is not None:
            owner = event.result.cls
        stepping = owner is not None and owner.find("step") is not None
        cause.rule = "optimizer-before-move" if stepping else "ema-device"
        cause.node = node
        return cause

    def _kept(self, cause: Cause, kept: Kept, tensor: Tensor) -> None:
        """A plain attribute of a module, or of another object."""
        inst = kept.inst
        if inst.kind != "module" or inst.cls is None or inst.cls.find("_apply") is not None:
            return
        stores = self.ctx.ip.attr_sets.get((id(inst.cls.node), kept.attr), [])
        if tensor.flags & PARAM:
            return
        outside = [s for s in stores if method_of(s) not in ("__init__", "")]
        if outside:
            cause.rule = "stale-cache-device"
            cause.node = next((s[1] for s in outside if s[1] is not None), cause.node)
            cause.extra = [
                (s[1], f"{kept.attr} is stored here") for s in outside if s[1] is not None
            ]
            return
        node = next((s[1] for s in stores if s[1] is not None), None)
        if node is None and kept.before is not None:
            node = self.ctx.statement(kept.before.node)
        if node is not None and self.ctx.statement(node) is not None:
            cause.rule, cause.node = "unregistered-tensor-attribute", node

    def _born(self, cause: Cause, born: Why, newest: Why, found: list[Any]) -> None:
        """A tensor that was made on the host and never moved."""
        ctx, clash, tensor = self.ctx, cause.clash, cause.tensor
        assert tensor is not None
        listed = parameter_list(self.ctx, tensor, born)
        if listed is not None:
            cause.rule, cause.node = "unregistered-param-list", listed
            return
        discarded = self.discarded.get(id(born.node))
        if discarded is not None:
            cause.rule, cause.node = "to-result-discarded", discarded
            return
        birthplace = ctx.function(born.node)
        if birthplace is not None and frozen_default(born.node, birthplace):
            cause.rule, cause.node = "default-arg-frozen", birthplace
            return
        kept = kept_device(ctx, born.node)
        if kept is not None:
            cause.rule, cause.node = "stale-device-attribute", kept
            return
        passed = passed_at(self.ctx, clash, born)
        owner = clash.owner
        if is_factory(born) and passed is None and born is newest:
            grows = isinstance(clash.node, ast.AugAssign) and tensor is found[0][0]
            if (owner is tensor or grows) and ctx.function(clash.node) is birthplace:
                cause.rule, cause.node = "accumulator-on-cpu", born.node
                return
            if is_noise(ctx, born) and isinstance(owner, Inst) and not is_loss(owner):
                cause.rule, cause.node = "noise-on-cpu", born.node
                return
        if clash.op in _RNN and tensor is not found[0][0]:
            cause.rule = "rnn-hidden-on-cpu"
            if is_factory(born):
                cause.node = born.node
            return
        if passed is not None:
            cause.node = passed
            cause.rule = self._data_rule(cause, passed, found)
            cause.expr = argument_of(self.ctx, passed, born) or (
                cause.expr if passed is clash.node else None
            )
            return
        if isinstance(owner, Inst) and is_loss(owner) and tensor is not found[0][0]:
            cause.rule = "label-not-moved"
            return
        if is_factory(born) and birthplace is not None and not is_entry(birthplace):
            inside = ctx.function(clash.node) is birthplace
            if clash.op.startswith(("gather", "index_select", "scatter")) and not inside:
                cause.rule = "gather-index-device"
                return
            drawn = birth_rule(born) == "noise-on-cpu"
            if clash.op.lower() == "embedding" and (drawn or not inside):
                cause.rule = "embedding-index-device"
                return
            cause.rule, cause.node = birth_rule(born), born.node
            if clash.parties[1] == CPU and cause.rule == "factory-in-forward":
                cause.rule = "accumulator-on-cpu"
            return
        cause.rule = self._by_operator(cause, found)

    def _by_operator(self, cause: Cause, found: list[Any]) -> str:
        """What is known by the operator alone: both sides are data."""
        clash = cause.clash
        if clash.op in _INDEX_OPS:
            return "gather-index-device"
        first = found[0][0] if found else None
        if clash.op.lower() in ("embedding", "embeddingbag"):
            return "embedding-index-device"
        if clash.op.endswith(("loss", "entropy", "Loss")) or clash.op == "loss":
            return "label-not-moved" if cause.tensor is not first else "input-not-moved"
        if isinstance(clash.owner, Inst):
            return "input-not-moved"
        if clash.parties[1] == CPU:
            return "accumulator-on-cpu"
        return "mixed-devices"

    def _data_rule(self, cause: Cause, passed: Any, found: list[Any]) -> str:
        if passed is cause.clash.node:
            return self._by_operator(cause, found)
        name = ""
        expr = (
            argument_of(self.ctx, passed, self.ctx.chain(cause.tensor)[0]) if cause.tensor else None
        )
        if expr is not None:
            name = self.ctx.source(expr)
        return "label-not-moved" if _LABEL.search(name) else "input-not-moved"

    def _index(self, clash: Clash, base: Tensor, part: Any) -> Cause:
        return Cause("index-device", clash.node, clash, base, part)

    def _border(self, clash: Clash) -> Cause:
        tensor, expr = clash.parties
        cause = Cause("implicit-numpy", clash.node, clash, tensor, expr)
        if clash.op in ("numpy()", "PIL"):
            cause.rule = "numpy-on-cuda"
            return cause
        if clash.op.startswith("pack_padded"):
            cause.rule = "packed-lengths-on-cuda"
            return cause
        if clash.op.startswith("a generator"):
            cause.rule = "generator-device"
            return cause
        passed = self._given_at(clash, tensor)
        if passed is not None:
            cause.node, cause.expr = passed, None
            cause.extra = [(clash.node, "converted to numpy here")]
        return cause

    def _given_at(self, clash: Clash, tensor: Tensor) -> Any:
        """The outermost call that hands the tensor through, as it is, to what converts it."""
        passed, expr, at = None, clash.parties[1], clash.node
        for call, unit, _ in reversed(clash.stack):
            function = self.ctx.function(at)
            if unit.doc is not self.ctx.doc or not is_parameter(function, expr):
                break
            event = self.ctx.event_at.get(id(call))
            given = [*event.args, *event.kwargs.values()] if event is not None else []
            exprs = [e for v, e, _ in given if any(t.why is tensor.why for t in tensors_of(v))]
            if not exprs:
                break
            passed, expr, at = call, exprs[0], call
        return passed

    def _in_hook(self, clash: Clash) -> bool:
        return any(
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in ("register_hook", "register_forward_hook")
            for call, _, _ in clash.stack
        )


def causes(ctx: Context, rule: str) -> list[Cause]:
    """The causes that belong to a rule."""
    known: Causes | None = getattr(ctx, "_causes", None)
    if known is None:
        known = Causes(ctx)
        ctx._causes = known  # type: ignore[attr-defined]
    return known.by_rule.get(rule, [])


def all_causes(ctx: Context) -> Causes:
    """The analysis of causes of a document."""
    causes(ctx, "")
    return ctx._causes  # type: ignore[attr-defined,no-any-return]
