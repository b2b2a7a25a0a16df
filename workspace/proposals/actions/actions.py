"""The actions on the proposals of a workspace, and the report of a proposal's pull request on a forge."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.proposals.actions import discuss, merge, open, refresh
from workspace.proposals.actions.discuss import relay
from workspace.proposals.actions.document_discussion import DocumentDiscussion
from workspace.proposals.actions.merge_gate import find_merge_requirements
from workspace.proposals.actions.repository import ProposalRepository, check_not_ended, ensure_local_branch
from workspace.proposals.actions.task_claims import TaskClaims
from workspace.writing.idempotency import check_idempotency_key
from workspace.writing.write import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workspace.branch import Branch
    from workspace.edits.operation import Operation
    from workspace.git.trees import WholeEntry
    from workspace.proposals.actions.discuss import RelayedEvent, ReviewComment
    from workspace.proposals.actions.merge_gate import MergeRequirements
    from workspace.proposals.actions.open import NewProposal
    from workspace.proposals.actions.refresh import RefreshResolutions
    from workspace.proposals.actions.repository import ActionResult, Actor, ProposedWrite
    from workspace.proposals.answers import CommentAnswer
    from workspace.proposals.events import Event, ReviewDecision
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.review import Preview
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.idempotency import KeyedRequest
    from workspace.writing.plan import BatchMode
    from workspace.writing.read_before_write import SeenTexts
    from workspace.writing.write import WriteResult


class ProposalActions:
    """The actions on proposals. Thread-safe.

    `name` is a proposal's id, or its branch. `key` is an idempotency key: a retry with the same key has no
    second effect. `document_discussion` has the comments on documents outside of proposals, and `task_claims`
    the claims of tasks in protected documents.

    Each action raises ProposalNotFound, ReadOnly, KeyReused, Busy, and the errors of `Publication`.
    """

    def __init__(
        self, workspace: Branch, open_pull_request: Callable[[Proposal], PullRequestReport | None]
    ) -> None:
        self._workspace = workspace
        self._open_pull_request = open_pull_request
        self._repository = ProposalRepository(workspace)
        self.document_discussion = DocumentDiscussion(self._repository)
        self.task_claims = TaskClaims(self._repository)

    def list_all(self) -> tuple[Proposal, ...]:
        """Return every proposal, the last opened first."""
        return self._repository.list_all()

    def find(self, name: str) -> Proposal:
        """Return the proposal of an id, a prefix of it, or its branch's name. Raises ProposalNotFound."""
        return self._repository.find(name)

    def list_events(self, proposal: Proposal) -> tuple[Event, ...]:
        """Return the events of a proposal, in order."""
        return self._repository.list_events(proposal.id)

    def list_events_by_id(self, ids: Iterable[str]) -> dict[str, tuple[Event, ...]]:
        """Return the events of several proposals, in order; unchanged events are the same objects."""
        return self._repository.list_events_by_id(ids)

    def open_branch(self, name: str) -> Branch:
        """Return a proposal's branch, for reading and writing; create the branch if only a remote has it.

        The branch rejects writes after the proposal has ended. Raises ProposalEnded, ProposalNotFound.
        """
        proposal = self.find(name)
        check_not_ended(proposal)
        if not self._workspace.read_only:
            ensure_local_branch(self._workspace, proposal)
        branch = self._workspace.for_branch(proposal.content.branch)
        branch.guards["proposal"] = self._make_open_guard(proposal.id)
        return branch

    def find_merge_requirements(self, proposal: Proposal, preview: Preview) -> MergeRequirements:
        """Return the reasons that block the previewed merge of a proposal, for any actor."""
        return find_merge_requirements(self._repository, proposal, preview)

    def open(
        self,
        title: str,
        description: str,
        actor: Actor,
        *,
        submit: bool = False,
        key: str | None = None,
    ) -> Proposal:
        """Open a proposal to the served branch, at its tip; if `submit`, also request a review.

        Raises InvalidEventText, InvalidTarget, DetachedHead.
        """
        _check_key(key)
        return open.open_proposal(self._repository, title, description, actor, submit=submit, key=key)

    def propose(
        self,
        operations: Sequence[Operation | WorkspaceError],
        actor: Actor,
        *,
        mode: BatchMode,
        message: str | None = None,
        dry_run: bool = False,
        base_commit: str | None = None,
        seen_texts: SeenTexts | None = None,
        keyed_request: KeyedRequest | None = None,
        new_proposal: NewProposal | None = None,
        is_redirected: bool = False,
    ) -> ProposedWrite:
        """Write operations to a new proposal, named by the caller or by the commit message of the write.

        If `is_redirected`, the call was a direct write to protected paths. It is added to the draft that
        another such call of its author and client opened within the last hour.

        The other parameters and the errors are those of `Workspace.write`. Also raises InvalidTarget, and
        InvalidEventText for the title or description of `new_proposal`.
        """
        call = WriteRequest(
            workspace=self._workspace,
            operations=operations,
            mode=mode,
            tool=actor.tool,
            client=actor.client,
            message=message,
            dry_run=dry_run,
            base_commit=base_commit,
            seen_texts=seen_texts,
            keyed_request=keyed_request,
            check_new_request=None,  # the target is a proposal
            person=actor.person,
            trailers=actor.decision_trailers,
        )
        return open.propose(self._repository, call, actor, new_proposal, is_redirected=is_redirected)

    def has_proposal_for(self, request: KeyedRequest) -> bool:
        """Return True if a call with this key became or opened a proposal."""
        return open.is_key_of_proposal(self._repository, request.key)

    def find_write(self, proposal: Proposal, request: KeyedRequest) -> WriteResult | None:
        """Return the result of an earlier write with this key to a proposal, even if the proposal has ended.

        Raises KeyReused.
        """
        return open.find_write(self._repository.workspace, proposal, request)

    def check_not_proposed(self, request: KeyedRequest) -> None:
        """Raise Protected if a call with this key became a proposal; `propose` returns its result."""
        open.check_not_proposed(self._repository, request)

    def edit(
        self,
        name: str,
        actor: Actor,
        *,
        title: str | None = None,
        description: str | None = None,
        key: str | None = None,
        confirm: Callable[[Proposal], None] | None = None,
    ) -> ActionResult:
        """Change a proposal's title or description.

        `confirm` is called with the proposal under the write lock, and may raise an error to refuse the
        change. Raises InvalidEventText.
        """
        _check_key(key)
        return discuss.edit(self._repository, name, actor, title, description, key, confirm)

    def submit(self, name: str, actor: Actor, *, key: str | None = None) -> ActionResult:
        """Request a review of a proposal as it is now. Raises ProposalEnded."""
        _check_key(key)
        return discuss.submit(self._repository, name, actor, key)

    def open_pull_request(self, proposal: Proposal) -> PullRequestReport | None:
        """Open the pull request of a submitted proposal, or update it.

        Return None if no forge is configured. The call may take as long as a push; the report contains its
        failure.
        """
        return self._open_pull_request(proposal)

    def comment(
        self,
        name: str,
        actor: Actor,
        text: str,
        *,
        file: str | None = None,
        slug: str | None = None,
        quote: str = "",
        commit: str | None = None,
        reply_to: str | None = None,
        key: str | None = None,
    ) -> ActionResult:
        """Comment on a proposal, a document, a section or quoted words, or reply to a comment.

        `commit` is the commit of the proposal that the author has read; None for the tip.
        A suggestion needs a quote of the source that can be replaced. Raises InvalidEventText,
        SuggestionRefused, DocumentNotFound, SectionNotFound, AmbiguousAddress, InvalidAddress.
        """
        _check_key(key)
        return discuss.comment(
            self._repository,
            name,
            actor,
            text,
            file=file,
            slug=slug,
            quote=quote,
            commit=commit,
            reply_to=reply_to,
            key=key,
        )

    def answer(
        self,
        name: str,
        actor: Actor,
        answers: Sequence[CommentAnswer],
        *,
        key: str | None = None,
        dry_run: bool = False,
    ) -> ActionResult:
        """Reply to comments and resolve or reopen their threads, as one commit; a dry run only checks them.

        Raises CommentNotFound, InvalidEventText.
        """
        _check_key(key)
        return discuss.answer(self._repository, name, actor, answers, key, dry_run=dry_run)

    def review(
        self,
        name: str,
        actor: Actor,
        decision: ReviewDecision,
        text: str = "",
        *,
        comments: Sequence[ReviewComment] = (),
        commit: str | None = None,
        key: str | None = None,
    ) -> ActionResult:
        """Review a proposal at its tip, with comments, as one commit; `commit`, if given, must be the tip.

        Raises NeedsPerson for an approval without a token, OwnProposal, ProposalMoved, ProposalEnded,
        InvalidEventText, DocumentNotFound, SectionNotFound, AmbiguousAddress, InvalidAddress.
        """
        _check_key(key)
        return discuss.review(
            self._repository, name, actor, decision, text, comments=comments, commit=commit, key=key
        )

    def find_suggested_lines(
        self, name: str, file: str, slug: str | None, quote: str, *, seen_commit: str | None = None
    ) -> str:
        """Return the lines of the source that a suggestion for source or rendered words replaces.

        Raises SuggestionRefused, DocumentNotFound, SectionNotFound, AmbiguousAddress, ProposalEnded.
        """
        return discuss.find_suggested_lines(self._repository, self.find(name), file, slug, quote, seen_commit)

    def apply_suggestion(self, name: str, actor: Actor, comment_id: str) -> ActionResult:
        """Apply the suggestion of a comment as a commit of the proposal, and resolve the thread.

        Its approvals become void, as by any commit. Raises CommentNotFound, SuggestionRefused, ProposalEnded,
        and the errors of writing.
        """
        from workspace.proposals.actions.suggestions import apply_suggestion

        branch = self.open_branch(name)
        return apply_suggestion(self._repository, self.find(name), branch, actor, comment_id)

    def refresh(
        self,
        name: str,
        actor: Actor,
        resolutions: RefreshResolutions | None = None,
        *,
        key: str | None = None,
    ) -> ActionResult:
        """Merge the target's tip into a proposal; ours is the proposal, theirs is the target.

        Raises MergeConflict, ConflictChanged, InvalidResolution, ProposalEnded, InvalidTarget, and the
        errors of `commit_merge`.
        """
        _check_key(key)
        return refresh.refresh(self._repository, name, actor, resolutions, key)

    def merge(
        self, name: str, actor: Actor, *, commit: str | None = None, key: str | None = None
    ) -> ActionResult:
        """Merge a proposal into its target if it meets the merge requirements.

        If `commit` is given, the proposal's tip must be that commit. A merged proposal is returned without an
        error, so no key is needed. Raises MergeConflict, MergeBlocked, NeedsPerson, NothingProposed,
        ProposalMoved, ProposalEnded, InvalidTarget.
        """
        _check_key(key)
        return merge.merge(self._repository, name, actor, commit)

    def close(self, name: str, actor: Actor, text: str = "", *, key: str | None = None) -> ActionResult:
        """Close a proposal. Raises ProposalEnded if it was merged."""
        _check_key(key)
        return discuss.close(self._repository, name, actor, text, key)

    def reopen(self, name: str, actor: Actor, text: str = "", *, key: str | None = None) -> ActionResult:
        """Reopen a closed proposal. Raises ProposalEnded if it was merged, or its branch was deleted."""
        _check_key(key)
        return discuss.reopen(self._repository, name, actor, text, key)

    def relay(self, id: str, events: Iterable[RelayedEvent]) -> tuple[RelayedEvent, ...]:
        """Append the new events from a forge, and return them. Their authors are unproven."""
        return relay(self._repository, id, events)

    def _make_open_guard(
        self, id: str
    ) -> Callable[[Snapshot, Mapping[str, bytes | WholeEntry | None]], None]:
        def guard(_: Snapshot, __: Mapping[str, bytes | WholeEntry | None]) -> None:
            check_not_ended(self._repository.find(id))

        return guard


def _check_key(key: str | None) -> None:
    if key is not None:
        check_idempotency_key(key)


class PullRequestFailed(WorkspaceError):
    """An error: a proposal's pull request was not opened or updated. `reason` is the cause's code."""

    code = "NOT_ANNOUNCED"

    def __init__(self, cause: WorkspaceError) -> None:
        super().__init__(
            f"the proposal was submitted, but its pull request was not opened or updated: {cause.message}",
            fix=f"{cause.fix} Then submit the proposal again."
            if cause.fix
            else "Submit the proposal again later.",
            reason=cause.code,
            **({"retry_after": cause.details["retry_after"]} if "retry_after" in cause.details else {}),
        )


class PullRequestReport(NamedTuple):
    """A proposal's pull request: its forge, number and URL, and whether it was just opened.

    `error` is the failure to open it, and `send_error` the failure to send the discussion.
    """

    forge: str
    number: int | None = None
    url: str = ""
    is_new: bool = False
    error: PullRequestFailed | None = None
    send_error: WorkspaceError | None = None
