"""Where the simulated GPU and FakeTensorMode say different things of a mix of devices, and why.

Each was decided from PyTorch's sources (native_functions.yaml and ATen/native): they side with the
simulated GPU. benchmarks/sim_against_fake_tensors.py finds what is not listed;
test_fake_tensors.py checks a part each day.
"""

from __future__ import annotations

from dataclasses import dataclass

RUNS, REFUSED = "runs", "device error"


@dataclass(frozen=True)
class Reason:
    """Why the two differ: what FakeTensorMode says, what CUDA does."""

    fake: str
    cuda: str
    text: str


WRAPPER = Reason(
    RUNS,
    REFUSED,
    "FakeTensorMode lets every 0-dim CPU tensor join. The wrapper that PyTorch generates for this "
    "CUDA kernel (no `device_check: NoCheck` in native_functions.yaml) lets none.",
)
INNER_WRAPPER = Reason(
    RUNS,
    REFUSED,
    "As above: the operator is made of one whose CUDA kernel has such a wrapper (complex_out, "
    "polar_out, _prelu_kernel, index_select, put_).",
)
GPU_KERNEL = Reason(
    RUNS,
    REFUSED,
    "TensorIterator lets a 0-dim CPU tensor join, but the kernel runs by `gpu_kernel`, which takes "
    "only tensors of the GPU (for lerp: only the weight may be a number of the host).",
)
ITERATOR = Reason(
    RUNS,
    REFUSED,
    "The kernel's TensorIterator is built without `allow_cpu_scalars`.",
)
IN_PLACE = Reason(
    RUNS,
    REFUSED,
    "The operator computes in place on a tensor made of this argument: a 0-dim CPU tensor cannot "
    "be written beside tensors of the GPU.",
)
SAME_MASK = Reason(
    RUNS,
    REFUSED,
    "masked_fill__cuda checks itself that self and mask are on the same device, 0-dim or not.",
)
CONVOLUTION = Reason(
    RUNS,
    REFUSED,
    "convolution checks that input, weight and bias have one type (`Input type "
    "(torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same`).",
)
INDICES = Reason(
    RUNS,
    REFUSED,
    "Indices of a GPU cannot index a tensor of the CPU; the fake kernel does not look.",
)
RANK_ONE = Reason(
    RUNS,
    REFUSED,
    "The tolerance gets a dimension before it is multiplied: it is no number of the host any more.",
)
CROSS_ENTROPY = Reason(
    RUNS,
    REFUSED,
    "The simulated GPU runs its mm and nll_loss, whose CUDA wrappers check; FakeTensorMode sees no "
    "mix. New in 2.13: its C++ was not read.",
)
TYPE_AS = Reason(
    RUNS,
    REFUSED,
    "FakeTensorMode runs a decomposition that moves the mask (`mask.type_as(grad_output)`); the "
    "wrapper of native_dropout_backward_cuda checks.",
)
COPY = Reason(
    REFUSED,
    RUNS,
    "Made of clone and copy_, which crosses devices; FakeTensorMode runs a decomposition.",
)
HOST_INDICES = Reason(
    REFUSED,
    RUNS,
    "Made of _unsafe_index, which takes indices of the CPU; FakeTensorMode runs a decomposition.",
)

#: Operators of the database by reason.
_OPERATORS: dict[Reason, str] = {
    WRAPPER: """addbmm addmm addmm.decomposed addmv addr baddbmm bucketize searchsorted gather gcd
        lcm igamma igammac logaddexp logaddexp2 nextafter index_select index_add index_copy
        index_reduce.amax index_reduce.amin index_reduce.mean index_reduce.prod masked_scatter
        normal take scatter scatter_add""",
    INNER_WRAPPER: "complex polar nn.functional.prelu nn.functional.embedding put",
    GPU_KERNEL: """lerp nn.functional.binary_cross_entropy nn.functional.mse_loss
        nn.functional.smooth_l1_loss nn.functional.huber_loss""",
    ITERATOR: "index_fill",
    IN_PLACE: """nn.functional.binary_cross_entropy_with_logits nn.functional.soft_margin_loss""",
    SAME_MASK: "masked_fill",
    CONVOLUTION: """nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d
        nn.functional.conv_transpose1d nn.functional.conv_transpose2d
        nn.functional.conv_transpose3d""",
    INDICES: "__getitem__ index_put _unsafe_masked_index_put_accumulate",
    RANK_ONE: "linalg.pinv",
    CROSS_ENTROPY: """nn.functional.linear_cross_entropy.chunked
        nn.functional.linear_cross_entropy.chunked_none""",
    TYPE_AS: "native_dropout_backward",
    COPY: "select_scatter as_strided_scatter",
    HOST_INDICES: "_unsafe_masked_index",
}
DISAGREEMENTS = {name: reason for reason, names in _OPERATORS.items() for name in names.split()}


def explained(operator: str, fake: str, sim: str) -> Reason | None:
    """Reason for a disagreement; None if there is none."""
    reason = DISAGREEMENTS.get(operator)
    return reason if reason is not None and (reason.fake, reason.cuda) == (fake, sim) else None
