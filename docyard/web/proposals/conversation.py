"""What is said of a proposal, in order: comments with their answers, reviews, and what was done.

The words of people as HTML: descriptions, comments and reviews, which are Markdown.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.view import VOID
from docyard.web.diff import place_id
from docyard.web.templates import trusted
from docyard.wording import short, who
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

    from docyard.web.asked import Asked
    from workspace.proposals.approvals import Void
    from workspace.proposals.comments import PlacedThread
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import Comment, Proposal
    from workspace.proposals.review.changes import CommitChanges


def said(asked: Asked, text: str, path: str = "") -> Markup:
    """A text as safe HTML; its links lead to the served branch, and count from the document of a path."""
    from workspace.rendering.renderer import render_text

    snapshot = asked.workspace.snapshot()
    return trusted(render_text(text, urls=asked.urls.at(None), snapshot=snapshot, base_path=path))


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


class Remark(NamedTuple):
    """A comment, or an answer to one."""

    id: str
    author: str
    time: datetime
    text: Markup


class ThreadShown(NamedTuple):
    """A comment with its answers.

    `place` is what it is about, `url` leads there, and `now` says what became of it.
    """

    remark: Remark
    replies: tuple[Remark, ...]
    place: str
    quote: str
    now: str
    url: str


class Entry(NamedTuple):
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
    thread: ThreadShown | None = None


class Conversation(NamedTuple):
    """Entries of one page, of `total`; `first` counts from 0, and `before` is that of the page before."""

    entries: tuple[Entry, ...]
    total: int
    first: int
    before: int


def conversation(
    asked: Asked, one: Proposal, changes: CommitChanges, void: Mapping[str, Void], first: int | None
) -> Conversation:
    """Return a page of what is said, from an entry on; the last one where none is named."""
    numbers = {thread.comment.id: number for number, thread in enumerate(one.words.threads)}
    events = [event for event in asked.workspace.proposing().said(one) if _is_shown(event, numbers)]
    last = max(0, len(events) - PAGE)
    first = last if first is None else min(max(0, first), max(0, len(events) - 1))
    page = events[first : first + PAGE]
    threads = _threads(asked, one, changes, [numbers[event.id] for event in page if event.id in numbers])
    voids = {bound.review.id: find_void_reason(bound, void) for bound in one.reviews}
    entries = tuple(_entry(asked, event, threads.get(event.id), voids.get(event.id)) for event in page)
    return Conversation(entries, len(events), first, max(0, first - PAGE))


def threads_shown(
    asked: Asked, one: Proposal, changes: CommitChanges, placed: Sequence[PlacedThread]
) -> list[ThreadShown]:
    """Threads as pages show them."""
    sections = {
        (document.path, change.section) for document in changes.documents for change in document.sections
    }
    paths = changes.paths
    return [_thread(asked, one, thread, sections, paths) for thread in placed]


def _is_shown(event: Event, threads: Mapping[str, int]) -> bool:
    if isinstance(event.words, Commented):
        return event.id in threads
    return isinstance(event.words, (Reviewed, Submitted, Refreshed, Closed, Reopened, Edited))


def _threads(
    asked: Asked, one: Proposal, changes: CommitChanges, numbers: Sequence[int]
) -> dict[str, ThreadShown]:
    if not numbers:
        return {}
    first = min(numbers)
    found = asked.workspace.reviewing().comments(one, after=first, limit=max(numbers) - first + 1)
    return {thread.remark.id: thread for thread in threads_shown(asked, one, changes, found.threads)}


def _entry(asked: Asked, event: Event, thread: ThreadShown | None, void: Void | None) -> Entry:
    entry = Entry(event.id, who(event.author), event.time, thread=thread)
    match event.words:
        case Reviewed() as words:
            return entry._replace(
                sentence=f"{_VERDICTS[words.verdict]}, as of {short(words.commit)}",
                text=said(asked, words.text) if words.text else None,
                verdict=words.verdict.value,
                void=VOID[void] if void is not None else "",
            )
        case Submitted() as words:
            return entry._replace(sentence=f"asked for a review of {short(words.commit)}")
        case Refreshed() as words:
            return entry._replace(sentence=f"took in what its target had, up to {short(words.target)}")
        case Closed(text):
            return entry._replace(sentence="closed this", text=said(asked, text) if text else None)
        case Reopened(text):
            return entry._replace(sentence="reopened this", text=said(asked, text) if text else None)
        case Edited(title, description):
            parts = [
                *(["the title"] * (title is not None)),
                *(["the description"] * (description is not None)),
            ]
            return entry._replace(sentence=f"changed {' and '.join(parts)}")
        case _:
            return entry


def _remark(asked: Asked, comment: Comment, path: str) -> Remark:
    return Remark(comment.id, who(comment.author), comment.time, said(asked, comment.text, path))


def _thread(
    asked: Asked,
    one: Proposal,
    placed: PlacedThread,
    sections: set[tuple[str, str]],
    paths: frozenset[str],
) -> ThreadShown:
    comment, place = placed.thread.comment, placed.thread.comment.place
    about = place.path if place is not None else ""
    remark = _remark(asked, comment, about)
    replies = tuple(_remark(asked, reply, about) for reply in placed.thread.replies)
    if place is None:
        return ThreadShown(remark, replies, "", "", "", "")
    path, slug = place.path, place.slug
    now = ""
    if placed.standing is not None:
        path, slug = placed.standing.path, placed.standing.slug
        now = _NOW[placed.standing.now.value]
    is_gone = placed.standing is not None and placed.standing.now.value == "gone"
    if slug is not None and (path, slug) in sections:
        url = asked.urls.proposal(one.id, "changes", path=path) + "#" + place_id(path, slug)
    elif path in paths:
        url = asked.urls.proposal(one.id, "changes", path=path) + "#" + place_id(path)
    else:
        url = "" if is_gone or one.tip is None else asked.urls.at(one.tip).document(path, slug or "")
    return ThreadShown(remark, replies, path + (f"#{slug}" if slug else ""), place.quote, now, url)
