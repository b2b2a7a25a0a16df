"""The store of an index: commits are atomic, and files that belong to no commit are deleted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from index.port import State
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.store import Store
from index.storage.files import IndexUnwritable
from index.storage.manifest import (
    FileStamp,
    IndexDamaged,
    IndexManifest,
    read_index_manifest,
    write_index_manifest,
)
from tests.index.documents import make_document, make_segment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    index_folder = tmp_path / "index"
    index_folder.mkdir(mode=0o700)
    return index_folder


def make_segment_reader(path: str, text: str = "# Title\n\n## Section\n") -> SegmentReader:
    return SegmentReader.of(make_segment([make_document(path, text)]))


def make_state(segment_readers: Iterable[SegmentReader], commit: str = "c0ffee") -> State:
    segment_readers = list(segment_readers)
    return State(
        commit,
        sum(segment_reader.document_count for segment_reader in segment_readers),
        sum(segment_reader.size for segment_reader in segment_readers),
        sum(segment_reader.total_length for segment_reader in segment_readers),
        "2026-01-01T00:00:00Z",
        {"lost.md": "b10b"},
    )


def commit_segments(
    store: Store,
    previous: IndexSnapshot | None,
    segment_readers: Iterable[SegmentReader],
    commit: str = "one",
) -> IndexSnapshot:
    segment_readers = list(segment_readers)
    return store.commit(previous, segment_readers, make_state(segment_readers, commit))


def list_paths(snapshot: IndexSnapshot) -> list[str]:
    return sorted(
        segment_reader.segment.path(document)
        for segment_reader in snapshot.segment_readers
        for document in range(segment_reader.segment.document_count)
        if document not in segment_reader.dead_documents
    )


@pytest.mark.parametrize("durable", [False, True])
def test_committed_index_is_read_back(folder: Path, durable: bool) -> None:
    store = Store(folder, durable)
    first_snapshot = commit_segments(store, None, [make_segment_reader("a.md"), make_segment_reader("b.md")])
    second_snapshot = commit_segments(
        store,
        first_snapshot,
        [
            first_snapshot.segment_readers[0].with_dead_documents([0]),
            first_snapshot.segment_readers[1],
            make_segment_reader("c.md"),
        ],
        "two",
    )
    for reader in (store, Store(folder)):
        snapshot = reader.read()
        assert snapshot.number == second_snapshot.number == first_snapshot.number + 1
        assert snapshot.state == second_snapshot.state == make_state(second_snapshot.segment_readers, "two")
        assert list_paths(snapshot) == list_paths(second_snapshot) == ["b.md", "c.md"]
        assert [segment_reader.dead_sections.tolist() for segment_reader in snapshot.segment_readers] == [
            [0, 1],
            [],
            [],
        ]
        assert snapshot.is_untouched()
    assert list_paths(first_snapshot) == ["a.md", "b.md"]


def test_folder_without_a_commit_raises_index_damaged(folder: Path) -> None:
    with pytest.raises(IndexDamaged):
        Store(folder).read()


def test_commit_deletes_files_it_does_not_list(folder: Path) -> None:
    store = Store(folder)
    first_snapshot = commit_segments(store, None, [make_segment_reader("a.md")])
    (folder / "MAIN_0123.flat").touch()
    (folder / "9.manifest-0123.draft").touch()
    second_snapshot = commit_segments(store, first_snapshot, [make_segment_reader("b.md")])
    [remaining_reader] = second_snapshot.segment_readers
    assert {file.name for file in folder.iterdir()} == {
        "1.manifest",
        f"MAIN_{remaining_reader.segment.id}.flat",
    }
    assert first_snapshot.segment_readers[0].segment.record(0).path == "a.md"


def test_known_segments_are_not_opened_again(folder: Path) -> None:
    store = Store(folder)
    first_snapshot = commit_segments(store, None, [make_segment_reader("a.md"), make_segment_reader("b.md")])
    second_snapshot = commit_segments(
        store,
        first_snapshot,
        [
            first_snapshot.segment_readers[0],
            first_snapshot.segment_readers[1].with_dead_documents([0]),
            make_segment_reader("c.md"),
        ],
    )
    reread_snapshot = Store(folder).read(first_snapshot)
    assert reread_snapshot.segment_readers[0] is first_snapshot.segment_readers[0]
    assert reread_snapshot.segment_readers[1].segment is first_snapshot.segment_readers[1].segment
    assert reread_snapshot.segment_readers[1].dead_documents == {0}
    assert store.read(second_snapshot) is second_snapshot


def test_touched_segment_file_is_verified_again(folder: Path) -> None:
    store = Store(folder)
    snapshot = commit_segments(store, None, [make_segment_reader("a.md")])
    [file] = folder.glob("*.flat")
    os.utime(file, (1, 1))
    assert not snapshot.is_untouched()
    assert store.read(snapshot).is_untouched()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(IndexDamaged):
        store.read(snapshot)


@pytest.mark.parametrize("successful_calls", range(4))
def test_commit_failing_at_any_fsync_leaves_a_complete_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch, successful_calls: int
) -> None:
    store = Store(folder)
    first_snapshot = commit_segments(store, None, [make_segment_reader("a.md")])
    calls = 0

    def fail_fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > successful_calls:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail_fsync)
    with pytest.raises(IndexUnwritable, match="No space left on device") as error_info:
        commit_segments(
            store,
            first_snapshot,
            [*first_snapshot.segment_readers, make_segment_reader("b.md"), make_segment_reader("c.md")],
        )
    assert str(folder) not in str(error_info.value.details) + error_info.value.message
    # The synced files are two segments and the manifest; the folder is synced after the commit.
    assert list_paths(Store(folder).read()) == (
        ["a.md"] if successful_calls < 3 else ["a.md", "b.md", "c.md"]
    )
    monkeypatch.undo()
    snapshot = Store(folder).read()
    commit_segments(Store(folder), snapshot, [make_segment_reader("d.md")])
    assert len(list(folder.iterdir())) == 2


def test_reader_survives_concurrent_deletion_of_old_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delete the files of a manifest after a reader has read it and before the reader opens the files."""
    store = Store(folder)
    first_snapshot = commit_segments(store, None, [make_segment_reader("a.md")])
    verify_file = IndexManifest.verify_file
    commits = [lambda: commit_segments(store, first_snapshot, [make_segment_reader("b.md")], "two")]

    def commit_before_verification(manifest: IndexManifest, *arguments: Any) -> FileStamp:
        while commits:
            commits.pop()()
        return verify_file(manifest, *arguments)

    monkeypatch.setattr(IndexManifest, "verify_file", commit_before_verification)
    assert list_paths(Store(folder).read()) == ["b.md"]


@pytest.mark.parametrize("change", [{"chunks": 3}, {"commit": "none", "surplus": 1}])
def test_mismatched_state_raises_index_damaged(folder: Path, change: dict[str, object]) -> None:
    snapshot = commit_segments(Store(folder), None, [make_segment_reader("a.md")])
    manifest = read_index_manifest(folder)
    write_index_manifest(
        folder,
        IndexManifest(snapshot.number, manifest.files, {**manifest.state, **change}, manifest.parts),
    )
    with pytest.raises(IndexDamaged):
        Store(folder).read()


def test_manifest_under_another_number_raises_index_damaged(folder: Path) -> None:
    commit_segments(Store(folder), None, [make_segment_reader("a.md")])
    (folder / "0.manifest").rename(folder / "7.manifest")
    with pytest.raises(IndexDamaged):
        Store(folder).read()
