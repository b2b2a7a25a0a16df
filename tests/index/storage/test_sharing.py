"""Several processes and one index: one writes, the others follow, wait, or say that they are behind."""

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
from tests.index.lists import built, home, is_true, orphans
from tests.index.storage.damage import put
from tests.repositories import Repo
from workspace.workspace import Workspace

Open = Callable[[], SearchIndex]

START = """
import json, sys
from pathlib import Path
from index.service import SearchIndex
from workspace.workspace import Workspace

told = []
index = SearchIndex(Workspace.open(Path(sys.argv[1])))
sys.stdin.readline()
page = index.search("errors", limit=50, progress=lambda done, total, word: told.append(word))
print(json.dumps([page.commit, page.stale, [hit.chunk_id for hit in page.hits], sorted(set(told))]))
"""


@pytest.mark.process
def test_two_that_start_at_once_on_no_index_build_it_once(repo: Repo, own_key: Path) -> None:
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
    assert sum("Indexing documents" in told for _, _, _, told in answers) == 1
    assert orphans(repo) == []


def test_a_reader_keeps_answering_while_another_writes_and_rebuilds(open_index: Open, repo: Repo) -> None:
    reader, writer = open_index(), open_index()
    before = reader.search("errors retry", limit=50)
    old = built(repo)
    writer.rebuild()
    assert not old.exists()
    assert reader.search("errors retry", limit=50) == before
    assert reader.search("nothing of note").hits  # read from files that have no name any more
    for number in range(12):
        repo.commit({"notes/new.md": f"# New {number}\n\nAn okapi.\n"})
        (writer if number % 4 else reader).follow()
    assert is_true(reader, repo)
    assert is_true(writer, repo)
    assert orphans(repo) == []


def test_without_the_lock_the_old_index_answers_and_says_that_it_is_stale(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    old = open_index().follow()
    with hold_lock(home(repo) / "lock", 0):
        assert is_locked(home(repo) / "lock")
        page = open_index().search("jitter")
        assert (page.commit, page.stale, len(page.hits)) == (old, False, 1)
        repo.commit({"notes/new.md": "# New\n\nA jitter.\n"})
        page = open_index().search("jitter")
        assert (page.commit, page.stale, len(page.hits)) == (old, True, 1)
    assert not is_locked(home(repo) / "lock")
    page = open_index().search("jitter")
    assert (page.commit, page.stale, len(page.hits)) == (repo.head(), False, 2)


def test_a_damaged_index_is_not_trusted_while_another_writes(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever cannot trust the old one waits, and is told so; the error comes only after long patience."""
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    open_index().follow()
    for file in built(repo).glob("*.flat"):
        put(file, file.read_bytes()[:-1])
    told: list[str] = []
    pages = []
    index = open_index()
    waiting = threading.Event()

    def progress(done: int, total: int, message: str) -> None:
        told.append(message)
        waiting.set()

    def ask() -> None:
        pages.append(index.search("jitter", progress=progress))

    thread = threading.Thread(target=ask)
    with hold_lock(home(repo) / "lock", 0):
        thread.start()
        assert waiting.wait(60)
        assert pages == []
    thread.join(60)
    assert [(page.commit, page.stale, len(page.hits)) for page in pages] == [(repo.head(), False, 1)]
    assert told[0].startswith("Waiting")
    assert "Indexing documents" in told

    for file in built(repo).glob("*.flat"):
        put(file, b"")
    monkeypatch.setattr("index.storage.write_lock.FIRST_BUILD_TIMEOUT_S", 0.05)
    with hold_lock(home(repo) / "lock", 0), pytest.raises(IndexBusy):
        open_index().search("jitter")


def test_threads_are_answered_while_one_of_them_indexes(
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
        assert (page.commit, page.stale, len(page.hits)) == (old, True, 1)
    finally:
        go_on.set()
        thread.join()
    page = index.search("jitter")
    assert (page.commit, page.stale, len(page.hits)) == (repo.head(), False, 2)


def test_searching_while_the_index_is_rebuilt(index: SearchIndex, open_index: Open, repo: Repo) -> None:
    expected = index.search("errors retry", limit=50)
    pages = []

    def progress(done: int, total: int, message: str) -> None:
        pages.append(index.search("errors retry", limit=50))

    open_index().rebuild(progress)
    assert pages
    assert all(page == expected for page in pages)


def test_orphans_are_swept_by_the_next_write_and_not_before(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    (home(repo) / "0123456789abcdef").mkdir()
    (home(repo) / "metadata.json-00000000.draft").write_bytes(b"half")
    (built(repo) / "MAIN_0123456789abcdef.flat").write_bytes(b"half")
    (built(repo) / "MAIN_99.flat").write_bytes(b"half")
    (built(repo) / "MAIN.tmp").mkdir()
    assert len(open_index().status().leftovers) == len(orphans(repo)) == 5
    with hold_lock(home(repo) / "lock", 0):
        assert open_index().status().leftovers == ()  # they may be the work of whoever holds the lock
        assert open_index().status().busy
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert is_true(open_index(), repo)
    assert orphans(repo) == []

    (built(repo) / "MAIN.tmp").mkdir()
    (home(repo) / "0123456789abcdef").mkdir()
    assert open_index().sweep() == 2
    assert orphans(repo) == []


@pytest.mark.parametrize("file", ["metadata.json", "metadata.sum"])
def test_draft_of_a_live_metadata_writer_is_not_a_leftover(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Another process that sweeps would make the writer's last step fail, and its figures would be lost."""
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
        [draft] = home(repo).glob("*.draft")
        assert open_index().status().leftovers == ()
        assert open_index().sweep() == 0
        assert draft.exists()
    finally:
        go_on.set()
        thread.join(60)
    assert not draft.exists()
    told = open_index().metadata()
    assert told is not None
    assert told.stats.source_commit == repo.head()


@pytest.mark.process
def test_metadata_of_two_writers_is_never_mixed(
    open_index: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one waits until the checksum of the first is written, too."""
    slow, fast = open_index(), open_index()
    slow.follow()
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    slow.follow()
    reached, go_on, write = threading.Event(), threading.Event(), files.write_atomically
    seen = []

    def paused(file: Path, data: bytes, durable: bool = False) -> None:
        if file.name == "metadata.sum" and not reached.is_set():
            reached.set()
            assert go_on.wait(60)
        write(file, data, durable)
        if file.name == "metadata.sum":
            seen.append(read_metadata(home(repo) / "metadata.json"))

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
    assert len(seen) >= 2
    assert None not in seen
    assert seen[-1] is not None
    assert seen[-1].stats.source_commit == repo.head()


def test_a_reader_that_is_not_a_writer_sweeps_nothing(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    generation = Store(built(repo)).read()
    (built(repo) / "MAIN_0123456789abcdef.flat").write_bytes(b"unfinished")
    again = Store(built(repo)).read()
    assert again.state == generation.state
    assert (built(repo) / "MAIN_0123456789abcdef.flat").exists()


def test_a_lock_file_that_was_removed_locks_nobody_out(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    lock = home(repo) / "lock"
    with hold_lock(lock, 0):
        lock.unlink()
        with hold_lock(lock, 0), pytest.raises(IndexBusy), hold_lock(lock, 0):
            raise AssertionError("two hold it")
    assert is_true(open_index(), repo)


def test_the_folder_may_vanish_at_any_time(index: SearchIndex, repo: Repo) -> None:
    index.follow()
    told = []

    def progress(done: int, total: int, message: str) -> None:
        if not told:
            shutil.rmtree(repo.path / ".git" / "docyard")
        told.append(message)

    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert len(index.search("okapi", progress=progress).hits) == 1
    assert is_true(index, repo)
    told.clear()
    index.close()
    shutil.rmtree(repo.path / ".git" / "docyard")
    assert len(index.search("okapi", progress=progress).hits) == 1
    assert is_true(index, repo)
    assert home(repo).is_dir()


def test_an_old_cursor_of_a_commit_that_is_gone_is_stale(open_index: Open, repo: Repo) -> None:
    first = repo.head()
    repo.commit({"notes/new.md": "# New\n\nErrors.\n"})
    cursor = open_index().search("errors", limit=1).next_cursor
    repo.git("reset", "-q", "--hard", first)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    index = open_index()
    with pytest.raises(StaleCursor):
        index.search("errors", limit=1, cursor=cursor)
    assert is_true(index, repo)


def test_a_place_that_refused_is_tried_again_later(
    index: SearchIndex, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.follow()
    own = home(repo)
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
    other = SearchIndex(Workspace.open(repo.path))
    (own / "lock").mkdir()
    assert len(other.search("quagga").hits) == 1
    assert other.status().folder == elsewhere
    (own / "lock").rmdir()
    repo.commit({"notes/new.md": "# New\n\nA wombat.\n"})
    assert len(other.search("wombat").hits) == 1
    assert other.status().folder == own
    assert is_true(other, repo)
