"""Random generators: `torch.Generator("cuda")` and the functions that seed the GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchferry.sim import state
from torchferry.sim.patching import Patcher
from torchferry.sim.state import number_of
from torchferry.sim.tags import CPU, device_named

_Generator: Any = torch._C.Generator


class GpuGenerator(_Generator):  # type: ignore[misc]
    """A generator that says it lives on a GPU; its numbers are those of a CPU generator."""

    _ferry_device = 0

    @property
    def device(self) -> torch.device:
        return device_named(self._ferry_device)

    def __del__(self) -> None:
        _on_gpu.pop(self._cdata, None)

    def __reduce__(self) -> Any:
        return _rebuild, (self._ferry_device, self.get_state())


#: Pointer of a GPU's generator -> device number: operators see another Python object for it.
_on_gpu: dict[int, int] = {}


def make_generator(device: int) -> GpuGenerator:
    """A generator of a GPU (a number)."""
    generator = GpuGenerator()
    generator._ferry_device = device
    _on_gpu[generator._cdata] = device
    return generator


def generator_device(generator: torch.Generator) -> int:
    """Device number of a generator."""
    return _on_gpu.get(generator._cdata, CPU)  # type: ignore[attr-defined]


def _rebuild(device: int, rng_state: torch.Tensor) -> GpuGenerator:
    generator = make_generator(device)
    generator.set_state(rng_state)
    return generator


class _Meta(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _Generator)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _Generator)

    def __call__(cls, device: Any = None) -> Any:
        where = torch.device("cpu" if device is None else device)
        if where.type != "cuda":
            return _Generator(device=where)
        return make_generator(number_of(state.current(), where))


class Generator(metaclass=_Meta):
    """Stand-in for torch.Generator."""


def default_generators() -> tuple[torch.Generator, ...]:
    """One generator a GPU, for `torch.cuda.default_generators`."""
    session = state.current()
    found = []
    for index in range(session.gpus):
        generator = session.generators.get(index)
        if generator is None:
            generator = session.generators[index] = make_generator(index)
        found.append(generator)
    return tuple(found)


class _DefaultGenerators(Sequence[torch.Generator]):
    """`torch.cuda.default_generators` of the session that runs."""

    def __getitem__(self, index: Any) -> Any:
        return default_generators()[index]

    def __len__(self) -> int:
        return state.current().gpus


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    patcher.set(torch, "Generator", Generator, copies=True)
    patcher.set(torch.cuda, "default_generators", _DefaultGenerators())


__all__ = ["CPU", "Generator", "GpuGenerator", "install"]
