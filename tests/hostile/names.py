"""Shapes of names: imports in other styles, the name `device` taken by something else."""

from __future__ import annotations

import ast
import builtins

from .shape import Source, indented, shape


def _torch_import(source: Source) -> ast.Import | None:
    """The plain `import torch` of the program."""
    for stmt in source.tree.body:
        if isinstance(stmt, ast.Import) and [(a.name, a.asname) for a in stmt.names] == [
            ("torch", None)
        ]:
            return stmt
    return None


def _torch_names(source: Source) -> list[ast.Name]:
    return [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == "torch"]


def _in_format_string(source: Source) -> bool:
    """Format strings have no exact places in older Pythons."""
    return any(isinstance(n, ast.JoinedStr) for n in ast.walk(source.tree))


@shape()
def torch_alias(text: str) -> str | None:
    source = Source(text)
    stmt = _torch_import(source)
    if stmt is None or _in_format_string(source) or source.uses("t"):
        return None
    source.replace(stmt, "import torch as t")
    for name in _torch_names(source):
        source.replace(name, "t")
    return source.done()


@shape()
def torch_from(text: str) -> str | None:
    """`from torch import zeros, nn`, with other names where they are taken."""
    source = Source(text)
    stmt = _torch_import(source)
    if stmt is None or _in_format_string(source):
        return None
    wanted: dict[str, str] = {}
    parents = {id(n.value): n for n in ast.walk(source.tree) if isinstance(n, ast.Attribute)}
    names = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    names |= {a.asname or a.name for s in source.tree.body if hasattr(s, "names") for a in s.names}
    for name in _torch_names(source):
        attribute = parents.get(id(name))
        if attribute is None:
            return None
        taken = attribute.attr in names or hasattr(builtins, attribute.attr)
        wanted[attribute.attr] = attribute.attr + "_of_torch" if taken else attribute.attr
        source.replace(attribute, wanted[attribute.attr])
    if not wanted:
        return None
    parts = [old if old == new else f"{old} as {new}" for old, new in wanted.items()]
    source.replace(stmt, "from torch import " + ", ".join(parts))
    return source.done()


@shape()
def torch_twice(text: str) -> str | None:
    """Imported under two names, which take turns."""
    source = Source(text)
    stmt = _torch_import(source)
    if stmt is None or _in_format_string(source):
        return None
    source.replace(stmt, "import torch\nimport torch as again")
    for name in _torch_names(source)[::2]:
        source.replace(name, "again")
    return source.done()


@shape()
def nn_by_its_full_name(text: str) -> str | None:
    source = Source(text)
    if "import torch.nn as nn\n" not in text or _in_format_string(source):
        return None
    for stmt in source.tree.body:
        if isinstance(stmt, ast.Import) and stmt.names[0].asname == "nn":
            source.replace(stmt, "import torch.nn")
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and node.id == "nn":
            source.replace(node, "torch.nn")
    return source.done()


@shape()
def names_bound_to_functions(text: str) -> str | None:
    """`ones = torch.ones` first, then the plain name."""
    source = Source(text)
    calls = [
        c
        for c in source.calls()
        if source.of(c.func) in ("torch.ones", "torch.zeros", "torch.tensor", "nn.Linear")
    ]
    if not calls or not source.head_binds("torch", "nn"):
        return None
    kinds = sorted({source.of(c.func) for c in calls})
    for call in calls:
        source.replace(call.func, f"made_by_{kinds.index(source.of(call.func))}")
    binds = "".join(f"made_by_{i} = {kind}\n" for i, kind in enumerate(kinds))
    source.insert(source.offset(source.head_end() + 1, 0), binds)
    return source.done()


def _with(text: str, statement: str) -> str | None:
    """The statement behind the imports of a program that has no name `device`."""
    source = Source(text)
    if source.uses("device"):
        return None
    head, rest = source.parted()
    return head + statement + rest


@shape()
def device_is_a_variable(text: str) -> str | None:
    new = _with(text, 'device = "kitchen timer"\n')
    return None if new is None else new + "\nprint(device)\n"


@shape()
def device_is_a_loop_variable(text: str) -> str | None:
    return _with(text, "for device in range(2):\n    pass\n")


@shape()
def device_is_a_function(text: str) -> str | None:
    new = _with(text, "\n\ndef device():\n    return 7\n\n\n")
    return None if new is None else new + "\nprint(device())\n"


@shape()
def device_is_a_module(text: str) -> str | None:
    new = _with(text, "import math as device\n")
    return None if new is None else new + "\nprint(device.floor(1.5))\n"


@shape()
def device_is_an_error(text: str) -> str | None:
    return _with(text, 'try:\n    int("x")\nexcept ValueError as device:\n    print(device)\n')


@shape()
def device_is_a_parameter(text: str) -> str | None:
    """The whole program runs in a function with a parameter of this name."""
    source = Source(text)
    if source.uses("device") or source.uses("global"):
        return None
    head, rest = source.parted()
    return f"{head}\n\ndef main(device=3):\n{indented(rest)}    print(device)\n\n\nmain()\n"


@shape()
def device_comes_too_late(text: str) -> str | None:
    """A device is bound, but only at the end."""
    source = Source(text)
    if source.uses("device") or not source.head_binds("torch"):
        return None
    return text + '\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'


@shape()
def device_under_a_guard(text: str) -> str | None:
    """A device is bound where there is a GPU only."""
    if not Source(text).head_binds("torch"):
        return None
    return _with(text, 'if torch.cuda.is_available():\n    device = torch.device("cuda")\n')


@shape()
def device_is_deleted(text: str) -> str | None:
    return _with(text, "device = 1\ndel device\n")


@shape()
def device_in_a_comprehension(text: str) -> str | None:
    return _with(text, "print([device for device in range(2)])\n")


@shape()
def device_in_a_with(text: str) -> str | None:
    new = _with(text, "with contextlib.nullcontext(2) as device:\n    print(device)\n")
    return None if new is None or "__future__" in text else "import contextlib\n" + new


@shape()
def device_is_global(text: str) -> str | None:
    """A function binds the name in the module."""
    function = "\n\ndef choose():\n    global device\n    device = 5\n\n\nchoose()\n"
    return _with(text, function)


@shape(harder=True)
def names_are_attributes(text: str) -> str | None:
    """`state.x` instead of `x`."""
    return _kept(text, "state.{}", "\n\nclass State:\n    pass\n\n\nstate = State()\n")


@shape(harder=True)
def names_are_items(text: str) -> str | None:
    """`state["x"]` instead of `x`."""
    return _kept(text, 'state["{}"]', "state = {}\n")


def _kept(text: str, form: str, start: str) -> str | None:
    """All names that the module's own statements bind are kept in an object instead."""
    source = Source(text)
    if source.uses("state") or _in_format_string(source) or source.uses("global"):
        return None
    nested = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.GeneratorExp)
    inner = {id(n) for s in ast.walk(source.tree) if isinstance(s, nested) for n in ast.walk(s)}
    names = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name)]
    bound = {n.id for n in names if isinstance(n.ctx, ast.Store) and id(n) not in inner}
    bound -= {n.id for n in names if isinstance(n.ctx, ast.Store) and id(n) in inner}
    bound -= {a.arg for a in ast.walk(source.tree) if isinstance(a, ast.arg)}
    for name in names:
        if name.id in bound:
            source.replace(name, form.format(name.id))
    new = source.done()
    if new is None:
        return None
    end = source.head_end()
    lines = new.splitlines(keepends=True)
    return "".join([*lines[:end], start, *lines[end:]])


@shape()
def shadowed_builtins(text: str) -> str | None:
    """Names of the program that are also methods of tensors."""
    source = Source(text)
    if source.uses("cpu") or source.uses("to"):
        return None
    head, rest = source.parted()
    extra = "\n\ndef cpu(x):\n    return x\n\n\ndef to(x):\n    return x\n\n\n"
    return head + extra + rest + "\nprint(cpu(1), to(2))\n"
