"""DEV203."""

from __future__ import annotations

from torchferry.core.finding import Severity

from ._birth import BirthRule


class NoiseOnCpu(BirthRule):
    """Noise that is drawn on the CPU for tensors on the GPU.

    What it does:
        Reports `torch.rand`, `torch.randn`, `torch.randint` and other draws in a function when the
        result meets a tensor on the GPU; in a program that is all on the CPU it is a note.

    Why is this bad:
        The draw is on the CPU whatever the arguments of the function are.

    Example:
        import torch

        def sample(mean, std):
            eps = torch.randn(mean.size())
            return mean + eps * std

        sample(torch.zeros(3, device="cuda"), torch.ones(3, device="cuda"))

    Fix:
        import torch

        def sample(mean, std):
            eps = torch.randn_like(mean)
            return mean + eps * std

        sample(torch.zeros(3, device="cuda"), torch.ones(3, device="cuda"))

    Fix safety:
        Safe: the distribution is the same. The stream of numbers of a GPU is another one than the
        CPU's; on the CPU the numbers stay as they were.

    References:
        https://docs.pytorch.org/docs/stable/notes/randomness.html
    """

    code = "DEV203"
    name = "noise-on-cpu"
    severity = Severity.ERROR
    fixable = True
    certain = "`{source}` draws on the CPU and meets a GPU tensor in {op}"
    waiting = "`{source}` draws on the CPU; it fails as soon as its partners are on a GPU"
    advice = "draw with `torch.randn_like(x)`, or with `device=x.device`"
