"""Repositories and servers that the tests of one module share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.server import Era


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a user who has nothing in it."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def anyio_backend() -> str:
    """The event loop on which tests that are marked so run."""
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> Era:
    """Both eras of the protocol, one after the other."""
    chosen: Era = request.param
    return chosen
