"""Fetch, fast-forward and push over every transport, with Git's own servers."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.sync import servers
from tests.workspace.sync.conftest import SyncPair, open_sync_pair
from workspace.git.remotes.credentials import Access
from workspace.git.remotes.exchange import HostNotTrusted, RemoteDenied, RemoteTooLarge, RemoteUnreachable
from workspace.git.remotes.remote import PushRejected
from workspace.git.store import ReadOnly
from workspace.publishing.checkout import WorktreeBusy, WorktreeConflict
from workspace.sync.branches import SyncState
from workspace.sync.exchange import RemoteDamaged, ShallowClone
from workspace.sync.sync import sync
from workspace.workspace import Workspace

SLOW_TRANSPORTS = [pytest.param(transport, marks=pytest.mark.slow) for transport in ("http", "ssh")]


@pytest.mark.process
def test_commits_are_synced_in_both_directions(sync_pair_per_transport: SyncPair) -> None:
    sync_pair = sync_pair_per_transport
    their_commit = sync_pair.push_as_other_user(
        {"README.md": "# Example\n\nFrom elsewhere.\n", "run.sh": "#!/bin/sh\n"}
    )
    fetch_result = sync_pair.sync()
    assert (fetch_result.state, fetch_result.commit, fetch_result.is_fast_forwarded) == (
        SyncState.UP_TO_DATE,
        their_commit,
        True,
    )
    assert (sync_pair.local_repo.path / "README.md").read_text() == "# Example\n\nFrom elsewhere.\n"
    assert sync_pair.local_repo.status() == ""

    our_commit = sync_pair.local_repo.commit({"guides/new.md": "# New\n"})
    unpushed = sync_pair.read_unpushed_commits()
    assert unpushed is not None
    assert unpushed.commit_count == 1
    push_result = sync_pair.sync()
    assert (push_result.state, push_result.pushed_count, push_result.unpushed) == (
        SyncState.UP_TO_DATE,
        1,
        None,
    )
    assert sync_pair.read_remote_tip() == our_commit
    assert sync_pair.read_unpushed_commits() is None
    assert sync_pair.local_repo.git("rev-parse", "origin/main").strip() == our_commit
    assert sync_pair.remote_repo.fsck() == sync_pair.local_repo.fsck() == ""
    assert sync_pair.list_locks() == []


def test_only_served_branch_is_synced(sync_pair: SyncPair) -> None:
    sync_pair.remote_repo.git("branch", "other")
    sync_pair.remote_repo.git("tag", "v1")
    sync_pair.local_repo.git("branch", "private")
    sync_pair.local_repo.commit({"a.md": "# A\n"})
    sync_pair.sync()
    refs = sync_pair.local_repo.git("for-each-ref", "--format=%(refname)").split()
    assert sorted(refs) == [
        "refs/heads/main",
        "refs/heads/private",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]
    assert sync_pair.remote_repo.git("for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main",
        "refs/heads/other",
        "refs/tags/v1",
    ]


@pytest.mark.guarantee
@pytest.mark.process
@pytest.mark.parametrize("transport", ["file", "git"])
def test_push_after_concurrent_push_is_refused(transport: str, tmp_path: Path, home: Path) -> None:
    with open_sync_pair(transport, tmp_path, home) as sync_pair:
        check_push_refused(sync_pair)


def check_push_refused(sync_pair: SyncPair) -> None:
    their_commit = sync_pair.push_as_other_user({"a.md": "# Theirs\n"})
    our_commit = sync_pair.local_repo.commit({"b.md": "# Ours\n"})
    with pytest.raises(PushRejected, match="does not have"):
        sync_pair.sync(fetch=False)
    assert (sync_pair.read_remote_tip(), sync_pair.local_repo.head()) == (their_commit, our_commit)
    unpushed = sync_pair.read_unpushed_commits()
    assert unpushed is not None
    assert unpushed.commit_count == 1


@pytest.mark.process
@pytest.mark.parametrize("transport", ["git", *SLOW_TRANSPORTS])
def test_push_refused_by_hook_raises_push_rejected(transport: str, tmp_path: Path, home: Path) -> None:
    with open_sync_pair(transport, tmp_path, home) as sync_pair:
        hook = sync_pair.remote_repo.path / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\nprintf 'ask \\033[31mBo\\033[0m first\\n' >&2\nexit 1\n")
        hook.chmod(0o755)
        tip_before = sync_pair.read_remote_tip()
        sync_pair.local_repo.commit({"a.md": "# A\n"})
        with pytest.raises(PushRejected) as error_info:
            sync_pair.sync()
        assert "ask Bo first" in error_info.value.message
        assert "pre-receive hook declined" in error_info.value.message
        assert "\x1b" not in error_info.value.message
        assert sync_pair.read_remote_tip() == tip_before
        unpushed = sync_pair.read_unpushed_commits()
        assert unpushed is not None
        assert unpushed.commit_count == 1
        hook.unlink()
        assert sync_pair.sync().pushed_count == 1


def test_folder_with_hook_is_refused(file_sync_pair: SyncPair) -> None:
    hook = file_sync_pair.remote_repo.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    tip_before = file_sync_pair.read_remote_tip()
    file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    with pytest.raises(PushRejected, match="pre-receive"):
        file_sync_pair.sync()
    assert file_sync_pair.read_remote_tip() == tip_before


def test_push_to_folder_with_work_tree_is_refused(file_sync_pair: SyncPair, tmp_path: Path) -> None:
    file_sync_pair.remote_repo.git(
        "clone", "-q", str(file_sync_pair.remote_repo.path), str(tmp_path / "full")
    )
    file_sync_pair.local_repo.git("remote", "set-url", "origin", "../full")
    file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    with pytest.raises(PushRejected, match="work tree") as error_info:
        file_sync_pair.sync()
    assert "Run `git push origin main`" in error_info.value.fix


def test_rewound_remote_is_neither_merged_nor_overwritten(sync_pair: SyncPair) -> None:
    tip_before = sync_pair.read_remote_tip()
    removed_commit = sync_pair.push_as_other_user({"secret.md": "# Secret\n"})
    sync_pair.sync()
    sync_pair.remote_repo.git("update-ref", "refs/heads/main", tip_before)
    for _ in range(2):
        result = sync_pair.sync()
        assert (result.state, result.commit, result.theirs) == (
            SyncState.FORCE_PUSHED,
            removed_commit,
            tip_before,
        )
        assert result.unpushed is not None
        assert result.unpushed.commit_count == 1
        assert sync_pair.read_remote_tip() == tip_before
    assert sync_pair.sync(fetch=False).state is SyncState.UP_TO_DATE
    assert sync_pair.read_remote_tip() == removed_commit
    assert sync_pair.local_repo.git("for-each-ref", "refs/docyard").strip() == ""


def test_rewound_remote_is_synced_after_manual_reset(file_sync_pair: SyncPair) -> None:
    tip_before = file_sync_pair.read_remote_tip()
    file_sync_pair.push_as_other_user({"secret.md": "# Secret\n"})
    file_sync_pair.sync()
    file_sync_pair.remote_repo.git("update-ref", "refs/heads/main", tip_before)
    assert file_sync_pair.sync().state is SyncState.FORCE_PUSHED
    file_sync_pair.local_repo.status()  # git reset does not compare file contents again
    file_sync_pair.local_repo.git("reset", "-q", "--keep", "origin/main")
    assert file_sync_pair.sync().state is SyncState.UP_TO_DATE
    file_sync_pair.local_repo.commit({"a.md": "# A\n"})
    assert file_sync_pair.sync().pushed_count == 1


def test_rewritten_remote_is_reported_as_force_pushed(file_sync_pair: SyncPair) -> None:
    removed_commit = file_sync_pair.push_as_other_user({"a.md": "# A\n"})
    file_sync_pair.sync()
    file_sync_pair.remote_repo.git("update-ref", "refs/heads/main", f"{removed_commit}^")
    other_folder = file_sync_pair.folder / "other"
    Repo(other_folder).git("reset", "-q", "--hard", "HEAD^")
    rewritten_commit = file_sync_pair.push_as_other_user({"a.md": "# Again\n"})
    result = file_sync_pair.sync()
    assert (result.state, result.commit, result.theirs) == (
        SyncState.FORCE_PUSHED,
        removed_commit,
        rewritten_commit,
    )
    with pytest.raises(PushRejected):
        file_sync_pair.sync(fetch=False)
    assert file_sync_pair.read_remote_tip() == rewritten_commit


def test_branch_deleted_in_remote_is_reported_as_force_pushed(file_sync_pair: SyncPair) -> None:
    file_sync_pair.remote_repo.git("update-ref", "-d", "refs/heads/main")
    assert file_sync_pair.sync().state is SyncState.FORCE_PUSHED
    assert file_sync_pair.sync(fetch=False).pushed_count == 1
    assert file_sync_pair.read_remote_tip() == file_sync_pair.local_repo.head()


def test_uncommitted_file_refuses_sync_and_is_preserved(sync_pair: SyncPair) -> None:
    their_commit = sync_pair.push_as_other_user({"README.md": "# Theirs\n"})
    head_before = sync_pair.local_repo.head()
    sync_pair.local_repo.write({"README.md": "# Mine, not committed\n"})
    with pytest.raises(WorktreeConflict):
        sync_pair.sync()
    assert (sync_pair.local_repo.path / "README.md").read_text() == "# Mine, not committed\n"
    assert (sync_pair.local_repo.head(), sync_pair.list_locks()) == (head_before, [])
    sync_pair.local_repo.git("checkout", "README.md")
    assert sync_pair.sync().commit == their_commit


def test_modes_and_folders_are_fast_forwarded(file_sync_pair: SyncPair) -> None:
    other_folder = file_sync_pair.folder / "other"
    file_sync_pair.push_as_other_user({"run.sh": "#!/bin/sh\n", "a/b.md": "# B\n"})
    (other_folder / "run.sh").chmod(0o755)
    (other_folder / "a" / "b.md").unlink()
    (other_folder / "a").rmdir()
    file_sync_pair.push_as_other_user({"a": "now a file\n"})
    file_sync_pair.sync()
    assert file_sync_pair.local_repo.status() == ""
    assert (file_sync_pair.local_repo.path / "run.sh").stat().st_mode & 0o100
    assert (file_sync_pair.local_repo.path / "a").read_text() == "now a file\n"


def test_empty_commit_is_fast_forwarded(file_sync_pair: SyncPair) -> None:
    commit = file_sync_pair.push_as_other_user({}, "Nothing")
    assert file_sync_pair.sync().commit == commit
    assert file_sync_pair.local_repo.git("log", "-1", "-g", "--format=%gs").startswith("commit: docyard sync")


def test_fetched_link_is_refused(file_sync_pair: SyncPair) -> None:
    file_sync_pair.push_as_other_user({"a.md": "# A\n"})
    (file_sync_pair.folder / "other" / "link").symlink_to("a.md")
    file_sync_pair.push_as_other_user({})
    with pytest.raises(WorktreeBusy, match="link"):
        file_sync_pair.sync()
    assert file_sync_pair.local_repo.status() == ""


def test_fetched_gitattributes_are_refused(file_sync_pair: SyncPair) -> None:
    file_sync_pair.push_as_other_user({".gitattributes": "*.md eol=crlf\n", "a.md": "# A\n"})
    with pytest.raises(WorktreeBusy, match="gitattributes"):
        file_sync_pair.sync()
    file_sync_pair.local_repo.git("merge", "-q", "--ff-only", "@{upstream}")
    assert file_sync_pair.sync().state is SyncState.UP_TO_DATE


def test_bare_clone_is_fast_forwarded(file_sync_pair: SyncPair, tmp_path: Path) -> None:
    file_sync_pair.remote_repo.git(
        "clone", "-q", "--bare", str(file_sync_pair.remote_repo.path), str(tmp_path / "bare.git")
    )
    commit = file_sync_pair.push_as_other_user({".gitattributes": "*.md eol=crlf\n"})
    file_sync_pair.local_repo = Repo(tmp_path / "bare.git")
    assert file_sync_pair.sync().commit == commit
    assert file_sync_pair.local_repo.head() == commit


@pytest.mark.process
@pytest.mark.parametrize("transport", ["git", *SLOW_TRANSPORTS])
def test_shallow_clone_syncs_by_url_but_not_by_path(transport: str, tmp_path: Path, home: Path) -> None:
    with open_sync_pair(transport, tmp_path, home) as sync_pair:
        sync_pair.push_as_other_user({"a.md": "# A\n"})
        for repo in (sync_pair.local_repo, Repo(tmp_path / "other")):
            shutil.rmtree(repo.path)
        sync_pair.remote_repo.git(
            "clone", "-q", "--depth=1", f"file://{sync_pair.remote_repo.path}", str(sync_pair.local_repo.path)
        )
        sync_pair.local_repo.git("config", "user.name", "Bo")
        sync_pair.local_repo.git("config", "user.email", "bo@example.org")
        folder = sync_pair.local_repo.git("remote", "get-url", "origin").strip()
        old_shallow = (sync_pair.local_repo.path / ".git/shallow").read_text()
        sync_pair.push_as_other_user({"b.md": "# B\n"})
        with pytest.raises(ShallowClone, match="shallow"):
            sync_pair.sync()
        sync_pair.local_repo.git("remote", "set-url", "origin", sync_pair.url)
        assert (sync_pair.sync().is_fast_forwarded, folder) == (True, f"file://{sync_pair.remote_repo.path}")
        sync_pair.local_repo.commit({"c.md": "# C\n"})
        sync_pair.push_as_other_user({"b.md": "# B\n\nMore.\n"})
        result = sync_pair.sync()
        assert (result.state, result.pushed_count) == (SyncState.UP_TO_DATE, 2)
        assert (sync_pair.local_repo.path / ".git/shallow").read_text() == old_shallow
        assert sync_pair.local_repo.fsck() == sync_pair.remote_repo.fsck() == ""


def test_empty_remote_and_unborn_branch_are_synced(file_sync_pair: SyncPair, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "new.git"], check=True)
    file_sync_pair.local_repo.git("remote", "add", "new", str(tmp_path / "new.git"))
    file_sync_pair.local_repo.git("config", "branch.main.remote", "new")
    assert file_sync_pair.sync().pushed_count == 1
    assert Repo(tmp_path / "new.git").head() == file_sync_pair.local_repo.head()

    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path / "unborn"], check=True)
    file_sync_pair.local_repo = Repo(tmp_path / "unborn")
    file_sync_pair.local_repo.git("remote", "add", "origin", str(tmp_path / "new.git"))
    assert file_sync_pair.sync().is_fast_forwarded
    assert file_sync_pair.local_repo.status() == ""


def test_unrelated_remote_history_is_reported_as_force_pushed(
    file_sync_pair: SyncPair, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "new.git"], check=True)
    file_sync_pair.local_repo.git("remote", "set-url", "origin", str(tmp_path / "new.git"))
    other_folder = file_sync_pair.folder / "apart"
    subprocess.run(["git", "init", "-q", "-b", "main", other_folder], check=True)
    unrelated_repo = Repo(other_folder)
    unrelated_repo.git("config", "user.name", "Bo")
    unrelated_repo.git("config", "user.email", "bo@example.org")
    unrelated_repo.commit({"x.md": "# X\n"})
    unrelated_repo.git("push", "-q", str(tmp_path / "new.git"), "main")
    assert (
        file_sync_pair.sync().state is SyncState.FORCE_PUSHED
    )  # the remote lacks the commits that origin had


def test_wrong_or_missing_token_is_denied(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("http", tmp_path, home) as sync_pair:
        for access in (Access(), Access(token="wrong-7c1f"), Access(file=tmp_path / "none")):
            sync_pair.access = access
            with pytest.raises(RemoteDenied) as error_info:
                sync_pair.sync()
            assert "DOCYARD_REMOTE_TOKEN" in error_info.value.fix
            assert "wrong-7c1f" not in str(error_info.value.__dict__)


def test_password_in_url_is_used_and_never_shown(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("http", tmp_path, home) as sync_pair:
        sync_pair.access = Access()
        url = sync_pair.url.replace("://", f"://ada:{servers.TOKEN}@")
        sync_pair.local_repo.git("remote", "set-url", "origin", url)
        their_commit = sync_pair.push_as_other_user({"a.md": "# A\n"})
        result = sync_pair.sync()
        assert result.commit == their_commit
        assert servers.TOKEN not in repr(result)
        git = sync_pair.local_repo.path / ".git"
        for path in git.rglob("*"):
            if path.is_file() and path.name != "config":
                assert servers.TOKEN.encode() not in path.read_bytes(), path
        sync_pair.local_repo.git("remote", "set-url", "origin", url.replace("docs", "none"))
        with pytest.raises(RemoteUnreachable) as error_info:
            sync_pair.sync()
        assert servers.TOKEN not in str(error_info.value.__dict__)


def test_password_in_instead_of_setting_is_not_stored(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("http", tmp_path, home) as sync_pair:
        sync_pair.access = Access()
        base = sync_pair.url.removesuffix("docs.git")
        secret = base.replace("://", f"://ada:{servers.TOKEN}@")
        sync_pair.local_repo.git("config", f"url.{secret}.insteadOf", base)
        their_commit = sync_pair.push_as_other_user({"a.md": "# A\n"})
        assert sync_pair.sync().commit == their_commit
        assert not (sync_pair.local_repo.path / ".git" / "FETCH_HEAD").exists()


@pytest.mark.process
def test_unknown_ssh_host_is_refused(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("ssh", tmp_path, home) as sync_pair:
        known_hosts = home / ".ssh" / "known_hosts"
        known_line = known_hosts.read_text()
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other_key")], check=True
        )
        other_key = " ".join((tmp_path / "other_key.pub").read_text().split()[:2])
        for text in ("", f"{known_line.split(' ')[0]} {other_key}\n"):
            known_hosts.write_text(text)
            with pytest.raises(HostNotTrusted, match="known_hosts"):
                sync_pair.sync()
        known_hosts.unlink()
        with pytest.raises(HostNotTrusted, match="known_hosts"):
            sync_pair.sync()


@pytest.mark.slow
def test_missing_or_unknown_ssh_key_is_denied(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("ssh", tmp_path, home) as sync_pair:
        unknown_key = tmp_path / "unknown_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(unknown_key)], check=True)
        for access in (Access(), Access(ssh_keys=(unknown_key,)), Access(has_agent=True)):
            sync_pair.access = access
            with pytest.raises(RemoteDenied) as error_info:
                sync_pair.sync()
            assert "ssh-add" in error_info.value.fix
            assert str(tmp_path) not in error_info.value.message


@pytest.mark.slow
def test_key_of_ssh_agent_is_used(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_sync_pair("ssh", tmp_path, home) as sync_pair:
        agent_socket = tmp_path / "agent"
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(agent_socket)], stdout=subprocess.DEVNULL)
        try:
            monkeypatch.setenv("SSH_AUTH_SOCK", str(agent_socket))
            for _ in range(200):
                if agent_socket.exists():
                    break
                time.sleep(0.02)
            subprocess.run(["ssh-add", "-q", str(home / ".ssh" / "id_ed25519")], check=True)
            sync_pair.access = Access(has_agent=True)
            their_commit = sync_pair.push_as_other_user({"a.md": "# A\n"})
            assert sync_pair.sync().commit == their_commit
        finally:
            agent.terminate()
            agent.wait(60)


@pytest.mark.process
def test_fetch_over_size_limit_is_refused(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("git", tmp_path, home) as sync_pair:
        sync_pair.push_as_other_user({"docyard.toml": "[remote]\nfetch_bytes = 1000\n"})
        sync_pair.sync()
        head_before = sync_pair.local_repo.head()
        noise = random.Random(1).randbytes(200_000).hex()
        sync_pair.push_as_other_user({"big.md": f"# Big\n\n{noise}\n"})
        with pytest.raises(RemoteTooLarge):
            sync_pair.sync()
        assert sync_pair.local_repo.git("rev-parse", "main", "origin/main").split() == [
            head_before,
            head_before,
        ]
        assert sync_pair.list_locks() == []


def test_incomplete_remote_history_is_refused(file_sync_pair: SyncPair) -> None:
    head_before = file_sync_pair.local_repo.head()
    their_commit = file_sync_pair.push_as_other_user({"a.md": "# A\n"})
    blob = file_sync_pair.remote_repo.git("rev-parse", f"{their_commit}:a.md").strip()
    # Simulate the pack of a remote that lacks one of its objects.
    file_sync_pair.local_repo.git("fetch", "-q", str(file_sync_pair.remote_repo.path), "main")
    objects_folder = file_sync_pair.local_repo.path / ".git" / "objects"
    (objects_folder / blob[:2] / blob[2:]).unlink()
    file_sync_pair.local_repo.git("update-ref", "refs/keep", their_commit)
    with pytest.raises(RemoteDamaged):
        file_sync_pair.sync()
    assert file_sync_pair.local_repo.git("rev-parse", "main", "origin/main").split() == [
        head_before,
        head_before,
    ]


def test_remote_branch_that_is_not_a_commit_is_refused(file_sync_pair: SyncPair) -> None:
    blob = file_sync_pair.remote_repo.git("rev-parse", "main:README.md").strip()
    (file_sync_pair.remote_repo.path / "packed-refs").write_text("")
    branch_file = file_sync_pair.remote_repo.path / "refs" / "heads" / "main"
    branch_file.parent.mkdir(parents=True, exist_ok=True)
    branch_file.write_text(f"{blob}\n")
    head_before = file_sync_pair.local_repo.head()
    with pytest.raises(RemoteDamaged):
        file_sync_pair.sync()
    assert file_sync_pair.local_repo.git("rev-parse", "main", "origin/main").split() == [
        head_before,
        head_before,
    ]


def test_unusual_remote_ref_names_are_ignored(file_sync_pair: SyncPair) -> None:
    for name in (
        "refs/heads/-x",
        "refs/heads/a;rm",
        "refs/remotes/origin/main",
        "refs/docyard/lost/origin/main",
    ):
        file_sync_pair.remote_repo.git("update-ref", name, "main")
    their_commit = file_sync_pair.push_as_other_user({"a.md": "# A\n"})
    assert file_sync_pair.sync().commit == their_commit
    assert file_sync_pair.local_repo.git("for-each-ref", "refs/docyard").strip() == ""


def test_read_only_workspace_refuses_sync(file_sync_pair: SyncPair) -> None:
    with pytest.raises(ReadOnly):
        sync(Workspace.open(file_sync_pair.local_repo.path, read_only=True), Access())
