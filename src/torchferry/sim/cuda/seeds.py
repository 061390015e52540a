"""torch.cuda.random.

With `rng="host"` the GPUs draw from the CPU's generator. Their state is its state. Seeding a GPU
must not disturb it, for a program that seeds both then draws what it draws without a GPU: the first
time a seed comes, the CPU's state is noted; the next time it is taken back, so that what was drawn
on the GPU comes again. `torch.manual_seed` begins anew.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from torchferry.sim import state
from torchferry.sim.generators import default_generators
from torchferry.sim.patching import Patcher
from torchferry.sim.state import number_of


def _number(device: Any) -> int:
    session = state.current()
    return session.current_device if device in (None, "cuda") else number_of(session, device)


def _shared() -> Any:
    """The CPU's generator where the GPUs draw from it, else None."""
    return None if state.current().device_rng else torch.default_generator


def _seeded(seed: int) -> None:
    generator, seeds = _shared(), state.current().seeds
    if generator is None:
        return
    if seed in seeds:
        generator.set_state(seeds[seed])
    else:
        seeds[seed] = generator.get_state()


def get_rng_state(device: Any = "cuda") -> torch.Tensor:
    number, shared = _number(device), _shared()
    if shared is not None:
        return shared.get_state()
    return _own_state(number)


def _own_state(number: int) -> torch.Tensor:
    return default_generators()[number].get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
    number = _number(device)
    (_shared() or default_generators()[number]).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(state.current().gpus)]


def set_rng_state_all(new_states: Any) -> None:
    for index, new_state in enumerate(new_states):
        set_rng_state(new_state, index)


def manual_seed(seed: int) -> None:
    default_generators()[state.current().current_device].manual_seed(int(seed))
    _seeded(int(seed))


def manual_seed_all(seed: int) -> None:
    for generator in default_generators():
        generator.manual_seed(int(seed))
    _seeded(int(seed))


def seed() -> None:
    default_generators()[state.current().current_device].seed()


def seed_all() -> None:
    for generator in default_generators():
        generator.seed()


def initial_seed() -> int:
    return default_generators()[state.current().current_device].initial_seed()


def _manual_seed(original: Any) -> Any:
    @functools.wraps(original)
    def manual_seed(seed: Any) -> torch.Generator:
        generator: torch.Generator = original(seed)
        state.current().seeds.clear()
        return generator

    return manual_seed


def install(patcher: Patcher) -> None:
    """Put the functions into torch.cuda and torch.cuda.random."""
    of_all = _manual_seed(torch.manual_seed)
    patcher.set(torch, "manual_seed", of_all, copies=True)
    patcher.set(torch.random, "manual_seed", of_all)
    for function in (
        get_rng_state, set_rng_state, get_rng_state_all, set_rng_state_all, manual_seed,
        manual_seed_all, seed, seed_all, initial_seed,
    ):  # fmt: skip
        patcher.set(torch.cuda, function.__name__, function, copies=True)
        patcher.set(torch.cuda.random, function.__name__, function)
