"""Tracking refs of a remote: locks left by killed processes, and locks held by other programs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.workspace.sync.conftest import SyncPair
from workspace.git.remotes.remote import PushRejected
from workspace.publishing.locks import Locked
from workspace.sync import exchange
from workspace.sync.branches import SyncState

NOTE_FILE = ".git/docyard/sync.moving"
TRACKING_REF = "refs/remotes/origin/main"


@pytest.fixture(autouse=True)
def shorten_git_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "WAIT_FOR_GIT_S", 0.1)


def leave_lock(sync_pair: SyncPair, ref: str, data: str) -> Path:
    """Create the lock of a ref that a killed process left."""
    lock = sync_pair.local_repo.path / ".git" / f"{ref}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(data)
    return lock


@pytest.mark.parametrize("written_length", [0, 7, 41])
def test_lock_of_killed_process_is_removed(file_sync_pair: SyncPair, written_length: int) -> None:
    their_commit = file_sync_pair.push_as_other_user({"a.md": "# A\n"})
    lock = leave_lock(file_sync_pair, TRACKING_REF, f"{their_commit}\n"[:written_length])
    note = file_sync_pair.local_repo.path / NOTE_FILE
    note.parent.mkdir()
    note.write_text(f"{TRACKING_REF} {their_commit}\n")
    result = file_sync_pair.sync()
    assert (result.state, result.commit, result.is_fast_forwarded) == (
        SyncState.UP_TO_DATE,
        their_commit,
        True,
    )
    assert not lock.exists()
    assert not note.exists()


@pytest.mark.parametrize(
    "note",
    [
        None,
        f"{TRACKING_REF} {'1' * 40}\n",
        *(pytest.param(note, marks=pytest.mark.slow) for note in ("refs/heads/main \n", "no note", "\udcff")),
    ],
)
def test_lock_of_other_program_is_reported_and_preserved(file_sync_pair: SyncPair, note: str | None) -> None:
    their_commit = file_sync_pair.push_as_other_user({"a.md": "# A\n"})
    head_before = file_sync_pair.local_repo.head()
    lock = leave_lock(file_sync_pair, TRACKING_REF, "2" * 40)
    if note is not None:
        (file_sync_pair.local_repo.path / NOTE_FILE).parent.mkdir()
        (file_sync_pair.local_repo.path / NOTE_FILE).write_text(note, errors="surrogateescape")
    with pytest.raises(Locked, match=f"{TRACKING_REF}.lock"):
        file_sync_pair.sync()
    assert (file_sync_pair.local_repo.head(), lock.read_text()) == (head_before, "2" * 40)
    lock.unlink()
    assert file_sync_pair.sync().commit == their_commit


def test_push_without_tracking_update_is_detected_later(file_sync_pair: SyncPair) -> None:
    our_commit = file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    lock = leave_lock(file_sync_pair, TRACKING_REF, "")
    with pytest.raises(Locked):
        file_sync_pair.sync()
    assert file_sync_pair.read_remote_tip() == our_commit
    lock.unlink()
    assert file_sync_pair.sync().state is SyncState.UP_TO_DATE


def test_rewound_remote_is_recorded_before_push(file_sync_pair: SyncPair) -> None:
    tip_before = file_sync_pair.read_remote_tip()
    file_sync_pair.push_as_other_user({"secret.md": "# Secret\n"})
    file_sync_pair.sync()
    file_sync_pair.remote_repo.git("update-ref", "refs/heads/main", tip_before)
    lock = leave_lock(file_sync_pair, "refs/docyard/lost/origin/main", "")
    with pytest.raises(Locked):
        file_sync_pair.sync()
    assert file_sync_pair.read_remote_tip() == tip_before
    lock.unlink()
    assert file_sync_pair.sync().state is SyncState.FORCE_PUSHED


@pytest.mark.parametrize("timeout_s", [0.1, -1.0], ids=["in time", "when time is up"])
def test_blocking_tracking_ref_is_reported(
    file_sync_pair: SyncPair, monkeypatch: pytest.MonkeyPatch, timeout_s: float
) -> None:
    """The reason is the blocking ref, not a stale lock, even on a slow machine."""
    monkeypatch.setattr(exchange, "WAIT_FOR_GIT_S", timeout_s)
    file_sync_pair.remote_repo.git("branch", "proposals/k3v7m2qa")
    file_sync_pair.local_repo.git("update-ref", "refs/remotes/origin/proposals", "HEAD")
    their_commit = file_sync_pair.push_as_other_user({"a.md": "# A\n"})
    result = file_sync_pair.sync()
    assert result.commit == their_commit
    (other_branch,) = result.other_branches
    assert isinstance(other_branch.error, exchange.RefNotMoved)
    assert other_branch.needs_resolution


def test_lock_in_remote_folder_is_waited_for(file_sync_pair: SyncPair) -> None:
    our_commit = file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    lock = file_sync_pair.remote_repo.path / "refs/heads/main.lock"
    lock.touch()
    with pytest.raises(PushRejected, match=r"another program has the lock refs/heads/main\.lock"):
        file_sync_pair.sync(fetch=False)
    unlock_timer = threading.Timer(0.3, lock.unlink)
    unlock_timer.start()
    assert file_sync_pair.sync(fetch=False).pushed_count == 1
    unlock_timer.join()
    assert file_sync_pair.read_remote_tip() == our_commit
    assert file_sync_pair.remote_repo.git("for-each-ref", "refs/docyard") == ""


def test_old_leftovers_of_push_in_folder_are_removed(file_sync_pair: SyncPair) -> None:
    for name in ("1700000000-aa", "99999999999-bb"):
        file_sync_pair.remote_repo.git("update-ref", f"refs/docyard/incoming/{name}", "main")
    file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    file_sync_pair.sync()
    refs = file_sync_pair.remote_repo.git("for-each-ref", "--format=%(refname)", "refs/docyard").split()
    assert refs == ["refs/docyard/incoming/99999999999-bb"]
