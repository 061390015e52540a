"""What kind of operator each one is: read once from its schema and from the tables."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from torchferry.sim.tables import cuda_kernels, families

#: Positional arguments and arguments by name.
Call = tuple[tuple[Any, ...], dict[str, Any]]
#: What is looked at before an operator runs: (session, operator, args, kwargs, device) -> Call.
Before = Callable[..., Call]


class Kind(enum.Enum):
    """How the mode treats an operator."""

    VIEW = "view"
    FACTORY = "factory"
    COPY = "copy"
    BIRTH = "birth"
    READ = "read"
    COMPUTE = "compute"


class Check(enum.Enum):
    """How CUDA checks that an operator's tensors are on one device."""

    ITERATOR = "iterator"
    """TensorIterator: one 0-dim CPU tensor may join."""
    STRUCTURED = "structured"
    WRAPPER = "wrapper"
    PLAIN = "plain"
    """A composite operator: what it calls checks."""


@dataclass(frozen=True)
class Operator:
    """One overload: `name` is `add.Tensor`, `short` is `add`."""

    func: Any
    name: str
    short: str
    kind: Kind
    check: Check
    arguments: tuple[str, ...]
    mutated: frozenset[str]
    waits: bool
    random: bool


def describe(func: Any) -> Operator:
    """Read an OpOverload's schema and the tables."""
    schema = func._schema
    name = schema.name.removeprefix("aten::")
    full = f"{name}.{schema.overload_name}" if schema.overload_name else name
    mutated = frozenset(
        a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write
    )
    return Operator(
        func=func,
        name=full,
        short=name,
        kind=_kind(name, schema, mutated),
        check=_check(full, name),
        arguments=tuple(a.name for a in schema.arguments),
        mutated=mutated,
        waits=name in families.HOST_WAITS,
        random=_is_random(func, schema),
    )


def named_arguments(operator: Operator, args: tuple[Any, ...]) -> list[tuple[str, torch.Tensor]]:
    """The tensors among the positional arguments of a call, with their names."""
    pairs = zip(operator.arguments, args, strict=False)
    return [(name, value) for name, value in pairs if isinstance(value, torch.Tensor)]


def argument_of(
    operator: Operator, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The argument `name` of a call, None where it is not given.

    Raises ValueError where the operator has no such argument.
    """
    place = operator.arguments.index(name)
    return args[place] if place < len(args) else kwargs.get(name)


def _kind(name: str, schema: Any, mutated: frozenset[str]) -> Kind:
    if name in families.COPIES:
        return Kind.COPY
    if name in families.BIRTHS:
        return Kind.BIRTH
    if name in families.READS:
        return Kind.READ
    names = {a.name for a in schema.arguments}
    if "device" in names and name not in families.NOT_FACTORIES:
        return Kind.FACTORY
    if name in families.MORE_VIEWS:
        return Kind.VIEW
    returns_view = any(
        r.alias_info is not None and not r.alias_info.is_write for r in schema.returns
    )
    if returns_view and not mutated:
        return Kind.VIEW
    return Kind.COMPUTE


def _check(full: str, name: str) -> Check:
    if full in cuda_kernels.STRUCTURED:
        return Check.STRUCTURED
    if full in cuda_kernels.CHECKED:
        return Check.WRAPPER
    if full in cuda_kernels.UNCHECKED:
        return Check.ITERATOR
    return Check.PLAIN


def _is_random(func: Any, schema: Any) -> bool:
    if any(a.name == "generator" for a in schema.arguments):
        return True
    return torch.Tag.nondeterministic_seeded in func.tags
