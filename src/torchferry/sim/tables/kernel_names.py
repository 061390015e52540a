"""Names that kernels give themselves in "not implemented for" messages. Data only.

From the dispatch macros in PyTorch's kernels: CUDA's name for the CPU's. Most change their ending.
"""

from __future__ import annotations

#: Endings of the CPU's names, CUDA's.
ENDINGS = (
    ("_vml_cpu", "_cuda"),
    ("_cpu_kernel_impl", "_cuda"),
    ("_cpu_kernel", "_cuda"),
    ("_cpu", "_cuda"),
)

#: CPU names of the softmax kernels, which have one name on CUDA.
_SOFTMAX = """softmax_lastdim_kernel_impl log_softmax_lastdim_kernel_impl softmax_kernel_impl
    log_softmax_kernel_impl softmax_kernel log_softmax_kernel vec_log_softmax vec_softmax"""

#: CPU names that get `_cuda`.
_LONGER = """adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d cdist
    cross digamma dirichlet exp2 hardsigmoid_backward pdist polygamma pow replication_pad1d
    replication_pad2d replication_pad3d trigamma tril_indices triu_indices"""

#: CPU name -> CUDA's.
OTHERS: dict[str, str] = {
    **dict.fromkeys(_SOFTMAX.split(), "host_softmax"),
    **{name: f"{name}_cuda" for name in _LONGER.split()},
    "avg_pool2d": "avg_pool2d_out_cuda_frame",
    "index_select": "index_select_cuda",
    "max_pool2d": "max_pool2d_with_indices_out_cuda_frame",
    "multinomial": "multinomial_kernel_cuda",
}


def cuda_name(name: str) -> str:
    """CUDA's name of a CPU kernel; the same where it is not known."""
    other = OTHERS.get(name)
    if other is not None:
        return other
    for ending, theirs in ENDINGS:
        if name.endswith(ending):
            return name.removesuffix(ending) + theirs
    return name
