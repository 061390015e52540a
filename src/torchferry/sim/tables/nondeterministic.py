"""CUDA kernels that refuse to run under `torch.use_deterministic_algorithms(True)`. Data only.

From `alertNotDeterministic` in ATen/native/cuda and the documentation of
`torch.use_deterministic_algorithms`.
"""

from __future__ import annotations

#: Operator -> name in the message.
ALWAYS = {
    "avg_pool3d_backward": "avg_pool3d_backward_cuda",
    "_adaptive_avg_pool2d_backward": "adaptive_avg_pool2d_backward_cuda",
    "_adaptive_avg_pool3d_backward": "adaptive_avg_pool3d_backward_cuda",
    "adaptive_max_pool2d_backward": "adaptive_max_pool2d_backward_cuda",
    "fractional_max_pool2d_backward": "fractional_max_pool2d_backward_cuda",
    "fractional_max_pool3d_backward": "fractional_max_pool3d_backward_cuda",
    "max_unpool2d": "max_unpooling2d_forward_out",
    "max_unpool3d": "max_unpooling3d_forward_out",
    "upsample_linear1d_backward": "upsample_linear1d_backward_out_cuda",
    "upsample_bilinear2d_backward": "upsample_bilinear2d_backward_out_cuda",
    "_upsample_bilinear2d_aa_backward": "upsample_bilinear2d_aa_backward_out_cuda",
    "upsample_bicubic2d_backward": "upsample_bicubic2d_backward_out_cuda",
    "_upsample_bicubic2d_aa_backward": "upsample_bicubic2d_aa_backward_out_cuda",
    "upsample_trilinear3d_backward": "upsample_trilinear3d_backward_out_cuda",
    "reflection_pad1d_backward": "reflection_pad1d_backward_out_cuda",
    "reflection_pad2d_backward": "reflection_pad2d_backward_cuda",
    "reflection_pad3d_backward": "reflection_pad3d_backward_out_cuda",
    "replication_pad1d_backward": "replication_pad1d_backward_cuda",
    "replication_pad2d_backward": "replication_pad2d_backward_cuda",
    "replication_pad3d_backward": "replication_pad3d_backward_cuda",
    "_ctc_loss_backward": "ctc_loss_backward_gpu",
    "put_": "put_",
    "histc": "_histc_cuda",
    "grid_sampler_2d_backward": "grid_sampler_2d_backward_cuda",
    "grid_sampler_3d_backward": "grid_sampler_3d_backward_cuda",
    "index_reduce": "index_reduce_cuda",
    "index_reduce_": "index_reduce_cuda",
}

#: Full name of the overload -> name in the message.
OVERLOADS = {
    "median.dim": "median CUDA with indices output",
    "nanmedian.dim": "median CUDA with indices output",
}

#: Operator -> (argument, its values that are refused or None for any that is given, name).
DEPENDING = {
    "bincount": ("weights", None, "_bincount_cuda"),
    "nll_loss2d_forward": ("reduction", (1, 2), "nll_loss2d_forward_out_cuda_template"),
    "_embedding_bag_dense_backward": ("mode", (2,), "embedding_bag_backward_cuda_max"),
    "scatter_reduce": ("reduce", ("prod",), "scatter_reduce_cuda_prod_"),
    "scatter_reduce_": ("reduce", ("prod",), "scatter_reduce_cuda_prod_"),
}

#: Refused in torch 2.6, deterministic in 2.13 (version -> name in the message).
BEFORE_2_13 = {
    "max_pool3d_with_indices_backward": "max_pool3d_with_indices_backward_cuda",
    "kthvalue": "kthvalue CUDA",
}
