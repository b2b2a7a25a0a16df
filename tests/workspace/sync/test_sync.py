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
from tests.workspace.sync.conftest import Site, site
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

SLOW = [pytest.param(transport, marks=pytest.mark.slow) for transport in ("http", "ssh")]


@pytest.mark.process
def test_commits_are_synced_in_both_directions(everywhere: Site) -> None:
    reached = everywhere
    theirs = reached.elsewhere({"README.md": "# Example\n\nFrom elsewhere.\n", "run.sh": "#!/bin/sh\n"})
    followed = reached.sync()
    assert (followed.state, followed.commit, followed.is_fast_forwarded) == (
        SyncState.UP_TO_DATE,
        theirs,
        True,
    )
    assert (reached.here.path / "README.md").read_text() == "# Example\n\nFrom elsewhere.\n"
    assert reached.here.status() == ""

    our_commit = reached.here.commit({"guides/new.md": "# New\n"})
    unpushed = find_unpushed(Workspace.open(reached.here.path))
    assert unpushed is not None
    assert unpushed.commits == 1
    pushed = reached.sync()
    assert (pushed.state, pushed.pushed, pushed.unpushed) == (SyncState.UP_TO_DATE, 1, None)
    assert reached.tip() == our_commit
    assert find_unpushed(Workspace.open(reached.here.path)) is None
    assert reached.here.git("rev-parse", "origin/main").strip() == our_commit
    assert reached.there.fsck() == reached.here.fsck() == ""
    assert reached.locks() == []


def test_only_served_branch_is_synced(reached: Site) -> None:
    reached.there.git("branch", "other")
    reached.there.git("tag", "v1")
    reached.here.git("branch", "private")
    reached.here.commit({"a.md": "# A\n"})
    reached.sync()
    refs = reached.here.git("for-each-ref", "--format=%(refname)").split()
    assert sorted(refs) == [
        "refs/heads/main",
        "refs/heads/private",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]
    assert reached.there.git("for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main",
        "refs/heads/other",
        "refs/tags/v1",
    ]


@pytest.mark.promise
@pytest.mark.process
@pytest.mark.parametrize("transport", ["file", "git"])
def test_push_after_concurrent_push_is_refused(transport: str, tmp_path: Path, home: Path) -> None:
    with site(transport, tmp_path, home) as reached:
        check_push_refused(reached)


def check_push_refused(reached: Site) -> None:
    theirs = reached.elsewhere({"a.md": "# Theirs\n"})
    our_commit = reached.here.commit({"b.md": "# Ours\n"})
    with pytest.raises(PushRejected, match="does not have"):
        reached.sync(fetch=False)
    assert (reached.tip(), reached.here.head()) == (theirs, our_commit)
    unpushed = find_unpushed(Workspace.open(reached.here.path))
    assert unpushed is not None
    assert unpushed.commits == 1


@pytest.mark.process
@pytest.mark.parametrize("transport", ["git", *SLOW])
def test_push_refused_by_hook_raises_push_rejected(transport: str, tmp_path: Path, home: Path) -> None:
    with site(transport, tmp_path, home) as reached:
        hook = reached.there.path / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\nprintf 'ask \\033[31mBo\\033[0m first\\n' >&2\nexit 1\n")
        hook.chmod(0o755)
        tip_before = reached.tip()
        reached.here.commit({"a.md": "# A\n"})
        with pytest.raises(PushRejected) as caught:
            reached.sync()
        assert "ask Bo first" in caught.value.message
        assert "pre-receive hook declined" in caught.value.message
        assert "\x1b" not in caught.value.message
        assert reached.tip() == tip_before
        unpushed = find_unpushed(Workspace.open(reached.here.path))
        assert unpushed is not None
        assert unpushed.commits == 1
        hook.unlink()
        assert reached.sync().pushed == 1


def test_folder_with_hook_is_refused(folder_site: Site) -> None:
    hook = folder_site.there.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    tip_before = folder_site.tip()
    folder_site.here.commit({"a.md": "# A\n"})
    with pytest.raises(PushRejected, match="pre-receive"):
        folder_site.sync()
    assert folder_site.tip() == tip_before


def test_push_to_folder_with_work_tree_is_refused(folder_site: Site, tmp_path: Path) -> None:
    folder_site.there.git("clone", "-q", str(folder_site.there.path), str(tmp_path / "full"))
    folder_site.here.git("remote", "set-url", "origin", "../full")
    folder_site.here.commit({"a.md": "# A\n"})
    with pytest.raises(PushRejected, match="work tree"):
        folder_site.sync()


def test_rewound_remote_is_neither_followed_nor_overwritten(reached: Site) -> None:
    tip_before = reached.tip()
    removed = reached.elsewhere({"secret.md": "# Secret\n"})
    reached.sync()
    reached.there.git("update-ref", "refs/heads/main", tip_before)
    for _ in range(2):
        found = reached.sync()
        assert (found.state, found.commit, found.theirs) == (SyncState.FORCE_PUSHED, removed, tip_before)
        assert found.unpushed is not None
        assert found.unpushed.commits == 1
        assert reached.tip() == tip_before
    assert reached.sync(fetch=False).state is SyncState.UP_TO_DATE
    assert reached.tip() == removed
    assert reached.here.git("for-each-ref", "refs/docyard").strip() == ""


def test_rewound_remote_is_synced_after_manual_reset(folder_site: Site) -> None:
    tip_before = folder_site.tip()
    folder_site.elsewhere({"secret.md": "# Secret\n"})
    folder_site.sync()
    folder_site.there.git("update-ref", "refs/heads/main", tip_before)
    assert folder_site.sync().state is SyncState.FORCE_PUSHED
    folder_site.here.status()  # git reset does not compare file contents again
    folder_site.here.git("reset", "-q", "--keep", "origin/main")
    assert folder_site.sync().state is SyncState.UP_TO_DATE
    folder_site.here.commit({"a.md": "# A\n"})
    assert folder_site.sync().pushed == 1


def test_rewritten_remote_is_reported_as_force_pushed(folder_site: Site) -> None:
    removed = folder_site.elsewhere({"a.md": "# A\n"})
    folder_site.sync()
    folder_site.there.git("update-ref", "refs/heads/main", f"{removed}^")
    other = folder_site.folder / "other"
    Repo(other).git("reset", "-q", "--hard", "HEAD^")
    rewritten = folder_site.elsewhere({"a.md": "# Again\n"})
    found = folder_site.sync()
    assert (found.state, found.commit, found.theirs) == (SyncState.FORCE_PUSHED, removed, rewritten)
    with pytest.raises(PushRejected):
        folder_site.sync(fetch=False)
    assert folder_site.tip() == rewritten


def test_branch_deleted_in_remote_is_reported_as_force_pushed(folder_site: Site) -> None:
    folder_site.there.git("update-ref", "-d", "refs/heads/main")
    assert folder_site.sync().state is SyncState.FORCE_PUSHED
    assert folder_site.sync(fetch=False).pushed == 1
    assert folder_site.tip() == folder_site.here.head()


def test_uncommitted_file_refuses_sync_and_is_preserved(reached: Site) -> None:
    theirs = reached.elsewhere({"README.md": "# Theirs\n"})
    head_before = reached.here.head()
    reached.here.write({"README.md": "# Mine, not committed\n"})
    with pytest.raises(WorktreeConflict):
        reached.sync()
    assert (reached.here.path / "README.md").read_text() == "# Mine, not committed\n"
    assert (reached.here.head(), reached.locks()) == (head_before, [])
    reached.here.git("checkout", "README.md")
    assert reached.sync().commit == theirs


def test_modes_and_folders_are_fast_forwarded(folder_site: Site) -> None:
    other = folder_site.folder / "other"
    folder_site.elsewhere({"run.sh": "#!/bin/sh\n", "a/b.md": "# B\n"})
    (other / "run.sh").chmod(0o755)
    (other / "a" / "b.md").unlink()
    (other / "a").rmdir()
    folder_site.elsewhere({"a": "now a file\n"})
    folder_site.sync()
    assert folder_site.here.status() == ""
    assert (folder_site.here.path / "run.sh").stat().st_mode & 0o100
    assert (folder_site.here.path / "a").read_text() == "now a file\n"


def test_empty_commit_is_fast_forwarded(folder_site: Site) -> None:
    commit = folder_site.elsewhere({}, "Nothing")
    assert folder_site.sync().commit == commit
    assert folder_site.here.git("log", "-1", "-g", "--format=%gs").startswith("commit: docyard sync")


def test_fetched_link_is_refused(folder_site: Site) -> None:
    folder_site.elsewhere({"a.md": "# A\n"})
    (folder_site.folder / "other" / "link").symlink_to("a.md")
    folder_site.elsewhere({})
    with pytest.raises(WorktreeBusy, match="link"):
        folder_site.sync()
    assert folder_site.here.status() == ""


def test_fetched_gitattributes_are_refused(folder_site: Site) -> None:
    folder_site.elsewhere({".gitattributes": "*.md eol=crlf\n", "a.md": "# A\n"})
    with pytest.raises(WorktreeBusy, match="gitattributes"):
        folder_site.sync()
    folder_site.here.git("merge", "-q", "--ff-only", "@{upstream}")
    assert folder_site.sync().state is SyncState.UP_TO_DATE


def test_bare_clone_is_fast_forwarded(folder_site: Site, tmp_path: Path) -> None:
    folder_site.there.git("clone", "-q", "--bare", str(folder_site.there.path), str(tmp_path / "bare.git"))
    commit = folder_site.elsewhere({".gitattributes": "*.md eol=crlf\n"})
    folder_site.here = Repo(tmp_path / "bare.git")
    assert folder_site.sync().commit == commit
    assert folder_site.here.head() == commit


@pytest.mark.process
@pytest.mark.parametrize("transport", ["git", *SLOW])
def test_shallow_clone_syncs_by_url_but_not_by_path(transport: str, tmp_path: Path, home: Path) -> None:
    with site(transport, tmp_path, home) as reached:
        reached.elsewhere({"a.md": "# A\n"})
        for repo in (reached.here, Repo(tmp_path / "other")):
            shutil.rmtree(repo.path)
        reached.there.git("clone", "-q", "--depth=1", f"file://{reached.there.path}", str(reached.here.path))
        reached.here.git("config", "user.name", "Bo")
        reached.here.git("config", "user.email", "bo@example.org")
        folder = reached.here.git("remote", "get-url", "origin").strip()
        before = (reached.here.path / ".git/shallow").read_text()
        reached.elsewhere({"b.md": "# B\n"})
        with pytest.raises(ShallowClone, match="shallow"):
            reached.sync()
        reached.here.git("remote", "set-url", "origin", reached.url)
        assert (reached.sync().is_fast_forwarded, folder) == (True, f"file://{reached.there.path}")
        reached.here.commit({"c.md": "# C\n"})
        reached.elsewhere({"b.md": "# B\n\nMore.\n"})
        found = reached.sync()
        assert (found.state, found.pushed) == (SyncState.UP_TO_DATE, 2)
        assert (reached.here.path / ".git/shallow").read_text() == before
        assert reached.here.fsck() == reached.there.fsck() == ""


def test_empty_remote_and_unborn_branch_are_synced(folder_site: Site, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "new.git"], check=True)
    folder_site.here.git("remote", "add", "new", str(tmp_path / "new.git"))
    folder_site.here.git("config", "branch.main.remote", "new")
    assert folder_site.sync().pushed == 1
    assert Repo(tmp_path / "new.git").head() == folder_site.here.head()

    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path / "unborn"], check=True)
    folder_site.here = Repo(tmp_path / "unborn")
    folder_site.here.git("remote", "add", "origin", str(tmp_path / "new.git"))
    assert folder_site.sync().is_fast_forwarded
    assert folder_site.here.status() == ""


def test_unrelated_remote_history_is_reported_as_force_pushed(folder_site: Site, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "new.git"], check=True)
    folder_site.here.git("remote", "set-url", "origin", str(tmp_path / "new.git"))
    other = folder_site.folder / "apart"
    subprocess.run(["git", "init", "-q", "-b", "main", other], check=True)
    apart = Repo(other)
    apart.git("config", "user.name", "Bo")
    apart.git("config", "user.email", "bo@example.org")
    apart.commit({"x.md": "# X\n"})
    apart.git("push", "-q", str(tmp_path / "new.git"), "main")
    assert folder_site.sync().state is SyncState.FORCE_PUSHED  # of what origin had before


def test_wrong_or_missing_token_is_denied(tmp_path: Path, home: Path) -> None:
    with site("http", tmp_path, home) as reached:
        for access in (Access(), Access(token="wrong-7c1f"), Access(file=tmp_path / "none")):
            reached.access = access
            with pytest.raises(RemoteDenied) as caught:
                reached.sync()
            assert "DOCYARD_REMOTE_TOKEN" in caught.value.fix
            assert "wrong-7c1f" not in str(caught.value.__dict__)


def test_password_in_url_is_used_and_never_shown(tmp_path: Path, home: Path) -> None:
    with site("http", tmp_path, home) as reached:
        reached.access = Access()
        url = reached.url.replace("://", f"://ada:{servers.TOKEN}@")
        reached.here.git("remote", "set-url", "origin", url)
        theirs = reached.elsewhere({"a.md": "# A\n"})
        found = reached.sync()
        assert found.commit == theirs
        assert servers.TOKEN not in repr(found)
        git = reached.here.path / ".git"
        for path in git.rglob("*"):
            if path.is_file() and path.name != "config":
                assert servers.TOKEN.encode() not in path.read_bytes(), path
        reached.here.git("remote", "set-url", "origin", url.replace("docs", "none"))
        with pytest.raises(RemoteUnreachable) as caught:
            reached.sync()
        assert servers.TOKEN not in str(caught.value.__dict__)


def test_password_from_instead_of_is_not_stored(tmp_path: Path, home: Path) -> None:
    with site("http", tmp_path, home) as reached:
        reached.access = Access()
        base = reached.url.removesuffix("docs.git")
        secret = base.replace("://", f"://ada:{servers.TOKEN}@")
        reached.here.git("config", f"url.{secret}.insteadOf", base)
        theirs = reached.elsewhere({"a.md": "# A\n"})
        assert reached.sync().commit == theirs
        assert not (reached.here.path / ".git" / "FETCH_HEAD").exists()


@pytest.mark.process
def test_unknown_ssh_host_is_refused(tmp_path: Path, home: Path) -> None:
    with site("ssh", tmp_path, home) as reached:
        known = home / ".ssh" / "known_hosts"
        right = known.read_text()
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "evil")], check=True
        )
        evil = " ".join((tmp_path / "evil.pub").read_text().split()[:2])
        for text in ("", f"{right.split(' ')[0]} {evil}\n"):
            known.write_text(text)
            with pytest.raises(HostNotTrusted, match="known_hosts"):
                reached.sync()
        known.unlink()
        with pytest.raises(HostNotTrusted, match="known_hosts"):
            reached.sync()


@pytest.mark.slow
def test_missing_or_unknown_ssh_key_is_denied(tmp_path: Path, home: Path) -> None:
    with site("ssh", tmp_path, home) as reached:
        stranger = tmp_path / "stranger"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(stranger)], check=True)
        for access in (Access(), Access(ssh_keys=(stranger,)), Access(has_agent=True)):
            reached.access = access
            with pytest.raises(RemoteDenied) as caught:
                reached.sync()
            assert "ssh-add" in caught.value.fix
            assert str(tmp_path) not in caught.value.message


@pytest.mark.slow
def test_key_of_ssh_agent_is_used(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with site("ssh", tmp_path, home) as reached:
        sock = tmp_path / "agent"
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.DEVNULL)
        try:
            monkeypatch.setenv("SSH_AUTH_SOCK", str(sock))
            for _ in range(200):
                if sock.exists():
                    break
                time.sleep(0.02)
            subprocess.run(["ssh-add", "-q", str(home / ".ssh" / "id_ed25519")], check=True)
            reached.access = Access(has_agent=True)
            theirs = reached.elsewhere({"a.md": "# A\n"})
            assert reached.sync().commit == theirs
        finally:
            agent.terminate()
            agent.wait(60)


@pytest.mark.process
def test_fetch_over_size_limit_is_refused(tmp_path: Path, home: Path) -> None:
    with site("git", tmp_path, home) as reached:
        head_before = reached.here.head()
        reached.elsewhere({"docyard.toml": "[remote]\nfetch_bytes = 1000\n"})
        reached.sync()
        head_before = reached.here.head()
        noise = random.Random(1).randbytes(200_000).hex()
        reached.elsewhere({"big.md": f"# Big\n\n{noise}\n"})
        with pytest.raises(RemoteTooLarge):
            reached.sync()
        assert reached.here.git("rev-parse", "main", "origin/main").split() == [head_before, head_before]
        assert reached.locks() == []


def test_incomplete_remote_history_is_refused(folder_site: Site) -> None:
    head_before = folder_site.here.head()
    theirs = folder_site.elsewhere({"a.md": "# A\n"})
    blob = folder_site.there.git("rev-parse", f"{theirs}:a.md").strip()
    # The pack that a remote without one of its objects would send.
    folder_site.here.git("fetch", "-q", str(folder_site.there.path), "main")
    pack = folder_site.here.path / ".git" / "objects"
    (pack / blob[:2] / blob[2:]).unlink()
    folder_site.here.git("update-ref", "refs/keep", theirs)
    with pytest.raises(RemoteDamaged):
        folder_site.sync()
    assert folder_site.here.git("rev-parse", "main", "origin/main").split() == [head_before, head_before]


def test_remote_branch_that_is_not_a_commit_is_refused(folder_site: Site) -> None:
    blob = folder_site.there.git("rev-parse", "main:README.md").strip()
    (folder_site.there.path / "packed-refs").write_text("")
    head = folder_site.there.path / "refs" / "heads" / "main"
    head.parent.mkdir(parents=True, exist_ok=True)
    head.write_text(f"{blob}\n")
    head_before = folder_site.here.head()
    with pytest.raises(RemoteDamaged):
        folder_site.sync()
    assert folder_site.here.git("rev-parse", "main", "origin/main").split() == [head_before, head_before]


def test_unusual_remote_ref_names_are_ignored(folder_site: Site) -> None:
    for name in (
        "refs/heads/-x",
        "refs/heads/a;rm",
        "refs/remotes/origin/main",
        "refs/docyard/lost/origin/main",
    ):
        folder_site.there.git("update-ref", name, "main")
    theirs = folder_site.elsewhere({"a.md": "# A\n"})
    assert folder_site.sync().commit == theirs
    assert folder_site.here.git("for-each-ref", "refs/docyard").strip() == ""


def test_read_only_workspace_refuses_sync(folder_site: Site) -> None:
    with pytest.raises(ReadOnly):
        sync(Workspace.open(folder_site.here.path, read_only=True), Access())
