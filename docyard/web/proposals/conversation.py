"""What is said of a proposal, in order: comments with their answers, reviews, and what was done.

The words of people as HTML: descriptions, comments and reviews, which are Markdown.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.view import VOID_REASONS
from docyard.web.diff import format_element_id
from docyard.web.templates import mark_trusted
from docyard.wording import format_author, shorten_id
from workspace.proposals.approvals import find_void_reason
from workspace.proposals.events import (
    Closed,
    Commented,
    Edited,
    Refreshed,
    Reopened,
    ReviewDecision,
    Reviewed,
    Submitted,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

    from docyard.web.page_request import PageRequest
    from workspace.proposals.approvals import VoidReason
    from workspace.proposals.comments import AnchoredThread
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import Comment, Proposal
    from workspace.proposals.review.changes import CommitChanges


def render_text(asked: PageRequest, text: str, path: str = "") -> Markup:
    """Return a text as safe HTML; its links lead to the served branch, relative to a document's path."""
    from workspace.rendering.renderer import render_text

    snapshot = asked.workspace.snapshot()
    return mark_trusted(render_text(text, urls=asked.urls.at(None), snapshot=snapshot, base_path=path))


PAGE = 100
"""Entries of one page: each comment may ask for two versions of a document."""

_VERDICTS = {
    ReviewDecision.APPROVE: "approved this",
    ReviewDecision.REQUEST_CHANGES: "asked for changes",
    ReviewDecision.COMMENT: "reviewed this",
}

_NOW = {
    "here": "",
    "moved": "its text has moved",
    "outdated": "its text has changed since",
    "gone": "its text is gone",
}


class CommentView(NamedTuple):
    """A comment, or an answer to one."""

    id: str
    author: str
    time: datetime
    text: Markup


class ThreadView(NamedTuple):
    """A comment with its answers.

    `place` is what it is about, `url` leads there, and `now` says what became of it.
    """

    remark: CommentView
    replies: tuple[CommentView, ...]
    place: str
    quote: str
    now: str
    url: str


class ConversationEntry(NamedTuple):
    """Something that was said or done: a thread, or a sentence with perhaps some words below it.

    `verdict` is that of a review, and `void` why it does not count.
    """

    id: str
    author: str
    time: datetime
    sentence: str = ""
    text: Markup | None = None
    verdict: str = ""
    void: str = ""
    thread: ThreadView | None = None


class Conversation(NamedTuple):
    """Entries of one page, of `total`; `first` counts from 0, and `before` is that of the page before."""

    entries: tuple[ConversationEntry, ...]
    total: int
    first: int
    before: int


def build_conversation(
    asked: PageRequest,
    one: Proposal,
    changes: CommitChanges,
    void: Mapping[str, VoidReason],
    first: int | None,
) -> Conversation:
    """Return a page of what is said, from an entry on; the last one where none is named."""
    numbers = {thread.comment.id: number for number, thread in enumerate(one.content.threads)}
    events = [event for event in asked.workspace.proposing().list_events(one) if _is_shown(event, numbers)]
    last = max(0, len(events) - PAGE)
    first = last if first is None else min(max(0, first), max(0, len(events) - 1))
    page = events[first : first + PAGE]
    threads = _threads(asked, one, changes, [numbers[event.id] for event in page if event.id in numbers])
    voids = {bound.review.id: find_void_reason(bound, void) for bound in one.reviews}
    entries = tuple(_entry(asked, event, threads.get(event.id), voids.get(event.id)) for event in page)
    return Conversation(entries, len(events), first, max(0, first - PAGE))


def build_thread_views(
    asked: PageRequest, one: Proposal, changes: CommitChanges, placed: Sequence[AnchoredThread]
) -> list[ThreadView]:
    """Return the views of threads."""
    sections = {
        (document.path, change.section) for document in changes.documents for change in document.sections
    }
    paths = changes.paths
    return [_thread(asked, one, thread, sections, paths) for thread in placed]


def _is_shown(event: Event, threads: Mapping[str, int]) -> bool:
    if isinstance(event.body, Commented):
        return event.id in threads
    return isinstance(event.body, (Reviewed, Submitted, Refreshed, Closed, Reopened, Edited))


def _threads(
    asked: PageRequest, one: Proposal, changes: CommitChanges, numbers: Sequence[int]
) -> dict[str, ThreadView]:
    if not numbers:
        return {}
    first = min(numbers)
    found = asked.workspace.reviewing().comments(one, after=first, limit=max(numbers) - first + 1)
    return {thread.remark.id: thread for thread in build_thread_views(asked, one, changes, found.threads)}


def _entry(
    asked: PageRequest, event: Event, thread: ThreadView | None, void: VoidReason | None
) -> ConversationEntry:
    entry = ConversationEntry(event.id, format_author(event.author), event.time, thread=thread)
    match event.body:
        case Reviewed() as words:
            return entry._replace(
                sentence=f"{_VERDICTS[words.verdict]}, as of {shorten_id(words.commit)}",
                text=render_text(asked, words.text) if words.text else None,
                verdict=words.verdict.value,
                void=VOID_REASONS[void] if void is not None else "",
            )
        case Submitted() as words:
            return entry._replace(sentence=f"asked for a review of {shorten_id(words.commit)}")
        case Refreshed() as words:
            return entry._replace(sentence=f"took in what its target had, up to {shorten_id(words.target)}")
        case Closed(text):
            return entry._replace(sentence="closed this", text=render_text(asked, text) if text else None)
        case Reopened(text):
            return entry._replace(sentence="reopened this", text=render_text(asked, text) if text else None)
        case Edited(title, description):
            parts = [
                *(["the title"] * (title is not None)),
                *(["the description"] * (description is not None)),
            ]
            return entry._replace(sentence=f"changed {' and '.join(parts)}")
        case _:
            return entry


def _remark(asked: PageRequest, comment: Comment, path: str) -> CommentView:
    return CommentView(
        comment.id, format_author(comment.author), comment.time, render_text(asked, comment.text, path)
    )


def _thread(
    asked: PageRequest,
    one: Proposal,
    placed: AnchoredThread,
    sections: set[tuple[str, str]],
    paths: frozenset[str],
) -> ThreadView:
    comment, place = placed.thread.comment, placed.thread.comment.target
    about = place.path if place is not None else ""
    remark = _remark(asked, comment, about)
    replies = tuple(_remark(asked, reply, about) for reply in placed.thread.replies)
    if place is None:
        return ThreadView(remark, replies, "", "", "", "")
    path, slug = place.path, place.slug
    now = ""
    if placed.anchor is not None:
        path, slug = placed.anchor.path, placed.anchor.slug
        now = _NOW[placed.anchor.status.value]
    is_gone = placed.anchor is not None and placed.anchor.status.value == "gone"
    if slug is not None and (path, slug) in sections:
        url = asked.urls.proposal(one.id, "changes", path=path) + "#" + format_element_id(path, slug)
    elif path in paths:
        url = asked.urls.proposal(one.id, "changes", path=path) + "#" + format_element_id(path)
    else:
        url = "" if is_gone or one.tip is None else asked.urls.at(one.tip).document(path, slug or "")
    return ThreadView(remark, replies, path + (f"#{slug}" if slug else ""), place.quote, now, url)
