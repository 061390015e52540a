"""Runs samples of PyTorch's operator database on the CPU and on the simulated GPU and compares.

A call is made in up to five ways, its steps: `forward`, `backward`, `inplace`, `out` (the results
go into tensors on the GPU) and `refused` (into tensors on the CPU, which CUDA refuses).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_methods_invocations import op_db as op_db
from torch.utils._pytree import tree_flatten, tree_map

from torchferry.sim import simulate

STEPS = ("forward", "backward", "inplace", "out", "refused")
#: Their results hold what was in memory.
_UNSET = ("empty", "new_empty")
Place = Callable[[Any], Any]


@dataclass
class Row:
    """How many samples of an operator, dtype and step are right; the problems of the others."""

    op: str
    dtype: str
    step: str
    right: int = 0
    all: int = 0
    problems: Counter[str] = field(default_factory=Counter)

    def add(self, problem: str) -> None:
        """Count one sample; `problem` is "" if it is right."""
        self.all += 1
        if problem:
            self.problems[problem] += 1
        else:
            self.right += 1


@dataclass
class Case:
    """A sample with what the CPU made of it, by step."""

    dtype: torch.dtype
    sample: Any
    expected: dict[str, Any]


def full_name(op: Any) -> str:
    """Name with the variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def wanted_dtypes(op: Any, wanted: str) -> list[torch.dtype]:
    """dtypes that PyTorch lists for CUDA and the CPU computes."""
    both = set(op.dtypes) & set(op.dtypesIfCUDA)
    if wanted == "all":
        return sorted(both, key=str)
    names = [getattr(torch, name) for name in wanted.split(",")]
    return [dtype for dtype in names if dtype in both]


def check_operator(
    op: Any, dtypes: list[torch.dtype], steps: tuple[str, ...], limit: int = 0, seconds: float = 0
) -> list[Row]:
    """One row a dtype and step. limit: samples a dtype; seconds: most time for the CPU's part."""
    cases = [case for dtype in dtypes for case in prepared(op, dtype, steps, limit, seconds)]
    rows: dict[tuple[str, str], Row] = {}
    if not cases:
        return []
    with simulate(trace=False):
        for case in cases:
            for step in case.expected:
                key = (str(case.dtype).removeprefix("torch."), step)
                row = rows.setdefault(key, Row(full_name(op), *key))
                row.add(problem_of(op, case, step))
    return list(rows.values())


def prepared(
    op: Any, dtype: torch.dtype, steps: tuple[str, ...], limit: int, seconds: float
) -> Iterator[Case]:
    """Samples of a dtype with the CPU's results; without those that the CPU refuses."""
    differentiable = dtype.is_floating_point or dtype.is_complex
    grad = "backward" in steps and op.supports_autograd and differentiable
    started = time.time()
    for number, sample in enumerate(samples(op, dtype, grad)):
        if (limit and number >= limit) or (seconds and time.time() - started > seconds):
            return
        inputs = tree_flatten((sample.input, sample.args, sample.kwargs))[0]
        if not any(is_tensor(v) or isinstance(v, (torch.device, str)) for v in inputs):
            continue  # nothing in the call says which device
        expected = on_cpu(op, sample, steps, grad)
        if expected:
            yield Case(dtype, sample, expected)


def samples(op: Any, dtype: torch.dtype, grad: bool) -> Iterator[Any]:
    """Sample inputs on the CPU; none where PyTorch cannot make them here."""
    torch.manual_seed(0)
    made = op.sample_inputs("cpu", dtype, requires_grad=grad)
    while True:
        try:
            # a copy: some generators write into a sample to make the next one
            yield next(made).transform(lambda v: fresh(v) if is_tensor(v) else v)
        except StopIteration:
            return
        except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError):
            return


def on_cpu(op: Any, sample: Any, steps: tuple[str, ...], grad: bool) -> dict[str, Any]:
    """What the CPU makes of a sample, by step; without the steps that it refuses."""
    expected: dict[str, Any] = {}
    for step in steps:
        if step in ("out", "refused") and not op.supports_out:
            continue
        if step == "inplace" and (op.get_inplace() is None or sample.broadcasts_input):
            continue
        if step == "backward" and (not grad or "forward" not in expected):
            continue
        if step == "refused":
            if "out" in expected:
                expected[step] = None
            continue
        try:
            found = run_step(op, sample, step, fresh, expected.get("forward"))
        except Exception:
            continue  # nothing to compare with
        if step == "out" and "forward" in expected and not equal(found, expected["forward"]):
            continue  # PyTorch leaves `out` unset
        if step != "backward" or found:
            expected[step] = found
    return expected


def problem_of(op: Any, case: Case, step: str) -> str:
    """Run a step on the simulated GPU; what is wrong, "" if nothing."""
    expected = case.expected[step]
    try:
        made = case.expected.get("forward")
        out = run_step(op, case.sample, step, to_gpu, made)
    except Exception as error:
        if step == "refused":
            return "" if hasattr(error, "__torchferry__") else f"refused without words: {error!r}"
        return f"{type(error).__name__}: {str(error)[:200]}"
    if step == "refused":
        return "" if may_take_any_out(op, case, out) else "an out= on the CPU is taken"
    return compare(out, expected, values=not op.name.startswith(_UNSET))


def may_take_any_out(op: Any, case: Case, out: Any) -> bool:
    """Factories without a `device` make what `out` says; tensors without elements are not read."""
    if op.is_factory_function and case.sample.kwargs.get("device") is None:
        return True
    return not tree_flatten(out)[0]


def run_step(op: Any, sample: Any, step: str, place: Place, made: Any) -> Any:
    """Call the operator in one way; `made` is the CPU's forward result, for the shapes of `out`."""
    if step == "backward":
        return gradients(op, sample, place)
    call = placed(op, sample, place)
    torch.manual_seed(1)
    if step == "forward":
        return call_operator(op, call[0], *call[1], **call[2])
    call = without_grad(call)
    if step == "inplace":
        target = call[0][0] if isinstance(call[0], (list, tuple)) else call[0]
        out = op.get_inplace()(call[0], *call[1], **call[2])
        if is_tensor(out) and is_tensor(target) and out is not target:
            raise AssertionError("the result is not the argument")
        return call[0]
    outs = tree_map(lambda t: torch.empty_like(t.detach()) if is_tensor(t) else t, made)
    if step == "out":
        outs = place(outs)
    torch.manual_seed(1)
    made = call_operator(op, call[0], *call[1], **call[2], out=outs)
    return outs if made is None else made


def call_operator(op: Any, *args: Any, **kwargs: Any) -> Any:
    """As a program calls it: by its name in torch, where a stand-in may be."""
    if op.name not in _BY_NAME:
        _BY_NAME[op.name] = _looked_up(op.name) is op.op
    function = _looked_up(op.name) if _BY_NAME[op.name] else op.op
    return function(*args, **kwargs)


#: Operator -> True if torch has the function under this name.
_BY_NAME: dict[str, bool] = {}


def _looked_up(name: str) -> Any:
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def placed(op: Any, sample: Any, place: Place) -> tuple[Any, ...]:
    """The arguments of a call; some belong on the CPU always."""
    on_host = op.name == "tensor_split"  # its indices
    rest = fresh((sample.args, sample.kwargs)) if on_host else place((sample.args, sample.kwargs))
    return (place(sample.input), *rest)


def without_grad(value: Any) -> Any:
    """The tensors without their flags: neither in-place work nor `out=` takes leaves."""
    return tree_map(lambda t: t.detach() if is_tensor(t) else t, value)


def fresh(value: Any) -> Any:
    """Copies on the CPU, so that in-place work does not reach the sample."""
    return tree_map(lambda t: leaf(t.detach().clone(), t) if is_tensor(t) else t, value)


def to_gpu(value: Any) -> Any:
    """Copies on the GPU, with devices named in arguments changed too."""

    def one(item: Any) -> Any:
        if is_tensor(item):
            return leaf(item.detach().clone().to("cuda"), item)
        if isinstance(item, torch.device) and item.type == "cpu":
            return torch.device("cuda")
        return "cuda" if isinstance(item, str) and item == "cpu" else item

    return tree_map(one, value)


def leaf(copy: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """`copy` as a leaf with the flag of `like`."""
    return copy.requires_grad_(like.requires_grad)


def is_tensor(value: Any) -> bool:
    """True for tensors."""
    return isinstance(value, torch.Tensor)


def gradients(op: Any, sample: Any, place: Place) -> list[torch.Tensor]:
    """Gradients of the sum of all results with respect to all inputs."""
    inputs = placed(op, sample, place)
    leaves = [t for t in tree_flatten(inputs)[0] if is_tensor(t) and t.requires_grad]
    torch.manual_seed(1)
    out = call_operator(op, inputs[0], *inputs[1], **inputs[2])
    if sample.output_process_fn_grad is not None:
        out = sample.output_process_fn_grad(out)
    results = [t for t in tree_flatten(out)[0] if is_tensor(t) and t.requires_grad]
    if not results or not leaves:
        return []
    total = sum(t.abs().sum() if t.is_complex() else t.sum() for t in results)
    grads = torch.autograd.grad(total, leaves, allow_unused=True)  # type: ignore[arg-type]
    return [g for g in grads if g is not None]


def compare(out: Any, expected: Any, values: bool = True) -> str:
    """What is wrong with `out`: "" if nothing."""
    left, right = tree_flatten(out)[0], tree_flatten(expected)[0]
    if len(left) != len(right):
        return f"{len(left)} results instead of {len(right)}"
    for one, other in zip(left, right, strict=True):
        if not is_tensor(one):
            if type(one) is not type(other):
                return f"{type(one)} instead of {type(other)}"
            continue
        if one.device.type != "cuda":
            return f"a result is on {one.device}"
        host = one.detach().cpu()
        if values and not same_values(host, other.detach()):
            return difference(host, other)
    return ""


def equal(out: Any, expected: Any) -> bool:
    """True for results on the CPU that are the same."""
    pairs = zip(tree_flatten(out)[0], tree_flatten(expected)[0], strict=True)
    return all(same_values(a.detach(), b.detach()) for a, b in pairs if is_tensor(a))


def difference(one: torch.Tensor, other: torch.Tensor) -> str:
    """Words for tensors that are not equal."""
    for what in ("shape", "dtype", "layout"):
        left, right = getattr(one, what), getattr(other, what)
        if left != right:
            return f"{what} {left} instead of {right}"
    return "other values"


def same_values(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal within float tolerance, nan equal to nan."""
    if one.shape != other.shape or one.dtype != other.dtype or one.layout != other.layout:
        return False
    if one.layout is not torch.strided:
        one, other = one.to_dense(), other.to_dense()
    if one.is_nested or one.is_quantized:
        return True
    rtol, atol = default_tolerances(one.dtype)
    if one.dtype.is_floating_point and one.dtype.itemsize == 1:
        one, other = one.float(), other.float()
    if one.dtype is torch.complex32:
        one, other = one.to(torch.complex64), other.to(torch.complex64)
    if one.is_floating_point() or one.is_complex():
        if one.dtype in (torch.float16, torch.bfloat16) and one.numel():
            # Where C++ code asks for a dispatch mode it may take a formula that rounds elsewhere.
            largest = float(other.float().nan_to_num(0, 0, 0).abs().max())
            atol = max(atol, 4 * torch.finfo(one.dtype).eps * largest)
        return torch.allclose(one, other, rtol, atol, equal_nan=True)
    return torch.equal(one, other)
