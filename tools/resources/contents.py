"""URIs of resources, and the sources that they name: a document, or a section with its subsections.

A URI is an address such as `doc:///guides/setup.md?ref=main#install`. Its query names a commit, and its
fragment names a section. The host is empty. The first folder of a path cannot be the host, because programs
lower-case a host and refuse spaces in it (WHATWG URL §3.5). Non-ASCII and reserved characters
are percent-encoded (RFC 3986 §2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from tools.examples import list_suggested_names
from tools.pages import cut_part
from tools.redirects import find_current_location
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
MAX_URI_CHARACTERS = 16_000  # the longest path, percent-encoded, and a section
_URI_PREFIX = f"{SCHEME}://"
_REF_QUERY = "?ref="
_SAFE_IN_PATH = "/:@!$&'(*+),;="  # RFC 3986 §3.3, pchar; a fragment (§3.5) may also contain `?`
_URI_FIX = f"Use a URI of resources/list, such as {SCHEME}:///guides/setup.md#install."


class InvalidUri(WorkspaceError):
    """A URI does not name a document or section."""

    code = "INVALID_URI"


class UriTarget(NamedTuple):
    """The target of a URI: a document, a section of it (None: the document), and a ref (None: the tip)."""

    path: str
    section: str | None = None
    ref: str | None = None


def format_uri(path: str, section: str | None = None, ref: str | None = None) -> str:
    """Return the URI of a document or of a section."""
    query = f"{_REF_QUERY}{quote(ref, safe='/:@!$()*,;')}" if ref else ""
    fragment = f"#{quote(section, safe=_SAFE_IN_PATH + '?')}" if section else ""
    return f"{_URI_PREFIX}/{quote(path, safe=_SAFE_IN_PATH)}{query}{fragment}"


def parse_uri(uri: str, paths: Container[str]) -> UriTarget:
    """Return the target of a URI; `paths` are the existing documents. Raises InvalidUri.

    A host that expands `{+path}` does not encode `#` and `?` (RFC 6570 §3.2.3). They are read as a part of
    the path if a document has this path. The URI may begin with two slashes instead of three.
    """
    if len(uri) > MAX_URI_CHARACTERS:
        raise InvalidUri(
            f"the URI has {len(uri):,} characters; at most {MAX_URI_CHARACTERS:,} are allowed", fix=_URI_FIX
        )
    if uri[: len(_URI_PREFIX)].lower() != _URI_PREFIX:
        raise InvalidUri(f"the URI must begin with {_URI_PREFIX}", fix=_URI_FIX)
    path_and_query = uri[len(_URI_PREFIX) :].removeprefix("/")
    address, _, fragment = path_and_query.partition("#")
    path, _, query = address.partition("?")
    target = UriTarget(_decode(path), _decode(fragment) or None)
    if (
        target.path not in paths
        and (fragment or query)
        and (unencoded_target := _read_unencoded_uri(path_and_query, paths))
    ):
        return unencoded_target
    if not target.path:
        raise InvalidUri("the URI must name a document", fix=_URI_FIX)
    return target._replace(ref=_read_ref(query))


def _read_unencoded_uri(path_and_query: str, paths: Container[str]) -> UriTarget | None:
    """Return the target of a URI whose path contains an unencoded `#` or `?`; None without a document."""
    encoded_path, separator, ref_and_fragment = path_and_query.rpartition(_REF_QUERY)
    if separator and (path := _decode(encoded_path)) in paths:
        ref, _, fragment = ref_and_fragment.partition("#")
        return UriTarget(path, _decode(fragment) or None, _decode(ref) or None)
    path, section = split_address(_decode(path_and_query), paths)
    return UriTarget(path, section or None) if path in paths else None


def _read_ref(query: str) -> str | None:
    """Return the ref that a query names; None without one. Raises InvalidUri."""
    if not query:
        return None
    name, _, value = query.partition("=")
    if name != "ref" or "&" in value:
        raise InvalidUri("the query of the URI must contain only a ref", fix="Write ?ref=main.")
    return _decode(value) or None


def _decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InvalidUri("the percent-encoding of the URI must be UTF-8", fix=_URI_FIX) from None


_MAX_NEXT_URIS = 10


class ResourceLocation(NamedTuple):
    """The location of a URI's target at a commit; `section` None is the document."""

    snapshot: Snapshot
    document: Document
    section: Section | None
    moved_to: dict[str, Any] | None = None

    @property
    def address(self) -> str:
        """Return the address within the workspace."""
        return self.document.path + (f"#{self.section.key}" if self.section else "")

    @property
    def span(self) -> tuple[int, int]:
        """Return the bytes [start, end) of the document, or of the section with its subsections."""
        if self.section is None:
            return 0, len(self.document.data)
        return self.section.start, self.section.tree_end

    @property
    def data(self) -> bytes:
        """Return the bytes of the target."""
        start, end = self.span
        return self.document.data[start:end]


class ResourceSource(NamedTuple):
    """A text as a host attaches it; `next_uris` are the URIs of the next sections if the text is cut."""

    location: ResourceLocation
    text: str
    is_cut: bool
    next_uris: tuple[str, ...]


def read_resource(context: Context, uri: str) -> ResourceSource:
    """Return the exact source of a URI's target, up to the limit of an answer.

    Raises the errors of `locate_resource`.
    """
    location = locate_resource(context, uri)
    document = location.document
    part = cut_part(document, document.sections, *location.span, tokens=context.text_tokens)
    ref = parse_uri(uri, location.snapshot.documents).ref
    later_sections = part.later_sections[:_MAX_NEXT_URIS] if part.next_offset is not None else ()
    next_uris = tuple(format_uri(document.path, section.key, ref) for section in later_sections)
    return ResourceSource(location, part.text, part.next_offset is not None, next_uris)


def locate_resource(context: Context, uri: str) -> ResourceLocation:
    """Return the location of a URI's target; the current location if it was moved.

    Raises InvalidUri, InvalidPath, and the errors of refs, documents and addresses, with the `nearest` URIs.
    """
    tip = context.snapshot()
    target = parse_uri(uri, tip.documents)
    snapshot = context.snapshot(target.ref) if target.ref else tip
    if target.path not in snapshot.documents:
        check_path(target.path)
    try:
        location = find_current_location(context, snapshot, target.path, target.section)
        document = snapshot.document(location.file)
        section = resolve_section(document, location.slug) if location.slug else None
    except WorkspaceError as error:
        error.details["nearest"] = _list_nearest_uris(error, target)
        raise
    return ResourceLocation(snapshot, document, section, location.moved_to)


def _list_nearest_uris(error: WorkspaceError, target: UriTarget) -> list[str]:
    """Return the URIs of an error's candidates: documents, or sections of the named document."""
    names = list_suggested_names(error)[:_MAX_NEXT_URIS]
    if error.code in ("SECTION_NOT_FOUND", "AMBIGUOUS_ADDRESS", "INVALID_ADDRESS"):
        return [format_uri(target.path, name, target.ref) for name in names]
    return [format_uri(name, None, target.ref) for name in names]
