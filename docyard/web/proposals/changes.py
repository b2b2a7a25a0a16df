"""The changes of a proposal, with the comments on each section."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.web.diff.diff import count_sections
from docyard.web.diff.views import RENDERED, VIEWS, build_view, finish_page, read_view
from docyard.web.proposals.conversation import ThreadView, build_thread_views
from docyard.web.proposals.file_tree import build_file_tree
from docyard.web.proposals.read_marks import mark_as_read
from docyard.web.proposals.view import build_common_variables, read_versions

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.diff.diff import DiffPage
    from docyard.web.page_request import PageRequest
    from workspace.proposals.proposal import Proposal, Review
    from workspace.proposals.review.changes import CommitChanges
    from workspace.proposals.review.since_review import ChangesSinceReview

_MAX_THREADS = 300


SINCE_REVIEW = "review"
"""The value of the parameter `since`, which selects the changes since the last review of the caller."""


class ReviewRange(NamedTuple):
    """The changes since the last review of the caller, and the number of changed sections and files.

    `changes` is None if the reviewed commit is missing. `is_selected` is True if the page shows them.
    """

    review: Review
    changes: ChangesSinceReview | None
    section_count: int
    is_selected: bool


def render_changes_page(request: PageRequest) -> Response:
    """Return the changes of a proposal, or those of one document. Raises ProposalNotFound."""
    proposal = request.workspace.proposal_actions().find(request.path_params["id"])
    all_changes = request.workspace.proposal_reviews().changes(proposal)
    review_range = _find_review_range(request, proposal)
    changes, source_paths = all_changes, frozenset[str]()
    if review_range is not None and review_range.is_selected and review_range.changes is not None:
        changes, source_paths = review_range.changes
    view = read_view(request)
    path = request.query.get("path") or None
    offset_text = request.query.get("offset", "")
    offset = (
        int(offset_text) if offset_text.isascii() and offset_text.isdigit() and len(offset_text) < 9 else 0
    )
    diff, diagrams = build_view(
        request,
        view,
        changes,
        read_versions(request, changes),
        path=path,
        offset=offset,
        source_paths=source_paths,
    )
    threads, other_count = _select_threads(request, proposal, all_changes, diff)
    since = SINCE_REVIEW if review_range is not None and review_range.is_selected else None

    def build_url(**values: str | int | None) -> str:
        return request.urls.proposal(proposal.id, "changes", **{"view": view, "since": since, **values})

    page = request.page(
        "changes.html",
        **build_common_variables(request, proposal),
        diff=diff,
        view=view,
        views=VIEWS,
        view_url=lambda view: build_url(view=view, path=path, offset=diff.offset or None),
        since=since,
        review_range=review_range,
        lacks_review=review_range is None and request.query.get("since") == SINCE_REVIEW,
        has_merged_sources=view == RENDERED
        and not source_paths.isdisjoint(document.path for document in diff.documents),
        all_changes_url=build_url(since=None),
        since_review_url=build_url(since=SINCE_REVIEW),
        diagrams=diagrams,
        path=path,
        ref=changes.tip,
        folders=build_file_tree(
            request,
            changes,
            {document.path for document in diff.documents},
            path,
            lambda path: build_url(path=path),
        )
        if len(changes.documents) > 1
        else (),
        document_count=len(changes.documents),
        threads=threads,
        other_comments=other_count,
        page_url=lambda offset: build_url(path=path, offset=offset or None),
        document_url=build_url(),
    )
    return mark_as_read(request, proposal, finish_page(request, page, diagrams))


def _find_review_range(request: PageRequest, proposal: Proposal) -> ReviewRange | None:
    """Return the changes since the last review of the caller; None without a review, or after the merge."""
    from workspace.proposals.review.since_review import find_last_review

    if proposal.tip is None or proposal.merge_record is not None:
        return None
    review = find_last_review(proposal, request.actor.event_author)
    if review is None:
        return None
    changes = request.workspace.proposal_reviews().changes_since(proposal, review.commit)
    count = count_sections(changes.changes) if changes is not None else 0
    return ReviewRange(review, changes, count, request.query.get("since") == SINCE_REVIEW)


def _select_threads(
    request: PageRequest, proposal: Proposal, changes: CommitChanges, diff: DiffPage
) -> tuple[dict[tuple[str, str], list[ThreadView]], int]:
    """Return the threads of this page by path and section, and the number of other comments."""
    proposal_reviews = request.workspace.proposal_reviews()
    shown_sections = {
        (document.path, changed.address) for document in diff.documents for changed in document.sections
    }
    first_sections = {
        document.path: document.sections[0].address for document in diff.documents if document.sections
    }
    threads: dict[tuple[str, str], list[ThreadView]] = {}
    other_count, next_index = 0, 0
    while next_index < _MAX_THREADS:
        page = proposal_reviews.comments(proposal, after=next_index)
        for located_thread in page.threads:
            target = located_thread.location or located_thread.thread.comment.target
            section = (target.path, target.slug or "") if target is not None else None
            if (
                target is not None
                and section not in shown_sections
                and target.slug is None
                and target.path in first_sections
            ):
                # A comment on the document is shown in its first section.
                section = target.path, first_sections[target.path]
            if section in shown_sections:
                threads.setdefault(section, []).extend(
                    build_thread_views(request, proposal, changes, [located_thread])
                )
            else:
                other_count += 1
        if page.next is None:
            return threads, other_count
        next_index = page.next
    return threads, other_count + len(proposal.content.threads) - next_index
