"""Runs programs on this process's machine, one JSON line each: `child.py card|simulated FILE`.

FILE is a JSON list of programs. A CUDA error on a card can break the process for all that follows:
then it ends with BROKEN after the outcome, and the parent starts another for the rest.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src"), str(HERE.parents[1] / "benchmarks")]

import torch  # noqa: E402
from outcome import Outcome, TensorSummary  # noqa: E402

#: Exit status: CUDA in this process is of no more use.
BROKEN = 86
#: Elements of a result that are compared.
ELEMENTS = 64


def main() -> int:
    """Run the command line."""
    machine, path = sys.argv[1:3]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    out = sys.stdout
    programs = json.loads(Path(path).read_text(encoding="utf-8"))
    if any("op" in program for program in programs):
        import sim_op_db  # noqa: F401  # takes seconds: not part of the first program
    for program in programs:
        with machine_of(machine), contextlib.redirect_stdout(io.StringIO()):
            outcome = run(program)
            usable = machine != "card" or still_usable()
        print(json.dumps(outcome.to_json()), file=out, flush=True)
        if not usable:
            return BROKEN
    return 0


def machine_of(name: str) -> Any:
    """The card as it is, or a simulated one whose generators are its own, as a card's are."""
    if name == "card":
        return contextlib.nullcontext()
    from torchferry.sim import simulate

    return simulate(rng="device")


def still_usable() -> bool:
    """False where an earlier error has broken CUDA for this process."""
    try:
        torch.cuda.synchronize()
        torch.ones(1, device="cuda").item()
    except Exception:
        return False
    torch.set_default_device(None)
    return True


def run(program: dict[str, Any]) -> Outcome:
    """One program: {"name", "code"} or {"name", "op", "dtype", "sample", "values"}."""
    try:
        results = run_code(program) if "code" in program else run_sample(program)
        if torch.cuda.is_available():
            torch.cuda.synchronize()  # a card's errors come late
    except Exception as error:
        return Outcome(program["name"], type(error).__name__, str(error)[:2000])
    return Outcome(program["name"], results=results)


def run_code(program: dict[str, Any]) -> list[TensorSummary]:
    """A case of the conformance tests: its asserts judge the values."""
    exec(program["code"], {"torch": torch})
    return []


def run_sample(program: dict[str, Any]) -> list[TensorSummary]:
    """A sample of PyTorch's operator database; made on the host, so both machines get the same."""
    import sim_op_db
    from torch.utils._pytree import tree_flatten

    dtype = getattr(torch, program["dtype"])
    op = next(op for op in sim_op_db.op_db if sim_op_db.full_name(op) == program["op"])
    wanted = itertools.islice(sim_op_db.samples(op, dtype, False), program["sample"], None)
    sample = next(wanted, None)
    if sample is None:
        return []  # the operator has fewer samples
    args = sim_op_db.to_gpu((sample.input, sample.args, sample.kwargs))
    out = op(args[0], *args[1], **args[2])
    tensors = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
    return [summary(t, program.get("values", True)) for t in tensors]


def summary(tensor: torch.Tensor, values: bool) -> TensorSummary:
    """Shape, dtype, device and the first elements."""
    found: list[float] = []
    if values and tensor.layout is torch.strided and not (tensor.is_nested or tensor.is_quantized):
        flat = tensor.detach().cpu().reshape(-1)[:ELEMENTS]
        if flat.is_complex():
            flat = torch.view_as_real(flat.resolve_conj()).reshape(-1)
        found = flat.double().tolist()
    shape = [] if tensor.is_nested else list(tensor.shape)
    return TensorSummary(shape, str(tensor.dtype), tensor.device.type, found)


if __name__ == "__main__":
    sys.exit(main())
