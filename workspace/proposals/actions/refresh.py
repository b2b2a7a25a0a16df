"""The refresh of a proposal: a merge commit of the target's tip, without a rebase.

A proposal without a commit of its own is fast-forwarded to the target's tip instead. Its event is then
appended before the branch moves: otherwise the proposal would look merged.

The resolutions of conflicts are bound to the commits for which they were made. If a side has moved since
then, a resolution that takes the other side would drop text that no reviewer has read, so it is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.git import trees
from workspace.git.messages import (
    REFRESH_TRAILER,
    RESOLVED_TRAILER,
    format_commit_message,
    read_trailers,
)
from workspace.git.store import require_writable
from workspace.git.trees import WholeEntry
from workspace.merge.commits import MergeConflict, commit_merge, merge_commits
from workspace.merge.conflict import ResolutionChoice
from workspace.proposals.actions.repository import (
    ActionResult,
    check_not_ended,
    ensure_local_branch,
    resolve_target_tip,
)
from workspace.proposals.events import Refreshed
from workspace.publishing.after_commit import ignore_preliminary_commits, run_with_caveat
from workspace.publishing.batch import Batch
from workspace.publishing.locks import Busy
from workspace.publishing.publish import publish
from workspace.publishing.refs import BranchMoved
from workspace.writing.read_before_write import UnknownCommit, resolve_base_commit
from workspace.writing.write import build_trailers, make_author_signature

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.merge.trees import FileConflict, Merge, Resolutions
    from workspace.proposals.actions.repository import Actor, ProposalRepository
    from workspace.proposals.event_log import AppendResult
    from workspace.proposals.proposal import Proposal

ChooseResolutions = Callable[["Sequence[FileConflict]"], "Resolutions"]
"""A function that returns resolutions of some or all conflicts, or raises an error for invalid ones."""


class RefreshResolutions(NamedTuple):
    """The resolutions of a refresh's conflicts, and the commits for which they were made.

    `commit` is the commit of the proposal, and `target` the commit of its target. None means the current
    commit. `digest` is the digest of the call's arguments, in hex: a retry with the same key has the same
    digest.
    """

    choose: ChooseResolutions
    commit: str | None = None
    target: str | None = None
    digest: str | None = None


class ConflictChanged(MergeConflict):
    """An error: a proposal or its target changed after the resolutions. `conflicts` are the current ones."""

    code: ClassVar[str] = "CONFLICT_CHANGED"

    def __init__(self, tip: str | None, theirs: str | None, conflicts: Sequence[FileConflict]) -> None:
        super().__init__(tip, conflicts, theirs)
        self.args = (
            "the proposal or its target has changed since the resolved conflicts were shown, so nothing was "
            "merged",
        )
        self.message = self.args[0]
        self.fix = "Resolve the current conflicts."


_MAX_ATTEMPTS = 4
_MAX_DESCRIBED_DECISIONS = 100


def read_decisions(message: str) -> tuple[str, ...]:
    """Return the descriptions of the resolved conflicts in the message of a refresh; empty without any."""
    if not {REFRESH_TRAILER, RESOLVED_TRAILER} <= read_trailers(message).keys():
        return ()
    return tuple(line.removeprefix("- ") for line in message.split("\n") if line.startswith("- "))


def _describe_decisions(merge: Merge, resolutions: Resolutions, target: str) -> list[str]:
    """Return a line for each resolved conflict: the document, the part of it, and the chosen version."""
    versions = {
        ResolutionChoice.OURS: "the proposal's version",
        ResolutionChoice.THEIRS: f"the version of {target}",
        ResolutionChoice.UNION: f"both texts, the proposal's before that of {target}",
        ResolutionChoice.CONTENT: "a new text",
    }
    lines = []
    for path, unit in merge.resolved_units[:_MAX_DESCRIBED_DECISIONS]:
        resolution = resolutions.get(path, {}).get(unit)
        if resolution is not None:
            place = ", ".join(filter(None, (path, " ".join(unit.where.split()))))
            is_deletion = resolution.choice is ResolutionChoice.CONTENT and resolution.content is None
            version = "deleted" if is_deletion else versions[resolution.choice]
            lines.append(f"{place} ({unit.kind.name.lower()}): {version}")
    omitted_count = len(merge.resolved_units) - _MAX_DESCRIBED_DECISIONS
    return [*lines, f"and {omitted_count:,} more"] if omitted_count > 0 else lines


def refresh(
    repository: ProposalRepository,
    name: str,
    actor: Actor,
    resolutions: RefreshResolutions | None,
    key: str | None,
) -> ActionResult:
    """Merge the target's tip into a proposal; return without a change if the proposal already contains it.

    With `resolutions`, the target's commit for which they were made is merged. The next refresh merges later
    commits of the target. Raises MergeConflict with the open conflicts (ours is the proposal, theirs the
    target), ConflictChanged, ProposalEnded, InvalidTarget, and the errors of `commit_merge`.
    """
    workspace = repository.workspace
    store = require_writable(workspace.git)
    digest = resolutions.digest if resolutions is not None and key is not None else None
    for _ in range(_MAX_ATTEMPTS):
        proposal = repository.find(name)
        earlier_result = repository.find_earlier_events(proposal.id, [Refreshed("", "", digest)], key)
        if earlier_result is not None:
            return _resume_earlier_call(repository, repository.find(proposal.id), earlier_result, actor)
        check_not_ended(proposal)
        target_tip = theirs = resolve_target_tip(workspace, proposal.content.target)
        tip = ensure_local_branch(workspace, proposal)
        if tip == proposal.tip:
            break
    else:
        raise Busy(f"the proposal was written to {_MAX_ATTEMPTS} times while it was read; nothing was merged")
    branch, target = proposal.content.branch, proposal.content.target
    if resolutions is not None and resolutions.target not in (None, target_tip):
        theirs = str(resolutions.target)
        if not _contains_commit(store, target_tip, theirs):
            raise _make_conflict_changed_error(workspace, branch, target_tip)
    bases = store.merge_bases(tip, theirs)
    if tip in bases:
        _check_no_resolutions(resolutions)
        return _fast_forward(repository, proposal, tip, theirs, actor, key, digest)
    if theirs in bases:
        return _complete_refresh(repository, proposal, tip, actor, resolutions, key)
    if resolutions is not None and resolutions.commit not in (None, tip):
        raise _make_conflict_changed_error(workspace, branch, target_tip)
    chosen_resolutions = None
    if resolutions is not None:
        preview = merge_commits(workspace.snapshot(tip), workspace.snapshot(theirs))
        chosen_resolutions = resolutions.choose(preview.conflicts)

    def build_message(merge: Merge) -> str:
        # An actor that resolves a conflict is an author of the text; an actor that only merges is not.
        resolution_trailers = (
            {RESOLVED_TRAILER: str(len(merge.resolved_units)), **_build_resolver_trailers(actor)}
            if merge.resolved_units
            else {}
        )
        subject = f"Refresh proposal {proposal.id} from {target}"
        decisions = _describe_decisions(merge, chosen_resolutions or {}, target)
        return format_commit_message(
            decisions or [subject],
            paths=[],
            message=subject if decisions else None,
            tool=actor.tool,
            client=actor.client,
            trailers={REFRESH_TRAILER: proposal.id, **resolution_trailers},
        )

    def check_unmoved(merge: Merge) -> None:
        if chosen_resolutions and merge.ours.commit != tip:
            raise _make_conflict_changed_error(workspace, branch, target_tip)

    with workspace.writer_lock:
        try:
            merge_result = commit_merge(
                workspace,
                branch,
                theirs,
                build_message=build_message,
                resolutions=chosen_resolutions,
                check_merge=check_unmoved,
                person=actor.person,
            )
        except MergeConflict as conflict:
            if chosen_resolutions and conflict.tip != tip:
                raise _make_conflict_changed_error(workspace, branch, target_tip) from conflict
            raise
    if merge_result.is_new:

        def append_event() -> None:
            with ignore_preliminary_commits():  # the commit of this call is that of the merge
                repository.append(proposal.id, [Refreshed(merge_result.commit, theirs, digest)], actor, key)

        run_with_caveat(
            append_event, None, "the discussion does not mention the refresh; refresh again to add it"
        )
    return ActionResult(
        repository.read_latest(proposal), merge_result.commit, merge_result.is_new, merge_result.merge
    )


def _resume_earlier_call(
    repository: ProposalRepository, proposal: Proposal, earlier_result: AppendResult, actor: Actor
) -> ActionResult:
    """Return the result of an earlier call with the same key; complete an unfinished fast-forward."""
    [commit, target] = next(
        (event.body.commit, event.body.target)
        for event in earlier_result.events
        if isinstance(event.body, Refreshed)
    )
    tip = proposal.tip
    if commit == target and proposal.is_open and tip is not None and tip != commit:
        tip = ensure_local_branch(repository.workspace, proposal)
        if tip != commit and _contains_commit(repository.workspace.git, commit, tip):
            return _publish_fast_forward(repository, proposal, tip, commit, actor)
    return ActionResult(proposal, commit, False)


def _contains_commit(git: GitReader, tip: str, commit: str) -> bool:
    """Return True if a commit is a branch's tip or an ancestor of it."""
    try:
        return resolve_base_commit(git, commit) in git.merge_bases(tip, commit)
    except UnknownCommit:
        return False


def _make_conflict_changed_error(workspace: Branch, branch: str, theirs: str) -> ConflictChanged:
    """Return the error for outdated resolutions, with the current conflicts."""
    tip = workspace.tip(branch)
    merge = merge_commits(workspace.snapshot(tip), workspace.snapshot(theirs))
    return ConflictChanged(tip, theirs, merge.conflicts)


def _check_no_resolutions(resolutions: RefreshResolutions | None) -> None:
    """Raise the error of the resolutions if they name a conflict that does not exist."""
    if resolutions is not None:
        resolutions.choose(())


def _build_resolver_trailers(actor: Actor) -> dict[str, str]:
    """Return the trailers for an actor's resolutions; empty for a client, which other trailers name."""
    return {**actor.decision_trailers, **build_trailers("", actor.person)}


def _fast_forward(
    repository: ProposalRepository,
    proposal: Proposal,
    tip: str,
    theirs: str,
    actor: Actor,
    key: str | None,
    digest: str | None,
) -> ActionResult:
    """Fast-forward a proposal that has no commit of its own to a commit of the target."""
    if tip == theirs:
        return ActionResult(proposal, None, False)
    if proposal.content.base != theirs:
        with ignore_preliminary_commits():
            append_result = repository.append(proposal.id, [Refreshed(theirs, theirs, digest)], actor, key)
        if append_result.is_repeat:  # an earlier call may have merged another commit of the target
            return _resume_earlier_call(repository, repository.find(proposal.id), append_result, actor)
    return _publish_fast_forward(repository, proposal, tip, theirs, actor)


def _publish_fast_forward(
    repository: ProposalRepository, proposal: Proposal, tip: str, theirs: str, actor: Actor
) -> ActionResult:
    workspace, store = repository.workspace, require_writable(repository.workspace.git)
    changes: dict[str, bytes | WholeEntry | None] = {
        change.path: WholeEntry(change.new)
        for change in trees.diff_trees(store, store.commit(tip).tree, store.commit(theirs).tree)
    }
    message = f"docyard: refresh {proposal.content.branch}"
    author = make_author_signature(workspace, actor.person)
    batch = Batch(proposal.content.branch, tip, changes, message, author, existing_commit=theirs)
    with workspace.writer_lock:
        try:
            publish(store, batch, durable=workspace.durable)
        except BranchMoved as error:
            if error.tip != theirs:  # another call moved the branch to this commit
                raise Busy("the proposal was written to while it was refreshed") from error
    return ActionResult(repository.read_latest(proposal), theirs, True)


def _complete_refresh(
    repository: ProposalRepository,
    proposal: Proposal,
    tip: str,
    actor: Actor,
    resolutions: RefreshResolutions | None,
    key: str | None,
) -> ActionResult:
    """Return the result if the proposal contains the target's tip; append a missing refresh event."""
    commit = require_writable(repository.workspace.git).commit(tip)
    is_refresh = read_trailers(commit.message).get(REFRESH_TRAILER) == proposal.id and len(commit.parents) > 1
    expected_commit = resolutions.commit if resolutions is not None else None
    if (
        is_refresh
        and tip not in proposal.content.known_commits
        and expected_commit in (None, commit.parents[0])
    ):
        digest = resolutions.digest if resolutions is not None and key is not None else None
        repository.append(proposal.id, [Refreshed(tip, commit.parents[1], digest)], actor, key)
        return ActionResult(repository.find(proposal.id), tip, False)
    if expected_commit not in (None, tip):
        target = resolve_target_tip(repository.workspace, proposal.content.target)
        raise _make_conflict_changed_error(repository.workspace, proposal.content.branch, target)
    _check_no_resolutions(resolutions)
    return ActionResult(proposal, None, False)
