"""Which document and section an address of these pages means: as it stands, or where it has moved to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import SectionNotFound, resolve_section
from workspace.errors import WorkspaceError
from workspace.paths import is_nameable
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from docyard.web.asked import PageRequest
    from tools.moved import FoundPlace
    from workspace.document.document import Document
    from workspace.document.sections import Section

_LONGEST = 2_000  # characters of a section's address that is shown again


class Crumb(NamedTuple):
    """A folder above a document: its name and its path."""

    name: str
    path: str


class ResolvedPlace(NamedTuple):
    """A document, and the section of it that is meant (None: all of it)."""

    document: Document
    section: Section | None

    @property
    def key(self) -> str:
        """The section's key, empty for the whole document."""
        return self.section.key if self.section else ""


def resolve_place(asked: PageRequest) -> ResolvedPlace:
    """Return what the path and the query's `section` name.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, NotADocument, LimitExceeded.
    """
    document = asked.snapshot.document(get_path(asked))
    name = get_section(asked)
    if not name:
        return ResolvedPlace(document, None)
    return ResolvedPlace(document, document.section_by_key(name) or resolve_section(document, name))


def get_path(asked: PageRequest) -> str:
    """Return the path of a request. Raises DocumentNotFound for one that nothing can have."""
    path = asked.path["path"]
    if not path or not is_nameable(path) or any(part in ("", ".", "..") for part in path.split("/")):
        raise DocumentNotFound(
            "nothing can stand at this path", fix="Find the document in the library, or search for it."
        )
    return path


def get_section(asked: PageRequest) -> str:
    """Return the section that the query names, empty for none."""
    return asked.query.get("section", "").strip().removeprefix("#")[:_LONGEST]


def find_moved_place(asked: PageRequest, path: str, section: str) -> FoundPlace | None:
    """Return where an address leads that names nothing any more; None if that is not known."""
    from tools.moved import find_moved

    try:
        return find_moved(asked.workspace.moves, asked.snapshot, path, section or None)
    except WorkspaceError:  # the page's own error says more
        return None


def find_redirect_url(asked: PageRequest, error: WorkspaceError, kind: str) -> str | None:
    """Return the URL of the same page of what has moved; None if there is no trace of it.

    `kind` names the page as `PageUrls` does: document, raw, history, blame, edit.
    """
    if not isinstance(error, (DocumentNotFound, SectionNotFound)) or isinstance(error, NotADocument):
        return None
    try:
        there = find_moved_place(asked, get_path(asked), get_section(asked))
    except DocumentNotFound:
        return None
    if there is None:
        return None
    if kind == "raw":
        return asked.urls.raw(there.file)
    url: str = getattr(asked.urls, kind)(there.file, (there.slug or "").partition("[")[0])
    return url


def build_crumbs(path: str) -> list[Crumb]:
    """Return the folders above a path, the top one first."""
    parts = path.split("/")[:-1]
    return [Crumb(part, "/".join(parts[: at + 1])) for at, part in enumerate(parts)]
