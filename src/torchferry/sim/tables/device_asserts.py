"""What CUDA finds by an assertion in the kernel, not by the host. Data only.

From CUDA_KERNEL_ASSERT in PyTorch's CUDA kernels.
"""

from __future__ import annotations

_INDEX = r"out of bounds|out of range|tried to access index|not in the valid range"

#: Names of operators (without the last underscore of the in-place ones), the CPU's words.
_ROWS: tuple[tuple[str, str], ...] = (
    (
        """index index_put _index_put_impl _unsafe_index _unsafe_index_put index_select gather
        scatter scatter_add scatter_reduce index_add index_copy index_fill index_reduce take put
        embedding embedding_renorm _embedding_bag _embedding_bag_forward_only nll_loss_forward
        nll_loss2d_forward multi_margin_loss""",
        _INDEX,
    ),
    ("max_unpool2d max_unpool3d", "invalid max index"),
    ("binary_cross_entropy", "should be between 0 and 1"),
    ("bernoulli", r"Expected p_in >= 0"),
    ("poisson", "invalid Poisson rate"),
    ("multinomial", "probability tensor contains|sum of probabilities <= 0"),
    ("_assert_async", ""),
)

#: Operator -> the CPU's words for what CUDA asserts.
DEVICE_ASSERTS: dict[str, str] = {name: words for names, words in _ROWS for name in names.split()}
