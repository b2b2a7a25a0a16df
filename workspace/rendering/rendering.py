"""Markdown as HTML that is safe to show: a document, one of its sections, or a few words.

The text is read and written as HTML with the author's addresses, which depends on the text alone; then links
are resolved, which depends on the commit. Both are kept.
"""

from __future__ import annotations

import secrets
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from workspace.config import LimitExceeded
from workspace.links.link import LinkKind
from workspace.links.reading import links_of
from workspace.lru_cache import LRUCache
from workspace.markdown.pages import Features, Mark, Written, read_page, write_html
from workspace.rendering import math, sanitizing
from workspace.rendering.destinations import Destinations
from workspace.rendering.marks import Marks
from workspace.rendering.rewriting import fill, rewrite
from workspace.rendering.values import Entry, Options, Rendered, Urls
from workspace.rendering.world import PageWorld
from workspace.sections import PREAMBLE

if TYPE_CHECKING:
    from collections.abc import Hashable

    from workspace.document import Document, Section
    from workspace.snapshot import Snapshot

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


class _Written(NamedTuple):
    """What depends on a document's text alone. `html` has the addresses of its author.

    `formulas` are MathML and source, as `math.as_shown` gives them.
    """

    html: str
    formulas: tuple[tuple[str, str], ...]
    placeholder: str
    outline: tuple[Entry, ...]
    is_cut: bool
    notes: tuple[str, ...]


_written: LRUCache[Hashable, _Written] = LRUCache(
    _KEPT, lambda value: len(value.html) + sum(len(shown) for shown, _ in value.formulas) + _SPARE
)
_rendered: LRUCache[Hashable, Rendered] = LRUCache(_KEPT, lambda value: len(value.html) + _SPARE)
_texts: LRUCache[Hashable, str] = LRUCache(_KEPT // 4, lambda value: len(value) + _SPARE)


def render(snapshot: Snapshot, path: str, *, urls: Urls, options: Options = Options()) -> Rendered:  # noqa: B008
    """A document as HTML. Raises DocumentNotFound, NotADocument, LimitExceeded."""
    blob = snapshot.blob(path)
    return _rendered.get(
        (snapshot.tree, path, urls, options), lambda: _render(snapshot, path, blob, urls, options)
    )


def _render(snapshot: Snapshot, path: str, blob: str, urls: Urls, options: Options) -> Rendered:
    document = snapshot.document(path)
    rules = snapshot.config.links
    key = (blob, path, rules.dialect, rules.wiki, options)
    written = _written.get(key, lambda: _write(document, snapshot, options))
    destinations = Destinations(PageWorld(snapshot, document), path, urls, document, is_page=True)
    html = sanitizing.as_shown(rewrite(written.html, destinations, keeps_ids=True))
    html = fill(html, written.placeholder, written.formulas)
    return Rendered(
        html,
        document.title,
        any(entry.id == PREAMBLE for entry in written.outline),
        written.outline,
        written.is_cut,
        (*written.notes, *sorted(destinations.notes)),
    )


def _write(document: Document, snapshot: Snapshot, options: Options) -> _Written:
    begin, end = document.front_matter_end, _end(document)
    text = document.text(begin, end).removeprefix("\ufeff")
    rules = snapshot.config.links
    marks = Marks(document, rules.dialect)
    placeholder = _placeholder()
    is_cut, notes = end < len(document.data), []
    try:
        page = read_page(text, Features(rules.wiki, options.math and math.is_installed()))
        found = write_html(
            page,
            mark=marks.mark,
            is_dropped=marks.is_dropped,
            placeholder=placeholder,
            mermaid=options.mermaid,
        )
        is_cut = is_cut or page.is_cut
        html, is_plain = _canonical(found, text)
        is_plain = is_plain or found.is_plain
    except LimitExceeded:
        html, found, is_plain = _plain(text), Written("", (), True, False), True
    if is_cut:
        notes.append("The end of this document is not shown, because it is too long for a page.")
    if is_plain:
        notes.append("Part of this document is shown as it is written, because it has too many parts.")
    formulas = tuple(math.as_shown(found.formulas))
    return _Written(html, formulas, placeholder, tuple(marks.outline), is_cut, tuple(notes))


def _end(document: Document) -> int:
    """Where the part that is rendered ends: between two sections or at least two lines, unless it is all."""
    size, begin = len(document.data), document.front_matter_end
    most = min(begin + MAX_BYTES, document.lines.offset(document.front_matter_lines + MAX_LINES))
    if size <= most:
        return size
    end = max((section.start for section in document.sections if begin < section.start <= most), default=0)
    if end > (begin + most) // 2:
        return end
    return document.data.rfind(b"\n", begin, most) + 1 or most


def _canonical(found: Written, text: str) -> tuple[str, bool]:
    """The HTML in canonical form, and whether it is the source instead."""
    html = sanitizing.as_written(found.html)
    if found.has_html:
        # Without elements that are not allowed, such as `<button>`, others may stand where HTML has no place
        # for them: read again, what follows sees them where a browser would put them.
        html = sanitizing.as_written(html)
    return (_plain(text), True) if len(html) > _MAX_HTML else (html, False)


def _plain(text: str) -> str:
    return f"<pre>{escape(text, quote=False)}</pre>"


def _placeholder() -> str:
    """What nobody could have written into a document."""
    return f"formula-{secrets.token_hex(12)}-"


def render_text(
    markdown: str,
    *,
    urls: Urls,
    snapshot: Snapshot | None = None,
    base_path: str = "",
    breaks: bool = True,
) -> str:
    """A few words of Markdown as HTML without ids: a comment, a description, a text that is edited.

    With `breaks` each line end is a line break, as in comments. Relative links count from the document
    `base_path` of the snapshot; without one they lead nowhere.
    """
    key = (markdown, snapshot.tree if snapshot else None, urls, base_path, breaks)
    return _texts.get(key, lambda: _render_text(markdown, urls, snapshot, base_path, breaks))


def _render_text(markdown: str, urls: Urls, snapshot: Snapshot | None, base_path: str, breaks: bool) -> str:
    features = Features(wiki=snapshot.config.links.wiki if snapshot else False, breaks=breaks)
    html = _without_ids(markdown[:MAX_WORDS], features, urls, snapshot, base_path)
    return html + "<p>…</p>\n" if len(markdown) > MAX_WORDS else html


def render_section(snapshot: Snapshot, path: str, section: Section | str, *, urls: Urls) -> str:
    """A section's own text as HTML without ids, its heading included; `section` may be an address.

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


def _render_section(snapshot: Snapshot, document: Document, section: Section, urls: Urls) -> str:
    text = document.text(section.start, min(section.end, section.start + MAX_BYTES))
    definitions: dict[str, str] = {}
    if "][" in text or b"]:" in document.data:
        for link in links_of(document).links:
            if link.kind is LinkKind.DEFINITION and link.label:
                definitions.setdefault(link.label, link.destination)
    features = Features(wiki=snapshot.config.links.wiki)
    return _without_ids(text, features, urls, snapshot, document.path, definitions)


def _without_ids(
    text: str,
    features: Features,
    urls: Urls,
    snapshot: Snapshot | None,
    path: str,
    definitions: dict[str, str] | None = None,
) -> str:
    def unmarked(line: int) -> Mark | None:
        return None

    try:
        found = write_html(read_page(text.removeprefix("\ufeff"), features, definitions), mark=unmarked)
        html, _ = _canonical(found, text)
    except LimitExceeded:
        html = _plain(text)
    world = PageWorld(snapshot) if snapshot else None
    destinations = Destinations(world, path, urls, None, is_page=False)
    return sanitizing.as_shown(rewrite(html, destinations, keeps_ids=False))
