"""The interpreter: runs a module abstractly, statement by statement, call by call.

Functions of the project are followed at each call (with a budget), so a helper used with a host
tensor here and a device tensor there is two different calls. Loops run twice, branches are
joined, unknown values stay unknown. The result is the placement graph and a list of clashes.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any, NamedTuple

from .events import Clash, Event
from .graph import Graph
from .handover import hand_over
from .imports import arrive
from .join import join, join_slot, similar
from .state import MISSING, Frame, Trail
from .values import (
    NONE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Deferred,
    Ext,
    Func,
    Inst,
    Seq,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from torchferry.source.document import Document
    from torchferry.source.project import Project

WEIGHTS = (1, 8, 64, 256)  #: cost factor by loop depth
MAX_CALL_DEPTH = 30
MAX_VISIT = 1500  #: steps of one call of a function in another file


class Unit:
    """One source file under analysis."""

    __slots__ = ("doc", "frame", "name", "tree")

    def __init__(self, doc: Document, name: str) -> None:
        self.doc, self.name = doc, name
        self.tree = doc.tree
        self.frame: Frame


class Semantics(NamedTuple):
    """What gives each construct its meaning; the interpreter itself only keeps the state."""

    eval: dict[type, Any]  #: expression -> (ip, node) -> value
    exec: dict[type, Any]  #: statement -> (ip, node) -> whether the block stops there
    call: Any  #: (ip, function, args, kwargs, node) -> value
    bind: Any  #: (ip, frame, function, args, kwargs, receiver): arguments to parameters


class Interp:
    """One analysis: its state, and the entries `exec_block`, `eval` and `call_function`."""

    def __init__(self, semantics: Semantics, *, migrating: bool) -> None:
        self._eval, self._exec, self._call, self._bind = semantics
        self.migrating = migrating
        self.graph = Graph()
        self.trail = Trail()
        self.frame: Frame = None  # type: ignore[assignment]
        self.depth = 0  #: loops around, through calls
        self.stop = "leave"  #: how the last stopped block stopped: "leave", "break", "continue"
        #: of each loop: where its body began, and the changes of the ways out of it
        self.exits: list[tuple[int, list[Any]]] = []
        self.host_context = 0  #: inside a Dataset: all stays on the host
        self.ctx_ids: dict[tuple[int, int], int] = {}
        self.active: list[int] = []
        self.called: set[int] = set()
        self.steps = 0
        self.budget = 0
        self.compute_pays = True  #: whether an operator is worth the device by itself
        self.clashes: list[Clash] = []
        self.functions: list[Func] = []
        self.classes: list[Class] = []
        self.module_nodes: dict[int, Inst] = {}  #: id(constructor call) -> instance
        self.owned: set[int] = set()  #: constructor calls whose module another module registers
        self.in_module_init: list[Class] = []
        self.constructing: list[Inst] = []  #: modules whose __init__ runs: they are on the host
        self.facts: dict[str, list[Any]] = {}
        self.events: list[Event] = []  #: all calls, when the code is checked as it stands
        self.meetings: list[Clash] = []  #: host tensors of different origin that meet in functions
        self.stack: tuple[Any, ...] = ()
        self.default_dev = 1  #: where factories make tensors (CPU, or UNSURE once that was changed)
        self.graph_off = 0  #: no_grad and inference_mode around
        self.exploring = False  #: in code that nothing in the file calls
        #: where a name is bound to a device: (function or None, name, statement, bits)
        self.device_names: list[tuple[Any, str, Any, int]] = []
        #: variables of tensor arguments: id(function) -> parameter -> variables (-1: no tensor)
        self.param_vars: dict[int, dict[str, set[int]]] = {}
        #: what parameters called `device` are given: id(function) -> values
        self.device_params: dict[int, list[Value]] = {}
        #: what modules keep: (id(class), attribute) -> (value, statement, target, frame)
        self.attr_sets: dict[tuple[int, str], list[Any]] = {}
        self.project: Project | None = None  #: where imports of the project's own files are found
        self.units: dict[int, Unit] = {}  #: id(document) -> its unit
        #: the reading twin of an augmented target, one a target: its identity is a key
        self.loads: dict[int, Any] = {}
        self.editable: set[int] = set()  #: id of the documents that may be changed
        self.libraries: set[int] = set()  #: id of documents that make nothing by themselves
        self.library = False  #: nothing is made when the file runs by itself
        self.missed: set[str] = set()  #: names that were read and not there
        self.saved: list[Value] = []  #: what torch.save was given
        self.learned: set[int] = set()  #: variables of tensors that require grad
        #: what objects keep as `device`: id(class) -> values
        self.kept_devices: dict[int, list[Value]] = {}
        self.self_devices: set[int] = set()
        self.buffers: frozenset[tuple[int, str]] = frozenset()
        self._set_out()

    def _set_out(self) -> None:
        """How far the analysis has gone, and where it stopped."""
        self.neighbour_lines = 0  #: of imported files that were run
        self.followed_lines = 0  #: how many there may be
        self.abroad = False  #: in the code of another file than those under analysis
        self.abroad_left = 0  #: steps that such code may still take
        self.unfollowed: dict[int, tuple[Document, str]] = {}  #: imported, not run, and why
        self.unfollowed_imports: list[tuple[Any, Unit, str, str]] = []  #: node, unit, name, why
        self.lost_imports: list[tuple[Any, Unit, str]] = []  #: of the project, and not there
        self.refused: dict[int, Func] = {}  #: functions whose calls were beyond the bounds
        self.followed: set[int] = set()  #: id of the functions that ran

    # -- running -----------------------------------------------------------------------------

    @property
    def weight(self) -> int:
        """Cost factor of this place: how often it runs."""
        return WEIGHTS[self.depth if self.depth < 3 else 3]

    def eval(self, node: Any) -> Value:
        """The abstract value of an expression."""
        handler = self._eval.get(type(node))
        return UNKNOWN if handler is None else handler(self, node)

    def exec_block(self, body: list[Any]) -> bool:
        """Run statements; True when the block does not reach its end (return, raise, break)."""
        table = self._exec
        for stmt in body:
            self.steps += 1
            handler = table.get(type(stmt))
            if handler is not None and handler(self, stmt):
                return True
        return False

    def clash(self, kind: str, node: Any, op: str, parties: list[Any], owner: Any = None) -> Clash:
        """Two places that do not go together, with the calls that led here."""
        found = Clash(kind, node, self.frame.unit, op, parties)
        found.frame, found.stack, found.owner = self.frame, self.stack, owner
        found.exploring = self.exploring
        self.clashes.append(found)
        return found

    def note(self, kind: str, *facts: Any) -> None:
        """Keep a fact for the rules."""
        self.facts.setdefault(kind, []).append(facts)

    # -- names -------------------------------------------------------------------------------

    def lookup(self, name: str) -> Value:
        """The value of a name, by Python's scopes."""
        frame: Frame | None = self.frame
        if name in frame.outer:  # type: ignore[union-attr]
            frame = frame.outer[name]  # type: ignore[union-attr]
        while frame is not None:
            value = frame.vars.get(name)
            if value is not None:
                if type(value) is Deferred:
                    return arrive(self, value)
                return value  # type: ignore[no-any-return]
            frame = frame.parent
        if name in BUILTINS:
            return Ext("builtins." + name)
        self.missed.add(name)
        return UNKNOWN

    def store(self, name: str, value: Value) -> None:
        """Bind a name in the frame that owns it."""
        frame = self.frame
        if name in frame.outer:
            frame = frame.outer[name]
        self.trail.set(frame.vars, name, value)

    def run_unit(self, doc: Document, name: str) -> Unit:
        """Run a document's top level in a frame of its own."""
        unit = self.units[id(doc)] = Unit(doc, name)
        unit.frame = Frame(None, unit, None, 0)
        unit.frame.vars["__name__"] = Const(name)
        kept = self.frame, self.depth, self.host_context, self.in_module_init, self.constructing
        self.frame, self.depth, self.host_context = unit.frame, 0, 0
        self.in_module_init, self.constructing = [], []
        factor = 25 if id(doc) in self.editable else 5
        if not self.abroad:
            self.budget += factor * (doc.text.count("\n") + 1)
        try:
            self.exec_block(unit.tree.body)
        finally:
            self.frame, self.depth, self.host_context, self.in_module_init, self.constructing = kept
        return unit

    # -- branches ----------------------------------------------------------------------------

    def branches(self, *bodies: Any) -> bool:
        """Run alternatives from the same state and join what they leave; True when none ends."""
        live, dead = [], []
        for body in bodies:
            mark = self.trail.open()
            stopped = body()
            changes = self.trail.close(mark)
            if stopped:
                dead.append((self.stop, changes))
            else:
                live.append(changes)
        self._merge(live)
        self._weak(dead)
        if not live:
            kinds = {kind for kind, _ in dead}
            self.stop = next(k for k in ("continue", "break", "leave") if k in kinds)
        return not live

    def _merge(self, live: list[Any]) -> None:
        keys: dict[Any, dict[Any, Any]] = {}
        for changes in live:
            for where, (slots, _) in changes.items():
                keys[where] = slots
        for where, slots in keys.items():
            key = where[1]
            old = slots.get(key, MISSING)
            value: Any = MISSING
            for changes in live:
                value = join_slot(self, key, value, changes[where][1] if where in changes else old)
            if value is not MISSING:
                self.trail.set(slots, key, value)

    def _weak(self, dead: list[Any]) -> None:
        """Branches that do not reach their end: effects on objects stay, names are dropped."""
        names = self.frame.vars
        for _, changes in dead:
            for (_, key), (slots, new) in changes.items():
                if slots is not names and new is not MISSING:
                    self.trail.set(slots, key, join_slot(self, key, slots.get(key, MISSING), new))

    def iteration(self, body: Any) -> bool:
        """Run a loop body once and join all ways out of it; False when it ends the loop."""
        mark = self.trail.open()
        self.exits.append((mark, []))
        stopped = body()
        _, ways = self.exits.pop()
        changes = self.trail.close(mark)
        if not stopped or not ways:  # where all leave the function, what they did is kept
            ways.append(changes)
        self._merge(ways)
        return not stopped or self.stop == "continue"

    def leave_iteration(self, how: str) -> None:
        """`break` or `continue`: the state here is one that the loop may leave behind."""
        self.stop = how
        if self.exits:
            mark, ways = self.exits[-1]
            ways.append(self.trail.changes(mark))

    def loop(self, body: Any) -> None:
        """Run a loop body, again when the first run changed what it starts from."""
        self.depth += 1
        mark = self.trail.open()
        self.missed.clear()
        goes_on = self.iteration(body)
        changed = False
        missed = self.missed
        for slots, key, old in self.trail.log[mark:]:
            if old is MISSING:
                changed = changed or key in missed  # read before the first run bound it
            elif not similar(old, slots.get(key)):
                changed = True
                break
        self.trail.marks -= 1
        if not self.trail.marks:
            self.trail.log.clear()
        if changed and goes_on and self.depth <= 3 and self.steps < self.budget:
            self.iteration(body)
        self.depth -= 1

    # -- calls -------------------------------------------------------------------------------

    def context(self, node: Any) -> int:
        """The number of the call path that goes through `node`."""
        key = (self.frame.ctx, id(node))
        found = self.ctx_ids.get(key)
        if found is None:
            found = self.ctx_ids[key] = len(self.ctx_ids) + 1
        return found

    def call_value(self, func: Value, args: list[Any], kwargs: dict[str, Any], node: Any) -> Value:
        """Call any abstract value."""
        return self._call(self, func, args, kwargs, node)  # type: ignore[no-any-return]

    def call_function(
        self, func: Func, args: list[Any], kwargs: dict[str, Any], node: Any, receiver: Any = None
    ) -> Value:
        """Follow a call of a function of the project; UNKNOWN when it is too deep."""
        self.called.add(id(func.node))
        if not (self.migrating or self.abroad) and id(func.unit.doc) not in self.editable:
            return self.visit(  # type: ignore[no-any-return]
                MAX_VISIT, lambda: self.call_function(func, args, kwargs, node, receiver)
            )
        if (
            len(self.active) > MAX_CALL_DEPTH
            or self.active.count(id(func.node)) > 1
            or self.steps > self.budget
        ):
            if self.steps > self.budget or len(self.active) > MAX_CALL_DEPTH:
                self.refused[id(func.node)] = func
                if not self.migrating:
                    given = [value for value, *_ in (*args, *kwargs.values())]
                    hand_over(self, [*given, receiver])
            return UNKNOWN
        self.followed.add(id(func.node))
        frame = Frame(func.frame, func.unit, func, self.context(node))
        frame.cls = func.cls
        if func.cls is None and func.frame.cls is not None:
            frame.cls = func.frame.cls
        self._bind(self, frame, func, args, kwargs, receiver)
        if self.migrating:
            self._note_arguments(frame, func)
            return self.run_frame(frame, func)
        outer = self.stack
        self.stack = (*outer, (node, self.frame.unit, self.frame))
        try:
            return self.run_frame(frame, func)
        finally:
            self.stack = outer

    def visit(self, allowance: int, run: Any) -> Any:
        """Run code of another file; what it costs is not taken from the file under check."""
        start, budget, abroad = self.steps, self.budget, self.abroad
        left = budget - start if abroad else self.abroad_left
        self.abroad, self.budget = True, start + min(allowance, left)
        try:
            return run()
        finally:
            used = self.steps - start
            self.abroad, self.budget = abroad, budget
            if not abroad:
                self.abroad_left -= used
                self.budget += used

    def _note_arguments(self, frame: Frame, func: Func) -> None:
        known = self.param_vars.setdefault(id(func.node), {})
        for name, value in frame.vars.items():
            if name == "device":
                self.device_params.setdefault(id(func.node), []).append(value)
            known.setdefault(name, set()).add(value.var if type(value) is Tensor else -1)

    def run_frame(self, frame: Frame, func: Func) -> Value:
        """Run a function's body in its frame; the join of what it returns."""
        caller, self.frame = self.frame, frame
        self.active.append(id(func.node))
        off = any(d in _GRAPH_OFF for d in func.decorators)
        self.graph_off += off
        try:
            if isinstance(func.node, ast.Lambda):
                return self.eval(func.node.body)
            ended = self.exec_block(func.node.body)
        finally:
            self.active.pop()
            self.frame = caller
            self.graph_off -= off
        if frame.yields:
            elem: Any = MISSING
            for value in frame.yields:
                elem = join(self, elem, value)
            return Seq("iter", None, elem)
        result: Any = MISSING if ended else NONE
        for value in frame.returns:
            result = join(self, result, value)
        return UNKNOWN if result is MISSING else result

    def bound(self, func: Value, receiver: Value) -> Value:
        """`func` as an attribute of `receiver`."""
        if isinstance(func, Func):
            if "staticmethod" in func.decorators:
                return func
            return Bound(func, receiver)
        return func


_GRAPH_OFF = frozenset("torch.no_grad no_grad torch.inference_mode inference_mode".split())
BUILTINS = frozenset(dir(builtins))
