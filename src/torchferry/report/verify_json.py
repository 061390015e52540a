"""A verdict as JSON, for `torchferry verify --format json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchferry.verification import Verdict


def verdict_json(verdict: Verdict) -> str:
    """The verdict as one JSON object."""
    return json.dumps(verdict.to_json(), indent=2)
