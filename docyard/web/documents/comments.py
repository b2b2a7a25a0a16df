"""The comments of a document's page, and the forms that add, answer and resolve them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.web.proposals.actions import UnknownAction
from docyard.web.proposals.conversation import LOCATION_NOTES, ThreadView, build_comment_view
from docyard.wording import format_author
from workspace.errors import WorkspaceError
from workspace.proposals.answers import CommentAnswer
from workspace.proposals.comments import MAX_CHECKED_THREADS, MAX_TRACKED_TEXTS, LocatedThread, TargetFilter

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.page_request import PageRequest

_MAX_THREADS = 30
_ACTIONS = ("comment", "resolve-comment", "reopen-comment")


class DocumentComments(NamedTuple):
    """The open threads of a document, in the order in which they began: the newest 30.

    `has_more` is true if there may be further ones.
    """

    threads: tuple[ThreadView, ...]
    has_more: bool


def build_document_comments(request: PageRequest, path: str) -> DocumentComments | None:
    """Return the open threads whose text is in a document at the tip; None if they cannot be read."""
    try:
        located_threads, has_more = _find_threads(request, path)
    except WorkspaceError:  # such as a detached HEAD; the document is shown without comments
        return None
    return DocumentComments(tuple(_build_thread(request, item) for item in located_threads), has_more)


def _find_threads(request: PageRequest, path: str) -> tuple[list[LocatedThread], bool]:
    """Return the newest open threads of a document in order, and True if there may be others.

    The threads that began in the document are examined first, because the others rarely moved to it.
    """
    workspace, snapshot = request.workspace, request.snapshot
    threads = workspace.proposal_actions().document_discussion.list_threads()
    open_threads = [
        LocatedThread(thread, None, position)
        for position, thread in enumerate(threads)
        if thread.resolution is None
    ][::-1]
    own_threads = [item for item in open_threads if item.is_at(path, None)]
    other_threads = [item for item in open_threads if not item.is_at(path, None)]
    candidates = [*own_threads, *other_threads[:MAX_CHECKED_THREADS]]
    target_filter = TargetFilter(snapshot, (path, None))
    located_threads: list[LocatedThread] = []
    tracked_count = 0
    for candidate in candidates:
        if not target_filter.may_match(candidate.thread.comment):
            continue
        if tracked_count == MAX_TRACKED_TEXTS or len(located_threads) == _MAX_THREADS:
            return sorted(located_threads, key=lambda item: item.position), True
        tracked_count += 1
        location = workspace.proposal_reviews().find_location(candidate.thread.comment, snapshot)
        located_thread = candidate._replace(location=location)
        if located_thread.is_at(path, None):
            located_threads.append(located_thread)
    has_more = len(other_threads) > MAX_CHECKED_THREADS
    return sorted(located_threads, key=lambda item: item.position), has_more


def _build_thread(request: PageRequest, located_thread: LocatedThread) -> ThreadView:
    thread, location = located_thread.thread, located_thread.location
    target = thread.comment.target
    path, slug = (location.path, location.slug) if location is not None else ("", None)
    is_deleted = location is None or location.status.value == "gone"
    return ThreadView(
        build_comment_view(request, thread.comment, path),
        tuple(build_comment_view(request, reply, path) for reply in thread.replies),
        path + (f"#{slug}" if slug else ""),
        target.quote if target is not None else "",
        LOCATION_NOTES[location.status.value] if location is not None else "",
        "" if is_deleted else request.urls.document(path, slug or ""),
        format_author(thread.resolution.author) if thread.resolution is not None else "",
    )


def handle_comment_form(request: PageRequest) -> Response:
    """Run the action of a form, and redirect the browser to the document of its page.

    Raises UnknownAction, and the errors of `DocumentDiscussion`.
    """
    discussion, fields = request.workspace.proposal_actions().document_discussion, request.fields
    action, key = request.path_params["act"], fields.get("key") or None
    page, text, comment = fields.get("page", ""), fields.get("text", ""), fields.get("comment", "")
    if action not in _ACTIONS:
        raise UnknownAction(action, _ACTIONS)
    if action != "comment":
        answer = CommentAnswer(comment, is_resolved=action == "resolve-comment")
        discussion.answer(request.actor, [answer], key=key)
    elif reply_to := fields.get("reply_to"):
        comment = discussion.answer(request.actor, [CommentAnswer(reply_to, text)], key=key).event_ids[0]
    else:
        result = discussion.comment(request.actor, text, file=page, slug=fields.get("slug") or None, key=key)
        comment = result.event_ids[0]
    return request.redirect(f"{request.urls.document(page)}#said-{comment}")
