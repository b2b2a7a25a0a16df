"""Tracking refs of a remote: locks left by killed processes, and locks held by other programs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.workspace.sync.conftest import Site
from workspace.git.remotes.remote import PushRejected
from workspace.publishing.locks import Locked
from workspace.sync import exchange
from workspace.sync.branches import SyncState

NOTE = ".git/docyard/sync.moving"
TRACKING = "refs/remotes/origin/main"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "WAIT_FOR_GIT_S", 0.1)


def left(made: Site, ref: str, data: str) -> Path:
    """Create the lock of a ref, as a killed process leaves it."""
    lock = made.here.path / ".git" / f"{ref}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(data)
    return lock


@pytest.mark.parametrize("written", [0, 7, 41])
def test_lock_of_killed_process_is_removed(folder_site: Site, written: int) -> None:
    theirs = folder_site.elsewhere({"a.md": "# A\n"})
    lock = left(folder_site, TRACKING, f"{theirs}\n"[:written])
    note = folder_site.here.path / NOTE
    note.parent.mkdir()
    note.write_text(f"{TRACKING} {theirs}\n")
    found = folder_site.sync()
    assert (found.state, found.commit, found.is_fast_forwarded) == (SyncState.UP_TO_DATE, theirs, True)
    assert not lock.exists()
    assert not note.exists()


@pytest.mark.parametrize(
    "note",
    [
        None,
        f"{TRACKING} {'1' * 40}\n",
        *(pytest.param(note, marks=pytest.mark.slow) for note in ("refs/heads/main \n", "no note", "\udcff")),
    ],
)
def test_lock_of_other_program_is_reported_and_preserved(folder_site: Site, note: str | None) -> None:
    theirs = folder_site.elsewhere({"a.md": "# A\n"})
    head_before = folder_site.here.head()
    lock = left(folder_site, TRACKING, "2" * 40)
    if note is not None:
        (folder_site.here.path / NOTE).parent.mkdir()
        (folder_site.here.path / NOTE).write_text(note, errors="surrogateescape")
    with pytest.raises(Locked, match=f"{TRACKING}.lock"):
        folder_site.sync()
    assert (folder_site.here.head(), lock.read_text()) == (head_before, "2" * 40)
    lock.unlink()
    assert folder_site.sync().commit == theirs


def test_push_without_tracking_update_is_detected_later(folder_site: Site) -> None:
    our_commit = folder_site.here.commit({"a.md": "# A\n"})
    lock = left(folder_site, TRACKING, "")
    with pytest.raises(Locked):
        folder_site.sync()
    assert folder_site.tip() == our_commit
    lock.unlink()
    assert folder_site.sync().state is SyncState.UP_TO_DATE


def test_rewound_remote_is_recorded_before_push(folder_site: Site) -> None:
    tip_before = folder_site.tip()
    folder_site.elsewhere({"secret.md": "# Secret\n"})
    folder_site.sync()
    folder_site.there.git("update-ref", "refs/heads/main", tip_before)
    lock = left(folder_site, "refs/docyard/lost/origin/main", "")
    with pytest.raises(Locked):
        folder_site.sync()
    assert folder_site.tip() == tip_before
    lock.unlink()
    assert folder_site.sync().state is SyncState.FORCE_PUSHED


@pytest.mark.parametrize("patience", [0.1, -1.0], ids=["in time", "when time is up"])
def test_blocking_tracking_ref_is_reported(
    folder_site: Site, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """The reason is the blocking ref, not a stale lock, even on a slow machine."""
    monkeypatch.setattr(exchange, "WAIT_FOR_GIT_S", patience)
    folder_site.there.git("branch", "proposals/k3v7m2qa")
    folder_site.here.git("update-ref", "refs/remotes/origin/proposals", "HEAD")
    theirs = folder_site.elsewhere({"a.md": "# A\n"})
    found = folder_site.sync()
    assert found.commit == theirs
    (other_branches,) = found.other_branches
    assert isinstance(other_branches.error, exchange.RefNotMoved)
    assert other_branches.needs_decision


def test_lock_in_remote_folder_is_waited_for(folder_site: Site) -> None:
    our_commit = folder_site.here.commit({"a.md": "# A\n"})
    lock = folder_site.there.path / "refs/heads/main.lock"
    lock.touch()
    with pytest.raises(PushRejected, match=r"another program holds its refs/heads/main\.lock"):
        folder_site.sync(fetch=False)
    freed = threading.Timer(0.3, lock.unlink)
    freed.start()
    assert folder_site.sync(fetch=False).pushed == 1
    freed.join()
    assert folder_site.tip() == our_commit
    assert folder_site.there.git("for-each-ref", "refs/docyard") == ""


def test_old_leftovers_of_push_in_folder_are_removed(folder_site: Site) -> None:
    for name in ("1700000000-aa", "99999999999-bb"):
        folder_site.there.git("update-ref", f"refs/docyard/incoming/{name}", "main")
    folder_site.here.commit({"a.md": "# A\n"})
    folder_site.sync()
    left = folder_site.there.git("for-each-ref", "--format=%(refname)", "refs/docyard").split()
    assert left == ["refs/docyard/incoming/99999999999-bb"]
