"""A run on the machine's own GPU: counted, and with random numbers drawn on the host.

A GPU has random generators of its own: the same seed gives other numbers there. For a comparison
every operator that draws random numbers runs on the CPU, on copies of its tensors, and its results
are moved. What stays on the GPU is then the program's own computing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from torchferry.trace import Account

#: draw inside of a kernel together with other work, and have no CPU form
_FUSED = frozenset({"aten::_cudnn_rnn", "aten::miopen_rnn", "aten::_thnn_fused_lstm_cell"})


class RealDevice:
    """The GPU that torch finds."""

    def __init__(self) -> None:
        self.name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
        self._mode = HostRandomMode("cuda")

    def enter(self) -> None:
        """Choose kernels that give the same numbers each time, in full float32."""
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        self._mode.__enter__()

    def leave(self) -> Account:
        """What ran where."""
        torch.cuda.synchronize()
        self._mode.__exit__(None, None, None)
        return self._mode.account(torch.cuda.max_memory_allocated())


class HostRandomMode(TorchDispatchMode):
    """Draws random numbers for `device_type` on the CPU, and counts operators and copies."""

    def __init__(self, device_type: str) -> None:
        super().__init__()
        self.device_type = device_type
        self._operators = {True: [0, 0], False: [0, 0]}  # on the GPU? -> count, bytes
        self._copies = {"h2d": [0, 0], "d2h": [0, 0], "d2d": [0, 0]}
        self._waits = 0
        self._twins: dict[int, tuple[torch.Generator, int, torch.Generator]] = {}

    def account(self, peak_memory: int) -> Account:
        """The sums."""
        gpu, host = self._operators[True], self._operators[False]
        return Account(
            gpu_operators=gpu[0],
            gpu_bytes=gpu[1],
            host_operators=host[0],
            host_bytes=host[1],
            h2d_copies=self._copies["h2d"][0],
            h2d_bytes=self._copies["h2d"][1],
            d2h_copies=self._copies["d2h"][0],
            d2h_bytes=self._copies["d2h"][1],
            d2d_copies=self._copies["d2d"][0],
            d2d_bytes=self._copies["d2d"][1],
            host_waits=self._waits,
            peak_memory=peak_memory,
        )

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        draws = torch.Tag.nondeterministic_seeded in func.tags and func._schema.name not in _FUSED
        if draws and self._on_device(args, kwargs):
            result = self._on_host(func, args, kwargs)
        else:
            result = func(*args, **kwargs)
        self._count(func, args, result)
        return result

    def _on_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        device = kwargs.get("device")
        if device is not None:
            return torch.device(device).type == self.device_type
        return any(self._is_there(tensor) for tensor in _tensors((args, kwargs)))

    def _is_there(self, tensor: Tensor) -> bool:
        return tensor.device.type == self.device_type

    def _on_host(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run `func` on copies in host memory; bring back its results and what it changed."""
        there = next(
            (t.device for t in _tensors((args, kwargs)) if self._is_there(t)), kwargs.get("device")
        )
        copies: list[tuple[Tensor, Tensor]] = []

        def to_host(value: Any) -> Any:
            if isinstance(value, Tensor) and self._is_there(value):
                copies.append((value, value.cpu()))
                return copies[-1][1]
            if isinstance(value, torch.device) and value.type == self.device_type:
                return torch.device("cpu")
            if isinstance(value, torch.Generator) and value.device.type == self.device_type:
                return self._twin(value)
            return value

        host_args, host_kwargs = tree_map(to_host, args), tree_map(to_host, kwargs)
        result = func(*host_args, **host_kwargs)
        changed = func._schema.is_mutable
        originals = {id(copy): original for original, copy in copies}
        if changed:
            for original, copy in copies:
                original.copy_(copy)

        def back(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return originals[id(value)] if id(value) in originals else value.to(there)

        return tree_map(back, result)

    def _twin(self, generator: torch.Generator) -> torch.Generator:
        """The host's stand-in of a generator of the program, seeded as it was last."""
        seed = generator.initial_seed()
        known = self._twins.get(id(generator))
        if known is None or known[1] != seed:
            twin = torch.Generator()
            twin.manual_seed(seed)
            known = self._twins[id(generator)] = (generator, seed, twin)
        return known[2]

    def _count(self, func: Any, args: tuple[Any, ...], result: Any) -> None:
        if func._schema.name in ("aten::_to_copy", "aten::copy_") and self._count_copy(
            args, result
        ):
            return
        if func is torch.ops.aten._local_scalar_dense.default:
            self._waits += self._is_there(args[0])
            return
        if torch.Tag.inplace_view in func.tags or _is_view(func):
            return
        made = _tensors(result)
        if made:
            entry = self._operators[any(self._is_there(tensor) for tensor in made)]
            entry[0] += 1
            entry[1] += sum(tensor.nbytes for tensor in made)

    def _count_copy(self, args: tuple[Any, ...], result: Any) -> bool:
        """Whether it was a copy between devices."""
        source = args[1] if len(args) > 1 and isinstance(args[1], Tensor) else args[0]
        if source.device == result.device:
            return False
        there, here = self._is_there(result), self._is_there(source)
        entry = self._copies["d2d" if there and here else "h2d" if there else "d2h"]
        entry[0] += 1
        entry[1] += result.nbytes
        self._waits += not there
        return True


def _is_view(func: Any) -> bool:
    returns = func._schema.returns
    return any(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _tensors(item)]
    return []
