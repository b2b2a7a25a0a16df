"""Another artifact replaces the served one between two calls, unless it is refused."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from index.artifacts.artifact import open_artifact
from index.artifacts.frozen import FrozenIndex
from index.artifacts.manifest import ArtifactDamaged, NotAnArtifact
from index.artifacts.swap import Artifacts
from index.cursors import StaleCursor
from index.storage.location import METADATA_FILE
from tests.index.artifacts.conftest import Build
from tests.index.storage.damage import put
from tools.registry import Toolbox
from workspace.errors import WorkspaceError

NEWER = {"notes/plain.md": "# Why not?\n\nNothing of note, but of a zebra.\n"}


def wait_for(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.01)


def search_ids(index: FrozenIndex, query: str = "zebra") -> list[str]:
    return [hit.chunk_id for hit in index.search(query).hits]


@pytest.mark.parametrize("has_key", [True, False])
def test_next_call_uses_the_new_artifact(artifact: Path, build_out: Build, key: bytes, has_key: bool) -> None:
    served = Artifacts(artifact, key if has_key else None)
    old = served.current()
    assert search_ids(old) == []
    commit = build_out(NEWER)
    wait_for(lambda: served.current() is not old)
    new = served.current()
    assert search_ids(new) == ["notes/plain.md#_preamble"]
    assert new.search("zebra").commit == new.workspace.snapshot().commit == commit
    assert "zebra" in new.get("notes/plain.md").text()


def test_running_call_reads_its_artifact_to_the_end(artifact: Path, build_out: Build, key: bytes) -> None:
    served = Artifacts(artifact, key)
    served_index = served.current()
    build_out(NEWER)
    wait_for(lambda: served.current() is not served_index)
    for name in served_index.artifact.manifest.files:
        (artifact / name).unlink()
    assert search_ids(served_index) == []
    assert "Nothing of note." in served_index.get("notes/plain.md").text()


def test_replaced_artifact_without_files_is_never_used(artifact: Path, build_out: Build, key: bytes) -> None:
    served = Artifacts(artifact, key)
    for number in range(3):
        build_out({"notes/plain.md": f"# Zebra number {number}\n"})
    assert served.current().search("zebra").hits[0].heading == "Zebra number 2"


def test_cursor_survives_rebuild_of_the_same_documents(artifact: Path, build_out: Build, key: bytes) -> None:
    served = Artifacts(artifact, key)
    old = served.current()
    page = old.search("errors", limit=1)
    build_out({})
    (artifact / METADATA_FILE).touch()
    wait_for(lambda: served.current() is not old)
    assert page.next_cursor is not None
    assert served.current().search("errors", limit=1, cursor=page.next_cursor).hits


def test_cursor_of_the_previous_artifact_is_stale(artifact: Path, build_out: Build, key: bytes) -> None:
    served = Artifacts(artifact, key)
    old = served.current()
    page = old.search("errors", limit=1)
    build_out(NEWER)
    wait_for(lambda: served.current() is not old)
    with pytest.raises(StaleCursor) as stale:
        served.current().search("errors", limit=1, cursor=page.next_cursor)
    commit = served.current().search("errors").commit
    assert commit is not None
    assert stale.value.details == {"cursor_commit": None, "commit": commit}


def test_refused_artifact_is_reported_once_and_old_one_serves(
    artifact: Path, build_out: Build, key: bytes
) -> None:
    errors: list[WorkspaceError] = []
    served = Artifacts(artifact, key, errors.append)
    old = served.current()
    whole = (artifact / METADATA_FILE).read_bytes()
    (artifact / METADATA_FILE).write_bytes(whole[: len(whole) // 2])
    for _ in range(5):
        assert served.current() is old
    assert len(errors) == 1
    page = old.search("retries")
    assert page.hits
    assert page.is_stale
    served._retry_time = 0.0  # as when some seconds have passed
    assert served.current() is old
    assert len(errors) == 1
    build_out(NEWER)
    served._retry_time = 0.0
    wait_for(lambda: served.current() is not old)
    assert not served.current().search("retries").is_stale


def test_removed_artifact_continues_to_serve(artifact: Path, key: bytes) -> None:
    served = Artifacts(artifact, key)
    assert served.current().has_open_files
    shutil.rmtree(artifact)
    assert search_ids(served.current(), "jitter")
    assert served.current().get("guides/retries.md").text()


def test_changed_symlink_swaps_the_artifact(
    artifact: Path, build_out: Build, key: bytes, tmp_path: Path
) -> None:
    releases = [tmp_path / "first", tmp_path / "second", tmp_path / "third"]
    shutil.copytree(artifact, releases[0])
    build_out(NEWER)
    shutil.copytree(artifact, releases[1])
    shutil.copytree(artifact, releases[2])
    (releases[2] / METADATA_FILE).write_bytes(b"{")
    link, draft = tmp_path / "link", tmp_path / "draft"
    link.symlink_to(releases[0])
    served = Artifacts(link, key)
    old = served.current()
    assert search_ids(old) == []
    for release, name in zip(releases[1:], ("second", "second"), strict=True):
        draft.symlink_to(release)
        draft.replace(link)
        wait_for(lambda: served.current() is not old)
        assert served.current().artifact.folder.name == name
        assert search_ids(served.current())
    shutil.rmtree(releases[0])
    assert old.get("notes/plain.md").text()


def test_changed_files_make_calls_fail_until_restored(artifact: Path, key: bytes) -> None:
    served = Artifacts(artifact, key)
    toolbox = Toolbox.for_changing_index(served.current, served.latest, None)
    listed = toolbox.definitions()
    segment = next((artifact / "index").iterdir())
    data = segment.read_bytes()
    put(segment, data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ArtifactDamaged):
        served.current()
    answer = toolbox.call("search_docs", {"query": "retries"}, client="tester")
    assert answer.is_error
    assert answer.data["code"] == "ARTIFACT_DAMAGED"
    assert answer.data["commit"] is None
    assert toolbox.definitions() == listed
    put(segment, data)
    assert not toolbox.call("search_docs", {"query": "retries"}, client="tester").is_error


def test_invalid_artifact_at_start_is_refused(artifact: Path, key: bytes) -> None:
    (artifact / METADATA_FILE).unlink()
    with pytest.raises(NotAnArtifact):
        Artifacts(artifact, key)


@pytest.mark.slow
def test_concurrent_readers_see_one_artifact_per_call(artifact: Path, build_out: Build, key: bytes) -> None:
    """A call's hits and texts are of one artifact while others are built."""
    ended = threading.Event()
    wrong: list[str] = []
    call_count = [0]

    def read(key: bytes | None) -> None:
        try:
            served = Artifacts(artifact, key)
            while not ended.is_set():
                index = served.current()
                for hit in index.search("number").hits:
                    text = index.get(hit.chunk_id).text()
                    if hit.heading not in text:
                        wrong.append(f"{hit.heading} is not in {text}")
                call_count[0] += 1
        except Exception as error:  # a thread's error would be lost
            wrong.append(repr(error))

    readers = [threading.Thread(target=read, args=(reader_key,)) for reader_key in (key, key, None)]
    for reader in readers:
        reader.start()
    for number in range(12):
        build_out({"notes/plain.md": f"# Number {number}\n", f"notes/{number}.md": f"# Number {number}\n"})
    ended.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert call_count[0]
    assert FrozenIndex(open_artifact(artifact, key)).search("number").hits
