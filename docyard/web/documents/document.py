"""A document on its page: rendered, with its outline, what stands around it, and where it is edited.

What a page adds to rendered text: its title apart, and beside each heading what to do with its section.

The text comes from `workspace.rendering`, which wrote the headings of sections itself, as
`<h2 id="address">…</h2>`, and has balanced all tags. What is added here holds nothing that a document wrote
but these ids, and only headings of sections have something beside them.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from docyard.web.documents.diagrams import DIAGRAM, PAGE_POLICY, get_frame_url
from docyard.web.documents.lookup import build_crumbs, find_redirect_url, get_path
from docyard.web.live import format_unfinished_version
from docyard.web.proposals.view import STATE_TAGS
from docyard.web.templates import mark_trusted
from docyard.web.urls import PageUrls
from workspace.errors import LimitExceeded
from workspace.lru_cache import LRUCache
from workspace.markdown.slugs import PREAMBLE
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from docyard.web.asked import PageRequest
    from docyard.web.documents.sidebar import DocumentContext
    from workspace.document.document import Document
    from workspace.rendering.links import RenderedDocument

# A heading that holds another, as raw HTML can have it, is left as it is.
_WORDS = r"(?:(?!</?h[1-6][ >]).)*"
_HEADING = re.compile(rf'<(h[1-6]) id="([^"]*)"[^>]*>{_WORDS}</\1>', re.DOTALL)
_TITLE = re.compile(rf"\s*(<h1[ >]{_WORDS}</h1>)", re.DOTALL)
_KEPT = 16_000_000  # characters

# Filled with escaped texts: `Markup.format` takes ten times as long, and a document may have thousands.
_LINK = '<a data-key="{}" href="{}">{}<span class="hidden"> {}</span></a>'


class RenderedPage(NamedTuple):
    """The heading that is the title (None: the text begins otherwise), and the text below it."""

    title: Markup | None
    body: Markup


class SectionLinks(NamedTuple):
    """Where the links beside a heading lead: to the history at a ref, and to the form, unless there is none.

    `proposal` is the one that is read, and to which an edit is added; empty for none.
    """

    path: str
    ref: str | None
    has_history: bool
    may_edit: bool
    proposal: str

    def render_links(self, address: str) -> str:
        """Return the links that belong to a section, as HTML."""
        links: list[str] = []
        if self.has_history:
            url = PageUrls(self.ref).history(self.path, address)
            links.append(_LINK.format("h", escape(url), "History", f"of {escape(address)}"))
        if self.may_edit:
            url = PageUrls().edit(self.path, address, self.proposal)
            links.append(_LINK.format("e", escape(url), "Edit", escape(address)))
        return f'<span class="beside">{" ".join(links)}</span>' if links else ""


_dressed: LRUCache[tuple[RenderedDocument, SectionLinks], RenderedPage] = LRUCache(
    _KEPT, lambda value: len(value.body) + 1_000
)


def add_page_links(rendered: RenderedDocument, doors: SectionLinks) -> RenderedPage:
    """Return a rendered document as its page shows it."""
    return _dressed.get((rendered, doors), lambda: _make(rendered, doors))


def _make(rendered: RenderedDocument, doors: SectionLinks) -> RenderedPage:
    sections = {entry.id for entry in rendered.outline}
    title, text = None, rendered.html
    if found := _TITLE.match(text):
        title, text = mark_trusted(found[1]), text[found.end() :]

    def entry(heading: re.Match[str]) -> str:
        """Return a section's heading as an entry that keys go to, with the links beside it."""
        section = unescape(heading[2])
        if section not in sections:
            return heading[0]
        return f'<div class="titled {heading[1]}" data-entry>{heading[0]}{doors.render_links(section)}</div>'

    return RenderedPage(title, mark_trusted(_HEADING.sub(entry, text)))


_COUNTED = 1_000_000  # bytes of a document whose tasks are counted


class TaskProgress(NamedTuple):
    """The tasks of a document."""

    done: int
    total: int


def render_document_page(asked: PageRequest, context: DocumentContext) -> Response:
    """Return the page of a document; for other paths the file, the folder, or a redirect.

    Raises DocumentNotFound, NotADocument, RefNotFound.
    """
    path = get_path(asked)
    try:
        document = asked.snapshot.document(path)
    except LimitExceeded as error:
        return _render_too_large(asked, path, context, error)
    except NotADocument:
        raise
    except DocumentNotFound as error:
        url = _find_other_url(asked, path) or find_redirect_url(asked, error, "document")
        if url is None:
            raise
        return RedirectResponse(url, 302)
    from workspace.rendering.links import RenderOptions
    from workspace.rendering.renderer import render

    options = RenderOptions(math=asked.site.math, mermaid=asked.site.mermaid is not None)
    rendered = render(asked.snapshot, path, urls=asked.urls, options=options)
    proposal = find_read_proposal(asked)
    may_edit = asked.may_write and (asked.ref is None or proposal is not None)
    last = context.last_change(asked, path)
    doors = SectionLinks(path, asked.ref, last.has_history, may_edit, proposal or "")
    backlinks = context.backlinks(asked, document)
    is_reading = asked.ref is None and (not last.is_known or backlinks is None) and asked.site.is_reading
    diagrams = get_frame_url(asked) if DIAGRAM in rendered.html else ""
    page = asked.page(
        "document.html",
        document=document,
        crumbs=build_crumbs(path),
        shown=add_page_links(rendered, doors),
        doors=doors,
        rendered=rendered,
        outline=[entry for entry in rendered.outline if entry.id != PREAMBLE],
        change=last.change,
        progress=_count_tasks(document),
        backlinks=backlinks,
        is_reading=is_reading and backlinks is None,
        proposals=context.proposals(asked, path) if asked.ref is None else (),
        proposal=proposal,
        state_tags=STATE_TAGS,
        may_edit=may_edit,
        diagrams=diagrams,
        version=format_unfinished_version(asked.version) if is_reading else asked.version,
    )
    if diagrams:
        page.headers["Content-Security-Policy"] = PAGE_POLICY
    return page


def find_read_proposal(asked: PageRequest) -> str | None:
    """Return the open proposal whose branch is read; None for any other ref."""
    from workspace.proposal_ids import read_id

    id = read_id(asked.ref) if asked.ref else None
    if id is None:
        return None
    return next((one.id for one in asked.proposals if one.id == id and one.is_open), None)


def _find_other_url(asked: PageRequest, path: str) -> str | None:
    """Return the URL of what stands at a path and is no document."""
    entry = asked.snapshot.entry(path)
    if entry is None:
        return None
    return asked.urls.folder(path) if entry.is_tree else asked.urls.raw(path) if entry.is_blob else None


def _count_tasks(document: Document) -> TaskProgress | None:
    if len(document.data) > _COUNTED:
        return None
    tasks = document.all_tasks
    return TaskProgress(sum(task.is_done for task in tasks), len(tasks)) if tasks else None


def _render_too_large(
    asked: PageRequest, path: str, context: DocumentContext, error: LimitExceeded
) -> Response:
    """Return the page of a document that is over a limit: what can be told without reading it."""
    change = context.last_change(asked, path).change
    return asked.page("too_large.html", path=path, crumbs=build_crumbs(path), error=error, change=change)
