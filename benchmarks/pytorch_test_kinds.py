"""Why tests of PyTorch do not pass on the simulated GPU: kinds of reasons, the first that fits.

Each is (kind, what its test's name or its error has). What fits none is open: look there first.
"""

from __future__ import annotations

import re

OPEN = "open"

KINDS: tuple[tuple[str, str], ...] = (
    (
        "refused by name: graphs, pools, kernels of one's own, calls of the driver",
        r"a simulated GPU (launches|compiles|counts|has no)|simulated GPU does not have"
        r"|has no attribute '(_cuda|_host|MemPool)|no NVIDIA driver|test_graph|graphsafe"
        r"|driver version is insufficient|not linked with support",
    ),
    (
        "looks into the allocator, the order of streams or the library behind",
        r"test_(caching|record_stream|streaming|events|cudart|cublas|fixed_cuda_assert|memory"
        r"|out_of_memory|set_per_process|allocator|peak_memory|preferred|backward_single)"
        r"|stream_event|MallocAsync|_ConvBackend|driver|LU without pivoting|non_blocking"
        r"|LAZY|nvml|tunable",
    ),
    (
        "the CPU has no kernel for what CUDA computes",
        r"not implemented for '|Could not run 'aten::|does not support complex"
        r"|test_sparse_(add|sub)_",
    ),
    ("too long or too large for this run", r"timed out|OutOfMemory|can't allocate memory|hangs"),
    ("not refused, or later than CUDA: dtypes and arguments", r"not raised|does not match"),
    ("other numbers", r"not close"),
    ("`out=` and `device=` in one call", r"device type of out parameter"),
    ("a DLPack capsule knows no GPU", r"(alias|copy)_from_dlpack"),
)


def kind_of(name: str, outcome: str, reason: str) -> str:
    """Kind of a test that did not pass."""
    text = f"{outcome} {name} {reason}"
    return next((kind for kind, pattern in KINDS if re.search(pattern, text)), OPEN)
