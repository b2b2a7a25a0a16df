"""Markdown as HTML that is safe to show: a document, one of its sections, or a few words.

Reading depends on the text alone, writing on the commit, among whose files links are resolved. Both are
cached: to read half a megabyte takes a second, to write it a tenth of one.

How headings are found on a page: their ids, the other names of their places, and the outline they make.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.links.link import LinkKind
from workspace.links.reader import read_cached_links
from workspace.lru_cache import LRUCache
from workspace.markdown.html.page import Features, ParsedPage
from workspace.markdown.html.reader import read_page
from workspace.markdown.html.writer import write_html
from workspace.markdown.slugs import PREAMBLE
from workspace.rendering import sanitizer
from workspace.rendering.links import (
    HeadingMarks,
    LinkRenderer,
    PageContext,
    PageFileTree,
    PageUrls,
    RenderedDocument,
    RenderOptions,
)
from workspace.rendering.sanitizer import sanitize

if TYPE_CHECKING:
    from collections.abc import Hashable

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot


MAX_BYTES = 500_000
"""How much of a document is rendered. Making HTML of it takes a second or two."""

MAX_LINES = 20_000
"""How many lines of it: each may be a block, or several."""

MAX_WORDS = 100_000
"""How many characters of a text that is no document are rendered."""

# Open tags may multiply in HTML; a page that did is shown as its source.
_MAX_HTML = 20_000_000
_KEPT = 32_000_000
_SPARE = 1_000
_TOKEN_BYTES = 1_000

_pages: LRUCache[Hashable, ParsedPage | None] = LRUCache(
    _KEPT, lambda page: (len(page.tokens) * _TOKEN_BYTES if page else 0) + _SPARE
)

_rendered: LRUCache[Hashable, RenderedDocument] = LRUCache(_KEPT, lambda value: len(value.html) + _SPARE)
_texts: LRUCache[Hashable, str] = LRUCache(_KEPT // 4, lambda value: len(value) + _SPARE)


def render(
    snapshot: Snapshot,
    path: str,
    *,
    urls: PageUrls,
    options: RenderOptions = RenderOptions(),  # noqa: B008
) -> RenderedDocument:
    """Render a document as HTML. Raises DocumentNotFound, NotADocument, LimitExceeded."""
    blob = snapshot.blob(path)
    return _rendered.get(
        (snapshot.tree, path, urls, options), lambda: _render(snapshot, path, blob, urls, options)
    )


def _render(
    snapshot: Snapshot, path: str, blob: str, urls: PageUrls, options: RenderOptions
) -> RenderedDocument:
    document = snapshot.document(path)
    rules = snapshot.config.links
    features = Features(rules.wiki, options.math and sanitizer.is_installed())
    end = _end(document)
    text = document.text(document.front_matter_end, end).removeprefix("\ufeff")
    page = _pages.get((blob, features), lambda: _read(text, features))
    marks = HeadingMarks(document, rules.dialect)
    destinations = LinkRenderer(PageFileTree(snapshot, document), path, urls, document, is_page=True)
    context = PageContext(destinations, marks, has_mermaid=options.mermaid)
    html, is_plain = _write(page, text, context)
    is_cut = end < len(document.data) or (page is not None and page.is_cut)
    notes = []
    if is_cut:
        notes.append("The end of this document is not shown, because it is too long for a page.")
    if is_plain:
        notes.append("Part of this document is shown as it is written, because it has too many parts.")
    return RenderedDocument(
        html,
        document.title,
        any(entry.id == PREAMBLE for entry in marks.outline),
        tuple(marks.outline),
        is_cut,
        (*notes, *sorted(destinations.notes)),
    )


def _read(text: str, features: Features, definitions: dict[str, str] | None = None) -> ParsedPage | None:
    """Read a text; None stands for one of too many blocks."""
    try:
        return read_page(text, features, definitions)
    except LimitExceeded:
        return None


def _write(page: ParsedPage | None, text: str, context: PageContext) -> tuple[str, bool]:
    """Write a page as safe HTML. Return True with it if some of it is shown as its source."""
    if page is not None:
        found = write_html(page, context)
        has_math = page.features.math
        html = sanitize(found.html, context.addresses, has_ids=context.has_ids, math=has_math)
        if len(html) <= _MAX_HTML:
            return html, found.is_plain
    return f"<pre>{escape(text, quote=False)}</pre>", True


def _end(document: Document) -> int:
    """Return the end of the rendered part: between sections, or after at least two lines, or of all."""
    size, begin = len(document.data), document.front_matter_end
    most = min(begin + MAX_BYTES, document.lines.offset(document.front_matter_lines + MAX_LINES))
    if size <= most:
        return size
    end = max((section.start for section in document.sections if begin < section.start <= most), default=0)
    if end > (begin + most) // 2:
        return end
    return document.data.rfind(b"\n", begin, most) + 1 or most


def render_text(
    markdown: str,
    *,
    urls: PageUrls,
    snapshot: Snapshot | None = None,
    base_path: str = "",
    breaks: bool = True,
) -> str:
    """Return a few words of Markdown as HTML without ids: a comment, a description, a text that is edited.

    With `breaks` each line end is a line break, as in comments. Relative links count from the document
    `base_path` of the snapshot; without one they lead nowhere.
    """
    key = (markdown, snapshot.tree if snapshot else None, urls, base_path, breaks)
    return _texts.get(key, lambda: _render_text(markdown, urls, snapshot, base_path, breaks))


def _render_text(
    markdown: str, urls: PageUrls, snapshot: Snapshot | None, base_path: str, breaks: bool
) -> str:
    features = Features(wiki=snapshot.config.links.wiki if snapshot else False, breaks=breaks)
    html = _without_ids(markdown[:MAX_WORDS], features, urls, snapshot, base_path)
    return html + "<p>…</p>\n" if len(markdown) > MAX_WORDS else html


def render_section(snapshot: Snapshot, path: str, section: Section | str, *, urls: PageUrls) -> str:
    """Return a section's own text as HTML without ids, its heading included; `section` may be an address.

    "" for a section that the document does not have. Raises DocumentNotFound, NotADocument, LimitExceeded.
    """
    document = snapshot.document(path)
    if isinstance(section, str):
        named = document.section_by_key(section) or next(iter(document.sections_by_address(section)), None)
        if named is None:
            return ""
        section = named
    key = (snapshot.tree, path, section.key, urls, "section")
    return _texts.get(key, lambda: _render_section(snapshot, document, section, urls))


def _render_section(snapshot: Snapshot, document: Document, section: Section, urls: PageUrls) -> str:
    text = document.text(section.start, min(section.end, section.start + MAX_BYTES))
    definitions: dict[str, str] = {}
    if "][" in text or b"]:" in document.data:
        for link in read_cached_links(document).links:
            if link.kind is LinkKind.DEFINITION and link.label:
                definitions.setdefault(link.label, link.destination)
    features = Features(wiki=snapshot.config.links.wiki)
    return _without_ids(text, features, urls, snapshot, document.path, definitions)


def _without_ids(
    text: str,
    features: Features,
    urls: PageUrls,
    snapshot: Snapshot | None,
    path: str,
    definitions: dict[str, str] | None = None,
) -> str:
    text = text.removeprefix("\ufeff")
    world = PageFileTree(snapshot) if snapshot else None
    destinations = LinkRenderer(world, path, urls, None, is_page=False)
    html, _ = _write(_read(text, features, definitions), text, PageContext(destinations, None))
    return html
