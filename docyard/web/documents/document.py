"""The page of a document: its rendered text, its outline, its context, and links next to its headings.

The HTML comes from `workspace.rendering`, which writes the headings of sections as `<h2 id="address">…</h2>`,
and balances all tags. The HTML that is added here contains no text of the document except these ids. Only
headings of sections have links.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from docyard.web.diagrams import DIAGRAM_TAG, PAGE_POLICY, get_frame_url
from docyard.web.documents.lookup import build_crumbs, find_redirect_url, get_path
from docyard.web.documents.task_boxes import TASK_MARK, build_task_form, replace_boxes
from docyard.web.library.navigation import build_tree
from docyard.web.library.proposed_documents import find_proposed_documents, find_shown_proposal
from docyard.web.live import format_unfinished_version
from docyard.web.proposals.view import STATE_TAGS, create_idempotency_key
from docyard.web.templates import mark_trusted
from docyard.web.urls import PageUrls
from workspace.errors import LimitExceeded
from workspace.lru_cache import LRUCache
from workspace.markdown.slugs import PREAMBLE
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing

if TYPE_CHECKING:
    from docyard.web.documents.sidebar import DocumentContext
    from docyard.web.page_request import PageRequest
    from workspace.document.document import Document
    from workspace.rendering.links import RenderedDocument

# Raw HTML can put a heading inside another heading; such a heading is not changed.
_HEADING_CONTENT = r"(?:(?!</?h[1-6][ >]).)*"
_HEADING = re.compile(rf'<(h[1-6]) id="([^"]*)"[^>]*>{_HEADING_CONTENT}</\1>', re.DOTALL)
_TITLE = re.compile(rf"\s*(<h1[ >]{_HEADING_CONTENT}</h1>)", re.DOTALL)
_MAX_CACHED_CHARS = 16_000_000

# The values are escaped texts. `Markup.format` takes ten times as long, and a document may have thousands of
# links.
_LINK_TEMPLATE = '<a data-key="{}" href="{}">{}<span class="hidden"> {}</span></a>'


class RenderedPage(NamedTuple):
    """A rendered document: its title (None if the text does not begin with a heading), and the text below."""

    title: Markup | None
    body: Markup


class SectionLinks(NamedTuple):
    """The links next to a heading: to the history at a ref, and to the edit form.

    `proposal` is the id of the shown proposal, which receives an edit; empty if no proposal is shown.
    """

    path: str
    ref: str | None
    has_history: bool
    may_edit: bool
    proposal: str

    def render_links(self, address: str) -> str:
        """Return the links of a section as HTML."""
        links: list[str] = []
        if self.has_history:
            url = PageUrls(self.ref).history(self.path, address)
            links.append(_LINK_TEMPLATE.format("h", escape(url), "History", f"of {escape(address)}"))
        if self.may_edit:
            url = PageUrls().edit(self.path, address, self.proposal)
            links.append(_LINK_TEMPLATE.format("e", escape(url), "Edit", escape(address)))
        return f'<span class="beside">{" ".join(links)}</span>' if links else ""


_cached_pages: LRUCache[tuple[RenderedDocument, SectionLinks, bytes | None], RenderedPage] = LRUCache(
    _MAX_CACHED_CHARS, lambda value: len(value.body) + 1_000
)


def add_page_links(
    rendered_document: RenderedDocument, section_links: SectionLinks, document: Document | None = None
) -> RenderedPage:
    """Return a rendered document with links next to its headings.

    With `document`, the boxes of its tasks are buttons.
    """
    data = document.data if document is not None else None
    return _cached_pages.get(
        (rendered_document, section_links, data),
        lambda: _add_links(rendered_document, section_links, document),
    )


def _add_links(
    rendered_document: RenderedDocument, section_links: SectionLinks, document: Document | None
) -> RenderedPage:
    sections = {entry.id for entry in rendered_document.outline}
    title, text = None, rendered_document.html
    if document is not None:
        text = replace_boxes(text, document)
    if match := _TITLE.match(text):
        title, text = mark_trusted(match[1]), text[match.end() :]

    def render_heading(heading: re.Match[str]) -> str:
        """Return a section's heading as an entry of keyboard navigation, with its links."""
        section = unescape(heading[2])
        if section not in sections:
            return heading[0]
        links = section_links.render_links(section)
        return f'<div class="titled {heading[1]}" data-entry>{heading[0]}{links}</div>'

    return RenderedPage(title, mark_trusted(_HEADING.sub(render_heading, text)))


_MAX_COUNTED_BYTES = 1_000_000  # the tasks of a larger document are not counted


class TaskProgress(NamedTuple):
    """The numbers of completed tasks and of all tasks of a document."""

    completed: int
    total: int


def render_document_page(request: PageRequest, context: DocumentContext) -> Response:
    """Return the page of a document; for another path, a redirect to the file, folder, or new location.

    Raises DocumentNotFound, LfsTextMissing, RefNotFound.
    """
    path = get_path(request)
    try:
        document = request.snapshot.document(path)
    except LimitExceeded as error:
        return _render_too_large(request, path, context, error)
    except LfsTextMissing:
        raise
    except DocumentNotFound as error:
        url = _find_folder_or_raw_url(request, path) or find_redirect_url(request, error, "document")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    from workspace.rendering.links import RenderOptions
    from workspace.rendering.renderer import render

    proposal, proposed = find_shown_proposal(request), find_proposed_documents(request)
    has_boxes = len(document.data) <= _MAX_COUNTED_BYTES and bool(document.all_tasks)
    task_form = build_task_form(request, proposal=proposal or "") if has_boxes else None
    options = RenderOptions(
        math=request.site.math,
        mermaid=request.site.mermaid is not None,
        task_mark=TASK_MARK if task_form else "",
    )
    rendered_document = render(request.snapshot, path, urls=request.urls, options=options)
    coloured_html = request.add_code_colours(rendered_document.html)
    rendered_document = rendered_document._replace(html=coloured_html.html)
    may_edit = request.may_write and (request.ref is None or proposal is not None)
    last_change = context.find_last_change(request, path)
    section_links = SectionLinks(path, request.ref, last_change.has_history, may_edit, proposal or "")
    backlinks = context.find_backlinks(request, document)
    is_loading = (
        request.ref is None
        and (not last_change.is_known or backlinks is None or not coloured_html.is_complete)
        and request.site.has_background_work
    )
    frame_url = get_frame_url(request) if DIAGRAM_TAG in rendered_document.html else ""
    page = request.page(
        "document.html",
        document=document,
        crumbs=build_crumbs(path),
        tree=build_tree(
            request.snapshot, path.rpartition("/")[0], path, proposed.removed_paths if proposed else ()
        ),
        proposed=proposed,
        rendered_page=add_page_links(rendered_document, section_links, document if task_form else None),
        task_form=task_form,
        section_links=section_links,
        rendered_document=rendered_document,
        outline=[entry for entry in rendered_document.outline if entry.id != PREAMBLE],
        change=last_change.change,
        progress=_count_tasks(document),
        backlinks=backlinks,
        related=context.find_related(request, document) if request.ref is None else (),
        is_loading=is_loading and backlinks is None,
        proposals=context.find_proposals(request, path) if request.ref is None else (),
        comments=context.find_comments(request, path) if request.ref is None else None,
        create_idempotency_key=create_idempotency_key,
        proposal=proposal,
        state_tags=STATE_TAGS,
        may_edit=may_edit,
        diagrams=frame_url,
        version=format_unfinished_version(request.version) if is_loading else request.version,
    )
    if frame_url:
        page.headers["Content-Security-Policy"] = PAGE_POLICY
    return page


def _find_folder_or_raw_url(request: PageRequest, path: str) -> str | None:
    """Return the URL of a folder or of a file that is not a document; None if the path does not exist."""
    entry = request.snapshot.entry(path)
    if entry is None:
        return None
    return request.urls.folder(path) if entry.is_tree else request.urls.raw(path) if entry.is_blob else None


def _count_tasks(document: Document) -> TaskProgress | None:
    if len(document.data) > _MAX_COUNTED_BYTES:
        return None
    tasks = document.all_tasks
    return TaskProgress(sum(task.is_done for task in tasks), len(tasks)) if tasks else None


def _render_too_large(
    request: PageRequest, path: str, context: DocumentContext, error: LimitExceeded
) -> Response:
    """Return the page of a document that exceeds a limit, without its content."""
    change = context.find_last_change(request, path).change
    return request.page("too_large.html", path=path, crumbs=build_crumbs(path), error=error, change=change)
