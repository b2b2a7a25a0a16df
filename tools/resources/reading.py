"""The source that a URI names: a document, or a section with all that stands below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tools.bounded import MAX_TEXT
from tools.moved import found
from tools.resources.uris import Target, read_uri, write_uri
from workspace.addresses import resolve_section
from workspace.errors import WorkspaceError
from workspace.paths import check_path

if TYPE_CHECKING:
    from tools.context import Context
    from workspace.document import Document, Section
    from workspace.snapshot import Snapshot

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
        return self.section.start, self.section.end if self.section.is_preamble else self.section.tree_end

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
    """The exact source of what a URI names, up to `tools.bounded.MAX_TEXT` bytes. Raises what `locate` does.

    A longer one is cut before a section, else between blocks, else between lines.
    """
    place = locate(context, uri)
    start, end = place.span
    cut = _cut(place.document, start, end)
    ref = read_uri(uri, place.snapshot.documents).ref
    rest = [
        write_uri(place.document.path, section.key, ref)
        for section in place.document.sections
        if cut <= section.start < end
    ]
    text = place.document.data[start:cut].decode("utf-8", "replace")
    return Source(place, text, cut < end, tuple(rest[:_NAMED]))


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
    candidates = error.details.get("candidates")
    if not isinstance(candidates, list):
        return []
    names = [item.get("slug") if isinstance(item, dict) else item for item in candidates[:_NAMED]]
    known = [name for name in names if isinstance(name, str)]
    if error.code in ("SECTION_NOT_FOUND", "AMBIGUOUS_ADDRESS", "INVALID_ADDRESS"):
        return [write_uri(target.path, name, target.ref) for name in known]
    return [write_uri(name, None, target.ref) for name in known]


def _cut(document: Document, start: int, end: int) -> int:
    """Where a source is cut so that it is not too long."""
    most, half = start + MAX_TEXT, start + MAX_TEXT // 2
    if end <= most:
        return end
    begins = [section.start for section in document.sections if half < section.start <= most]
    if begins:
        return begins[-1]
    for separator in (b"\n\n", b"\n"):
        place = document.data.rfind(separator, half, most)
        if place != -1:
            return place + len(separator)
    while document.data[most] & 0xC0 == 0x80 and most > half:  # in the middle of a character
        most -= 1
    return most
