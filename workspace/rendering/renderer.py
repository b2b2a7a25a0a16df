"""Markdown as safe HTML: a document, one of its sections, or a short text.

The parse of a page depends only on its text. The HTML also depends on the commit, because links are resolved
in its files. Both results are cached: for half a megabyte, the parse takes 1 s, and the HTML 0.1 s.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from workspace.config.names import Dialect
from workspace.config.tables import LinkRules
from workspace.errors import LimitExceeded
from workspace.links.definitions import find_definitions
from workspace.lru_cache import LRUCache
from workspace.markdown.html.mentions import mark_mentions
from workspace.markdown.html.page import ContainerSyntax, MarkdownFeatures, ParsedPage
from workspace.markdown.html.reader import read_page
from workspace.markdown.html.writer import write_html
from workspace.markdown.slugs import PREAMBLE
from workspace.rendering.formulas import can_convert_formulas
from workspace.rendering.links import (
    LinkRenderer,
    PageContext,
    PageFileTree,
    PageHeadings,
    PageUrls,
    RenderedDocument,
    RenderOptions,
)
from workspace.rendering.sanitizer import sanitize

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot


MAX_RENDERED_BYTES = 500_000
"""The maximum number of rendered bytes of a document, which take one to two seconds."""

MAX_RENDERED_LINES = 20_000
"""The maximum number of rendered lines of a document; each may contain several blocks."""

MAX_TEXT_LENGTH = 100_000
"""The maximum number of rendered characters of a text that is not a document."""

MAX_DEFINITIONS_LENGTH = 20_000
"""The maximum number of bytes of the definitions of other sections that a rendered section uses."""

# Unclosed tags may multiply in HTML; a longer page is displayed as its source.
_MAX_HTML_LENGTH = 20_000_000
_MAX_CACHED_BYTES = 32_000_000
_BYTES_PER_ENTRY = 1_000
_BYTES_PER_TOKEN = 1_000

_CONTAINERS = {
    Dialect.GITHUB: ContainerSyntax.NONE,
    Dialect.MKDOCS: ContainerSyntax.MKDOCS,
    Dialect.DOCUSAURUS: ContainerSyntax.DOCUSAURUS,
}

_parsed_pages: LRUCache[Hashable, ParsedPage | None] = LRUCache(
    _MAX_CACHED_BYTES, lambda page: (len(page.tokens) * _BYTES_PER_TOKEN if page else 0) + _BYTES_PER_ENTRY
)

_rendered_documents: LRUCache[Hashable, RenderedDocument] = LRUCache(
    _MAX_CACHED_BYTES, lambda value: len(value.html) + _BYTES_PER_ENTRY
)
_rendered_texts: LRUCache[Hashable, str] = LRUCache(
    _MAX_CACHED_BYTES // 4, lambda value: len(value) + _BYTES_PER_ENTRY
)


def render(
    snapshot: Snapshot,
    path: str,
    *,
    urls: PageUrls,
    options: RenderOptions = RenderOptions(),  # noqa: B008
) -> RenderedDocument:
    """Render a document as HTML. Raises DocumentNotFound, LfsTextMissing, LimitExceeded."""
    blob = snapshot.blob(path)
    return _rendered_documents.get(
        (snapshot.tree, path, urls, options), lambda: _render(snapshot, path, blob, urls, options)
    )


def _render(
    snapshot: Snapshot, path: str, blob: str, urls: PageUrls, options: RenderOptions
) -> RenderedDocument:
    document = snapshot.document(path)
    link_settings = snapshot.config.links
    features = MarkdownFeatures(
        link_settings.wiki,
        options.math and can_convert_formulas(),
        containers=_CONTAINERS[link_settings.dialect],
    )
    end = _find_end(document)
    text = document.text(document.front_matter_end, end).removeprefix("\ufeff")
    page = _parsed_pages.get((blob, features), lambda: _parse_page(text, features))
    headings = PageHeadings(document, link_settings.dialect)
    link_renderer = LinkRenderer(PageFileTree(snapshot, document), path, urls, document, is_page=True)
    context = PageContext(
        link_renderer, headings, marks_diagrams=options.mermaid, task_mark=options.task_mark
    )
    html, shows_source = _write_page(page, text, context)
    is_cut = end < len(document.data) or (page is not None and page.is_cut)
    notes = []
    if is_cut:
        notes.append("The end of this document is not shown, because the document is too long for a page.")
    if shows_source:
        notes.append("Part of this document is shown as its source, because it has too many blocks.")
    return RenderedDocument(
        html,
        document.title,
        any(entry.id == PREAMBLE for entry in headings.outline),
        tuple(headings.outline),
        is_cut,
        (*notes, *sorted(link_renderer.notes)),
    )


def _parse_page(text: str, features: MarkdownFeatures) -> ParsedPage | None:
    """Return the parsed page of a text; None if it has too many blocks."""
    try:
        return read_page(text, features)
    except LimitExceeded:
        return None


def _write_page(page: ParsedPage | None, text: str, context: PageContext) -> tuple[str, bool]:
    """Return a page as safe HTML, and True if part of it is shown as its source."""
    if page is not None:
        write_result = write_html(page, context)
        renders_formulas = page.features.math
        html = sanitize(
            write_result.html, context.addresses, allows_ids=context.allows_ids, math=renders_formulas
        )
        if len(html) <= _MAX_HTML_LENGTH:
            return html, write_result.shows_source
    return f"<pre>{escape(text, quote=False)}</pre>", True


def _find_end(document: Document) -> int:
    """Return the end of the rendered part: between sections, or at a line end, or at the end of the text."""
    size, start = len(document.data), document.front_matter_end
    limit = min(
        start + MAX_RENDERED_BYTES,
        document.lines.offset(document.front_matter_lines + MAX_RENDERED_LINES),
    )
    if size <= limit:
        return size
    end = max((section.start for section in document.sections if start < section.start <= limit), default=0)
    if end > (start + limit) // 2:
        return end
    return document.data.rfind(b"\n", start, limit) + 1 or limit


def render_text(
    markdown: str,
    *,
    urls: PageUrls,
    snapshot: Snapshot | None = None,
    base_path: str = "",
    breaks: bool = True,
    math: bool = False,
    mentions: Mapping[str, str] | None = None,
) -> str:
    """Return a short Markdown text as HTML without ids, such as a comment or a description.

    With `breaks` each line end is a line break, as in comments. Relative links are relative to the document
    `base_path` of the snapshot; without a snapshot they have no target. `mentions` are the names of people by
    their handles, which are marked in the text.
    """
    names = tuple(sorted(mentions.items())) if mentions else ()
    links = snapshot.config.links if snapshot else LinkRules()
    features = MarkdownFeatures(
        links.wiki, math and can_convert_formulas(), breaks, containers=_CONTAINERS[links.dialect]
    )
    key = (markdown, snapshot.tree if snapshot else None, urls, base_path, features, names)
    return _rendered_texts.get(
        key, lambda: _render_text(markdown, urls, snapshot, base_path, features, dict(names))
    )


def _render_text(
    markdown: str,
    urls: PageUrls,
    snapshot: Snapshot | None,
    base_path: str,
    features: MarkdownFeatures,
    mentions: Mapping[str, str],
) -> str:
    html = _render_without_ids(
        markdown[:MAX_TEXT_LENGTH], features, urls, snapshot, base_path, mentions=mentions
    )
    return html + "<p>…</p>\n" if len(markdown) > MAX_TEXT_LENGTH else html


def _render_without_ids(
    text: str,
    features: MarkdownFeatures,
    urls: PageUrls,
    snapshot: Snapshot | None,
    path: str,
    *,
    mentions: Mapping[str, str] | None = None,
    marks_diagrams: bool = False,
) -> str:
    text = text.removeprefix("\ufeff")
    tree = PageFileTree(snapshot) if snapshot else None
    link_renderer = LinkRenderer(tree, path, urls, None, is_page=False)
    context = PageContext(link_renderer, None, marks_diagrams=marks_diagrams)
    page = _parse_page(text, features)
    if page is not None and mentions:
        mark_mentions(page.tokens, mentions)
    html, _ = _write_page(page, text, context)
    return html


def render_section(
    snapshot: Snapshot,
    section: Section,
    path: str,
    *,
    urls: PageUrls,
    options: RenderOptions = RenderOptions(),  # noqa: B008
) -> str:
    """Return the own text of a section with its heading as HTML without ids.

    Definitions of links and footnotes elsewhere in the document are used. Raises DocumentNotFound,
    LfsTextMissing, LimitExceeded; the last one also for a section of more than MAX_TEXT_LENGTH bytes.
    """
    length = section.end - section.start
    if length > MAX_TEXT_LENGTH:
        raise LimitExceeded(
            f"the section '{section.key}' of '{path}' has {length:,} bytes (limit {MAX_TEXT_LENGTH:,})",
            fix="Read its source instead.",
            limit=MAX_TEXT_LENGTH,
            actual=length,
        )
    key = (snapshot.tree, path, section.key, urls, options)
    return _rendered_texts.get(key, lambda: _render_section(snapshot, section, path, urls, options))


def _render_section(
    snapshot: Snapshot, section: Section, path: str, urls: PageUrls, options: RenderOptions
) -> str:
    document, links = snapshot.document(path), snapshot.config.links
    features = MarkdownFeatures(
        links.wiki,
        options.math and can_convert_formulas(),
        containers=_CONTAINERS[links.dialect],
    )
    text = document.text(section.start, section.end)
    definitions = _read_definitions(document, section, links) if "]" in text else ""
    return _render_without_ids(
        text + definitions, features, urls, snapshot, path, marks_diagrams=options.mermaid
    )


def _read_definitions(document: Document, section: Section, links: LinkRules) -> str:
    """Return the definitions of links and footnotes outside of a section, up to the limit of their length."""
    texts: list[str] = []
    remaining_length = MAX_DEFINITIONS_LENGTH
    for definition in find_definitions(document, links).values():
        if section.start <= definition.start < section.end:
            continue
        remaining_length -= definition.end - definition.start
        if remaining_length < 0:
            break
        texts.append(document.text(definition.start, definition.end).strip())
    return "".join(f"\n\n{text}" for text in texts) + "\n" if texts else ""
