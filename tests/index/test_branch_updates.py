"""Updates of the index: a search uses the tip of the branch after any change of branch or index."""

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
from index.storage.keys import _load_user_key
from index.storage.location import SCHEMA_VERSION, make_index_name
from index.storage.locking import hold_lock
from index.storage.manifest import IndexDamaged
from tests.index.index_checks import find_index_folder, find_location_folder
from tests.index.storage.damage import replace_file
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

OpenIndex = Callable[[], SearchIndex]


def search_ids(index: SearchIndex, query: str) -> list[str]:
    return [hit.chunk_id for hit in index.search(query, limit=50).hits]


def test_search_uses_tip_after_commits_amends_and_resets(index: SearchIndex, repo: Repo) -> None:
    first_commit = repo.head()
    assert search_ids(index, "quagga") == []
    repo.commit({"new.md": "# New\n\n## Quagga\n"})
    assert search_ids(index, "quagga") == ["new.md#quagga"]
    repo.write({"new.md": "# New\n\n## Okapi\n"})
    repo.git("commit", "-qa", "--amend", "-m", "amended")
    assert (search_ids(index, "quagga"), search_ids(index, "okapi")) == ([], ["new.md#okapi"])
    repo.git("mv", "new.md", "old.md")
    repo.commit({})
    assert search_ids(index, "okapi") == ["old.md#okapi"]
    repo.git("reset", "-q", "--hard", first_commit)
    assert search_ids(index, "okapi") == []
    assert index.search("retries").commit == first_commit


def test_index_of_an_earlier_schema_is_rebuilt(
    open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        for module in ("index.live", "index.storage.location", "index.whoosh_engine.engine"):
            context.setattr(f"{module}.SCHEMA_VERSION", SCHEMA_VERSION - 1)
        earlier_index = open_index()
        assert search_ids(earlier_index, "retries")
        earlier_index.close()
    index = open_index()
    page = index.search("title:retries heading:backoff")
    assert [hit.chunk_id for hit in page.hits] == ["guides/retries.md#backoff"]
    assert (page.is_stale, page.notes, page.hint) == (False, (), None)


def test_commit_without_documents_updates_commit_of_index(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    commit = repo.commit({"code.py": "quagga"})
    assert index.search("quagga").commit == commit == index.status().state.commit  # type: ignore[union-attr]


def test_excluded_documents_are_not_indexed(index: SearchIndex, repo: Repo) -> None:
    assert search_ids(index, "jitter")
    repo.commit({"docyard.toml": 'exclude = ["guides/retries.md"]\n'})
    assert search_ids(index, "jitter") == []
    repo.commit({"docyard.toml": ""})
    assert search_ids(index, "jitter")


def test_documents_over_the_limit_are_not_indexed(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"notes/long.md": "# Quagga\n\n" + "text " * 400})
    assert search_ids(index, "quagga") == ["notes/long.md#_preamble"]
    repo.commit({"docyard.toml": "[limits]\ndocument_bytes = 1000\n"})
    assert search_ids(index, "quagga") == []
    repo.commit({"docyard.toml": ""})
    assert search_ids(index, "quagga") == ["notes/long.md#_preamble"]


def test_threads_find_their_own_writes(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
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


def test_existing_index_is_opened_and_not_rebuilt(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    folder = find_index_folder(repo)
    reopened = open_index()
    assert search_ids(reopened, "jitter")
    assert find_index_folder(repo) == folder


def test_two_servers_share_an_index(open_index: OpenIndex, repo: Repo) -> None:
    first_server, second_server = open_index(), open_index()
    for number in range(8):
        repo.commit({"new.md": f"# New\n\n## Quagga{number}\n"})
        writer, reader = (first_server, second_server) if number % 2 else (second_server, first_server)
        assert search_ids(writer, f"quagga{number}") == [f"new.md#quagga{number}"]
        assert search_ids(reader, f"quagga{number}") == [f"new.md#quagga{number}"]
        assert search_ids(reader, f"quagga{number - 1}") == []
    assert (first_server.status().segments, first_server.status().is_damaged) == (
        second_server.status().segments,
        False,
    )


@pytest.mark.process
def test_concurrent_processes_do_not_damage_the_index(
    open_index: OpenIndex, repo: Repo, temporary_key_file: Path
) -> None:
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
    assert search_ids(index, "new") == ["new.md#_preamble"]
    assert not index.status().is_damaged


def test_threads_search_without_errors_while_branch_moves(index: SearchIndex, repo: Repo) -> None:
    failures: list[BaseException] = []
    stop_event = threading.Event()

    def search() -> None:
        while not stop_event.is_set():
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
    stop_event.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_incrementally_updated_index_ranks_like_a_rebuilt_index(index: SearchIndex, repo: Repo) -> None:
    words = ["retry", "jitter", "limit", "error", "quagga", "okapi", "wombat"]
    rng = random.Random(7)
    for number in range(25):
        name = f"notes/n{rng.randrange(6)}.md"
        text = "".join(
            f"## {rng.choice(words)} {i}\n\n{' '.join(rng.choices(words, k=8))}\n\n"
            for i in range(rng.randrange(1, 9))
        )
        if rng.random() < 0.2 and (repo.path / name).exists():
            (repo.path / name).unlink()
            repo.commit({})
        else:
            repo.commit({name: f"# Title {number}\n\n{text}"})
        index.update_to_tip()

    def rank_all() -> list[object]:
        pages = [
            index.search(query, limit=50) for query in (*words, "retry okapi", "title of the limit error")
        ]
        return [(len(page.hits), [(hit.chunk_id, hit.score) for hit in page.hits]) for page in pages]

    incremental_results, segments = rank_all(), index.status().segments
    metadata = index.metadata()
    index.rebuild()
    assert rank_all() == incremental_results
    assert segments <= 6
    assert metadata is not None
    assert index.metadata().stats.total_chunks == metadata.stats.total_chunks  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "damage", ["missing", "no pointer", "torn pointer", "empty files", "truncated files", "lost commit"]
)
def test_damaged_index_is_rebuilt(open_index: OpenIndex, repo: Repo, damage: str) -> None:
    open_index().update_to_tip()
    if damage == "missing":
        for file in find_index_folder(repo).iterdir():
            file.unlink()
    elif damage == "no pointer":
        (find_location_folder(repo) / "current").unlink()
    elif damage == "torn pointer":
        (find_location_folder(repo) / "current").write_bytes(
            (find_location_folder(repo) / "current").read_bytes()[:20]
        )
    elif damage == "lost commit":
        repo.commit({"new.md": "# Quagga\n"}, "soon lost")
        open_index().update_to_tip()
        repo.git("reset", "-q", "--hard", "HEAD~1")
        repo.git("reflog", "expire", "--expire=now", "--all")
        repo.git("gc", "-q", "--prune=now")
    else:
        for file in find_index_folder(repo).iterdir():
            data = file.read_bytes()
            replace_file(file, data[: len(data) // 2] if damage == "truncated files" else b"")
    index = open_index()
    assert search_ids(index, "thundering herds") == ["guides/retries.md#backoff/jitter"]
    assert search_ids(index, "quagga") == []
    assert not index.status().is_damaged
    assert len([entry for entry in find_location_folder(repo).iterdir() if entry.is_dir()]) == 1


class _MakeFolderOnUnpickling:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, (str(self.folder),)


def test_planted_index_is_never_unpickled(
    open_index: OpenIndex, repo: Repo, tmp_path: Path, temporary_key_file: Path
) -> None:
    """Write pickles into an index, and change the key, so that the index has the seal of another key."""
    open_index().update_to_tip()
    old_folder, marker_folder = find_index_folder(repo), tmp_path / "marked"
    (old_folder / "_MAIN_1.toc").write_bytes(pickle.dumps(_MakeFolderOnUnpickling(marker_folder)))
    next(old_folder.glob("*.flat")).write_bytes(pickle.dumps(_MakeFolderOnUnpickling(marker_folder)))
    with pytest.raises(IndexDamaged):
        Store(old_folder).read()
    assert not marker_folder.exists()

    temporary_key_file.unlink()
    _load_user_key.cache_clear()
    assert search_ids(open_index(), "jitter")
    assert find_index_folder(repo) != old_folder
    assert not marker_folder.exists()


@pytest.mark.process
def test_copied_index_is_rebuilt(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    folder = find_index_folder(repo)
    folder.rename(folder.with_name("aside"))
    subprocess.run(["cp", "-r", str(folder.with_name("aside")), str(folder)], check=True)
    assert search_ids(open_index(), "jitter")
    assert find_index_folder(repo) != folder


def test_index_folder_and_key_are_private(
    index: SearchIndex, repo: Repo, temporary_key_file: Path, tmp_path: Path
) -> None:
    index.update_to_tip()
    assert (
        stat.S_IMODE(find_location_folder(repo).stat().st_mode)
        == stat.S_IMODE(find_index_folder(repo).stat().st_mode)
        == 0o700
    )
    assert stat.S_IMODE(temporary_key_file.stat().st_mode) == 0o600
    assert repo.status() == ""
    find_location_folder(repo).chmod(0o755)
    index.close()
    assert search_ids(index, "jitter")
    assert index.status().folder.is_relative_to(tmp_path / "cache")  # type: ignore[union-attr]


def test_index_without_usable_folder_stays_in_memory(repo: Repo, tmp_path: Path) -> None:
    blocking_file = tmp_path / "blocked"
    blocking_file.write_text("a file where a folder should be")
    index = SearchIndex(Workspace.open(repo.path), location=blocking_file)
    assert index.metadata() is None
    assert search_ids(index, "jitter")
    repo.commit({"new.md": "# Quagga\n"})
    assert search_ids(index, "quagga") == ["new.md#_preamble"]
    assert index.rebuild() == repo.head()
    assert index.status().folder is None
    assert index.metadata().stats.source_commit == repo.head()  # type: ignore[union-attr]


def test_locked_index_serves_old_commit_as_stale(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    old_commit = index.update_to_tip()
    with hold_lock(find_location_folder(repo) / "lock", 0):
        repo.commit({"new.md": "# Quagga\n"})
        page = index.search("jitter")
        assert (page.commit, page.is_stale) == (old_commit, True)
    page = index.search("quagga")
    assert (page.commit, page.is_stale, len(page.hits)) == (repo.head(), False, 1)


@loop_over(
    "create", [create_bare_repository, create_detached_repository, create_empty_repository, create_repository]
)
def test_bare_detached_and_unborn_repositories_are_searched(
    create: Callable[[Path], Repo], tmp_path: Path
) -> None:
    repo = create(tmp_path / "shape")
    index = SearchIndex(Workspace.open(repo.path, read_only=True))
    page = index.search("steps")
    assert bool(page.hits) == (create is not create_empty_repository)
    assert page.commit == (None if create is create_empty_repository else repo.head())


def test_first_commit_of_an_unborn_branch_is_found(tmp_path: Path) -> None:
    repo = create_empty_repository(tmp_path / "new")
    index = SearchIndex(Workspace.open(repo.path))
    assert index.update_to_tip() is None
    repo.commit({"a.md": "# Quagga\n"})
    assert search_ids(index, "quagga") == ["a.md#_preamble"]


def test_linked_work_trees_have_separate_indexes(repo: Repo, tmp_path: Path) -> None:
    linked_repo = add_work_tree(repo, tmp_path / "linked", "Side/Line")
    linked_repo.commit({"side.md": "# Quagga\n"})
    main_index, linked_index = (
        SearchIndex(Workspace.open(repo.path)),
        SearchIndex(Workspace.open(linked_repo.path)),
    )
    assert (search_ids(main_index, "quagga"), search_ids(linked_index, "quagga")) == (
        [],
        ["side.md#_preamble"],
    )
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
    index.update_to_tip(lambda *step: reports.append(step))
    assert reports[0][0] == 0
    assert reports[-1][:2] == (4, 4)


def test_commit_pruned_while_serving_is_no_longer_searched(index: SearchIndex, repo: Repo) -> None:
    """Check a commit that libgit2 has cached: the commit seems to exist, but its trees are missing."""
    first_commit = repo.head()
    lost_commit = repo.commit({"guides/new.md": "# New\n\n## Quagga\n"})
    assert search_ids(index, "quagga") == ["guides/new.md#quagga"]
    repo.git("reset", "-q", "--hard", first_commit)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert repo.git("cat-file", "-t", lost_commit, check=False) == ""
    assert search_ids(index, "quagga") == []
    assert index.search("retries").commit == first_commit


def test_leftovers_of_a_killed_rebuild_are_deleted(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    (find_location_folder(repo) / "0123456789abcdef").mkdir()
    (find_location_folder(repo) / "0123456789abcdef" / "MAIN_1.toc").write_bytes(b"half")
    repo.commit({"notes/new.md": "# New\n"})
    assert search_ids(open_index(), "thundering herds") == ["guides/retries.md#backoff/jitter"]
    assert [entry for entry in find_location_folder(repo).iterdir() if entry.is_dir()] == [
        find_index_folder(repo)
    ]
