"""Python bindings that stand in for overloads: each chooses that overload, and no other."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from torchferry.sim.befores import fast_call  # noqa: E402
from torchferry.sim.computing import method_of  # noqa: E402
from torchferry.sim.operators import describe  # noqa: E402
from torchferry.sim.tables.bindings import BINDINGS, METHODS  # noqa: E402

X = torch.rand(3, 3) + 0.5
#: Arguments that the schema alone does not tell.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "convolution": (
        *(torch.rand(1, 1, 4, 4), torch.rand(1, 1, 2, 2), None),
        *([1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ),
    "embedding": (X, torch.tensor([0, 2])),
    "bmm": (X[None], X[None]),
    "baddbmm": (X[None], X[None], X[None]),
    "dot": (X[0], X[0]),
    "mv": (X, X[0]),
    "gather": (X, 0, torch.tensor([[0, 1, 2]])),
    "index_select": (X, 0, torch.tensor([0, 2])),
    "masked_fill.Scalar": (X, X > 1, 2.0),
    "where.self": (X > 1, X, X),
    "bitwise_and.Tensor": (torch.tensor([3]), torch.tensor([2])),
    "bitwise_or.Tensor": (torch.tensor([3]), torch.tensor([2])),
    "_log_softmax_backward_data": (X, X.log_softmax(0), 0, torch.float32),
    "_softmax_backward_data": (X, X.softmax(0), 0, torch.float32),
    "clamp": (X, 0.6, None),
    "clamp_": (X, 0.6, None),
    "_foreach_add_.Tensor": ([X.clone()], torch.tensor(1.0)),
}
#: Without it the binding adds a number that it reads from the tensor: the same sum.
KEYWORDS: dict[str, dict[str, Any]] = {"_foreach_add_.Tensor": {"alpha": 1.0}}


def overload(name: str) -> Any:
    packet, _, which = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), which or "default")


def by_schema(operator: Any) -> tuple[Any, ...]:
    """Arguments of the kinds that the schema names; defaults are left out."""
    kinds = {
        "Tensor": lambda: X.clone(),
        "List[Tensor]": lambda: [X.clone(), X.clone()],
        "number": lambda: 2,
        "float": lambda: 2.0,
        "List[number]": lambda: [2.0, 3.0],
        "int": lambda: 0,
        "List[int]": lambda: [0],
        "Optional[List[int]]": lambda: [0],
        "bool": lambda: False,
    }
    return tuple(
        kinds[str(argument.type)]()
        for argument in operator._schema.arguments
        if not argument.kwarg_only and not argument.has_default_value()
    )


class Recorder(TorchDispatchMode):
    """Notes the overloads that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", sorted(BINDINGS | METHODS))
def test_the_binding_chooses_the_overload(name: str) -> None:
    operator = overload(name)
    described = describe(operator)
    call = method_of(described) or fast_call(described)
    assert call is not operator._op
    arguments = ARGUMENTS.get(name) or by_schema(operator)
    with Recorder() as recorder:
        call(*arguments, **KEYWORDS.get(name, {}))
    assert recorder.seen == [operator]
