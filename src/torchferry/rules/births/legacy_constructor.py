"""DEV205."""

from __future__ import annotations

from torchferry.core.finding import Severity

from ._birth import BirthRule


class LegacyConstructor(BirthRule):
    """`torch.FloatTensor(...)` and friends, which always allocate on the CPU.

    What it does:
        Reports a legacy constructor in a function whose result meets a tensor on the GPU (a note
        where the whole program is on the CPU).

    Why is this bad:
        The type names of 2017 name the device too: `torch.FloatTensor` is the CPU's, and takes no
        `device=` of a GPU.

    Example:
        import torch

        def best(scores):
            start = torch.FloatTensor(3).zero_()
            return start + scores

        best(torch.ones(3, device="cuda"))

    Fix:
        import torch

        def best(scores):
            start = scores.new_zeros(3)
            return start + scores

        best(torch.ones(3, device="cuda"))

    Fix safety:
        Safe: the tensor is moved behind its constructor.

    References:
        https://docs.pytorch.org/docs/stable/tensors.html
    """

    code = "DEV205"
    name = "legacy-constructor"
    severity = Severity.ERROR
    fixable = True
    word = "Tensor"
    certain = "`{source}` always allocates on the CPU, and meets a GPU tensor in {op}"
    waiting = "`{source}` always allocates on the CPU; it fails once its partners are on a GPU"
    advice = "use `x.new_zeros(...)`, or `torch.zeros(..., device=x.device)`"
