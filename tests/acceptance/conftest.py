"""Repositories and servers that the tests of one module share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a user who has nothing in it."""
    return tmp_path_factory.mktemp("home")
