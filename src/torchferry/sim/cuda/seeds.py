"""torch.cuda.random. With `rng="host"` the GPU draws from the CPU's generator, so seeding the GPU
must not disturb it: the seed is kept and nothing else happens."""

from __future__ import annotations

from typing import Any

import torch

from torchferry.sim import state
from torchferry.sim.generators import default_generators
from torchferry.sim.patching import Patcher
from torchferry.sim.state import number_of


def _number(device: Any) -> int:
    session = state.current()
    return session.current_device if device in (None, "cuda") else number_of(session, device)


def get_rng_state(device: Any = "cuda") -> torch.Tensor:
    return default_generators()[_number(device)].get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
    default_generators()[_number(device)].set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [g.get_state() for g in default_generators()]


def set_rng_state_all(new_states: Any) -> None:
    for generator, new_state in zip(default_generators(), new_states, strict=False):
        generator.set_state(new_state)


def manual_seed(seed: int) -> None:
    default_generators()[state.current().current_device].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    for generator in default_generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    default_generators()[state.current().current_device].seed()


def seed_all() -> None:
    for generator in default_generators():
        generator.seed()


def initial_seed() -> int:
    return default_generators()[state.current().current_device].initial_seed()


def install(patcher: Patcher) -> None:
    """Put the functions into torch.cuda and torch.cuda.random."""
    for function in (
        get_rng_state, set_rng_state, get_rng_state_all, set_rng_state_all, manual_seed,
        manual_seed_all, seed, seed_all, initial_seed,
    ):  # fmt: skip
        patcher.set(torch.cuda, function.__name__, function, copies=True)
        patcher.set(torch.cuda.random, function.__name__, function)
