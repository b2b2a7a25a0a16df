"""The incremental status of the remote equals a newly read status."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.repositories import Repo, create_repository
from tests.workspace.sync.conftest import SyncPair
from workspace.git.objects import Signature
from workspace.git.store import GitStore
from workspace.sync.branches import SyncState
from workspace.sync.status import TrackingStatus
from workspace.workspace import Workspace

STEPS = st.lists(
    st.sampled_from(["ours", "ours", "theirs", "push", "fetch", "merge", "reset"]), min_size=1, max_size=12
)


def test_status_without_remote_is_none(repo: Repo) -> None:
    assert TrackingStatus(Workspace.open(repo.path)).read() is None


def test_concurrent_first_reads_share_one_status(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exchange records its failure in the status, which every response reads."""
    workspace = Workspace.open(repo.path)
    statuses: list[TrackingStatus] = []
    initialize, threads = (
        TrackingStatus.__init__,
        [threading.Thread(target=lambda: statuses.append(workspace.sync_status()))],
    )

    def initialize_while_read(status: TrackingStatus, *arguments: Any) -> None:
        initialize(status, *arguments)
        while threads:
            thread = threads.pop()
            thread.start()
            thread.join(0.2)  # the other thread waits for this one

    monkeypatch.setattr(TrackingStatus, "__init__", initialize_while_read)
    status_of_workspace = workspace.sync_status()
    while not statuses:
        time.sleep(0.01)
    assert statuses == [status_of_workspace] == [workspace.sync_status()]


def test_added_remote_is_detected(repo: Repo) -> None:
    status = TrackingStatus(Workspace.open(repo.path))
    assert status.read() is None
    repo.git("remote", "add", "origin", "../docs.git")
    assert status.read() is None  # no fetch was made, and no push is configured
    repo.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    remote_status = status.read()
    assert remote_status is not None
    assert remote_status.tracked.state is SyncState.AHEAD
    assert remote_status.unpushed is not None
    assert remote_status.unpushed.commit_count == int(repo.git("rev-list", "--count", "main"))


def test_manual_push_is_detected(file_sync_pair: SyncPair) -> None:
    status = TrackingStatus(Workspace.open(file_sync_pair.local_repo.path))
    file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    remote_status = status.read()
    assert remote_status is not None
    assert remote_status.unpushed is not None
    file_sync_pair.local_repo.git("push", "-q", "origin", "main")
    remote_status = status.read()
    assert remote_status is not None
    assert (remote_status.tracked.state, remote_status.unpushed) == (SyncState.UP_TO_DATE, None)


def test_unchanged_status_is_not_read_again(file_sync_pair: SyncPair) -> None:
    workspace = Workspace.open(file_sync_pair.local_repo.path)
    file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    status = TrackingStatus(workspace)
    assert status.read() is status.read() is not None


def test_incremental_status_equals_fresh_status(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo")
    repo.git("remote", "add", "origin", "../docs.git")
    store, first_commit = GitStore(repo.path), repo.head()
    tree = store.commit(first_commit).tree
    clock = iter(range(1_700_000_000, 1_800_000_000, 60))
    our_ref, tracking_ref = "refs/heads/main", "refs/remotes/origin/main"
    # The remote is simulated: the tip of its branch is only in `refs`.
    remote_branch = "main of the remote"

    @settings(max_examples=scale_examples(60))
    @given(STEPS)
    def check(steps: list[str]) -> None:
        workspace = Workspace.open(repo.path)
        status = TrackingStatus(workspace)
        refs = {
            our_ref: first_commit,
            tracking_ref: first_commit,
            remote_branch: first_commit,
        }

        def commit(*parents: str) -> str:
            signature = Signature("A", "a@example.org", next(clock))
            return store.put_commit(tree, parents, signature, signature, "step")

        def set_ref(name: str, id: str) -> None:
            refs[name] = id
            if name != remote_branch:
                file = repo.path / ".git" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{id}\n")

        for name in (our_ref, tracking_ref):
            set_ref(name, first_commit)
        for step in steps:
            match step:
                case "ours":
                    set_ref(our_ref, commit(refs[our_ref]))
                case "theirs":
                    set_ref(remote_branch, commit(refs[remote_branch]))
                case "push":
                    set_ref(remote_branch, refs[our_ref])
                    set_ref(tracking_ref, refs[our_ref])
                case "fetch":
                    set_ref(tracking_ref, refs[remote_branch])
                case "merge":
                    set_ref(our_ref, commit(refs[our_ref], refs[tracking_ref]))
                case "reset":
                    set_ref(our_ref, first_commit)
            assert status.read() == TrackingStatus(workspace).read(), steps

    check()
