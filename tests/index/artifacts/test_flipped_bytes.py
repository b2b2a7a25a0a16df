"""One changed byte in any file of an artifact: it is refused or rebuilt, with correct answers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from index.artifacts.artifact import open_artifact
from index.artifacts.frozen import FrozenIndex
from index.artifacts.swap import Artifacts
from index.service import SearchIndex
from tests.index.artifacts.test_artifact import files, lists
from tests.index.storage.damage import put
from workspace.errors import WorkspaceError

FLIPS = 200


def flips(out: Path, count: int) -> list[tuple[Path, int, int]]:
    """Return positions in all files, with equal counts for small and large files."""
    chance = random.Random(5)
    artifact_files = files(out)
    return [
        (
            file := artifact_files[number % len(artifact_files)],
            chance.randrange(file.stat().st_size),
            chance.randrange(1, 256),
        )
        for number in range(count)
    ]


def flip(file: Path, place: int, mask: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= mask
    put(file, data)


def texts(index: SearchIndex) -> list[str]:
    return [index.get(hit.chunk_id).text() for hit in index.search("retries errors").hits]


@pytest.mark.parametrize("has_key", [True, False])
def test_flipped_byte_at_start_is_refused_or_harmless(artifact: Path, key: bytes, has_key: bool) -> None:
    reader_key = key if has_key else None
    whole = FrozenIndex(open_artifact(artifact, key))
    expected, passages = lists(whole), texts(whole)
    metadata = whole.metadata().model_dump()
    # The commit is for provenance only: a malformed one is omitted, and the problem is reported.
    without_commit = {**metadata, "stats": {**metadata["stats"], "source_commit": None}}
    refused = 0
    for file, place, mask in flips(artifact, FLIPS):
        flip(file, place, mask)
        try:
            index = FrozenIndex(open_artifact(artifact, reader_key))
            assert lists(index) == expected
            assert texts(index) == passages
            is_reported = index.artifact.problem is not None
            assert index.metadata().model_dump() == (without_commit if is_reported else metadata)
        except WorkspaceError:
            refused += 1
        flip(file, place, mask)
    assert refused > FLIPS * 0.9  # the rest hit the spaces of a manifest, or its seal
    assert lists(FrozenIndex(open_artifact(artifact, reader_key))) == expected


@pytest.mark.parametrize("has_key", [True, False])
def test_flipped_byte_while_serving_is_refused_or_harmless(artifact: Path, key: bytes, has_key: bool) -> None:
    served = Artifacts(artifact, key if has_key else None)
    right, passages = lists(served.current()), texts(served.current())
    refused = 0
    for file, place, mask in flips(artifact, FLIPS // 4):
        flip(file, place, mask)
        try:
            assert lists(served.current()) == right
            assert texts(served.current()) == passages
        except WorkspaceError:
            refused += 1
        flip(file, place, mask)
    assert refused
    assert lists(served.current()) == right
