"""What to do where there is no usable PyTorch."""

from __future__ import annotations


def missing_torch_text(problem: str, python: str) -> str:
    """Two lines: what is wrong, and what helps."""
    return (
        f"torchferry: {problem}\n"
        f"The program runs with the PyTorch of {python}, which must be 2.6 or newer. Install it "
        f"there (`{python} -m pip install torch`; a build for the CPU is enough), or name the "
        "Python that has it by --python."
    )
