"""Writes `cuda_kernels.py` from the native_functions.yaml of the installed torchgen.

    python -m torchferry.sim.tables.generate

Needs PyYAML. Each operator with a CUDA kernel gets a flag: how CUDA checks that its tensors are on
one device, which decides what a mix of devices does and which message PyTorch gives.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

HEADER = '''"""How CUDA checks the devices of an operator's tensors. Written by generate.py.

S: checked by the generated wrapper of a structured kernel; C: by the wrapper of another kernel;
N: not checked by a wrapper (TensorIterator or the kernel checks).
"""

# fmt: off
'''


def main() -> None:
    """Write the table beside this file."""
    import torchgen  # type: ignore[import-untyped]
    import yaml  # type: ignore[import-untyped]

    root = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries: list[dict[str, Any]] = yaml.load(
        (root / "native_functions.yaml").read_text(encoding="utf-8"), Loader=loader
    )
    rows = flags(entries)
    by_flag: dict[str, list[str]] = {"S": [], "C": [], "N": []}
    for name, flag in sorted(rows.items()):
        by_flag[flag].append(name)
    parts = [HEADER]
    for flag, title in (("S", "STRUCTURED"), ("C", "CHECKED"), ("N", "UNCHECKED")):
        parts.append(f'{title} = frozenset("""\n' + wrap(by_flag[flag]) + '\n""".split())\n\n')
    target = Path(__file__).with_name("cuda_kernels.py")
    target.write_text("".join(parts).rstrip() + "\n", encoding="utf-8")
    print(f"{target}: {len(rows)} operators")


def flags(entries: list[dict[str, Any]]) -> dict[str, str]:
    """Flag of each operator (name.overload) that has a CUDA kernel of its own."""
    named = {signature_name(e["func"]): e for e in entries}
    rows = {}
    for name, entry in named.items():
        base = named.get(entry.get("structured_delegate", ""), entry)
        if not has_cuda(base):
            continue
        if entry.get("device_check") == "NoCheck" or base.get("device_check") == "NoCheck":
            rows[name] = "N"
        else:
            rows[name] = "S" if entry.get("structured") or base is not entry else "C"
    return rows


def has_cuda(entry: dict[str, Any]) -> bool:
    """True if a dispatch line names CUDA, or the kernel is generated from an inner loop."""
    if entry.get("ufunc_inner_loop"):
        return True
    keys = re.split(r"[,\s]+", " ".join(entry.get("dispatch") or {}))
    return "CUDA" in keys


def signature_name(func: str) -> str:
    """`add.Tensor(Tensor self, ...)` -> `add.Tensor`."""
    return func.split("(", 1)[0].strip()


def wrap(names: list[str], width: int = 96) -> str:
    """Names in lines of at most `width` characters."""
    lines, line = [], ""
    for name in names:
        if line and len(line) + len(name) + 1 > width:
            lines.append(line)
            line = ""
        line = f"{line} {name}".strip()
    return "\n".join([*lines, line])


if __name__ == "__main__":
    main()
