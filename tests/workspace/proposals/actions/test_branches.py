"""Proposals stay consistent if their branches are changed with Git or by parallel actions."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import repositories
from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import (
    AGENT_ACTOR,
    GIT_ACTOR,
    RULE,
    ProposalSetup,
    make_append,
    write_text,
)
from workspace.branch import BranchNotFound
from workspace.git.store import GitStore, ReadOnly
from workspace.policy.protection import Protected
from workspace.proposal_ids import DISCUSSION_BRANCH, PROPOSAL_BRANCH_PREFIX
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.repository import ActionResult, InvalidTarget, ProposalEnded
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import InvalidEventText, Opened
from workspace.proposals.proposal import ProposalState
from workspace.publishing.locks import CannotWrite
from workspace.publishing.refs import BranchRef
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode
from workspace.writing.write import DetachedHead, SigningRequired

PROPOSAL_ID = "k7m2q9xa"


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", RULE)


def test_proposal_with_deleted_branch_is_ended(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    writer = setup.proposal_actions.open_branch(proposal.id)
    setup.proposal_actions.comment(proposal.id, GIT_ACTOR, "Why?", file="guide.md")
    setup.repo.git("branch", "-D", proposal.content.branch)
    deleted_proposal = setup.proposal_actions.find(proposal.id)
    assert (deleted_proposal.state, len(deleted_proposal.content.threads)) == (ProposalState.GONE, 1)
    for action in (
        setup.proposal_actions.merge,
        setup.proposal_actions.refresh,
        setup.proposal_actions.submit,
        setup.proposal_actions.reopen,
    ):
        with pytest.raises(ProposalEnded) as error_info:
            action(proposal.id, AGENT_ACTOR)
        assert error_info.value.details["state"] == "gone"
    with pytest.raises(BranchNotFound):
        write_text(writer, "Late.", "guide.md", "use")
    assert proposal.content.branch not in setup.workspace.git.branches()
    assert setup.proposal_actions.comment(proposal.id, GIT_ACTOR, "Where is it?").is_new
    assert setup.proposal_actions.close(proposal.id, AGENT_ACTOR).proposal.state is ProposalState.CLOSED
    setup.proposal_actions.open_branch(setup.open().id)
    setup.repo.git("branch", proposal.content.branch, str(proposal.tip))
    assert setup.proposal_actions.reopen(proposal.id, AGENT_ACTOR).proposal.state is ProposalState.OPEN


def test_amended_branch_with_comment_is_rewritten(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    setup.proposal_actions.comment(proposal.id, setup.person(), "Why?")
    setup.repo.git("checkout", "-q", proposal.content.branch)
    setup.repo.git("commit", "-q", "--amend", "-m", "Another message")
    setup.repo.git("checkout", "-q", "main")
    assert setup.proposal_actions.find(proposal.id).is_rewritten


def test_rebased_branch_voids_approval(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    setup.approve(proposal)
    setup.write("Meanwhile.")
    setup.repo.git("checkout", "-q", proposal.content.branch)
    setup.repo.git("rebase", "-q", "main")
    setup.repo.git("checkout", "-q", "main")
    rewritten_proposal = setup.proposal_actions.find(proposal.id)
    assert rewritten_proposal.is_rewritten
    assert rewritten_proposal.state is ProposalState.OPEN
    assert len(rewritten_proposal.reviews) == 1
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, setup.person())
    setup.approve(rewritten_proposal)
    assert setup.proposal_actions.merge(proposal.id, setup.person()).is_new


def test_checked_out_proposal_branch_is_writable(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    setup.repo.git("checkout", "-q", proposal.content.branch)
    setup.repo.write({"notes.md": "# Mine\n"})
    # The proposal's branch is now served, so the rules of its target do not apply to direct writes.
    assert setup.write("By hand.", "specs/api.md", "calls").is_committed
    setup.append(proposal.id, "By an agent.")
    assert "By an agent." in (setup.repo.path / "guide.md").read_text()
    assert setup.repo.status() == " M notes.md\n"
    with pytest.raises(InvalidTarget):
        setup.open()
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, setup.person())


def test_proposing_to_invalid_targets_is_refused(setup: ProposalSetup, tmp_path: Path) -> None:
    proposal = setup.open()
    setup.append(proposal.id, "Mine.")
    for branch in (proposal.content.branch, "docyard/discussion"):
        other_workspace = Workspace.open(setup.repo.path, branch=branch, durable=False)
        with pytest.raises(InvalidTarget):
            other_workspace.proposal_actions().open("Title", "", AGENT_ACTOR)
    reader = Workspace.open(setup.repo.path, read_only=True)
    assert reader.proposal_actions().find(proposal.id).id == proposal.id
    for action in (
        reader.proposal_actions().submit,
        reader.proposal_actions().merge,
        reader.proposal_actions().refresh,
    ):
        with pytest.raises(ReadOnly):
            action(proposal.id, AGENT_ACTOR)
    with pytest.raises(ReadOnly):
        reader.proposal_actions().open("Title", "", AGENT_ACTOR)
    setup.repo.git("checkout", "-q", "--detach")
    with pytest.raises(DetachedHead):
        setup.open()
    unborn_repo = repositories.create_empty_repository(tmp_path / "unborn")
    with pytest.raises(InvalidTarget):
        Workspace.open(unborn_repo.path).proposal_actions().open("Title", "", AGENT_ACTOR)
    assert len(setup.proposal_actions.list_all()) == 1


def test_required_signatures_refuse_all_actions(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    setup.repo.git("config", "commit.gpgsign", "true")
    old_commits = setup.log("--all", "--format=%H")
    branches = setup.repo.git("branch")
    actions: list[Callable[[], object]] = [
        setup.open,
        setup.propose,
        lambda: setup.proposal_actions.comment(proposal.id, AGENT_ACTOR, "Why?"),
        lambda: setup.proposal_actions.close(proposal.id, AGENT_ACTOR),
    ]
    for action in actions:
        with pytest.raises(SigningRequired):
            action()
    assert (setup.log("--all", "--format=%H"), setup.repo.git("branch")) == (old_commits, branches)


def test_proposal_to_unserved_branch_merges_into_it(setup: ProposalSetup) -> None:
    setup.repo.git("branch", "stable")
    stable = Workspace.open(setup.repo.path, branch="stable", durable=False)
    proposal = stable.proposal_actions().open("Fix it", "", AGENT_ACTOR)
    setup.append(proposal.id, "Fixed.")
    head_before = setup.repo.head()
    merge_result = setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
    assert (setup.repo.head(), stable.tip()) == (head_before, merge_result.commit)
    with pytest.raises(Protected):
        write_text(setup.workspace.for_branch("stable"), "Direct.", "specs/api.md", "calls")
    later_proposal = stable.proposal_actions().open("Fix more", "", AGENT_ACTOR)
    setup.append(later_proposal.id, "More.")
    setup.repo.git("branch", "-D", "stable")
    for action in (setup.proposal_actions.merge, setup.proposal_actions.refresh):
        with pytest.raises(BranchNotFound):
            action(later_proposal.id, AGENT_ACTOR)


@pytest.mark.parametrize(
    ("target", "error"),
    [("../../x", InvalidTarget), ("a..b", InvalidTarget), ("no-such", BranchNotFound)],
)
def test_manually_committed_invalid_target_is_refused(
    setup: ProposalSetup, target: str, error: type[Exception]
) -> None:
    base = setup.repo.head()
    branch = f"proposals/{PROPOSAL_ID}"
    setup.repo.git("branch", branch)
    log = EventLog(GitStore(setup.repo.path), durable=False)
    log.append(
        PROPOSAL_ID, [Opened("Title", "", target, branch, base)], GIT_ACTOR.event_author, tool="t", client="c"
    )
    setup.append(PROPOSAL_ID, "Planted.")
    assert setup.proposal_actions.find(PROPOSAL_ID).content.target == target
    for action in (setup.proposal_actions.merge, setup.proposal_actions.refresh):
        with pytest.raises(error):
            action(PROPOSAL_ID, AGENT_ACTOR)
    assert setup.repo.head() == base


@loop_over("target", ["docyard/discussion", f"proposals/{PROPOSAL_ID}", "main\0x", "a\nb", " main", ""])
def test_event_with_forbidden_target_is_refused(setup: ProposalSetup, target: str) -> None:
    log = EventLog(GitStore(setup.repo.path), durable=False)
    with pytest.raises(InvalidEventText):
        log.append(
            PROPOSAL_ID,
            [Opened("Title", "", target, f"proposals/{PROPOSAL_ID}", None)],
            GIT_ACTOR.event_author,
            tool="t",
            client="c",
        )


def test_fresh_clone_continues_proposal(setup: ProposalSetup, tmp_path: Path) -> None:
    proposal = setup.submit_proposal()
    setup.repo.git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    proposal_actions = Workspace.open(clone.path, durable=False).proposal_actions()
    assert proposal_actions.find(proposal.id).state is ProposalState.OPEN
    write_text(proposal_actions.open_branch(proposal.id), "From the clone.", "guide.md", "use")
    merge_result = proposal_actions.merge(proposal.id, AGENT_ACTOR)
    assert merge_result.proposal.state is ProposalState.MERGED
    assert "From the clone." in (clone.path / "guide.md").read_text()
    assert clone.fsck() == clone.status() == ""


def test_parallel_proposals_lose_no_merged_text(setup: ProposalSetup) -> None:
    numbers = range(8)
    errors: list[Exception] = []

    def propose_and_merge(number: int) -> None:
        try:
            proposal = setup.open(f"Proposal {number}")
            setup.append(proposal.id, f"Text {number}.", slug="install" if number % 2 else "use")
            setup.proposal_actions.comment(proposal.id, GIT_ACTOR, f"Comment {number}.")
            setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
        except Exception as error:
            errors.append(error)

    _run_in_threads([lambda number=number: propose_and_merge(number) for number in numbers])  # type: ignore[misc]
    # Additions at the same position have no order, so the merges may succeed or conflict.
    assert {type(error).__name__ for error in errors} <= {"MergeConflict"}
    proposals = setup.proposal_actions.list_all()
    assert sorted(proposal.content.title for proposal in proposals) == [
        f"Proposal {number}" for number in numbers
    ]
    assert all(len(proposal.content.threads) == 1 for proposal in proposals)
    merged_proposals = [proposal for proposal in proposals if proposal.state is ProposalState.MERGED]
    assert len(merged_proposals) == len(numbers) - len(errors)
    text = (setup.repo.path / "guide.md").read_text()
    assert all(f"Text {proposal.content.title[-1]}." in text for proposal in merged_proposals)
    setup.check_repository_intact()


_MERGE_SCRIPT = """
import sys
from pathlib import Path
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR
from workspace.workspace import Workspace
proposal_actions = Workspace.open(Path(sys.argv[1]), durable=False).proposal_actions()
print(flush=True)
sys.stdin.readline()
result = proposal_actions.merge(sys.argv[2], AGENT_ACTOR)
print(result.is_new, result.commit, result.proposal.state.value)
"""


@pytest.mark.process
def test_two_processes_merging_at_once_merge_once(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    command = [sys.executable, "-c", _MERGE_SCRIPT, str(setup.repo.path), proposal.id]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = sorted(process.communicate(timeout=60)[0].split() for process in processes)
    head = setup.repo.head()
    assert outputs == [["False", head, "merged"], ["True", head, "merged"]]
    assert len(setup.log("--merges", "--format=%H")) == 1
    setup.check_repository_intact()


def test_write_between_evaluation_and_merge_blocks_merge(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    setup.approve(proposal)
    other_workspace = Workspace.open(setup.repo.path, durable=False)
    pending_writes = iter([True])

    class WriterLock:
        """A writer lock before which another process writes."""

        def __enter__(self) -> None:
            for _ in pending_writes:
                write_text(
                    other_workspace.proposal_actions().open_branch(proposal.id),
                    "Unseen.",
                    "specs/api.md",
                    "calls",
                )

        def __exit__(self, *_: object) -> None:
            pass

    setup.workspace.writer_lock = WriterLock()  # type: ignore[assignment]
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, setup.person())
    assert "Unseen." not in (setup.repo.path / "specs/api.md").read_text()


def test_parallel_calls_with_one_key_open_one_proposal(setup: ProposalSetup) -> None:
    proposal_ids: list[str] = []
    thread_counts: list[int] = []

    def open_and_comment() -> None:
        workspace = Workspace.open(setup.repo.path, durable=False)
        proposal_actions = workspace.proposal_actions()
        proposal_id = proposal_actions.open("Title", "", AGENT_ACTOR, key="key").id
        result: ActionResult = proposal_actions.comment(proposal_id, AGENT_ACTOR, "Why?", key="why")
        proposal_ids.append(proposal_id)
        thread_counts.append(len(result.proposal.content.threads))

    _run_in_threads([open_and_comment] * 4)
    assert len(set(proposal_ids)) == 1
    assert thread_counts == [1] * 4
    assert len(setup.proposal_actions.list_all()) == 1


def test_batch_with_protected_path_becomes_one_proposal(setup: ProposalSetup) -> None:
    operations = [make_append("Free."), make_append("Protected.", "specs/api.md", "calls")]
    with pytest.raises(Protected):
        setup.workspace.write(operations, mode=BatchMode.EACH, tool="t", client="c")
    proposal = setup.proposal_actions.propose(operations, AGENT_ACTOR, mode=BatchMode.EACH).proposal
    assert proposal is not None
    assert proposal.content.title == "Edit 2 documents: 2 changes"
    assert "Free." not in (setup.repo.path / "guide.md").read_text()
    assert "Free." in setup.show("guide.md", proposal.content.branch)


def simulate_full_disk(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    """Make each commit to a branch with this prefix fail, except the creation of a proposal's branch."""
    original_move = BranchRef.move

    def move_or_fail(ref: BranchRef, name: str) -> None:
        has_branch = prefix == DISCUSSION_BRANCH or ref._git.tip(ref._branch) is not None
        if ref._branch.startswith(prefix) and has_branch:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original_move(ref, name)

    monkeypatch.setattr(BranchRef, "move", move_or_fail)


def list_proposal_refs(setup: ProposalSetup) -> str:
    names = setup.repo.git("for-each-ref", "--format=%(refname)", "refs/heads/proposals")
    logs = setup.repo.path / ".git/logs/refs/heads/proposals"
    return names + " ".join(path.name for path in logs.rglob("*"))


@pytest.mark.parametrize("request_key", [None, "key"])
def test_failed_event_removes_the_branch(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch, request_key: str | None
) -> None:
    with monkeypatch.context() as patch:
        simulate_full_disk(patch, DISCUSSION_BRANCH)
        with pytest.raises(CannotWrite, match="No space left"):
            setup.open(key=request_key)
    assert list_proposal_refs(setup) == ""
    assert not list((setup.repo.path / ".git/docyard/pending").iterdir())
    proposal = setup.open(key=request_key)
    assert proposal.state is ProposalState.DRAFT
    assert proposal.content.branch in list_proposal_refs(setup)
    setup.check_repository_intact()


def test_failed_event_preserves_branch_with_new_commits(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_event = EventLog.append

    def commit_then_fail(*_: object, **__: object) -> None:
        (branch,) = setup.repo.git("branch", "--list", "proposals/*", "--format=%(refname:short)").split()
        write_text(setup.workspace.for_branch(branch), "Elsewhere.", "guide.md", "use")
        raise CannotWrite(OSError(errno.ENOSPC, "full"))

    with monkeypatch.context() as patch:
        setup.workspace.writer_lock = threading.RLock()  # type: ignore[assignment]
        patch.setattr(EventLog, "append", commit_then_fail)
        with pytest.raises(CannotWrite):
            setup.open(key="key")
    assert append_event is EventLog.append
    assert list_proposal_refs(setup)


def test_failed_event_preserves_branch_opened_by_parallel_call(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_actions = Workspace.open(setup.repo.path, durable=False).proposal_actions()
    append_event = EventLog.append

    def open_then_fail(*_: object, **__: object) -> None:
        monkeypatch.setattr(EventLog, "append", append_event)
        other_actions.open("Say more", "Why.", AGENT_ACTOR, key="key")
        raise CannotWrite(OSError(errno.ENOSPC, "full"))

    monkeypatch.setattr(EventLog, "append", open_then_fail)
    with pytest.raises(CannotWrite):
        setup.open(key="key")
    assert setup.open(key="key").state is ProposalState.DRAFT


def test_branch_removed_before_its_event_opens_no_proposal(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_event = EventLog.append

    def remove_then_append(*arguments: Any, **options: Any) -> Any:
        (branch,) = setup.repo.git("branch", "--list", "proposals/*", "--format=%(refname:short)").split()
        setup.repo.git("branch", "-D", branch)
        return append_event(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(EventLog, "append", remove_then_append)
        with pytest.raises(BranchNotFound):
            setup.open(key="key")
    assert setup.proposal_actions.list_all() == ()
    assert setup.open(key="key").state is ProposalState.DRAFT


def test_failed_direct_write_removes_its_branch(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        simulate_full_disk(patch, PROPOSAL_BRANCH_PREFIX)
        with pytest.raises(CannotWrite, match="No space left"):
            setup.propose()
    assert list_proposal_refs(setup) == ""
    assert setup.propose().proposal is not None
    setup.check_repository_intact()


def test_failed_event_preserves_branch_of_direct_write(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        simulate_full_disk(patch, DISCUSSION_BRANCH)
        with pytest.raises(CannotWrite, match="No space left"):
            setup.propose()
    assert list_proposal_refs(setup)


def _run_in_threads(actions: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
