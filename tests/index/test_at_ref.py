"""Search at a ref: the results equal those of an index built from that commit alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from index import overlays, source
from index.artifacts.artifact import open_artifact
from index.artifacts.frozen import FrozenIndex
from index.cursors import InvalidCursor, StaleCursor
from index.passages import ChunkNotFound
from index.service import SearchIndex, SearchPage
from tests.index.artifacts.conftest import artifact, build_out, key, out  # noqa: F401
from tests.index.lists import move_branch
from tests.repositories import Repo, make_signature
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git import trees
from workspace.git.store import GitStore
from workspace.revisions import RefNotFound
from workspace.workspace import Workspace

Open = Callable[[], SearchIndex]

SEARCHES: tuple[tuple[str, dict[str, object]], ...] = (
    ("retry backoff", {}),
    ("errors", {"path": "guides"}),
    ("limit jitter okapi", {"filters": {"type": "runbook"}}),
    ("okapi", {"filters": {"language": "go"}}),
    ("wombat okapi", {"filters": {"scope": "x"}, "path": "*/deep*"}),
    ('"okapi wombat" retry', {}),
    ('"wombat okapi"', {}),
    ("okapi -wombat", {}),
    ("okapy", {}),
    ("wombatt kwagga", {"path": "notes"}),
    ("nowhere", {}),
    ("oka* -quagga", {}),
    ("okapy~2 OR back*", {}),
    ("language:go okapi", {}),
    ("(title:r* OR heading:okapi) AND NOT path:notes", {}),
    ('"okapi wombat" AND retry NOT scope:x', {}),
    ("updated:>=2026-01-15", {}),
    ("updated:2025 retry", {}),
)

WORDS = ("okapi", "wombat", "quagga", "retry", "errors", "jitter", "limit", "backoff", "RateLimitError")
FOLDERS = ("", "guides/", "guides/deep/", "notes/")
DECLARED = "[taxonomy.language]\n[taxonomy.scope]\n"
SETTINGS = (
    DECLARED,
    'exclude = ["notes"]\n' + DECLARED,
    DECLARED + "[limits]\ndocument_bytes = 1000\n",
    DECLARED + "[limits]\nheadings = 100\n",
    "[taxonomy.scope]\n",
    'root = "guides"\n' + DECLARED,
)


class History:
    """Random commits in a repository, without the cost of the git program; `commits` lists them."""

    def __init__(self, repo: Repo, seed: int) -> None:
        self.commits = [repo.head()]
        self._repo = repo
        self._store = GitStore(repo.path)
        self._chance = Random(seed)
        self._files: dict[str, bytes] = {}

    def write(self, number: int) -> None:
        """Add `number` commits to the branch."""
        for _ in range(number):
            self.commit(self._changes())

    def commit(self, changes: Mapping[str, bytes | None], *, alone: bool = False) -> str:
        """Make one commit that sets or, with None, removes files; with `alone` it has no parent."""
        store, tip = self._store, self.commits[-1]
        tree = None if alone else store.commit(tip).tree
        blobs = {path: None if data is None else store.put_blob(data) for path, data in changes.items()}
        tree = trees.rewrite_tree(store, tree, blobs)
        parents = () if alone else (tip,)
        commit = store.put_commit(tree, parents, make_signature(), make_signature(), f"{len(self.commits)}")
        self.commits.append(commit)
        move_branch(self._repo, commit)
        return commit

    def _changes(self) -> dict[str, bytes | None]:
        chance = self._chance
        changes: dict[str, bytes | None] = {}
        for _ in range(chance.randint(1, 3)):
            folder, existing_paths = chance.choice(FOLDERS), sorted(self._files)
            match chance.randrange(9):
                case 0 if existing_paths:
                    changes[chance.choice(existing_paths)] = None
                case 1 if existing_paths:
                    old = chance.choice(existing_paths)
                    changes[f"{folder}{chance.choice('abcdef')}{chance.randrange(4)}.md"] = self._files[old]
                    changes[old] = None
                case 2:
                    changes[f"{folder}.taxonomy.toml"] = self._manifest()
                case 3 if chance.random() < 0.4:
                    changes["docyard.toml"] = chance.choice(SETTINGS).encode()
                case _:
                    changes[f"{folder}{chance.choice('abcdef')}.md"] = self._document()
        self._files |= {path: data for path, data in changes.items() if data and path.endswith(".md")}
        self._files = {path: data for path, data in self._files.items() if changes.get(path, b"")}
        return changes

    def _manifest(self) -> bytes | None:
        chance = self._chance
        override = f"[[override]]\nmatch = '[abc]*'\nmetadata = {{ scope = '{chance.choice('xy')}' }}\n"
        manifest = f"[metadata]\nlanguage = '{chance.choice(('go', 'c'))}'\n" + chance.choice(("", override))
        return chance.choice((manifest.encode(), manifest.encode(), b"[broken", None))

    def _document(self) -> bytes:
        chance = self._chance
        front = ""
        if chance.random() < 0.5:
            kind = chance.choice(("runbook", "note"))
            day = "2026-01-15" if kind == "note" else "2025-06-01"
            front = f"---\ntype: {kind}\nupdated: {day}\n---\n"
        headings = ["# ", *["## "] * chance.randrange(7)]
        sections = [
            f"{marks}{chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=chance.randint(0, 40)))}\n"
            for marks in headings
        ]
        return (front + "\n".join(sections)).encode()


def search_all(index: SearchIndex, ref: str | None = None) -> Iterator[object]:
    """Yield every page of every list, five hits at a time, and the errors."""
    for query, options in SEARCHES:
        cursor: str | None = None
        while True:
            try:
                page = index.search(query, limit=5, cursor=cursor, ref=ref, **options)  # type: ignore[arg-type]
            except WorkspaceError as error:
                yield query, error.code, error.message, error.fix, error.details
                break
            yield query, page
            cursor = page.next_cursor
            if cursor is None:
                break


@pytest.fixture
def fresh_answers(repo: Repo, tmp_path: Path) -> Callable[[str], list[object]]:
    """Return a function that builds a fresh index of a commit in its own folder, and returns its answers."""
    answers_by_commit: dict[str, list[object]] = {}

    def search_at(commit: str) -> list[object]:
        if commit not in answers_by_commit:
            (repo.path / ".git" / "refs" / "heads" / "afresh").write_text(commit + "\n")
            folder = tmp_path / f"afresh-{commit}"
            folder.mkdir(0o700)
            index = SearchIndex(Workspace.open(repo.path, branch="afresh", read_only=True), location=folder)
            answers_by_commit[commit] = list(search_all(index))
            index.close()
        return answers_by_commit[commit]

    return search_at


def compare_with_fresh_index(
    repo: Repo,
    fresh_answers: Callable[[str], list[object]],
    seed: int,
    commit_count: int,
    refs_per_round: int,
) -> None:
    """Make commits, nine at a time, and compare the answers at some of them each time."""
    history = History(repo, seed)
    history.write(8)
    index = SearchIndex(Workspace.open(repo.path, read_only=True))
    chance = Random(seed)
    while len(history.commits) < commit_count:
        for commit in chance.sample(history.commits, min(refs_per_round, len(history.commits))):
            assert list(search_all(index, ref=commit)) == fresh_answers(commit)
        history.write(9)
        if chance.random() < 0.5:
            with suppress(InvalidConfig):
                index.follow()
    index.close()


VARIANTS = [(1, 5_000, 300, 16), (2, 3, 300, 16), (3, 5_000, 2, 3), (4, 3, 2, 1)]
"""A seed, the size of a small segment, the limit of incremental updates, the number of overlays."""


@pytest.mark.property
@pytest.mark.parametrize(("seed", "max_small_sections", "max_incremental", "max_overlays"), VARIANTS)
def test_search_at_old_commits_equals_a_fresh_index(
    repo: Repo,
    fresh_answers: Callable[[str], list[object]],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    max_small_sections: int,
    max_incremental: int,
    max_overlays: int,
) -> None:
    """Few and many segments, few and many cached overlays, full and incremental indexing."""
    monkeypatch.setattr(overlays, "MAX_SMALL_SECTIONS", max_small_sections)
    monkeypatch.setattr(source, "_MAX_INCREMENTAL", max_incremental)
    monkeypatch.setattr(overlays, "MAX_OVERLAYS", max_overlays)
    compare_with_fresh_index(repo, fresh_answers, seed, commit_count=60, refs_per_round=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 7))
def test_search_at_every_commit_equals_a_fresh_index(
    repo: Repo, fresh_answers: Callable[[str], list[object]], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(overlays, "MAX_SMALL_SECTIONS", 20)
    compare_with_fresh_index(repo, fresh_answers, seed, commit_count=60, refs_per_round=30)


def test_ref_of_the_tip_equals_search_without_ref(index: SearchIndex, repo: Repo) -> None:
    page = index.search("errors")
    for ref in ("main", "HEAD", repo.head(), repo.head()[:8], "", "  "):
        assert index.search("errors", ref=ref) == page
    assert "_overlays" not in vars(index) or index._overlays.size == 0


def test_search_at_unrelated_history_equals_a_fresh_index(
    index: SearchIndex, repo: Repo, fresh_answers: Callable[[str], list[object]]
) -> None:
    first = repo.head()
    history = History(repo, 5)
    history.write(3)
    unrelated = history.commit({"only.md": b"# Only okapi\n\nwombat okapi\n"}, alone=True)
    empty = history.commit({"only.md": None})
    move_branch(repo, history.commits[3])
    assert list(search_all(index, ref=unrelated)) == fresh_answers(unrelated)
    assert list(search_all(index, ref=empty)) == fresh_answers(empty)
    assert list(search_all(index, ref=first)) == fresh_answers(first)
    assert index.search("okapi").commit == history.commits[3]


def test_search_at_newer_ref_does_not_move_the_index(index: SearchIndex, repo: Repo) -> None:
    first = index.follow()
    repo.git("branch", "ahead")
    newer = History(repo, 6).commit({"new.md": b"# New\n\nQuagga.\n"})
    (repo.path / ".git" / "refs" / "heads" / "ahead").write_text(newer + "\n")
    assert first is not None
    move_branch(repo, first)
    page = index.search("quagga", ref="ahead")
    assert (page.commit, page.is_stale, [hit.chunk_id for hit in page.hits]) == (
        newer,
        False,
        ["new.md#_preamble"],
    )
    assert index.status().state.commit == first  # type: ignore[union-attr]


def test_unborn_branch_can_search_other_branches(index: SearchIndex, repo: Repo) -> None:
    first = repo.head()
    repo.git("checkout", "-q", "--orphan", "begun")
    page = index.search("backoff", ref="main")
    assert (page.commit, page.hits[0].chunk_id) == (first, "guides/retries.md#backoff")
    assert index.search("backoff").commit is None


def test_index_at_a_pruned_commit_is_not_reused(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"new.md": "# New\n\nQuagga.\n"})
    index.follow()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    repo.commit({"later.md": "# Later\n\nOkapi.\n"})
    index = SearchIndex(Workspace.open(repo.path))
    assert not index.search("quagga", ref="HEAD~1").hits
    assert index.search("backoff", ref="HEAD~1").hits


def test_invalid_settings_at_tip_do_not_affect_older_commits(index: SearchIndex, repo: Repo) -> None:
    first = repo.head()
    repo.commit({"docyard.toml": "exclude = 7\n"})
    assert index.search("backoff", ref=first).hits
    with pytest.raises(InvalidConfig):
        index.search("backoff")
    with pytest.raises(InvalidConfig):
        index.search("backoff", ref="HEAD")


def test_cursor_continues_only_at_its_own_commit(index: SearchIndex, repo: Repo) -> None:
    first = repo.head()
    page = index.search("errors retry", limit=1)
    assert page.next_cursor
    second = repo.commit({"new.md": "# New\n\nerrors\n"})
    with pytest.raises(StaleCursor) as stale:
        index.search("errors retry", limit=1, cursor=page.next_cursor)
    assert (stale.value.details["cursor_commit"], stale.value.details["commit"]) == (first, second)
    rest = index.search("errors retry", limit=50, cursor=page.next_cursor, ref=first)
    assert page.hits + rest.hits == index.search("errors retry", limit=50, ref=first).hits

    third = repo.commit({"newer.md": "# Newer\n\nerrors\n"})
    assert index.search("errors retry", limit=50, cursor=page.next_cursor, ref=first) == rest
    with pytest.raises(StaleCursor, match="another commit than this ref") as stale:
        index.search("errors retry", limit=1, cursor=page.next_cursor, ref=second)
    assert (stale.value.details["cursor_commit"], stale.value.details["commit"]) == (first, second)
    with pytest.raises(StaleCursor):
        index.search("errors retry", limit=1, cursor=page.next_cursor, ref=third)
    with pytest.raises(InvalidCursor):
        index.search("errors", limit=1, cursor=page.next_cursor, ref=first)


def progress_totals(index: SearchIndex, query: str, ref: str) -> list[int]:
    """Return how many documents were analysed for a search, by its progress."""
    reports: list[tuple[int, int]] = []
    index.search(query, ref=ref, progress=lambda done, total, word: reports.append((done, total)))
    return sorted({total for _, total in reports})


def test_analysed_documents_are_reused(index: SearchIndex, repo: Repo) -> None:
    files = {f"notes/n{number}.md": f"# Note {number}\n\nold okapi\n" for number in range(20)}
    old = repo.commit(files)
    older = repo.commit({"notes/n3.md": "# Note 3\n\nother okapi\n"})
    repo.commit({path: text.replace("old", "new") for path, text in files.items()})
    index.follow()
    assert progress_totals(index, "okapi", old) == [20]
    assert progress_totals(index, "okapi", old) == []
    assert progress_totals(index, "okapi", older) == [1]
    repo.commit({f"notes/n{number}.md": "# All else\n" for number in range(19)})
    index.follow()
    assert progress_totals(index, "okapi", "HEAD~1") == [19]
    index._overlays._cached_overlays.pop(old)
    assert progress_totals(index, "okapi", old) == [1]


def test_full_index_of_a_commit_reuses_unchanged_documents(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other limits or many changed documents need a full index, but only changed documents are read."""
    first = repo.head()
    repo.commit({"docyard.toml": "[limits]\nheadings = 500\n"})
    index.follow()
    assert progress_totals(index, "errors", first) == []
    monkeypatch.setattr(source, "_MAX_INCREMENTAL", 1)
    repo.commit({path: f"# {path}\n" for path in ("guides/limits.md", "notes/plain.md")})
    index.follow()
    assert progress_totals(index, "errors", "HEAD~1") == []
    index.close()
    assert progress_totals(index, "errors", "HEAD~1") == [2]


def test_changed_manifest_gives_same_blob_other_metadata(index: SearchIndex, repo: Repo) -> None:
    declared = {"docyard.toml": DECLARED, "notes/a.md": "# A\n\nokapi one\n"}
    first = repo.commit({**declared, "notes/.taxonomy.toml": "[metadata]\nlanguage = 'go'\n"})
    second = repo.commit({"notes/.taxonomy.toml": "[metadata]\nlanguage = 'c'\n"})
    repo.commit({"notes/a.md": "# A\n\nokapi two\n"})
    index.follow()
    for ref, language in ((first, "go"), (second, "c"), (first, "go")):
        [hit] = index.search("okapi", ref=ref).hits
        assert hit.metadata == {"language": language}
        assert index.search("okapi", ref=ref, filters={"language": language}).hits == (hit,)


def test_concurrent_searches_at_a_ref_index_it_once(repo: Repo, open_index: Open) -> None:
    old = repo.commit({f"notes/n{number}.md": f"# Note {number}\n\nokapi\n" for number in range(100)})
    repo.commit({f"notes/n{number}.md": f"# Note {number}\n\nwombat\n" for number in range(100)})
    index = open_index()
    index.follow()
    reports: list[int] = []
    pages: list[SearchPage] = []
    start = threading.Barrier(4)

    def search() -> None:
        start.wait()
        pages.append(index.search("okapi", ref=old, progress=lambda done, total, word: reports.append(done)))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reports.count(50) == 1
    assert len(pages) == 4
    assert all(page == pages[0] for page in pages)
    assert len(pages[0].hits) == 10


def test_search_at_ref_survives_replacement_of_the_index(
    index: SearchIndex, repo: Repo, open_index: Open
) -> None:
    old = repo.head()
    repo.commit({"new.md": "# New\n\nerrors\n"})
    page = index.search("errors", ref=old)
    other_index = open_index()
    other_index.rebuild()
    repo.commit({"newer.md": "# Newer\n\nerrors\n"})
    other_index.rebuild()
    assert index.search("errors", ref=old) == page
    index.follow()
    assert index.search("errors", ref=old) == page
    index.close()
    assert index._overlays.size == 0
    assert index.search("errors", ref=old) == page


def test_overlay_cache_is_bounded(index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = [repo.commit({"notes/a.md": f"# A\n\nokapi {number}\n"}) for number in range(6)]
    monkeypatch.setattr(overlays, "MAX_OVERLAYS", 3)
    for commit in commits[:-1]:
        index.search("okapi", ref=commit)
    assert list(index._overlays._cached_overlays) == commits[2:5]
    monkeypatch.setattr(overlays, "MAX_OVERLAY_BYTES", 1)
    index.search("okapi", ref=commits[0])
    assert list(index._overlays._cached_overlays) == commits[:1]
    assert index._overlays.size > 1


def test_unreadable_document_at_ref_is_reported_until_restored(
    index: SearchIndex, repo: Repo, fresh_answers: Callable[[str], list[object]]
) -> None:
    old = repo.commit({"notes/a.md": "# A\n\nokapi\n", "notes/b.md": "# B\n\nokapi\n"})
    blob = repo.git("rev-parse", "HEAD:notes/a.md").strip()
    repo.commit({"notes/a.md": "# A\n", "notes/b.md": "# B\n"})
    index.follow()
    file = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    whole = file.read_bytes()
    file.chmod(0o644)
    file.unlink()
    page = index.search("okapi", ref=old)
    assert page.unreadable == ("notes/a.md",)
    assert [hit.filepath for hit in page.hits] == ["notes/b.md"]
    assert list(search_all(index, ref=old)) == fresh_answers(old)
    file.write_bytes(whole)
    page = index.search("okapi", ref=old)
    assert (page.unreadable, len(page.hits)) == ((), 2)


def test_chunk_is_read_at_a_ref(index: SearchIndex, repo: Repo) -> None:
    old = repo.head()
    repo.commit({"guides/retries.md": "# Retries\n\nOther words.\n"})
    chunk = index.search("exponential", ref=old).hits[0].chunk_id
    passage = index.get(chunk, ref=old)
    assert (passage.commit, passage.moved) == (old, None)
    assert "exponential backoff" in passage.target.text
    with pytest.raises(ChunkNotFound):
        index.get(chunk)


def test_unknown_ref_raises_ref_not_found(index: SearchIndex) -> None:
    with pytest.raises(RefNotFound):
        index.search("errors", ref="nowhere")


def test_artifact_is_searched_at_its_commit_only(artifact: Path, key: bytes, repo: Repo) -> None:  # noqa: F811
    index = FrozenIndex(open_artifact(artifact, key))
    page = index.search("errors")
    assert index.search("errors", ref=repo.head()) == page
    with pytest.raises(RefNotFound):
        index.search("errors", ref=repo.git("rev-parse", "HEAD~1").strip())
    index.close()
