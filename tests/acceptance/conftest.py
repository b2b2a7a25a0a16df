"""Fixtures: a home folder for each module, the name of the event loop, and the protocol versions."""

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
    """Return a protocol version; the tests run with each of them."""
    version: ProtocolMode = request.param
    return version
