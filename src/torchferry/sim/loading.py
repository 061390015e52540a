"""Data loading: what a DataLoader computes in its own process is counted apart.

Fetching a batch (the dataset's items and the collate function) is the host's work on every
machine, and with `num_workers` it happens in other processes: it says nothing of where the
program computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data._utils import fetch

from torchferry.sim import state
from torchferry.sim.patching import Patcher


def _counted_apart(original: Callable[..., Any]) -> Callable[..., Any]:
    def fetch_batch(self: Any, possibly_batched_index: Any) -> Any:
        session = state.running()
        if session is None:
            return original(self, possibly_batched_index)
        counter = session.counter
        counter.loading += 1
        try:
            return original(self, possibly_batched_index)
        finally:
            counter.loading -= 1

    return fetch_batch


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch."""
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        fetcher = getattr(fetch, name, None)
        if fetcher is not None:
            patcher.set(fetcher, "fetch", _counted_apart(fetcher.fetch))
