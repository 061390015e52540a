"""Operators whose Python binding runs the same kernel as the overload, with cheaper arguments.

The binding must take the schema's arguments as they are, and choose this overload for them.
"""

from __future__ import annotations

BINDINGS = frozenset(
    """mm addmm bmm relu sum.dim_IntList add.Tensor mul.Tensor sub.Tensor div.Tensor tanh sigmoid
    exp log sqrt _log_softmax _softmax cat stack
    _foreach_add_.Tensor _foreach_add_.List _foreach_add_.Scalar _foreach_mul_.Scalar
    _foreach_mul_.List _foreach_lerp_.Scalar _foreach_addcmul_.Scalar _foreach_addcdiv_.Scalar
    _foreach_addcdiv_.ScalarList _foreach_addcmul_.ScalarList _foreach_sqrt _foreach_sqrt_
    _foreach_div_.ScalarList _foreach_div_.Scalar _foreach_div_.List _foreach_neg_
    _foreach_norm.Scalar""".split()
)
