"""A proposal's branch: made where it begins, found where only a remote has it, refused where it ended."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from workspace.branch import not_found
from workspace.errors import WorkspaceError
from workspace.git import writable
from workspace.proposal_ids import BRANCHES, branch_name, id_of_branch
from workspace.proposals.discussion import BRANCH
from workspace.proposals.proposal import State
from workspace.publishing import Batch, BranchMoved, Publication, publish
from workspace.publishing.after_commit import preliminary_commits
from workspace.writing.write import DetachedHead, author_now, check_signing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.git import GitReader
    from workspace.proposals.actions.register import Register
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace

log = logging.getLogger("docyard")

_FIXES = {
    State.MERGED: "What it proposed is in its target: open another proposal for what comes next.",
    State.CLOSED: "Reopen it first.",
    State.GONE: "Make its branch again from a commit that it had with git branch, or close the proposal.",
}
_ENDS = {
    State.MERGED: "was merged already",
    State.CLOSED: "was closed",
    State.GONE: "has no branch any more: it was deleted",
}


class ProposalEnded(WorkspaceError):
    """A proposal takes nothing any more: it was merged or closed, or its branch is gone, as `state` says."""

    code: ClassVar[str] = "PROPOSAL_ENDED"

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(
            f"the proposal '{proposal.id}' {_ENDS[proposal.state]}",
            fix=_FIXES[proposal.state],
            proposal=proposal.id,
            state=proposal.state.value,
        )


class InvalidTarget(WorkspaceError):
    """Nothing can be proposed to this branch."""

    code: ClassVar[str] = "INVALID_TARGET"


def check_alive(proposal: Proposal) -> None:
    """Raises ProposalEnded unless a proposal can still be changed."""
    if not proposal.is_open:
        raise ProposalEnded(proposal)


def target_of(workspace: Workspace) -> tuple[str, str]:
    """The served branch, to which is proposed, and its commit. Raises DetachedHead, InvalidTarget."""
    workspace.tip()  # says so if the repository is gone
    branch = workspace.branch
    if branch is None:
        raise DetachedHead(
            "HEAD is detached, so there is no branch to propose to",
            fix="Check out a branch with git switch NAME, or give the command --branch NAME.",
        )
    return branch, target_tip(workspace, branch)


def target_tip(workspace: Workspace, branch: str) -> str:
    """The commit of a branch to which is proposed. Raises InvalidTarget, BranchNotFound."""
    shown = branch if workspace.git.is_branch_name(branch) else "this branch"
    if shown != branch or branch == BRANCH or branch.startswith(BRANCHES):
        raise InvalidTarget(
            f"nothing can be proposed to {shown}: it is no branch of documents that stands for itself",
            fix="Serve the branch that the proposal is to be merged into, such as with --branch main.",
        )
    tip = workspace.git.tip(branch)
    if tip is None and branch != workspace.branch:
        raise not_found(workspace.git, branch)
    if tip is None:
        raise InvalidTarget(
            f"the branch '{branch}' has no commit yet, so there is nothing to propose a change to",
            fix="Make the first commit without a proposal.",
        )
    return tip


def begun(git: GitReader, id: str, title: str) -> str:
    """The branch of a proposal that is opened: the one that a call left that did not come to its end."""
    found = (branch for branch in git.branches() if id_of_branch(branch) == id)
    return next(found, branch_name(id, title))


def make(workspace: Workspace, branch: str, commit: str) -> str:
    """Makes a branch at a commit, and returns its tip: where there is one already, it stays as it is.

    What follows on it are commits, so none is made where these must be signed. Raises SigningRequired,
    RefConflict, and what else `Publication` and its `publish` raise.
    """
    store = writable(workspace.git)
    tip = store.tip(branch)
    if tip is not None:
        return tip
    check_signing(workspace.snapshot())
    message = f"docyard: begin {branch}"
    batch = Batch(branch, None, {}, message, author_now(workspace), commit=commit)
    with workspace.turn, preliminary_commits():
        try:
            return publish(store, batch, durable=workspace.durable)
        except BranchMoved as moved:
            if moved.tip is None:
                raise
            return moved.tip


@contextmanager
def begin(register: Register, id: str, branch: str, commit: str) -> Iterator[None]:
    """Make the branch of a proposal for a block that opens it, and remove it again if the block fails.

    It stays where it was there before, where anything was committed to it, or where the proposal was opened,
    by another call with the same key too. Raises what `make` raises.
    """
    workspace = register.workspace
    is_new = workspace.git.tip(branch) is None
    made = make(workspace, branch, commit)
    try:
        yield
    except Exception:
        if is_new and made == commit:
            _remove(register, id, branch, commit)
        raise


def _remove(register: Register, id: str, branch: str, commit: str) -> None:
    workspace = register.workspace
    try:
        with (
            workspace.turn,
            Publication(writable(workspace.git), branch, durable=workspace.durable) as publication,
        ):
            publication.remove_branch(commit, lambda: id not in register.ids())
    except WorkspaceError as error:  # the same call with its key takes the branch that is left
        log.warning("the branch of a proposal that was not opened is left: %s", error.message)


def local_tip(workspace: Workspace, proposal: Proposal) -> str:
    """The commit of a proposal's branch, which is made where only a remote has it. Raises ProposalEnded."""
    if proposal.tip is None:
        raise ProposalEnded(proposal._replace(state=State.GONE))
    return make(workspace, proposal.words.branch, proposal.tip)
