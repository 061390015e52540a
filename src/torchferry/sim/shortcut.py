"""Lets views pass by the mode: they share their argument's storage, and with it the tag.

A view costs more in a dispatch mode than in PyTorch's kernel. So the dispatcher is told to skip the
Python key for views, as long as nothing else needs to see them: another dispatch mode, a tensor
subclass with a dispatch of its own, or a tensor without a storage, whose tag sits on the tensor.
The first of those to appear ends the shortcut for the rest of the session.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchferry.sim.patching import Patcher

VIEWS = tuple(
    """t transpose.int detach alias view expand unsqueeze squeeze squeeze.dim squeeze.dims
    select.int slice.Tensor permute as_strided split.Tensor split_with_sizes unbind.int diagonal
    unfold
    _unsafe_view _reshape_alias view_as_real view_as_complex""".split()
)

_library: list[Any] = []


def active() -> bool:
    """True while views pass by."""
    return bool(_library)


def open_shortcut() -> None:
    """Let views pass by the Python dispatch key."""
    if _library:
        return
    library = torch.library.Library("aten", "IMPL")
    _library.append(library)
    for name in VIEWS:
        if torch._C._dispatch_has_kernel(f"aten::{name}"):
            library.impl(name, torch.library.fallthrough_kernel, "Python")


def close_shortcut() -> None:
    """Show views to the mode again."""
    while _library:
        _library.pop()._destroy()


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
    original: Any = torch.Tensor._make_wrapper_subclass

    def make(*args: Any, **kwargs: Any) -> Any:
        close_shortcut()
        return original(*args, **kwargs)

    patcher.set(torch.Tensor, "_make_wrapper_subclass", staticmethod(make))
