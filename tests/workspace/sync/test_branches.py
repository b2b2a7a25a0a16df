"""The discussion and the proposal branches are synced with the served branch, in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from tests.workspace.sync.conftest import SyncPair, open_sync_pair
from workspace.git.objects import Signature
from workspace.git.remotes.credentials import Access
from workspace.git.store import GitStore
from workspace.proposals.actions.repository import build_branch_name
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, Commented, IdentitySource, Opened
from workspace.proposals.proposal import Proposals
from workspace.sync.branches import DISCUSSION_BRANCH, SyncedBranch, SyncState
from workspace.sync.sync import SyncResult, sync
from workspace.workspace import Workspace

MANY_PROPOSALS = 200
ANA = Author("Ana", "ana@example.org", IdentitySource.GIT)
PROPOSAL_IDS = ("k3v7m2qa", "t9w4x8zb")


@pytest.fixture
def other_repo(file_sync_pair: SyncPair, tmp_path: Path) -> Repo:
    """Return another clone of the remote that also synchronizes."""
    file_sync_pair.remote_repo.git(
        "clone", "-q", str(file_sync_pair.remote_repo.path), str(tmp_path / "second")
    )
    repo = Repo(tmp_path / "second")
    repo.git("config", "user.name", repositories.NAME)
    repo.git("config", "user.email", repositories.EMAIL)
    return repo


def open_proposal(repo: Repo, id: str, files: dict[str, str]) -> str:
    """Open a proposal with one commit, and return its branch."""
    branch = build_branch_name(id, "Change it")
    base = repo.git("rev-parse", "main").strip()
    commit_on_branch(repo, branch, files, start=base)
    log = EventLog(GitStore(repo.path), durable=False)
    log.append(id, [Opened("Change it", "Why.", "main", branch, base)], ANA, tool="test", client="test")
    return branch


def commit_on_branch(repo: Repo, branch: str, files: dict[str, str], start: str | None = None) -> str:
    """Commit on a branch, and switch back to main."""
    repo.git("checkout", "-q", *(["-b", branch, start] if start else [branch]))
    commit = repo.commit(files)
    repo.git("checkout", "-q", "main")
    return commit


def add_comment(repo: Repo, id: str, text: str) -> None:
    log = EventLog(GitStore(repo.path), durable=False)
    log.append(id, [Commented(text)], ANA, tool="test", client="test")


def read_comments(repo: Repo) -> dict[str, list[str]]:
    """Return the texts of the comments of each proposal that has a branch in a repository."""
    git = GitStore(repo.path)
    discussion = EventLog(git).read()
    return {
        proposal.id: sorted(
            event.body.text
            for event in discussion.events_of(proposal.id).events
            if isinstance(event.body, Commented)
        )
        for proposal in Proposals(git).list_all(discussion)
        if proposal.tip is not None
    }


def sync_repo(repo: Repo, *, fetch: bool = True) -> SyncResult:
    return sync(Workspace.open(repo.path, durable=False), Access(), fetch=fetch)


def find_branch(result: SyncResult, branch: str) -> SyncedBranch:
    (synced_branch,) = (
        synced_branch for synced_branch in result.other_branches if synced_branch.branch == branch
    )
    return synced_branch


@pytest.mark.process
def test_discussion_and_branches_are_synced_to_all_clones(sync_pair_per_transport: SyncPair) -> None:
    sync_pair = sync_pair_per_transport
    branch = open_proposal(sync_pair.local_repo, PROPOSAL_IDS[0], {"a.md": "# A\n"})
    add_comment(sync_pair.local_repo, PROPOSAL_IDS[0], "Here.")
    result = sync_pair.sync()
    assert {
        synced_branch.branch: (synced_branch.state, synced_branch.actions)
        for synced_branch in result.other_branches
    } == {
        DISCUSSION_BRANCH: (SyncState.UP_TO_DATE, ("pushed",)),
        branch: (SyncState.UP_TO_DATE, ("pushed",)),
    }
    # A new clone by git has the proposal with its comments, before and after its synchronization.
    new_clone = Repo(sync_pair.folder / "fresh")
    sync_pair.remote_repo.git("clone", "-q", str(sync_pair.remote_repo.path), str(new_clone.path))
    assert read_comments(new_clone) == {PROPOSAL_IDS[0]: ["Here."]}
    assert sync_repo(new_clone).state is SyncState.UP_TO_DATE
    assert read_comments(new_clone) == {PROPOSAL_IDS[0]: ["Here."]}
    assert sync_pair.remote_repo.fsck() == ""


def test_discussions_of_two_clones_are_merged(file_sync_pair: SyncPair, other_repo: Repo) -> None:
    open_proposal(file_sync_pair.local_repo, PROPOSAL_IDS[0], {"a.md": "# A\n"})
    file_sync_pair.sync()
    sync_repo(other_repo)
    add_comment(file_sync_pair.local_repo, PROPOSAL_IDS[0], "Here.")
    add_comment(other_repo, PROPOSAL_IDS[0], "There.")
    open_proposal(other_repo, PROPOSAL_IDS[1], {"b.md": "# B\n"})
    sync_repo(other_repo)
    assert find_branch(file_sync_pair.sync(), DISCUSSION_BRANCH).actions == ("merged", "pushed")
    sync_repo(other_repo)
    assert (
        read_comments(file_sync_pair.local_repo)
        == read_comments(other_repo)
        == {PROPOSAL_IDS[0]: ["Here.", "There."], PROPOSAL_IDS[1]: []}
    )
    assert file_sync_pair.local_repo.git("rev-parse", DISCUSSION_BRANCH) == other_repo.git(
        "rev-parse", DISCUSSION_BRANCH
    )


def test_file_in_place_of_events_is_replaced(file_sync_pair: SyncPair, other_repo: Repo) -> None:
    other_repo.git("checkout", "-q", "--orphan", "forged")
    other_repo.git("rm", "-rqf", ".")
    other_repo.commit({PROPOSAL_IDS[0]: "no folder\n"})
    other_repo.git("push", "-q", "origin", f"forged:{DISCUSSION_BRANCH}")
    other_repo.git("checkout", "-q", "-f", "main")
    file_sync_pair.sync()  # the discussion is fast-forwarded
    other_repo.git("update-ref", "-d", f"refs/remotes/origin/{DISCUSSION_BRANCH}")
    file_sync_pair.remote_repo.git("update-ref", "-d", f"refs/heads/{DISCUSSION_BRANCH}")
    open_proposal(other_repo, PROPOSAL_IDS[0], {"a.md": "# A\n"})
    add_comment(other_repo, PROPOSAL_IDS[0], "Whole.")
    sync_repo(other_repo)
    add_comment(file_sync_pair.local_repo, PROPOSAL_IDS[1], "Mine.")
    file_sync_pair.sync()
    file_sync_pair.sync(fetch=False)
    sync_repo(other_repo)
    for repo in (file_sync_pair.local_repo, other_repo):
        assert read_comments(repo) == {PROPOSAL_IDS[0]: ["Whole."]}
        folders = repo.git("ls-tree", DISCUSSION_BRANCH).splitlines()
        assert [line.split()[1] for line in folders] == ["tree", "tree"]


def test_proposal_edited_in_both_clones_is_synced(file_sync_pair: SyncPair, other_repo: Repo) -> None:
    branch = open_proposal(
        file_sync_pair.local_repo, PROPOSAL_IDS[0], {"a.md": "# A\n\n## One\n\n1\n\n## Two\n\n2\n"}
    )
    file_sync_pair.sync()
    sync_repo(other_repo)
    other_repo.git("branch", branch, f"origin/{branch}")
    commit_on_branch(other_repo, branch, {"b.md": "# B\n"})
    sync_repo(other_repo)
    assert find_branch(file_sync_pair.sync(), branch).actions == ("followed",)
    commit_on_branch(other_repo, branch, {"c.md": "# C\n"})
    sync_repo(other_repo)
    commit_on_branch(file_sync_pair.local_repo, branch, {"d.md": "# D\n"})
    assert find_branch(file_sync_pair.sync(), branch).actions == ("merged", "pushed")
    paths = file_sync_pair.remote_repo.git("ls-tree", "--name-only", branch).split()
    assert {"a.md", "b.md", "c.md", "d.md"} <= set(paths)


def test_proposal_in_conflict_does_not_block_other_branches(
    file_sync_pair: SyncPair, other_repo: Repo
) -> None:
    branch = open_proposal(file_sync_pair.local_repo, PROPOSAL_IDS[0], {"a.md": "# A\n\nText.\n"})
    file_sync_pair.sync()
    sync_repo(other_repo)
    other_repo.git("branch", branch, f"origin/{branch}")
    commit_on_branch(other_repo, branch, {"a.md": "# A\n\nTheirs.\n"})
    sync_repo(other_repo)
    our_commit = commit_on_branch(file_sync_pair.local_repo, branch, {"a.md": "# A\n\nOurs.\n"})
    file_sync_pair.local_repo.commit({"free.md": "# Free\n"})
    result = file_sync_pair.sync()
    proposal_result = find_branch(result, branch)
    assert (proposal_result.state, proposal_result.commit, proposal_result.conflicts) == (
        SyncState.DIVERGED,
        our_commit,
        ("a.md",),
    )
    assert proposal_result.needs_resolution
    assert (result.state, result.pushed_count) == (SyncState.UP_TO_DATE, 1)


def test_deleted_and_rewritten_branches_need_decision_until_merged(
    file_sync_pair: SyncPair, other_repo: Repo
) -> None:
    branch = open_proposal(file_sync_pair.local_repo, PROPOSAL_IDS[0], {"a.md": "# A\n"})
    file_sync_pair.sync()
    first_commit = file_sync_pair.local_repo.git("rev-parse", branch).strip()
    # The branch is rewritten in the remote: nothing is fast-forwarded and nothing is restored.
    main_commit = file_sync_pair.remote_repo.git("rev-parse", "main").strip()
    file_sync_pair.remote_repo.git("update-ref", f"refs/heads/{branch}", main_commit)
    for _ in range(2):
        synced_branch = find_branch(file_sync_pair.sync(), branch)
        assert (synced_branch.state, synced_branch.commit, synced_branch.is_on_remote) == (
            SyncState.FORCE_PUSHED,
            first_commit,
            True,
        )
    # The branch is deleted in the remote: our branch stays, and is not pushed again.
    file_sync_pair.remote_repo.git("update-ref", "-d", f"refs/heads/{branch}")
    synced_branch = find_branch(file_sync_pair.sync(), branch)
    assert (synced_branch.state, synced_branch.is_on_remote, synced_branch.needs_resolution) == (
        SyncState.FORCE_PUSHED,
        False,
        True,
    )
    assert branch not in file_sync_pair.remote_repo.git("branch", "--list", "proposals/*")
    # After a merge into main, no commit can be lost.
    file_sync_pair.local_repo.git("merge", "-q", "--no-edit", branch)
    assert not find_branch(file_sync_pair.sync(), branch).needs_resolution


def test_locally_deleted_branch_stays_in_remote(file_sync_pair: SyncPair) -> None:
    branch = open_proposal(file_sync_pair.local_repo, PROPOSAL_IDS[0], {"a.md": "# A\n"})
    file_sync_pair.sync()
    file_sync_pair.local_repo.git("branch", "-q", "-D", branch)
    synced_branch = find_branch(file_sync_pair.sync(), branch)
    assert (synced_branch.commit, synced_branch.is_on_remote, synced_branch.needs_resolution) == (
        None,
        True,
        False,
    )
    assert branch in file_sync_pair.remote_repo.git("branch", "--list", "proposals/*")


def test_events_removed_in_remote_are_preserved_locally(file_sync_pair: SyncPair) -> None:
    open_proposal(file_sync_pair.local_repo, PROPOSAL_IDS[0], {"a.md": "# A\n"})
    file_sync_pair.sync()
    add_comment(file_sync_pair.local_repo, PROPOSAL_IDS[0], "Secret.")
    file_sync_pair.sync()
    file_sync_pair.remote_repo.git("update-ref", f"refs/heads/{DISCUSSION_BRANCH}", f"{DISCUSSION_BRANCH}^")
    synced_branch = find_branch(file_sync_pair.sync(), DISCUSSION_BRANCH)
    assert (synced_branch.state, synced_branch.needs_resolution) == (SyncState.FORCE_PUSHED, True)
    assert read_comments(file_sync_pair.local_repo) == {PROPOSAL_IDS[0]: ["Secret."]}


@pytest.mark.process
def test_rejected_branch_does_not_block_other_branches(tmp_path: Path, home: Path) -> None:
    with open_sync_pair("git", tmp_path, home) as sync_pair:
        hook = sync_pair.remote_repo.path / "hooks" / "update"
        hook.write_text('#!/bin/sh\ncase "$1" in refs/heads/proposals/*) echo no; exit 1;; esac\n')
        hook.chmod(0o755)
        branch = open_proposal(sync_pair.local_repo, PROPOSAL_IDS[0], {"a.md": "# A\n"})
        sync_pair.local_repo.commit({"b.md": "# B\n"})
        result = sync_pair.sync()
        assert (result.state, result.pushed_count) == (SyncState.UP_TO_DATE, 1)
        error = find_branch(result, branch).error
        assert error is not None
        assert error.code == "PUSH_REJECTED"
        assert find_branch(result, DISCUSSION_BRANCH).actions == ("pushed",)


def test_branches_without_valid_proposal_id_are_not_synced(file_sync_pair: SyncPair) -> None:
    names = (
        f"proposals/{PROPOSAL_IDS[0]}/deep",
        "proposals/notanid",
        "proposals/00000000-hex",
        "docyard/other",
    )
    for name in names:
        file_sync_pair.remote_repo.git("update-ref", f"refs/heads/{name}", "main")
        file_sync_pair.local_repo.git("update-ref", f"refs/heads/mine-{name}", "main")
    result = file_sync_pair.sync()
    assert [synced_branch.branch for synced_branch in result.other_branches] == []
    assert "proposals" not in file_sync_pair.local_repo.git(
        "for-each-ref", "--format=%(refname)", "refs/remotes"
    )


@pytest.fixture
def sync_pair_with_many_proposals(file_sync_pair: SyncPair) -> SyncPair:
    """Return a sync pair whose remote has `MANY_PROPOSALS` proposals."""
    store = GitStore(file_sync_pair.remote_repo.path)
    main_commit = file_sync_pair.remote_repo.git("rev-parse", "main").strip()
    tree = store.commit(main_commit).tree
    lines = []
    for number in range(MANY_PROPOSALS):
        signature = Signature("A", "a@example.org", 1_700_000_000 + number)
        commit = store.put_commit(tree, [main_commit], signature, signature, f"{number}")
        lines.append(f"{commit} refs/heads/proposals/k{number:07}\n")
    packed_refs = file_sync_pair.remote_repo.path / "packed-refs"
    old_refs = packed_refs.read_text() if packed_refs.exists() else ""
    packed_refs.write_text(old_refs + "".join(lines))
    return file_sync_pair


def test_many_branches_are_synced_in_one_exchange(sync_pair_with_many_proposals: SyncPair) -> None:
    result = sync_pair_with_many_proposals.sync()
    assert len(result.other_branches) == MANY_PROPOSALS
    assert {synced_branch.state for synced_branch in result.other_branches} == {SyncState.BEHIND}
    local_repo = sync_pair_with_many_proposals.local_repo
    tracking_refs = local_repo.git("for-each-ref", "refs/remotes/origin/proposals").splitlines()
    assert len(tracking_refs) == MANY_PROPOSALS
