"""Answers with the discussion of a proposal: its comments, its reviews, or its description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.pages import cut_text, read_list_cursor, write_list_cursor
from tools.proposals.comments import (
    MAX_COMMENTS_BYTES,
    describe_location,
    describe_resolution,
    read_comments_cursor,
    read_comments_page,
    select_fitting_entries,
    write_comments_cursor,
)
from tools.proposals.descriptions import build_comment_call, describe_comment, describe_proposal
from tools.proposals.review_state import describe_review, find_void_approvals
from tools.tool import Answer, Call, NextStep, call
from workspace.escapes import escape_invisible
from workspace.nearest import find_nearest
from workspace.proposals.answers import CommentNotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.proposals.comments import CommentLocation
    from tools.tool import Context, Data
    from workspace.proposals.proposal import Comment, Proposal, Thread

_MAX_TEXT_CHARACTERS = 10_000  # a character may have three bytes, and the page is sent twice
_MAX_REPLIES_BYTES = 15_000  # in addition to the text of the comment


def view_comments(
    context: Context, proposal: Proposal, location: CommentLocation, limit: int, cursor: str | None
) -> Answer:
    """Return a page of the threads; only those of a document or section if `location` names one."""
    first_index = read_comments_cursor(context, proposal, location, cursor)
    max_bytes = min(MAX_COMMENTS_BYTES, context.text_characters)
    page = read_comments_page(context, proposal, first_index, limit, location, max_bytes)
    next_cursor = write_comments_cursor(context, proposal, location, page.next_index)
    if next_cursor is not None:
        step = NextStep("See more with ", build_comments_call(proposal, location, next_cursor, limit=limit))
    else:
        step = _build_reply_step(context, proposal, page.threads[-1]["comment"] if page.threads else None)
    data: Data = {"comments": page.threads, "comments_total": page.total, "next_cursor": next_cursor}
    return _build_answer(context, proposal, data, step)


def build_comments_call(
    proposal: Proposal, location: CommentLocation, cursor: str | None = None, **fields: object
) -> Call:
    """Return the call for all threads, or those of a location."""
    pairs = zip(("file", "slug"), location, strict=True)
    arguments: Data = {name: value for name, value in pairs if value is not None}
    arguments |= {"comments": True, **fields, **({"cursor": cursor} if cursor is not None else {})}
    return call("view_proposal", proposal=proposal.id, **arguments)


def view_reviews(context: Context, proposal: Proposal, limit: int, cursor: str | None) -> Answer:
    """Return a page of the reviews, oldest first."""
    criteria = ["reviews", proposal.id]
    first_index = (
        int(read_list_cursor(context.signing_keys, cursor, None, criteria)) if cursor is not None else 0
    )
    void_reasons = find_void_approvals(context, proposal)
    page = proposal.reviews[first_index : first_index + limit]
    entries = select_fitting_entries(
        (describe_review(review_status, void_reasons, proposal.id) for review_status in page),
        min(MAX_COMMENTS_BYTES, context.text_characters),
    )
    next_index = first_index + len(entries)
    next_cursor = (
        write_list_cursor(context.signing_keys, str(next_index), None, criteria)
        if next_index < len(proposal.reviews)
        else None
    )
    if next_cursor is not None:
        next_page: Data = {"reviews": True, "limit": limit, "cursor": next_cursor}
        step = NextStep("See more with ", call("view_proposal", proposal=proposal.id, **next_page))
    else:
        step = _build_view_step(proposal)
    data: Data = {"reviews": entries, "reviews_total": len(proposal.reviews), "next_cursor": next_cursor}
    return _build_answer(context, proposal, data, step)


def view_comment(
    context: Context, proposal: Proposal, id: str, offset: int | None, limit: int, cursor: str | None
) -> Answer:
    """Return one comment from a character, with a page of its replies; or one review.

    Raises CommentNotFound.
    """
    for review in proposal.reviews:
        if review.review.id == id:
            review_fields = describe_review(review, find_void_approvals(context, proposal), proposal.id)
            text, next_offset = _cut_comment(context, review.review.text, offset)
            step = (
                _build_view_step(proposal)
                if next_offset is None
                else _build_continue_step(proposal, id, next_offset)
            )
            data: Data = {
                "reviews": [{**_drop_rest_field(review_fields), "text": text}],
                "next_offset": next_offset,
            }
            return _build_answer(context, proposal, data, step)
    for thread_index, thread in enumerate(proposal.content.threads):
        if thread.comment.id == id:
            return _view_thread(context, proposal, thread_index, offset, limit, cursor)
        for reply in thread.replies:
            if reply.id == id:
                return _view_reply(context, proposal, thread, reply, offset)
    nearest = find_nearest(id, [*_list_comment_ids(proposal)])
    raise CommentNotFound(
        f"the proposal has no comment or review with the id '{id[:60]}'",
        fix=f"Name one of these: {', '.join(nearest)}." if nearest else "Use an id that view_proposal shows.",
        candidates=nearest,
        field="comment",
    )


def view_description(context: Context, proposal: Proposal, offset: int) -> Answer:
    """Return the description from a character."""
    max_characters = _compute_max_characters(context)
    text, next_offset = cut_text(escape_invisible(proposal.content.description), offset, max_characters)
    rest_call = call("view_proposal", proposal=proposal.id, offset=next_offset)
    step = (
        NextStep("Read the rest with ", rest_call) if next_offset is not None else _build_view_step(proposal)
    )
    return _build_answer(context, proposal, {"description": text, "next_offset": next_offset}, step)


def _view_thread(
    context: Context,
    proposal: Proposal,
    thread_index: int,
    offset: int | None,
    limit: int,
    cursor: str | None,
) -> Answer:
    """Return a comment with a page of its replies; later pages have only the beginning of its text."""
    comment, replies, _ = proposal.content.threads[thread_index]
    criteria = ["replies", proposal.id, comment.id]
    first_index = (
        int(read_list_cursor(context.signing_keys, cursor, None, criteria)) if cursor is not None else 0
    )
    [located_thread] = (
        context.workspace.proposal_reviews().comments(proposal, after=thread_index, limit=1).threads
    )
    comment_fields, next_offset = describe_comment(comment, build_comment_call(proposal.id, comment.id)), None
    if cursor is None or offset is not None:
        text, next_offset = _cut_comment(context, comment.text, offset)
        comment_fields = {**_drop_rest_field(comment_fields), "text": text}
    page = (
        describe_comment(reply, build_comment_call(proposal.id, reply.id))
        for reply in replies[first_index : first_index + limit]
    )
    reply_entries = select_fitting_entries(page, min(_MAX_REPLIES_BYTES, context.text_characters))
    next_index = first_index + len(reply_entries)
    next_cursor = (
        write_list_cursor(context.signing_keys, str(next_index), None, criteria)
        if next_index < len(replies)
        else None
    )
    thread = {
        **comment_fields,
        **describe_resolution(located_thread.thread),
        **describe_location(located_thread),
        "replies": reply_entries,
        "replies_total": len(replies),
    }
    data: Data = {"comments": [thread], "next_offset": next_offset, "next_cursor": next_cursor}
    if next_offset is not None:
        step = _build_continue_step(proposal, comment.id, next_offset)
    elif next_cursor is not None:
        next_page: Data = {"comment": comment.id, "limit": limit, "cursor": next_cursor}
        step = NextStep("See more replies with ", call("view_proposal", proposal=proposal.id, **next_page))
    else:
        step = _build_reply_step(context, proposal, comment.id)
    return _build_answer(context, proposal, data, step)


def _view_reply(
    context: Context, proposal: Proposal, thread: Thread, reply: Comment, offset: int | None
) -> Answer:
    text, next_offset = _cut_comment(context, reply.text, offset)
    comment_fields = {
        **_drop_rest_field(describe_comment(reply, build_comment_call(proposal.id, reply.id))),
        "text": text,
        "reply_to": thread.comment.id,
    }
    step = (
        _build_reply_step(context, proposal, reply.id)
        if next_offset is None
        else _build_continue_step(proposal, reply.id, next_offset)
    )
    data: Data = {"comments": [{**comment_fields, "replies": []}], "next_offset": next_offset}
    return _build_answer(context, proposal, data, step)


def _cut_comment(context: Context, text: str, offset: int | None) -> tuple[str, int | None]:
    return cut_text(escape_invisible(text), offset or 0, _compute_max_characters(context))


def _compute_max_characters(context: Context) -> int:
    return min(_MAX_TEXT_CHARACTERS, context.text_characters)


def _drop_rest_field(fields: Data) -> Data:
    return {name: value for name, value in fields.items() if name != "rest"}


def _build_continue_step(proposal: Proposal, id: str, offset: int) -> NextStep:
    return NextStep(
        "Read the rest with ", call("view_proposal", proposal=proposal.id, comment=id, offset=offset)
    )


def _build_reply_step(context: Context, proposal: Proposal, id: str | None) -> NextStep:
    if not context.offers("update_proposal"):
        return NextStep("See its changes with ", call("view_proposal", proposal=proposal.id))
    reply_field = {"reply_to": id} if id is not None else {}
    fields = {"proposal": proposal.id, "action": "comment", "text": "…", **reply_field}
    return NextStep("Add a comment: ", call("update_proposal", **fields))


def _build_view_step(proposal: Proposal) -> NextStep:
    return NextStep("View the proposal with ", call("view_proposal", proposal=proposal.id))


def _list_comment_ids(proposal: Proposal) -> Iterator[str]:
    for review_status in proposal.reviews:
        yield review_status.review.id
    for thread in proposal.content.threads:
        yield from (comment.id for comment in (thread.comment, *thread.replies))


def _build_answer(context: Context, proposal: Proposal, data: Data, step: NextStep) -> Answer:
    commit = proposal.tip or context.workspace.tip()
    return Answer({**describe_proposal(proposal), **data, "commit": commit, "next_step": step})
