"""Locks of other programs: Docyard waits for them, reports them, and never removes them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from workspace.edits.text import AppendContent
from workspace.errors import WorkspaceError
from workspace.publishing import locks
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

LOCKS = ["index.lock", "HEAD.lock", "refs/heads/main.lock"]
SHORT_WAIT_S = 0.1
DEFAULT_WAIT_S = locks.WAIT_FOR_GIT_S
EDIT = AppendContent(file="README.md", slug="_preamble", content="More.")


def write_edit(repo: Repo) -> None:
    Workspace.open(repo.path, durable=False).write(
        [EDIT], mode=BatchMode.EACH, tool="edit_document", client="agent"
    )


def create_foreign_lock(repo: Repo, lock: str, lock_kind: str) -> Path:
    """Make another program's lock in `.git`: an empty file, a file with text, or a symbolic link.

    For any other `lock_kind`, the lock is an empty file, and a staging folder has an empty file `claim`.
    """
    path = repo.path / ".git" / lock
    if lock_kind == "empty":
        path.touch()
    elif lock_kind == "text":
        path.write_text("another's")
    elif lock_kind == "symbolic link":
        path.symlink_to("nowhere")
    else:
        # The claim has the same bytes as the lock, but is a different file.
        folder = repo.path / ".git/docyard/pending/0123456789abcdef"
        folder.mkdir(parents=True)
        (folder / "claim").touch()
        path.touch()
    return path


@pytest.mark.guarantee
@pytest.mark.parametrize("lock_kind", ["empty", "text", "symbolic link", "with a claim of Docyard"])
@pytest.mark.parametrize("lock", LOCKS)
def test_foreign_lock_is_named_and_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str, lock_kind: str
) -> None:
    is_full_wait = (lock, lock_kind) == ("index.lock", "empty")
    if not is_full_wait:
        monkeypatch.setattr(locks, "WAIT_FOR_GIT_S", SHORT_WAIT_S)
    repo = repositories.create_repository(tmp_path)
    base = repo.head()
    path = create_foreign_lock(repo, lock, lock_kind)
    before = path.lstat()
    start = time.monotonic()
    with pytest.raises(WorkspaceError) as error_info:
        write_edit(repo)
    waited_s = time.monotonic() - start
    assert (error_info.value.code, error_info.value.details["file"]) == ("LOCKED", f".git/{lock}")
    assert f".git/{lock}" in error_info.value.message
    assert waited_s >= (DEFAULT_WAIT_S if is_full_wait else SHORT_WAIT_S)
    after = path.lstat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_size,
    )
    assert repo.head() == base
    path.unlink()
    assert repo.status() == ""
    write_edit(repo)
    assert repo.status() == repo.fsck() == ""


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_released_in_time_only_delays_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    monkeypatch.setattr(locks, "WAIT_FOR_GIT_S", 60.0)
    repo = repositories.create_repository(tmp_path)
    path = create_foreign_lock(repo, lock, "empty")
    release_timer = threading.Timer(0.3, path.unlink)
    release_timer.start()
    write_edit(repo)
    release_timer.join()
    assert repo.git("rev-list", "--count", "HEAD").strip() == "2"
    assert repo.status() == repo.fsck() == ""
