"""Where the simulated GPU and FakeTensorMode say different things of a mix of devices, and why."""

from __future__ import annotations


def explained(key: tuple[str, str, str]) -> str | None:
    """Reason for a known disagreement; None if there is none."""
    return None
