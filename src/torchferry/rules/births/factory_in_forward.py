"""DEV201."""

from __future__ import annotations

from torchferry.core.finding import Severity

from ._birth import BirthRule


class FactoryInForward(BirthRule):
    """A mask, a table or a constant that a function makes on the CPU for tensors on the GPU.

    What it does:
        Reports `torch.zeros`, `torch.ones`, `torch.arange`, `torch.tensor`, `torch.from_numpy` and
        other factories inside a function when their result meets a tensor on the GPU; in a program
        that is all on the CPU it is a note.

    Why is this bad:
        A factory without `device=` makes a CPU tensor, wherever the arguments of the function are:
        the function works on the CPU and fails on a GPU.

    Example:
        import torch

        def attend(q, k):
            keep = torch.ones(q.size(0), k.size(0), dtype=torch.bool).tril()
            return (q @ k.T).masked_fill(~keep, -1e9)

        q = torch.randn(4, 3, device="cuda")
        attend(q, q)

    Fix:
        import torch

        def attend(q, k):
            keep = torch.ones(q.size(0), k.size(0), dtype=torch.bool, device=q.device).tril()
            return (q @ k.T).masked_fill(~keep, -1e9)

        q = torch.randn(4, 3, device="cuda")
        attend(q, q)

    Fix safety:
        Safe: the tensor has the same values, on the device of its partner.

    References:
        https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device
    """

    code = "DEV201"
    name = "factory-in-forward"
    severity = Severity.ERROR
    kinds = ("mask-on-cpu", "position-ids-on-cpu", "constant-on-cpu")
    fixable = True
