"""`pytest -m gpu tests/gpu` compares the simulated GPU with a card. Off by default."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: compares the simulated GPU with a card; needs one")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "gpu" in (config.getoption("markexpr") or ""):
        return
    skip = pytest.mark.skip(reason="needs a card: pytest -m gpu tests/gpu")
    for item in items:
        if item.get_closest_marker("gpu") is not None:
            item.add_marker(skip)
