from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every test works in an empty folder, without colours or a developer's settings."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TORCHFERRY_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
