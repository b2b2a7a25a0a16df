"""Following: the next search uses the present branch after any change of branch or index."""

from __future__ import annotations

import os
import pickle
import random
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from index.segments.store import Store
from index.service import SearchIndex
from index.storage.keys import load_user_key
from index.storage.location import SCHEMA_VERSION, make_index_name
from index.storage.locking import hold_lock
from index.storage.manifest import IndexDamaged
from tests.index.lists import index_folder, location_folder
from tests.index.storage.damage import put
from tests.loops import loop_over
from tests.repositories import (
    Repo,
    add_work_tree,
    create_bare_repository,
    create_detached_repository,
    create_empty_repository,
    create_repository,
)
from workspace.workspace import Workspace

Open = Callable[[], SearchIndex]


def ids(index: SearchIndex, query: str) -> list[str]:
    return [hit.chunk_id for hit in index.search(query, limit=50).hits]


def test_search_follows_commits_amends_and_resets(index: SearchIndex, repo: Repo) -> None:
    first = repo.head()
    assert ids(index, "quagga") == []
    repo.commit({"new.md": "# New\n\n## Quagga\n"})
    assert ids(index, "quagga") == ["new.md#quagga"]
    repo.write({"new.md": "# New\n\n## Okapi\n"})
    repo.git("commit", "-qa", "--amend", "-m", "amended")
    assert (ids(index, "quagga"), ids(index, "okapi")) == ([], ["new.md#okapi"])
    repo.git("mv", "new.md", "old.md")
    repo.commit({})
    assert ids(index, "okapi") == ["old.md#okapi"]
    repo.git("reset", "-q", "--hard", first)
    assert ids(index, "okapi") == []
    assert index.search("retries").commit == first


def test_index_of_an_earlier_schema_is_rebuilt(open_index: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for module in ("index.live", "index.storage.location", "index.whoosh_engine.engine"):
            patch.setattr(f"{module}.SCHEMA_VERSION", SCHEMA_VERSION - 1)
        earlier = open_index()
        assert ids(earlier, "retries")
        earlier.close()
    index = open_index()
    page = index.search("title:retries heading:backoff")
    assert [hit.chunk_id for hit in page.hits] == ["guides/retries.md#backoff"]
    assert (page.is_stale, page.notes, page.hint) == (False, (), None)


def test_commit_without_documents_moves_the_index(index: SearchIndex, repo: Repo) -> None:
    index.follow()
    commit = repo.commit({"code.py": "quagga"})
    assert index.search("quagga").commit == commit == index.status().state.commit  # type: ignore[union-attr]


def test_excluded_documents_are_not_indexed(index: SearchIndex, repo: Repo) -> None:
    assert ids(index, "jitter")
    repo.commit({"docyard.toml": 'exclude = ["guides/retries.md"]\n'})
    assert ids(index, "jitter") == []
    repo.commit({"docyard.toml": ""})
    assert ids(index, "jitter")


def test_documents_over_the_limit_are_not_indexed(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"notes/long.md": "# Quagga\n\n" + "text " * 400})
    assert ids(index, "quagga") == ["notes/long.md#_preamble"]
    repo.commit({"docyard.toml": "[limits]\ndocument_bytes = 1000\n"})
    assert ids(index, "quagga") == []
    repo.commit({"docyard.toml": ""})
    assert ids(index, "quagga") == ["notes/long.md#_preamble"]


def test_threads_find_their_own_writes(index: SearchIndex, repo: Repo) -> None:
    index.follow()
    failures: list[object] = []
    lock = threading.Lock()

    def write(number: int) -> None:
        for step in range(12):
            word = f"quagga{number}x{step}"
            with lock:
                repo.commit({f"notes/n{number}.md": f"# New\n\nA {word}.\n"})
            page = index.search(word)
            if not page.hits:
                failures.append((word, page))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_existing_index_is_opened_and_not_rebuilt(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    folder = index_folder(repo)
    reopened = open_index()
    assert ids(reopened, "jitter")
    assert index_folder(repo) == folder


def test_two_servers_share_an_index(open_index: Open, repo: Repo) -> None:
    first_server, second_server = open_index(), open_index()
    for number in range(8):
        repo.commit({"new.md": f"# New\n\n## Quagga{number}\n"})
        writer, reader = (first_server, second_server) if number % 2 else (second_server, first_server)
        assert ids(writer, f"quagga{number}") == [f"new.md#quagga{number}"]
        assert ids(reader, f"quagga{number}") == [f"new.md#quagga{number}"]
        assert ids(reader, f"quagga{number - 1}") == []
    assert (first_server.status().segments, first_server.status().is_damaged) == (
        second_server.status().segments,
        False,
    )


@pytest.mark.process
def test_processes_following_at_once_do_no_damage(open_index: Open, repo: Repo, own_key: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from workspace.workspace import Workspace\n"
        "from index.service import SearchIndex\n"
        "index = SearchIndex(Workspace.open(Path(sys.argv[1])))\n"
        "for _ in range(30): assert index.search('jitter').hits\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(repo.path)], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for number in range(10):
        repo.commit({"new.md": f"# New {number}\n"})
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    index = open_index()
    assert ids(index, "new") == ["new.md#_preamble"]
    assert not index.status().is_damaged


def test_threads_search_without_errors_while_branch_moves(index: SearchIndex, repo: Repo) -> None:
    failures: list[BaseException] = []
    stop = threading.Event()

    def search() -> None:
        while not stop.is_set():
            try:
                assert index.search("jitter retries errors").hits
            except BaseException as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(10):
        repo.commit({"new.md": f"# New {number}\n"})
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_incrementally_updated_index_ranks_like_a_rebuilt_one(index: SearchIndex, repo: Repo) -> None:
    words = ["retry", "jitter", "limit", "error", "quagga", "okapi", "wombat"]
    chance = random.Random(7)
    for number in range(25):
        name = f"notes/n{chance.randrange(6)}.md"
        text = "".join(
            f"## {chance.choice(words)} {i}\n\n{' '.join(chance.choices(words, k=8))}\n\n"
            for i in range(chance.randrange(1, 9))
        )
        if chance.random() < 0.2 and (repo.path / name).exists():
            (repo.path / name).unlink()
            repo.commit({})
        else:
            repo.commit({name: f"# Title {number}\n\n{text}"})
        index.follow()

    def lists() -> list[object]:
        pages = [
            index.search(query, limit=50) for query in (*words, "retry okapi", "title of the limit error")
        ]
        return [(len(page.hits), [(hit.chunk_id, hit.score) for hit in page.hits]) for page in pages]

    followed, segments = lists(), index.status().segments
    metadata = index.metadata()
    index.rebuild()
    assert lists() == followed
    assert segments <= 6
    assert metadata is not None
    assert index.metadata().stats.total_chunks == metadata.stats.total_chunks  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "harm", ["missing", "no pointer", "torn pointer", "empty files", "cut files", "lost commit"]
)
def test_damaged_index_is_rebuilt(open_index: Open, repo: Repo, harm: str) -> None:
    open_index().follow()
    if harm == "missing":
        for file in index_folder(repo).iterdir():
            file.unlink()
    elif harm == "no pointer":
        (location_folder(repo) / "current").unlink()
    elif harm == "torn pointer":
        (location_folder(repo) / "current").write_bytes((location_folder(repo) / "current").read_bytes()[:20])
    elif harm == "lost commit":
        repo.commit({"new.md": "# Quagga\n"}, "soon lost")
        open_index().follow()
        repo.git("reset", "-q", "--hard", "HEAD~1")
        repo.git("reflog", "expire", "--expire=now", "--all")
        repo.git("gc", "-q", "--prune=now")
    else:
        for file in index_folder(repo).iterdir():
            data = file.read_bytes()
            put(file, data[: len(data) // 2] if harm == "cut files" else b"")
    index = open_index()
    assert ids(index, "thundering herds") == ["guides/retries.md#backoff/jitter"]
    assert ids(index, "quagga") == []
    assert not index.status().is_damaged
    assert len([entry for entry in location_folder(repo).iterdir() if entry.is_dir()]) == 1


class _Marker:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, (str(self.file),)


def test_planted_index_is_never_unpickled(
    open_index: Open, repo: Repo, tmp_path: Path, own_key: Path
) -> None:
    """A foreign repository contains an index and a pointer sealed with another key."""
    open_index().follow()
    old, marker = index_folder(repo), tmp_path / "marked"
    (old / "_MAIN_1.toc").write_bytes(pickle.dumps(_Marker(marker)))
    next(old.glob("*.flat")).write_bytes(pickle.dumps(_Marker(marker)))
    with pytest.raises(IndexDamaged):
        Store(old).read()
    assert not marker.exists()

    own_key.unlink()
    load_user_key.cache_clear()
    assert ids(open_index(), "jitter")
    assert index_folder(repo) != old
    assert not marker.exists()


@pytest.mark.process
def test_copied_index_is_rebuilt(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    folder = index_folder(repo)
    folder.rename(folder.with_name("aside"))
    subprocess.run(["cp", "-r", str(folder.with_name("aside")), str(folder)], check=True)
    assert ids(open_index(), "jitter")
    assert index_folder(repo) != folder


def test_index_folder_and_key_are_private(
    index: SearchIndex, repo: Repo, own_key: Path, tmp_path: Path
) -> None:
    index.follow()
    assert (
        stat.S_IMODE(location_folder(repo).stat().st_mode)
        == stat.S_IMODE(index_folder(repo).stat().st_mode)
        == 0o700
    )
    assert stat.S_IMODE(own_key.stat().st_mode) == 0o600
    assert repo.status() == ""
    location_folder(repo).chmod(0o755)
    index.close()
    assert ids(index, "jitter")
    assert index.status().folder.is_relative_to(tmp_path / "cache")  # type: ignore[union-attr]


def test_index_without_usable_folder_stays_in_memory(repo: Repo, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    index = SearchIndex(Workspace.open(repo.path), location=blocked)
    assert index.metadata() is None
    assert ids(index, "jitter")
    repo.commit({"new.md": "# Quagga\n"})
    assert ids(index, "quagga") == ["new.md#_preamble"]
    assert index.rebuild() == repo.head()
    assert index.status().folder is None
    assert index.metadata().stats.source_commit == repo.head()  # type: ignore[union-attr]


def test_locked_index_serves_old_commit_as_stale(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    old = index.follow()
    with hold_lock(location_folder(repo) / "lock", 0):
        repo.commit({"new.md": "# Quagga\n"})
        page = index.search("jitter")
        assert (page.commit, page.is_stale) == (old, True)
    page = index.search("quagga")
    assert (page.commit, page.is_stale, len(page.hits)) == (repo.head(), False, 1)


@loop_over(
    "make", [create_bare_repository, create_detached_repository, create_empty_repository, create_repository]
)
def test_bare_detached_and_unborn_repositories_are_searched(
    make: Callable[[Path], Repo], tmp_path: Path
) -> None:
    repo = make(tmp_path / "shape")
    index = SearchIndex(Workspace.open(repo.path, read_only=True))
    page = index.search("steps")
    assert bool(page.hits) == (make is not create_empty_repository)
    assert page.commit == (None if make is create_empty_repository else repo.head())


def test_first_commit_of_an_unborn_branch_is_found(tmp_path: Path) -> None:
    repo = create_empty_repository(tmp_path / "new")
    index = SearchIndex(Workspace.open(repo.path))
    assert index.follow() is None
    repo.commit({"a.md": "# Quagga\n"})
    assert ids(index, "quagga") == ["a.md#_preamble"]


def test_linked_work_trees_have_separate_indexes(repo: Repo, tmp_path: Path) -> None:
    linked_repo = add_work_tree(repo, tmp_path / "linked", "Side/Line")
    linked_repo.commit({"side.md": "# Quagga\n"})
    main_index, linked_index = (
        SearchIndex(Workspace.open(repo.path)),
        SearchIndex(Workspace.open(linked_repo.path)),
    )
    assert (ids(main_index, "quagga"), ids(linked_index, "quagga")) == ([], ["side.md#_preamble"])
    assert len(list((repo.path / ".git" / "docyard" / "index").iterdir())) == 2


def test_index_names_of_branches_are_distinct() -> None:
    names = [
        make_index_name(1, branch)
        for branch in ("main", "Main", "a/b", "a-b", "a_b", "A/b", "é", "..", "x" * 300)
    ]
    assert len({name.lower() for name in names}) == len(names)
    assert all(name.isascii() and "/" not in name and len(name) < 120 for name in names)


def test_indexing_reports_progress(index: SearchIndex) -> None:
    reports: list[tuple[int, int, str]] = []
    index.follow(lambda *step: reports.append(step))
    assert reports[0][0] == 0
    assert reports[-1][:2] == (4, 4)


def test_commit_pruned_while_serving_is_no_longer_searched(index: SearchIndex, repo: Repo) -> None:
    """Libgit2 caches commits it has read, so the lost commit seems to exist, but its trees do not."""
    first = repo.head()
    lost = repo.commit({"guides/new.md": "# New\n\n## Quagga\n"})
    assert ids(index, "quagga") == ["guides/new.md#quagga"]
    repo.git("reset", "-q", "--hard", first)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert repo.git("cat-file", "-t", lost, check=False) == ""
    assert ids(index, "quagga") == []
    assert index.search("retries").commit == first


def test_leftovers_of_a_killed_rebuild_are_deleted(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    (location_folder(repo) / "0123456789abcdef").mkdir()
    (location_folder(repo) / "0123456789abcdef" / "MAIN_1.toc").write_bytes(b"half")
    repo.commit({"notes/new.md": "# New\n"})
    assert ids(open_index(), "thundering herds") == ["guides/retries.md#backoff/jitter"]
    assert [entry for entry in location_folder(repo).iterdir() if entry.is_dir()] == [index_folder(repo)]
