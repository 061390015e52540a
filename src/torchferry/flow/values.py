"""Abstract values: what the analysis knows of each Python value.

Values are immutable, except for the state of containers, instances, classes and frames, which
lives in plain dictionaries so that the trail (state.py) can undo and join changes of branches.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .state import Frame

CPU, ACCEL, UNSURE = 1, 2, 4  #: bits of `Tensor.dev`: where the tensor may live on a GPU machine


class Value:
    """Base of all abstract values."""

    __slots__ = ()


class _Unknown(Value):
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()  #: nothing is known; never becomes an edit or an error


class Const(Value):
    """A Python constant whose value is known."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


class _Host(Value):
    """A host value that holds no tensor: a number, a string, a shape."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "HOST"


HOST = _Host()
TEXT = _Host()  #: a string for certain; only the check tells it from other host values
NONE = Const(None)


class Array(Value):
    """A numpy array, a data frame, an image: data of a host library."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ARRAY"


ARRAY = Array()


class HostObject(Value):
    """An object of a host library (a plot axis, a gym environment): its calls are a border."""

    __slots__ = ("library",)

    def __init__(self, library: str) -> None:
        self.library = library


class Why:
    """How a tensor came to be where it is: one event, and the one before it."""

    __slots__ = ("before", "node", "text", "unit")

    def __init__(self, text: str, node: Any, unit: Any, before: Why | None = None) -> None:
        self.text, self.node, self.unit, self.before = text, node, unit, before


class OfModule(Why):
    """A tensor that belongs to a module: it lives where the module lives at the time of use."""

    __slots__ = ("inst",)

    def __init__(self, text: str, node: Any, unit: Any, before: Why | None, inst: Any) -> None:
        super().__init__(text, node, unit, before)
        self.inst = inst


class Kept(Why):
    """A tensor that an object keeps as a plain attribute: moving a module does not reach it."""

    __slots__ = ("attr", "inst")

    def __init__(
        self, text: str, node: Any, unit: Any, before: Why | None, inst: Any, attr: str
    ) -> None:
        super().__init__(text, node, unit, before)
        self.inst, self.attr = inst, attr


class Copied(Why):
    """A copy; `stack` are the calls that led to it."""

    __slots__ = ("stack",)

    def __init__(self, text: str, node: Any, unit: Any, before: Why | None, stack: Any) -> None:
        super().__init__(text, node, unit, before)
        self.stack = stack


class Tensor(Value):
    """A tensor, or a tuple of tensors that an operator returned.

    var: its node in the placement graph; dev: bits of where it may be as the source stands;
    scalar: zero-dimensional for certain; leaf: requires grad and is a leaf; param: an
    `nn.Parameter` or a buffer once it is an attribute of a module; why: evidence.
    """

    __slots__ = ("dev", "flags", "var", "why")

    def __init__(self, var: int, dev: int, flags: int = 0, why: Why | None = None) -> None:
        self.var, self.dev, self.flags, self.why = var, dev, flags, why

    def __repr__(self) -> str:
        return f"Tensor(v{self.var}, dev={self.dev}, flags={self.flags})"


SCALAR, LEAF, PARAM, BUFFER, BATCHED, NOGRAD, SPARSE = 1, 2, 4, 8, 16, 32, 64
#: flags that only the check reads: computed (no view), depends on a model, holds a graph, integers,
#: double precision for certain, made by `.expand()` (elements share memory)
COMPUTED, MODEL, GRAPH, INTEGER, DOUBLE, EXPANDED = 256, 512, 1024, 2048, 4096, 8192
CHECKED = MODEL | GRAPH | INTEGER | DOUBLE
#: made of a value that nothing is known of: it may hold one number, and then joins GPU tensors
MAYBE_NUMBER = 16384


class Batch(Value):
    """One item of a DataLoader (or a part of one) whose structure is not known.

    It becomes tensors when it is unpacked, subscripted or used as one. `whole` tells that it is
    what the loader gave, not yet a part of it.
    """

    __slots__ = ("dev", "var", "whole", "why")

    def __init__(self, var: int, dev: int, whole: bool, why: Why | None) -> None:
        self.var, self.dev, self.whole, self.why = var, dev, whole, why


class Seq(Value):
    """A list, tuple, set or iterator. state: items (list of Value, or None), elem (Value or None).

    `nodes` are the expressions of the items where the sequence is a display.
    """

    __slots__ = ("kind", "nodes", "state")

    def __init__(
        self,
        kind: str,
        items: list[Value] | None,
        elem: Value | None = None,
        nodes: list[ast.expr] | None = None,
    ) -> None:
        self.kind = kind
        self.state: dict[str, Any] = {"items": items, "elem": elem}
        self.nodes = nodes

    def __repr__(self) -> str:
        return f"Seq({self.kind}, {self.state})"


class Map(Value):
    """A dictionary. state: known keys ("k", constant) -> Value, and "elem" for the others."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: dict[Any, Any] = {"elem": None}


class Ext(Value):
    """Something of another package, by its qualified name: `torch.zeros`, `numpy`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Ext({self.name})"


class Func(Value):
    """A function or lambda of the project."""

    __slots__ = ("cls", "decorators", "defaults", "frame", "node", "unit")

    def __init__(
        self, node: Any, frame: Frame, unit: Any, cls: Class | None, decorators: tuple[str, ...]
    ) -> None:
        self.node, self.frame, self.unit, self.cls = node, frame, unit, cls
        self.decorators = decorators
        self.defaults: dict[str, Value] = {}

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")


class Bound(Value):
    """A function of the project bound to an instance."""

    __slots__ = ("func", "receiver")

    def __init__(self, func: Func, receiver: Value) -> None:
        self.func, self.receiver = func, receiver


class Method(Value):
    """A method of a value that the analysis knows by table: `x.sum`, `loader.append`."""

    __slots__ = ("name", "node", "receiver")

    def __init__(self, receiver: Value, name: str, node: ast.expr) -> None:
        self.receiver, self.name, self.node = receiver, name, node


class LocalModule(Value):
    """A module of the project, by the unit that was analysed."""

    __slots__ = ("unit",)

    def __init__(self, unit: Any) -> None:
        self.unit = unit


class LocalFolder(Value):
    """A folder of the project without `__init__.py`, by its name as `unit` imports it."""

    __slots__ = ("name", "unit")

    def __init__(self, unit: Any, name: str) -> None:
        self.unit, self.name = unit, name


class Deferred(Value):
    """What an import of the project's own files will bring, once it is looked up.

    name: of what is imported from the module; "" for the module itself.
    """

    __slots__ = ("module", "name", "node", "unit", "value")

    def __init__(self, unit: Any, module: str, name: str, node: Any) -> None:
        self.unit, self.module, self.name, self.node = unit, module, name, node
        self.value: Value | None = None


class Super(Value):
    """`super()` inside a method."""

    __slots__ = ("cls", "receiver")

    def __init__(self, cls: Class, receiver: Value) -> None:
        self.cls, self.receiver = cls, receiver


class Class(Value):
    """A class of the project. `kind`: "module", "dataset", "function" (autograd) or ""."""

    __slots__ = ("attrs", "bases", "called", "ext_bases", "kind", "last", "name", "node", "unit")

    def __init__(self, name: str, node: ast.ClassDef, unit: Any) -> None:
        self.name, self.node, self.unit = name, node, unit
        self.bases: list[Class] = []
        self.ext_bases: list[str] = []
        self.attrs: dict[str, Value] = {}
        self.kind = ""
        self.called = False
        self.last: Inst | None = None  #: an instance that the program made

    def find(self, name: str) -> Value | None:
        """The attribute by method resolution order (depth first)."""
        if name in self.attrs:
            return self.attrs[name]
        for base in self.bases:
            found = base.find(name)
            if found is not None:
                return found
        return None


class Inst(Value):
    """An instance of a class of the project, or of a known class of another package.

    attrs: attributes; `state["var"]`/`["dev"]`: where it lives, for modules; node: the call that
    made it. `ext` is the qualified name for classes of other packages.
    """

    __slots__ = ("attrs", "cls", "ext", "kind", "node", "state")

    def __init__(self, cls: Class | None, ext: str, kind: str, node: ast.AST | None) -> None:
        self.cls, self.ext, self.kind, self.node = cls, ext, kind, node
        self.attrs: dict[str, Value] = {}
        self.state: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Inst({self.cls.name if self.cls else self.ext}, {self.kind})"


class Device(Value):
    """A torch.device or a string used as one. bits: CPU, ACCEL or both."""

    __slots__ = ("bits", "var")

    def __init__(self, bits: int, var: int = -1) -> None:
        self.bits, self.var = bits, var


class TypeName(Value):
    """A legacy tensor type (`torch.FloatTensor`, `torch.cuda.LongTensor`) or its name."""

    __slots__ = ("cuda", "name")

    def __init__(self, name: str, cuda: bool) -> None:
        self.name, self.cuda = name, cuda


class Guard(Value):
    """A condition that asks for the GPU: true on a GPU machine, false without one."""

    __slots__ = ("truth",)

    def __init__(self, truth: bool) -> None:
        self.truth = truth


def truth(value: Value) -> bool | None:
    """The truth value on a GPU machine, or None where it is not known."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Guard):
        return value.truth
    if isinstance(value, Inst) and value.cls is not None:
        measured = value.cls.find("__bool__") or value.cls.find("__len__")
        return None if measured else True
    if isinstance(value, (Inst, Func, Class, Device)):
        return True
    return None
