"""The conversation of a proposal: comments with their replies, reviews, commits and other events, in order.

Descriptions, comments and reviews are Markdown, and are rendered as HTML.
"""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.view import VOID_REASONS
from docyard.web.diff.diff import build_rows, format_element_id
from docyard.web.proposals.authorship import would_lose_approval
from docyard.web.templates import mark_trusted
from docyard.web.urls import add_query
from docyard.wording import format_author, format_commit_author, format_count, shorten, shorten_id
from workspace.proposals.actions.refresh import read_decisions
from workspace.proposals.actions.suggestions import find_applied_commit
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
from workspace.proposals.suggested_text import read_suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from docyard.web.diff.diff import DiffRows
    from docyard.web.page_request import PageRequest
    from workspace.history.commits import CommitInfo
    from workspace.proposals.approvals import VoidReason
    from workspace.proposals.comments import LocatedThread
    from workspace.proposals.events import CommentTarget, Event
    from workspace.proposals.proposal import Comment, Proposal, Thread
    from workspace.proposals.review.changes import CommitChanges, ProposedCommit


def render_discussion_text(request: PageRequest, text: str, path: str = "") -> Markup:
    """Return a text as safe HTML, in which people are marked whom it mentions.

    Its links are relative to `path`, and point to the served branch.
    """
    from workspace.rendering.renderer import render_text

    snapshot = request.workspace.snapshot()
    people = request.participants.find_mentions(text) if "@" in text else {}
    mentions = {handle: person.shown_name for handle, person in people.items()}
    urls = request.urls.at(None)
    html = render_text(
        text, urls=urls, snapshot=snapshot, base_path=path, math=request.site.math, mentions=mentions
    )
    return mark_trusted(request.add_code_colours(html).html)


_MAX_EXCERPT_CHARACTERS = 80

ENTRIES_PER_PAGE = 30
"""The number of entries on one page, limited because each comment may read two versions of a document."""

_VERDICT_SENTENCES = {
    ReviewDecision.APPROVE: "approved this",
    ReviewDecision.REQUEST_CHANGES: "requested changes",
    ReviewDecision.COMMENT: "reviewed this",
}

LOCATION_NOTES = {
    "here": "",
    "moved": "its text has moved",
    "outdated": "its text has changed since",
    "gone": "its text was deleted",
}
"""The notes about the text of a comment, by the status of the text."""


class SuggestionView(NamedTuple):
    """The changes that a suggestion makes to the quoted words; `commit` applied it, or is empty.

    `ends_approval` is True if the caller may approve the proposal now, and not after applying the suggestion.
    """

    rows: DiffRows
    commit: str
    can_apply: bool
    ends_approval: bool


class CommentView(NamedTuple):
    """A comment, or a reply to a comment. A suggestion is not in the text; None without a suggestion."""

    id: str
    author: str
    time: datetime
    text: Markup
    suggestion: SuggestionView | None = None


class ThreadView(NamedTuple):
    """A comment with its replies.

    `address` is the address of its target, and `url` the link to it. `location_note` reports that
    the text has moved, changed or been deleted; else it is empty. `resolved_by` is the author of the
    resolution; it is empty for an open thread.
    """

    comment: CommentView
    replies: tuple[CommentView, ...]
    address: str
    quote: str
    location_note: str
    url: str
    resolved_by: str = ""


class ConversationEntry(NamedTuple):
    """An event: a thread, or a sentence with an optional text.

    `verdict` is the decision of a review, and `void_reason` the reason why it does not count. `commits` are
    commits of one author without another entry between them; such an entry has no id. `decisions` describe
    the conflicts that a refresh resolved.
    """

    id: str
    author: str
    time: datetime
    sentence: str = ""
    text: Markup | None = None
    verdict: str = ""
    void_reason: str = ""
    thread: ThreadView | None = None
    commits: tuple[CommitInfo, ...] = ()
    decisions: tuple[str, ...] = ()


class OpenThread(NamedTuple):
    """A thread that is not resolved: the author, beginning and URL of its last comment, and its address.

    `awaited` names the person or client whose answer it waits for: "you" for the caller.
    """

    author: str
    awaited: str
    excerpt: str
    address: str
    url: str


class Conversation(NamedTuple):
    """One page of a conversation that has `total` entries.

    `first_index` and `previous_index` are the indexes of the first entries of this and the previous page.
    `open_threads` are those of all pages; those that wait for the caller are first.
    """

    entries: tuple[ConversationEntry, ...]
    total: int
    first_index: int
    previous_index: int
    open_threads: tuple[OpenThread, ...]


class _CommitGroup(NamedTuple):
    """Commits of one author without another entry between them."""

    commits: tuple[CommitInfo, ...]


def build_conversation(
    request: PageRequest,
    proposal: Proposal,
    changes: CommitChanges,
    commits: Sequence[ProposedCommit],
    void_reasons: Mapping[str, VoidReason],
    first_index: int | None,
) -> Conversation:
    """Return the page that begins at the entry `first_index`; the last page if the index is None.

    `commits` are those of the proposal, the newest first.
    """
    thread_indexes = {
        thread.comment.id: thread_index for thread_index, thread in enumerate(proposal.content.threads)
    }
    events = [
        event
        for event in request.workspace.proposal_actions().list_events(proposal)
        if _is_shown(event, thread_indexes)
    ]
    items = list(_insert_commits(events, commits))
    last_page_start = max(0, len(items) - ENTRIES_PER_PAGE)
    first_index = last_page_start if first_index is None else min(max(0, first_index), max(0, len(items) - 1))
    page = items[first_index : first_index + ENTRIES_PER_PAGE]
    threads = _load_threads(
        request,
        proposal,
        changes,
        [
            thread_indexes[item.id]
            for item in page
            if not isinstance(item, _CommitGroup) and item.id in thread_indexes
        ],
    )
    void_reason_by_review = {
        review_status.review.id: find_void_reason(review_status, void_reasons)
        for review_status in proposal.reviews
    }
    entries = tuple(
        _build_commit_entry(item.commits)
        if isinstance(item, _CommitGroup)
        else _build_entry(request, item, threads.get(item.id), void_reason_by_review.get(item.id))
        for item in page
    )
    return Conversation(
        entries,
        len(items),
        first_index,
        max(0, first_index - ENTRIES_PER_PAGE),
        tuple(
            sorted(
                _list_open_threads(request, proposal, items, last_page_start),
                key=lambda thread: thread.awaited != "you",
            )
        ),
    )


def _insert_commits(
    events: Sequence[Event], commits: Sequence[ProposedCommit]
) -> Iterator[Event | _CommitGroup]:
    """Yield events, each after the commits that are older; one that names its commit is directly after it.

    The times of commits have no fractions of a second. Commits that events of refreshes report are omitted.
    """
    refreshes = {event.body.commit for event in events if isinstance(event.body, Refreshed)}
    infos = [commit.info for commit in reversed(commits) if commit.info.commit not in refreshes]
    ends = {info.commit: index for index, info in enumerate(infos, 1)}
    start = 0
    for event in events:
        end = start
        while end < len(infos) and infos[end].time <= event.time:
            end += 1
        if isinstance(event.body, (Reviewed, Submitted)):
            end = max(start, ends.get(event.body.commit, end))
        yield from _group_commits(infos[start:end])
        yield event
        start = end
    yield from _group_commits(infos[start:])


def _group_commits(infos: Sequence[CommitInfo]) -> Iterator[_CommitGroup]:
    for _, group in groupby(infos, lambda info: (info.author_name, info.author_email, info.client)):
        yield _CommitGroup(tuple(group))


def _build_commit_entry(commits: tuple[CommitInfo, ...]) -> ConversationEntry:
    last = commits[-1]
    sentence = f"added {'a commit' if len(commits) == 1 else format_count(len(commits), 'commit')}:"
    return ConversationEntry("", format_commit_author(last), last.time, sentence, commits=commits)


def _list_open_threads(
    request: PageRequest, proposal: Proposal, items: Sequence[Event | _CommitGroup], last_page_start: int
) -> Iterator[OpenThread]:
    indexes = {item.id: index for index, item in enumerate(items) if not isinstance(item, _CommitGroup)}
    for thread in proposal.content.threads:
        target = thread.comment.target
        if thread.resolution is not None:
            continue
        index = indexes.get(thread.comment.id, last_page_start)
        last_comment = (thread.comment, *thread.replies)[-1]
        values = {"from": index if index < last_page_start else None}
        url = add_query(request.urls.proposal(proposal.id), **values)
        address = "" if target is None else target.path + (f"#{target.slug}" if target.slug else "")
        yield OpenThread(
            format_author(last_comment.author),
            _name_awaited(request, proposal, thread),
            _excerpt(last_comment.text),
            address,
            f"{url}#said-{last_comment.id}",
        )


def _name_awaited(request: PageRequest, proposal: Proposal, thread: Thread) -> str:
    """Return the name of the one who answers next: the author of the proposal, or a reviewer."""
    authors = [comment.author for comment in (thread.comment, *thread.replies)]
    awaited = proposal.content.author
    if authors[-1].is_same(awaited):
        others = [author for author in authors if not author.is_same(awaited)]
        if not others:
            return "a reviewer"
        awaited = others[-1]
    is_caller = request.caller.person is not None and awaited.is_same(request.actor.event_author)
    return "you" if is_caller else format_author(awaited)


def _excerpt(text: str) -> str:
    """Return the beginning of a comment on one line; a suggestion is not in it."""
    suggestion = read_suggestion(text)
    words = " ".join((text if suggestion is None else suggestion.other_text).split())
    return shorten(words, _MAX_EXCERPT_CHARACTERS) or "a suggestion"


def build_thread_views(
    request: PageRequest,
    proposal: Proposal,
    changes: CommitChanges,
    located_threads: Sequence[LocatedThread],
) -> list[ThreadView]:
    """Return the views of threads."""
    sections = {
        (document.path, change.section_address)
        for document in changes.documents
        for change in document.section_changes
    }
    paths = changes.paths
    return [_build_thread(request, proposal, thread, sections, paths) for thread in located_threads]


def _is_shown(event: Event, thread_indexes: Mapping[str, int]) -> bool:
    if isinstance(event.body, Commented):
        return event.id in thread_indexes
    return isinstance(event.body, (Reviewed, Submitted, Refreshed, Closed, Reopened, Edited))


def _load_threads(
    request: PageRequest, proposal: Proposal, changes: CommitChanges, thread_indexes: Sequence[int]
) -> dict[str, ThreadView]:
    if not thread_indexes:
        return {}
    first_index = min(thread_indexes)
    comments = request.workspace.proposal_reviews().comments(
        proposal, after=first_index, limit=max(thread_indexes) - first_index + 1
    )
    return {
        thread.comment.id: thread
        for thread in build_thread_views(request, proposal, changes, comments.threads)
    }


def _build_entry(
    request: PageRequest, event: Event, thread: ThreadView | None, void_reason: VoidReason | None
) -> ConversationEntry:
    entry = ConversationEntry(event.id, format_author(event.author), event.time, thread=thread)
    match event.body:
        case Reviewed() as review:
            return entry._replace(
                sentence=f"{_VERDICT_SENTENCES[review.verdict]}, as of {shorten_id(review.commit)}",
                text=render_discussion_text(request, review.text) if review.text else None,
                verdict=review.verdict.value,
                void_reason=VOID_REASONS[void_reason] if void_reason is not None else "",
            )
        case Submitted() as submitted:
            return entry._replace(sentence=f"requested a review of {shorten_id(submitted.commit)}")
        case Refreshed() as refreshed:
            decisions = _read_decisions(request, refreshed.commit)
            end = f", and resolved {format_count(len(decisions), 'conflict')}" if decisions else ""
            return entry._replace(
                sentence=f"merged its target at {shorten_id(refreshed.target)}{end}", decisions=decisions
            )
        case Closed(text):
            return entry._replace(
                sentence="closed this", text=render_discussion_text(request, text) if text else None
            )
        case Reopened(text):
            return entry._replace(
                sentence="reopened this", text=render_discussion_text(request, text) if text else None
            )
        case Edited(title, description):
            parts = [
                *(["the title"] * (title is not None)),
                *(["the description"] * (description is not None)),
            ]
            return entry._replace(sentence=f"changed {' and '.join(parts)}")
        case _:
            return entry


def _read_decisions(request: PageRequest, commit: str) -> tuple[str, ...]:
    """Return the descriptions of the conflicts that a refresh resolved; empty if this clone lacks it."""
    if not request.workspace.has_commit(commit):
        return ()
    return read_decisions(request.workspace.git.commit(commit).message)


def build_comment_view(request: PageRequest, comment: Comment, path: str) -> CommentView:
    """Return the view of a comment; links in its text are relative to `path`."""
    return CommentView(
        comment.id,
        format_author(comment.author),
        comment.time,
        render_discussion_text(request, comment.text, path),
    )


def _add_suggestion(
    request: PageRequest,
    proposal: Proposal,
    view: CommentView,
    comment: Comment,
    target: CommentTarget,
    *,
    is_quoted: bool,
) -> CommentView:
    """Return a view with the suggestion of its comment; the view itself if there is none."""
    suggestion = read_suggestion(comment.text)
    if suggestion is None:
        return view
    commit = find_applied_commit(request.workspace, proposal.tip, comment.id) if proposal.tip else None
    rows = build_rows(target.quote, suggestion.new_text)
    can_apply = is_quoted and commit is None and request.may_write
    return view._replace(
        text=render_discussion_text(request, suggestion.other_text, target.path),
        suggestion=SuggestionView(
            rows, commit or "", can_apply, can_apply and would_lose_approval(request, proposal)
        ),
    )


def _build_thread(
    request: PageRequest,
    proposal: Proposal,
    located_thread: LocatedThread,
    sections: set[tuple[str, str]],
    paths: frozenset[str],
) -> ThreadView:
    comment, target = located_thread.thread.comment, located_thread.thread.comment.target
    base_path = target.path if target is not None else ""
    comment_view = build_comment_view(request, comment, base_path)
    replies = tuple(build_comment_view(request, reply, base_path) for reply in located_thread.thread.replies)
    if target is not None and target.quote:
        status = located_thread.location.status.value if located_thread.location is not None else ""
        is_quoted = proposal.is_open and status in ("here", "moved")
        comment_view, *reply_views = (
            _add_suggestion(request, proposal, view, item, target, is_quoted=is_quoted)
            for view, item in zip(
                (comment_view, *replies), (comment, *located_thread.thread.replies), strict=True
            )
        )
        replies = tuple(reply_views)
    resolution = located_thread.thread.resolution
    resolved_by = format_author(resolution.author) if resolution is not None else ""
    if target is None:
        return ThreadView(comment_view, replies, "", "", "", "", resolved_by)
    path, slug = target.path, target.slug
    location_note = ""
    if located_thread.location is not None:
        path, slug = located_thread.location.path, located_thread.location.slug
        location_note = LOCATION_NOTES[located_thread.location.status.value]
    is_deleted = located_thread.location is not None and located_thread.location.status.value == "gone"
    if slug is not None and (path, slug) in sections:
        url = request.urls.proposal(proposal.id, "changes", path=path) + "#" + format_element_id(path, slug)
    elif path in paths:
        url = request.urls.proposal(proposal.id, "changes", path=path) + "#" + format_element_id(path)
    else:
        url = (
            ""
            if is_deleted or proposal.tip is None
            else request.urls.at(proposal.tip).document(path, slug or "")
        )
    return ThreadView(
        comment_view,
        replies,
        path + (f"#{slug}" if slug else ""),
        target.quote,
        location_note,
        url,
        resolved_by,
    )
