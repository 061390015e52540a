"""What CUDA does not compute is refused; what only CUDA computes is computed.

    python benchmarks/sim_refusals.py [--ops REGEX] [--limit N]

From `dtypes` against `dtypesIfCUDA` of PyTorch's operator database. A dtype that only the CPU
lists: each sample that the CPU computes must be refused on the simulated GPU, with a report. A
dtype that only CUDA lists: each sample must run and give what the CPU gives in a wider dtype.
Prints the refusals' messages and both sums.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch
from op_db_samples import (
    call_operator,
    compare,
    fresh,
    full_name,
    is_tensor,
    op_db,
    samples,
    to_gpu,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from torchferry.sim import simulate
from torchferry.sim.tables.only_cuda import WIDER

#: Products of matrices of bfloat16: the database asks the machine's GPU, there is none here.
_NEWER = ("addbmm", "bmm", "matmul", "nn.functional.bilinear", "__rmatmul__")

#: Some samples of these only multiply and add.
_PRODUCTS = ("einsum", "inner", "tensordot")


@dataclass
class Found:
    """Samples of an operator and dtype: right / all, the messages of refusals, the problems."""

    op: str
    dtype: str
    right: int = 0
    all: int = 0
    words: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", default="")
    parser.add_argument("--limit", type=int, default=4, help="samples an operator and dtype")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    refused, computed = [], []
    for op in op_db:
        if re.search(options.ops, full_name(op)):
            for dtype in only_on_cpu(op):
                refused.append(check_refused(op, dtype, options.limit))
            for dtype in only_on_cuda(op):
                computed.append(check_computed(op, dtype, options.limit))
    show("only the CPU computes", refused)
    show("only CUDA computes", computed)
    return 1 if any(f.problems for f in (*refused, *computed)) else 0


def only_on_cpu(op: Any) -> list[torch.dtype]:
    """dtypes that CUDA must refuse."""
    found = set(op.dtypes) - set(op.dtypesIfCUDA)
    if op.name.startswith("torch._scaled_mm"):
        return []
    if op.name in _NEWER:
        found.discard(torch.bfloat16)
    return sorted(found, key=str)


def only_on_cuda(op: Any) -> list[torch.dtype]:
    """dtypes that only CUDA computes."""
    return sorted(set(op.dtypesIfCUDA) - set(op.dtypes), key=str)


class Seen(TorchDispatchMode):
    """Notes whether a call comes to a product of matrices."""

    product = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.product |= func.__name__.split(".")[0] in ("mm", "bmm", "mv", "dot", "addmm")
        return func(*args, **(kwargs or {}))


def check_refused(op: Any, dtype: torch.dtype, limit: int) -> Found:
    """Run samples that the CPU computes."""
    found = Found(full_name(op), short(dtype))
    chosen = []
    for sample in samples(op, dtype, False):
        try:
            with Seen() as seen:
                out = call(op, fresh, sample)
        except Exception:
            continue
        if op.name in _PRODUCTS and not seen.product:
            continue
        if all(
            t.numel() for t in tree_flatten((sample.input, sample.args, out))[0] if is_tensor(t)
        ):
            chosen.append(sample)
        if len(chosen) == limit:
            break
    with simulate(trace=False):
        for sample in chosen:
            found.all += 1
            try:
                call(op, to_gpu, sample)
                found.problems["it is computed"] += 1
            except Exception as error:
                report = getattr(error, "__torchferry__", None)
                if report is not None and report.kind == "not-on-gpu":
                    found.right += 1
                    found.words[str(error)[:100]] += 1
                else:
                    found.problems[f"{type(error).__name__}: {str(error)[:150]}"] += 1
    return found


def check_computed(op: Any, dtype: torch.dtype, limit: int) -> Found:
    """Run samples that the CPU refuses."""
    found = Found(full_name(op), short(dtype))
    chosen = []
    for sample in samples(op, dtype, False):
        try:
            call(op, fresh, sample)
        except Exception:
            chosen.append((sample, wide(op, sample, dtype)))
        if len(chosen) == limit:
            break
    with simulate(trace=False):
        for sample, expected in chosen:
            found.all += 1
            try:
                out = call(op, to_gpu, sample)
                problem = "" if expected is None else compare(out, like(expected, out))
            except Exception as error:
                problem = f"{type(error).__name__}: {str(error)[:150]}"
            if problem:
                found.problems[problem] += 1
            else:
                found.right += 1
    return found


def call(op: Any, place: Any, sample: Any) -> Any:
    """The operator's results."""
    torch.manual_seed(1)
    return call_operator(op, place(sample.input), *place(sample.args), **place(sample.kwargs))


def wide(op: Any, sample: Any, dtype: torch.dtype) -> Any:
    """The CPU's results in a wider dtype; None where it has none either."""

    def widen(value: Any) -> Any:
        value = fresh(value)
        return tree_map(
            lambda t: t.to(WIDER[dtype]) if is_tensor(t) and t.dtype is dtype else t, value
        )

    try:
        return call(op, widen, sample) if dtype in WIDER else None
    except Exception:
        return None


def like(expected: Any, out: Any) -> Any:
    """The wider results in the dtypes of the results."""
    wide, spec = tree_flatten(expected)
    narrow = tree_flatten(out)[0]
    pairs = zip(wide, narrow, strict=False)
    return tree_unflatten([w.to(n.dtype) if is_tensor(w) else w for w, n in pairs], spec)


def short(dtype: torch.dtype) -> str:
    """Name without `torch.`."""
    return str(dtype).removeprefix("torch.")


def show(title: str, found: list[Found]) -> None:
    """Messages, problems and the sums."""
    print(f"== {title}")
    for one in found:
        for text, count in (*one.words.items(), *one.problems.items()):
            mark = "WRONG " if text in one.problems else ""
            print(f"{mark}{one.op} {one.dtype} x{count}: {text!r}")
    right, every = sum(f.right for f in found), sum(f.all for f in found)
    pairs = [f for f in found if f.all]
    good = sum(not f.problems for f in pairs)
    print(f"{right} of {every} samples, {good} of {len(pairs)} operators x dtypes")


if __name__ == "__main__":
    sys.exit(main())
