"""Families of operators that devices treat specially. Data only; one entry an operator."""

from __future__ import annotations

#: Operators of PyTorch itself; those of other libraries are looked into.
NAMESPACES = frozenset({"aten", "prim", "quantized", "mkldnn", "onednn", "inductor"})

#: Operators that are no computing: marks of the profiler.
UNSEEN = frozenset({"profiler"})

#: Legal across devices: the result stays where the first argument is.
COPIES = frozenset({"copy_"})

#: Have a `device` argument in their schema but make no tensor from it.
NOT_FACTORIES = frozenset({"_pin_memory", "is_pinned", "_nested_tensor_from_mask"})

#: Data from Python becomes a tensor on the host.
BIRTHS = frozenset({"lift_fresh", "lift"})

#: Share their argument's storage, though their schema does not say so.
MORE_VIEWS = frozenset({"_unsafe_view", "_reshape_alias_copy"})

#: Read a value for Python: a wait, not computing.
READS = frozenset({"_local_scalar_dense"})

#: The result's size or a Python value depends on data: the host waits for the GPU.
HOST_WAITS = frozenset(
    """_local_scalar_dense nonzero nonzero_numpy masked_select unique_dim _unique _unique2
    unique_consecutive unique_dim_consecutive equal is_nonzero bincount
    _linalg_check_errors""".split()
)

#: Take indices that may stay on the CPU while `self` is on the GPU (values may not).
CPU_INDICES = frozenset(
    """index index_put index_put_ _index_put_impl_ _unsafe_index _unsafe_index_put
    _unsafe_masked_index _unsafe_masked_index_put_accumulate""".split()
)

#: Composite operators that begin with one of TensorIterator.
BEGIN_WITH_ITERATOR = frozenset("dist allclose ldexp ldexp_".split())

#: TensorIterator operators that move a 0-dim CPU tensor themselves, any number of them.
ANY_CPU_SCALARS = frozenset({"where"})

#: Pointwise operators whose kernel refuses a 0-dim CPU tensor.
NO_CPU_SCALAR = frozenset(
    """mse_loss smooth_l1_loss huber_loss binary_cross_entropy lerp lerp_
    binary_cross_entropy_backward mse_loss_backward smooth_l1_loss_backward huber_loss_backward
    masked_scatter_ scatter gather masked_fill masked_fill_ index_fill index_fill_
    binary_cross_entropy_with_logits soft_margin_loss""".split()
)

#: Operator -> the argument that may be a 0-dim CPU tensor; the others must be together.
CPU_SCALAR_VALUES = {
    **dict.fromkeys(("masked_fill", "masked_fill_", "index_fill", "index_fill_"), "value"),
    "binary_cross_entropy_with_logits": "self",
    "soft_margin_loss": "target",
    "lerp": "weight",
    "lerp_": "weight",
}

#: Their `found_inf`, `step`, `lr` arguments and the like may be on the CPU.
ANY_MIX = frozenset(
    """_to_copy _copy_from _copy_from_and_resize set_ resize_as_ is_set_to is_same_size
    _has_compatible_shallow_copy_type record_stream sym_size sym_stride sym_numel
    _use_cudnn_ctc_loss _record_function_enter_new expand_as view_as reshape_as
    _resize_output_ result_type can_cast _linalg_check_errors _reshape_from_tensor
    slice_scatter select_scatter diagonal_scatter as_strided_scatter fill fill_
    _has_same_storage_numel _new_zeros_with_same_feature_meta
    tensor_split _pack_padded_sequence _cudnn_ctc_loss ctc_loss _ctc_loss _ctc_loss_backward
    repeat_interleave""".split()
)

#: Results that stay on the CPU, by position in the tuple of results.
HOST_RESULTS = {"_pack_padded_sequence": (1,)}

#: Operators that make or copy tensors: they compute nothing from what is there, so they do not
#: say where a program computes (the initial values of a module are drawn where it is made).
MAKING = frozenset(
    """
    empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros zeros_like
    zero_ zero new_zeros ones ones_like new_ones full full_like new_full fill_ fill scalar_tensor
    arange range linspace logspace eye rand rand_like randn randn_like randint randint_like
    randperm uniform uniform_ normal_ random random_ bernoulli_ exponential_ cauchy_ geometric_
    log_normal_ clone copy copy_ _to_copy lift lift_fresh lift_fresh_copy tril_indices
    triu_indices contiguous
    """.split()
)
