"""The views of changes: source side by side, source in one column, and both versions rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.web.diagrams import DIAGRAM_TAG, PAGE_POLICY, get_frame_url
from docyard.web.diff.diff import MAX_CHANGE_CHARS, MAX_SECTIONS, build_diff

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.diff.diff import DiffPage
    from docyard.web.page_request import PageRequest
    from workspace.proposals.review.changes import CommitChanges
    from workspace.snapshot.snapshot import Snapshot

RENDERED = "rendered"
VIEWS = {"side": "Side by side", "inline": "In one column", RENDERED: "Rendered"}
"""The views of changes, with their labels."""

DEFAULT_VIEW = "side"

MAX_SECTION_BYTES = 40_000
"""The maximum size of a version of a section that is rendered; a larger one is shown as source."""


VIEW_COOKIE = "docyard_view"
"""The name of the cookie with the view that the browser requested last."""

_COOKIE_MAX_AGE_S = 180 * 86_400


def read_view(request: PageRequest) -> str:
    """Return the requested view; else the last one that the browser requested, or the default one."""
    names = request.query.get("view"), request.cookies.get(VIEW_COOKIE)
    return next((name for name in names if name in VIEWS), DEFAULT_VIEW)


class ViewLimits(NamedTuple):
    """The limits of a page of changes: the number of its sections, and the size of each.

    A section is rendered if each version has at most `max_section_bytes`. `max_change_chars` limits a change
    that is shown as source, as in `build_rows`.
    """

    max_sections: int = MAX_SECTIONS
    max_section_bytes: int = MAX_SECTION_BYTES
    max_change_chars: int = MAX_CHANGE_CHARS


def build_view(
    request: PageRequest,
    view: str,
    changes: CommitChanges,
    versions: tuple[Snapshot, Snapshot] | None,
    *,
    path: str | None = None,
    offset: int = 0,
    source_paths: frozenset[str] = frozenset(),
    limits: ViewLimits | None = None,
) -> tuple[DiffPage, str]:
    """Return a page of changes in a view, and the URL of the frame for its diagrams, or "".

    `versions` are the snapshots of the changes; without them, the rendered view shows source. It also shows
    the documents at `source_paths` as source.
    """
    limits = limits or ViewLimits()
    renderer, max_sections = None, limits.max_sections
    if view == RENDERED and versions is not None:
        from docyard.web.diff.section_renderer import MAX_RENDERED_SECTIONS, SectionRenderer

        renderer = SectionRenderer(
            request, *versions, source_paths=source_paths, max_section_bytes=limits.max_section_bytes
        )
        max_sections = min(max_sections, MAX_RENDERED_SECTIONS)
    diff = build_diff(
        changes,
        path=path,
        offset=offset,
        max_sections=max_sections,
        max_change_chars=limits.max_change_chars,
        renderer=renderer,
    )
    has_diagrams = any(
        DIAGRAM_TAG in html
        for document in diff.documents
        for section in document.sections
        if section.rendered_versions is not None
        for html in (section.rendered_versions.old, section.rendered_versions.new)
        if html is not None
    )
    return diff, get_frame_url(request) if has_diagrams else ""


def finish_page(request: PageRequest, page: Response, frame_url: str) -> Response:
    """Return a page whose policy permits the frame of its diagrams, and that stores the requested view."""
    view = request.query.get("view")
    if view in VIEWS and request.cookies.get(VIEW_COOKIE) != view:
        page.set_cookie(VIEW_COOKIE, view, max_age=_COOKIE_MAX_AGE_S, httponly=True, samesite="lax")
    if frame_url:
        page.headers["Content-Security-Policy"] = PAGE_POLICY
    return page
