"""Answers to comments: replies to threads, and resolutions of threads, which one call appends together."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.proposals.events import Commented, InvalidEventText, Resolved, validate_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workspace.proposals.events import EventBody
    from workspace.proposals.proposal import Thread

MAX_ANSWERS = 100
"""The maximum number of answers of one call."""


class CommentNotFound(WorkspaceError):
    """An error: there is no comment with this id. `candidates` are the nearest ids."""

    code: ClassVar[str] = "COMMENT_NOT_FOUND"


class CommentAnswer(NamedTuple):
    """An answer to the thread of a comment: a reply, a resolution or reopening of the thread, or both.

    An empty `text` means no reply. `is_resolved` is None if the resolution of the thread does not change.
    """

    comment: str
    text: str = ""
    is_resolved: bool | None = None


def find_thread(threads: Iterable[Thread], id: str) -> Thread | None:
    """Return the thread with a comment or reply of this id, or None."""
    for thread in threads:
        if id == thread.comment.id or any(id == reply.id for reply in thread.replies):
            return thread
    return None


def make_comment_not_found_error(threads: Iterable[Thread], id: str, field: str) -> CommentNotFound:
    """Return the error for an unknown id of a comment, with the nearest ids, else the last ones."""
    ids = [*_list_ids(threads)]
    nearest_ids = find_nearest(id[:60], ids) or ids[-3:]
    return CommentNotFound(
        f"no comment '{id[:60]}'",
        fix=f"Name one of these: {', '.join(nearest_ids)}." if nearest_ids else "There are no comments yet.",
        field=field,
        candidates=nearest_ids,
    )


def build_answer_events(
    threads: Sequence[Thread], answers: Sequence[CommentAnswer], commit: str | None
) -> list[EventBody]:
    """Return the events of answers in order: for each, its reply and then its resolution.

    `commit` is the commit that the author of the answers has read. Raises CommentNotFound, and
    InvalidEventText for an empty answer, a text that is too long, and two answers to one comment.
    """
    if not 0 < len(answers) <= MAX_ANSWERS:
        raise InvalidEventText(
            f"the number of answers is {len(answers):,}; the limit is {MAX_ANSWERS}"
            if answers
            else "there are no answers",
            fix=f"Give 1 to {MAX_ANSWERS} answers.",
            field="answers",
        )
    bodies: list[EventBody] = []
    answered_ids: set[str] = set()
    for answer in answers:
        thread = find_thread(threads, answer.comment)
        if thread is None:
            raise make_comment_not_found_error(threads, answer.comment, "comment")
        if thread.comment.id in answered_ids:
            raise InvalidEventText(
                f"two answers are for the thread of the comment '{thread.comment.id}'",
                fix="Put both into one answer.",
                field="comment",
            )
        answered_ids.add(thread.comment.id)
        if not answer.text.strip() and answer.is_resolved is None:
            raise InvalidEventText(
                f"the answer to the comment '{answer.comment}' is empty",
                fix="Give a text, or resolve the comment.",
                field="text",
            )
        if answer.text.strip():
            text = validate_text(answer.text, "answer")
            bodies.append(Commented(text, commit=commit, reply_to=answer.comment))
        if answer.is_resolved is not None:
            bodies.append(Resolved(thread.comment.id, answer.is_resolved))
    return bodies


def changes_threads(threads: Sequence[Thread], bodies: Iterable[EventBody]) -> bool:
    """Return True if events of answers change a thread; a resolution of a resolved thread does not."""
    resolved_ids = {thread.comment.id for thread in threads if thread.resolution is not None}
    return any(
        not isinstance(body, Resolved) or (body.thread in resolved_ids) != body.is_resolved for body in bodies
    )


def _list_ids(threads: Iterable[Thread]) -> Iterator[str]:
    for thread in threads:
        yield from (comment.id for comment in (thread.comment, *thread.replies))
