"""Autocast's lists (torch/amp documentation and aten/src/ATen/autocast_mode.h). Data only."""

from __future__ import annotations

_CONVOLUTIONS = """_convolution.deprecated conv1d conv2d conv3d conv_tbc conv_transpose1d
    conv_transpose2d.input conv_transpose3d.input"""
_PRODUCTS = "addbmm addmm baddbmm bmm linalg_vecdot linear matmul mm scaled_dot_product_attention"

#: CUDA: run in float32.
TO_FLOAT = frozenset(
    """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan
    pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm group_norm
    rms_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss
    cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss
    huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm
    logsumexp upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d
    upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa
    _upsample_bicubic2d_aa prod prod.dim_int softmax.int log_softmax.int cumprod cumsum
    linalg_vector_norm linalg_matrix_norm linalg_matrix_norm.str_ord sum sum.dim_IntList
    norm.Scalar norm.ScalarOpt_dim norm.ScalarOpt_dtype norm.ScalarOpt_dim_dtype""".split()
)

#: CUDA: run in the autocast dtype. The recurrent layers by cuDNN's own kernel.
TO_HALF = frozenset(
    f"""{_CONVOLUTIONS} {_PRODUCTS} _convolution convolution prelu addmv addr mv einsum
    chain_matmul linalg_multi_dot lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    lstm.input lstm.data gru.input gru.data rnn_tanh.input rnn_tanh.data rnn_relu.input
    rnn_relu.data""".split()
)

#: CUDA: run in the widest dtype of the arguments.
TO_WIDEST = frozenset(
    """addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add
    """.split()
)

#: CUDA: refused.
BANNED = frozenset({"binary_cross_entropy"})

#: CPU: run in the autocast dtype; in the widest dtype. All others on its list run in float32.
HOST_TO_HALF = frozenset(
    f"""{_CONVOLUTIONS} {_PRODUCTS} prelu _addmm_activation _native_multi_head_attention
    conv1d.padding conv2d.padding conv3d.padding mkldnn_rnn_layer""".split()
)
HOST_TO_WIDEST = frozenset("cat stack index_copy".split())
