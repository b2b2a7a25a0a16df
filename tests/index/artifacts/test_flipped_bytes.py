"""A changed byte in any file of an artifact: the artifact is refused, or its results are still correct."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from index.artifacts.artifact import open_artifact
from index.artifacts.search_index import ArtifactSearchIndex
from index.artifacts.swap import Artifacts
from index.service import SearchIndex
from tests.index.artifacts.test_artifact import list_files, search_all_queries
from tests.index.storage.damage import replace_file
from workspace.errors import WorkspaceError

CHANGE_COUNT = 200


def choose_changes(artifact_folder: Path, count: int) -> list[tuple[Path, int, int]]:
    """Return a file, a position and a bit mask for each change, with equally many changes in each file."""
    rng = random.Random(5)
    artifact_files = list_files(artifact_folder)
    return [
        (
            file := artifact_files[number % len(artifact_files)],
            rng.randrange(file.stat().st_size),
            rng.randrange(1, 256),
        )
        for number in range(count)
    ]


def flip_bits(file: Path, position: int, mask: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= mask
    replace_file(file, data)


def read_hit_texts(index: SearchIndex) -> list[str]:
    return [index.read_passage(hit.chunk_id).text() for hit in index.search("retries errors").hits]


@pytest.mark.parametrize("has_key", [True, False])
def test_flipped_byte_before_opening_is_refused_or_harmless(
    artifact: Path, key: bytes, has_key: bool
) -> None:
    reader_key = key if has_key else None
    undamaged_index = ArtifactSearchIndex(open_artifact(artifact, key))
    expected, passages = search_all_queries(undamaged_index), read_hit_texts(undamaged_index)
    metadata = undamaged_index.metadata().model_dump()
    # No result depends on the commit, so a malformed commit is omitted, and the problem is reported.
    without_commit = {**metadata, "stats": {**metadata["stats"], "source_commit": None}}
    refusal_count = 0
    for file, position, mask in choose_changes(artifact, CHANGE_COUNT):
        flip_bits(file, position, mask)
        try:
            index = ArtifactSearchIndex(open_artifact(artifact, reader_key))
            assert search_all_queries(index) == expected
            assert read_hit_texts(index) == passages
            is_reported = index.artifact.problem is not None
            assert index.metadata().model_dump() == (without_commit if is_reported else metadata)
        except WorkspaceError:
            refusal_count += 1
        flip_bits(file, position, mask)
    assert refusal_count > CHANGE_COUNT * 0.9  # the others change white space or the seal of a manifest
    assert search_all_queries(ArtifactSearchIndex(open_artifact(artifact, reader_key))) == expected


@pytest.mark.parametrize("has_key", [True, False])
def test_flipped_byte_while_serving_is_refused_or_harmless(artifact: Path, key: bytes, has_key: bool) -> None:
    artifacts = Artifacts(artifact, key if has_key else None)
    expected, passages = (
        search_all_queries(artifacts.get_open_index()),
        read_hit_texts(artifacts.get_open_index()),
    )
    refusal_count = 0
    for file, position, mask in choose_changes(artifact, CHANGE_COUNT // 4):
        flip_bits(file, position, mask)
        try:
            assert search_all_queries(artifacts.get_open_index()) == expected
            assert read_hit_texts(artifacts.get_open_index()) == passages
        except WorkspaceError:
            refusal_count += 1
        flip_bits(file, position, mask)
    assert refusal_count
    assert search_all_queries(artifacts.get_open_index()) == expected
