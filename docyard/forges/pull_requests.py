"""A proposal becomes a pull request: its branch is pushed, and one pull request of it is opened or updated.

Which one it is, is stored nowhere: the forge knows it by its branch. That one was opened is said in the
discussion, where people find its link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.forges import relay
from docyard.forges.describing import described, title_of
from docyard.forges.errors import ForgeConflict, ForgeRefused, ForgeUnclear, ForgeUnreachable
from docyard.forges.port import NewPullRequest, PullRequest
from workspace.errors import WorkspaceError
from workspace.proposals.events import one_line, plain
from workspace.sync.push import send

if TYPE_CHECKING:
    from docyard.forges.port import Forge
    from workspace.git.remotes.credentials import Access
    from workspace.proposals import Proposal
    from workspace.workspace import Workspace


_ROUNDS = 3


class OpenedPullRequest(NamedTuple):
    """A proposal's pull request; `is_new` if it was just opened, `unsent` is why the words did not travel."""

    pull_request: PullRequest
    is_new: bool
    unsent: WorkspaceError | None


def open_pull_request(
    workspace: Workspace, proposal: Proposal, forge: Forge, access: Access
) -> OpenedPullRequest:
    """Push a proposal's branch and its words, then open its pull request, or bring the one it has up to date.

    Done twice, or by two at once, it comes to one pull request, which says what the proposal says last.
    Raises what `send` raises, and ForgeError.
    """
    unsent = send(workspace, access, proposal.words.branch)
    new = _new(workspace, proposal)
    found = forge.find(new.head_branch, new.target)
    if found is not None and found.state == "merged" and found.head_sha == proposal.tip:
        return OpenedPullRequest(found, False, unsent)
    done = _done(forge, found, new)
    if not done.pull_request.is_of(new.head_branch, new.target):
        raise ForgeUnclear(relay.title_of(forge.name), "it is of another pull request")
    done = done._replace(pull_request=_up_to_date(workspace, proposal, forge, done.pull_request, new))
    return done._replace(unsent=_said(workspace, proposal, forge, done._replace(unsent=unsent), access))


def _new(workspace: Workspace, proposal: Proposal) -> NewPullRequest:
    return NewPullRequest(
        title_of(proposal),
        described(proposal, workspace.reviewing().changes(proposal)),
        proposal.words.branch,
        proposal.words.target,
    )


def _up_to_date(
    workspace: Workspace, proposal: Proposal, forge: Forge, found: PullRequest, said: NewPullRequest
) -> PullRequest:
    """The pull request, in which another may have said newer words than were said in it now.

    Whoever is the last to write looks again after that, so the last words stay.
    """
    for _ in range(_ROUNDS):
        new = _new(workspace, workspace.proposing().one(proposal.id))
        if new == said:
            break
        found, said = _brought_up_to_date(forge, found, new), new
    return found


def _done(forge: Forge, found: PullRequest | None, new: NewPullRequest) -> OpenedPullRequest:
    if found is not None and found.state == "open":
        return OpenedPullRequest(_brought_up_to_date(forge, found, new), False, None)
    if found is not None and found.state == "closed":
        try:
            return OpenedPullRequest(_reopened(forge, found, new), False, None)
        except (ForgeConflict, ForgeRefused):
            pass  # as where its branch was gone for a while: another one is opened
    return _opened(forge, new)


def _said(
    workspace: Workspace, proposal: Proposal, forge: Forge, done: OpenedPullRequest, access: Access
) -> WorkspaceError | None:
    """Say where the pull request is, once, and send that; why it did not travel.

    Also where it was opened before: whoever opened it may have been stopped before it was said.
    """
    found = done.pull_request
    if not found.url:
        return done.unsent
    try:
        new = workspace.proposing().relay(proposal.id, [relay.opened(forge.name, found, proposal)])
        return send(workspace, access, proposal.words.branch) if new else done.unsent
    except WorkspaceError as error:
        return error


def _opened(forge: Forge, new: NewPullRequest) -> OpenedPullRequest:
    try:
        return OpenedPullRequest(forge.open(new), True, None)
    except (ForgeConflict, ForgeRefused, ForgeUnreachable):
        # Another was first, for which each forge has a status of its own, or it was done and the answer was
        # lost: the forge is asked what it has.
        found = forge.find(new.head_branch, new.target)
        if found is None or found.state != "open":
            raise
        return OpenedPullRequest(_brought_up_to_date(forge, found, new), False, None)


def _reopened(forge: Forge, found: PullRequest, new: NewPullRequest) -> PullRequest:
    forge.update(found.number, state="open")
    return _brought_up_to_date(forge, forge.get(found.number), new)


def _brought_up_to_date(forge: Forge, found: PullRequest, new: NewPullRequest) -> PullRequest:
    title = None if found.title == one_line(new.title) else new.title
    body = None if found.body == plain(new.body) else new.body
    if title is None and body is None:
        return found
    return forge.update(found.number, title=title, body=body)
