"""The proposals of a workspace, and the adding of words to one: once for each idempotency key.

Who does something with a proposal, and what became of it.

A proposal's branch: made where it begins, found where only a remote has it, refused where it ended.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from workspace.branch import not_found
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph
from workspace.git.store import writable
from workspace.proposal_ids import BRANCH, BRANCHES, id_of_branch
from workspace.proposals.event_log import Appended, EventLog, check_same
from workspace.proposals.events import Author, KnownBy
from workspace.proposals.proposal import Proposal, Proposals, State
from workspace.publishing.after_commit import attempt, note_commit, preliminary_commits
from workspace.publishing.batch import Batch
from workspace.publishing.publish import Publication, publish
from workspace.publishing.refs import BranchMoved
from workspace.writing.idempotency import KeyReused
from workspace.writing.write import DetachedHead, author_now, check_signing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.merge.trees import Merge
    from workspace.policy.tokens import Person
    from workspace.proposals.events import Event, Words
    from workspace.proposals.proposal import Proposal
    from workspace.writing.write import Written


class Register:
    """The proposals as they are now. Safe in several threads."""

    def __init__(self, workspace: Branch) -> None:
        self.workspace = workspace
        self._log = EventLog(workspace.git, durable=workspace.durable)
        self._proposals = Proposals(workspace.git)
        self.graph = Graph(workspace.git)

    def all(self) -> tuple[Proposal, ...]:
        """Return every proposal, the one that was opened last first."""
        return self._log.steady(self._proposals.all)

    def one(self, name: str) -> Proposal:
        """Return the proposal of an id, or of its branch's name. Raises ProposalNotFound."""
        return self._log.steady(lambda said: self._proposals.one(said, name))

    def ids(self) -> tuple[str, ...]:
        """Return the ids of which something was said."""
        return tuple(self._log.read().proposals)

    def said(self, id: str) -> tuple[Event, ...]:
        """Return the events of a proposal, in order."""
        return self._log.read().of(id).events

    def say(
        self,
        id: str,
        words: Sequence[Words],
        actor: Actor,
        request: str | None = None,
        confirm: Callable[[Proposal], None] | None = None,
        check: Callable[[], None] | None = None,
    ) -> Appended:
        """Add words to a proposal; `confirm` is shown it in the writer's turn, and may refuse it by raising.

        `check` may do so for a proposal that is not opened yet. While it runs no other Docyard writes.
        Raises SigningRequired, and what `EventLog.append` raises.
        """
        check_signing(self.workspace.snapshot())
        with self.workspace.turn:
            appended = self._log.append(
                id,
                words,
                actor.speaker,
                tool=actor.tool,
                client=actor.client,
                request=request,
                confirm=(lambda: confirm(self.one(id))) if confirm is not None else check,
            )
        note_commit(appended.commit, proposal=id)
        return appended

    def latest(self, proposal: Proposal) -> Proposal:
        """Return a proposal as it is now; after a commit, as it was before if it cannot be read."""
        return attempt(partial(self.one, proposal.id), proposal, "the answer shows the proposal as it was")

    def repeated(self, id: str, request: str | None) -> Appended | None:
        """Return what was said of a proposal with a key, if anything was."""
        return self._log.repeated(id, request)

    def earlier(self, id: str, words: Sequence[Words], request: str | None) -> Appended | None:
        """What was said of a proposal by an earlier call with the same key. Raises KeyReused for other words.

        What a call does not choose by itself, such as the commit that a review is bound to, may differ.
        """
        found = self._log.repeated(id, request)
        if found is not None:
            check_same(found, words)
        return found


def key_reused(**details: Any) -> KeyReused:
    """The error for a key that belongs to another call, which opened `proposal`, or is `used_in` a commit."""
    return KeyReused(
        "this idempotency_key was used for another call",
        fix="Use a new idempotency_key for each call; the same one is only for the same arguments.",
        **details,
    )


class Actor(NamedTuple):
    """Who acts: in whose name, by which tool and client, and the person that a token has proved."""

    author: Author
    tool: str
    client: str
    person: Person | None = None

    @property
    def speaker(self) -> Author:
        """The author of what is said: the person that a token has proved, before any other name."""
        person = self.person
        if person is None:
            return self.author
        return Author(person.name, person.email, KnownBy.TOKEN, person.token)


class Acted(NamedTuple):
    """A proposal after something was done with it.

    `commit` is the commit that holds what was done: on the target for a merge, on the proposal's branch for
    a refresh, else on the branch of the discussion; None where there was nothing to do. `is_new` is false for
    what was done already, by a retry or by someone else. `merge` is how a merge or refresh was made. `said`
    are the ids of the words that this call has said, or an earlier one with its key.
    """

    proposal: Proposal
    commit: str | None
    is_new: bool
    merge: Merge | None = None
    said: tuple[str, ...] = ()


class Proposed(NamedTuple):
    """A write that became a proposal, and what was written there.

    `proposal` is None where nothing was written, as in a dry run: then there is no proposal.
    """

    proposal: Proposal | None
    written: Written


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
    """Raise ProposalEnded unless a proposal can still be changed."""
    if not proposal.is_open:
        raise ProposalEnded(proposal)


def target_of(workspace: Branch) -> tuple[str, str]:
    """Return the served branch, to which is proposed, and its commit. Raises DetachedHead, InvalidTarget."""
    workspace.tip()  # says so if the repository is gone
    branch = workspace.branch
    if branch is None:
        raise DetachedHead(
            "HEAD is detached, so there is no branch to propose to",
            fix="Check out a branch with git switch NAME, or give the command --branch NAME.",
        )
    return branch, target_tip(workspace, branch)


def target_tip(workspace: Branch, branch: str) -> str:
    """Return the commit of a branch to which is proposed. Raises InvalidTarget, BranchNotFound."""
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


def make(workspace: Branch, branch: str, commit: str) -> str:
    """Make a branch at a commit, and returns its tip: where there is one already, it stays as it is.

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


def local_tip(workspace: Branch, proposal: Proposal) -> str:
    """Return the commit of a proposal's branch, which is made where only a remote has it.

    Raises ProposalEnded.
    """
    if proposal.tip is None:
        raise ProposalEnded(proposal._replace(state=State.GONE))
    return make(workspace, proposal.words.branch, proposal.tip)


_MAX_SLUG = 40


_MAX_READ = 200  # characters of a title that a slug is made of


def branch_name(id: str, title: str) -> str:
    """The branch of a proposal that is opened: `proposals/<id>-<slug>`, without a slug where none is left."""
    # Imported here because a server answers its first questions without it.
    from workspace.markdown.slugs import make_file_slug

    slug = make_file_slug(title[:_MAX_READ])[:_MAX_SLUG].rstrip("-")
    return f"{BRANCHES}{id}-{slug}" if slug else f"{BRANCHES}{id}"


class NothingProposed(WorkspaceError):
    """A proposal has no commit of its own."""

    code: ClassVar[str] = "NOTHING_PROPOSED"
