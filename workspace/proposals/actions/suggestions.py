"""Suggestions: a comment on quoted words holds their replacement, and a person applies it as a commit.

    ```suggestion
    A client waits a second, then two, then four.
    ```

The author of the commit is the person who applies it; a trailer names the author of the comment. The gate
treats both as authors of the proposal. A suggestion is applied at most once, because its commit has an
idempotency key of the comment.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from workspace.edits.text import ReplaceText, WrongMatchCount
from workspace.git.messages import (
    CO_AUTHOR_TRAILER,
    SUGGESTED_BY_TRAILER,
    format_co_author,
)
from workspace.proposals.actions.discuss import answer
from workspace.proposals.actions.repository import ActionResult
from workspace.proposals.answers import CommentAnswer, find_thread, make_comment_not_found_error
from workspace.proposals.comments import TextStatus, find_comment_location, read_target_text
from workspace.proposals.suggested_text import (
    INFO,
    SuggestionRefused,
    find_replaced_text,
    make_ambiguous_error,
    read_suggestion,
)
from workspace.publishing.after_commit import note_commit, run_with_caveat
from workspace.writing.idempotency import KeyedRequest, compute_call_digest, get_request_log
from workspace.writing.plan import BatchMode, StepStatus
from workspace.writing.write import WriteRequest

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.errors import WorkspaceError
    from workspace.proposals.actions.repository import Actor, ProposalRepository
    from workspace.proposals.proposal import Comment, Proposal, Thread
    from workspace.proposals.suggested_text import Suggestion


def find_applied_commit(branch: Branch, tip: str, comment_id: str) -> str | None:
    """Return the commit of a proposal's branch that applied the suggestion of a comment, or None."""
    recorded = get_request_log(branch).find_by_key(tip, _build_key(comment_id))
    return recorded.commit if recorded is not None else None


def apply_suggestion(
    repository: ProposalRepository, proposal: Proposal, branch: Branch, actor: Actor, comment_id: str
) -> ActionResult:
    """Replace the quoted words of a comment's thread on the proposal's branch, and resolve the thread.

    Raises CommentNotFound, SuggestionRefused, and the errors of writing.
    """
    thread = find_thread(proposal.content.threads, comment_id)
    if thread is None:
        raise make_comment_not_found_error(proposal.content.threads, comment_id, "comment")
    comment = next(item for item in (thread.comment, *thread.replies) if item.id == comment_id)
    suggestion = read_suggestion(comment.text)
    if suggestion is None:
        raise SuggestionRefused(
            f"the comment '{comment_id}' does not have exactly one suggestion",
            fix="Write the new text in one code fence with the info string 'suggestion'.",
        )
    key, digest = _build_key(comment_id), compute_call_digest(INFO, {"comment": comment_id})
    request = KeyedRequest(key, digest, lambda _: {"comment": comment_id})
    tip = branch.tip()
    is_applied = get_request_log(branch).find_recorded_request(tip, request) is not None
    operation = None if is_applied else _build_operation(branch, thread, suggestion)
    if operation is None:
        return ActionResult(proposal, find_applied_commit(branch, tip or "", comment_id), False)
    with branch.writer_lock:
        result = WriteRequest(
            workspace=branch,
            operations=[operation],
            mode=BatchMode.ALL,
            tool=actor.tool,
            client=actor.client,
            message=f"Apply the suggestion of {comment.author.name} to {operation.file}",
            dry_run=False,
            base_commit=None,
            seen_texts=None,
            keyed_request=request,
            check_new_request=None,  # the branch is a proposal's
            person=actor.person,
            trailers=_build_trailers(comment, actor),
        ).write()
    for step in result.steps:
        if step.status is StepStatus.FAILED and step.error is not None:
            raise _explain_failure(step.error, operation)
    if result.recorded_request is not None:
        return ActionResult(repository.read_latest(proposal), result.commit, False)
    if not result.is_committed:
        raise SuggestionRefused(
            "the suggestion changes nothing", fix="Reply to the comment, or resolve its thread."
        )
    note_commit(result.commit, proposal=proposal.id)
    resolution = [CommentAnswer(comment_id, is_resolved=True)]
    resolve = partial(answer, repository, proposal.id, actor, resolution, None, dry_run=False)
    run_with_caveat(resolve, None, "the thread of the suggestion is not resolved")
    note_commit(result.commit, proposal=proposal.id)
    return ActionResult(repository.read_latest(proposal), result.commit, True)


def _build_key(comment_id: str) -> str:
    return f"{INFO}-{comment_id}"


def _build_operation(branch: Branch, thread: Thread, suggestion: Suggestion) -> ReplaceText:
    """Return the replacement of the quoted words where they are now; line breaks of the quote are ignored."""
    target = thread.comment.target
    if target is None or not target.quote:
        raise SuggestionRefused(
            "the comment quotes no words that the suggestion could replace",
            fix="Select the words to replace, and comment on them.",
        )
    snapshot = branch.snapshot()
    location = find_comment_location(thread.comment, snapshot)
    address = target.path + (f"#{target.slug}" if target.slug else "")
    if location is None or location.status not in (TextStatus.HERE, TextStatus.MOVED):
        raise SuggestionRefused(
            f"the quoted words are no longer in {address}",
            fix="Edit the section yourself, or comment on the current text.",
        )
    text = read_target_text(snapshot.document(location.path), location.slug)
    old_text = find_replaced_text(text, target.quote, address)
    return ReplaceText(file=location.path, slug=location.slug, old=old_text, new=suggestion.new_text)


def _explain_failure(error: WorkspaceError, operation: ReplaceText) -> WorkspaceError:
    """Return the error of a failed replacement in the words of a suggestion."""
    address = operation.file + (f"#{operation.slug}" if operation.slug else "")
    if isinstance(error, WrongMatchCount):
        if not error.details["matches"]:
            return SuggestionRefused(
                f"the quoted words are no longer in {address}",
                fix="Edit the section yourself, or comment on the current text.",
            )
        return make_ambiguous_error(error.details["matches"], address)
    if error.code == "STRUCTURE_CHANGED":
        return SuggestionRefused(
            f"the suggestion would add, remove or rename a section of {operation.file}",
            fix="Edit the document yourself, or suggest text without headings.",
        )
    return error


def _build_trailers(comment: Comment, actor: Actor) -> dict[str, str]:
    """Return the trailers that name the author of a suggestion, and a person whom only Git identifies."""
    return {
        **actor.decision_trailers,
        SUGGESTED_BY_TRAILER: comment.author.known_by.value,
        CO_AUTHOR_TRAILER: format_co_author(comment.author.name, comment.author.email),
    }
