"""What a link or an image becomes on the page: by the rules of `workspace.links`, and by what is safe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from workspace.links.link import Enclosure, Link, LinkKind
from workspace.links.resolver import Status, resolve
from workspace.links.targets import is_external
from workspace.markdown.html import WIKI_SCHEME, fragment_of

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.links.fragments import Place
    from workspace.links.resolver import Resolved
    from workspace.rendering.values import Urls
    from workspace.rendering.world import PageWorld

# Each is looked for in Git's trees.
MAX_RESOLVED = 3_000

# The URL standard, "basic URL parser": what is taken off the ends of an address, and out of it.
_AT_ENDS = "".join(map(chr, range(0x21)))
_WITHIN = str.maketrans("", "", "\t\n\r")
_WEB = re.compile(r"https?://[^/\\?#]", re.IGNORECASE)
_MAIL = re.compile(r"mailto:[^\s]", re.IGNORECASE)

NOT_LOOKED_FOR = "Not looked for: this page has too many links"


class Destination(NamedTuple):
    """Where a link leads: `href` is None for nowhere, `kind` is a class, `title` says what is wrong."""

    href: str | None
    kind: str = ""
    title: str = ""
    host: str = ""


class Destinations:
    """The destinations of one text. Each is resolved once."""

    def __init__(
        self, world: PageWorld | None, path: str, urls: Urls, document: Document | None, *, is_page: bool
    ) -> None:
        """Relative links count from `path`; `is_page` tells that ids of `document` are on the page."""
        self._world, self._path, self._urls = world, path, urls
        self._document, self._is_page = document, is_page
        self._links: dict[str, Destination] = {}
        self.notes: set[str] = set()

    def link(self, written: str) -> Destination:
        """Where a link leads; entities and escapes in it are resolved."""
        found = self._links.get(written)
        if found is None:
            found = self._links[written] = self._external(written) or self._internal(written)
        return found

    def image(self, written: str) -> Destination:
        """Where an image is. One of another host has its address as `href`, and is not to be loaded."""
        external = self._external(written)
        if external is not None:
            return external
        found = self._resolved(written, is_image=True)
        if found is None or found.path is None or found.status is not Status.OK:
            return Destination(None, "broken", _missing(found) if found else NOT_LOOKED_FOR)
        return Destination(self._urls.raw(found.path))

    def _external(self, written: str) -> Destination | None:
        address = written.strip(_AT_ENDS).translate(_WITHIN)
        if address.startswith(("//", "\\\\", "/\\", "\\/")):
            address = "https://" + address[2:]
        elif not is_external(address) or address.startswith(f"{WIKI_SCHEME}:"):
            return None
        address = address.replace(" ", "%20").replace("\\", "/")
        if _MAIL.match(address):
            return Destination(address, "external")
        host = _host(address) if _WEB.match(address) else ""
        if not host:
            return Destination(None)
        return Destination(address, "external", host=host)

    def _internal(self, written: str) -> Destination:
        found = self._resolved(written, is_image=False)
        if found is None:
            return Destination(None, "", NOT_LOOKED_FOR if self._world else "")
        if found.status is Status.EXTERNAL:
            return Destination(None, "", "Not part of this workspace")
        path = found.path
        if path is None or found.status not in (Status.OK, Status.MISSING_FRAGMENT):
            return Destination(None, "broken", _missing(found))
        if self._world is not None and self._world.is_folder(path):
            return Destination(self._urls.folder(path))
        fragment = found.target.fragment if found.target else None
        if not self._is_document(path):
            return Destination(self._urls.raw(path))
        is_here = path == self._path and self._is_page
        if found.status is Status.MISSING_FRAGMENT:
            href = None if is_here else self._urls.document(path)
            return Destination(href, "broken", "The document has no such section")
        name = self._name(path, found.place, fragment)
        if is_here and name:
            return Destination(f"#{fragment_of(name)}")
        return Destination(self._urls.document(path, name))

    def _name(self, path: str, place: Place | None, fragment: str | None) -> str:
        """The id of a place on its page: a section's key, else the name that a link gives it."""
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

    def _resolved(self, written: str, *, is_image: bool) -> Resolved | None:
        """What `workspace.links` says; None if it is not asked any more."""
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


def _missing(found: Resolved) -> str:
    if found.status is Status.OUTSIDE:
        return "Leads out of the repository"
    return "There is no such file" if found.status is Status.MISSING_FILE else "Cannot be shown here"


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
