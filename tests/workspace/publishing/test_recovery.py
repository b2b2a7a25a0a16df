"""Recovery after a crash, also if users removed locks, occupied paths or made reflogs unwritable."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import repositories
from tests.repositories import FILES, Repo
from workspace.git.store import GitStore
from workspace.publishing import locks
from workspace.publishing.batch import Batch
from workspace.publishing.checkout import Checkout, WorktreeBusy
from workspace.publishing.journal import Journal, UnknownJournal
from workspace.publishing.locks import CannotWrite, Locked
from workspace.publishing.publish import publish
from workspace.publishing.recovery import RecoveryResult, recover, recover_if_needed
from workspace.publishing.refs import BranchRef, RefConflict
from workspace.publishing.staging_folder import StagingFolder

README_PATH = "README.md"
NEW_TEXT = b"# Example\n\nText.\n\nOurs.\n"


def publish_readme(
    repo: Repo, text: bytes = NEW_TEXT, *, branch: str = "main", path: str = README_PATH
) -> str:
    store = GitStore(repo.path)
    batch = Batch(branch, store.tip(branch), {path: text}, "Agent", repositories.make_signature())
    return publish(store, batch, durable=False)


def die_in_method(owner: type, name: str, callback: Callable[[], object]) -> None:
    """Run a callback in another process, which dies at the call of a method."""
    child = os.fork()
    if not child:
        setattr(owner, name, lambda *arguments, **options: os.kill(os.getpid(), signal.SIGKILL))
        try:
            callback()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def list_locks(repo: Repo) -> list[str]:
    git_dir = GitStore(repo.path).common_dir
    return sorted(
        path.relative_to(git_dir).as_posix() for path in git_dir.rglob("*.lock") if path.name != "write.lock"
    )


def check_clean(repo: Repo) -> None:
    assert list_locks(repo) == []
    assert list((repo.path / ".git" / "docyard" / "pending").iterdir()) == []
    assert repo.status() == ""
    assert repo.fsck() == ""


@pytest.mark.parametrize("reflog", ["logs/HEAD", "logs/refs/heads/main"])
def test_unwritable_reflog_does_not_block_writes(repo: Repo, reflog: str) -> None:
    path = repo.path / ".git" / reflog
    path.unlink()
    path.mkdir()
    (path / "held").write_text("")
    first_commit = publish_readme(repo)
    assert repo.head() == first_commit
    assert list_locks(repo) == []
    second_commit = publish_readme(repo, NEW_TEXT + b"More.\n")
    assert repo.head() == second_commit
    assert list_locks(repo) == []
    shutil.rmtree(path)
    recover(GitStore(repo.path))
    check_clean(repo)
    assert (
        repo.git("reflog", "-1", "--format=%H", "main" if "main" in reflog else "HEAD").strip()
        == second_commit
    )


def test_empty_folder_in_place_of_reflog_is_replaced(repo: Repo) -> None:
    repo.git("branch", "topic")
    (repo.path / ".git/logs/refs/heads/topic").unlink()
    (repo.path / ".git/logs/refs/heads/topic/old").mkdir(parents=True)
    publish_readme(repo, branch="topic")
    assert (repo.path / ".git/logs/refs/heads/topic").is_file()


@pytest.mark.guarantee
@pytest.mark.process
@pytest.mark.parametrize(
    "removed_locks", [("index.lock", "HEAD.lock"), ("index.lock", "HEAD.lock", "refs/heads/main.lock")]
)
def test_user_removing_locks_does_not_break_rollback(repo: Repo, removed_locks: tuple[str, ...]) -> None:
    die_in_method(BranchRef, "move", lambda: publish_readme(repo))
    for lock in removed_locks:
        (repo.path / ".git" / lock).unlink()
    assert f"M  {README_PATH}\n" in repo.status()  # Git has rewritten its index by now
    assert recover(GitStore(repo.path)) == RecoveryResult(rolled_back_count=1)
    check_clean(repo)
    assert (repo.path / README_PATH).read_text() == FILES[README_PATH]
    publish_readme(repo)
    check_clean(repo)


@pytest.mark.guarantee
@pytest.mark.process
def test_rollback_preserves_later_user_changes(repo: Repo) -> None:
    die_in_method(BranchRef, "move", lambda: publish_readme(repo))
    for lock in list_locks(repo):
        (repo.path / ".git" / lock).unlink()
    repo.git("commit", "-qam", "By the user")
    assert recover(GitStore(repo.path)) == RecoveryResult(rolled_back_count=1)
    check_clean(repo)
    assert (repo.path / README_PATH).read_bytes() == NEW_TEXT


def test_branch_replaced_by_folder_does_not_block_recovery(repo: Repo) -> None:
    staging = StagingFolder.make(repo.path / ".git", durable=False)
    staging.write_journal(Journal("feature/x", repo.head(), "1" * 40))
    repo.git("branch", "feature")
    publish_readme(repo)
    check_clean(repo)


@pytest.mark.guarantee
@pytest.mark.process
def test_journal_of_other_version_is_preserved(repo: Repo) -> None:
    die_in_method(BranchRef, "move", lambda: publish_readme(repo))
    [folder] = (repo.path / ".git/docyard/pending").iterdir()
    old_locks = list_locks(repo)
    journal = json.loads((folder / "journal").read_bytes().split(b"\n")[0])
    journal["version"] += 1
    _write_journal(folder / "journal", json.dumps(journal).encode())
    for _ in range(2):
        with pytest.raises(UnknownJournal):
            publish_readme(repo)
    assert list_locks(repo) == old_locks
    journal["version"] -= 1
    _write_journal(folder / "journal", json.dumps(journal).encode())
    publish_readme(repo)
    check_clean(repo)


def _write_journal(path: Path, text: bytes) -> None:
    path.write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")


def test_failed_step_after_commit_is_completed_by_recovery(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(Checkout, "finish", fail)
    id = publish_readme(repo)
    monkeypatch.undo()
    assert repo.head() == id
    assert list_locks(repo) == []
    assert recover(GitStore(repo.path)) == RecoveryResult(rolled_forward_count=1)
    check_clean(repo)


@pytest.mark.guarantee
@pytest.mark.process
def test_unmounted_work_tree_is_rolled_back_when_available(tmp_path: Path) -> None:
    main_repo = repositories.create_repository(tmp_path / "main")
    linked_repo = repositories.add_work_tree(main_repo, tmp_path / "linked", "topic")
    main_repo.git("worktree", "lock", str(linked_repo.path))
    die_in_method(BranchRef, "move", lambda: publish_readme(main_repo, branch="topic"))
    linked_repo.path.rename(tmp_path / "away")
    publish_readme(main_repo)
    assert repositories.Repo(main_repo.path).head()
    (tmp_path / "away").rename(linked_repo.path)
    publish_readme(main_repo, NEW_TEXT + b"More.\n")
    assert linked_repo.status() == ""
    assert (linked_repo.path / README_PATH).read_text() == FILES[README_PATH]
    check_clean(main_repo)


def test_call_without_changes_waits_for_no_writer(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    with locks.docyard_lock(repo.path / ".git"):
        StagingFolder.make(repo.path / ".git", durable=False)
        # Waiting code sleeps, which is not possible here.
        monkeypatch.setattr(locks, "time", SimpleNamespace(monotonic=time.monotonic))
        recover_if_needed(GitStore(repo.path))


def test_removed_lock_file_does_not_block_writers(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "WAIT_FOR_DOCYARD_S", 0.1)
    store = GitStore(repo.path)
    with locks.docyard_lock(store.common_dir):
        (store.common_dir / locks.LOCK_PATH).unlink()
        with locks.docyard_lock(store.common_dir), pytest.raises(locks.AnotherWriter):
            publish_readme(repo)
    publish_readme(repo)
    check_clean(repo)


def test_git_switch_in_progress_is_waited_for(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During a switch, Git writes the files and the index first, and HEAD last."""
    monkeypatch.setattr(locks, "WAIT_FOR_GIT_S", 60.0)
    repo.commit({"slow.txt": "main\n"})
    repo.git("switch", "-qc", "topic")
    repo.commit({"slow.txt": "topic\n"})
    start_marker = tmp_path / "started"
    repo.git("config", "filter.slow.smudge", f"sh -c 'touch {start_marker}; sleep 0.6; cat'")
    (repo.path / ".git/info/attributes").write_text("slow.txt filter=slow\n")
    switch = threading.Thread(target=lambda: repo.git("switch", "-q", "main"))
    switch.start()
    while not start_marker.exists():
        time.sleep(0.01)
    try:
        publish_readme(repo)
    finally:
        switch.join()
    assert repo.status() == ""
    assert (repo.path / README_PATH).read_bytes() == NEW_TEXT


def test_stale_index_lock_refuses_other_branches(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "WAIT_FOR_GIT_S", 0.05)
    repo.git("branch", "topic")
    lock = repo.path / ".git" / "index.lock"
    lock.write_bytes(b"theirs")
    with pytest.raises(Locked, match=r"index\.lock"):
        publish_readme(repo, branch="topic")
    assert lock.read_bytes() == b"theirs"


def test_recovery_converts_line_endings_as_by_git(repo: Repo) -> None:
    store = GitStore(repo.path)

    def write(text: bytes) -> None:
        batch = Batch("main", store.tip("main"), {README_PATH: text}, "Agent", repositories.make_signature())
        publish(store, batch, durable=False)

    write(NEW_TEXT)
    repo.git("config", "core.autocrlf", "true")
    for path in FILES:
        (repo.path / path).unlink()
    repo.git("checkout", "--", ".")
    write(NEW_TEXT + b"More.\n")
    assert (repo.path / README_PATH).read_bytes() == (NEW_TEXT + b"More.\n").replace(b"\n", b"\r\n")
    assert repo.status() == ""


def test_head_as_symbolic_link_is_supported(repo: Repo) -> None:
    head = repo.path / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    publish_readme(repo)
    assert repo.status() == ""
    assert (repo.path / README_PATH).read_bytes() == NEW_TEXT


def test_branch_file_that_is_a_symlink_is_refused(repo: Repo) -> None:
    repo.git("branch", "topic")
    (repo.path / ".git/refs/heads/alias").symlink_to("topic")
    with pytest.raises(RefConflict):
        publish_readme(repo, branch="alias")


def test_skip_worktree_file_refuses_batch(repo: Repo) -> None:
    repo.git("update-index", "--skip-worktree", README_PATH)
    with pytest.raises(WorktreeBusy, match="skip-worktree"):
        publish_readme(repo)


def test_late_write_to_old_file_is_saved_as_orig(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = (repo.path / README_PATH).open("ab")
    finish = Checkout.finish

    def write_and_finish(self: Checkout, journal: Journal) -> None:
        stream.write(b"by the user\n")
        stream.close()
        finish(self, journal)

    monkeypatch.setattr(Checkout, "finish", write_and_finish)
    publish_readme(repo)
    assert (repo.path / README_PATH).read_bytes() == NEW_TEXT
    assert (repo.path / f"{README_PATH}.orig").read_text() == FILES[README_PATH] + "by the user\n"


def test_shared_repository_files_are_group_writable(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo")
    repo.git("config", "core.sharedRepository", "group")
    os.chmod(repo.path / ".git", 0o2775)
    publish_readme(repo)
    for path in ("docyard", "docyard/pending"):
        assert stat.S_IMODE((repo.path / ".git" / path).stat().st_mode) & 0o2070 == 0o2070
    assert (repo.path / ".git" / locks.LOCK_PATH).stat().st_mode & 0o060 == 0o060


def write_forged_journal(repo: Repo, **fields: object) -> None:
    staging = StagingFolder.make(repo.path / ".git", durable=False)
    journal = {
        "version": 1,
        "branch": "main",
        "base": repo.head(),
        "commit": "1" * 40,
        "git_dir": ".",
        "index": "index-0",
        "had_index": True,
        "files": [],
        "folders": [],
        **fields,
    }
    _write_journal(staging.folder / "journal", json.dumps(journal).encode())


def build_work_file(**fields: object) -> dict[str, object]:
    return {"path": "a.md", "name": ".docyard-0123456789abcdef-0", "old": None, "new": None, **fields}


@pytest.mark.parametrize(
    "fields",
    [
        {"branch": "../../../victim/made"},
        {"files": [build_work_file(path="../victim/todo.md")]},
        {"files": [build_work_file(name="../../victim/todo")]},
        {"folders": ["../victim/empty"]},
        {"git_dir": "../../victim"},
        {"git_dir": "worktrees/.."},
        {"index": "../../../victim/todo.md"},
        {"commit": "../victim"},
        {"files": [build_work_file(new=["../victim", 0o100644])]},
    ],
)
def test_forged_journal_changes_no_outside_file(repo: Repo, fields: dict[str, object]) -> None:
    """A cloned or copied repository may contain a forged journal with a valid checksum."""
    victim_folder = repo.path.parent / "victim"
    (victim_folder / "empty").mkdir(parents=True)
    (victim_folder / "todo.md").write_text("buy milk\n")
    (victim_folder / "todo.old").write_text("buy bread\n")
    write_forged_journal(repo, **fields)
    with pytest.raises(UnknownJournal):
        recover(GitStore(repo.path))
    assert sorted(path.name for path in victim_folder.iterdir()) == ["empty", "todo.md", "todo.old"]
    assert (victim_folder / "todo.md").read_text() == "buy milk\n"


@pytest.mark.parametrize("link", ["logs/HEAD", "logs/refs/heads/main", "logs"])
def test_reflog_that_is_a_symlink_is_not_followed(repo: Repo, link: str) -> None:
    victim = repo.path.parent / "victim"
    victim.mkdir()
    path = repo.path / ".git" / link
    if path.is_dir():
        shutil.rmtree(path)
        path.symlink_to(victim)
    else:
        path.unlink()
        (victim / ".bashrc").write_text("alias ls=ls\n")
        path.symlink_to(victim / ".bashrc")
    publish_readme(repo)
    assert [file.read_text() for file in victim.iterdir()] == (["alias ls=ls\n"] if link != "logs" else [])


@pytest.mark.parametrize("link", ["refs/heads/topic", "docyard", "docyard/pending", "docyard/write.lock"])
def test_symlink_in_the_git_folder_is_not_followed(repo: Repo, link: str) -> None:
    victim = repo.path.parent / "victim"
    victim.mkdir()
    path = repo.path / ".git" / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(victim / "lock" if link.endswith(".lock") else victim)
    with pytest.raises((CannotWrite, RefConflict)):
        publish_readme(repo, branch="topic/new")
    assert list(victim.iterdir()) == []


def test_open_commit_editor_on_other_branch_blocks_no_write(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_FOR_GIT_S", 0.05)
    repo.git("branch", "topic")
    (repo.path / ".git" / "index.lock").write_bytes(b"theirs")
    (repo.path / ".git" / "COMMIT_EDITMSG").write_text("")
    publish_readme(repo, branch="topic")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_work_tree_switched_during_publication_is_updated(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    repo.git("switch", "-qc", "topic")
    original_move = BranchRef.move

    def move(self: BranchRef, name: str) -> None:
        if moment == "before":
            repo.git("switch", "-q", "main")
        original_move(self, name)
        if moment == "after":
            # During a switch, Git writes HEAD last.
            (repo.path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    monkeypatch.setattr(BranchRef, "move", move)
    publish_readme(repo)
    check_clean(repo)
    assert (repo.path / README_PATH).read_bytes() == NEW_TEXT


@pytest.mark.guarantee
@pytest.mark.process
def test_rollback_preserves_folder_staged_in_place_of_file(repo: Repo) -> None:
    def remove_readme() -> None:
        store = GitStore(repo.path)
        batch = Batch("main", store.tip("main"), {README_PATH: None}, "Agent", repositories.make_signature())
        publish(store, batch, durable=False)

    die_in_method(BranchRef, "move", remove_readme)
    for lock in list_locks(repo):
        (repo.path / ".git" / lock).unlink()
    repo.write({f"{README_PATH}/inside.md": "by the user\n"})
    repo.git("add", "-A", README_PATH)
    publish_readme(repo, path="guides/setup.md")
    assert (repo.path / README_PATH / "inside.md").read_text() == "by the user\n"


def test_writer_without_staging_folder_releases_locks(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def move(self: BranchRef, name: str) -> None:
        shutil.rmtree(repo.path / ".git" / "docyard")
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(BranchRef, "move", move)
    with pytest.raises(CannotWrite):
        publish_readme(repo)
    monkeypatch.undo()
    assert list_locks(repo) == []
