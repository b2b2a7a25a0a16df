"""The served artifact is replaced by a new one between two calls, unless the new one is refused."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from index.artifacts.artifact import open_artifact
from index.artifacts.manifest import ArtifactDamaged, NotAnArtifact
from index.artifacts.search_index import ArtifactSearchIndex
from index.artifacts.swap import Artifacts
from index.cursors import StaleCursor
from index.storage.location import METADATA_FILE
from tests.index.artifacts.conftest import BuildArtifact
from tests.index.storage.damage import replace_file
from tools.dispatcher import ToolDispatcher
from workspace.errors import WorkspaceError

NEW_DOCUMENTS = {"notes/plain.md": "# Why not?\n\nNothing of note, but of a zebra.\n"}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def search_ids(index: ArtifactSearchIndex, query: str = "zebra") -> list[str]:
    return [hit.chunk_id for hit in index.search(query).hits]


@pytest.mark.parametrize("has_key", [True, False])
def test_next_call_uses_the_new_artifact(
    artifact: Path, commit_and_build: BuildArtifact, key: bytes, has_key: bool
) -> None:
    artifacts = Artifacts(artifact, key if has_key else None)
    old_index = artifacts.get_open_index()
    assert search_ids(old_index) == []
    commit = commit_and_build(NEW_DOCUMENTS)
    wait_until(lambda: artifacts.get_open_index() is not old_index)
    new_index = artifacts.get_open_index()
    assert search_ids(new_index) == ["notes/plain.md#_preamble"]
    assert new_index.search("zebra").commit == new_index.workspace.snapshot().commit == commit
    assert "zebra" in new_index.read_passage("notes/plain.md").text()


def test_running_call_reads_only_its_artifact(
    artifact: Path, commit_and_build: BuildArtifact, key: bytes
) -> None:
    artifacts = Artifacts(artifact, key)
    served_index = artifacts.get_open_index()
    commit_and_build(NEW_DOCUMENTS)
    wait_until(lambda: artifacts.get_open_index() is not served_index)
    for name in served_index.artifact.manifest.files:
        (artifact / name).unlink()
    assert search_ids(served_index) == []
    assert "Nothing of note." in served_index.read_passage("notes/plain.md").text()


def test_artifact_whose_files_were_deleted_is_never_used(
    artifact: Path, commit_and_build: BuildArtifact, key: bytes
) -> None:
    artifacts = Artifacts(artifact, key)
    for number in range(3):
        commit_and_build({"notes/plain.md": f"# Zebra number {number}\n"})
    assert artifacts.get_open_index().search("zebra").hits[0].heading == "Zebra number 2"


def test_cursor_survives_rebuild_of_the_same_documents(
    artifact: Path, commit_and_build: BuildArtifact, key: bytes
) -> None:
    artifacts = Artifacts(artifact, key)
    old_index = artifacts.get_open_index()
    page = old_index.search("errors", limit=1)
    commit_and_build({})
    (artifact / METADATA_FILE).touch()
    wait_until(lambda: artifacts.get_open_index() is not old_index)
    assert page.next_cursor is not None
    assert artifacts.get_open_index().search("errors", limit=1, cursor=page.next_cursor).hits


def test_cursor_of_the_previous_artifact_is_stale(
    artifact: Path, commit_and_build: BuildArtifact, key: bytes
) -> None:
    artifacts = Artifacts(artifact, key)
    old_index = artifacts.get_open_index()
    page = old_index.search("errors", limit=1)
    commit_and_build(NEW_DOCUMENTS)
    wait_until(lambda: artifacts.get_open_index() is not old_index)
    with pytest.raises(StaleCursor) as error_info:
        artifacts.get_open_index().search("errors", limit=1, cursor=page.next_cursor)
    commit = artifacts.get_open_index().search("errors").commit
    assert commit is not None
    assert error_info.value.details == {"cursor_commit": None, "commit": commit}


def test_refused_artifact_is_reported_once_and_old_one_serves(
    artifact: Path, commit_and_build: BuildArtifact, key: bytes
) -> None:
    errors: list[WorkspaceError] = []
    artifacts = Artifacts(artifact, key, errors.append)
    old_index = artifacts.get_open_index()
    metadata = (artifact / METADATA_FILE).read_bytes()
    (artifact / METADATA_FILE).write_bytes(metadata[: len(metadata) // 2])
    for _ in range(5):
        assert artifacts.get_open_index() is old_index
    assert len(errors) == 1
    page = old_index.search("retries")
    assert page.hits
    assert page.is_stale
    artifacts._retry_time = 0.0  # as if the delay were over
    assert artifacts.get_open_index() is old_index
    assert len(errors) == 1
    commit_and_build(NEW_DOCUMENTS)
    artifacts._retry_time = 0.0
    wait_until(lambda: artifacts.get_open_index() is not old_index)
    assert not artifacts.get_open_index().search("retries").is_stale


def test_removed_artifact_continues_to_serve(artifact: Path, key: bytes) -> None:
    artifacts = Artifacts(artifact, key)
    assert artifacts.get_open_index().has_all_files_open
    shutil.rmtree(artifact)
    assert search_ids(artifacts.get_open_index(), "jitter")
    assert artifacts.get_open_index().read_passage("guides/retries.md").text()


def test_changed_symlink_swaps_the_artifact(
    artifact: Path, commit_and_build: BuildArtifact, key: bytes, tmp_path: Path
) -> None:
    releases = [tmp_path / "first", tmp_path / "second", tmp_path / "third"]
    shutil.copytree(artifact, releases[0])
    commit_and_build(NEW_DOCUMENTS)
    shutil.copytree(artifact, releases[1])
    shutil.copytree(artifact, releases[2])
    (releases[2] / METADATA_FILE).write_bytes(b"{")
    link, draft = tmp_path / "link", tmp_path / "draft"
    link.symlink_to(releases[0])
    artifacts = Artifacts(link, key)
    old_index = artifacts.get_open_index()
    assert search_ids(old_index) == []
    for release, name in zip(releases[1:], ("second", "second"), strict=True):
        draft.symlink_to(release)
        draft.replace(link)
        wait_until(lambda: artifacts.get_open_index() is not old_index)
        assert artifacts.get_open_index().artifact.folder.name == name
        assert search_ids(artifacts.get_open_index())
    shutil.rmtree(releases[0])
    assert old_index.read_passage("notes/plain.md").text()


def test_changed_files_make_calls_fail_until_restored(artifact: Path, key: bytes) -> None:
    artifacts = Artifacts(artifact, key)
    dispatcher = ToolDispatcher.for_changing_index(artifacts.get_open_index, artifacts.get_index, None)
    definitions = dispatcher.definitions()
    segment = next((artifact / "index").iterdir())
    data = segment.read_bytes()
    replace_file(segment, data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ArtifactDamaged):
        artifacts.get_open_index()
    response = dispatcher.call("search_docs", {"query": "retries"}, client="tester")
    assert response.is_error
    assert response.data["code"] == "ARTIFACT_DAMAGED"
    assert response.data["commit"] is None
    assert dispatcher.definitions() == definitions
    replace_file(segment, data)
    assert not dispatcher.call("search_docs", {"query": "retries"}, client="tester").is_error


def test_invalid_artifact_at_start_is_refused(artifact: Path, key: bytes) -> None:
    (artifact / METADATA_FILE).unlink()
    with pytest.raises(NotAnArtifact):
        Artifacts(artifact, key)


@pytest.mark.slow
def test_concurrent_readers_see_one_artifact_per_call(
    artifact: Path, commit_and_build: BuildArtifact, key: bytes
) -> None:
    """Check that the hits and texts of a call are from one artifact while other artifacts are built."""
    stop_event = threading.Event()
    problems: list[str] = []
    call_count = [0]

    def read(key: bytes | None) -> None:
        try:
            artifacts = Artifacts(artifact, key)
            while not stop_event.is_set():
                index = artifacts.get_open_index()
                for hit in index.search("number").hits:
                    text = index.read_passage(hit.chunk_id).text()
                    if hit.heading not in text:
                        problems.append(f"{hit.heading} is not in {text}")
                call_count[0] += 1
        except Exception as error:  # pytest does not see an error in a thread
            problems.append(repr(error))

    readers = [threading.Thread(target=read, args=(reader_key,)) for reader_key in (key, key, None)]
    for reader in readers:
        reader.start()
    for number in range(12):
        commit_and_build(
            {"notes/plain.md": f"# Number {number}\n", f"notes/{number}.md": f"# Number {number}\n"}
        )
    stop_event.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert call_count[0]
    assert ArtifactSearchIndex(open_artifact(artifact, key)).search("number").hits
