"""Several processes with one index: one process writes; the others update, wait, or return stale results."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from index.cursors import StaleCursor
from index.segments.store import Store
from index.service import SearchIndex
from index.storage import files
from index.storage.locking import IndexBusy, hold_lock, is_locked
from index.storage.metadata import read_metadata
from tests.index.index_checks import find_index_folder, find_location_folder, is_correct, list_orphans
from tests.index.storage.damage import replace_file
from tests.repositories import Repo
from workspace.workspace import Workspace

OpenIndex = Callable[[], SearchIndex]

SEARCH_SCRIPT = """
import json, sys
from pathlib import Path
from index.service import SearchIndex
from workspace.workspace import Workspace

reports = []
index = SearchIndex(Workspace.open(Path(sys.argv[1])))
sys.stdin.readline()
page = index.search("errors", limit=50, progress=lambda done, total, word: reports.append(word))
print(json.dumps([page.commit, page.is_stale, [hit.chunk_id for hit in page.hits], sorted(set(reports))]))
"""


@pytest.mark.process
def test_two_concurrent_processes_build_the_first_index_once(repo: Repo, temporary_key_file: Path) -> None:
    repo.commit({f"notes/n{n}.md": f"# New {n}\n\n" + "errors of all kinds " * 200 for n in range(60)})
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SEARCH_SCRIPT, str(repo.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    responses = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    for commit, is_stale, hits, _ in responses:
        assert (commit, is_stale, len(hits)) == (repo.head(), False, 50)
    assert sum("Indexing documents" in reports for _, _, _, reports in responses) == 1
    assert list_orphans(repo) == []


def test_search_returns_results_during_rebuild_by_another_process(open_index: OpenIndex, repo: Repo) -> None:
    reader, writer = open_index(), open_index()
    before = reader.search("errors retry", limit=50)
    old_folder = find_index_folder(repo)
    writer.rebuild()
    assert not old_folder.exists()
    assert reader.search("errors retry", limit=50) == before
    assert reader.search("nothing of note").hits  # read from deleted files
    for number in range(12):
        repo.commit({"notes/new.md": f"# New {number}\n\nAn okapi.\n"})
        (writer if number % 4 else reader).update_to_tip()
    assert is_correct(reader, repo)
    assert is_correct(writer, repo)
    assert list_orphans(repo) == []


def test_locked_index_is_searched_and_reported_stale(
    open_index: OpenIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    old_commit = open_index().update_to_tip()
    with hold_lock(find_location_folder(repo) / "lock", 0):
        assert is_locked(find_location_folder(repo) / "lock")
        page = open_index().search("jitter")
        assert (page.commit, page.is_stale, len(page.hits)) == (old_commit, False, 1)
        repo.commit({"notes/new.md": "# New\n\nA jitter.\n"})
        page = open_index().search("jitter")
        assert (page.commit, page.is_stale, len(page.hits)) == (old_commit, True, 1)
    assert not is_locked(find_location_folder(repo) / "lock")
    page = open_index().search("jitter")
    assert (page.commit, page.is_stale, len(page.hits)) == (repo.head(), False, 2)


def test_search_waits_for_lock_if_index_is_damaged(
    open_index: OpenIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a search that cannot use the old index reports that it waits, and fails after a timeout."""
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    open_index().update_to_tip()
    for file in find_index_folder(repo).glob("*.flat"):
        replace_file(file, file.read_bytes()[:-1])
    reports: list[str] = []
    pages = []
    index = open_index()
    waiting_event = threading.Event()

    def progress(done: int, total: int, message: str) -> None:
        reports.append(message)
        waiting_event.set()

    def search() -> None:
        pages.append(index.search("jitter", progress=progress))

    thread = threading.Thread(target=search)
    with hold_lock(find_location_folder(repo) / "lock", 0):
        thread.start()
        assert waiting_event.wait(60)
        assert pages == []
    thread.join(60)
    assert [(page.commit, page.is_stale, len(page.hits)) for page in pages] == [(repo.head(), False, 1)]
    assert reports[0].startswith("Waiting")
    assert "Indexing documents" in reports

    for file in find_index_folder(repo).glob("*.flat"):
        replace_file(file, b"")
    monkeypatch.setattr("index.storage.write_lock.FIRST_BUILD_TIMEOUT_S", 0.05)
    with hold_lock(find_location_folder(repo) / "lock", 0), pytest.raises(IndexBusy):
        open_index().search("jitter")


def test_threads_get_stale_results_while_another_thread_indexes(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    old_commit = index.update_to_tip()
    repo.commit({"notes/new.md": "# New\n\nA jitter.\n"})
    reached_event, continue_event = threading.Event(), threading.Event()

    def progress(done: int, total: int, message: str) -> None:
        reached_event.set()
        assert continue_event.wait(60)

    thread = threading.Thread(target=lambda: index.update_to_tip(progress))
    thread.start()
    try:
        assert reached_event.wait(60)
        page = index.search("jitter")
        assert (page.commit, page.is_stale, len(page.hits)) == (old_commit, True, 1)
    finally:
        continue_event.set()
        thread.join()
    page = index.search("jitter")
    assert (page.commit, page.is_stale, len(page.hits)) == (repo.head(), False, 2)


def test_search_during_rebuild_returns_the_same_page(
    index: SearchIndex, open_index: OpenIndex, repo: Repo
) -> None:
    expected = index.search("errors retry", limit=50)
    pages = []

    def progress(done: int, total: int, message: str) -> None:
        pages.append(index.search("errors retry", limit=50))

    open_index().rebuild(progress)
    assert pages
    assert all(page == expected for page in pages)


def test_leftover_files_are_deleted_by_the_next_write(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    (find_location_folder(repo) / "0123456789abcdef").mkdir()
    (find_location_folder(repo) / "metadata.json-00000000.draft").write_bytes(b"half")
    (find_index_folder(repo) / "MAIN_0123456789abcdef.flat").write_bytes(b"half")
    (find_index_folder(repo) / "MAIN_99.flat").write_bytes(b"half")
    (find_index_folder(repo) / "MAIN.tmp").mkdir()
    assert len(open_index().status().leftovers) == len(list_orphans(repo)) == 5
    with hold_lock(find_location_folder(repo) / "lock", 0):
        assert open_index().status().leftovers == ()  # they may belong to the process with the lock
        assert open_index().status().is_busy
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert is_correct(open_index(), repo)
    assert list_orphans(repo) == []

    (find_index_folder(repo) / "MAIN.tmp").mkdir()
    (find_location_folder(repo) / "0123456789abcdef").mkdir()
    assert open_index().sweep() == 2
    assert list_orphans(repo) == []


@pytest.mark.parametrize("file", ["metadata.json", "metadata.sum"])
def test_draft_of_a_live_metadata_writer_is_not_a_leftover(
    open_index: OpenIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Check that no other process deletes the draft; otherwise the writer would fail and lose its stats."""
    writer = open_index()
    writer.update_to_tip()
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    writer.update_to_tip()
    written_event, continue_event, write = threading.Event(), threading.Event(), files.write_file

    def write_and_pause(draft: Path, data: bytes, durable: bool = False) -> None:
        write(draft, data, durable)
        if draft.name.startswith(file):
            written_event.set()
            assert continue_event.wait(60)

    monkeypatch.setattr(files, "write_file", write_and_pause)
    thread = threading.Thread(target=writer.close)
    thread.start()
    try:
        assert written_event.wait(60)
        [draft] = find_location_folder(repo).glob("*.draft")
        assert open_index().status().leftovers == ()
        assert open_index().sweep() == 0
        assert draft.exists()
    finally:
        continue_event.set()
        thread.join(60)
    assert not draft.exists()
    metadata = open_index().metadata()
    assert metadata is not None
    assert metadata.stats.source_commit == repo.head()


@pytest.mark.process
def test_metadata_and_checksum_of_two_writers_never_mix(
    open_index: OpenIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the second writer waits until the first writer has written its checksum."""
    slow_index, fast_index = open_index(), open_index()
    slow_index.update_to_tip()
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    slow_index.update_to_tip()
    reached_event, continue_event, write = threading.Event(), threading.Event(), files.write_atomically
    written_metadata = []

    def write_and_pause(file: Path, data: bytes, durable: bool = False) -> None:
        if file.name == "metadata.sum" and not reached_event.is_set():
            reached_event.set()
            assert continue_event.wait(60)
        write(file, data, durable)
        if file.name == "metadata.sum":
            written_metadata.append(read_metadata(find_location_folder(repo) / "metadata.json"))

    monkeypatch.setattr("index.storage.metadata.write_atomically", write_and_pause)
    first_thread = threading.Thread(target=slow_index.close)
    first_thread.start()
    assert reached_event.wait(60)
    repo.commit({"notes/newer.md": "# Newer\n\nA quagga.\n"})
    fast_index.update_to_tip()
    second_thread = threading.Thread(target=fast_index.close)
    second_thread.start()
    second_thread.join(0.2)
    continue_event.set()
    first_thread.join(60)
    second_thread.join(60)
    assert len(written_metadata) >= 2
    assert None not in written_metadata
    assert written_metadata[-1] is not None
    assert written_metadata[-1].stats.source_commit == repo.head()


def test_reader_deletes_no_files(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    earlier_snapshot = Store(find_index_folder(repo)).read()
    (find_index_folder(repo) / "MAIN_0123456789abcdef.flat").write_bytes(b"unfinished")
    snapshot = Store(find_index_folder(repo)).read()
    assert snapshot.state == earlier_snapshot.state
    assert (find_index_folder(repo) / "MAIN_0123456789abcdef.flat").exists()


def test_removed_lock_file_does_not_block_writers(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    lock = find_location_folder(repo) / "lock"
    with hold_lock(lock, 0):
        lock.unlink()
        with hold_lock(lock, 0), pytest.raises(IndexBusy), hold_lock(lock, 0):
            raise AssertionError("two processes have the lock")
    assert is_correct(open_index(), repo)


def test_index_folder_deleted_at_any_time_is_recreated(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    reports = []

    def progress(done: int, total: int, message: str) -> None:
        if not reports:
            shutil.rmtree(repo.path / ".git" / "docyard")
        reports.append(message)

    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert len(index.search("okapi", progress=progress).hits) == 1
    assert is_correct(index, repo)
    reports.clear()
    index.close()
    shutil.rmtree(repo.path / ".git" / "docyard")
    assert len(index.search("okapi", progress=progress).hits) == 1
    assert is_correct(index, repo)
    assert find_location_folder(repo).is_dir()


def test_cursor_of_a_pruned_commit_is_stale(open_index: OpenIndex, repo: Repo) -> None:
    first_commit = repo.head()
    repo.commit({"notes/new.md": "# New\n\nErrors.\n"})
    cursor = open_index().search("errors", limit=1).next_cursor
    repo.git("reset", "-q", "--hard", first_commit)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    index = open_index()
    with pytest.raises(StaleCursor):
        index.search("errors", limit=1, cursor=cursor)
    assert is_correct(index, repo)


def test_failed_index_location_is_retried_after_delay(
    index: SearchIndex, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.update_to_tip()
    location_folder = find_location_folder(repo)
    (location_folder / "lock").unlink()
    (location_folder / "lock").mkdir()
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert len(index.search("okapi").hits) == 1
    cache_folder = index.status().folder
    assert cache_folder is not None
    assert cache_folder.is_relative_to(tmp_path / "cache")
    (location_folder / "lock").rmdir()
    repo.commit({"notes/new.md": "# New\n\nA quagga.\n"})
    assert len(index.search("quagga").hits) == 1
    assert index.status().folder == cache_folder

    monkeypatch.setattr("index.storage.location.RETRY_AFTER_S", 0.0)
    second_index = SearchIndex(Workspace.open(repo.path))
    (location_folder / "lock").mkdir()
    assert len(second_index.search("quagga").hits) == 1
    assert second_index.status().folder == cache_folder
    (location_folder / "lock").rmdir()
    repo.commit({"notes/new.md": "# New\n\nA wombat.\n"})
    assert len(second_index.search("wombat").hits) == 1
    assert second_index.status().folder == location_folder
    assert is_correct(second_index, repo)
