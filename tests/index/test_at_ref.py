"""Searching at a ref: the lists are those of an index that is built from that commit alone."""

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
from tests.index.lists import move
from tests.repositories import Repo, signature
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git import trees
from workspace.git.store import GitStore
from workspace.revisions import RefNotFound
from workspace.workspace import Workspace

Open = Callable[[], SearchIndex]

QUESTIONS: tuple[tuple[str, dict[str, object]], ...] = (
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
    """Commits at random in a repository, without the cost of the git program; `commits` has all of them."""

    def __init__(self, repo: Repo, seed: int) -> None:
        self.commits = [repo.head()]
        self._repo = repo
        self._store = GitStore(repo.path)
        self._chance = Random(seed)
        self._files: dict[str, bytes] = {}

    def write(self, number: int) -> None:
        """Make so many commits upon the branch."""
        for _ in range(number):
            self.commit(self._changes())

    def commit(self, changes: Mapping[str, bytes | None], *, alone: bool = False) -> str:
        """Make one commit that sets some files or, with None, removes them; `alone` has no parent."""
        store, tip = self._store, self.commits[-1]
        tree = None if alone else store.commit(tip).tree
        blobs = {path: None if data is None else store.put_blob(data) for path, data in changes.items()}
        tree = trees.rewrite_tree(store, tree, blobs)
        parents = () if alone else (tip,)
        commit = store.put_commit(tree, parents, signature(), signature(), f"{len(self.commits)}")
        self.commits.append(commit)
        move(self._repo, commit)
        return commit

    def _changes(self) -> dict[str, bytes | None]:
        chance = self._chance
        changes: dict[str, bytes | None] = {}
        for _ in range(chance.randint(1, 3)):
            folder, known = chance.choice(FOLDERS), sorted(self._files)
            match chance.randrange(9):
                case 0 if known:
                    changes[chance.choice(known)] = None
                case 1 if known:
                    old = chance.choice(known)
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
        says = f"[metadata]\nlanguage = '{chance.choice(('go', 'c'))}'\n" + chance.choice(("", override))
        return chance.choice((says.encode(), says.encode(), b"[broken", None))

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


def answers(index: SearchIndex, ref: str | None = None) -> Iterator[object]:
    """Every page of every list, five hits at a time, and what is said where there is none."""
    for query, options in QUESTIONS:
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
def afresh(repo: Repo, tmp_path: Path) -> Callable[[str], list[object]]:
    """Yield the answers of an index that is built now, of one commit, in a folder of its own."""
    known: dict[str, list[object]] = {}

    def answered(commit: str) -> list[object]:
        if commit not in known:
            (repo.path / ".git" / "refs" / "heads" / "afresh").write_text(commit + "\n")
            folder = tmp_path / f"afresh-{commit}"
            folder.mkdir(0o700)
            index = SearchIndex(Workspace.open(repo.path, branch="afresh", read_only=True), location=folder)
            known[commit] = list(answers(index))
            index.close()
        return known[commit]

    return answered


def compare(repo: Repo, afresh: Callable[[str], list[object]], seed: int, commits: int, at_once: int) -> None:
    """Make commits, nine at a time, and each time compare the answers at some of them."""
    history = History(repo, seed)
    history.write(8)
    index = SearchIndex(Workspace.open(repo.path, read_only=True))
    chance = Random(seed)
    while len(history.commits) < commits:
        for commit in chance.sample(history.commits, min(at_once, len(history.commits))):
            assert list(answers(index, ref=commit)) == afresh(commit)
        history.write(9)
        if chance.random() < 0.5:
            with suppress(InvalidConfig):
                index.follow()
    index.close()


WAYS = [(1, 5_000, 300, 16), (2, 3, 300, 16), (3, 5_000, 2, 3), (4, 3, 2, 1)]
"""A seed, what is a small part, how many documents are few, and how many overlays are kept."""


@pytest.mark.property
@pytest.mark.parametrize(("seed", "small", "few", "kept"), WAYS)
def test_old_commits_have_the_lists_of_a_fresh_index(
    repo: Repo,
    afresh: Callable[[str], list[object]],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    small: int,
    few: int,
    kept: int,
) -> None:
    """Few and many parts, few and many overlays kept, the whole commit taken in or what differs."""
    monkeypatch.setattr(overlays, "SMALL", small)
    monkeypatch.setattr(source, "_MAX_INCREMENTAL", few)
    monkeypatch.setattr(overlays, "MAX_OVERLAYS", kept)
    compare(repo, afresh, seed, commits=60, at_once=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 7))
def test_every_commit_has_the_lists_of_a_fresh_index(
    repo: Repo, afresh: Callable[[str], list[object]], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(overlays, "SMALL", 20)
    compare(repo, afresh, seed, commits=60, at_once=30)


def test_the_tip_by_name_is_the_ordinary_search(index: SearchIndex, repo: Repo) -> None:
    page = index.search("errors")
    for ref in ("main", "HEAD", repo.head(), repo.head()[:8], "", "  "):
        assert index.search("errors", ref=ref) == page
    assert "_overlays" not in vars(index) or index._overlays.size == 0


def test_another_branch_and_an_unrelated_history(
    index: SearchIndex, repo: Repo, afresh: Callable[[str], list[object]]
) -> None:
    first = repo.head()
    history = History(repo, 5)
    history.write(3)
    other = history.commit({"only.md": b"# Only okapi\n\nwombat okapi\n"}, alone=True)
    empty = history.commit({"only.md": None})
    move(repo, history.commits[3])
    assert list(answers(index, ref=other)) == afresh(other)
    assert list(answers(index, ref=empty)) == afresh(empty)
    assert list(answers(index, ref=first)) == afresh(first)
    assert index.search("okapi").commit == history.commits[3]


def test_a_ref_newer_than_the_index_is_no_reason_to_follow(index: SearchIndex, repo: Repo) -> None:
    first = index.follow()
    repo.git("branch", "ahead")
    newer = History(repo, 6).commit({"new.md": b"# New\n\nQuagga.\n"})
    (repo.path / ".git" / "refs" / "heads" / "ahead").write_text(newer + "\n")
    assert first is not None
    move(repo, first)
    page = index.search("quagga", ref="ahead")
    assert (page.commit, page.stale, [hit.chunk_id for hit in page.hits]) == (
        newer,
        False,
        ["new.md#_preamble"],
    )
    assert index.status().state.commit == first  # type: ignore[union-attr]


def test_a_branch_without_a_commit_has_others_to_search(index: SearchIndex, repo: Repo) -> None:
    first = repo.head()
    repo.git("checkout", "-q", "--orphan", "begun")
    page = index.search("backoff", ref="main")
    assert (page.commit, page.hits[0].chunk_id) == (first, "guides/retries.md#backoff")
    assert index.search("backoff").commit is None


def test_an_index_at_a_lost_commit_is_no_base(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"new.md": "# New\n\nQuagga.\n"})
    index.follow()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    repo.commit({"later.md": "# Later\n\nOkapi.\n"})
    index = SearchIndex(Workspace.open(repo.path))
    assert not index.search("quagga", ref="HEAD~1").hits
    assert index.search("backoff", ref="HEAD~1").hits


def test_settings_that_are_broken_at_the_tip_do_not_touch_an_older_commit(
    index: SearchIndex, repo: Repo
) -> None:
    first = repo.head()
    repo.commit({"docyard.toml": "exclude = 7\n"})
    assert index.search("backoff", ref=first).hits
    with pytest.raises(InvalidConfig):
        index.search("backoff")
    with pytest.raises(InvalidConfig):
        index.search("backoff", ref="HEAD")


def test_a_cursor_goes_on_at_its_own_commit(index: SearchIndex, repo: Repo) -> None:
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


def told_totals(index: SearchIndex, query: str, ref: str) -> list[int]:
    """How many documents were analysed for a search, as its progress tells."""
    told: list[tuple[int, int]] = []
    index.search(query, ref=ref, progress=lambda done, total, word: told.append((done, total)))
    return sorted({total for _, total in told})


def test_what_was_analysed_is_used_again(index: SearchIndex, repo: Repo) -> None:
    files = {f"notes/n{number}.md": f"# Note {number}\n\nold okapi\n" for number in range(20)}
    old = repo.commit(files)
    older = repo.commit({"notes/n3.md": "# Note 3\n\nother okapi\n"})
    repo.commit({path: text.replace("old", "new") for path, text in files.items()})
    index.follow()
    assert told_totals(index, "okapi", old) == [20]
    assert told_totals(index, "okapi", old) == []
    assert told_totals(index, "okapi", older) == [1]
    repo.commit({f"notes/n{number}.md": "# All else\n" for number in range(19)})
    index.follow()
    assert told_totals(index, "okapi", "HEAD~1") == [19]
    index._overlays._cached_overlays.pop(old)
    assert told_totals(index, "okapi", old) == [1]


def test_a_whole_commit_is_made_of_what_is_the_same(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other limits, or many documents that differ, ask for all of a commit, but read only what differs."""
    first = repo.head()
    repo.commit({"docyard.toml": "[limits]\nheadings = 500\n"})
    index.follow()
    assert told_totals(index, "errors", first) == []
    monkeypatch.setattr(source, "_MAX_INCREMENTAL", 1)
    repo.commit({path: f"# {path}\n" for path in ("guides/limits.md", "notes/plain.md")})
    index.follow()
    assert told_totals(index, "errors", "HEAD~1") == []
    index.close()
    assert told_totals(index, "errors", "HEAD~1") == [2]


def test_a_manifest_makes_another_page_of_the_same_blob(index: SearchIndex, repo: Repo) -> None:
    declared = {"docyard.toml": DECLARED, "notes/a.md": "# A\n\nokapi one\n"}
    first = repo.commit({**declared, "notes/.taxonomy.toml": "[metadata]\nlanguage = 'go'\n"})
    second = repo.commit({"notes/.taxonomy.toml": "[metadata]\nlanguage = 'c'\n"})
    repo.commit({"notes/a.md": "# A\n\nokapi two\n"})
    index.follow()
    for ref, language in ((first, "go"), (second, "c"), (first, "go")):
        [hit] = index.search("okapi", ref=ref).hits
        assert hit.metadata == {"language": language}
        assert index.search("okapi", ref=ref, filters={"language": language}).hits == (hit,)


def test_threads_that_ask_at_once_make_it_once(repo: Repo, open_index: Open) -> None:
    old = repo.commit({f"notes/n{number}.md": f"# Note {number}\n\nokapi\n" for number in range(100)})
    repo.commit({f"notes/n{number}.md": f"# Note {number}\n\nwombat\n" for number in range(100)})
    index = open_index()
    index.follow()
    told: list[int] = []
    pages: list[SearchPage] = []
    start = threading.Barrier(4)

    def ask() -> None:
        start.wait()
        pages.append(index.search("okapi", ref=old, progress=lambda done, total, word: told.append(done)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told.count(50) == 1
    assert len(pages) == 4
    assert all(page == pages[0] for page in pages)
    assert len(pages[0].hits) == 10


def test_it_serves_on_when_the_index_is_replaced(index: SearchIndex, repo: Repo, open_index: Open) -> None:
    old = repo.head()
    repo.commit({"new.md": "# New\n\nerrors\n"})
    page = index.search("errors", ref=old)
    other = open_index()
    other.rebuild()
    repo.commit({"newer.md": "# Newer\n\nerrors\n"})
    other.rebuild()
    assert index.search("errors", ref=old) == page
    index.follow()
    assert index.search("errors", ref=old) == page
    index.close()
    assert index._overlays.size == 0
    assert index.search("errors", ref=old) == page


def test_the_memory_of_overlays_is_bounded(
    index: SearchIndex, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = [repo.commit({"notes/a.md": f"# A\n\nokapi {number}\n"}) for number in range(6)]
    monkeypatch.setattr(overlays, "MAX_OVERLAYS", 3)
    for commit in commits[:-1]:
        index.search("okapi", ref=commit)
    assert list(index._overlays._cached_overlays) == commits[2:5]
    monkeypatch.setattr(overlays, "MAX_OVERLAY_BYTES", 1)
    index.search("okapi", ref=commits[0])
    assert list(index._overlays._cached_overlays) == commits[:1]
    assert index._overlays.size > 1


def test_a_lost_document_of_an_old_commit_is_named_until_it_is_back(
    index: SearchIndex, repo: Repo, afresh: Callable[[str], list[object]]
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
    assert list(answers(index, ref=old)) == afresh(old)
    file.write_bytes(whole)
    page = index.search("okapi", ref=old)
    assert (page.unreadable, len(page.hits)) == ((), 2)


def test_a_chunk_is_read_at_a_ref(index: SearchIndex, repo: Repo) -> None:
    old = repo.head()
    repo.commit({"guides/retries.md": "# Retries\n\nOther words.\n"})
    chunk = index.search("exponential", ref=old).hits[0].chunk_id
    passage = index.get(chunk, ref=old)
    assert (passage.commit, passage.moved) == (old, None)
    assert "exponential backoff" in passage.target.text
    with pytest.raises(ChunkNotFound):
        index.get(chunk)


def test_an_unknown_ref_is_an_error(index: SearchIndex) -> None:
    with pytest.raises(RefNotFound):
        index.search("errors", ref="nowhere")


def test_an_artifact_has_one_commit(artifact: Path, key: bytes, repo: Repo) -> None:  # noqa: F811
    index = FrozenIndex(open_artifact(artifact, key))
    page = index.search("errors")
    assert index.search("errors", ref=repo.head()) == page
    with pytest.raises(RefNotFound):
        index.search("errors", ref=repo.git("rev-parse", "HEAD~1").strip())
    index.close()
