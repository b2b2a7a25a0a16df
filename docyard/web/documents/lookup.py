"""The document and section that a URL names, at their current or new location."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import SectionNotFound, resolve_section
from workspace.errors import WorkspaceError
from workspace.paths import is_nameable
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing

if TYPE_CHECKING:
    from docyard.web.page_request import PageRequest
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.history.moved_addresses import Location

_MAX_SECTION_ADDRESS_CHARS = 2_000


class Crumb(NamedTuple):
    """A folder above a document: its name and its path."""

    name: str
    path: str


class ResolvedTarget(NamedTuple):
    """A document, and the named section; None for the whole document."""

    document: Document
    section: Section | None

    @property
    def key(self) -> str:
        """Return the section's key; empty for the whole document."""
        return self.section.key if self.section else ""


def resolve_target(request: PageRequest) -> ResolvedTarget:
    """Return the document and section that the path and the query's `section` name.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, LfsTextMissing, LimitExceeded.
    """
    document = request.snapshot.document(get_path(request))
    name = get_section(request)
    if not name:
        return ResolvedTarget(document, None)
    return ResolvedTarget(document, document.section_by_key(name) or resolve_section(document, name))


def get_path(request: PageRequest) -> str:
    """Return the path of a request. Raises DocumentNotFound for an invalid path."""
    path = request.path_params["path"]
    if not path or not is_nameable(path) or any(part in ("", ".", "..") for part in path.split("/")):
        raise DocumentNotFound(
            "the path is invalid", fix="Find the document in the library, or search for it."
        )
    return path


def get_section(request: PageRequest) -> str:
    """Return the address of the section that the query names; empty for the whole document."""
    return request.query.get("section", "").strip().removeprefix("#")[:_MAX_SECTION_ADDRESS_CHARS]


def find_moved_target(request: PageRequest, path: str, section: str) -> Location | None:
    """Return the new location of an address that no longer exists; None if it is unknown."""
    from workspace.history.moved_addresses import find_moved_location

    try:
        return find_moved_location(request.workspace.moves, request.snapshot, path, section or None)
    except WorkspaceError:  # the page's own error has more details
        return None


def find_redirect_url(request: PageRequest, error: WorkspaceError, kind: str) -> str | None:
    """Return the URL of the same page at the new location; None if it is unknown.

    `kind` is the method of `PageUrls` for the page: document, raw, history, blame, edit.
    """
    if not isinstance(error, (DocumentNotFound, SectionNotFound)) or isinstance(error, LfsTextMissing):
        return None
    try:
        new_location = find_moved_target(request, get_path(request), get_section(request))
    except DocumentNotFound:
        return None
    if new_location is None:
        return None
    if kind == "raw":
        return request.urls.raw(new_location.file)
    url: str = getattr(request.urls, kind)(new_location.file, (new_location.slug or "").partition("[")[0])
    return url


def build_crumbs(path: str) -> list[Crumb]:
    """Return the parent folders of a path, the top folder first."""
    names = path.split("/")[:-1]
    return [Crumb(name, "/".join(names[: index + 1])) for index, name in enumerate(names)]
