"""What is told of the remote at each answer is what is found out anew, however it was carried on."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
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


def test_nothing_without_a_remote(repo: Repo) -> None:
    assert TrackingStatus(Workspace.open(repo.path)).read() is None


def test_two_threads_that_ask_first_note_what_failed_in_one_place(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who exchanges with the remote notes a failure there, and every answer reads it from there."""
    workspace = Workspace.open(repo.path)
    found: list[TrackingStatus] = []
    make, threads = (
        TrackingStatus.__init__,
        [threading.Thread(target=lambda: found.append(workspace.sync_status()))],
    )

    def made(standing: TrackingStatus, *given: Any) -> None:
        make(standing, *given)
        while threads:
            other = threads.pop()
            other.start()
            other.join(0.2)  # which waits for this one, if all is well

    monkeypatch.setattr(TrackingStatus, "__init__", made)
    own = workspace.sync_status()
    while not found:
        time.sleep(0.01)
    assert found == [own] == [workspace.sync_status()]


def test_a_remote_that_is_added_is_seen(repo: Repo) -> None:
    standing = TrackingStatus(Workspace.open(repo.path))
    assert standing.read() is None
    repo.git("remote", "add", "origin", "../docs.git")
    assert standing.read() is None  # nobody has asked it, or to push to it
    repo.commit({"docyard.toml": '[remote]\npush = "commit"\n'})
    seen = standing.read()
    assert seen is not None
    assert seen.tracked.state is SyncState.AHEAD
    assert seen.unpushed is not None
    assert seen.unpushed.commits == int(repo.git("rev-list", "--count", "main"))


def test_a_push_by_hand_is_seen(folder_site: Site) -> None:
    standing = TrackingStatus(Workspace.open(folder_site.here.path))
    folder_site.here.commit({"a.md": "# A\n"})
    seen = standing.read()
    assert seen is not None
    assert seen.unpushed is not None
    folder_site.here.git("push", "-q", "origin", "main")
    seen = standing.read()
    assert seen is not None
    assert (seen.tracked.state, seen.unpushed) == (SyncState.UP_TO_DATE, None)


def test_nothing_is_read_where_nothing_changed(folder_site: Site) -> None:
    workspace = Workspace.open(folder_site.here.path)
    folder_site.here.commit({"a.md": "# A\n"})
    standing = TrackingStatus(workspace)
    assert standing.read() is standing.read() is not None


def test_what_is_carried_on_is_what_is_found(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo")
    repo.git("remote", "add", "origin", "../docs.git")
    store, start = GitStore(repo.path), repo.head()
    tree = store.commit(start).tree
    clock = iter(range(1_700_000_000, 1_800_000_000, 60))

    @settings(max_examples=examples(60))
    @given(STEPS)
    def check(steps: list[str]) -> None:
        workspace = Workspace.open(repo.path)
        standing = TrackingStatus(workspace)
        refs = {"refs/heads/main": start, "refs/remotes/origin/main": start, "there": start}

        def commit(*parents: str) -> str:
            who = Signature("A", "a@example.org", next(clock))
            return store.put_commit(tree, parents, who, who, "step")

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
            assert _told(standing) == _told(TrackingStatus(workspace)), steps

    check()


def _told(standing: TrackingStatus) -> Any:
    return standing.read()
