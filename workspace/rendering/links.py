"""The links and images of a page: resolved by `workspace.links`, and limited to safe targets.

The files among which the links of a page are resolved: a commit's, of which only so much is read.

Decide what links, images, headings and formulas of a text become on the page it stands on.

What rendering is asked for, and what it gives.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from workspace.links.fragments import find_names
from workspace.links.link import Enclosure, Link, LinkKind
from workspace.links.resolver import LinkStatus, is_external, resolve
from workspace.links.world import OverlayFileTree
from workspace.markdown.html.reader import WIKI_SCHEME
from workspace.markdown.html.writer import Mark, encode_fragment
from workspace.markdown.slugs import PREAMBLE
from workspace.rendering.sanitizer import Formulas

if TYPE_CHECKING:
    from workspace.config.tables import Dialect
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.links.fragments import FragmentTarget
    from workspace.links.resolver import ResolvedLink
    from workspace.snapshot.snapshot import Snapshot

# Each is looked for in Git's trees.
MAX_RESOLVED = 3_000

# The URL standard, "basic URL parser": what is taken off the ends of an address, and out of it.
_AT_ENDS = "".join(map(chr, range(0x21)))
_WITHIN = str.maketrans("", "", "\t\n\r")
_WEB = re.compile(r"https?://[^/\\?#]", re.IGNORECASE)
_MAIL = re.compile(r"mailto:[^\s]", re.IGNORECASE)
NOT_CHECKED = "Not looked for: this page has too many links"


class RenderedLink(NamedTuple):
    """A resolved link: `href` is None without a target, `kind` is a class, `title` describes the error."""

    href: str | None
    kind: str = ""
    title: str = ""
    host: str = ""


class LinkRenderer:
    """The destinations of one text. Each is resolved once."""

    def __init__(
        self,
        world: PageFileTree | None,
        path: str,
        urls: PageUrls,
        document: Document | None,
        *,
        is_page: bool,
    ) -> None:
        """Relative links count from `path`; `is_page` tells that ids of `document` are on the page."""
        self._world, self._path, self._urls = world, path, urls
        self._document, self._is_page = document, is_page
        self._links: dict[str, RenderedLink] = {}
        self.notes: set[str] = set()

    def link(self, written: str) -> RenderedLink:
        """Return where a link leads; entities and escapes in it are resolved."""
        found = self._links.get(written)
        if found is None:
            found = self._links[written] = self._external(written) or self._internal(written)
        return found

    def image(self, written: str) -> RenderedLink:
        """Return where an image is.

        One of another host has its address as `href`, and is not to be loaded.
        """
        external = self._external(written)
        if external is not None:
            return external
        found = self._resolved(written, is_image=True)
        if found is None or found.path is None or found.status is not LinkStatus.OK:
            return RenderedLink(None, "broken", _missing(found) if found else NOT_CHECKED)
        return RenderedLink(self._urls.raw(found.path))

    def _external(self, written: str) -> RenderedLink | None:
        address = written.strip(_AT_ENDS).translate(_WITHIN)
        if address.startswith(("//", "\\\\", "/\\", "\\/")):
            address = "https://" + address[2:]
        elif not is_external(address) or address.startswith(f"{WIKI_SCHEME}:"):
            return None
        address = address.replace(" ", "%20").replace("\\", "/")
        if _MAIL.match(address):
            return RenderedLink(address, "external")
        host = _host(address) if _WEB.match(address) else ""
        if not host:
            return RenderedLink(None)
        return RenderedLink(address, "external", host=host)

    def _internal(self, written: str) -> RenderedLink:
        found = self._resolved(written, is_image=False)
        if found is None:
            return RenderedLink(None, "", NOT_CHECKED if self._world else "")
        if found.status is LinkStatus.EXTERNAL:
            return RenderedLink(None, "", "Not part of this workspace")
        path = found.path
        if path is None or found.status not in (LinkStatus.OK, LinkStatus.MISSING_FRAGMENT):
            return RenderedLink(None, "broken", _missing(found))
        if self._world is not None and self._world.is_folder(path):
            return RenderedLink(self._urls.folder(path))
        fragment = found.target.fragment if found.target else None
        if not self._is_document(path):
            return RenderedLink(self._urls.raw(path))
        is_here = path == self._path and self._is_page
        if found.status is LinkStatus.MISSING_FRAGMENT:
            href = None if is_here else self._urls.document(path)
            return RenderedLink(href, "broken", "The document has no such section")
        name = self._name(path, found.place, fragment)
        if is_here and name:
            return RenderedLink(f"#{encode_fragment(name)}")
        return RenderedLink(self._urls.document(path, name))

    def _name(self, path: str, place: FragmentTarget | None, fragment: str | None) -> str:
        """Return the id of a place on its page: a section's key, else the name that a link gives it."""
        if place is None or self._world is None:
            return fragment or ""
        if place.section is None:
            return ""
        document = self._document if path == self._path and self._document else self._world.document(path)
        if document is None:
            return fragment or ""
        section = document.sections[place.section]
        return section.key if section.heading_start == place.offset else fragment or ""

    def _is_document(self, path: str) -> bool:
        return self._world is not None and self._world.is_document(path)

    def _resolved(self, written: str, *, is_image: bool) -> ResolvedLink | None:
        """Return what `workspace.links` says; None if it is not asked any more."""
        if self._world is None:
            return None
        if len(self._links) >= MAX_RESOLVED:
            self.notes.add("Some links are not looked for, because the page has too many.")
            return None
        kind, destination = LinkKind.INLINE, written
        if written.startswith(f"{WIKI_SCHEME}:"):
            kind, destination = LinkKind.WIKI, written.removeprefix(f"{WIKI_SCHEME}:")
        link = Link(kind, is_image, 0, 0, 0, 0, Enclosure.BARE, destination, None, 1)
        return resolve(self._world, self._path, link)


def _missing(found: ResolvedLink) -> str:
    if found.status is LinkStatus.OUTSIDE:
        return "Leads out of the repository"
    return "There is no such file" if found.status is LinkStatus.MISSING_FILE else "Cannot be shown here"


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


# A document that a fragment leads to is read to see whether it has the place.
MAX_READ_BYTES = 500_000


class PageFileTree(OverlayFileTree):
    """The files of a snapshot. Past the limit documents are not opened, and no fragment is looked for."""

    def __init__(self, snapshot: Snapshot, own: Document | None = None) -> None:
        super().__init__(snapshot)
        self._commit, self._own = snapshot, own
        self._opened: dict[str, Document | None] = {}
        self._bytes_left = MAX_READ_BYTES

    def is_document(self, path: str) -> bool:
        """Return True if a path is that of a document, which the page shows rendered."""
        if self._own is not None and path == self._own.path:
            return True
        entry = self._commit.entry(path)
        return entry is not None and entry.is_blob and self._commit.config.is_document(path)

    def document(self, path: str) -> Document | None:
        """Return the document of a path; None for what is none, cannot be read, or is past the limit."""
        if self._own is not None and path == self._own.path:
            return self._own
        if path not in self._opened:
            self._opened[path] = super().document(path) if self._may_open(path) else None
        return self._opened[path]

    def _may_open(self, path: str) -> bool:
        entry = self._commit.entry(path)
        if entry is None or not entry.is_blob:
            return False
        size = self._commit.git.blob_size(entry.id)
        if size > self._bytes_left:
            return False
        self._bytes_left -= size
        return True


class HeadingMarks:
    """The headings of a document by their lines, which count from 0 behind its front matter."""

    def __init__(self, document: Document, dialect: Dialect) -> None:
        self._first = document.front_matter_lines
        self._lines = document.lines
        self._sections = {section.line - 1: section for section in document.sections if section.heading}
        self._anchored = {
            line
            for section in document.sections
            if section.heading and section.start < section.heading_start and not section.is_preamble
            for line in range(section.heading.first_line, section.line - 1)
        }
        self._names: dict[int, list[str]] = {}
        for name, place in find_names(document, dialect).items():
            # These name the whole document, or the heading of the title, which has the name for its id.
            if name not in ("", PREAMBLE):
                self._names.setdefault(place.offset, []).append(name)
        self.outline: list[RenderedHeading] = []

    def mark(self, line: int) -> Mark | None:
        """How the heading on a line is found; one in a list or quotation has GitHub's name for it, if any."""
        at = self._first + line
        names = self._names.get(self._lines.offset(at), [])
        section = self._sections.get(at)
        if section is None:
            return Mark(names[0], tuple(names[1:]), names[0]) if names else None
        self.outline.append(_entry(section))
        aliases = tuple(name for name in names if name != section.key)
        return Mark(section.key, aliases, section.title)

    def is_dropped(self, line: int) -> bool:
        """Return True if a line holds nothing but the anchors of a heading below it."""
        return self._first + line in self._anchored


def _entry(section: Section) -> RenderedHeading:
    level = section.heading.block.level if section.heading else 1
    return RenderedHeading(level, section.title, section.key, section.address)


class PageContext:
    """Resolve what a page's text leads to; without `marks` it can stand on a page several times.

    `addresses` are the links and images that were made of what the text says.
    """

    def __init__(
        self, destinations: LinkRenderer, marks: HeadingMarks | None, *, has_mermaid: bool = False
    ) -> None:
        self._destinations, self._marks = destinations, marks
        self._formulas = Formulas()
        self._is_in_link = False
        self.has_ids, self.has_mermaid = marks is not None, has_mermaid
        self.addresses: set[str] = set()

    def mark(self, line: int) -> Mark | None:
        """Return the names of the heading on a line, None if it has none."""
        return self._marks.mark(line) if self._marks else None

    def is_dropped(self, line: int) -> bool:
        """Return True if a line holds nothing but the anchors of a heading below it."""
        return self._marks is not None and self._marks.is_dropped(line)

    def open_link(self, attributes: dict[str, str]) -> str:
        """Return the tag that begins a link, leading where its address does."""
        name, href = attributes.pop("name", ""), attributes.pop("href", None)
        attributes.pop("class", None)
        if name:
            attributes.setdefault("id", name)
        self._is_in_link = href is not None
        if href is not None:
            attributes |= self._leading(self._destinations.link(href))
        return _tag("a", attributes)

    def close_link(self) -> str:
        """Return the tag that ends a link."""
        self._is_in_link = False
        return "</a>"

    def image(self, attributes: dict[str, str]) -> str:
        """Return an image of the workspace; a link to one of another host, which is not loaded."""
        source, words = attributes.pop("src", None), attributes.get("alt", "")
        if source is None:
            return _instead(words or "image", "", "An image of this kind is not shown")
        found = self._destinations.image(source)
        if found.href is None:
            return _instead(words or "image", found.kind, found.title or "An image of this kind is not shown")
        if not found.kind:
            self.addresses.add(found.href)
            return _tag("img", {"src": found.href, "alt": words, **attributes, "loading": "lazy"})
        self._destinations.notes.add("Images of other hosts are not loaded; they are shown as links.")
        title = f"An image of {found.host}, which is not loaded"
        if self._is_in_link:
            return _instead(words or found.host, "image-link", title)
        link = self._leading(found._replace(kind="image-link", title=title))
        shown = f"{words} ({found.host})" if words else f"image of {found.host}"
        return f"{_tag('a', link)}{escape(shown)}</a>"

    def formula(self, source: str, *, is_block: bool) -> str:
        """Return a formula as MathML, or as it was written."""
        return self._formulas.write(source, is_block=is_block)

    def _leading(self, found: RenderedLink) -> dict[str, str]:
        if found.href is not None:
            self.addresses.add(found.href)
        given = {"class": found.kind, "href": found.href, "title": found.title}
        return {name: value for name, value in given.items() if value}


def _tag(name: str, attributes: dict[str, str]) -> str:
    written = (f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{''.join(written)}>"


def _instead(words: str, kind: str, title: str) -> str:
    """Return words that stand for an image."""
    return f"{_tag('span', {'class': kind, 'title': title})}{escape(words)}</span>"


class PageUrls(Protocol):
    """The addresses of the page: each begins with one slash. Equal ones must be equal and have one hash."""

    def document(self, path: str, section: str = "", /) -> str:
        """Return a document, at one of its sections; "" is the whole of it. Neither is encoded."""
        ...

    def folder(self, path: str, /) -> str:
        """Return a folder; "" is the top."""
        ...

    def raw(self, path: str, /) -> str:
        """Return a file as it is."""
        ...


class RenderOptions(NamedTuple):
    """Optional features: formulas as MathML; diagrams as `<pre class="mermaid">`, for the page."""

    math: bool = False
    mermaid: bool = False


class RenderedHeading(NamedTuple):
    """A heading in the outline: its level (1 to 6), words, id in the HTML, and address."""

    level: int
    title: str
    id: str
    address: str


class RenderedDocument(NamedTuple):
    """A document as HTML, safe to show as it is.

    `html` is its body without front matter; `shows_title` tells whether the title is its first heading.
    `is_cut` tells that its end is missing, and `notes` what was left out, as sentences for a reader.
    """

    html: str
    title: str
    shows_title: bool
    outline: tuple[RenderedHeading, ...]
    is_cut: bool
    notes: tuple[str, ...]
