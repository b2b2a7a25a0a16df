"""Links, images, headings and formulas of a page.

Links are resolved by `workspace.links` among the files of a commit, of which a limited number of bytes is
read, and only safe targets are permitted. `RenderOptions` and `RenderedDocument` are the input and the result
of rendering.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from workspace.links.file_tree import OverlayFileTree
from workspace.links.fragments import find_names
from workspace.links.link import Enclosure, Link, LinkKind
from workspace.links.resolver import LinkStatus, is_external, resolve
from workspace.markdown.html.reader import WIKI_SCHEME
from workspace.markdown.html.writer import HeadingNames, encode_fragment
from workspace.markdown.slugs import PREAMBLE
from workspace.rendering.formulas import FormulaConverter

if TYPE_CHECKING:
    from workspace.config.names import Dialect
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.links.fragments import FragmentTarget
    from workspace.links.resolver import ResolvedLink
    from workspace.snapshot.snapshot import Snapshot

# Each link is looked up in Git's trees.
MAX_RESOLVED_LINKS = 3_000

# The URL standard, "basic URL parser": the characters that are removed at the ends of an address, and inside
# of it.
_CHARACTERS_REMOVED_AT_ENDS = "".join(map(chr, range(0x21)))
_CHARACTERS_REMOVED_INSIDE = str.maketrans("", "", "\t\n\r")
_WEB_ADDRESS = re.compile(r"https?://[^/\\?#]", re.IGNORECASE)
_MAIL_ADDRESS = re.compile(r"mailto:[^\s]", re.IGNORECASE)
NOT_CHECKED_TITLE = "Not checked: this page has too many links"


class RenderedLink(NamedTuple):
    """A resolved link. `href` is None if there is no target; `title` may then describe the error.

    `host` is the host of an external address.
    """

    href: str | None
    css_class: str = ""
    title: str = ""
    host: str = ""


class LinkRenderer:
    """A resolver of the links and images of one text; equal destinations of links are resolved once."""

    def __init__(
        self,
        tree: PageFileTree | None,
        path: str,
        urls: PageUrls,
        document: Document | None,
        *,
        is_page: bool,
    ) -> None:
        """Relative links are relative to `path`; `is_page` is True if ids of `document` are on the page."""
        self._tree, self._path, self._urls = tree, path, urls
        self._document, self._is_page = document, is_page
        self._links: dict[str, RenderedLink] = {}
        self.notes: set[str] = set()

    def resolve_link(self, destination_text: str) -> RenderedLink:
        """Return the link for a destination, in which entities and escapes are resolved."""
        result = self._links.get(destination_text)
        if result is None:
            result = self._links[destination_text] = self._render_external(
                destination_text
            ) or self._render_internal(destination_text)
        return result

    def resolve_image(self, destination_text: str) -> RenderedLink:
        """Return the link for the source of an image.

        An image on another host has its address as `href`, and must not be loaded.
        """
        external = self._render_external(destination_text)
        if external is not None:
            return external
        resolved_link = self._resolve(destination_text, is_image=True)
        if resolved_link is None or resolved_link.path is None or resolved_link.status is not LinkStatus.OK:
            return RenderedLink(
                None, "broken", _describe_missing(resolved_link) if resolved_link else NOT_CHECKED_TITLE
            )
        return RenderedLink(self._urls.raw(resolved_link.path))

    def _render_external(self, destination_text: str) -> RenderedLink | None:
        address = destination_text.strip(_CHARACTERS_REMOVED_AT_ENDS).translate(_CHARACTERS_REMOVED_INSIDE)
        if address.startswith(("//", "\\\\", "/\\", "\\/")):
            address = "https://" + address[2:]
        elif not is_external(address) or address.startswith(f"{WIKI_SCHEME}:"):
            return None
        address = address.replace(" ", "%20").replace("\\", "/")
        if _MAIL_ADDRESS.match(address):
            return RenderedLink(address, "external")
        host = _read_host(address) if _WEB_ADDRESS.match(address) else ""
        if not host:
            return RenderedLink(None)
        return RenderedLink(address, "external", host=host)

    def _render_internal(self, destination_text: str) -> RenderedLink:
        resolved_link = self._resolve(destination_text, is_image=False)
        if resolved_link is None:
            return RenderedLink(None, "", NOT_CHECKED_TITLE if self._tree else "")
        if resolved_link.status is LinkStatus.EXTERNAL:
            return RenderedLink(None, "", "Not part of this workspace")
        path = resolved_link.path
        if path is None or resolved_link.status not in (LinkStatus.OK, LinkStatus.MISSING_FRAGMENT):
            return RenderedLink(None, "broken", _describe_missing(resolved_link))
        if self._tree is not None and self._tree.is_folder(path):
            return RenderedLink(self._urls.folder(path))
        fragment = resolved_link.target.fragment if resolved_link.target else None
        if not self._is_document(path):
            return RenderedLink(self._urls.raw(path))
        is_here = path == self._path and self._is_page
        if resolved_link.status is LinkStatus.MISSING_FRAGMENT:
            href = None if is_here else self._urls.document(path)
            return RenderedLink(href, "broken", "The document has no such section")
        name = self._choose_name(path, resolved_link.fragment_target, fragment)
        if is_here and name:
            return RenderedLink(f"#{encode_fragment(name)}")
        return RenderedLink(self._urls.document(path, name))

    def _choose_name(self, path: str, target: FragmentTarget | None, fragment: str | None) -> str:
        """Return the id of a link's target on its page: the section's key, else the fragment of the link."""
        if target is None or self._tree is None:
            return fragment or ""
        if target.section is None:
            return ""
        document = self._document if path == self._path and self._document else self._tree.document(path)
        if document is None:
            return fragment or ""
        section = document.sections[target.section]
        return section.key if section.heading_start == target.offset else fragment or ""

    def _is_document(self, path: str) -> bool:
        return self._tree is not None and self._tree.is_document(path)

    def _resolve(self, destination_text: str, *, is_image: bool) -> ResolvedLink | None:
        """Return the resolved link; None if there are no files, or if the limit of links is exceeded."""
        if self._tree is None:
            return None
        if len(self._links) >= MAX_RESOLVED_LINKS:
            self.notes.add("Some links are not checked, because the page has too many.")
            return None
        kind, destination = LinkKind.INLINE, destination_text
        if destination_text.startswith(f"{WIKI_SCHEME}:"):
            kind, destination = LinkKind.WIKI, destination_text.removeprefix(f"{WIKI_SCHEME}:")
        link = Link(kind, is_image, 0, 0, 0, 0, Enclosure.BARE, destination, None, 1)
        return resolve(self._tree, self._path, link)


def _describe_missing(resolved_link: ResolvedLink) -> str:
    if resolved_link.status is LinkStatus.OUTSIDE:
        return "Leads out of the repository"
    return (
        "There is no such file" if resolved_link.status is LinkStatus.MISSING_FILE else "Cannot be shown here"
    )


def _read_host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


# The maximum total size of the documents that one page reads to check fragments of links.
MAX_READ_BYTES = 500_000


class PageFileTree(OverlayFileTree):
    """The files of a snapshot, for the links of one page.

    At most MAX_READ_BYTES of documents are read in total. Fragments in further documents are not checked.
    """

    def __init__(self, snapshot: Snapshot, page_document: Document | None = None) -> None:
        super().__init__(snapshot)
        self._page_snapshot, self._page_document = snapshot, page_document
        self._documents: dict[str, Document | None] = {}
        self._remaining_bytes = MAX_READ_BYTES

    def is_document(self, path: str) -> bool:
        """Return True if a path is that of a document, which the page shows as HTML."""
        if self._page_document is not None and path == self._page_document.path:
            return True
        entry = self._page_snapshot.entry(path)
        return entry is not None and entry.is_blob and self._page_snapshot.config.is_document(path)

    def document(self, path: str) -> Document | None:
        """Return the document at a path; None if it cannot be read, or would exceed the limit."""
        if self._page_document is not None and path == self._page_document.path:
            return self._page_document
        if path not in self._documents:
            self._documents[path] = super().document(path) if self._reserve_bytes(path) else None
        return self._documents[path]

    def _reserve_bytes(self, path: str) -> bool:
        """Return True if a file exists and fits the limit, and count its bytes towards the limit."""
        entry = self._page_snapshot.entry(path)
        if entry is None or not entry.is_blob:
            return False
        size = self._page_snapshot.git.blob_size(entry.id)
        if size > self._remaining_bytes:
            return False
        self._remaining_bytes -= size
        return True


class PageHeadings:
    """The headings of a document by their lines, counted from 0 after its front matter."""

    def __init__(self, document: Document, dialect: Dialect) -> None:
        self._first_line = document.front_matter_lines
        self._lines = document.lines
        self._sections = {section.line - 1: section for section in document.sections if section.heading}
        self._anchor_lines = {
            line
            for section in document.sections
            if section.heading and section.start < section.heading_start and not section.is_preamble
            for line in range(section.heading.first_line, section.line - 1)
        }
        self._names: dict[int, list[str]] = {}
        for name, target in find_names(document, dialect).items():
            # These names refer to the document, or to the heading of the title, whose id is this name.
            if name not in ("", PREAMBLE):
                self._names.setdefault(target.offset, []).append(name)
        self.outline: list[RenderedHeading] = []

    def visit_heading(self, line: int) -> HeadingNames | None:
        """Return the names of the heading on a line, and add the heading to `outline`.

        A heading in a list or quotation is not added, and its id is the first name.
        """
        document_line = self._first_line + line
        names = self._names.get(self._lines.offset(document_line), [])
        section = self._sections.get(document_line)
        if section is None:
            return HeadingNames(names[0], tuple(names[1:]), names[0]) if names else None
        self.outline.append(_make_outline_entry(section))
        aliases = tuple(name for name in names if name != section.key)
        return HeadingNames(section.key, aliases, section.title)

    def get_document_line(self, line: int) -> int:
        """Return the line in the document, counted from 1."""
        return self._first_line + line + 1

    def is_hidden(self, line: int) -> bool:
        """Return True if a line contains only the anchors of the heading below it."""
        return self._first_line + line in self._anchor_lines


def _make_outline_entry(section: Section) -> RenderedHeading:
    level = section.heading.block.level if section.heading else 1
    return RenderedHeading(level, section.title, section.key, section.address)


class PageContext:
    """The links, images, headings and formulas of a text that is written as HTML.

    If `headings` is None, the text may occur on a page several times, so it has no ids. `addresses` are the
    addresses of the links and images of the text.
    """

    def __init__(
        self,
        link_renderer: LinkRenderer,
        headings: PageHeadings | None,
        *,
        marks_diagrams: bool = False,
        task_mark: str = "",
    ) -> None:
        self._link_renderer, self._headings, self._task_mark = link_renderer, headings, task_mark
        self._formulas = FormulaConverter()
        self._is_in_link = False
        self.allows_ids, self.marks_diagrams = headings is not None, marks_diagrams
        self.addresses: set[str] = set()

    def find_heading_names(self, line: int) -> HeadingNames | None:
        """Return the names of the heading on a line; None if the heading has no names."""
        return self._headings.visit_heading(line) if self._headings else None

    def format_task_id(self, line: int) -> str:
        """Return the id of the box of the task on a line; empty without an id."""
        if not self._task_mark or self._headings is None:
            return ""
        return f"{self._task_mark}-{self._headings.get_document_line(line)}"

    def is_hidden(self, line: int) -> bool:
        """Return True if a line contains only the anchors of the heading below it."""
        return self._headings is not None and self._headings.is_hidden(line)

    def open_link(self, attributes: dict[str, str]) -> str:
        """Return the tag that begins a link, with its resolved address."""
        name, href = attributes.pop("name", ""), attributes.pop("href", None)
        attributes.pop("class", None)
        if name:
            attributes.setdefault("id", name)
        self._is_in_link = href is not None
        if href is not None:
            attributes |= self._make_attributes(self._link_renderer.resolve_link(href))
        return _format_tag("a", attributes)

    def close_link(self) -> str:
        """Return the tag that ends a link."""
        self._is_in_link = False
        return "</a>"

    def render_image(self, attributes: dict[str, str]) -> str:
        """Return an image of the workspace, or a link to an image on another host, which is not loaded."""
        source, alt_text = attributes.pop("src", None), attributes.get("alt", "")
        if source is None:
            return _format_placeholder(alt_text or "image", "", "An image of this kind is not shown")
        link = self._link_renderer.resolve_image(source)
        if link.href is None:
            return _format_placeholder(
                alt_text or "image", link.css_class, link.title or "An image of this kind is not shown"
            )
        if not link.css_class:
            self.addresses.add(link.href)
            return _format_tag("img", {"src": link.href, "alt": alt_text, **attributes, "loading": "lazy"})
        self._link_renderer.notes.add("Images of other hosts are not loaded; they are shown as links.")
        title = f"An image of {link.host}, which is not loaded"
        if self._is_in_link:
            return _format_placeholder(alt_text or link.host, "image-link", title)
        attributes_of_link = self._make_attributes(link._replace(css_class="image-link", title=title))
        link_text = f"{alt_text} ({link.host})" if alt_text else f"image of {link.host}"
        return f"{_format_tag('a', attributes_of_link)}{escape(link_text)}</a>"

    def render_formula(self, source: str, *, is_block: bool) -> str | None:
        """Return a formula as MathML; None if its source is shown instead."""
        return self._formulas.convert(source, is_block=is_block)

    def _make_attributes(self, link: RenderedLink) -> dict[str, str]:
        if link.href is not None:
            self.addresses.add(link.href)
        attributes = {"class": link.css_class, "href": link.href, "title": link.title}
        return {name: value for name, value in attributes.items() if value}


def _format_tag(name: str, attributes: dict[str, str]) -> str:
    attribute_texts = (f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{''.join(attribute_texts)}>"


def _format_placeholder(text: str, css_class: str, title: str) -> str:
    """Return the text that is shown in place of an image."""
    return f"{_format_tag('span', {'class': css_class, 'title': title})}{escape(text)}</span>"


class PageUrls(Protocol):
    """The addresses of pages; each begins with one slash. Equal instances must have equal hashes."""

    def document(self, path: str, section: str = "", /) -> str:
        """Return the address of a document, at one of its sections if given; both are not encoded."""
        ...

    def folder(self, path: str, /) -> str:
        """Return the address of a folder; "" is the root."""
        ...

    def raw(self, path: str, /) -> str:
        """Return the address of a raw file."""
        ...


class RenderOptions(NamedTuple):
    """Optional features: formulas as MathML, and diagrams as `<pre class="mermaid">`.

    With `task_mark`, the box of a task has the id `MARK-LINE`; the lines of the document count from 1. The
    mark must not occur in documents.
    """

    math: bool = False
    mermaid: bool = False
    task_mark: str = ""


class RenderedHeading(NamedTuple):
    """A heading in the outline: its level (1 to 6), title, id in the HTML, and address."""

    level: int
    title: str
    id: str
    address: str


class RenderedDocument(NamedTuple):
    """A document as safe HTML.

    `html` is the body without front matter. `shows_title` is True if a heading shows the title. `is_cut`
    is True if the end is missing. `notes` are sentences on the omitted parts.
    """

    html: str
    title: str
    shows_title: bool
    outline: tuple[RenderedHeading, ...]
    is_cut: bool
    notes: tuple[str, ...]
