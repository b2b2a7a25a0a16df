"""Unpushed commits equal those counted by git, over any history."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.repositories import create_repository
from tests.workspace.sync.conftest import SyncPair
from workspace.git.objects import Signature
from workspace.git.store import GitStore
from workspace.sync.status import MissingCommits, count_commits_ahead

HISTORIES = st.lists(
    st.tuples(st.lists(st.integers(0, 30), max_size=3), st.integers(-40_000, 40_000)), min_size=2, max_size=14
)


def test_unpushed_time_is_that_of_oldest_commit(file_sync_pair: SyncPair) -> None:
    assert file_sync_pair.read_unpushed_commits() is None
    file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    first_time_s = int(file_sync_pair.local_repo.git("log", "-1", "--format=%ct"))
    file_sync_pair.local_repo.commit({"b.md": "# B\n"})
    assert file_sync_pair.read_unpushed_commits() == MissingCommits(
        2, datetime.fromtimestamp(first_time_s, UTC)
    )
    file_sync_pair.local_repo.git("push", "-q", "origin", "main")  # pushed by a user
    assert file_sync_pair.read_unpushed_commits() is None


def test_commits_are_unpushed_before_first_fetch_with_automatic_pushes(file_sync_pair: SyncPair) -> None:
    file_sync_pair.local_repo.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    file_sync_pair.local_repo.git("update-ref", "-d", "refs/remotes/origin/main")
    unpushed = file_sync_pair.read_unpushed_commits()
    assert unpushed is not None
    assert unpushed.commit_count == 2  # the first commit, and the settings


def test_walk_of_unpushed_commits_is_bounded(tmp_path: Path) -> None:
    store = GitStore(create_repository(tmp_path / "repo").path)
    tree = store.put_tree(())
    commits: list[str] = []
    commit_count = 30
    for number in range(commit_count):
        signature = Signature("A", "a@example.org", 1_700_000_000 + number)
        commits.append(store.put_commit(tree, commits[-1:], signature, signature, f"{number}"))
    assert count_commits_ahead(store, commits[-1], commits[0]) == MissingCommits(
        commit_count - 1, datetime.fromtimestamp(1_700_000_001, UTC)
    )
    unpushed = count_commits_ahead(store, commits[-1], None, max_count=10)
    assert unpushed is not None
    assert (unpushed.commit_count, unpushed.has_more) == (10, True)


def test_unpushed_count_equals_that_of_git(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo")
    store = GitStore(repo.path)
    tree = store.put_tree(())

    @settings(max_examples=scale_examples(25))
    @given(HISTORIES, st.integers(0, 100), st.integers(0, 100))
    def check(history: list[tuple[list[int], int]], our_index: int, their_index: int) -> None:
        commits: list[str] = []
        for number, (parent_indexes, clock_error_s) in enumerate(history):
            parents = list(
                dict.fromkeys(
                    commits[parent_index % len(commits)] for parent_index in parent_indexes if commits
                )
            )
            signature = Signature("A", "a@example.org", 1_700_000_000 + 60 * number + clock_error_s)
            commits.append(store.put_commit(tree, parents, signature, signature, f"{number}"))
        our_commit, their_commit = commits[our_index % len(commits)], commits[their_index % len(commits)]
        expected_count = int(repo.git("rev-list", "--count", our_commit, f"^{their_commit}"))
        ahead = count_commits_ahead(store, our_commit, their_commit)
        assert (0 if ahead is None else ahead.commit_count) == expected_count

    check()
