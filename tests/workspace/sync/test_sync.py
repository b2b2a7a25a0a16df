"""Fetch, fast-forward and push over every transport, with servers of Git itself."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.sync import servers
from tests.workspace.sync.conftest import Site, open_site
from workspace.git.remotes.credentials import Access
from workspace.git.remotes.exchange import HostNotTrusted, RemoteDenied, RemoteTooLarge, RemoteUnreachable
from workspace.git.remotes.remote import PushRejected
from workspace.git.store import ReadOnly
from workspace.publishing.checkout import WorktreeBusy, WorktreeConflict
from workspace.sync.branches import SyncState
from workspace.sync.exchange import RemoteDamaged, ShallowClone
from workspace.sync.status import find_unpushed
from workspace.sync.sync import sync
from workspace.workspace import Workspace

SLOW_TRANSPORTS = [pytest.param(transport, marks=pytest.mark.slow) for transport in ("http", "ssh")]


@pytest.mark.process
def test_commits_are_synced_in_both_directions(site_per_transport: Site) -> None:
    site = site_per_transport
    theirs = site.push_as_other({"README.md": "# Example\n\nFrom elsewhere.\n", "run.sh": "#!/bin/sh\n"})
    fetch_result = site.sync()
    assert (fetch_result.state, fetch_result.commit, fetch_result.is_fast_forwarded) == (
        SyncState.UP_TO_DATE,
        theirs,
        True,
    )
    assert (site.local_repo.path / "README.md").read_text() == "# Example\n\nFrom elsewhere.\n"
    assert site.local_repo.status() == ""

    our_commit = site.local_repo.commit({"guides/new.md": "# New\n"})
    unpushed = find_unpushed(Workspace.open(site.local_repo.path))
    assert unpushed is not None
    assert unpushed.commit_count == 1
    push_result = site.sync()
    assert (push_result.state, push_result.pushed_count, push_result.unpushed) == (
        SyncState.UP_TO_DATE,
        1,
        None,
    )
    assert site.tip() == our_commit
    assert find_unpushed(Workspace.open(site.local_repo.path)) is None
    assert site.local_repo.git("rev-parse", "origin/main").strip() == our_commit
    assert site.remote_repo.fsck() == site.local_repo.fsck() == ""
    assert site.locks() == []


def test_only_served_branch_is_synced(site: Site) -> None:
    site.remote_repo.git("branch", "other")
    site.remote_repo.git("tag", "v1")
    site.local_repo.git("branch", "private")
    site.local_repo.commit({"a.md": "# A\n"})
    site.sync()
    refs = site.local_repo.git("for-each-ref", "--format=%(refname)").split()
    assert sorted(refs) == [
        "refs/heads/main",
        "refs/heads/private",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]
    assert site.remote_repo.git("for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main",
        "refs/heads/other",
        "refs/tags/v1",
    ]


@pytest.mark.promise
@pytest.mark.process
@pytest.mark.parametrize("transport", ["file", "git"])
def test_push_after_concurrent_push_is_refused(transport: str, tmp_path: Path, home: Path) -> None:
    with open_site(transport, tmp_path, home) as site:
        check_push_refused(site)


def check_push_refused(site: Site) -> None:
    theirs = site.push_as_other({"a.md": "# Theirs\n"})
    our_commit = site.local_repo.commit({"b.md": "# Ours\n"})
    with pytest.raises(PushRejected, match="does not have"):
        site.sync(fetch=False)
    assert (site.tip(), site.local_repo.head()) == (theirs, our_commit)
    unpushed = find_unpushed(Workspace.open(site.local_repo.path))
    assert unpushed is not None
    assert unpushed.commit_count == 1


@pytest.mark.process
@pytest.mark.parametrize("transport", ["git", *SLOW_TRANSPORTS])
def test_push_refused_by_hook_raises_push_rejected(transport: str, tmp_path: Path, home: Path) -> None:
    with open_site(transport, tmp_path, home) as site:
        hook = site.remote_repo.path / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\nprintf 'ask \\033[31mBo\\033[0m first\\n' >&2\nexit 1\n")
        hook.chmod(0o755)
        tip_before = site.tip()
        site.local_repo.commit({"a.md": "# A\n"})
        with pytest.raises(PushRejected) as error_info:
            site.sync()
        assert "ask Bo first" in error_info.value.message
        assert "pre-receive hook declined" in error_info.value.message
        assert "\x1b" not in error_info.value.message
        assert site.tip() == tip_before
        unpushed = find_unpushed(Workspace.open(site.local_repo.path))
        assert unpushed is not None
        assert unpushed.commit_count == 1
        hook.unlink()
        assert site.sync().pushed_count == 1


def test_folder_with_hook_is_refused(folder_site: Site) -> None:
    hook = folder_site.remote_repo.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    tip_before = folder_site.tip()
    folder_site.local_repo.commit({"a.md": "# A\n"})
    with pytest.raises(PushRejected, match="pre-receive"):
        folder_site.sync()
    assert folder_site.tip() == tip_before


def test_push_to_folder_with_work_tree_is_refused(folder_site: Site, tmp_path: Path) -> None:
    folder_site.remote_repo.git("clone", "-q", str(folder_site.remote_repo.path), str(tmp_path / "full"))
    folder_site.local_repo.git("remote", "set-url", "origin", "../full")
    folder_site.local_repo.commit({"a.md": "# A\n"})
    with pytest.raises(PushRejected, match="work tree"):
        folder_site.sync()


def test_rewound_remote_is_neither_followed_nor_overwritten(site: Site) -> None:
    tip_before = site.tip()
    removed_commit = site.push_as_other({"secret.md": "# Secret\n"})
    site.sync()
    site.remote_repo.git("update-ref", "refs/heads/main", tip_before)
    for _ in range(2):
        result = site.sync()
        assert (result.state, result.commit, result.theirs) == (
            SyncState.FORCE_PUSHED,
            removed_commit,
            tip_before,
        )
        assert result.unpushed is not None
        assert result.unpushed.commit_count == 1
        assert site.tip() == tip_before
    assert site.sync(fetch=False).state is SyncState.UP_TO_DATE
    assert site.tip() == removed_commit
    assert site.local_repo.git("for-each-ref", "refs/docyard").strip() == ""


def test_rewound_remote_is_synced_after_manual_reset(folder_site: Site) -> None:
    tip_before = folder_site.tip()
    folder_site.push_as_other({"secret.md": "# Secret\n"})
    folder_site.sync()
    folder_site.remote_repo.git("update-ref", "refs/heads/main", tip_before)
    assert folder_site.sync().state is SyncState.FORCE_PUSHED
    folder_site.local_repo.status()  # git reset does not compare file contents again
    folder_site.local_repo.git("reset", "-q", "--keep", "origin/main")
    assert folder_site.sync().state is SyncState.UP_TO_DATE
    folder_site.local_repo.commit({"a.md": "# A\n"})
    assert folder_site.sync().pushed_count == 1


def test_rewritten_remote_is_reported_as_force_pushed(folder_site: Site) -> None:
    removed_commit = folder_site.push_as_other({"a.md": "# A\n"})
    folder_site.sync()
    folder_site.remote_repo.git("update-ref", "refs/heads/main", f"{removed_commit}^")
    other_folder = folder_site.folder / "other"
    Repo(other_folder).git("reset", "-q", "--hard", "HEAD^")
    rewritten_commit = folder_site.push_as_other({"a.md": "# Again\n"})
    result = folder_site.sync()
    assert (result.state, result.commit, result.theirs) == (
        SyncState.FORCE_PUSHED,
        removed_commit,
        rewritten_commit,
    )
    with pytest.raises(PushRejected):
        folder_site.sync(fetch=False)
    assert folder_site.tip() == rewritten_commit


def test_branch_deleted_in_remote_is_reported_as_force_pushed(folder_site: Site) -> None:
    folder_site.remote_repo.git("update-ref", "-d", "refs/heads/main")
    assert folder_site.sync().state is SyncState.FORCE_PUSHED
    assert folder_site.sync(fetch=False).pushed_count == 1
    assert folder_site.tip() == folder_site.local_repo.head()


def test_uncommitted_file_refuses_sync_and_is_preserved(site: Site) -> None:
    theirs = site.push_as_other({"README.md": "# Theirs\n"})
    head_before = site.local_repo.head()
    site.local_repo.write({"README.md": "# Mine, not committed\n"})
    with pytest.raises(WorktreeConflict):
        site.sync()
    assert (site.local_repo.path / "README.md").read_text() == "# Mine, not committed\n"
    assert (site.local_repo.head(), site.locks()) == (head_before, [])
    site.local_repo.git("checkout", "README.md")
    assert site.sync().commit == theirs


def test_modes_and_folders_are_fast_forwarded(folder_site: Site) -> None:
    other_folder = folder_site.folder / "other"
    folder_site.push_as_other({"run.sh": "#!/bin/sh\n", "a/b.md": "# B\n"})
    (other_folder / "run.sh").chmod(0o755)
    (other_folder / "a" / "b.md").unlink()
    (other_folder / "a").rmdir()
    folder_site.push_as_other({"a": "now a file\n"})
    folder_site.sync()
    assert folder_site.local_repo.status() == ""
    assert (folder_site.local_repo.path / "run.sh").stat().st_mode & 0o100
    assert (folder_site.local_repo.path / "a").read_text() == "now a file\n"


def test_empty_commit_is_fast_forwarded(folder_site: Site) -> None:
    commit = folder_site.push_as_other({}, "Nothing")
    assert folder_site.sync().commit == commit
    assert folder_site.local_repo.git("log", "-1", "-g", "--format=%gs").startswith("commit: docyard sync")


def test_fetched_link_is_refused(folder_site: Site) -> None:
    folder_site.push_as_other({"a.md": "# A\n"})
    (folder_site.folder / "other" / "link").symlink_to("a.md")
    folder_site.push_as_other({})
    with pytest.raises(WorktreeBusy, match="link"):
        folder_site.sync()
    assert folder_site.local_repo.status() == ""


def test_fetched_gitattributes_are_refused(folder_site: Site) -> None:
    folder_site.push_as_other({".gitattributes": "*.md eol=crlf\n", "a.md": "# A\n"})
    with pytest.raises(WorktreeBusy, match="gitattributes"):
        folder_site.sync()
    folder_site.local_repo.git("merge", "-q", "--ff-only", "@{upstream}")
    assert folder_site.sync().state is SyncState.UP_TO_DATE


def test_bare_clone_is_fast_forwarded(folder_site: Site, tmp_path: Path) -> None:
    folder_site.remote_repo.git(
        "clone", "-q", "--bare", str(folder_site.remote_repo.path), str(tmp_path / "bare.git")
    )
    commit = folder_site.push_as_other({".gitattributes": "*.md eol=crlf\n"})
    folder_site.local_repo = Repo(tmp_path / "bare.git")
    assert folder_site.sync().commit == commit
    assert folder_site.local_repo.head() == commit


@pytest.mark.process
@pytest.mark.parametrize("transport", ["git", *SLOW_TRANSPORTS])
def test_shallow_clone_syncs_by_url_but_not_by_path(transport: str, tmp_path: Path, home: Path) -> None:
    with open_site(transport, tmp_path, home) as site:
        site.push_as_other({"a.md": "# A\n"})
        for repo in (site.local_repo, Repo(tmp_path / "other")):
            shutil.rmtree(repo.path)
        site.remote_repo.git(
            "clone", "-q", "--depth=1", f"file://{site.remote_repo.path}", str(site.local_repo.path)
        )
        site.local_repo.git("config", "user.name", "Bo")
        site.local_repo.git("config", "user.email", "bo@example.org")
        folder = site.local_repo.git("remote", "get-url", "origin").strip()
        old_shallow = (site.local_repo.path / ".git/shallow").read_text()
        site.push_as_other({"b.md": "# B\n"})
        with pytest.raises(ShallowClone, match="shallow"):
            site.sync()
        site.local_repo.git("remote", "set-url", "origin", site.url)
        assert (site.sync().is_fast_forwarded, folder) == (True, f"file://{site.remote_repo.path}")
        site.local_repo.commit({"c.md": "# C\n"})
        site.push_as_other({"b.md": "# B\n\nMore.\n"})
        result = site.sync()
        assert (result.state, result.pushed_count) == (SyncState.UP_TO_DATE, 2)
        assert (site.local_repo.path / ".git/shallow").read_text() == old_shallow
        assert site.local_repo.fsck() == site.remote_repo.fsck() == ""


def test_empty_remote_and_unborn_branch_are_synced(folder_site: Site, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "new.git"], check=True)
    folder_site.local_repo.git("remote", "add", "new", str(tmp_path / "new.git"))
    folder_site.local_repo.git("config", "branch.main.remote", "new")
    assert folder_site.sync().pushed_count == 1
    assert Repo(tmp_path / "new.git").head() == folder_site.local_repo.head()

    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path / "unborn"], check=True)
    folder_site.local_repo = Repo(tmp_path / "unborn")
    folder_site.local_repo.git("remote", "add", "origin", str(tmp_path / "new.git"))
    assert folder_site.sync().is_fast_forwarded
    assert folder_site.local_repo.status() == ""


def test_unrelated_remote_history_is_reported_as_force_pushed(folder_site: Site, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "new.git"], check=True)
    folder_site.local_repo.git("remote", "set-url", "origin", str(tmp_path / "new.git"))
    other_folder = folder_site.folder / "apart"
    subprocess.run(["git", "init", "-q", "-b", "main", other_folder], check=True)
    unrelated_repo = Repo(other_folder)
    unrelated_repo.git("config", "user.name", "Bo")
    unrelated_repo.git("config", "user.email", "bo@example.org")
    unrelated_repo.commit({"x.md": "# X\n"})
    unrelated_repo.git("push", "-q", str(tmp_path / "new.git"), "main")
    assert folder_site.sync().state is SyncState.FORCE_PUSHED  # of what origin had before


def test_wrong_or_missing_token_is_denied(tmp_path: Path, home: Path) -> None:
    with open_site("http", tmp_path, home) as site:
        for access in (Access(), Access(token="wrong-7c1f"), Access(file=tmp_path / "none")):
            site.access = access
            with pytest.raises(RemoteDenied) as error_info:
                site.sync()
            assert "DOCYARD_REMOTE_TOKEN" in error_info.value.fix
            assert "wrong-7c1f" not in str(error_info.value.__dict__)


def test_password_in_url_is_used_and_never_shown(tmp_path: Path, home: Path) -> None:
    with open_site("http", tmp_path, home) as site:
        site.access = Access()
        url = site.url.replace("://", f"://ada:{servers.TOKEN}@")
        site.local_repo.git("remote", "set-url", "origin", url)
        theirs = site.push_as_other({"a.md": "# A\n"})
        result = site.sync()
        assert result.commit == theirs
        assert servers.TOKEN not in repr(result)
        git = site.local_repo.path / ".git"
        for path in git.rglob("*"):
            if path.is_file() and path.name != "config":
                assert servers.TOKEN.encode() not in path.read_bytes(), path
        site.local_repo.git("remote", "set-url", "origin", url.replace("docs", "none"))
        with pytest.raises(RemoteUnreachable) as error_info:
            site.sync()
        assert servers.TOKEN not in str(error_info.value.__dict__)


def test_password_from_instead_of_is_not_stored(tmp_path: Path, home: Path) -> None:
    with open_site("http", tmp_path, home) as site:
        site.access = Access()
        base = site.url.removesuffix("docs.git")
        secret = base.replace("://", f"://ada:{servers.TOKEN}@")
        site.local_repo.git("config", f"url.{secret}.insteadOf", base)
        theirs = site.push_as_other({"a.md": "# A\n"})
        assert site.sync().commit == theirs
        assert not (site.local_repo.path / ".git" / "FETCH_HEAD").exists()


@pytest.mark.process
def test_unknown_ssh_host_is_refused(tmp_path: Path, home: Path) -> None:
    with open_site("ssh", tmp_path, home) as site:
        known_hosts = home / ".ssh" / "known_hosts"
        known_line = known_hosts.read_text()
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "evil")], check=True
        )
        other_key = " ".join((tmp_path / "evil.pub").read_text().split()[:2])
        for text in ("", f"{known_line.split(' ')[0]} {other_key}\n"):
            known_hosts.write_text(text)
            with pytest.raises(HostNotTrusted, match="known_hosts"):
                site.sync()
        known_hosts.unlink()
        with pytest.raises(HostNotTrusted, match="known_hosts"):
            site.sync()


@pytest.mark.slow
def test_missing_or_unknown_ssh_key_is_denied(tmp_path: Path, home: Path) -> None:
    with open_site("ssh", tmp_path, home) as site:
        unknown_key = tmp_path / "stranger"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(unknown_key)], check=True)
        for access in (Access(), Access(ssh_keys=(unknown_key,)), Access(has_agent=True)):
            site.access = access
            with pytest.raises(RemoteDenied) as error_info:
                site.sync()
            assert "ssh-add" in error_info.value.fix
            assert str(tmp_path) not in error_info.value.message


@pytest.mark.slow
def test_key_of_ssh_agent_is_used(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_site("ssh", tmp_path, home) as site:
        agent_socket = tmp_path / "agent"
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(agent_socket)], stdout=subprocess.DEVNULL)
        try:
            monkeypatch.setenv("SSH_AUTH_SOCK", str(agent_socket))
            for _ in range(200):
                if agent_socket.exists():
                    break
                time.sleep(0.02)
            subprocess.run(["ssh-add", "-q", str(home / ".ssh" / "id_ed25519")], check=True)
            site.access = Access(has_agent=True)
            theirs = site.push_as_other({"a.md": "# A\n"})
            assert site.sync().commit == theirs
        finally:
            agent.terminate()
            agent.wait(60)


@pytest.mark.process
def test_fetch_over_size_limit_is_refused(tmp_path: Path, home: Path) -> None:
    with open_site("git", tmp_path, home) as site:
        head_before = site.local_repo.head()
        site.push_as_other({"docyard.toml": "[remote]\nfetch_bytes = 1000\n"})
        site.sync()
        head_before = site.local_repo.head()
        noise = random.Random(1).randbytes(200_000).hex()
        site.push_as_other({"big.md": f"# Big\n\n{noise}\n"})
        with pytest.raises(RemoteTooLarge):
            site.sync()
        assert site.local_repo.git("rev-parse", "main", "origin/main").split() == [head_before, head_before]
        assert site.locks() == []


def test_incomplete_remote_history_is_refused(folder_site: Site) -> None:
    head_before = folder_site.local_repo.head()
    theirs = folder_site.push_as_other({"a.md": "# A\n"})
    blob = folder_site.remote_repo.git("rev-parse", f"{theirs}:a.md").strip()
    # The pack that a remote without one of its objects would send.
    folder_site.local_repo.git("fetch", "-q", str(folder_site.remote_repo.path), "main")
    objects_folder = folder_site.local_repo.path / ".git" / "objects"
    (objects_folder / blob[:2] / blob[2:]).unlink()
    folder_site.local_repo.git("update-ref", "refs/keep", theirs)
    with pytest.raises(RemoteDamaged):
        folder_site.sync()
    assert folder_site.local_repo.git("rev-parse", "main", "origin/main").split() == [
        head_before,
        head_before,
    ]


def test_remote_branch_that_is_not_a_commit_is_refused(folder_site: Site) -> None:
    blob = folder_site.remote_repo.git("rev-parse", "main:README.md").strip()
    (folder_site.remote_repo.path / "packed-refs").write_text("")
    branch_file = folder_site.remote_repo.path / "refs" / "heads" / "main"
    branch_file.parent.mkdir(parents=True, exist_ok=True)
    branch_file.write_text(f"{blob}\n")
    head_before = folder_site.local_repo.head()
    with pytest.raises(RemoteDamaged):
        folder_site.sync()
    assert folder_site.local_repo.git("rev-parse", "main", "origin/main").split() == [
        head_before,
        head_before,
    ]


def test_unusual_remote_ref_names_are_ignored(folder_site: Site) -> None:
    for name in (
        "refs/heads/-x",
        "refs/heads/a;rm",
        "refs/remotes/origin/main",
        "refs/docyard/lost/origin/main",
    ):
        folder_site.remote_repo.git("update-ref", name, "main")
    theirs = folder_site.push_as_other({"a.md": "# A\n"})
    assert folder_site.sync().commit == theirs
    assert folder_site.local_repo.git("for-each-ref", "refs/docyard").strip() == ""


def test_read_only_workspace_refuses_sync(folder_site: Site) -> None:
    with pytest.raises(ReadOnly):
        sync(Workspace.open(folder_site.local_repo.path, read_only=True), Access())
