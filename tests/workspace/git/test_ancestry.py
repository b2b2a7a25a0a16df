"""Commits and trees read from bytes equal parsed objects; history walks equal those of git."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repositories import Repo
from workspace.git.ancestry import (
    MAX_CLOCK_SKEW_S,
    MAX_OLD_COMMITS,
    Graph,
    build_path_pattern,
    find_entry,
    list_commits_between,
    parse_node,
    walk_first_parents,
)
from workspace.git.objects import (
    FILE_MODE,
    TREE_MODE,
    Signature,
    TreeEntry,
    encode_commit,
    encode_tree,
    parse_tree,
)
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore

IDS = st.binary(min_size=20, max_size=20).map(bytes.hex)
NAMES = st.text(st.sampled_from("ab 1064.\u00e9"), min_size=1, max_size=12).filter(
    lambda name: name not in ". .."
)
ENTRIES = st.dictionaries(NAMES, st.tuples(IDS, st.sampled_from((FILE_MODE, TREE_MODE, 0o100755, 0o120000))))


@given(ENTRIES, NAMES)
def test_found_entry_equals_parsed_entry(entries: dict[str, tuple[str, int]], missing_name: str) -> None:
    data = encode_tree(TreeEntry(name, id, mode) for name, (id, mode) in entries.items())
    entries_by_name = {entry.name: entry for entry in parse_tree(data)}
    for name in (*entries, missing_name):
        entry = entries_by_name.get(name)
        blob = entry.id if entry is not None and entry.is_blob else None
        assert find_entry(data, build_path_pattern(name)[-1]) == blob
        folder = entry.id if entry is not None and entry.is_tree else None
        assert find_entry(data, build_path_pattern(f"{name}/x")[0]) == folder


def test_name_with_same_suffix_is_not_found() -> None:
    data = encode_tree(
        [TreeEntry("my 100644 a.md", "1" * 40, FILE_MODE), TreeEntry("notes a.md", "2" * 40, FILE_MODE)]
    )
    assert find_entry(data, build_path_pattern("a.md")[0]) is None


@given(IDS, st.lists(IDS, max_size=3), st.integers(0, 2**40), st.text(max_size=20))
def test_commit_node_has_tree_parents_and_time(tree: str, parents: list[str], time: int, name: str) -> None:
    author, committer = Signature("A > B", "a@example.org", 5), Signature(name, "c@example.org", time, 90)
    node = parse_node("0" * 40, encode_commit(tree, parents, author, committer, "tree 0\nparent 1\n"))
    assert node == ("0" * 40, tree, tuple(parents), time)


@pytest.mark.parametrize("data", [b"", b"tree x\n", b"tree " + b"0" * 40 + b"\n"])
def test_malformed_commit_raises_damaged_repository(data: bytes) -> None:
    with pytest.raises(DamagedRepository):
        parse_node("0" * 40, data)


@pytest.fixture
def first_parents(repo: Repo) -> list[str]:
    """Return first-parent commits, newest first, of a repository in which every third commit is a merge."""
    for number in range(6):
        repo.commit({"a.md": f"# {number}\n"})
        if number % 3 == 2:
            repo.git("checkout", "-q", "-b", f"side-{number}", "HEAD~1")
            repo.commit({f"{number}.md": "# Side\n"})
            repo.git("checkout", "-q", "main")
            repo.git("merge", "-q", "--no-ff", "-m", "Merge", f"side-{number}")
    return repo.git("rev-list", "--first-parent", "HEAD").split()


def walk_commits(git: GitReader, tip: str, limit: int | None = None) -> list[str]:
    return [commit.id for commit in walk_first_parents(git.commit, git.boundary, tip, max_commits=limit)]


def test_first_parents_equal_git_rev_list(repo: Repo, first_parents: list[str]) -> None:
    git = GitReader(repo.path)
    assert walk_commits(git, first_parents[0]) == first_parents
    assert walk_commits(git, first_parents[0], 3) == first_parents[:3]
    assert [node.id for node in Graph(git).first_parents(first_parents[0], max_commits=100)] == first_parents
    assert walk_commits(git, first_parents[0], 0) == []


def test_first_parents_end_at_shallow_boundary(repo: Repo, first_parents: list[str], tmp_path: Path) -> None:
    repo.git("clone", "-q", "--depth", "3", f"file://{repo.path}", str(tmp_path / "clone"))
    git = GitReader(tmp_path / "clone")
    assert walk_commits(git, first_parents[0]) == first_parents[:3]
    assert [node.id for node in Graph(git).first_parents(first_parents[0], max_commits=100)] == first_parents[
        :3
    ]


def test_missing_commit_raises_error_or_ends_walk(repo: Repo, first_parents: list[str]) -> None:
    (repo.path / ".git" / "objects" / first_parents[3][:2] / first_parents[3][2:]).unlink()
    git = GitReader(repo.path)
    with pytest.raises(DamagedRepository):
        walk_commits(git, first_parents[0])
    assert [node.id for node in Graph(git).first_parents(first_parents[0], max_commits=100)] == first_parents[
        :3
    ]


def test_first_parents_end_after_many_too_old_commits(repo: Repo) -> None:
    store = GitStore(repo.path)
    tree, commits = store.put_tree(()), list[str]()
    since = 10 * MAX_CLOCK_SKEW_S
    old_count, recent_count = MAX_OLD_COMMITS + 5, 5
    for number in range(old_count + recent_count):
        time = 1_000 if number < old_count else since
        signature = Signature("A", "a@example.org", time)
        commits.append(store.put_commit(tree, commits[-1:], signature, signature, f"{number}"))
    nodes = Graph(store).first_parents(commits[-1], max_commits=1_000, since=since)
    assert [node.id for node in nodes] == commits[-recent_count - MAX_OLD_COMMITS :][::-1]


def test_commits_between_equal_git_rev_list(repo: Repo, first_parents: list[str]) -> None:
    graph = Graph(GitReader(repo.path))
    for base in first_parents[1:]:
        expected = set(repo.git("rev-list", first_parents[0], f"^{base}").split())
        assert list_commits_between(graph, first_parents[0], base, max_commits=100) == (expected, False)
        assert list_commits_between(graph, base, first_parents[0], max_commits=100) == (frozenset(), False)
    assert list_commits_between(graph, first_parents[0], None, max_commits=2)[1]


def test_skewed_clocks_do_not_change_commits_between(repo: Repo) -> None:
    store = GitStore(repo.path)
    tree = store.put_tree(())

    def commit(time: int, parent: str) -> str:
        signature = Signature("A", "a@example.org", time)
        return store.put_commit(tree, [parent], signature, signature, "Work")

    shared_commit = commit(2_000, "1" * 40)
    tip, base = commit(3_000, shared_commit), commit(1_000, shared_commit)
    assert list_commits_between(Graph(store), tip, base, max_commits=100) == ({tip}, False)
