"""What classes of torch.nn, torch.utils.data and friends are to the device flow."""

from __future__ import annotations

#: classes of torch.nn without parameters and buffers: nothing to move
PARAMETERLESS = frozenset(
    """
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
    AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss CELU
    CTCLoss ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d
    ConstantPad3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d Dropout
    Dropout1d Dropout2d Dropout3d ELU FeatureAlphaDropout Flatten Fold FractionalMaxPool2d
    FractionalMaxPool3d GELU GLU GaussianNLLLoss Hardshrink Hardsigmoid Hardswish Hardtanh
    HingeEmbeddingLoss HuberLoss Identity KLDivLoss L1Loss LPPool1d LPPool2d LPPool3d LeakyReLU
    LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d
    MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish MultiLabelMarginLoss
    MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PairwiseDistance PixelShuffle
    PixelUnshuffle PoissonNLLLoss RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d
    ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU SiLU Sigmoid
    SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh
    Tanhshrink Threshold TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold
    Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d
    """.split()
)
#: containers: their arguments are child modules (or parameters)
CONTAINERS = frozenset("Sequential ModuleList ModuleDict ParameterList ParameterDict".split())
#: wrappers: their first argument is a child module
WRAPPERS = frozenset("DataParallel parallel.DistributedDataParallel parallel.DataParallel".split())
#: methods of nn.Module that give the module itself
SELF_METHODS = frozenset(
    """
    train eval float double half bfloat16 requires_grad_ apply type share_memory zero_grad
    load_state_dict
    """.split()
)
#: methods of nn.Module that give nothing of interest
HOST_METHODS = frozenset(
    """
    add_module register_forward_hook register_forward_pre_hook register_backward_hook
    register_full_backward_hook extra_repr named_modules register_module
    """.split()
)
