"""Operators whose Python binding runs the same kernel as the overload, with cheaper arguments.

The binding must take the schema's arguments as they are, and choose this overload for them:
tests/sim/test_bindings.py tries each.
"""

from __future__ import annotations

#: Functions of torch._C._VariableFunctions.
BINDINGS = frozenset(
    """mm addmm bmm relu sum.dim_IntList add.Tensor mul.Tensor sub.Tensor div.Tensor tanh sigmoid
    exp log sqrt _log_softmax _softmax cat stack
    _foreach_add_.Tensor _foreach_add_.List _foreach_add_.Scalar _foreach_mul_.Scalar
    _foreach_mul_.List _foreach_lerp_.Scalar _foreach_addcmul_.Scalar _foreach_addcdiv_.Scalar
    _foreach_addcdiv_.ScalarList _foreach_addcmul_.ScalarList _foreach_sqrt _foreach_sqrt_
    _foreach_div_.ScalarList _foreach_div_.Scalar _foreach_div_.List _foreach_neg_
    _foreach_norm.Scalar
    neg abs sin cos floor ceil sign reciprocal rsqrt log1p expm1 erf isnan logical_not
    pow.Tensor_Scalar pow.Tensor_Tensor maximum minimum logical_and logical_or atan2
    lt.Scalar lt.Tensor le.Scalar le.Tensor gt.Scalar gt.Tensor ge.Scalar ge.Tensor eq.Scalar
    eq.Tensor ne.Scalar ne.Tensor remainder.Scalar remainder.Tensor bitwise_and.Tensor
    bitwise_or.Tensor where.self clamp sum mean mean.dim max min argmax argmin any all cumsum clone
    index_select gather masked_fill.Scalar dot mv baddbmm addcmul addcdiv lerp.Scalar embedding
    _log_softmax_backward_data _softmax_backward_data convolution""".split()
)

#: Methods of torch._C.TensorBase.
METHODS = frozenset(
    """add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor neg_ sqrt_ clamp_ addcmul_ addcdiv_
    lerp_.Scalar zero_ fill_.Scalar relu_ exp_ sigmoid_ tanh_""".split()
)
