"""Switches that hold a program on the CPU: a device written as "cpu", a flag written as False.

They are turned first; the rest of the migration then finds a program that asks for the GPU.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from torchferry.core.edit import Edit, Fix
from torchferry.source.build import add_keyword, replace

from .model import PlanItem
from .scopes import Scopes

if TYPE_CHECKING:
    from torchferry.source.document import Document

_FLAG = re.compile(
    r"(?i)^(use_?)?(cuda|gpu)(_?(available|enabled|on))?$"
    r"|^(is|has|use|with|enable)_?(cuda|gpu)$"
)
_ACCELERATOR = re.compile(r"(cuda|mps|xpu)(:\d+)?$")
_FIXED_ARGUMENTS = re.compile(r"parse_args\(\s*(args\s*=\s*)?(\[|\(\)|'|\")")
_IDLE = frozenset("manual_seed manual_seed_all seed seed_all empty_cache synchronize".split())
_GUARD = "{torch}.cuda.is_available()"


def find_switches(
    doc: Document, scopes: Scopes, expression: str, torch: str
) -> list[tuple[Fix, PlanItem]]:
    """The switches of a document, each with its fix. `expression` gives the device to use."""
    found: list[tuple[Fix, PlanItem]] = []
    asks = _asks_for_gpu(doc.tree)
    checks = asks and any(
        isinstance(node, ast.Attribute) and node.attr == "is_available"
        for node in ast.walk(doc.tree)
    )
    found += _numbered(doc) + _renamed_async(doc)
    for node in ast.walk(doc.tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            switch = None if asks else _device_switch(doc, node, expression, torch)
            switch = switch or (None if checks else _flag_switch(doc, node, torch))
            if switch is not None:
                found.append(switch)
        elif isinstance(node, ast.Call) and _adds_option(node):
            switch = _option_switch(doc, node, torch)
            if switch is None and not asks:
                switch = _device_option(doc, node, expression, torch)
            if switch is not None:
                found.append(switch)
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


def _numbered(doc: Document) -> list[tuple[Fix, PlanItem]]:
    """`"cuda:3"` where the program uses one card: another machine has no fourth."""
    nodes = [
        node
        for node in ast.walk(doc.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"cuda:\d+", node.value)
    ]
    if len({node.value for node in nodes}) != 1 or nodes[0].value == "cuda:0":
        return []
    found = []
    for node in nodes:
        edits = replace(doc, node, re.sub(r":\d+", "", doc.source(node)))
        if edits is None:
            return []
        fix = Fix(f"use the first GPU, not `{node.value!s}`", edits, group="migration")
        found.append((fix, PlanItem(node.lineno, str(node.value), "few machines have this card")))
    return found


def _asks_for_gpu(tree: ast.Module) -> bool:
    """Whether the code itself names an accelerator somewhere: then "cpu" is a choice."""
    idle: set[int] = set()  # `torch.cuda` of what does nothing where there is no GPU
    for node in ast.walk(tree):
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


def _name_of(target: Any) -> str:
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else ""


def _device_switch(
    doc: Document, node: ast.Assign, expression: str, torch: str
) -> tuple[Fix, PlanItem] | None:
    """`device = torch.device("cpu")`, `device = "cpu"` where it is used as one."""
    name, value = _name_of(node.targets[0]), node.value
    if not name:
        return None
    call = isinstance(value, ast.Call) and doc.source(value.func) in (
        "torch.device", f"{torch}.device", "device",
    )  # fmt: skip
    text = value.args[0] if isinstance(value, ast.Call) and call and value.args else value
    if not (isinstance(text, ast.Constant) and text.value == "cpu"):
        return None
    if not call and not _used_as_device(doc, name):
        return None
    if not torch:
        return None
    # a string stays one: it may be compared, printed, or a key
    words = re.fullmatch(rf"{torch}\.device\((.*)\)", expression)
    edits = replace(doc, value, words[1] if words and not call else expression)
    if edits is None:
        return None
    fix = Fix(f"let `{name}` be the accelerator where there is one", edits, group="migration")
    why = "the program's own device, no longer the CPU"
    return fix, PlanItem(node.lineno, f"{name} = ...", why)


def _used_as_device(doc: Document, name: str) -> bool:
    owner = r"\s*([\w.]+\.)?"
    pattern = rf"(\.to\({owner}|device\s*={owner}|torch\.device\(\s*){name}\b"
    return re.search(pattern, doc.text) is not None


def _flag_switch(doc: Document, node: ast.Assign, torch: str) -> tuple[Fix, PlanItem] | None:
    """`use_cuda = False` where branches ask for it."""
    name = _name_of(node.targets[0])
    value = node.value
    if not _FLAG.match(name) or not torch:
        return None
    if not (isinstance(value, ast.Constant) and value.value is False):
        return None
    if not re.search(rf"\bif\s[^\n]*\b{name}\b", doc.text):
        return None
    edits = replace(doc, value, _GUARD.format(torch=torch))
    if edits is None:
        return None
    fix = Fix(f"let `{name}` ask for a GPU", edits, group="migration")
    return fix, PlanItem(node.lineno, f"{name} = ...", "the program's own flag, no longer False")


def _adds_option(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"


def _long_names(node: ast.Call) -> list[str]:
    labels = [a.value for a in node.args if isinstance(a, ast.Constant)]
    return [str(x).lstrip("-") for x in labels if str(x).startswith("--")]


def _device_option(
    doc: Document, node: ast.Call, expression: str, torch: str
) -> tuple[Fix, PlanItem] | None:
    """`add_argument("--device", default="cpu")`."""
    default = next((k.value for k in node.keywords if k.arg == "default"), None)
    name = re.fullmatch(rf"{torch}\.device\((.*)\)", expression)
    if "device" not in _long_names(node) or name is None or not torch:
        return None
    if not (isinstance(default, ast.Constant) and default.value == "cpu"):
        return None
    edits = replace(doc, default, name[1])
    if edits is None:
        return None
    fix = Fix("let `--device` be the accelerator where there is one", edits, group="migration")
    return fix, PlanItem(node.lineno, "--device", "the program's own device, no longer the CPU")


def _option_switch(doc: Document, node: ast.Call, torch: str) -> tuple[Fix, PlanItem] | None:
    """`add_argument("--cuda", action="store_true")` that no command line can set."""
    names = _long_names(node)
    if not names or not _FLAG.match(names[0].replace("-", "_")) or not torch:
        return None
    words = {k.arg: k.value for k in node.keywords}
    action = words.get("action")
    if not (isinstance(action, ast.Constant) and action.value == "store_true"):
        return None
    if "default" in words or not _FIXED_ARGUMENTS.search(doc.text):
        return None
    edits = add_keyword(doc, node, "default", _GUARD.format(torch=torch))
    if edits is None:
        return None
    fix = Fix(f"let `--{names[0]}` be on where there is a GPU", edits, group="migration")
    why = "the program's own flag, which nobody can set"
    return fix, PlanItem(node.lineno, f"--{names[0]}", why)
