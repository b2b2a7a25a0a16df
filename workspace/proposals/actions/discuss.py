"""The discussion of a proposal: edits, comments, reviews, submission, closing and reopening."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import select_reachable
from workspace.git.store import require_writable
from workspace.nearest import find_nearest
from workspace.proposals.actions.repository import (
    ActionResult,
    Actor,
    ProposalEnded,
    check_not_empty,
    check_not_ended,
    make_key_reused_error,
)
from workspace.proposals.answers import build_answer_events, changes_threads, find_thread
from workspace.proposals.approvals import (
    check_not_own,
    make_needs_person_error,
    make_needs_review_scope_error,
)
from workspace.proposals.change_requests import find_open_change_requests
from workspace.proposals.comments import build_comment_target, read_target_text
from workspace.proposals.events import (
    Closed,
    Commented,
    CommentTarget,
    Edited,
    InvalidEventText,
    Reopened,
    ReviewDecision,
    Reviewed,
    Submitted,
    validate_text,
    validate_title,
)
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.proposals.suggested_text import (
    find_replaced_text,
    find_source_lines,
    read_suggestion,
)
from workspace.publishing.after_commit import note_commit
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from workspace.proposals.actions.repository import ProposalRepository
    from workspace.proposals.answers import CommentAnswer
    from workspace.proposals.event_log import AppendResult
    from workspace.proposals.events import EventBody


MAX_REVIEW_COMMENTS = 100
"""The maximum number of comments that are sent with one review."""


_COMMANDS = {ReviewDecision.APPROVE: "approve", ReviewDecision.REQUEST_CHANGES: "request-changes"}


class ProposalMoved(WorkspaceError):
    """An error: a proposal is not at the expected commit. `tip` is its current commit."""

    code: ClassVar[str] = "PROPOSAL_MOVED"


class ReviewComment(NamedTuple):
    """A comment that is sent with a review, on a document, a section or quoted words.

    `commit` is the commit of the proposal that its author has read; None for the tip.
    """

    text: str
    file: str | None
    slug: str | None = None
    quote: str = ""
    commit: str | None = None

    @property
    def address(self) -> str:
        """The address of the comment's text; empty for the whole proposal."""
        return (self.file or "") + (f"#{self.slug}" if self.file and self.slug else "")


def edit(
    repository: ProposalRepository,
    name: str,
    actor: Actor,
    title: str | None,
    description: str | None,
    key: str | None,
    confirm: Callable[[Proposal], None] | None,
) -> ActionResult:
    """Change a proposal's title or description. Raises InvalidEventText if both are None.

    `confirm` is called with the current proposal before the change, and may raise an error to refuse it.
    """
    if title is None and description is None:
        raise InvalidEventText(
            "an edit needs a title or a description", fix="Give one of them, or both.", field="title"
        )
    new_title = validate_title(title) if title is not None else None
    new_description = (
        validate_text(description, "description", may_be_empty=True) if description is not None else None
    )
    proposal = repository.find(name)
    current_texts = (proposal.content.title, proposal.content.description)
    is_new = current_texts != (
        new_title or current_texts[0],
        current_texts[1] if new_description is None else new_description,
    )
    return _append_event(
        repository, proposal, Edited(new_title, new_description), actor, key, is_new=is_new, confirm=confirm
    )


def submit(repository: ProposalRepository, name: str, actor: Actor, key: str | None) -> ActionResult:
    """Request a review of the current proposal. Raises NothingProposed, ProposalEnded.

    The event names the commits whose change requests stay open, because only refreshes follow them.
    """
    proposal = repository.find(name)
    if repository.find_earlier_events(proposal.id, [Submitted("")], key) is None:
        check_not_ended(proposal)
        check_not_empty(repository.workspace, proposal, "review")
    is_new = proposal.content.submitted_commit != proposal.tip
    open_commits = find_open_change_requests(repository.workspace.git, proposal)
    return _append_event(
        repository,
        proposal,
        Submitted(proposal.tip or "", open_commits),
        actor,
        key,
        is_new=is_new,
    )


def comment(
    repository: ProposalRepository,
    name: str,
    actor: Actor,
    text: str,
    *,
    file: str | None,
    slug: str | None,
    quote: str,
    commit: str | None,
    reply_to: str | None,
    key: str | None,
) -> ActionResult:
    """Comment on a proposal or a text in it, or reply to a comment, also after the proposal has ended.

    `commit` is the commit of the proposal that the author has read; None for the tip.
    """
    comment_text = validate_text(text, "comment")
    if file is None and (slug is not None or quote):
        raise InvalidEventText("a section or a quote needs a file", fix="Give the file too.", field="file")
    proposal = repository.find(name)
    earlier_result = repository.find_events_by_key(proposal.id, key)
    if earlier_result is not None:
        # The text that the first call commented on may have changed or been removed since.
        expected_values = (comment_text, reply_to, (file, quote.strip()) if file is not None else None)
        if [get_comment_values(event.body) for event in earlier_result.events] != [expected_values]:
            raise make_key_reused_error(proposal=proposal.id)
        return _build_result(repository, proposal, earlier_result)
    if reply_to is not None and find_thread(proposal.content.threads, reply_to) is None:
        raise _make_no_such_comment_error(proposal, reply_to)
    target, target_commit = _build_target(
        repository, proposal, comment_text, file, slug, quote, seen_commit=commit
    )
    body = Commented(comment_text, target, target_commit, reply_to)
    return _append_event(repository, proposal, body, actor, key)


def answer(
    repository: ProposalRepository,
    name: str,
    actor: Actor,
    answers: Sequence[CommentAnswer],
    key: str | None,
    *,
    dry_run: bool,
) -> ActionResult:
    """Reply to comments and resolve their threads as one commit, also after the proposal has ended.

    A dry run only checks the answers. This changes neither the state of the proposal nor its approvals.
    """
    proposal = repository.find(name)
    threads = proposal.content.threads
    bodies = build_answer_events(threads, answers, _find_discussed_commit(proposal))
    is_new = not dry_run and changes_threads(threads, bodies)
    return _append_events(repository, proposal, bodies, actor, key, is_new=is_new)


def review(
    repository: ProposalRepository,
    name: str,
    actor: Actor,
    verdict: ReviewDecision,
    text: str,
    *,
    comments: Sequence[ReviewComment],
    commit: str | None,
    key: str | None,
) -> ActionResult:
    """Review a proposal at its tip, with comments, as one commit; if `commit` is given, it must be the tip.

    A comment may be on an earlier commit of the proposal. After the proposal has ended, only comments are
    accepted. Raises NeedsPerson for an approval without a token, and for an approval or a request for changes
    with a token that permits none; OwnProposal, ProposalMoved, ProposalEnded.
    """
    has_comments = bool(comments)
    review_text = validate_text(
        text, "review", may_be_empty=has_comments or verdict is ReviewDecision.APPROVE
    )
    comments = _validate_comments(comments)
    proposal = repository.find(name)
    earlier_result = repository.find_events_by_key(proposal.id, key)
    if earlier_result is None and verdict is not ReviewDecision.COMMENT:
        check_not_ended(proposal)
    if verdict is not ReviewDecision.COMMENT and not actor.may_review:
        raise make_needs_review_scope_error(name, _COMMANDS[verdict])
    if verdict is ReviewDecision.APPROVE and actor.person is None:
        raise make_needs_person_error(name, "approve")
    if earlier_result is not None:
        _check_same_review(proposal, earlier_result, verdict, review_text, comments, commit)
        return _build_result(repository, proposal, earlier_result)
    if not has_comments:
        check_not_ended(proposal)
    tip = proposal.tip or ""
    if commit is not None and commit != tip:
        raise ProposalMoved(
            f"the proposal '{proposal.id}' is at {tip[:8]}, and not at {commit[:8]}",
            fix="View the proposal again, and review it as it is now.",
            proposal=proposal.id,
            tip=tip,
        )
    if verdict is ReviewDecision.APPROVE:
        check_not_empty(repository.workspace, proposal, "approve")
        check_not_own(repository.workspace.git, repository.graph, proposal, actor.event_author)
    bodies: list[EventBody] = []
    if proposal.is_open:
        seal = _make_seal(repository, proposal, actor, verdict, tip)
        bodies.append(Reviewed(verdict, review_text, tip, seal))
    elif review_text:
        bodies.append(Commented(review_text, None, _find_discussed_commit(proposal)))
    bodies += _build_comments(repository, proposal, comments)
    return _append_events(repository, proposal, bodies, actor, key, is_new=True)


def _validate_comments(comments: Sequence[ReviewComment]) -> list[ReviewComment]:
    """Return the comments of a review with clean texts. Raises InvalidEventText."""
    if len(comments) > MAX_REVIEW_COMMENTS:
        raise InvalidEventText(
            f"the review has {len(comments):,} comments; the limit is {MAX_REVIEW_COMMENTS}",
            fix="Send some of them first.",
            field="comments",
        )
    valid_comments: list[ReviewComment] = []
    for number, item in enumerate(comments, 1):
        with _name_comment(number, item):
            valid_comments.append(
                item._replace(text=validate_text(item.text, "comment"), quote=item.quote.strip())
            )
    return valid_comments


def _build_comments(
    repository: ProposalRepository, proposal: Proposal, comments: Sequence[ReviewComment]
) -> Iterator[Commented]:
    """Yield the events of a review's comments. The errors are those of `_build_target`."""
    for number, item in enumerate(comments, 1):
        with _name_comment(number, item):
            target, commit = _build_target(
                repository, proposal, item.text, item.file, item.slug, item.quote, seen_commit=item.commit
            )
            yield Commented(item.text, target, commit)


@contextmanager
def _name_comment(number: int, item: ReviewComment) -> Iterator[None]:
    """Name a review's comment in the errors of a block."""
    try:
        yield
    except WorkspaceError as error:
        location = f" on {item.address}" if item.address else ""
        error.message = f"comment {number}{location}: {error.message}"
        error.args = (error.message,)
        error.details["comment"] = number
        raise


def _check_same_review(
    proposal: Proposal,
    earlier_result: AppendResult,
    verdict: ReviewDecision,
    text: str,
    comments: Sequence[ReviewComment],
    commit: str | None,
) -> None:
    """Raise KeyReused unless an earlier call with the same key made the same review.

    The texts that the first call commented on may have changed or been removed since.
    """
    bodies = [event.body for event in earlier_result.events]
    reviews = [body for body in bodies if isinstance(body, Reviewed)]
    comment_values = [
        (item.text, None, (item.file, item.quote) if item.file is not None else None) for item in comments
    ]
    if not reviews and text:  # the proposal had ended
        comment_values.insert(0, (text, None, None))
    is_same = (
        [(item.verdict, item.text) for item in reviews] == [(verdict, text)] * len(reviews)
        and (reviews or verdict is ReviewDecision.COMMENT)
        and [get_comment_values(body) for body in bodies if not isinstance(body, Reviewed)] == comment_values
        and commit in (None, *(item.commit for item in reviews))
    )
    if not is_same:
        raise make_key_reused_error(proposal=proposal.id)


def close(
    repository: ProposalRepository, name: str, actor: Actor, text: str, key: str | None
) -> ActionResult:
    """Close a proposal, even without a branch. Raises ProposalEnded if it was merged."""
    body = Closed(validate_text(text, "reason", may_be_empty=True))
    proposal = repository.find(name)
    if proposal.state is ProposalState.MERGED:
        raise ProposalEnded(proposal)
    return _append_event(
        repository, proposal, body, actor, key, is_new=proposal.state is not ProposalState.CLOSED
    )


def reopen(
    repository: ProposalRepository, name: str, actor: Actor, text: str, key: str | None
) -> ActionResult:
    """Reopen a closed proposal. Raises ProposalEnded if it was merged, or its branch was deleted."""
    body = Reopened(validate_text(text, "reason", may_be_empty=True))
    proposal = repository.find(name)
    if proposal.state is ProposalState.MERGED:
        raise ProposalEnded(proposal)
    if proposal.tip is None:
        raise ProposalEnded(proposal._replace(state=ProposalState.GONE))
    return _append_event(
        repository, proposal, body, actor, key, is_new=proposal.state is ProposalState.CLOSED
    )


def _append_event(
    repository: ProposalRepository,
    proposal: Proposal,
    body: EventBody,
    actor: Actor,
    key: str | None,
    *,
    is_new: bool = True,
    confirm: Callable[[Proposal], None] | None = None,
) -> ActionResult:
    return _append_events(repository, proposal, [body], actor, key, is_new=is_new, confirm=confirm)


def _append_events(
    repository: ProposalRepository,
    proposal: Proposal,
    bodies: Sequence[EventBody],
    actor: Actor,
    key: str | None,
    *,
    is_new: bool,
    confirm: Callable[[Proposal], None] | None = None,
) -> ActionResult:
    require_writable(repository.workspace.git)
    earlier_result = repository.find_earlier_events(proposal.id, bodies, key)
    if earlier_result is not None:
        return _build_result(repository, proposal, earlier_result)
    if not is_new:
        return ActionResult(proposal, None, False)
    return _build_result(repository, proposal, repository.append(proposal.id, bodies, actor, key, confirm))


def _build_result(
    repository: ProposalRepository, proposal: Proposal, append_result: AppendResult
) -> ActionResult:
    """Return the result of a call that appended an event, or of an earlier call with the same key.

    The earlier call may have ended after the proposal was read, so the proposal is read again.
    """
    note_commit(append_result.commit, proposal=proposal.id)
    ids = tuple(event.id for event in append_result.events)
    return ActionResult(
        repository.read_latest(proposal), append_result.commit, not append_result.is_repeat, event_ids=ids
    )


def find_suggested_lines(
    repository: ProposalRepository,
    proposal: Proposal,
    file: str,
    slug: str | None,
    quote: str,
    seen_commit: str | None,
) -> str:
    """Return the lines of the source that a suggestion for quoted words replaces.

    The words are source or rendered text. Raises SuggestionRefused, and the errors of a comment on them.
    """
    tip = _find_read_commit(repository, proposal, seen_commit)
    if tip is None:
        raise ProposalEnded(proposal._replace(state=ProposalState.GONE))
    text = read_target_text(repository.workspace.snapshot(tip).document(file), slug)
    return find_source_lines(text, quote, file + (f"#{slug}" if slug else ""))


def _find_read_commit(
    repository: ProposalRepository, proposal: Proposal, seen_commit: str | None
) -> str | None:
    """Return the commit that the author of a comment has read: `seen_commit` if it is in the proposal."""
    tip = _find_discussed_commit(proposal)
    if seen_commit and tip is not None and select_reachable(repository.graph, tip, (seen_commit,)):
        return seen_commit
    return tip


def _build_target(
    repository: ProposalRepository,
    proposal: Proposal,
    text: str,
    file: str | None,
    slug: str | None,
    quote: str,
    *,
    seen_commit: str | None,
) -> tuple[CommentTarget | None, str | None]:
    """Return the target of a comment, and its commit.

    The commit is `seen_commit` if the proposal contains it, else the tip. A comment on removed text has the
    base as its commit. Raises DocumentNotFound, SuggestionRefused for a text with a suggestion that could not
    be applied, and the errors of `build_comment_target`.
    """
    tip = _find_read_commit(repository, proposal, seen_commit)
    if file is None:
        return None, tip
    if tip is None:
        raise ProposalEnded(proposal._replace(state=ProposalState.GONE))
    try:
        document = repository.workspace.snapshot(tip).document(file)
        target = build_comment_target(document, slug, quote)
        if target.quote and read_suggestion(text) is not None:
            target_text = read_target_text(document, target.slug)
            find_replaced_text(target_text, quote, target.path + (f"#{target.slug}" if target.slug else ""))
        return target, tip
    except DocumentNotFound:
        base = proposal.content.base
        base_snapshot = repository.workspace.snapshot(base) if base is not None else None
        if base_snapshot is None or base_snapshot.entry(file) is None:
            raise
        return build_comment_target(base_snapshot.document(file), slug, quote), base


def _find_discussed_commit(proposal: Proposal) -> str | None:
    """Return the tip of a proposal; the merged tip if it was merged."""
    return proposal.merge_record.tip if proposal.merge_record is not None else proposal.tip


def get_comment_values(body: EventBody) -> object:
    """Return the values that the author of a comment chose: text, reply_to, and path and quote of the target.

    Return None for another event.
    """
    if not isinstance(body, Commented):
        return None
    target = body.place
    return body.text, body.reply_to, (target.path, target.quote) if target is not None else None


def _make_no_such_comment_error(proposal: Proposal, id: str) -> InvalidEventText:
    comment_ids = [
        item.id for thread in proposal.content.threads for item in (thread.comment, *thread.replies)
    ]
    nearest_ids = find_nearest(id, comment_ids) or comment_ids[-3:]
    return InvalidEventText(
        f"the proposal '{proposal.id}' has no such comment to reply to",
        fix=f"Reply to one of these: {', '.join(nearest_ids)}."
        if nearest_ids
        else "Comment without reply_to.",
        field="reply_to",
        candidates=nearest_ids,
    )


def _make_seal(
    repository: ProposalRepository, proposal: Proposal, actor: Actor, verdict: ReviewDecision, commit: str
) -> str | None:
    """Return the seal that proves a person's decision, or None if no token proved the person."""
    if actor.person is None:
        return None
    from workspace.proposals.approvals import create_seal

    key = repository.workspace.tokens.key(actor.person.token)
    if key is None:
        return None
    return create_seal(
        key,
        proposal=proposal.id,
        target=proposal.content.target,
        verdict=verdict,
        commit=commit,
        token=actor.person.token,
    )


class RelayedEvent(NamedTuple):
    """An event from a forge: its author, and the key by which it is recognized.

    The key contains a space, which `check_idempotency_key` rejects, so no caller can use the same key.
    """

    body: Commented | Reviewed | Closed | Reopened
    actor: Actor
    key: str


def relay(
    repository: ProposalRepository, id: str, events: Iterable[RelayedEvent]
) -> tuple[RelayedEvent, ...]:
    """Append the new events from a forge in order, and return them.

    Raises ReadOnly, InvalidEventText if the quota is exceeded, Busy, and the errors of `Publication`; events
    appended before an error are preserved.
    """
    require_writable(repository.workspace.git)
    appended_events: list[RelayedEvent] = []
    for event in events:
        if repository.find_events_by_key(id, event.key) is not None:
            continue
        body = replace(event.body, seal=None) if isinstance(event.body, Reviewed) else event.body
        repository.append(id, [body], event.actor, event.key)
        appended_events.append(event)
    return tuple(appended_events)
