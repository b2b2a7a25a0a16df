"""Search at a ref: the results equal the results of an index of only that commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from index import overlays, source
from index.artifacts.artifact import open_artifact
from index.artifacts.search_index import ArtifactSearchIndex
from index.cursors import InvalidCursor, StaleCursor
from index.passages import ChunkNotFound
from index.service import SearchIndex, SearchPage
from tests.index.artifacts.conftest import artifact, artifact_folder, commit_and_build, key  # noqa: F401
from tests.index.index_checks import move_branch
from tests.repositories import Repo, make_signature
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git import trees
from workspace.git.store import GitStore
from workspace.revisions import RefNotFound
from workspace.workspace import Workspace

OpenIndex = Callable[[], SearchIndex]

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
KEYS_SETTINGS = "[taxonomy.language]\n[taxonomy.scope]\n"
SETTINGS = (
    KEYS_SETTINGS,
    'exclude = ["notes"]\n' + KEYS_SETTINGS,
    KEYS_SETTINGS + "[limits]\ndocument_bytes = 1000\n",
    KEYS_SETTINGS + "[limits]\nheadings = 100\n",
    "[taxonomy.scope]\n",
    'root = "guides"\n' + KEYS_SETTINGS,
)


class RandomHistory:
    """Random commits in a repository, written without the git program; `commits` lists their ids."""

    def __init__(self, repo: Repo, seed: int) -> None:
        self.commits = [repo.head()]
        self._repo = repo
        self._store = GitStore(repo.path)
        self._rng = Random(seed)
        self._files: dict[str, bytes] = {}

    def write(self, commit_count: int) -> None:
        """Add random commits to the branch."""
        for _ in range(commit_count):
            self.commit(self._make_changes())

    def commit(self, changes: Mapping[str, bytes | None], *, is_root: bool = False) -> str:
        """Make a commit that sets files, or removes them with None; with `is_root` it has no parent."""
        store, tip = self._store, self.commits[-1]
        tree = None if is_root else store.commit(tip).tree
        blobs = {path: None if data is None else store.put_blob(data) for path, data in changes.items()}
        tree = trees.rewrite_tree(store, tree, blobs)
        parents = () if is_root else (tip,)
        commit = store.put_commit(tree, parents, make_signature(), make_signature(), f"{len(self.commits)}")
        self.commits.append(commit)
        move_branch(self._repo, commit)
        return commit

    def _make_changes(self) -> dict[str, bytes | None]:
        rng = self._rng
        changes: dict[str, bytes | None] = {}
        for _ in range(rng.randint(1, 3)):
            folder, existing_paths = rng.choice(FOLDERS), sorted(self._files)
            match rng.randrange(9):
                case 0 if existing_paths:
                    changes[rng.choice(existing_paths)] = None
                case 1 if existing_paths:
                    old_path = rng.choice(existing_paths)
                    changes[f"{folder}{rng.choice('abcdef')}{rng.randrange(4)}.md"] = self._files[old_path]
                    changes[old_path] = None
                case 2:
                    changes[f"{folder}.taxonomy.toml"] = self._make_manifest()
                case 3 if rng.random() < 0.4:
                    changes["docyard.toml"] = rng.choice(SETTINGS).encode()
                case _:
                    changes[f"{folder}{rng.choice('abcdef')}.md"] = self._make_document()
        self._files |= {path: data for path, data in changes.items() if data and path.endswith(".md")}
        self._files = {path: data for path, data in self._files.items() if changes.get(path, b"")}
        return changes

    def _make_manifest(self) -> bytes | None:
        rng = self._rng
        override = f"[[override]]\nmatch = '[abc]*'\nmetadata = {{ scope = '{rng.choice('xy')}' }}\n"
        manifest = f"[metadata]\nlanguage = '{rng.choice(('go', 'c'))}'\n" + rng.choice(("", override))
        return rng.choice((manifest.encode(), manifest.encode(), b"[broken", None))

    def _make_document(self) -> bytes:
        rng = self._rng
        front_matter = ""
        if rng.random() < 0.5:
            kind = rng.choice(("runbook", "note"))
            day = "2026-01-15" if kind == "note" else "2025-06-01"
            front_matter = f"---\ntype: {kind}\nupdated: {day}\n---\n"
        headings = ["# ", *["## "] * rng.randrange(7)]
        sections = [
            f"{marks}{rng.choice(WORDS)}\n\n{' '.join(rng.choices(WORDS, k=rng.randint(0, 40)))}\n"
            for marks in headings
        ]
        return (front_matter + "\n".join(sections)).encode()


def search_all_pages(index: SearchIndex, ref: str | None = None) -> Iterator[object]:
    """Yield every page of the results of each search, with five hits each, and the errors."""
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
def search_new_index(repo: Repo, tmp_path: Path) -> Callable[[str], list[object]]:
    """Return a function that returns the results of a new index of a commit in its own folder."""
    results_by_commit: dict[str, list[object]] = {}

    def search_at(commit: str) -> list[object]:
        if commit not in results_by_commit:
            (repo.path / ".git" / "refs" / "heads" / "fresh").write_text(commit + "\n")
            folder = tmp_path / f"fresh-{commit}"
            folder.mkdir(0o700)
            index = SearchIndex(Workspace.open(repo.path, branch="fresh", read_only=True), location=folder)
            results_by_commit[commit] = list(search_all_pages(index))
            index.close()
        return results_by_commit[commit]

    return search_at


def compare_with_new_index(
    repo: Repo,
    search_new_index: Callable[[str], list[object]],
    seed: int,
    commit_count: int,
    refs_per_round: int,
) -> None:
    """Make nine commits in each round, and compare the results at some of the commits."""
    history = RandomHistory(repo, seed)
    history.write(8)
    index = SearchIndex(Workspace.open(repo.path, read_only=True))
    rng = Random(seed)
    while len(history.commits) < commit_count:
        for commit in rng.sample(history.commits, min(refs_per_round, len(history.commits))):
            assert list(search_all_pages(index, ref=commit)) == search_new_index(commit)
        history.write(9)
        if rng.random() < 0.5:
            with suppress(InvalidConfig):
                index.update_to_tip()
    index.close()


VARIANTS = [(1, 5_000, 300, 16), (2, 3, 300, 16), (3, 5_000, 2, 3), (4, 3, 2, 1)]
"""Tuples of a seed, the size of a small segment, the limit of incremental updates, and of overlays."""


@pytest.mark.property
@pytest.mark.parametrize(("seed", "max_small_sections", "max_incremental", "max_overlays"), VARIANTS)
def test_search_at_old_commits_equals_a_fresh_index(
    repo: Repo,
    search_new_index: Callable[[str], list[object]],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    max_small_sections: int,
    max_incremental: int,
    max_overlays: int,
) -> None:
    """Run with few and many segments, few and many cached overlays, and full and incremental indexing."""
    monkeypatch.setattr(overlays, "MAX_SMALL_OVERLAY_SECTIONS", max_small_sections)
    monkeypatch.setattr(source, "_MAX_INCREMENTAL_DOCUMENTS", max_incremental)
    monkeypatch.setattr(overlays, "MAX_OVERLAYS", max_overlays)
    compare_with_new_index(repo, search_new_index, seed, commit_count=60, refs_per_round=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 7))
def test_search_at_every_commit_equals_a_fresh_index(
    repo: Repo, search_new_index: Callable[[str], list[object]], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(overlays, "MAX_SMALL_OVERLAY_SECTIONS", 20)
    compare_with_new_index(repo, search_new_index, seed, commit_count=60, refs_per_round=30)


def test_segment_with_two_readers_has_the_sections_of_both(
    repo: Repo, search_new_index: Callable[[str], list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Search commits for which the index and an earlier overlay share a segment, with other documents."""
    monkeypatch.setattr(overlays, "MAX_SMALL_OVERLAY_SECTIONS", 20)
    compare_with_new_index(repo, search_new_index, seed=5, commit_count=10, refs_per_round=30)


def test_ref_of_the_tip_equals_search_without_ref(index: SearchIndex, repo: Repo) -> None:
    page = index.search("errors")
    for ref in ("main", "HEAD", repo.head(), repo.head()[:8], "", "  "):
        assert index.search("errors", ref=ref) == page
    assert "_overlays" not in vars(index) or index._overlays.nbytes == 0


def test_search_at_unrelated_history_equals_a_fresh_index(
    index: SearchIndex, repo: Repo, search_new_index: Callable[[str], list[object]]
) -> None:
    first_commit = repo.head()
    history = RandomHistory(repo, 5)
    history.write(3)
    unrelated_commit = history.commit({"only.md": b"# Only okapi\n\nwombat okapi\n"}, is_root=True)
    empty_commit = history.commit({"only.md": None})
    move_branch(repo, history.commits[3])
    assert list(search_all_pages(index, ref=unrelated_commit)) == search_new_index(unrelated_commit)
    assert list(search_all_pages(index, ref=empty_commit)) == search_new_index(empty_commit)
    assert list(search_all_pages(index, ref=first_commit)) == search_new_index(first_commit)
    assert index.search("okapi").commit == history.commits[3]


def test_search_at_newer_ref_does_not_update_index(index: SearchIndex, repo: Repo) -> None:
    first_commit = index.update_to_tip()
    repo.git("branch", "ahead")
    newer_commit = RandomHistory(repo, 6).commit({"new.md": b"# New\n\nQuagga.\n"})
    (repo.path / ".git" / "refs" / "heads" / "ahead").write_text(newer_commit + "\n")
    assert first_commit is not None
    move_branch(repo, first_commit)
    page = index.search("quagga", ref="ahead")
    assert (page.commit, page.is_stale, [hit.chunk_id for hit in page.hits]) == (
        newer_commit,
        False,
        ["new.md#_preamble"],
    )
    assert index.status().state.commit == first_commit  # type: ignore[union-attr]


def test_unborn_branch_can_search_other_branches(index: SearchIndex, repo: Repo) -> None:
    first_commit = repo.head()
    repo.git("checkout", "-q", "--orphan", "begun")
    page = index.search("backoff", ref="main")
    assert (page.commit, page.hits[0].chunk_id) == (first_commit, "guides/retries.md#backoff")
    assert index.search("backoff").commit is None


def test_index_at_a_pruned_commit_is_not_reused(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"new.md": "# New\n\nQuagga.\n"})
    index.update_to_tip()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    repo.commit({"later.md": "# Later\n\nOkapi.\n"})
    index = SearchIndex(Workspace.open(repo.path))
    assert not index.search("quagga", ref="HEAD~1").hits
    assert index.search("backoff", ref="HEAD~1").hits


def test_invalid_settings_at_tip_do_not_affect_older_commits(index: SearchIndex, repo: Repo) -> None:
    first_commit = repo.head()
    repo.commit({"docyard.toml": "exclude = 7\n"})
    assert index.search("backoff", ref=first_commit).hits
    with pytest.raises(InvalidConfig):
        index.search("backoff")
    with pytest.raises(InvalidConfig):
        index.search("backoff", ref="HEAD")


def test_cursor_continues_only_at_its_own_commit(index: SearchIndex, repo: Repo) -> None:
    first_commit = repo.head()
    page = index.search("errors retry", limit=1)
    assert page.next_cursor
    second_commit = repo.commit({"new.md": "# New\n\nerrors\n"})
    with pytest.raises(StaleCursor) as error_info:
        index.search("errors retry", limit=1, cursor=page.next_cursor)
    assert (error_info.value.details["cursor_commit"], error_info.value.details["commit"]) == (
        first_commit,
        second_commit,
    )
    other_page = index.search("errors retry", limit=50, cursor=page.next_cursor, ref=first_commit)
    assert page.hits + other_page.hits == index.search("errors retry", limit=50, ref=first_commit).hits

    third_commit = repo.commit({"newer.md": "# Newer\n\nerrors\n"})
    assert index.search("errors retry", limit=50, cursor=page.next_cursor, ref=first_commit) == other_page
    with pytest.raises(StaleCursor, match="another commit than this ref") as error_info:
        index.search("errors retry", limit=1, cursor=page.next_cursor, ref=second_commit)
    assert (error_info.value.details["cursor_commit"], error_info.value.details["commit"]) == (
        first_commit,
        second_commit,
    )
    with pytest.raises(StaleCursor):
        index.search("errors retry", limit=1, cursor=page.next_cursor, ref=third_commit)
    with pytest.raises(InvalidCursor):
        index.search("errors", limit=1, cursor=page.next_cursor, ref=first_commit)


def find_progress_totals(index: SearchIndex, query: str, ref: str) -> list[int]:
    """Return the numbers of documents that a search analysed, from its progress reports."""
    reports: list[tuple[int, int]] = []
    index.search(query, ref=ref, progress=lambda done, total, word: reports.append((done, total)))
    return sorted({total for _, total in reports})


def test_analysed_documents_are_reused(index: SearchIndex, repo: Repo) -> None:
    files = {f"notes/n{number}.md": f"# Note {number}\n\nold okapi\n" for number in range(20)}
    old_commit = repo.commit(files)
    older_commit = repo.commit({"notes/n3.md": "# Note 3\n\nother okapi\n"})
    repo.commit({path: text.replace("old", "new") for path, text in files.items()})
    index.update_to_tip()
    assert find_progress_totals(index, "okapi", old_commit) == [20]
    assert find_progress_totals(index, "okapi", old_commit) == []
    assert find_progress_totals(index, "okapi", older_commit) == [1]
    repo.commit({f"notes/n{number}.md": "# All else\n" for number in range(19)})
    index.update_to_tip()
    assert find_progress_totals(index, "okapi", "HEAD~1") == [19]
    index._overlays._cached_overlays.pop(old_commit)
    assert find_progress_totals(index, "okapi", old_commit) == [1]


def test_full_index_of_a_commit_reuses_unchanged_documents(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a full index, due to other limits or many changes, reads only changed documents."""
    first_commit = repo.head()
    repo.commit({"docyard.toml": "[limits]\nheadings = 500\n"})
    index.update_to_tip()
    assert find_progress_totals(index, "errors", first_commit) == []
    monkeypatch.setattr(source, "_MAX_INCREMENTAL_DOCUMENTS", 1)
    repo.commit({path: f"# {path}\n" for path in ("guides/limits.md", "notes/plain.md")})
    index.update_to_tip()
    assert find_progress_totals(index, "errors", "HEAD~1") == []
    index.close()
    assert find_progress_totals(index, "errors", "HEAD~1") == [2]


def test_changed_manifest_gives_same_blob_other_metadata(index: SearchIndex, repo: Repo) -> None:
    documents = {"docyard.toml": KEYS_SETTINGS, "notes/a.md": "# A\n\nokapi one\n"}
    first_commit = repo.commit({**documents, "notes/.taxonomy.toml": "[metadata]\nlanguage = 'go'\n"})
    second_commit = repo.commit({"notes/.taxonomy.toml": "[metadata]\nlanguage = 'c'\n"})
    repo.commit({"notes/a.md": "# A\n\nokapi two\n"})
    index.update_to_tip()
    for ref, language in ((first_commit, "go"), (second_commit, "c"), (first_commit, "go")):
        [hit] = index.search("okapi", ref=ref).hits
        assert hit.metadata == {"language": language}
        assert index.search("okapi", ref=ref, filters={"language": language}).hits == (hit,)


def test_concurrent_searches_at_a_ref_index_it_once(repo: Repo, open_index: OpenIndex) -> None:
    old_commit = repo.commit({f"notes/n{number}.md": f"# Note {number}\n\nokapi\n" for number in range(100)})
    repo.commit({f"notes/n{number}.md": f"# Note {number}\n\nwombat\n" for number in range(100)})
    index = open_index()
    index.update_to_tip()
    reports: list[int] = []
    pages: list[SearchPage] = []
    start = threading.Barrier(4)

    def search() -> None:
        start.wait()
        pages.append(
            index.search("okapi", ref=old_commit, progress=lambda done, total, word: reports.append(done))
        )

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
    index: SearchIndex, repo: Repo, open_index: OpenIndex
) -> None:
    old_commit = repo.head()
    repo.commit({"new.md": "# New\n\nerrors\n"})
    page = index.search("errors", ref=old_commit)
    other_index = open_index()
    other_index.rebuild()
    repo.commit({"newer.md": "# Newer\n\nerrors\n"})
    other_index.rebuild()
    assert index.search("errors", ref=old_commit) == page
    index.update_to_tip()
    assert index.search("errors", ref=old_commit) == page
    index.close()
    assert index._overlays.nbytes == 0
    assert index.search("errors", ref=old_commit) == page


def test_overlay_cache_is_bounded(index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = [repo.commit({"notes/a.md": f"# A\n\nokapi {number}\n"}) for number in range(6)]
    monkeypatch.setattr(overlays, "MAX_OVERLAYS", 3)
    for commit in commits[:-1]:
        index.search("okapi", ref=commit)
    assert list(index._overlays._cached_overlays) == commits[2:5]
    monkeypatch.setattr(overlays, "MAX_OVERLAY_BYTES", 1)
    index.search("okapi", ref=commits[0])
    assert list(index._overlays._cached_overlays) == commits[:1]
    assert index._overlays.nbytes > 1


def test_unreadable_document_at_ref_is_reported_until_restored(
    index: SearchIndex, repo: Repo, search_new_index: Callable[[str], list[object]]
) -> None:
    old_commit = repo.commit({"notes/a.md": "# A\n\nokapi\n", "notes/b.md": "# B\n\nokapi\n"})
    blob = repo.git("rev-parse", "HEAD:notes/a.md").strip()
    repo.commit({"notes/a.md": "# A\n", "notes/b.md": "# B\n"})
    index.update_to_tip()
    file = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    data = file.read_bytes()
    file.chmod(0o644)
    file.unlink()
    page = index.search("okapi", ref=old_commit)
    assert page.unreadable == ("notes/a.md",)
    assert [hit.filepath for hit in page.hits] == ["notes/b.md"]
    assert list(search_all_pages(index, ref=old_commit)) == search_new_index(old_commit)
    file.write_bytes(data)
    page = index.search("okapi", ref=old_commit)
    assert (page.unreadable, len(page.hits)) == ((), 2)


def test_chunk_is_read_at_a_ref(index: SearchIndex, repo: Repo) -> None:
    old_commit = repo.head()
    repo.commit({"guides/retries.md": "# Retries\n\nOther words.\n"})
    chunk = index.search("exponential", ref=old_commit).hits[0].chunk_id
    passage = index.read_passage(chunk, ref=old_commit)
    assert (passage.commit, passage.move) == (old_commit, None)
    assert "exponential backoff" in passage.target.text
    with pytest.raises(ChunkNotFound):
        index.read_passage(chunk)


def test_unknown_ref_raises_ref_not_found(index: SearchIndex) -> None:
    with pytest.raises(RefNotFound):
        index.search("errors", ref="nowhere")


def test_artifact_is_searched_at_its_commit_only(artifact: Path, key: bytes, repo: Repo) -> None:  # noqa: F811
    index = ArtifactSearchIndex(open_artifact(artifact, key))
    page = index.search("errors")
    assert index.search("errors", ref=repo.head()) == page
    with pytest.raises(RefNotFound):
        index.search("errors", ref=repo.git("rev-parse", "HEAD~1").strip())
    index.close()
