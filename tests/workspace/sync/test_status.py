"""The incremental status of the remote equals a freshly read one."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.repositories import Repo, normal
from tests.workspace.sync.conftest import Site
from workspace.git.objects import Signature
from workspace.git.store import GitStore
from workspace.sync.branches import SyncState
from workspace.sync.status import TrackingStatus
from workspace.workspace import Workspace

STEPS = st.lists(
    st.sampled_from(["ours", "ours", "theirs", "push", "fetch", "merge", "rewind"]), min_size=1, max_size=12
)


def test_status_without_remote_is_none(repo: Repo) -> None:
    assert TrackingStatus(Workspace.open(repo.path)).read() is None


def test_concurrent_first_reads_share_one_status(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exchange records its failure in the status, which every response reads."""
    workspace = Workspace.open(repo.path)
    found: list[TrackingStatus] = []
    make, threads = (
        TrackingStatus.__init__,
        [threading.Thread(target=lambda: found.append(workspace.sync_status()))],
    )

    def made(status: TrackingStatus, *given: Any) -> None:
        make(status, *given)
        while threads:
            other = threads.pop()
            other.start()
            other.join(0.2)  # the other thread waits for this one

    monkeypatch.setattr(TrackingStatus, "__init__", made)
    own = workspace.sync_status()
    while not found:
        time.sleep(0.01)
    assert found == [own] == [workspace.sync_status()]


def test_added_remote_is_detected(repo: Repo) -> None:
    status = TrackingStatus(Workspace.open(repo.path))
    assert status.read() is None
    repo.git("remote", "add", "origin", "../docs.git")
    assert status.read() is None  # no fetch was made, and no push is configured
    repo.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    seen = status.read()
    assert seen is not None
    assert seen.tracked.state is SyncState.AHEAD
    assert seen.unpushed is not None
    assert seen.unpushed.commits == int(repo.git("rev-list", "--count", "main"))


def test_manual_push_is_detected(folder_site: Site) -> None:
    status = TrackingStatus(Workspace.open(folder_site.here.path))
    folder_site.here.commit({"a.md": "# A\n"})
    seen = status.read()
    assert seen is not None
    assert seen.unpushed is not None
    folder_site.here.git("push", "-q", "origin", "main")
    seen = status.read()
    assert seen is not None
    assert (seen.tracked.state, seen.unpushed) == (SyncState.UP_TO_DATE, None)


def test_unchanged_status_is_not_read_again(folder_site: Site) -> None:
    workspace = Workspace.open(folder_site.here.path)
    folder_site.here.commit({"a.md": "# A\n"})
    status = TrackingStatus(workspace)
    assert status.read() is status.read() is not None


def test_incremental_status_equals_fresh_status(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo")
    repo.git("remote", "add", "origin", "../docs.git")
    store, start = GitStore(repo.path), repo.head()
    tree = store.commit(start).tree
    clock = iter(range(1_700_000_000, 1_800_000_000, 60))

    @settings(max_examples=scale_examples(60))
    @given(STEPS)
    def check(steps: list[str]) -> None:
        workspace = Workspace.open(repo.path)
        status = TrackingStatus(workspace)
        refs = {"refs/heads/main": start, "refs/remotes/origin/main": start, "there": start}

        def commit(*parents: str) -> str:
            signature = Signature("A", "a@example.org", next(clock))
            return store.put_commit(tree, parents, signature, signature, "step")

        def ref(name: str, id: str) -> None:
            refs[name] = id
            if name != "there":
                file = repo.path / ".git" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{id}\n")

        ours, theirs = "refs/heads/main", "refs/remotes/origin/main"
        for name in (ours, theirs):
            ref(name, start)
        for step in steps:
            match step:
                case "ours":
                    ref(ours, commit(refs[ours]))
                case "theirs":
                    ref("there", commit(refs["there"]))
                case "push":
                    ref("there", refs[ours])
                    ref(theirs, refs[ours])
                case "fetch":
                    ref(theirs, refs["there"])
                case "merge":
                    ref(ours, commit(refs[ours], refs[theirs]))
                case "rewind":
                    ref(ours, start)
            assert _as_data(status) == _as_data(TrackingStatus(workspace)), steps

    check()


def _as_data(status: TrackingStatus) -> Any:
    return status.read()
