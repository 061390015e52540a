"""Says in plain words what to write instead, from what is known about the tensors of an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchferry.sim.naming import Holder
from torchferry.trace import Place, TensorReport

#: Operators that make a tensor from sizes: `device=` belongs there.
FACTORIES = frozenset(
    """arange empty eye full linspace logspace normal ones rand randint randn randperm zeros
    scalar_tensor tril_indices triu_indices hann_window hamming_window empty_strided""".split()
)


def suggest(
    kind: str,
    reports: Sequence[TensorReport],
    tensors: Sequence[tuple[str | None, torch.Tensor]],
    holders: Sequence[Holder | None],
    place: Place | None,
) -> str:
    """One or two sentences; "" where nothing is known."""
    maker = _BY_KIND.get(kind)
    if maker is not None:
        return maker(reports, place)
    odd = _odd_one(reports)
    if odd is None:
        return ""
    other = next((r for r in reports if r.device != odd.device), None)
    index = next(i for i, r in enumerate(reports) if r is odd)
    return _move_it(odd, other, tensors[index][1], holders[index], place)


def _odd_one(reports: Sequence[TensorReport]) -> TensorReport | None:
    """The tensor that was left behind: the one on the CPU."""
    return next((r for r in reports if r.device == "cpu"), reports[-1] if reports else None)


def _called(report: TensorReport) -> str:
    if report.name:
        return f"`{report.name}`"
    if report.argument:
        return f"the argument `{report.argument}`"
    return f"the {report.device} tensor of shape {list(report.shape)}"


def _line(place: Place | None) -> str:
    return f"line {place.line}" if place is not None else "an unknown line"


def _device_expression(other: TensorReport | None) -> str:
    if other is None or other.device == "cpu":
        return "the same device"
    return f"{other.name}.device" if other.name else "device"


def _move_it(
    odd: TensorReport,
    other: TensorReport | None,
    tensor: torch.Tensor,
    holder: Holder | None,
    place: Place | None,
) -> str:
    name, device = _called(odd), _device_expression(other)
    if odd.moves and odd.device == "cpu" and odd.moves[-1].device == "cpu":
        return (
            f"{name} was moved to the CPU at {_line(odd.moves[-1].place)}: leave that move out, "
            f"or move it back with `.to({device})` at {_line(place)}."
        )
    if holder is not None and holder.module is not None:
        return _module_state(odd, holder)
    if isinstance(tensor, torch.nn.Parameter):
        return (
            f"{name} is a parameter of a module that was not moved (made at {_line(odd.born)}): "
            f"move the module with `.to({device})` before {_line(place)}."
        )
    if odd.born_by in FACTORIES and odd.born is not None:
        return (
            f"move {name} where it is made: add `device={device}` to "
            f"`torch.{odd.born_by}(...)`, {_line(odd.born)}."
        )
    where = f" (made at {_line(odd.born)})" if odd.born is not None else ""
    target = odd.name or "it"
    return f"move {name}{where} before it is used: `{target}.to({device})`, {_line(place)}."


def _module_state(odd: TensorReport, holder: Holder) -> str:
    owner, root = holder.expression.rsplit(".", 1)[0], holder.expression.split(".", 1)[0]
    if holder.hidden or "[" in holder.expression:
        return (
            f"`{odd.name}` is held in a plain list or dict, which `module.to()` does not see: "
            "use nn.ModuleList, nn.ModuleDict or nn.ParameterList, or register a buffer."
        )
    if holder.registered:
        whole = "the module that holds it" if root == "self" else f"`{root}`"
        return (
            f"`{odd.name}` is a parameter or buffer that was not moved: call `.to(device)` on "
            f"{whole} before it is used."
        )
    return (
        f"`{odd.name}` is a plain attribute, which `module.to()` does not move: write "
        f"`{owner}.register_buffer({holder.attribute!r}, ..., persistent=False)`, "
        f"{_line(odd.born)}."
    )


def _numpy(reports: Sequence[TensorReport], place: Place | None) -> str:
    name = reports[0].name if reports and reports[0].name else "x"
    return f"copy the tensor to the host first: `{name}.detach().cpu().numpy()`, {_line(place)}."


def _index(reports: Sequence[TensorReport], place: Place | None) -> str:
    odd = next((r for r in reports if r.device != "cpu"), None)
    name = odd.name if odd is not None and odd.name else "index"
    return (
        f"a tensor on the CPU takes only indices on the CPU: write `{name}.cpu()` at "
        f"{_line(place)}, or move the indexed tensor to the GPU."
    )


def _generator(reports: Sequence[TensorReport], place: Place | None) -> str:
    return (
        "the generator and the tensor must be on one device: make it with "
        f"`torch.Generator(device=...)`, {_line(place)}, or draw on the CPU and move the result."
    )


def _pin(reports: Sequence[TensorReport], place: Place | None) -> str:
    return f"only tensors on the CPU can be pinned: pin before the move, {_line(place)}."


def _ordinal(reports: Sequence[TensorReport], place: Place | None) -> str:
    return (
        "the program asks for a GPU that is not there: write `cuda` without a number, or run with "
        f"more simulated GPUs; {_line(place)}."
    )


def _lengths(reports: Sequence[TensorReport], place: Place | None) -> str:
    name = reports[0].name if reports and reports[0].name else "lengths"
    return f"lengths of packed sequences stay on the CPU: `{name}.cpu()`, {_line(place)}."


def _memory(reports: Sequence[TensorReport], place: Place | None) -> str:
    return "use a smaller batch, or drop references to tensors that are no longer needed."


def _no_kernel(reports: Sequence[TensorReport], place: Place | None) -> str:
    dtype = reports[0].dtype if reports else "this dtype"
    return f"CUDA has no kernel for {dtype} here: convert first (`.float()`), {_line(place)}."


def _bad_index(reports: Sequence[TensorReport], place: Place | None) -> str:
    return (
        "an index or class number is out of range, which a GPU reports late and without the "
        f"place: check the values against the sizes before {_line(place)}."
    )


_BY_KIND: dict[str, Any] = {
    "numpy-of-device-tensor": _numpy,
    "index-device": _index,
    "generator": _generator,
    "pin": _pin,
    "out-of-range-device": _ordinal,
    "packed-lengths": _lengths,
    "out-of-memory": _memory,
    "not-on-gpu": _no_kernel,
    "device-side-assert": _bad_index,
}
