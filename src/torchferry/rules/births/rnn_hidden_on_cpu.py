"""DEV202."""

from __future__ import annotations

from torchferry.core.finding import Severity

from ._birth import BirthRule


class RnnHiddenOnCpu(BirthRule):
    """A hidden state of an LSTM, GRU or RNN that is made on the CPU.

    What it does:
        Reports the factory of a hidden or cell state that a recurrent layer on the GPU is given;
        in a program that is all on the CPU it is a note.

    Why is this bad:
        "Input and hidden tensors are not at the same device".

    Example:
        import torch
        from torch import nn

        rnn = nn.GRU(2, 3).to("cuda")

        def run_rnn(x):
            h = torch.zeros(1, x.size(1), 3)
            return rnn(x, h)

        run_rnn(torch.ones(4, 1, 2, device="cuda"))

    Fix:
        import torch
        from torch import nn

        rnn = nn.GRU(2, 3).to("cuda")

        def run_rnn(x):
            h = torch.zeros(1, x.size(1), 3, device=x.device)
            return rnn(x, h)

        run_rnn(torch.ones(4, 1, 2, device="cuda"))

    Fix safety:
        Safe: zeros are zeros on every device.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
    """

    code = "DEV202"
    name = "rnn-hidden-on-cpu"
    severity = Severity.ERROR
    fixable = True
    certain = "`{source}` makes the hidden state on the CPU, but the {op} is on the GPU"
    waiting = "`{source}` makes the hidden state on the CPU; it fails once the layer is on a GPU"
    advice = "make it on the device of the input, or give no hidden state"
