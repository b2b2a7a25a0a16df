"""A proposal takes in what its target has come to: by a merge commit, so that nothing is rewritten.

A proposal that has no commit of its own goes forward to the target's tip instead; that is said before it is
done, since a branch that went forward with no word of it would look like one that was merged.

Decisions on conflicts, bound to the commits that they were made on.

Who decides has seen what both sides say. Where one of them has gone on since, a decision for the other side
would drop words that nobody has seen, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.git import trees
from workspace.git.messages import HAND, REFRESH, commit_message, read_trailers
from workspace.git.store import writable
from workspace.git.trees import Whole
from workspace.merge.commits import MergeConflict, commit_merge, merge_commits
from workspace.proposals.actions.discuss import DECIDED
from workspace.proposals.actions.register import Acted, check_alive, local_tip, target_tip
from workspace.proposals.events import KnownBy, Refreshed
from workspace.publishing.after_commit import attempt, preliminary_commits
from workspace.publishing.batch import Batch
from workspace.publishing.locks import Busy
from workspace.publishing.publish import publish
from workspace.publishing.refs import BranchMoved
from workspace.writing.read_before_write import UnknownCommit, known_commit
from workspace.writing.write import author_now, trailers_of

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.merge.trees import FileConflict, Merge, Resolutions
    from workspace.proposals.actions.register import Actor, Register
    from workspace.proposals.event_log import Appended
    from workspace.proposals.proposal import Proposal

Choose = Callable[["Sequence[FileConflict]"], "Resolutions"]


"""Decides conflicts, or some of them, and raises what is wrong with that."""


class Decisions(NamedTuple):
    """How the conflicts of a refresh are decided, and on what.

    `commit` is that of the proposal, `target` that of its target; None stands for where they are now.
    `digest` is of what was asked for, in hex: a retry by its key has the same.
    """

    choose: Choose
    commit: str | None = None
    target: str | None = None
    digest: str | None = None


class ConflictChanged(MergeConflict):
    """A proposal, or its target, is not what was decided on: `conflicts` are those of now."""

    code: ClassVar[str] = "CONFLICT_CHANGED"

    def __init__(self, tip: str | None, theirs: str | None, conflicts: Sequence[FileConflict]) -> None:
        super().__init__(tip, conflicts, theirs)
        self.args = (
            "the proposal or its target has changed since the conflicts were shown that are decided here, "
            "so nothing was merged",
        )
        self.message = self.args[0]
        self.fix = "Look at what is in conflict now, and decide that."


_ATTEMPTS = 4


def refresh(
    register: Register, name: str, actor: Actor, decisions: Decisions | None, key: str | None
) -> Acted:
    """Merge the target's tip into a proposal; nothing where the proposal has it already.

    With `decisions`, what they were made on is merged: what the target has come to since comes with the next
    refresh. Raises MergeConflict with what is to be decided (ours is the proposal, theirs the target),
    ConflictChanged, ProposalEnded, InvalidTarget, and what `commit_merge` raises.
    """
    workspace = register.workspace
    store = writable(workspace.git)
    asked = decisions.digest if decisions is not None and key is not None else None
    for _ in range(_ATTEMPTS):
        proposal = register.one(name)
        earlier = register.earlier(proposal.id, [Refreshed("", "", asked)], key)
        if earlier is not None:
            return _repeated(register, register.one(proposal.id), earlier, actor)
        check_alive(proposal)
        latest = theirs = target_tip(workspace, proposal.words.target)
        tip = local_tip(workspace, proposal)
        if tip == proposal.tip:
            break
    else:
        raise Busy(
            f"the proposal was written to {_ATTEMPTS} times while it was looked at; nothing was merged"
        )
    branch, target = proposal.words.branch, proposal.words.target
    if decisions is not None and decisions.target not in (None, latest):
        theirs = str(decisions.target)
        if not _holds(store, latest, theirs):
            raise _changed(workspace, branch, latest)
    bases = store.merge_bases(tip, theirs)
    if tip in bases:
        _check_nothing_decided(decisions)
        return _forward(register, proposal, tip, theirs, actor, key, asked)
    if theirs in bases:
        return _told(register, proposal, tip, actor, decisions, key)
    if decisions is not None and decisions.commit not in (None, tip):
        raise _changed(workspace, branch, latest)
    resolutions = None
    if decisions is not None:
        found = merge_commits(workspace.snapshot(tip), workspace.snapshot(theirs))
        resolutions = decisions.choose(found.conflicts)

    def message(merge: Merge) -> str:
        # Who only takes in what is there has written nothing; who decides a conflict has.
        decided = {DECIDED: str(len(merge.resolved)), **_deciding(actor)} if merge.resolved else {}
        return commit_message(
            [f"Refresh proposal {proposal.id} from {target}"],
            paths=[],
            message=None,
            tool=actor.tool,
            client=actor.client,
            trailers={REFRESH: proposal.id, **decided},
        )

    def check(merge: Merge) -> None:
        if resolutions and merge.ours.commit != tip:
            raise _changed(workspace, branch, latest)

    with workspace.turn:
        try:
            merged = commit_merge(
                workspace,
                branch,
                theirs,
                message=message,
                resolutions=resolutions,
                check=check,
                person=actor.person,
            )
        except MergeConflict as conflict:
            if resolutions and conflict.tip != tip:
                raise _changed(workspace, branch, latest) from conflict
            raise
    if merged.is_new:

        def record() -> None:
            with preliminary_commits():  # the commit of this call is that of the merge
                register.say(proposal.id, [Refreshed(merged.commit, theirs, asked)], actor, key)

        attempt(record, None, "the discussion does not mention the refresh; refresh again to add it")
    return Acted(register.latest(proposal), merged.commit, merged.is_new, merged.merge)


def _repeated(register: Register, proposal: Proposal, earlier: Appended, actor: Actor) -> Acted:
    """What an earlier call with the same key did; it is completed where it ended before the branch moved."""
    [commit, target] = next(
        (event.words.commit, event.words.target)
        for event in earlier.events
        if isinstance(event.words, Refreshed)
    )
    tip = proposal.tip
    if commit == target and proposal.is_open and tip is not None and tip != commit:
        tip = local_tip(register.workspace, proposal)
        if tip != commit and _holds(register.workspace.git, commit, tip):
            return _went_forward(register, proposal, tip, commit, actor)
    return Acted(proposal, commit, False)


def _holds(git: GitReader, tip: str, commit: str) -> bool:
    """Return True if a commit is one of a branch's, as its tip or before it."""
    try:
        return known_commit(git, commit) in git.merge_bases(tip, commit)
    except UnknownCommit:
        return False


def _changed(workspace: Branch, branch: str, theirs: str) -> ConflictChanged:
    """Return the error for decisions on what is not there any more, with what is in conflict now."""
    tip = workspace.tip(branch)
    merge = merge_commits(workspace.snapshot(tip), workspace.snapshot(theirs))
    return ConflictChanged(tip, theirs, merge.conflicts)


def _check_nothing_decided(decisions: Decisions | None) -> None:
    """Let what chooses say that there is nothing of the name that it was given."""
    if decisions is not None:
        decisions.choose(())


def _deciding(actor: Actor) -> dict[str, str]:
    """Return what a commit says of who decided what is in it; nothing of a client, which is named anyway."""
    if actor.person is None and actor.author.known_by is not KnownBy.CLIENT:
        return {HAND: actor.author.known_by.value}
    return trailers_of("", actor.person)


def _forward(
    register: Register,
    proposal: Proposal,
    tip: str,
    theirs: str,
    actor: Actor,
    key: str | None,
    asked: str | None,
) -> Acted:
    """Bring a proposal without a commit of its own to a commit of the target."""
    if tip == theirs:
        return Acted(proposal, None, False)
    if proposal.words.base != theirs:
        with preliminary_commits():
            said = register.say(proposal.id, [Refreshed(theirs, theirs, asked)], actor, key)
        if said.repeated:  # by the same call, which may have seen another commit of the target
            return _repeated(register, register.one(proposal.id), said, actor)
    return _went_forward(register, proposal, tip, theirs, actor)


def _went_forward(register: Register, proposal: Proposal, tip: str, theirs: str, actor: Actor) -> Acted:
    workspace, store = register.workspace, writable(register.workspace.git)
    changes: dict[str, bytes | Whole | None] = {
        change.path: Whole(change.new)
        for change in trees.changes(store, store.commit(tip).tree, store.commit(theirs).tree)
    }
    message = f"docyard: refresh {proposal.words.branch}"
    author = author_now(workspace, actor.person)
    batch = Batch(proposal.words.branch, tip, changes, message, author, commit=theirs)
    with workspace.turn:
        try:
            publish(store, batch, durable=workspace.durable)
        except BranchMoved as moved:
            if moved.tip != theirs:  # to which another has brought it
                raise Busy("the proposal was written to while it was refreshed") from moved
    return Acted(register.latest(proposal), theirs, True)


def _told(
    register: Register,
    proposal: Proposal,
    tip: str,
    actor: Actor,
    decisions: Decisions | None,
    key: str | None,
) -> Acted:
    """What a proposal says that has the target already: also of a refresh that ended before it was told."""
    commit = writable(register.workspace.git).commit(tip)
    is_refresh = read_trailers(commit.message).get(REFRESH) == proposal.id and len(commit.parents) > 1
    meant = decisions.commit if decisions is not None else None
    if is_refresh and tip not in proposal.words.commits and meant in (None, commit.parents[0]):
        asked = decisions.digest if decisions is not None and key is not None else None
        register.say(proposal.id, [Refreshed(tip, commit.parents[1], asked)], actor, key)
        return Acted(register.one(proposal.id), tip, False)
    if meant not in (None, tip):
        target = target_tip(register.workspace, proposal.words.target)
        raise _changed(register.workspace, proposal.words.branch, target)
    _check_nothing_decided(decisions)
    return Acted(proposal, None, False)
