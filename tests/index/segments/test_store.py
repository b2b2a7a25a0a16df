"""The store of an index: commits are atomic, and files of no commit are deleted."""

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
from index.storage.manifest import FileStamp, IndexDamaged, Manifest, read_manifest, write_manifest
from tests.index.pages import make_page, make_segment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "index"
    made.mkdir(mode=0o700)
    return made


def part(path: str, text: str = "# Title\n\n## Section\n") -> SegmentReader:
    return SegmentReader.of(make_segment([make_page(path, text)]))


def state(parts: Iterable[SegmentReader], commit: str = "c0ffee") -> State:
    parts = list(parts)
    return State(
        commit,
        sum(part.document_count for part in parts),
        sum(part.size for part in parts),
        sum(part.total_length for part in parts),
        "2026-01-01T00:00:00Z",
        {"lost.md": "b10b"},
    )


def commit(
    store: Store, previous: IndexSnapshot | None, parts: Iterable[SegmentReader], name: str = "one"
) -> IndexSnapshot:
    parts = list(parts)
    return store.commit(previous, parts, state(parts, name))


def paths(generation: IndexSnapshot) -> list[str]:
    return sorted(
        part.segment.path(page)
        for part in generation.segment_readers
        for page in range(part.segment.document_count)
        if page not in part.dead_documents
    )


@pytest.mark.parametrize("durable", [False, True])
def test_committed_index_is_read_back(folder: Path, durable: bool) -> None:
    store = Store(folder, durable)
    first = commit(store, None, [part("a.md"), part("b.md")])
    second = commit(
        store,
        first,
        [first.segment_readers[0].with_dead_documents([0]), first.segment_readers[1], part("c.md")],
        "two",
    )
    for reader in (store, Store(folder)):
        read = reader.read()
        assert read.number == second.number == first.number + 1
        assert read.state == second.state == state(second.segment_readers, "two")
        assert paths(read) == paths(second) == ["b.md", "c.md"]
        assert [part.dead_sections.tolist() for part in read.segment_readers] == [[0, 1], [], []]
        assert read.is_untouched()
    assert paths(first) == ["a.md", "b.md"]


def test_index_in_memory_is_readable_by_its_own_store_only() -> None:
    store = Store(None)
    with pytest.raises(IndexDamaged):
        store.read()
    made = commit(store, None, [part("a.md")])
    assert store.read() is made
    assert commit(store, made, []).number == made.number + 1
    with pytest.raises(IndexDamaged):
        Store(None).read()


def test_folder_without_a_commit_raises_index_damaged(folder: Path) -> None:
    with pytest.raises(IndexDamaged):
        Store(folder).read()


def test_commit_deletes_files_it_does_not_list(folder: Path) -> None:
    store = Store(folder)
    first = commit(store, None, [part("a.md")])
    (folder / "MAIN_0123.flat").touch()
    (folder / "9.manifest-0123.draft").touch()
    second = commit(store, first, [part("b.md")])
    [remaining] = second.segment_readers
    assert {file.name for file in folder.iterdir()} == {
        "1.manifest",
        f"MAIN_{remaining.segment.id}.flat",
    }
    assert first.segment_readers[0].segment.record(0).path == "a.md"


def test_known_segments_are_not_opened_again(folder: Path) -> None:
    store = Store(folder)
    first = commit(store, None, [part("a.md"), part("b.md")])
    second = commit(
        store,
        first,
        [first.segment_readers[0], first.segment_readers[1].with_dead_documents([0]), part("c.md")],
    )
    read = Store(folder).read(first)
    assert read.segment_readers[0] is first.segment_readers[0]
    assert read.segment_readers[1].segment is first.segment_readers[1].segment
    assert read.segment_readers[1].dead_documents == {0}
    assert store.read(second) is second


def test_touched_segment_file_is_verified_again(folder: Path) -> None:
    store = Store(folder)
    made = commit(store, None, [part("a.md")])
    [file] = folder.glob("*.flat")
    os.utime(file, (1, 1))
    assert not made.is_untouched()
    assert store.read(made).is_untouched()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(IndexDamaged):
        store.read(made)


@pytest.mark.parametrize("fails", range(4))
def test_commit_failing_at_any_fsync_leaves_a_whole_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    store = Store(folder)
    first = commit(store, None, [part("a.md")])
    calls = 0

    def failing(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > fails:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(IndexUnwritable, match="No space left on device") as refused:
        commit(store, first, [*first.segment_readers, part("b.md"), part("c.md")])
    assert str(folder) not in str(refused.value.details) + refused.value.message
    # Two segments, the manifest, and last the folder, when the commit is done already.
    assert paths(Store(folder).read()) == (["a.md"] if fails < 3 else ["a.md", "b.md", "c.md"])
    monkeypatch.undo()
    again = Store(folder).read()
    commit(Store(folder), again, [part("d.md")])
    assert len(list(folder.iterdir())) == 2


def test_reader_survives_concurrent_deletion_of_old_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer deletes the files of a manifest after a reader has read it, before the files are opened."""
    store = Store(folder)
    first = commit(store, None, [part("a.md")])
    check = Manifest.check
    commits = [lambda: commit(store, first, [part("b.md")], "two")]

    def late(manifest: Manifest, *arguments: Any) -> FileStamp:
        while commits:
            commits.pop()()
        return check(manifest, *arguments)

    monkeypatch.setattr(Manifest, "check", late)
    assert paths(Store(folder).read()) == ["b.md"]


@pytest.mark.parametrize("change", [{"chunks": 3}, {"commit": "none", "surplus": 1}])
def test_mismatched_state_raises_index_damaged(folder: Path, change: dict[str, object]) -> None:
    made = commit(Store(folder), None, [part("a.md")])
    manifest = read_manifest(folder)
    write_manifest(
        folder, Manifest(made.number, manifest.files, {**manifest.state, **change}, manifest.parts)
    )
    with pytest.raises(IndexDamaged):
        Store(folder).read()


def test_manifest_under_another_number_raises_index_damaged(folder: Path) -> None:
    commit(Store(folder), None, [part("a.md")])
    (folder / "0.manifest").rename(folder / "7.manifest")
    with pytest.raises(IndexDamaged):
        Store(folder).read()
