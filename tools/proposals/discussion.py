"""The discussion of a proposal: its comments, its reviews, one of them in full, and its description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.errors import escape_invisible
from tools.pages import cut_text, read_place, write_place
from tools.proposals.comments import (
    MAX_COMMENTS_BYTES,
    comments_cursor,
    comments_page,
    place_data,
    read_comments_cursor,
    select_fitting,
)
from tools.proposals.descriptions import comment_data, describe_proposal
from tools.proposals.review_state import review_data, void_of
from tools.tool import Answer, Call, NextStep, call
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.proposals.comments import CommentPlace
    from tools.tool import Context, Data
    from workspace.proposals.proposal import Comment, Proposal, Thread

_WHOLE = 10_000  # characters of one text on a page: three bytes each in some scripts, and they go out twice
_REPLIES_ROOM = 15_000  # bytes of the answers beside it


class CommentNotFound(WorkspaceError):
    """No remark and no review of the proposal has this id. `candidates` are the nearest ids."""

    code = "COMMENT_NOT_FOUND"


def view_comments(
    context: Context, proposal: Proposal, place: CommentPlace, limit: int, cursor: str | None
) -> Answer:
    """Return a page of the threads, of a document or a section alone if `place` names one."""
    first = read_comments_cursor(proposal, place, cursor)
    said = comments_page(context, proposal, first, limit, place)
    after = comments_cursor(proposal, place, said.next)
    if after is not None:
        step = NextStep("See more with ", comments_call(proposal, place, after, limit=limit))
    else:
        step = _reply_call(context, proposal, said.threads[-1]["comment"] if said.threads else None)
    data: Data = {"comments": said.threads, "comments_total": said.total, "next_cursor": after}
    return _answer(context, proposal, data, step)


def comments_call(
    proposal: Proposal, place: CommentPlace, cursor: str | None = None, **fields: object
) -> Call:
    """Return the call for the threads of a place, or all of them."""
    named = zip(("file", "slug"), place, strict=True)
    given: Data = {name: value for name, value in named if value is not None}
    given |= {"comments": True, **fields, **({"cursor": cursor} if cursor is not None else {})}
    return call("view_proposal", proposal=proposal.id, **given)


def view_reviews(context: Context, proposal: Proposal, limit: int, cursor: str | None) -> Answer:
    """Return a page of the reviews, the first one first."""
    search = ["reviews", proposal.id]
    first = int(read_place(cursor, None, search)) if cursor is not None else 0
    void = void_of(context, proposal)
    page = proposal.reviews[first : first + limit]
    shown = select_fitting((review_data(bound, void, proposal.id) for bound in page), MAX_COMMENTS_BYTES)
    end = first + len(shown)
    after = write_place(str(end), None, search) if end < len(proposal.reviews) else None
    if after is not None:
        again: Data = {"reviews": True, "limit": limit, "cursor": after}
        step = NextStep("See more with ", call("view_proposal", proposal=proposal.id, **again))
    else:
        step = _view_call(proposal)
    data: Data = {"reviews": shown, "reviews_total": len(proposal.reviews), "next_cursor": after}
    return _answer(context, proposal, data, step)


def view_comment(
    context: Context, proposal: Proposal, id: str, offset: int | None, limit: int, cursor: str | None
) -> Answer:
    """Return one remark from a character on, and a page of the answers to it; or one review.

    Raises CommentNotFound.
    """
    for bound in proposal.reviews:
        if bound.review.id == id:
            told = review_data(bound, void_of(context, proposal), proposal.id)
            text, after = _part(bound.review.text, offset)
            step = _view_call(proposal) if after is None else _continue_call(proposal, id, after)
            data: Data = {"reviews": [{**_without_cut(told), "text": text}], "next_offset": after}
            return _answer(context, proposal, data, step)
    for number, thread in enumerate(proposal.words.threads):
        if thread.comment.id == id:
            return _view_thread(context, proposal, number, offset, limit, cursor)
        for reply in thread.replies:
            if reply.id == id:
                return _view_reply(context, proposal, thread, reply, offset)
    close = find_nearest(id, [*_ids(proposal)])
    raise CommentNotFound(
        f"the proposal has no comment or review with the id '{id[:60]}'",
        fix=f"Name one of these: {', '.join(close)}." if close else "Take an id that view_proposal shows.",
        candidates=close,
        field="comment",
    )


def view_description(context: Context, proposal: Proposal, offset: int) -> Answer:
    """Return the description from a character on."""
    text, after = cut_text(escape_invisible(proposal.words.description), offset, _WHOLE)
    read_on = call("view_proposal", proposal=proposal.id, offset=after)
    step = NextStep("Read on with ", read_on) if after is not None else _view_call(proposal)
    return _answer(context, proposal, {"description": text, "next_offset": after}, step)


def _view_thread(
    context: Context, proposal: Proposal, number: int, offset: int | None, limit: int, cursor: str | None
) -> Answer:
    """Return a remark, whole unless only more of the answers to it are asked for."""
    comment, replies = proposal.words.threads[number]
    search = ["replies", proposal.id, comment.id]
    first = int(read_place(cursor, None, search)) if cursor is not None else 0
    [placed] = context.workspace.reviewing().comments(proposal, after=number, limit=1).threads
    told, next_offset = comment_data(comment, proposal.id), None
    if cursor is None or offset is not None:
        text, next_offset = _part(comment.text, offset)
        told = {**_without_cut(told), "text": text}
    page = (comment_data(reply, proposal.id) for reply in replies[first : first + limit])
    shown = select_fitting(page, _REPLIES_ROOM)
    end = first + len(shown)
    after = write_place(str(end), None, search) if end < len(replies) else None
    thread = {**told, **place_data(placed), "replies": shown, "replies_total": len(replies)}
    data: Data = {"comments": [thread], "next_offset": next_offset, "next_cursor": after}
    if next_offset is not None:
        step = _continue_call(proposal, comment.id, next_offset)
    elif after is not None:
        again: Data = {"comment": comment.id, "limit": limit, "cursor": after}
        step = NextStep("See more answers with ", call("view_proposal", proposal=proposal.id, **again))
    else:
        step = _reply_call(context, proposal, comment.id)
    return _answer(context, proposal, data, step)


def _view_reply(
    context: Context, proposal: Proposal, thread: Thread, reply: Comment, offset: int | None
) -> Answer:
    text, after = _part(reply.text, offset)
    told = {**_without_cut(comment_data(reply, proposal.id)), "text": text, "reply_to": thread.comment.id}
    step = (
        _reply_call(context, proposal, reply.id)
        if after is None
        else _continue_call(proposal, reply.id, after)
    )
    data: Data = {"comments": [{**told, "replies": []}], "next_offset": after}
    return _answer(context, proposal, data, step)


def _part(text: str, offset: int | None) -> tuple[str, int | None]:
    return cut_text(escape_invisible(text), offset or 0, _WHOLE)


def _without_cut(told: Data) -> Data:
    return {name: value for name, value in told.items() if name != "rest"}


def _continue_call(proposal: Proposal, id: str, offset: int) -> NextStep:
    return NextStep("Read on with ", call("view_proposal", proposal=proposal.id, comment=id, offset=offset))


def _reply_call(context: Context, proposal: Proposal, id: str | None) -> NextStep:
    if not context.offers("update_proposal"):
        return NextStep("See what it changes with ", call("view_proposal", proposal=proposal.id))
    answer = {"reply_to": id} if id is not None else {}
    fields = {"proposal": proposal.id, "action": "comment", "text": "…", **answer}
    return NextStep("Say something: ", call("update_proposal", **fields))


def _view_call(proposal: Proposal) -> NextStep:
    return NextStep("See all of it with ", call("view_proposal", proposal=proposal.id))


def _ids(proposal: Proposal) -> Iterator[str]:
    for bound in proposal.reviews:
        yield bound.review.id
    for thread in proposal.words.threads:
        yield from (comment.id for comment in (thread.comment, *thread.replies))


def _answer(context: Context, proposal: Proposal, data: Data, step: NextStep) -> Answer:
    commit = proposal.tip or context.workspace.tip()
    return Answer({**describe_proposal(proposal), **data, "commit": commit, "next_step": step})
