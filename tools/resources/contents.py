"""The source that a URI names: a document, or a section with all that stands below it.

Addresses as URIs: `doc:///guides/setup.md?ref=main#install`, and back.

What other schemes take for a host stays empty: programs lower-case a host, and refuse spaces in it
(WHATWG URL §3.5), so the first folder of a path cannot stand there. The query names a commit, the fragment a
section. Letters beyond ASCII and what has a meaning in a URI are written in percent-encoding (RFC 3986 §2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from tools.examples import proposed_names
from tools.moved import find_for_reading
from tools.pages import cut_part
from workspace.document.addresses import resolve_section, split_address
from workspace.errors import WorkspaceError
from workspace.paths import check_path

if TYPE_CHECKING:
    from collections.abc import Container

    from tools.tool import Context
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot

SCHEME = "doc"
MAX_URI = 16_000  # characters: a path of the greatest length, in percent-encoding, and a section
_START = f"{SCHEME}://"
_REF = "?ref="
_IN_PATH = "/:@!$&'(*+),;="  # RFC 3986 §3.3, pchar; the fragment (§3.5) holds `?` too
_FIX = f"Use a URI of resources/list, such as {SCHEME}:///guides/setup.md#install."


class InvalidUri(WorkspaceError):
    """A text that is no URI of a document or section."""

    code = "INVALID_URI"


class UriTarget(NamedTuple):
    """What a URI names: a document's path, a section's address or all of it, a commit or the tip."""

    path: str
    section: str | None = None
    ref: str | None = None


def write_uri(path: str, section: str | None = None, ref: str | None = None) -> str:
    """Return the URI of a document or of a section."""
    query = f"{_REF}{quote(ref, safe='/:@!$()*,;')}" if ref else ""
    fragment = f"#{quote(section, safe=_IN_PATH + '?')}" if section else ""
    return f"{_START}/{quote(path, safe=_IN_PATH)}{query}{fragment}"


def read_uri(uri: str, paths: Container[str]) -> UriTarget:
    """Return what a URI names; `paths` are the documents that there are. Raises InvalidUri.

    A host that fills `{+path}` leaves `#` and `?` in a path as they are (RFC 6570 §3.2.3). Where that makes
    the difference between a document and none, they are read as a part of the path. Two slashes do for three.
    """
    if len(uri) > MAX_URI:
        raise InvalidUri(f"the URI is longer than {MAX_URI:,} characters", fix=_FIX)
    if uri[: len(_START)].lower() != _START:
        raise InvalidUri(f"this is no {SCHEME}: URI", fix=_FIX)
    rest = uri[len(_START) :].removeprefix("/")
    before, _, fragment = rest.partition("#")
    path, _, query = before.partition("?")
    target = UriTarget(_decode(path), _decode(fragment) or None)
    if target.path not in paths and (fragment or query) and (loose := _read_loosely(rest, paths)):
        return loose
    if not target.path:
        raise InvalidUri("the URI names no document", fix=_FIX)
    return target._replace(ref=_ref(query))


def _read_loosely(rest: str, paths: Container[str]) -> UriTarget | None:
    """Return what a URI names whose path holds `#` or `?` as they are; None if that is no document."""
    before, mark, after = rest.rpartition(_REF)
    if mark and (path := _decode(before)) in paths:
        ref, _, fragment = after.partition("#")
        return UriTarget(path, _decode(fragment) or None, _decode(ref) or None)
    path, section = split_address(_decode(rest), paths)
    return UriTarget(path, section or None) if path in paths else None


def _ref(query: str) -> str | None:
    """Return the commit that a query names."""
    if not query:
        return None
    name, _, value = query.partition("=")
    if name != "ref" or "&" in value:
        raise InvalidUri("the query of the URI holds something else than a ref", fix="Write ?ref=main.")
    return _decode(value) or None


def _decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InvalidUri("the percent-encoding of the URI is not UTF-8", fix=_FIX) from None


_NAMED = 10


class ResourcePlace(NamedTuple):
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


class ResourceSource(NamedTuple):
    """A text as a host attaches it; `rest` are the URIs of the next sections, where it had to be cut."""

    place: ResourcePlace
    text: str
    is_cut: bool
    rest: tuple[str, ...]


def read_resource(context: Context, uri: str) -> ResourceSource:
    """Return the exact source of what a URI names, as much of it as one answer takes.

    Raises what `locate` does.
    """
    place = locate(context, uri)
    document = place.document
    part = cut_part(document, document.sections, *place.span, tokens=context.text_tokens)
    ref = read_uri(uri, place.snapshot.documents).ref
    following = part.following[:_NAMED] if part.rest is not None else ()
    rest = tuple(write_uri(document.path, section.key, ref) for section in following)
    return ResourceSource(place, part.text, part.rest is not None, rest)


def locate(context: Context, uri: str) -> ResourcePlace:
    """Return what a URI names, or where that has moved to.

    Raises InvalidUri, InvalidPath, and the errors of refs, documents and addresses, with `nearest`: the URIs
    that come nearest.
    """
    tip = context.snapshot()
    target = read_uri(uri, tip.documents)
    snapshot = context.snapshot(target.ref) if target.ref else tip
    if target.path not in snapshot.documents:
        check_path(target.path)
    try:
        where = find_for_reading(context, snapshot, target.path, target.section)
        document = snapshot.document(where.file)
        section = resolve_section(document, where.slug) if where.slug else None
    except WorkspaceError as error:
        error.details["nearest"] = _nearest(error, target)
        raise
    return ResourcePlace(snapshot, document, section, where.moved_to)


def _nearest(error: WorkspaceError, target: UriTarget) -> list[str]:
    """Return the URIs of an error's candidates: paths of documents, or addresses in the named one."""
    known = proposed_names(error)[:_NAMED]
    if error.code in ("SECTION_NOT_FOUND", "AMBIGUOUS_ADDRESS", "INVALID_ADDRESS"):
        return [write_uri(target.path, name, target.ref) for name in known]
    return [write_uri(name, None, target.ref) for name in known]
