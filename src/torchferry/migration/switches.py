"""Switches that hold a program on the CPU: a device written as "cpu", a flag written as False.

They are turned first; the rest of the migration then finds a program that asks for the GPU.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Edit, Fix
from torchferry.flow.classes import dotted
from torchferry.source.build import add_keyword, insert_after_imports, replace

from .device import device_expression, local_torch
from .model import PlanItem
from .scopes import Scopes

if TYPE_CHECKING:
    from torchferry.source.document import Document

_FLAG = re.compile(
    r"(?i)^(use_?)?(cuda|gpu)(_?(available|enabled|on))?$"
    r"|^(is|has|use|with|enable)_?(cuda|gpu)$"
)
_ACCELERATOR = re.compile(r"(cuda|mps|xpu)(:\d+)?$")
_IDLE = frozenset("manual_seed manual_seed_all seed seed_all empty_cache synchronize".split())
_GUARD = "{torch}.cuda.is_available()"


def find_switches(
    doc: Document, scopes: Scopes, wanted: str, torch: str
) -> list[tuple[Fix, PlanItem]]:
    """The switches of a document, each with its fix. wanted: the option --device."""
    nodes = list(ast.walk(doc.tree))
    asks = _asks_for_gpu(nodes)
    checks = asks and any(isinstance(n, ast.Attribute) and n.attr == "is_available" for n in nodes)
    found = _numbered(doc, nodes) + _renamed_async(doc)
    turn = _Turn(doc, nodes, wanted)
    known = torch or "torch" in scopes.names
    missing = None if known else insert_after_imports(doc, "import torch")
    lines = []
    for node in nodes:
        name = torch or local_torch(scopes, node) or ("torch" if missing else "")
        switch = turn.switch(node, asks, checks, name) if name else None
        if switch is not None:
            found.append(switch)
            lines.append(switch[1].line)
    if missing and lines:
        # only parts of torch are imported by name
        item = PlanItem(min(lines), "import torch", "to ask for the GPU")
        found.append((Fix("import torch", missing, group="migration"), item))
    return found


def _renamed_async(doc: Document) -> list[tuple[Fix, PlanItem]]:
    """`.cuda(async=True)` of 2017: `async` is a keyword of Python since 3.7."""
    found = []
    for span in doc.legacy_async:
        edit = Edit(span.start, span.end, "non_blocking")
        fix = Fix("rename `async` to `non_blocking`", (edit,), group="migration")
        line = doc.line_of(span.start)
        found.append((fix, PlanItem(line, "async=", "a syntax error today; non_blocking= now")))
    return found


def _numbered(doc: Document, nodes: list[ast.AST]) -> list[tuple[Fix, PlanItem]]:
    """`"cuda:3"` where the program uses one card: another machine has no fourth."""
    numbered = [
        node
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"cuda:\d+", node.value)
    ]
    if len({node.value for node in numbered}) != 1 or numbered[0].value == "cuda:0":
        return []
    found = []
    for node in numbered:
        edits = replace(doc, node, re.sub(r":\d+", "", doc.source(node)))
        if edits is None:
            return []
        fix = Fix(f"use the first GPU, not `{node.value!s}`", edits, group="migration")
        found.append((fix, PlanItem(node.lineno, str(node.value), "few machines have this card")))
    return found


def _asks_for_gpu(nodes: list[ast.AST]) -> bool:
    """Whether the code itself names an accelerator somewhere: then "cpu" is a choice."""
    idle: set[int] = set()  # `torch.cuda` of what does nothing where there is no GPU
    for node in nodes:
        if isinstance(node, ast.Attribute) and id(node) not in idle:
            if node.attr in ("is_available", "cuda", "accelerator"):
                return True
            if node.attr in _IDLE:
                idle.add(id(node.value))
        idle.update(map(id, _compared(node)))
        text = node.value if isinstance(node, ast.Constant) and id(node) not in idle else None
        if isinstance(text, str) and _ACCELERATOR.match(text):
            return True
    return False


def _compared(node: ast.AST) -> list[ast.expr]:
    """What a device is compared with: `device == "cuda"`, `device.startswith("cuda")`."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return list(node.args) if node.func.attr == "startswith" else []
    return []


class _Turn:
    """Turns the switches of one document."""

    def __init__(self, doc: Document, nodes: list[ast.AST], wanted: str) -> None:
        self.doc, self.nodes, self.wanted = doc, nodes, wanted
        self.torch = self.expression = self.words = ""
        self.constructors = {"torch.device"}
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module == "torch":
                self.constructors |= {a.asname or a.name for a in node.names if a.name == "device"}
            elif isinstance(node, ast.Import):
                self.constructors |= {
                    f"{a.asname}.device" for a in node.names if a.name == "torch" and a.asname
                }

    def switch(
        self, node: ast.AST, asks: bool, checks: bool, torch: str
    ) -> tuple[Fix, PlanItem] | None:
        """The switch at a node, turned.

        asks, checks: what else the program says of GPUs; torch: its name there.
        """
        if torch != self.torch:
            self.torch, self.expression = torch, device_expression(self.wanted, torch)
            #: the two names of `torch.device("cuda" if ... else "cpu")`, without the call
            words = re.fullmatch(rf"{torch}\.device\((.*)\)", self.expression)
            self.words = words[1] if words else ""
        names, value = _bound(node)
        if names and value is not None:
            found = None if asks else self._device(names, value)
            return found or (None if checks else self._flag(names, value))
        if isinstance(node, ast.Call) and _adds_option(node):
            return self._flag_option(node) or (None if asks else self._device_option(node))
        return None

    def _device(self, names: list[str], value: ast.expr) -> tuple[Fix, PlanItem] | None:
        """`device = torch.device("cpu")`, `device = "cpu"` where it is used as one."""
        call = isinstance(value, ast.Call) and dotted(value.func) in self.constructors
        text = value.args[0] if isinstance(value, ast.Call) and call and value.args else value
        if not (isinstance(text, ast.Constant) and text.value == "cpu"):
            return None
        if not call and not any(self._used_as_device(name) for name in names):
            return None
        # a string stays one: it may be compared, printed, or a key
        if self.words:
            edits = replace(self.doc, text, self.words)
        else:
            edits = replace(self.doc, value, self.expression)
        if edits is None:
            return None
        name = names[0]
        fix = Fix(f"let `{name}` be the accelerator where there is one", edits, group="migration")
        why = "the program's own device, no longer the CPU"
        return fix, PlanItem(value.lineno, f"{name} = ...", why)

    def _used_as_device(self, name: str) -> bool:
        for node in self.nodes:
            if isinstance(node, ast.keyword) and node.arg == "device":
                given: list[ast.expr] = [node.value]
            elif isinstance(node, ast.Call):
                method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                moves = method == "to" or dotted(node.func) in self.constructors
                given = node.args[:1] if moves else []
            else:
                continue
            if any(_last_name(one) == name for one in given):
                return True
        return False

    def _flag(self, names: list[str], value: ast.expr) -> tuple[Fix, PlanItem] | None:
        """`use_cuda = False` where branches ask for it."""
        name = next((n for n in names if _FLAG.match(n)), "")
        if not name or not (isinstance(value, ast.Constant) and value.value is False):
            return None
        tests = [n.test for n in self.nodes if isinstance(n, (ast.If, ast.IfExp))]
        if not any(_last_name(part) == name for test in tests for part in ast.walk(test)):
            return None
        edits = replace(self.doc, value, _GUARD.format(torch=self.torch))
        if edits is None:
            return None
        fix = Fix(f"let `{name}` ask for a GPU", edits, group="migration")
        return fix, PlanItem(value.lineno, f"{name} = ...", "the program's own flag, not False now")

    def _device_option(self, node: ast.Call) -> tuple[Fix, PlanItem] | None:
        """`add_argument("--device", default="cpu")`."""
        default = next((k.value for k in node.keywords if k.arg == "default"), None)
        if "device" not in _long_names(node) or not self.words:
            return None
        if not (isinstance(default, ast.Constant) and default.value == "cpu"):
            return None
        edits = replace(self.doc, default, self.words)
        if edits is None:
            return None
        fix = Fix("let `--device` be the accelerator where there is one", edits, group="migration")
        return fix, PlanItem(node.lineno, "--device", "the program's own device, no longer the CPU")

    def _flag_option(self, node: ast.Call) -> tuple[Fix, PlanItem] | None:
        """`add_argument("--cuda", action="store_true")` that no command line can set."""
        names = _long_names(node)
        if not names or not _FLAG.match(names[0].replace("-", "_")):
            return None
        words = {k.arg: k.value for k in node.keywords}
        action = words.get("action")
        if not (isinstance(action, ast.Constant) and action.value == "store_true"):
            return None
        if "default" in words or not any(_fixed_arguments(n) for n in self.nodes):
            return None
        edits = add_keyword(self.doc, node, "default", _GUARD.format(torch=self.torch))
        if edits is None:
            return None
        fix = Fix(f"let `--{names[0]}` be on where there is a GPU", edits, group="migration")
        why = "the program's own flag, which nobody can set"
        return fix, PlanItem(node.lineno, f"--{names[0]}", why)


def _bound(node: ast.AST) -> tuple[list[str], ast.expr | None]:
    """The names (last parts of attributes) that an assignment binds, and the value."""
    if isinstance(node, ast.Assign):
        return [n for n in map(_last_name, node.targets) if n], node.value
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        return [n for n in (_last_name(node.target),) if n], node.value
    return [], None


def _last_name(node: Any) -> str:
    """`c` of `a.b.c`."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _adds_option(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"


def _long_names(node: ast.Call) -> list[str]:
    labels = [a.value for a in node.args if isinstance(a, ast.Constant)]
    return [str(x).lstrip("-") for x in labels if str(x).startswith("--")]


def _fixed_arguments(node: ast.AST) -> bool:
    """`parse_args([])`: the command line is not read."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "args")]
    fixed = (ast.List, ast.Tuple, ast.Constant)
    return node.func.attr == "parse_args" and any(isinstance(g, fixed) for g in given)
