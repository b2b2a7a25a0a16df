"""Fixtures that several tests of the workspace share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Return a normal repository with `repositories.FILES` committed on `main`."""
    return repositories.create_repository(tmp_path / "repo")
