"""Runs PyTorch's own operator database on the simulated GPU.

    python benchmarks/sim_op_db.py [--dtypes float32,...|all] [--ops REGEX] [--backward]

Each sample runs on the CPU and on the simulated GPU. Right: every tensor of the result is on the
GPU and equals the CPU's. Prints what is wrong and the sums.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

from torchferry.sim import simulate


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--ops", default="")
    parser.add_argument("--limit", type=int, default=0, help="samples an operator and dtype")
    parser.add_argument("--every", type=int, default=1, help="take every Nth operator")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--seconds", type=float, default=0, help="most time for one operator")
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results = []
    chosen = [op for op in op_db if re.search(options.ops, op.name)][:: options.every]
    for op in chosen:
        for dtype in wanted_dtypes(op, options.dtypes):
            results.extend(
                check_operator(op, dtype, options.backward, options.limit, options.seconds)
            )
    return report(results, options.json)


def wanted_dtypes(op: Any, wanted: str) -> list[torch.dtype]:
    """dtypes that PyTorch lists for CUDA and the CPU computes."""
    both = set(op.dtypes) & set(op.dtypesIfCUDA)
    if wanted == "all":
        return sorted(both, key=str)
    names = [getattr(torch, name) for name in wanted.split(",")]
    return [dtype for dtype in names if dtype in both]


def full_name(op: Any) -> str:
    """Name with the variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def check_operator(
    op: Any, dtype: torch.dtype, backward: bool, limit: int, seconds: float = 0
) -> list[dict[str, str]]:
    """One result a sample: operator, dtype, pass ("forward", "backward"), problem ("" if right)."""
    found = []
    grad = backward and op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    started = time.time()
    for number, sample in enumerate(samples(op, dtype, grad)):
        if limit and number >= limit:
            break
        if seconds and time.time() - started > seconds:
            break
        for step, problem in check_sample(op, sample, grad):
            found.append(
                {"op": full_name(op), "dtype": str(dtype), "step": step, "problem": problem,
                 "sample": str(number)}
            )  # fmt: skip
    return found


def samples(op: Any, dtype: torch.dtype, grad: bool) -> Iterator[Any]:
    """Sample inputs on the CPU; none where PyTorch cannot make them here."""
    torch.manual_seed(0)
    try:
        yield from op.sample_inputs("cpu", dtype, requires_grad=grad)
    except Exception as error:
        print(f"{full_name(op)} {dtype}: no samples: {str(error)[:80]}", file=sys.stderr)


def check_sample(op: Any, sample: Any, grad: bool) -> list[tuple[str, str]]:
    """Compare one sample on the CPU and on the simulated GPU."""
    inputs = tree_flatten((sample.input, sample.args, sample.kwargs))[0]
    if not any(is_tensor(v) or isinstance(v, (torch.device, str)) for v in inputs):
        return []  # nothing in the call says which device
    torch.manual_seed(1)
    try:
        expected = op(fresh(sample.input), *fresh(sample.args), **fresh(sample.kwargs))
    except Exception:
        return []  # the CPU refuses the sample: nothing to compare with
    expected_grads = gradients(op, sample, fresh, expected) if grad else None
    with simulate():
        torch.manual_seed(1)
        try:
            out = op(to_gpu(sample.input), *to_gpu(sample.args), **to_gpu(sample.kwargs))
            problem = compare(out, expected, values="empty" not in op.name)
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error)[:150]}"
        found = [("forward", problem)]
        if expected_grads is not None and not problem:
            try:
                problem = compare(gradients(op, sample, to_gpu, None), expected_grads)
            except Exception as error:
                problem = f"{type(error).__name__}: {str(error)[:150]}"
            found.append(("backward", problem))
    return found


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


def gradients(op: Any, sample: Any, place: Any, made: Any) -> list[torch.Tensor] | None:
    """Gradients of the sum of all results with respect to all inputs."""
    inputs = place((sample.input, sample.args, sample.kwargs))
    leaves = [t for t in tree_flatten(inputs)[0] if is_tensor(t) and t.requires_grad]
    torch.manual_seed(1)
    try:
        out = op(inputs[0], *inputs[1], **inputs[2])
        if sample.output_process_fn_grad is not None:
            out = sample.output_process_fn_grad(out)
        results = [t for t in tree_flatten(out)[0] if is_tensor(t) and t.requires_grad]
        if not results or not leaves:
            return None
        total = sum(t.abs().sum() if t.is_complex() else t.sum() for t in results)
        grads = torch.autograd.grad(total, leaves, allow_unused=True)
    except Exception:
        if place is fresh:
            return None
        raise
    return [g for g in grads if g is not None]


def compare(out: Any, expected: Any, values: bool = True) -> str:
    """What is wrong with `out`: "" if nothing."""
    left, right = tree_flatten(out)[0], tree_flatten(expected)[0]
    if len(left) != len(right):
        return f"{len(left)} results instead of {len(right)}"
    for one, other in zip(left, right, strict=True):
        if not is_tensor(one):
            continue
        if one.device.type != "cuda":
            return f"a result is on {one.device}"
        host = one.detach().cpu()
        if values and not same_values(host, other.detach()):
            return "other values"
    return ""


def same_values(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal within float tolerance, nan equal to nan."""
    if one.shape != other.shape or one.dtype != other.dtype or one.layout != other.layout:
        return False
    if one.layout is not torch.strided:
        one, other = one.to_dense(), other.to_dense()
    if one.is_nested or one.is_quantized:
        return True
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True) if (
        one.is_floating_point() or one.is_complex()
    ) else torch.equal(one, other)  # fmt: skip


def report(results: list[dict[str, str]], path: str) -> int:
    """Print the sums and what is wrong; 1 if anything is."""
    wrong = [r for r in results if r["problem"]]
    groups = collections.Counter((r["op"], r["step"], r["problem"]) for r in wrong)
    for (op, step, problem), count in sorted(groups.items()):
        print(f"{op} {step} x{count}: {problem}")
    for step in ("forward", "backward"):
        mine = [r for r in results if r["step"] == step]
        if mine:
            right = sum(not r["problem"] for r in mine)
            print(f"{step}: {right} of {len(mine)} samples right ({right / len(mine):.3%})")
    print(f"operators: {len({r['op'] for r in results})}, wrong: {len({r['op'] for r in wrong})}")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(wrong, file, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
