"""The repository of proposals: it reads them, appends events with idempotency keys, and creates branches."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from workspace.branch import make_branch_not_found_error
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph
from workspace.git.messages import DECIDED_BY_TRAILER
from workspace.git.store import require_writable
from workspace.policy.tokens import TokenOwners
from workspace.proposal_ids import DISCUSSION_BRANCH, PROPOSAL_BRANCH_PREFIX, parse_branch_id
from workspace.proposals.event_log import AppendResult, EventLog, check_same_event
from workspace.proposals.events import Author, IdentitySource
from workspace.proposals.proposal import Proposal, Proposals, ProposalState
from workspace.publishing.after_commit import ignore_preliminary_commits, note_commit, run_with_caveat
from workspace.publishing.batch import Batch
from workspace.publishing.publish import Publication, publish
from workspace.publishing.refs import BranchMoved
from workspace.writing.idempotency import KeyReused
from workspace.writing.write import DetachedHead, check_signing, make_author_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.merge.trees import Merge
    from workspace.policy.tokens import Keyring, Person
    from workspace.proposals.discussion import Discussion
    from workspace.proposals.events import Event, EventBody
    from workspace.proposals.review.review import TargetTips
    from workspace.writing.write import WriteResult


class ProposalRepository:
    """The proposals as they are now. Thread-safe."""

    def __init__(self, workspace: Branch) -> None:
        self.workspace = workspace
        self._event_log = EventLog(workspace.git, durable=workspace.durable)
        self._proposals = Proposals(workspace.git)
        self.graph = Graph(workspace.git)

    def list_all(self) -> tuple[Proposal, ...]:
        """Return every proposal, the last opened first."""
        return self._event_log.read_consistently(self._list_all)

    def find(self, name: str) -> Proposal:
        """Return the proposal of an id, a prefix of it, or its branch's name. Raises ProposalNotFound."""

        def find(discussion: Discussion) -> Proposal:
            proposal = self._proposals.find(discussion, name)
            return self._check_approved_state(proposal, discussion, self._create_keyring(), {})

        return self._event_log.read_consistently(find)

    def _list_all(self, discussion: Discussion) -> tuple[Proposal, ...]:
        tokens = self._create_keyring()
        tips: TargetTips = {}
        return tuple(
            self._check_approved_state(proposal, discussion, tokens, tips)
            for proposal in self._proposals.list_all(discussion)
        )

    def _create_keyring(self) -> TokenOwners:
        """Return the owners of tokens for one call; their file is read only if an approval is checked."""
        return TokenOwners(self.workspace.tokens.read_all)

    def _check_approved_state(
        self, proposal: Proposal, discussion: Discussion, tokens: Keyring, tips: TargetTips
    ) -> Proposal:
        """Return an approved proposal as open if a rule that governs it lacks approvals."""
        if proposal.state is not ProposalState.APPROVED:
            return proposal
        # Imported here because the first calls of a server do not need it.
        from workspace.proposals.review.review import get_proposal_review

        events = discussion.events_of(proposal.id).events
        if get_proposal_review(self.workspace).has_required_approvals(proposal, events, tokens, tips):
            return proposal
        return proposal._replace(state=ProposalState.OPEN)

    def list_ids(self) -> tuple[str, ...]:
        """Return the ids of proposals with events."""
        return tuple(self._event_log.read().proposals)

    def list_events(self, id: str) -> tuple[Event, ...]:
        """Return the events of a proposal, in order."""
        return self._event_log.read().events_of(id).events

    def list_events_by_id(self, ids: Iterable[str]) -> dict[str, tuple[Event, ...]]:
        """Return the events of several proposals, in order; unchanged events are the same objects."""
        discussion = self._event_log.read()
        return {id: discussion.events_of(id).events for id in ids}

    def append(
        self,
        id: str,
        bodies: Sequence[EventBody],
        actor: Actor,
        key: str | None = None,
        confirm: Callable[[Proposal], None] | None = None,
        check: Callable[[], None] | None = None,
        branch: str | None = None,
    ) -> AppendResult:
        """Append events to a proposal; to the comments on the documents of `branch` if it is given.

        `confirm` is called under the write lock, when no other process writes, and may raise an error to
        refuse the events. For a proposal that is not opened yet, `check` is called instead.
        Raises SigningRequired, and the errors of `EventLog.append`.
        """
        check_signing(self.workspace.snapshot())
        with self.workspace.writer_lock:
            append_result = self._event_log.append(
                id,
                bodies,
                actor.event_author,
                tool=actor.tool,
                client=actor.client,
                branch=branch,
                idempotency_key=key,
                confirm=(lambda: confirm(self.find(id))) if confirm is not None else check,
            )
        note_commit(append_result.commit, proposal=id if branch is None else None)
        return append_result

    def read_latest(self, proposal: Proposal) -> Proposal:
        """Return the current proposal, or `proposal` if it cannot be read again after a commit."""
        return run_with_caveat(
            partial(self.find, proposal.id), proposal, "the answer shows the proposal as it was"
        )

    def find_events_by_key(self, id: str, key: str | None) -> AppendResult | None:
        """Return the events of a proposal with a key, if there are any."""
        return self._event_log.find_events_by_key(id, key)

    def find_earlier_events(
        self, id: str, bodies: Sequence[EventBody], key: str | None
    ) -> AppendResult | None:
        """Return the events of an earlier call with the same key. Raises KeyReused for another call.

        Values that a call does not choose, such as the commit of a review, may differ.
        """
        earlier_result = self._event_log.find_events_by_key(id, key)
        if earlier_result is not None:
            check_same_event(earlier_result, bodies)
        return earlier_result


def make_key_reused_error(**details: Any) -> KeyReused:
    """Return the error for a key of another call.

    `details` are `proposal`, the proposal that the other call opened, or `used_in`, the commit that it made.
    """
    return KeyReused(
        "this idempotency_key was used for another call",
        fix="Use a new idempotency_key for each call; the same one is only for the same arguments.",
        **details,
    )


class Actor(NamedTuple):
    """The actor of a call: its name, tool and client, and the person that a token has proved.

    `may_review` is False if the scopes of the token do not permit reviews.
    """

    author: Author
    tool: str
    client: str
    person: Person | None = None
    may_review: bool = True

    @property
    def event_author(self) -> Author:
        """The author of an event: the person that a token has proved, or else `author`."""
        person = self.person
        if person is None:
            return self.author
        return Author(person.name, person.email, IdentitySource.TOKEN, person.token)

    @property
    def decision_trailers(self) -> dict[str, str]:
        """The trailers of a commit whose content a user decided whom only Git identifies.

        Without them the commit counts as its client's, and the user could approve it. They are empty for a
        client and for the owner of a token: other trailers name these.
        """
        if self.person is None and self.author.known_by is not IdentitySource.CLIENT:
            return {DECIDED_BY_TRAILER: self.author.known_by.value}
        return {}


class ActionResult(NamedTuple):
    """A proposal after an action.

    `commit` is the commit of the action, or None if there was nothing to do. A merge commits to the target, a
    refresh to the proposal's branch, and any other action to the branch of the discussion. `is_new` is False
    if an earlier call did the action. `merge` is the merge that a merge or refresh made. `event_ids` are the
    ids of the events that this call, or an earlier one with its key, appended.
    """

    proposal: Proposal
    commit: str | None
    is_new: bool
    merge: Merge | None = None
    event_ids: tuple[str, ...] = ()


class ProposedWrite(NamedTuple):
    """A write that became a proposal, and its result.

    `proposal` is None if nothing was written, as in a dry run. `was_added` is True if the write was added to
    a draft that an earlier write had opened.
    """

    proposal: Proposal | None
    result: WriteResult
    was_added: bool = False


_log = logging.getLogger("docyard")

_FIX_BY_STATE = {
    ProposalState.MERGED: "Its changes are in its target: open another proposal for further changes.",
    ProposalState.CLOSED: "Reopen it first.",
    ProposalState.GONE: (
        "Create its branch again with git branch at one of its commits, or close the proposal."
    ),
}

_END_DESCRIPTIONS = {
    ProposalState.MERGED: "was merged already",
    ProposalState.CLOSED: "was closed",
    ProposalState.GONE: "has no branch: it was deleted",
}


class ProposalEnded(WorkspaceError):
    """An error: a proposal was merged or closed, or its branch deleted (`state`), so it cannot be changed."""

    code: ClassVar[str] = "PROPOSAL_ENDED"

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(
            f"the proposal '{proposal.id}' {_END_DESCRIPTIONS[proposal.state]}",
            fix=_FIX_BY_STATE[proposal.state],
            proposal=proposal.id,
            state=proposal.state.value,
        )


class InvalidTarget(WorkspaceError):
    """An error: a branch cannot be the target of a proposal."""

    code: ClassVar[str] = "INVALID_TARGET"


def check_not_ended(proposal: Proposal) -> None:
    """Raise ProposalEnded unless a proposal can still be changed."""
    if not proposal.is_open:
        raise ProposalEnded(proposal)


def find_target(workspace: Branch) -> tuple[str, str]:
    """Return the served branch, the target of proposals, and its tip. Raises DetachedHead, InvalidTarget."""
    workspace.tip()  # raises an error if the repository is missing
    branch = workspace.branch
    if branch is None:
        raise DetachedHead(
            "HEAD is detached, so there is no branch to propose to",
            fix="Check out a branch with git switch NAME, or give the command --branch NAME.",
        )
    return branch, resolve_target_tip(workspace, branch)


def resolve_target_tip(workspace: Branch, branch: str) -> str:
    """Return the commit of a target branch. Raises InvalidTarget, BranchNotFound."""
    shown_name = branch if workspace.git.is_branch_name(branch) else "this branch"
    if shown_name != branch or branch == DISCUSSION_BRANCH or branch.startswith(PROPOSAL_BRANCH_PREFIX):
        raise InvalidTarget(
            f"{shown_name} cannot be the target of a proposal: it must be a branch of documents",
            fix="Serve the target branch, for example with --branch main.",
        )
    tip = workspace.git.tip(branch)
    if tip is None and branch != workspace.branch:
        raise make_branch_not_found_error(workspace.git, branch)
    if tip is None:
        raise InvalidTarget(
            f"the branch '{branch}' has no commit yet, so there is nothing to propose a change to",
            fix="Make the first commit without a proposal.",
        )
    return tip


def find_unfinished_branch(git: GitReader, id: str, title: str) -> str:
    """Return the branch of an unfinished call that opened this proposal, or else a new branch name."""
    branches = (branch for branch in git.branches() if parse_branch_id(branch) == id)
    return next(branches, build_branch_name(id, title))


def create_branch(workspace: Branch, branch: str, commit: str) -> str:
    """Create a branch at a commit, and return its tip; leave an existing branch unchanged.

    Raises SigningRequired if commits must be signed, RefConflict, and the other errors of `Publication`.
    """
    store = require_writable(workspace.git)
    tip = store.tip(branch)
    if tip is not None:
        return tip
    check_signing(workspace.snapshot())
    message = f"docyard: begin {branch}"
    batch = Batch(branch, None, {}, message, make_author_signature(workspace), existing_commit=commit)
    with workspace.writer_lock, ignore_preliminary_commits():
        try:
            return publish(store, batch, durable=workspace.durable)
        except BranchMoved as error:
            if error.tip is None:
                raise
            return error.tip


@contextmanager
def create_branch_with_rollback(
    repository: ProposalRepository, id: str, branch: str, commit: str
) -> Iterator[None]:
    """Create the branch of a proposal for a block that opens it, and remove it if the block fails.

    The branch is not removed if it existed before, has new commits, or if another call with the same key
    opened the proposal. Raises the errors of `create_branch`.
    """
    workspace = repository.workspace
    is_new = workspace.git.tip(branch) is None
    tip = create_branch(workspace, branch, commit)
    try:
        yield
    except Exception:
        if is_new and tip == commit:
            _remove_branch(repository, id, branch, commit)
        raise


def _remove_branch(repository: ProposalRepository, id: str, branch: str, commit: str) -> None:
    workspace = repository.workspace
    try:
        with (
            workspace.writer_lock,
            Publication(require_writable(workspace.git), branch, durable=workspace.durable) as publication,
        ):
            publication.remove_branch(commit, lambda: id not in repository.list_ids())
    except WorkspaceError as error:  # a retry with the same key uses the branch
        _log.warning("the branch of a proposal that was not opened was not removed: %s", error.message)


def ensure_local_branch(workspace: Branch, proposal: Proposal) -> str:
    """Return the commit of a proposal's branch; create the branch if only a remote has it.

    Raises ProposalEnded.
    """
    if proposal.tip is None:
        raise ProposalEnded(proposal._replace(state=ProposalState.GONE))
    return create_branch(workspace, proposal.content.branch, proposal.tip)


_MAX_SLUG_CHARACTERS = 40
_MAX_SLUGGED_CHARACTERS = 200  # only this prefix of a title is used for the slug


def build_branch_name(id: str, title: str) -> str:
    """Return a proposal's branch: `proposals/<id>-<slug>`, or `proposals/<id>` if the slug is empty."""
    # Imported here because the first calls of a server do not need it.
    from workspace.markdown.slugs import make_file_slug

    slug = make_file_slug(title[:_MAX_SLUGGED_CHARACTERS])[:_MAX_SLUG_CHARACTERS].rstrip("-")
    return f"{PROPOSAL_BRANCH_PREFIX}{id}-{slug}" if slug else f"{PROPOSAL_BRANCH_PREFIX}{id}"


class NothingProposed(WorkspaceError):
    """An error: a proposal has no commit of its own. `branch` is its branch."""

    code: ClassVar[str] = "NOTHING_PROPOSED"

    def __init__(self, proposal: Proposal, action: str) -> None:
        super().__init__(
            f"the proposal '{proposal.id}' has no commit of its own, so there is nothing to {action}",
            fix=f"Write to it with proposal '{proposal.id}', or close it.",
            proposal=proposal.id,
            branch=proposal.content.branch,
        )


def has_no_commits(workspace: Branch, proposal: Proposal, target_tip: str) -> bool:
    """Return True if the target contains the tip of an open proposal."""
    return proposal.tip is not None and proposal.tip in workspace.git.merge_bases(target_tip, proposal.tip)


def check_not_empty(workspace: Branch, proposal: Proposal, action: str) -> None:
    """Raise NothingProposed unless a proposal has a commit that its target lacks.

    Without a target there is nothing to compare with, and no error.
    """
    target_tip = workspace.git.tip(proposal.content.target)
    if target_tip is not None and has_no_commits(workspace, proposal, target_tip):
        raise NothingProposed(proposal, action)
