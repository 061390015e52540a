"""pytest on a simulated GPU: `pytest --simulate-gpu[=N]`, a marker and a fixture.

- `--simulate-gpu=2`: every test runs on a simulated machine with two GPUs (one without a number).
- `@pytest.mark.simulated_gpu(gpus=2, memory="16GB")`: this test does.
- the fixture `simulated_gpu`: the session object of the test.

Off by default. Imports torch only when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from torchferry.sim.session import Session

_MARKER = "simulated_gpu"
_SESSION: pytest.StashKey[Any] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("torchferry")
    group.addoption(
        "--simulate-gpu",
        nargs="?",
        const=1,
        default=0,
        type=int,
        metavar="N",
        help="run every test on a simulated machine with N GPUs (default 1)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line(
        "markers",
        "simulated_gpu(gpus=1, memory='80GB', name=..., capability=..., rng=...): "
        "run the test on a simulated GPU",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say in the header that GPUs are simulated."""
    count = config.getoption("--simulate-gpu")
    return f"torchferry: {count} simulated GPU(s)" if count else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Run setup, call and teardown of a marked test inside a session."""
    settings = _settings(item)
    if settings is None:
        return (yield)
    from torchferry.sim import simulate

    with simulate(**settings) as session:
        item.stash[_SESSION] = session
        try:
            return (yield)
        finally:
            del item.stash[_SESSION]


def _settings(item: pytest.Item) -> dict[str, Any] | None:
    """Settings of the item's machine, None if it runs without one."""
    marker = item.get_closest_marker(_MARKER)
    if marker is not None:
        return dict(marker.kwargs)
    count = item.config.getoption("--simulate-gpu")
    if count:
        return {"gpus": count}
    return {} if _MARKER in getattr(item, "fixturenames", ()) else None


@pytest.fixture
def simulated_gpu(request: pytest.FixtureRequest) -> Session:
    """The session that the test runs in: its account, trace and memory."""
    session: Session = request.node.stash[_SESSION]
    return session
