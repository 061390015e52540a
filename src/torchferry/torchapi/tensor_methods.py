"""What methods and attributes of torch.Tensor do to devices.

A method without a row is an operator.
"""

from __future__ import annotations

#: give host values: numbers, shapes, strings, None
HOST_RESULT = frozenset(
    """
    size stride dim ndimension numel nelement item tolist is_contiguous storage_offset
    element_size get_device data_ptr backward register_hook is_floating_point is_complex
    is_signed is_pinned is_set_to is_shared is_sparse equal allclose sparse_dim dense_dim
    retain_grad storage untyped_storage type_name has_names __len__ __bool__ __int__ __float__
    is_same_size register_post_accumulate_grad_hook is_inference
    """.split()
)
#: attributes that are host values
HOST_ATTRS = frozenset(
    """
    shape dtype requires_grad is_leaf ndim grad_fn is_cuda layout name names itemsize nbytes
    is_sparse is_quantized is_meta is_mps is_xpu is_cpu output_nr _version is_nested
    """.split()
)
#: attributes that are tensors on the same device
SAME_ATTRS = frozenset("data grad T H mT mH real imag _values _indices".split())
#: make a new tensor on the device of the receiver; take device=
NEW = frozenset("new new_zeros new_ones new_empty new_full new_tensor new_empty_strided".split())
#: legal across devices: they copy
COPYING = frozenset("copy_ __setitem__".split())
#: refuse a tensor that is not on the CPU
HOST_ONLY = frozenset("apply_ map_ map2_".split())
