"""What the device flow sees in a small program, in words."""

from __future__ import annotations

from typing import Any

from torchferry.flow.analyse import analyse
from torchferry.flow.interp import Interp
from torchferry.flow.join import Choice
from torchferry.flow.values import (
    ARRAY,
    HOST,
    TEXT,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Device,
    Ext,
    Func,
    Guard,
    HostObject,
    Inst,
    Map,
    Method,
    Seq,
    Tensor,
    Value,
)
from torchferry.source.document import Document

START = """\
import torch
import torch.nn as nn
import numpy as np
gpu = torch.device("cuda")
c = torch.ones(3)
g = torch.ones(3, device="cuda")
"""
_PLACES = {1: "cpu", 2: "gpu", 3: "either", 4: "unsure"}


def flow(source: str, *, migrating: bool = False) -> Interp:
    """The analysis of a program; `c` is a tensor on the CPU, `g` one on the GPU."""
    return analyse(Document.from_text(START + source, "program.py"), migrating=migrating)


def module_names(ip: Interp) -> dict[str, Any]:
    """The names of the module, and their abstract values at its end."""
    (unit,) = ip.units.values()
    return unit.frame.vars


def word(value: Value) -> str:
    """A value in a word or a few."""
    if isinstance(value, Tensor):
        maybe = "?" if value.flags & 128 else ""
        return _PLACES.get(value.dev, f"bits {value.dev}") + maybe
    if isinstance(value, Const):
        return repr(value.value)
    if isinstance(value, Seq):
        items = value.state["items"]
        if items is None:
            elem = value.state["elem"]
            return f"{value.kind} of {'nothing' if elem is None else word(elem)}"
        return f"{value.kind}({', '.join(map(word, items))})"
    if isinstance(value, Map):
        parts = [f"{k[1]}: {word(v)}" for k, v in value.state.items() if k != "elem"]
        elem = value.state["elem"]
        return "{" + ", ".join(parts + ([f"...: {word(elem)}"] if elem is not None else [])) + "}"
    if isinstance(value, Inst):
        name = value.cls.name if value.cls is not None else value.ext
        place = f" {_PLACES[value.state['dev']]}" if value.kind == "module" else ""
        return f"{name}{place}"
    if isinstance(value, Choice):
        return " or ".join(map(word, value.options))
    if isinstance(value, Guard):
        return f"guard {value.truth}"
    if isinstance(value, Device):
        return f"device {_PLACES[value.bits]}"
    if isinstance(value, Ext):
        return value.name
    return next(text for kind, text in _KINDS if value is kind or _is(value, kind))


def _is(value: Value, kind: Any) -> bool:
    return isinstance(kind, type) and isinstance(value, kind)


_KINDS: tuple[tuple[Any, str], ...] = (
    (UNKNOWN, "unknown"),
    (HOST, "host value"),
    (TEXT, "text"),
    (ARRAY, "array"),
    (HostObject, "host object"),
    (Func, "function"),
    (Bound, "method"),
    (Method, "method"),
    (Class, "class"),
)


def seen(source: str, *names: str) -> list[str]:
    """The words for names (`x` when none is given) at the end of a program."""
    found = module_names(flow(source))
    return [word(found[name]) for name in names or ("x",)]
