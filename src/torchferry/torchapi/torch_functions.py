"""What functions of `torch.*` do to devices. One row a name; a name without a row is an operator.

An operator takes tensors that must be on one device and gives a tensor (or a tuple of tensors)
there: the right reading of nearly every function of torch, so only the others have rows.
Source: the signatures and docs of torch 2.6 to 2.13.
"""

from __future__ import annotations

#: make a tensor; take `device=`
FACTORIES = frozenset(
    f"torch.{name}"
    for name in """
    zeros ones empty full rand randn randint randperm arange range linspace logspace eye tensor
    as_tensor asarray empty_strided empty_permuted scalar_tensor tril_indices triu_indices
    bartlett_window blackman_window hamming_window hann_window kaiser_window sparse_coo_tensor
    sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor
    sparse_compressed_tensor nested.nested_tensor fft.fftfreq fft.rfftfreq signal.windows.hann
    signal.windows.gaussian signal.windows.hamming signal.windows.blackman
    signal.windows.bartlett signal.windows.cosine signal.windows.exponential
    signal.windows.kaiser signal.windows.nuttall
    """.split()
)
#: of these, the ones that draw random numbers
RANDOM_FACTORIES = frozenset(f"torch.{n}" for n in ("rand", "randn", "randint", "randperm"))
#: factories that read data: a tensor argument keeps its device (as_tensor) or is copied (tensor)
DATA_FACTORIES = frozenset(("torch.tensor", "torch.as_tensor", "torch.asarray"))

#: make a host tensor and take no device: a move stands behind the call
HOST_FACTORIES = frozenset(
    (
        "torch.from_numpy",
        "torch.frombuffer",
        "torch.from_file",
        "torch.utils.dlpack.from_dlpack",
    )
)
#: take the device of their first argument
LIKE = frozenset(
    f"torch.{n}"
    for n in """
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like clone detach
    """.split()
)

#: give no tensor
HOST_RESULT = frozenset(
    f"torch.{n}"
    for n in """
    is_tensor is_storage is_complex is_floating_point is_nonzero numel manual_seed seed
    initial_seed get_rng_state set_num_threads get_num_threads set_printoptions equal allclose
    is_grad_enabled set_grad_enabled no_grad enable_grad inference_mode save finfo iinfo Size
    set_default_dtype get_default_dtype set_default_tensor_type set_default_device
    set_float32_matmul_precision use_deterministic_algorithms typename result_type can_cast
    promote_types broadcast_shapes is_inference set_rng_state manual_seed_all
    autograd.set_detect_anomaly autograd.backward random.manual_seed
    nn.utils.clip_grad_norm_ nn.utils.clip_grad_norm nn.utils.clip_grad_value_
    """.split()
)

#: legacy constructors and type names: torch.FloatTensor(...), x.type(torch.FloatTensor)
LEGACY_TYPES = frozenset(
    f"{kind}Tensor" for kind in "Float Double Half BFloat16 Byte Char Short Int Long Bool".split()
) | {"Tensor"}

#: operators that accept a 0-dim host tensor beside device tensors (element-wise with type
#: promotion through TensorIterator)
ELEMENTWISE = frozenset(
    """
    add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow
    maximum minimum max min eq ne lt le gt ge greater greater_equal less less_equal not_equal
    equal where atan2 hypot logaddexp logaddexp2 lerp addcmul addcdiv bitwise_and bitwise_or
    bitwise_xor logical_and logical_or logical_xor copysign nextafter xlogy clamp clip fmax fmin
    rsub masked_fill float_power heaviside gcd lcm ldexp dist

    abs absolute acos acosh asin asinh atan atanh bitwise_not celu ceil cos cosh deg2rad digamma
    elu erf erfc erfinv exp exp2 expm1 floor frac gelu hardsigmoid hardtanh i0 isfinite isinf
    isnan leaky_relu lgamma log log10 log1p log2 logical_not logit logsigmoid mish nan_to_num neg
    negative positive rad2deg reciprocal relu relu6 round rsqrt selu sgn sigmoid sign silu sin
    sinc sinh softplus softsign sqrt square tan tanh tanhshrink trunc
    """.split()
)
#: operators that move or view data without computing: they do not ask for the device
MOVEMENT = frozenset(
    """
    view reshape unsqueeze squeeze transpose permute t expand expand_as contiguous flatten
    narrow select split chunk unbind index_select stack cat concat concatenate vstack hstack
    float double half long int bool byte short char detach clone repeat tile unfold swapaxes
    movedim flip roll view_as reshape_as resize_ squeeze_ unsqueeze_ t_ ravel type
    requires_grad_ retain_grad pin_memory share_memory_ fill_ zero_ unflatten dsplit tensor_split
    new_tensor data
    """.split()
)
