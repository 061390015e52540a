"""CUDA's autocast lists (torch/amp documentation and autocast_mode.h). Data only."""

from __future__ import annotations

#: Run in float32.
TO_FLOAT = tuple(
    """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan
    pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm group_norm
    frobenius_norm.dim nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss
    cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss
    huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm
    logsumexp upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d
    upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d prod prod.dim_int softmax.int
    log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm linalg_matrix_norm.str_ord
    sum sum.dim_IntList norm.Scalar norm.ScalarOpt_dim norm.ScalarOpt_dtype
    norm.ScalarOpt_dim_dtype""".split()
)

#: Run in the autocast dtype (most of CUDA's list is on the CPU's list too).
TO_HALF = tuple("prelu addmv addr mv einsum chain_matmul linalg_multi_dot".split())

#: Run in the widest dtype of the arguments.
TO_WIDEST = tuple(
    """addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add
    """.split()
)
