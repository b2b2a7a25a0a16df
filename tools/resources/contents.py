"""The source that a URI names: a document, or a section with all that stands below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tools.examples import proposed
from tools.moved import found
from tools.parts import part_of
from tools.resources.uris import Target, read_uri, write_uri
from workspace.document.addresses import resolve_section
from workspace.errors import WorkspaceError
from workspace.paths import check_path

if TYPE_CHECKING:
    from tools.context import Context
    from workspace.document.document import Document, Section
    from workspace.snapshot.snapshot import Snapshot

_NAMED = 10


class Place(NamedTuple):
    """Where a URI leads at a commit; `section` None is the whole document."""

    snapshot: Snapshot
    document: Document
    section: Section | None
    moved_to: dict[str, Any] | None = None

    @property
    def address(self) -> str:
        """The address within the workspace."""
        return self.document.path + (f"#{self.section.key}" if self.section else "")

    @property
    def span(self) -> tuple[int, int]:
        """Where its bytes begin and end. A preamble is its own text, any other section all below it too."""
        if self.section is None:
            return 0, len(self.document.data)
        return self.section.start, self.section.tree_end

    @property
    def data(self) -> bytes:
        """Its bytes."""
        start, end = self.span
        return self.document.data[start:end]


class Source(NamedTuple):
    """A text as a host attaches it; `rest` are the URIs of the next sections, where it had to be cut."""

    place: Place
    text: str
    is_cut: bool
    rest: tuple[str, ...]


def read_resource(context: Context, uri: str) -> Source:
    """The exact source of what a URI names, as much of it as one answer takes. Raises what `locate` does."""
    place = locate(context, uri)
    document = place.document
    part = part_of(document, document.sections, *place.span, tokens=context.text_tokens)
    ref = read_uri(uri, place.snapshot.documents).ref
    following = part.following[:_NAMED] if part.rest is not None else ()
    rest = tuple(write_uri(document.path, section.key, ref) for section in following)
    return Source(place, part.text, part.rest is not None, rest)


def locate(context: Context, uri: str) -> Place:
    """What a URI names, or where that has moved to.

    Raises InvalidUri, InvalidPath, and the errors of refs, documents and addresses, with `nearest`: the URIs
    that come nearest.
    """
    tip = context.snapshot()
    target = read_uri(uri, tip.documents)
    snapshot = context.snapshot(target.ref) if target.ref else tip
    if target.path not in snapshot.documents:
        check_path(target.path)
    try:
        where = found(context, snapshot, target.path, target.section)
        document = snapshot.document(where.file)
        section = resolve_section(document, where.slug) if where.slug else None
    except WorkspaceError as error:
        error.details["nearest"] = _nearest(error, target)
        raise
    return Place(snapshot, document, section, where.moved_to)


def _nearest(error: WorkspaceError, target: Target) -> list[str]:
    """The URIs of an error's candidates: paths of documents, or addresses in the one that was named."""
    known = proposed(error)[:_NAMED]
    if error.code in ("SECTION_NOT_FOUND", "AMBIGUOUS_ADDRESS", "INVALID_ADDRESS"):
        return [write_uri(target.path, name, target.ref) for name in known]
    return [write_uri(name, None, target.ref) for name in known]
