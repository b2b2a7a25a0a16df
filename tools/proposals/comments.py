"""The comments on a proposal, with the current location of the text that each one is about."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tools.pages import read_list_cursor, write_list_cursor
from tools.proposals.descriptions import build_comment_call, describe_author, describe_comment, format_time
from workspace.escapes import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tools.tool import Call, Context, Data
    from workspace.proposals.comments import LocatedThread
    from workspace.proposals.proposal import Proposal, Thread

MAX_COMMENTS_BYTES = 40_000
"""The limit of a page of comments. A page is sent twice; 25,000 tokens are about 100,000 bytes."""

_MAX_REPLIES = 10

CommentLocation = tuple[str | None, str | None]
"""A document and a section of it; None if the comments are not restricted to one."""


class CommentsPage(NamedTuple):
    """Threads, oldest first, the total number of threads, and the index of the next thread."""

    threads: list[Data]
    total: int
    next_index: int | None


def read_comments_page(
    context: Context,
    proposal: Proposal,
    first_index: int,
    limit: int,
    location: CommentLocation,
    max_bytes: int = MAX_COMMENTS_BYTES,
) -> CommentsPage:
    """Return a page of threads within a limit; only those of `location` if it names a document.

    A page of a location may be empty although another page follows.
    """
    page = context.workspace.proposal_reviews().comments(
        proposal, after=first_index, limit=limit, location=location
    )
    threads: list[Data] = []
    for located_thread in page.threads:
        data = describe_thread(located_thread, partial(build_comment_call, proposal.id), max_bytes)
        max_bytes -= measure_json_size(data)
        if threads and max_bytes < 0:
            return CommentsPage(threads, page.total, located_thread.position)
        threads.append(data)
    return CommentsPage(threads, page.total, page.next)


def write_comments_cursor(
    context: Context, proposal: Proposal, location: CommentLocation, next_index: int | None
) -> str | None:
    """Return the cursor of a page of threads; None after the last page."""
    return (
        None
        if next_index is None
        else write_list_cursor(
            context.signing_keys, str(next_index), None, _build_criteria(proposal, location)
        )
    )


def read_comments_cursor(
    context: Context, proposal: Proposal, location: CommentLocation, cursor: str | None
) -> int:
    """Return the index of the first thread of a page. Raises InvalidCursor."""
    return (
        int(read_list_cursor(context.signing_keys, cursor, None, _build_criteria(proposal, location)))
        if cursor is not None
        else 0
    )


def _build_criteria(proposal: Proposal, location: CommentLocation) -> list[object]:
    return ["comments", proposal.id, *location]


def measure_json_size(data: object) -> int:
    """Return the size of data as JSON, in bytes."""
    return len(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def select_fitting_entries(entries: Iterable[Data], max_bytes: int) -> list[Data]:
    """Return the first entries within a budget, at least one."""
    fitting_entries: list[Data] = []
    for data in entries:
        max_bytes -= measure_json_size(data)
        if fitting_entries and max_bytes < 0:
            break
        fitting_entries.append(data)
    return fitting_entries


def describe_location(located_thread: LocatedThread) -> Data:
    """Return the location and quotation of a thread, and the current state of the text."""
    comment = located_thread.thread.comment
    data: Data = {}
    if comment.target is not None:
        data |= {"file": escape_invisible(comment.target.path), "slug": comment.target.slug}
        if comment.target.quote:
            data["quote"] = escape_invisible(comment.target.quote)
    if (location := located_thread.location) is not None:
        data["now"] = location.status.value
        if location.status.value == "moved":
            data["now_at"] = {"file": escape_invisible(location.path), "slug": location.slug}
    return data


def describe_resolution(thread: Thread) -> Data:
    """Return who resolved a thread, and when; empty for an open thread."""
    if thread.resolution is None:
        return {}
    author, time = thread.resolution
    return {"resolved": {"author": describe_author(author), "time": format_time(time)}}


def describe_thread(located_thread: LocatedThread, build_view: Callable[[str], Call], max_bytes: int) -> Data:
    """Return a thread with its location and first replies; `build_view` returns the call for a comment."""
    comment, replies, _ = located_thread.thread
    data = {
        **describe_comment(comment, build_view(comment.id)),
        **describe_resolution(located_thread.thread),
        **describe_location(located_thread),
        "replies": [],
    }
    if replies:
        reply_entries = (describe_comment(reply, build_view(reply.id)) for reply in replies[:_MAX_REPLIES])
        data["replies"] = select_fitting_entries(reply_entries, max_bytes - measure_json_size(data))
        if omitted_count := len(replies) - len(data["replies"]):
            data["more_replies"] = omitted_count
            data["replies_rest"] = str(build_view(comment.id))
    return data
