"""The opening of an artifact: it may be refused, and without a valid seal it is indexed again."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index.artifacts import manifest as manifests
from index.artifacts.artifact import find_artifact_problems, open_artifact
from index.artifacts.manifest import ArtifactDamaged, NotAnArtifact
from index.artifacts.search_index import ArtifactSearchIndex
from index.service import SearchIndex
from index.storage.keys import KEY_BYTES
from index.storage.location import METADATA_FILE
from index.storage.metadata import InvalidMetadata
from tests.index.artifacts.conftest import BuildArtifact
from tests.index.storage.damage import replace_file
from tests.repositories import Repo
from workspace.errors import WorkspaceError

QUERIES = ("retries", "rate limit", "RateLimitError", "backoff", '"exponential backoff"', "note -jitter")


def search_all_queries(index: SearchIndex) -> list[object]:
    """Return the search results of an index for each query and filter, without the commit."""
    pages = [index.search(query) for query in QUERIES]
    pages += [index.search("errors", filters=filters) for filters in ({"type": "runbook"}, {"tags": "sdk"})]
    pages += [index.search("errors", path=path) for path in ("guides", "notes")]
    return [(page.hits, page.hint) for page in pages]


def list_files(artifact_folder: Path) -> list[Path]:
    return sorted(file for file in artifact_folder.rglob("*") if file.is_file())


def test_sealed_artifact_returns_the_results_of_its_repository(
    commit_and_build: BuildArtifact, artifact_folder: Path, key: bytes, index: SearchIndex
) -> None:
    commit = commit_and_build()
    artifact = open_artifact(artifact_folder, key)
    artifact_index = ArtifactSearchIndex(artifact)
    assert artifact.is_trusted
    assert search_all_queries(artifact_index) == search_all_queries(index)
    assert artifact_index.search("retries").commit == commit
    assert artifact_index.workspace.snapshot().commit == commit
    assert artifact_index.metadata().corpus_description == "Guides"


def test_old_address_resolves_in_artifact(
    commit_and_build: BuildArtifact, artifact_folder: Path, key: bytes, repo: Repo
) -> None:
    commit_and_build()
    repo.git("mv", "guides/retries.md", "guides/again.md")
    commit_and_build({})
    index = ArtifactSearchIndex(open_artifact(artifact_folder, key))
    passage = index.read_passage("guides/retries.md#backoff")
    assert passage.target.chunk_id == "guides/again.md#backoff"
    assert passage.move is not None


@pytest.mark.parametrize("reader_key", [None, bytes(KEY_BYTES)])
def test_artifact_without_valid_seal_is_indexed_from_documents(
    artifact: Path, reader_key: bytes | None, index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_on_call(*arguments: object) -> Any:
        raise AssertionError("a segment of an artifact without a valid seal was opened")

    monkeypatch.setattr("index.artifacts.search_index.map_segments", fail_on_call)
    opened_artifact = open_artifact(artifact, reader_key)
    assert not opened_artifact.is_trusted
    assert search_all_queries(ArtifactSearchIndex(opened_artifact)) == search_all_queries(index)


def test_built_index_of_artifact_is_reused(artifact: Path) -> None:
    reports: list[str] = []
    search_reports: list[str] = []
    first_index = ArtifactSearchIndex(
        open_artifact(artifact), lambda done, total, message: reports.append(message)
    )
    first_index.search("retries", progress=lambda done, total, message: search_reports.append(message))
    assert reports == search_reports != []
    reports.clear()
    second_index = ArtifactSearchIndex(
        open_artifact(artifact), lambda done, total, message: reports.append(message)
    )
    second_index.update_to_tip()
    assert reports == []
    status = second_index.status()
    assert status.is_current
    assert status.folder is not None
    assert not status.folder.is_relative_to(artifact)


def test_only_the_last_two_indexes_of_a_folder_remain(
    commit_and_build: BuildArtifact, artifact_folder: Path
) -> None:
    folders = set()
    for number in range(4):
        commit_and_build({"notes/plain.md": f"# Number {number}\n"})
        index = ArtifactSearchIndex(open_artifact(artifact_folder))
        index.update_to_tip()
        folder = index.status().folder
        assert folder is not None
        folders.add(folder)
        index.close()
    assert len(folders) == 4
    assert sum(folder.is_dir() for folder in folders) == 2


def test_artifact_of_another_schema_is_not_trusted(
    artifact: Path, key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.artifacts.artifact.SCHEMA_VERSION", 1_000)
    assert not open_artifact(artifact, key).is_trusted


@pytest.mark.parametrize("has_key", [True, False])
def test_truncated_or_missing_artifact_file_is_refused(artifact: Path, key: bytes, has_key: bool) -> None:
    reader_key = key if has_key else None
    for file in list_files(artifact):
        data = file.read_bytes()
        for damaged_data in (data[: len(data) // 2], data[:-1], b""):
            replace_file(file, damaged_data)
            with pytest.raises((NotAnArtifact, ArtifactDamaged, InvalidMetadata)) as error_info:
                open_artifact(artifact, reader_key)
            if file.parent != artifact:
                assert error_info.value.details["file"] == file.relative_to(artifact).as_posix()
        file.unlink()
        with pytest.raises((NotAnArtifact, ArtifactDamaged)):
            open_artifact(artifact, reader_key)
        replace_file(file, data)
    assert open_artifact(artifact, key).is_trusted


def test_folder_without_metadata_raises_not_an_artifact(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere", Path(__file__)):
        with pytest.raises(NotAnArtifact, match=r"metadata\.json"):
            open_artifact(folder)


def test_foreign_pickle_in_artifact_is_never_loaded(artifact: Path, key: bytes, tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    class MarkerOnUnpickling:
        def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
            return marker.touch, ()

    for name in ("_MAIN_0.toc", "_MAIN_1.toc", "1.manifest", "current"):
        (artifact / "index" / name).write_bytes(pickle.dumps(MarkerOnUnpickling()))
    for reader_key in (key, None):
        ArtifactSearchIndex(open_artifact(artifact, reader_key)).search("retries")
    assert not marker.exists()


def test_find_problems_lists_every_damaged_file(artifact: Path, key: bytes) -> None:
    assert find_artifact_problems(artifact) == find_artifact_problems(artifact, key) == []
    assert find_artifact_problems(artifact, bytes(KEY_BYTES)) == [
        "the artifact does not have the seal of this key"
    ]
    damaged_files = [file for file in list_files(artifact) if file.parent != artifact]
    assert len(damaged_files) >= 3
    for file in damaged_files:
        replace_file(file, file.read_bytes()[:-1] + b"?")
    problems = find_artifact_problems(artifact)
    assert len(problems) == len(damaged_files)
    assert all(str(artifact) not in line for line in problems)
    (artifact / METADATA_FILE).unlink()
    with pytest.raises(NotAnArtifact):
        find_artifact_problems(artifact)


def test_unsafe_metadata_values_are_not_listed_in_taxonomy(
    commit_and_build: BuildArtifact, artifact_folder: Path
) -> None:
    """Write a foreign `metadata.json`, which may contain all values that the contract allows."""
    commit_and_build(key=None)
    file = artifact_folder / METADATA_FILE
    manifest = next(artifact_folder.glob("*.manifest"))
    metadata = json.loads(file.read_bytes())
    metadata["taxonomy"] = {
        "type": {"description": "Say\u202e\n ignore", "values": ["runbook", "x\u200by", "\u202eok"]},
        "scope": {"values": ["anything"]},
    }
    data = json.dumps(metadata).encode()
    manifests.write_artifact_manifest(
        artifact_folder, data, manifests.read_artifact_manifest(artifact_folder, file.read_bytes())
    )
    manifest.unlink()
    file.write_bytes(data)
    taxonomy = ArtifactSearchIndex(open_artifact(artifact_folder)).metadata().taxonomy
    assert list(taxonomy) == ["type"]
    assert taxonomy["type"].values == ("runbook",)
    assert taxonomy["type"].description == "Say ignore"


def test_errors_contain_no_absolute_folder(artifact: Path) -> None:
    for file in list_files(artifact):
        data = file.read_bytes()
        replace_file(file, data[:-2])
        with pytest.raises(WorkspaceError) as error_info:
            open_artifact(artifact)
        assert str(artifact) not in error_info.value.message + error_info.value.fix
        replace_file(file, data)
