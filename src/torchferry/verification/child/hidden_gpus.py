"""Makes a machine look as one without a GPU, whatever is in it."""

from __future__ import annotations

from typing import Any

#: for the child's environment: what hides a vendor's cards from its driver
HIDING_ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1"}


def hide() -> None:
    """Hide what no environment variable hides: Apple's and Intel's GPUs."""
    import torch

    def unavailable(*args: Any, **kwargs: Any) -> bool:
        return False

    for backend in ("mps", "xpu"):
        for owner in (getattr(torch, backend, None), getattr(torch.backends, backend, None)):
            if owner is not None and hasattr(owner, "is_available"):
                owner.is_available = unavailable
