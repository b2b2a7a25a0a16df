"""The discussion and the proposal branches are synced with the served branch, in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from tests.workspace.sync.conftest import Site, site
from workspace.git.objects import Signature
from workspace.git.remotes.credentials import Access
from workspace.git.store import GitStore
from workspace.proposals.actions.repository import build_branch_name
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, Commented, KnownBy, Opened
from workspace.proposals.proposal import Proposals
from workspace.sync.branches import DISCUSSION, SyncedBranch, SyncState
from workspace.sync.sync import SyncResult, sync
from workspace.workspace import Workspace

ANA = Author("Ana", "ana@example.org", KnownBy.GIT)
IDS = ("k3v7m2qa", "t9w4x8zb")


@pytest.fixture
def other(folder_site: Site, tmp_path: Path) -> Repo:
    """Return another clone of the remote that also synchronizes."""
    folder_site.there.git("clone", "-q", str(folder_site.there.path), str(tmp_path / "second"))
    repo = Repo(tmp_path / "second")
    repo.git("config", "user.name", repositories.NAME)
    repo.git("config", "user.email", repositories.EMAIL)
    return repo


def propose(repo: Repo, id: str, files: dict[str, str]) -> str:
    """Open a proposal with one commit, and return its branch."""
    branch = build_branch_name(id, "Change it")
    base = repo.git("rev-parse", "main").strip()
    edit(repo, branch, files, start=base)
    log = EventLog(GitStore(repo.path), durable=False)
    log.append(id, [Opened("Change it", "Why.", "main", branch, base)], ANA, tool="test", client="test")
    return branch


def edit(repo: Repo, branch: str, files: dict[str, str], start: str | None = None) -> str:
    """Commit on a branch, and switch back to main."""
    repo.git("checkout", "-q", *(["-b", branch, start] if start else [branch]))
    commit = repo.commit(files)
    repo.git("checkout", "-q", "main")
    return commit


def comment(repo: Repo, id: str, text: str) -> None:
    log = EventLog(GitStore(repo.path), durable=False)
    log.append(id, [Commented(text)], ANA, tool="test", client="test")


def comments(repo: Repo) -> dict[str, list[str]]:
    """Return the comments of each proposal in a repository, all of which are open."""
    git = GitStore(repo.path)
    discussion = EventLog(git).read()
    return {
        found.id: sorted(
            event.body.text
            for event in discussion.events_of(found.id).events
            if isinstance(event.body, Commented)
        )
        for found in Proposals(git).list_all(discussion)
        if found.tip is not None
    }


def synced(repo: Repo, *, fetch: bool = True) -> SyncResult:
    return sync(Workspace.open(repo.path, durable=False), Access(), fetch=fetch)


def of(found: SyncResult, branch: str) -> SyncedBranch:
    (one,) = (one for one in found.other_branches if one.branch == branch)
    return one


@pytest.mark.process
def test_discussion_and_branches_are_synced_to_all_clones(everywhere: Site) -> None:
    made = everywhere
    branch = propose(made.here, IDS[0], {"a.md": "# A\n"})
    comment(made.here, IDS[0], "Here.")
    found = made.sync()
    assert {one.branch: (one.state, one.done) for one in found.other_branches} == {
        DISCUSSION: (SyncState.UP_TO_DATE, ("pushed",)),
        branch: (SyncState.UP_TO_DATE, ("pushed",)),
    }
    # A fresh clone by git shows the proposal with its comments, before and after it synchronizes.
    fresh = Repo(made.folder / "fresh")
    made.there.git("clone", "-q", str(made.there.path), str(fresh.path))
    assert comments(fresh) == {IDS[0]: ["Here."]}
    assert synced(fresh).state is SyncState.UP_TO_DATE
    assert comments(fresh) == {IDS[0]: ["Here."]}
    assert made.there.fsck() == ""


def test_discussions_of_two_clones_are_merged(folder_site: Site, other: Repo) -> None:
    propose(folder_site.here, IDS[0], {"a.md": "# A\n"})
    folder_site.sync()
    synced(other)
    comment(folder_site.here, IDS[0], "Here.")
    comment(other, IDS[0], "There.")
    propose(other, IDS[1], {"b.md": "# B\n"})
    synced(other)
    assert of(folder_site.sync(), DISCUSSION).done == ("merged", "pushed")
    synced(other)
    assert comments(folder_site.here) == comments(other) == {IDS[0]: ["Here.", "There."], IDS[1]: []}
    assert folder_site.here.git("rev-parse", DISCUSSION) == other.git("rev-parse", DISCUSSION)


def test_file_in_place_of_events_is_replaced(folder_site: Site, other: Repo) -> None:
    other.git("checkout", "-q", "--orphan", "planted")
    other.git("rm", "-rqf", ".")
    other.commit({IDS[0]: "no folder\n"})
    other.git("push", "-q", "origin", f"planted:{DISCUSSION}")
    other.git("checkout", "-q", "-f", "main")
    folder_site.sync()  # is fast-forwarded
    other.git("update-ref", "-d", f"refs/remotes/origin/{DISCUSSION}")
    folder_site.there.git("update-ref", "-d", f"refs/heads/{DISCUSSION}")
    propose(other, IDS[0], {"a.md": "# A\n"})
    comment(other, IDS[0], "Whole.")
    synced(other)
    comment(folder_site.here, IDS[1], "Mine.")
    folder_site.sync()
    folder_site.sync(fetch=False)
    synced(other)
    for repo in (folder_site.here, other):
        assert comments(repo) == {IDS[0]: ["Whole."]}
        folders = repo.git("ls-tree", DISCUSSION).splitlines()
        assert [line.split()[1] for line in folders] == ["tree", "tree"]


def test_proposal_edited_in_both_clones_is_synced(folder_site: Site, other: Repo) -> None:
    branch = propose(folder_site.here, IDS[0], {"a.md": "# A\n\n## One\n\n1\n\n## Two\n\n2\n"})
    folder_site.sync()
    synced(other)
    other.git("branch", branch, f"origin/{branch}")
    edit(other, branch, {"b.md": "# B\n"})
    synced(other)
    assert of(folder_site.sync(), branch).done == ("followed",)
    edit(other, branch, {"c.md": "# C\n"})
    synced(other)
    edit(folder_site.here, branch, {"d.md": "# D\n"})
    assert of(folder_site.sync(), branch).done == ("merged", "pushed")
    listed = folder_site.there.git("ls-tree", "--name-only", branch).split()
    assert {"a.md", "b.md", "c.md", "d.md"} <= set(listed)


def test_proposal_in_conflict_does_not_block_other_branches(folder_site: Site, other: Repo) -> None:
    branch = propose(folder_site.here, IDS[0], {"a.md": "# A\n\nText.\n"})
    folder_site.sync()
    synced(other)
    other.git("branch", branch, f"origin/{branch}")
    edit(other, branch, {"a.md": "# A\n\nTheirs.\n"})
    synced(other)
    ours = edit(folder_site.here, branch, {"a.md": "# A\n\nOurs.\n"})
    folder_site.here.commit({"free.md": "# Free\n"})
    found = folder_site.sync()
    left = of(found, branch)
    assert (left.state, left.commit, left.conflicts) == (SyncState.DIVERGED, ours, ("a.md",))
    assert left.needs_decision
    assert (found.state, found.pushed) == (SyncState.UP_TO_DATE, 1)


def test_deleted_and_rewritten_branches_need_decision_until_merged(folder_site: Site, other: Repo) -> None:
    branch = propose(folder_site.here, IDS[0], {"a.md": "# A\n"})
    folder_site.sync()
    first = folder_site.here.git("rev-parse", branch).strip()
    # Rewritten in the remote: nothing is fast-forwarded and nothing restored.
    main = folder_site.there.git("rev-parse", "main").strip()
    folder_site.there.git("update-ref", f"refs/heads/{branch}", main)
    for _ in range(2):
        found = of(folder_site.sync(), branch)
        assert (found.state, found.commit, found.is_on_remote) == (SyncState.FORCE_PUSHED, first, True)
    # Deleted in the remote: our branch stays, and is not pushed again.
    folder_site.there.git("update-ref", "-d", f"refs/heads/{branch}")
    found = of(folder_site.sync(), branch)
    assert (found.state, found.is_on_remote, found.needs_decision) == (SyncState.FORCE_PUSHED, False, True)
    assert branch not in folder_site.there.git("branch", "--list", "proposals/*")
    # Merged, so that no commit is lost.
    folder_site.here.git("merge", "-q", "--no-edit", branch)
    assert not of(folder_site.sync(), branch).needs_decision


def test_locally_deleted_branch_stays_in_remote(folder_site: Site) -> None:
    branch = propose(folder_site.here, IDS[0], {"a.md": "# A\n"})
    folder_site.sync()
    folder_site.here.git("branch", "-q", "-D", branch)
    found = of(folder_site.sync(), branch)
    assert (found.commit, found.is_on_remote, found.needs_decision) == (None, True, False)
    assert branch in folder_site.there.git("branch", "--list", "proposals/*")


def test_events_removed_in_remote_are_preserved_locally(folder_site: Site) -> None:
    propose(folder_site.here, IDS[0], {"a.md": "# A\n"})
    folder_site.sync()
    comment(folder_site.here, IDS[0], "Secret.")
    folder_site.sync()
    folder_site.there.git("update-ref", f"refs/heads/{DISCUSSION}", f"{DISCUSSION}^")
    found = of(folder_site.sync(), DISCUSSION)
    assert (found.state, found.needs_decision) == (SyncState.FORCE_PUSHED, True)
    assert comments(folder_site.here) == {IDS[0]: ["Secret."]}


@pytest.mark.process
def test_rejected_branch_does_not_block_other_branches(tmp_path: Path, home: Path) -> None:
    with site("git", tmp_path, home) as made:
        hook = made.there.path / "hooks" / "update"
        hook.write_text('#!/bin/sh\ncase "$1" in refs/heads/proposals/*) echo no; exit 1;; esac\n')
        hook.chmod(0o755)
        branch = propose(made.here, IDS[0], {"a.md": "# A\n"})
        made.here.commit({"b.md": "# B\n"})
        found = made.sync()
        assert (found.state, found.pushed) == (SyncState.UP_TO_DATE, 1)
        error = of(found, branch).error
        assert error is not None
        assert error.code == "PUSH_REJECTED"
        assert of(found, DISCUSSION).done == ("pushed",)


def test_branches_without_valid_proposal_id_are_not_synced(folder_site: Site) -> None:
    names = (f"proposals/{IDS[0]}/deep", "proposals/notanid", "proposals/00000000-hex", "docyard/other")
    for name in names:
        folder_site.there.git("update-ref", f"refs/heads/{name}", "main")
        folder_site.here.git("update-ref", f"refs/heads/mine-{name}", "main")
    found = folder_site.sync()
    assert [one.branch for one in found.other_branches] == []
    assert "proposals" not in folder_site.here.git("for-each-ref", "--format=%(refname)", "refs/remotes")


@pytest.fixture
def many(folder_site: Site) -> Site:
    """Return a site whose remote has two hundred proposals."""
    store = GitStore(folder_site.there.path)
    main = folder_site.there.git("rev-parse", "main").strip()
    tree = store.commit(main).tree
    lines = []
    for number in range(200):
        signature = Signature("A", "a@example.org", 1_700_000_000 + number)
        commit = store.put_commit(tree, [main], signature, signature, f"{number}")
        lines.append(f"{commit} refs/heads/proposals/k{number:07}\n")
    packed = folder_site.there.path / "packed-refs"
    before = packed.read_text() if packed.exists() else ""
    packed.write_text(before + "".join(lines))
    return folder_site


def test_many_branches_are_synced_in_one_exchange(many: Site) -> None:
    found = many.sync()
    assert len(found.other_branches) == 200
    assert {one.state for one in found.other_branches} == {SyncState.BEHIND}
    assert len(many.here.git("for-each-ref", "refs/remotes/origin/proposals").splitlines()) == 200
