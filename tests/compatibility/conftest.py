"""Fixtures: the unpacked data of version 0.1.0, and the present version as processes of the same user."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.compatibility.versions import ROOT, Client, Version
from tests.compatibility.write_archive import ARCHIVE, TOOLSETS
from tests.repositories import Repo

RecordedData = dict[str, Any]


class OldData(NamedTuple):
    """A copy of the archive: the repository and recorded responses of 0.1.0, and the present version."""

    folder: Path
    repo: Repo
    recorded_data: RecordedData
    present_version: Version

    def make_version_with_token(self, name: str) -> Version:
        """Return the present version with a token that 0.1.0 created, by the token's name."""
        secret = self.recorded_data["secrets"][name]
        return Version(ROOT, self.present_version.home, variables={"DOCYARD_TOKEN": secret})


def unpack(folder: Path) -> OldData:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    recorded_data = json.loads((folder / "facts.json").read_bytes())
    return OldData(folder, Repo(folder / "repository"), recorded_data, Version(ROOT, folder / "home"))


@pytest.fixture
def old_copy(tmp_path: Path) -> OldData:
    """Return a copy of the data that a test may change."""
    return unpack(tmp_path)


@pytest.fixture(scope="session")
def shared_copy(tmp_path_factory: pytest.TempPathFactory) -> OldData:
    """Return the copy that tests only read."""
    return unpack(tmp_path_factory.mktemp("version-0.1.0"))


@pytest.fixture(scope="session")
def client(shared_copy: OldData) -> Iterator[Client]:
    """Yield a client of a server of the present version that serves the shared copy."""
    with shared_copy.present_version.serve(
        "-C", shared_copy.repo.path, "--no-sync", "--toolsets", TOOLSETS
    ) as client:
        yield client


@pytest.fixture
def serve() -> Callable[..., Any]:
    """Return a function that starts a server of the present version, with all tools, for a copy."""
    return lambda old_copy: old_copy.present_version.serve(
        "-C", old_copy.repo.path, "--no-sync", "--toolsets", TOOLSETS
    )
