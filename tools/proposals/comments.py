"""The comments on a proposal, with where the text is now that they are about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from tools.errors import escape_invisible
from tools.pages import read_place, write_place
from tools.proposals.descriptions import comment_data
from tools.tool import call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.tool import Context, Data
    from workspace.proposals.comments import PlacedThread
    from workspace.proposals.proposal import Proposal

MAX_COMMENTS_BYTES = 40_000
"""Bytes of data on a page of what is said: they go out twice, and 25,000 tokens are about 100,000 bytes."""

_REPLIES = 10

CommentPlace = tuple[str | None, str | None]
"""A document and a section of it, or nothing."""


class CommentsPage(NamedTuple):
    """Threads in the order in which they were begun, how many there are in all, and where more begin."""

    threads: list[Data]
    total: int
    next: int | None


def comments_page(
    context: Context,
    proposal: Proposal,
    first: int,
    limit: int,
    place: CommentPlace,
    room: int = MAX_COMMENTS_BYTES,
) -> CommentsPage:
    """Return a page of threads, as many as there is room for; those of `place` alone, if it names a document.

    A page of a place can have none and be followed by another.
    """
    page = context.workspace.reviewing().comments(proposal, after=first, limit=limit, at=place)
    found: list[Data] = []
    for placed in page.threads:
        data = _thread(placed, proposal.id, room)
        room -= size_of(data)
        if found and room < 0:
            return CommentsPage(found, page.total, placed.number)
        found.append(data)
    return CommentsPage(found, page.total, page.next)


def comments_cursor(proposal: Proposal, place: CommentPlace, next: int | None) -> str | None:
    """Return the cursor of a page of threads; None after the last one."""
    return None if next is None else write_place(str(next), None, _search(proposal, place))


def read_comments_cursor(proposal: Proposal, place: CommentPlace, cursor: str | None) -> int:
    """Return where a page of threads begins. Raises InvalidCursor."""
    return int(read_place(cursor, None, _search(proposal, place))) if cursor is not None else 0


def _search(proposal: Proposal, place: CommentPlace) -> list[object]:
    return ["comments", proposal.id, *place]


def size_of(data: object) -> int:
    """Return the bytes of data as JSON."""
    return len(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def select_fitting(entries: Iterable[Data], room: int) -> list[Data]:
    """Return the first entries that there is room for, one at least."""
    found: list[Data] = []
    for data in entries:
        room -= size_of(data)
        if found and room < 0:
            break
        found.append(data)
    return found


def place_data(placed: PlacedThread) -> Data:
    """Return what a thread is about, and what became of that."""
    comment = placed.thread.comment
    data: Data = {}
    if comment.place is not None:
        data |= {"file": escape_invisible(comment.place.path), "slug": comment.place.slug}
        if comment.place.quote:
            data["quote"] = escape_invisible(comment.place.quote)
    if (standing := placed.standing) is not None:
        data["now"] = standing.now.value
        if standing.now.value == "moved":
            data["now_at"] = {"file": escape_invisible(standing.path), "slug": standing.slug}
    return data


def _thread(placed: PlacedThread, proposal: str, room: int) -> Data:
    comment, replies = placed.thread
    data = {**comment_data(comment, proposal), **place_data(placed), "replies": []}
    if replies:
        shown = (comment_data(reply, proposal) for reply in replies[:_REPLIES])
        data["replies"] = select_fitting(shown, room - size_of(data))
        if more := len(replies) - len(data["replies"]):
            data["more_replies"] = more
            data["replies_rest"] = str(call("view_proposal", proposal=proposal, comment=comment.id))
    return data
