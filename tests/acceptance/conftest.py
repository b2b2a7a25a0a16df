"""Fixtures: a home folder for each module, the name of the event loop, and the modes of the client."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.server import ProtocolMode


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty home folder."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def anyio_backend() -> str:
    """Return the name of the event loop of tests that are marked with anyio."""
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def protocol(request: pytest.FixtureRequest) -> ProtocolMode:
    """Return a mode of the SDK's client; each mode has its own protocol version."""
    mode: ProtocolMode = request.param
    return mode
