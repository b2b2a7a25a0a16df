"""Several processes and one index: one writes; the others follow, wait, or return stale results."""

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
from tests.index.lists import index_folder, is_correct, list_orphans, location_folder
from tests.index.storage.damage import put
from tests.repositories import Repo
from workspace.workspace import Workspace

Open = Callable[[], SearchIndex]

START = """
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
def test_two_processes_at_once_build_the_first_index_once(repo: Repo, own_key: Path) -> None:
    repo.commit({f"notes/n{n}.md": f"# New {n}\n\n" + "errors of all kinds " * 200 for n in range(60)})
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", START, str(repo.path)],
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
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    for commit, stale, hits, _ in answers:
        assert (commit, stale, len(hits)) == (repo.head(), False, 50)
    assert sum("Indexing documents" in reports for _, _, _, reports in answers) == 1
    assert list_orphans(repo) == []


def test_reader_answers_during_rebuild_by_another_process(open_index: Open, repo: Repo) -> None:
    reader, writer = open_index(), open_index()
    before = reader.search("errors retry", limit=50)
    old = index_folder(repo)
    writer.rebuild()
    assert not old.exists()
    assert reader.search("errors retry", limit=50) == before
    assert reader.search("nothing of note").hits  # read from deleted files
    for number in range(12):
        repo.commit({"notes/new.md": f"# New {number}\n\nAn okapi.\n"})
        (writer if number % 4 else reader).follow()
    assert is_correct(reader, repo)
    assert is_correct(writer, repo)
    assert list_orphans(repo) == []


def test_locked_index_is_searched_and_reported_stale(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    old = open_index().follow()
    with hold_lock(location_folder(repo) / "lock", 0):
        assert is_locked(location_folder(repo) / "lock")
        page = open_index().search("jitter")
        assert (page.commit, page.is_stale, len(page.hits)) == (old, False, 1)
        repo.commit({"notes/new.md": "# New\n\nA jitter.\n"})
        page = open_index().search("jitter")
        assert (page.commit, page.is_stale, len(page.hits)) == (old, True, 1)
    assert not is_locked(location_folder(repo) / "lock")
    page = open_index().search("jitter")
    assert (page.commit, page.is_stale, len(page.hits)) == (repo.head(), False, 2)


def test_search_waits_for_lock_if_index_is_damaged(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that cannot use the old index waits and reports that; it fails after a long timeout."""
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    open_index().follow()
    for file in index_folder(repo).glob("*.flat"):
        put(file, file.read_bytes()[:-1])
    reports: list[str] = []
    pages = []
    index = open_index()
    waiting = threading.Event()

    def progress(done: int, total: int, message: str) -> None:
        reports.append(message)
        waiting.set()

    def search() -> None:
        pages.append(index.search("jitter", progress=progress))

    thread = threading.Thread(target=search)
    with hold_lock(location_folder(repo) / "lock", 0):
        thread.start()
        assert waiting.wait(60)
        assert pages == []
    thread.join(60)
    assert [(page.commit, page.is_stale, len(page.hits)) for page in pages] == [(repo.head(), False, 1)]
    assert reports[0].startswith("Waiting")
    assert "Indexing documents" in reports

    for file in index_folder(repo).glob("*.flat"):
        put(file, b"")
    monkeypatch.setattr("index.storage.write_lock.FIRST_BUILD_TIMEOUT_S", 0.05)
    with hold_lock(location_folder(repo) / "lock", 0), pytest.raises(IndexBusy):
        open_index().search("jitter")


def test_threads_get_stale_results_while_one_indexes(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    old = index.follow()
    repo.commit({"notes/new.md": "# New\n\nA jitter.\n"})
    reached, go_on = threading.Event(), threading.Event()

    def progress(done: int, total: int, message: str) -> None:
        reached.set()
        assert go_on.wait(60)

    thread = threading.Thread(target=lambda: index.follow(progress))
    thread.start()
    try:
        assert reached.wait(60)
        page = index.search("jitter")
        assert (page.commit, page.is_stale, len(page.hits)) == (old, True, 1)
    finally:
        go_on.set()
        thread.join()
    page = index.search("jitter")
    assert (page.commit, page.is_stale, len(page.hits)) == (repo.head(), False, 2)


def test_search_during_rebuild_returns_the_same_page(
    index: SearchIndex, open_index: Open, repo: Repo
) -> None:
    expected = index.search("errors retry", limit=50)
    pages = []

    def progress(done: int, total: int, message: str) -> None:
        pages.append(index.search("errors retry", limit=50))

    open_index().rebuild(progress)
    assert pages
    assert all(page == expected for page in pages)


def test_leftover_files_are_deleted_by_the_next_write(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    (location_folder(repo) / "0123456789abcdef").mkdir()
    (location_folder(repo) / "metadata.json-00000000.draft").write_bytes(b"half")
    (index_folder(repo) / "MAIN_0123456789abcdef.flat").write_bytes(b"half")
    (index_folder(repo) / "MAIN_99.flat").write_bytes(b"half")
    (index_folder(repo) / "MAIN.tmp").mkdir()
    assert len(open_index().status().leftovers) == len(list_orphans(repo)) == 5
    with hold_lock(location_folder(repo) / "lock", 0):
        assert open_index().status().leftovers == ()  # they may belong to the process that holds the lock
        assert open_index().status().is_busy
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert is_correct(open_index(), repo)
    assert list_orphans(repo) == []

    (index_folder(repo) / "MAIN.tmp").mkdir()
    (location_folder(repo) / "0123456789abcdef").mkdir()
    assert open_index().sweep() == 2
    assert list_orphans(repo) == []


@pytest.mark.parametrize("file", ["metadata.json", "metadata.sum"])
def test_draft_of_a_live_metadata_writer_is_not_a_leftover(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """If another process deleted the draft, the writer's last step would fail, and lose its stats."""
    writer = open_index()
    writer.follow()
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    writer.follow()
    written, go_on, write = threading.Event(), threading.Event(), files.write_file

    def paused(draft: Path, data: bytes, durable: bool = False) -> None:
        write(draft, data, durable)
        if draft.name.startswith(file):
            written.set()
            assert go_on.wait(60)

    monkeypatch.setattr(files, "write_file", paused)
    thread = threading.Thread(target=writer.close)
    thread.start()
    try:
        assert written.wait(60)
        [draft] = location_folder(repo).glob("*.draft")
        assert open_index().status().leftovers == ()
        assert open_index().sweep() == 0
        assert draft.exists()
    finally:
        go_on.set()
        thread.join(60)
    assert not draft.exists()
    reports = open_index().metadata()
    assert reports is not None
    assert reports.stats.source_commit == repo.head()


@pytest.mark.process
def test_metadata_and_checksum_of_two_writers_never_mix(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one waits until the checksum of the first is written, too."""
    slow, fast = open_index(), open_index()
    slow.follow()
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    slow.follow()
    reached, go_on, write = threading.Event(), threading.Event(), files.write_atomically
    written_metadata = []

    def paused(file: Path, data: bytes, durable: bool = False) -> None:
        if file.name == "metadata.sum" and not reached.is_set():
            reached.set()
            assert go_on.wait(60)
        write(file, data, durable)
        if file.name == "metadata.sum":
            written_metadata.append(read_metadata(location_folder(repo) / "metadata.json"))

    monkeypatch.setattr("index.storage.metadata.write_atomically", paused)
    first = threading.Thread(target=slow.close)
    first.start()
    assert reached.wait(60)
    repo.commit({"notes/newer.md": "# Newer\n\nA quagga.\n"})
    fast.follow()
    second = threading.Thread(target=fast.close)
    second.start()
    second.join(0.2)
    go_on.set()
    first.join(60)
    second.join(60)
    assert len(written_metadata) >= 2
    assert None not in written_metadata
    assert written_metadata[-1] is not None
    assert written_metadata[-1].stats.source_commit == repo.head()


def test_reader_deletes_no_files(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    generation = Store(index_folder(repo)).read()
    (index_folder(repo) / "MAIN_0123456789abcdef.flat").write_bytes(b"unfinished")
    again = Store(index_folder(repo)).read()
    assert again.state == generation.state
    assert (index_folder(repo) / "MAIN_0123456789abcdef.flat").exists()


def test_removed_lock_file_does_not_block_writers(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    lock = location_folder(repo) / "lock"
    with hold_lock(lock, 0):
        lock.unlink()
        with hold_lock(lock, 0), pytest.raises(IndexBusy), hold_lock(lock, 0):
            raise AssertionError("two hold it")
    assert is_correct(open_index(), repo)


def test_index_folder_deleted_at_any_time_is_recreated(index: SearchIndex, repo: Repo) -> None:
    index.follow()
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
    assert location_folder(repo).is_dir()


def test_cursor_of_a_pruned_commit_is_stale(open_index: Open, repo: Repo) -> None:
    first = repo.head()
    repo.commit({"notes/new.md": "# New\n\nErrors.\n"})
    cursor = open_index().search("errors", limit=1).next_cursor
    repo.git("reset", "-q", "--hard", first)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    index = open_index()
    with pytest.raises(StaleCursor):
        index.search("errors", limit=1, cursor=cursor)
    assert is_correct(index, repo)


def test_failed_index_location_is_retried_after_delay(
    index: SearchIndex, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.follow()
    own = location_folder(repo)
    (own / "lock").unlink()
    (own / "lock").mkdir()
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert len(index.search("okapi").hits) == 1
    elsewhere = index.status().folder
    assert elsewhere is not None
    assert elsewhere.is_relative_to(tmp_path / "cache")
    (own / "lock").rmdir()
    repo.commit({"notes/new.md": "# New\n\nA quagga.\n"})
    assert len(index.search("quagga").hits) == 1
    assert index.status().folder == elsewhere

    monkeypatch.setattr("index.storage.location.RETRY_AFTER_S", 0.0)
    second_index = SearchIndex(Workspace.open(repo.path))
    (own / "lock").mkdir()
    assert len(second_index.search("quagga").hits) == 1
    assert second_index.status().folder == elsewhere
    (own / "lock").rmdir()
    repo.commit({"notes/new.md": "# New\n\nA wombat.\n"})
    assert len(second_index.search("wombat").hits) == 1
    assert second_index.status().folder == own
    assert is_correct(second_index, repo)
