"""Which device expression stands at a place, and the declaration of one."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Fix
from torchferry.flow.classes import dotted
from torchferry.flow.moves import device_bits
from torchferry.flow.values import ACCEL, UNKNOWN, Const, Device
from torchferry.source.build import insert_after_imports
from torchferry.source.functions import parameters

from .bindings import (
    binding_statements,
    binds_surely,
    bound_before,
    first_reached,
    main_block,
)
from .scopes import Scopes, rebinds

if TYPE_CHECKING:
    from torchferry.flow.interp import Interp
    from torchferry.source.document import Document

_AUTO = {
    "auto": '{torch}.device("cuda" if {torch}.cuda.is_available() else "cpu")',
    "cuda": '{torch}.device("cuda" if {torch}.cuda.is_available() else "cpu")',
    "mps": '{torch}.device("mps" if {torch}.backends.mps.is_available() else "cpu")',
    "xpu": '{torch}.device("xpu" if {torch}.xpu.is_available() else "cpu")',
    "accelerator": (
        "{torch}.accelerator.current_accelerator() "
        'if {torch}.accelerator.is_available() else {torch}.device("cpu")'
    ),
}


@dataclass(slots=True)
class DeviceNames:
    """Finds the device expression for a node; remembers whether a declaration is needed."""

    doc: Document
    ip: Interp
    scopes: Scopes
    device_side: set[int]
    wanted: str  #: the option --device
    name: str = ""  #: the file's device, its own or the one to declare
    first_line: int = 10**9  #: first line of module-level code that needs the declaration
    declare: bool = False
    #: a node of each statement of the module that needs the declaration when it is called
    _called: dict[int, ast.AST] = field(default_factory=dict)
    #: id(function), or 0 for the module -> name -> (line, where it points) of each binding
    _bound: dict[int, dict[str, list[tuple[int, int]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known: dict[tuple[int, str], dict[int, tuple[int, int]]] = {}
        owners: dict[int, Any] = {0: self.scopes.tree}
        for owner, name, stmt, bits in self.ip.device_names:
            if id(stmt) in self.scopes.parents:
                key = 0 if owner is None else id(owner)
                owners[key] = self.scopes.tree if owner is None else owner
                known.setdefault((key, name), {})[id(stmt)] = (stmt.lineno, bits)
        for (key, name), found in known.items():
            statements = binding_statements(owners[key], name.partition(".")[0])
            # a name that is something else, too, is not to be relied on
            if all(id(s) in found or _names_device(s) for s in statements):
                self._bound.setdefault(key, {})[name] = sorted(found.values())

    def at(self, node: ast.AST) -> str:
        """The expression that gives the device at `node`; "" where none is at hand."""
        chain = self.scopes.chain(node)
        line = getattr(node, "lineno", 0)
        if self._scripted(chain):
            # TorchScript knows arguments, but neither names of the module nor next()
            return next((d for s in chain if (d := self._of_argument(s))), "")
        for scope in chain:
            if not isinstance(scope, ast.ClassDef):
                found = self._in_function(scope, line, node)
                if found:
                    return found
        return self._of_file(chain, line, node)

    def _in_function(self, scope: Any, line: int, node: ast.AST) -> str:
        names = parameters(scope)
        if "device" in names and not rebinds(scope, "device") and self._is_device(scope):
            return "device"
        for name in self._bound.get(id(scope), ()):
            if self._at_device(scope, name, line) and self._sure(scope, name, node):
                return name
        first = names[0] if names else ""
        argument = self._of_argument(scope)
        if argument:
            return argument
        owner = self.scopes.parents.get(id(scope))
        if isinstance(owner, ast.ClassDef) and first:
            return self._of_object(scope, owner, first)
        return ""

    def _of_argument(self, scope: Any) -> str:
        """The device of a tensor argument that is on the device in every call."""
        if isinstance(scope, ast.ClassDef):
            return ""
        vars_of = self.ip.param_vars.get(id(scope), {})
        for name in parameters(scope):
            found = vars_of.get(name)
            if not found or -1 in found or rebinds(scope, name):
                continue
            if all(self.ip.graph.find(v) in self.device_side for v in found):
                return f"{name}.device"
        return ""

    def _scripted(self, chain: list[Any]) -> bool:
        """Whether TorchScript compiles the code around: a scripted function, a module."""
        if "jit" not in self.doc.text or not chain:
            return False
        for scope in chain:
            if any("jit.script" in dotted(d) for d in getattr(scope, "decorator_list", ())):
                return True
        if "jit.script(" not in self.doc.text or getattr(chain[0], "name", "") == "__init__":
            return False
        classes = {id(c.node) for c in self.ip.classes if c.kind == "module"}
        return any(id(scope) in classes for scope in chain)

    def _is_device(self, scope: Any) -> bool:
        """Whether the parameter `device` is given the accelerator, or is not known."""
        values = self.ip.device_params.get(id(scope), [])
        # a number may be a GPU's, or -1 for the CPU: it is no device where there is none
        numbers = any(isinstance(v, Const) and isinstance(v.value, int) for v in values)
        return not numbers and all(v is UNKNOWN or device_bits(v) == ACCEL for v in values)

    def _of_object(self, scope: Any, owner: ast.ClassDef, first: str) -> str:
        """`self.device` where the class keeps one, set before this method runs."""
        if getattr(scope, "name", "") == "__init__":
            return ""
        for cls in self.ip.classes:
            if cls.node is not owner:
                continue
            if id(owner) in self.ip.self_devices:
                return f"{first}.device"
            if self.ip.library and cls.kind == "module" and not _unbound(scope):
                return f"next({first}.parameters()).device"
        return ""

    def _at_device(self, scope: Any, name: str, line: int) -> bool:
        """Whether the last binding before `line` is the accelerator."""
        key = 0 if scope is self.scopes.tree else id(scope)
        before = [bits for bound, bits in self._bound[key][name] if bound < line]
        return bool(before) and before[-1] == ACCEL

    def _sure(self, scope: Any, name: str, node: ast.AST) -> bool:
        root = name.partition(".")[0]
        given = not isinstance(scope, ast.Module) and root in parameters(scope)
        return given or bound_before(self.scopes, scope, root, node)

    def _sure_when_called(self, name: str, node: ast.AST, chain: list[Any]) -> bool:
        """Whether a name of the module is bound before the function around `node` can run."""
        tree, root = self.scopes.tree, name.partition(".")[0]
        reached = first_reached(tree, node)
        for stmt in tree.body:
            if any(_reads(scope, root) for scope in chain):
                # the function relies on what the main block binds
                inner = [s for s in main_block(stmt) if binds_surely(s, root)]
                if inner and (inner[0].end_lineno or 0) < reached:
                    return True
            if stmt.lineno >= reached:
                return False
            if binds_surely(stmt, root):
                return True
        return False

    def _of_file(self, chain: list[Any], line: int, node: ast.AST) -> str:
        in_function = any(not isinstance(s, ast.ClassDef) for s in chain)
        tree = self.scopes.tree
        for name in self._bound.get(0, ()):
            root = name.partition(".")[0]
            shadowed = any(
                not isinstance(s, ast.ClassDef) and (root in parameters(s) or rebinds(s, root))
                for s in chain
            )
            if shadowed:
                continue
            if not in_function:
                if self._at_device(tree, name, line) and self._sure(tree, name, node):
                    return name
            elif self._at_device(tree, name, 10**9) and self._sure_when_called(name, node, chain):
                return name
        if self.ip.library:
            return ""
        if not self.name:
            self.name = self.scopes.free_name("device")
        self.declare = True
        top = self.scopes.top_statement(node)
        if not in_function:
            self.first_line = min(self.first_line, top.lineno if top is not None else line)
        elif top is not None:
            self._called.setdefault(id(top), node)
        return self.name

    def declaration(self) -> tuple[Fix, ...] | None:
        """The fixes that declare the device; None when no place is early enough."""
        if not self.declare:
            return ()
        torch, line = torch_name(self.scopes.tree)
        text = device_expression(self.wanted, torch)
        lines = f"{self.name} = {text}"
        if not torch:
            lines = "import torch\n\n" + lines
        reached = (first_reached(self.scopes.tree, node) for node in self._called.values())
        first = min([self.first_line, *reached])
        before = first if first < 10**9 else None
        edits = None
        visible = _choice_of_gpus(self.scopes.tree)
        if visible > line:
            edits = insert_after_imports(self.doc, lines, before, visible)
        if edits is None:
            edits = insert_after_imports(self.doc, lines, before, line or None)
        if edits is None and before is not None:
            # torch is imported in the block that needs the device
            name = torch or "torch"
            own = "import torch" if name == "torch" else f"import torch as {name}"
            edits = insert_after_imports(self.doc, f"{own}\n\n{lines}", before, None)
        if edits is None:
            return None
        return (Fix("declare the device", edits, group="migration"),)


def _choice_of_gpus(tree: ast.Module) -> int:
    """The line of the module that sets CUDA_VISIBLE_DEVICES: too late once CUDA was asked."""
    for stmt in tree.body:
        if isinstance(stmt, (ast.Assign, ast.Expr)):
            for node in ast.walk(stmt):
                if isinstance(node, ast.Constant) and node.value == "CUDA_VISIBLE_DEVICES":
                    return stmt.lineno
    return 0


def _unbound(function: Any) -> bool:
    """Whether the first parameter of a method is no instance."""
    names = [dotted(d) for d in getattr(function, "decorator_list", [])]
    return "staticmethod" in names or "classmethod" in names


def device_expression(wanted: str, torch: str) -> str:
    """The expression of the option --device, with the file's name for torch."""
    auto = _AUTO.get(wanted)
    if auto is None:
        return re.sub(r"\btorch\.", f"{torch or 'torch'}.", wanted)
    return auto.format(torch=torch or "torch")


def local_torch(scopes: Scopes, node: ast.AST) -> str:
    """What the functions around a node call torch, where they import it first; "" otherwise."""
    line = getattr(node, "lineno", 0)
    for scope in scopes.chain(node):
        for stmt in scope.body if isinstance(scope, ast.FunctionDef) else ():
            if isinstance(stmt, ast.Import) and stmt.lineno < line:
                for alias in stmt.names:
                    if alias.name == "torch":
                        return alias.asname or "torch"
    return ""


def torch_name(tree: ast.Module) -> tuple[str, int]:
    """What the file calls torch, and the last line of that import; ("", 0) when it does not."""
    for stmt in tree.body:
        inner: list[Any] = list(stmt.body) if isinstance(stmt, (ast.If, ast.Try)) else [stmt]
        for one in inner:
            if isinstance(one, ast.Import):
                for alias in one.names:
                    plain = alias.asname is None and alias.name.startswith("torch.")
                    if alias.name == "torch" or plain:
                        return alias.asname or "torch", one.end_lineno or one.lineno
    return "", 0


_DEVICE_TEXT = re.compile(r'(["\'])(cpu|cuda|mps|xpu)|([\w.]+\.)?device\(')


def _names_device(stmt: ast.stmt) -> bool:
    """Whether a statement that was not run (the other branch of a guard) binds a device."""
    return isinstance(stmt, ast.Assign) and bool(_DEVICE_TEXT.match(ast.unparse(stmt.value)))


def _reads(scope: Any, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        for n in ast.walk(scope)
    )


def self_devices(ip: Interp) -> set[int]:
    """Classes whose instances keep a device in `self.device`."""
    return {
        class_id
        for class_id, values in ip.kept_devices.items()
        if all(isinstance(v, Device) and v.bits == ACCEL for v in values)
    }
