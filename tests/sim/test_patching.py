"""Stand-ins look like what they replace, and everything comes back."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

from torchferry.sim.patching import Patcher


class Owner:
    @contextlib.contextmanager
    def pool(self):  # type: ignore[no-untyped-def]
        yield


def test_a_stand_in_keeps_what_torch_hangs_on_a_function() -> None:
    """torch reads `torch.cuda.use_mem_pool.__wrapped__` while torch._dynamo loads."""
    original = vars(Owner)["pool"]
    patcher = Patcher()
    patcher.set(Owner, "pool", lambda: None)
    try:
        assert vars(Owner)["pool"] is not original
        assert vars(Owner)["pool"].__wrapped__ is original.__wrapped__
    finally:
        patcher.undo()
    assert vars(Owner)["pool"] is original


def test_a_name_that_was_not_there_is_gone_again() -> None:
    owner = SimpleNamespace()
    patcher = Patcher()
    patcher.set(owner, "new", 1)
    assert owner.new == 1
    patcher.undo()
    assert not hasattr(owner, "new")
