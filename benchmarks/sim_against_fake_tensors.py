"""Which mixes of devices run: the simulated GPU against PyTorch's FakeTensorMode.

    python benchmarks/sim_against_fake_tensors.py [--ops REGEX] [--limit N] [--all]

For each sample of PyTorch's operator database (forward, no gradients): all its tensors on the GPU,
then each tensor in turn on the CPU and the rest on the GPU, and each tensor of indices on the GPU
and the rest on the CPU. Both judges say "runs" or "device error"; where FakeTensorMode says neither
(sizes that depend on data, operators without a fake kernel) the case does not count. Prints the
agreement and the disagreements by operator that tests/sim/fake_tensor_disagreements.py does not
explain, with --all those too.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten

from torchferry.sim import simulate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "sim"))

RUNS, REFUSED, NO_VERDICT = "runs", "device error", "no verdict"
_DEVICE_WORDS = re.compile(
    r"DeviceMismatch|different devices|same device|on the expected device|should be either on cpu|"
    r"are on different|expected device|Input type .* should be the same|devices? .*(cuda|cpu)|"
    r"(cuda|cpu).* device|on cuda|on CPU|on the CPU|CPU tensor",
    re.IGNORECASE,
)
_LINKED = "not linked with support for"  # FakeTensorMode met a kernel: no verdict
#: Where a program finds a function: the database holds it since before the simulation was on.
_HOMES = {
    function: (home, name)
    for home in (torch, torch.linalg, torch.special, torch.fft, torch.nn.functional)
    for name in dir(home)
    if callable(function := getattr(home, name)) and not isinstance(function, type)
}
_DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)


@dataclass(frozen=True)
class Case:
    """One sample with its tensors placed: `odd` is the one apart from the others."""

    op: str
    sample: int
    odd: str
    place: str  # where the odd tensor is
    scalar: bool  # the odd tensor has no dimensions


@dataclass(frozen=True)
class Verdicts:
    """What both judges say of a case."""

    case: Case
    fake: str
    sim: str
    words: str

    @property
    def agree(self) -> bool:
        """True where both say the same."""
        return self.fake == self.sim


def main() -> int:
    """Run the command line."""
    from fake_tensor_disagreements import explained

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", default="")
    parser.add_argument("--limit", type=int, default=0, help="samples an operator, spread")
    parser.add_argument("--all", action="store_true", help="print the explained ones too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    chosen = [op for op in op_db if re.search(options.ops, op.name)]
    return report(judge(chosen, options.limit), explained, options.all)


def full_name(op: Any) -> str:
    """Name with the variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def judge(ops: list[Any], limit: int = 0) -> list[Verdicts]:
    """Verdicts of both on the cases of `ops`, at most `limit` samples of each."""
    asked = [question for op in ops for question in questions(op, limit)]
    found = []
    with simulate(trace=False):
        for call, case, on_cpu, says, words in asked:
            sim, more = sim_verdict(call, on_cpu)
            found.append(Verdicts(case, says, sim, more or words))
    return found


@dataclass(frozen=True)
class Call:
    """A sample taken apart."""

    op: Any
    leaves: list[Any]
    spec: Any


def questions(op: Any, limit: int) -> Iterator[tuple[Call, Case, set[int], str, str]]:
    """(call, case, positions on the CPU, FakeTensorMode's verdict and words) where it has one."""
    for number, call, names in samples(op, limit):
        tensors = [n for n, leaf in enumerate(call.leaves) if isinstance(leaf, torch.Tensor)]
        for case, on_cpu in cases(number, call, tensors, names):
            says, words = fake_verdict(call, on_cpu)
            if says != NO_VERDICT:
                yield call, case, on_cpu, says, words


def samples(op: Any, limit: int) -> Iterator[tuple[int, Call, list[str]]]:
    """(number, sample, names of its leaves) of samples of plain tensors that the CPU computes."""
    dtype = next((d for d in _DTYPES if d in set(op.dtypes) & set(op.dtypesIfCUDA)), None)
    if dtype is None:
        return
    torch.manual_seed(0)
    try:
        found = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    except Exception:
        return
    stride = max(1, len(found) // limit) if limit else 1
    for number, sample in list(enumerate(found))[::stride][: limit or None]:
        inputs = (sample.input, sample.args, sample.kwargs)
        call = Call(op, *tree_flatten(inputs))
        tensors = [leaf for leaf in call.leaves if isinstance(leaf, torch.Tensor)]
        plain = all(t.layout is torch.strided and not t.is_nested for t in tensors)
        if tensors and plain and runs_on_cpu(call):
            yield number, call, [label(path) for path, _ in tree_flatten_with_path(inputs)[0]]


def label(path: Any) -> str:
    """`input`, `args[0]`, `kwargs['weight']`: where a tensor stands in the call."""
    first, rest = path[0].idx, keystr(path[1:])
    return ("input", "args", "kwargs")[first] + rest


def cases(
    number: int, call: Call, tensors: list[int], names: list[str]
) -> Iterator[tuple[Case, set[int]]]:
    """(case, positions on the CPU): all on the GPU, each in turn on the CPU, indices reversed."""
    name = full_name(call.op)
    yield Case(name, number, "none", "gpu", False), set()
    if len(tensors) < 2:
        return
    for n in tensors:
        scalar = call.leaves[n].dim() == 0
        yield Case(name, number, names[n], "cpu", scalar), {n}
        if call.leaves[n].dtype in (torch.int64, torch.int32, torch.bool):
            yield Case(name, number, names[n], "gpu", scalar), set(tensors) - {n}


def runs_on_cpu(call: Call) -> bool:
    """False for samples that the CPU refuses."""
    try:
        run(call, [copy(leaf) for leaf in call.leaves])
    except Exception:
        return False
    return True


def copy(leaf: Any) -> Any:
    """Tensors copied, so that in-place work does not reach the sample."""
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def run(call: Call, leaves: list[Any]) -> Any:
    """Call the operator with other leaves."""
    first, args, kwargs = tree_unflatten(leaves, call.spec)
    home = _HOMES.get(call.op.op)
    function = call.op if home is None else getattr(*home)
    with torch.no_grad():
        return function(first, *args, **kwargs)


def fake_verdict(call: Call, on_cpu: set[int]) -> tuple[str, str]:
    """(verdict, words) of FakeTensorMode."""
    try:
        with FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=False) as mode:
            placed = [
                fake(mode, leaf, n in on_cpu) if isinstance(leaf, torch.Tensor) else leaf
                for n, leaf in enumerate(call.leaves)
            ]
            run(call, placed)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        found = _DEVICE_WORDS.search(words) and _LINKED not in words
        return (REFUSED if found else NO_VERDICT), words
    return RUNS, ""


def fake(mode: FakeTensorMode, tensor: torch.Tensor, on_cpu: bool) -> torch.Tensor:
    """A fake tensor like `tensor`."""
    if on_cpu:
        return mode.from_tensor(tensor)
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cuda")


def sim_verdict(call: Call, on_cpu: set[int]) -> tuple[str, str]:
    """(verdict, words) of the simulated GPU that is on."""
    placed = [
        copy(leaf) if n in on_cpu or not isinstance(leaf, torch.Tensor) else copy(leaf).cuda()
        for n, leaf in enumerate(call.leaves)
    ]
    try:
        run(call, placed)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        return (REFUSED if hasattr(error, "__torchferry__") else "other error"), words
    return RUNS, ""


def report(found: list[Verdicts], explained: Any, everything: bool) -> int:
    """Print the sums and the disagreements; 1 if any is not explained."""
    apart = [v for v in found if not v.agree]
    open_ones = [v for v in apart if explained(v.case.op, v.fake, v.sim) is None]
    groups: dict[tuple[str, ...], list[Verdicts]] = collections.defaultdict(list)
    for v in apart if everything else open_ones:
        groups[(v.case.op, v.case.odd, v.case.place, v.fake, v.sim)].append(v)
    for (op, odd, place, fake_says, sim_says), members in sorted(groups.items()):
        scalars = sum(v.case.scalar for v in members)
        print(
            f"{op}: {odd} on the {place} x{len(members)} (0-dim {scalars}): "
            f"FakeTensorMode {fake_says}, simulated {sim_says}: {members[0].words[:170]!r}"
        )
    operators = len({v.case.op for v in found})
    print(f"torch {torch.__version__}: {len(found)} cases of {operators} operators")
    print(f"agree: {len(found) - len(apart)} of {len(found)} ({1 - len(apart) / len(found):.2%})")
    print(f"explained: {len(apart) - len(open_ones)}, not explained: {len(open_ones)}")
    return 1 if open_ones else 0


if __name__ == "__main__":
    sys.exit(main())
