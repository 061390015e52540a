"""Lets views pass by the mode: they share their argument's storage, and with it the tag.

A view costs more in a dispatch mode than in PyTorch's kernel. So the dispatcher is told to skip the
Python key for views, as long as nothing else needs to see them: another dispatch mode, a tensor
subclass with a dispatch of its own, or a tensor without a storage, whose tag sits on the tensor.
The first of those to appear ends the shortcut for the rest of the session.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._library import simple_registry
from torch.utils._python_dispatch import TorchDispatchMode

from torchferry.sim.patching import Patcher

VIEWS = tuple(
    """t transpose.int detach alias view expand unsqueeze squeeze squeeze.dim squeeze.dims
    select.int slice.Tensor permute as_strided split.Tensor split_with_sizes unbind.int diagonal
    unfold
    _unsafe_view _reshape_alias view_as_real view_as_complex""".split()
)

#: Read one value for Python: tensor_methods.py counts the wait instead.
READS = ("_local_scalar_dense",)

#: C++ asks this function before every call of a mode, and keeps it for good: only its code can be
#: exchanged. While the shortcut is open there is one mode and it has no rules.
_find_rule: Any = getattr(simple_registry, "find_torch_dispatch_rule", None)
_FIND_RULE_CODE: Any = getattr(_find_rule, "__code__", None)

#: Not empty while views pass by: then every tensor has a storage.
VIEWS_PASS: list[Any] = []


def open_shortcut() -> None:
    """Let views pass by the Python dispatch key."""
    if VIEWS_PASS:
        return
    marks = ("_record_function_enter_new", "_record_function_exit._RecordFunction")
    for namespace, names in (("aten", VIEWS + READS), ("profiler", marks)):
        library = torch.library.Library(namespace, "IMPL")
        VIEWS_PASS.append(library)
        for name in names:
            if torch._C._dispatch_has_kernel(f"{namespace}::{name}"):
                library.impl(name, torch.library.fallthrough_kernel, "Python")
    if _find_rule is not None:
        _find_rule.__code__ = _no_rule.__code__


def close_shortcut() -> None:
    """Show views to the mode again."""
    while VIEWS_PASS:
        VIEWS_PASS.pop()._destroy()
    if _find_rule is not None:
        _find_rule.__code__ = _FIND_RULE_CODE


def _no_rule(op: object, torch_dispatch_class: type) -> None:
    return None


def install(patcher: Patcher) -> None:
    """Open the shortcut; watch for what needs to see views."""
    open_shortcut()
    patcher.on_undo(close_shortcut)
    enter: Any = TorchDispatchMode.__enter__

    def entered(self: Any) -> Any:
        if not getattr(self, "sees_no_views", False):
            close_shortcut()
        return enter(self)

    patcher.set(TorchDispatchMode, "__enter__", entered)
