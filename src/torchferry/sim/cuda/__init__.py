"""Stand-ins for the C functions under torch.cuda and torch.accelerator.

torch's own Python code in torch.cuda runs unchanged on top of them.
"""
