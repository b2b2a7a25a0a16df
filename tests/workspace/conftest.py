"""Fixtures that several tests of the workspace share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import repositories
from tests.repositories import Repo

# A busy machine would fail an example, or the making of them, by its time alone.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A normal repository with `repositories.FILES` committed on `main`."""
    return repositories.normal(tmp_path / "repo")
