"""The list of resources: the documents of the tip, in order of paths, by pages; and what else can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.pages import page_after, read_place, shorten_title, write_place
from tools.resources.contents import SCHEME, write_uri
from workspace.errors import LimitExceeded
from workspace.snapshot.snapshot import NotADocument

if TYPE_CHECKING:
    from tools.tool import Context
    from workspace.snapshot.snapshot import Snapshot

PAGE = 100

_LIST = ("resources",)


class Resource(NamedTuple):
    """A document as a host offers it; `size` is in bytes."""

    uri: str
    path: str
    title: str
    size: int


class ResourcePage(NamedTuple):
    """A part of the list, and the cursor of the next one."""

    resources: tuple[Resource, ...]
    next_cursor: str | None
    snapshot: Snapshot


class ResourceTemplate(NamedTuple):
    """A form of URIs (RFC 6570)."""

    uri: str
    name: str
    title: str
    description: str


DOCUMENT = ResourceTemplate(
    f"{SCHEME}:///{{+path}}{{?ref}}",
    "document",
    "A document",
    "The Markdown source of a document. ref is a branch, a tag, a commit or @{2026-01-31}; without it, the "
    "newest commit is read.",
)
# {#section} would let the slashes of an address stand, but readers of templates refuse it beside {+path}.
SECTION = ResourceTemplate(
    f"{SCHEME}:///{{+path}}#{{section}}",
    "section",
    "A section of a document",
    "The Markdown source of a section with its subsections. section is its address, such as install/linux; "
    "_preamble is what stands before the first heading.",
)
SECTION_AT = ResourceTemplate(
    f"{SCHEME}:///{{+path}}?ref={{ref}}#{{section}}",
    "section_at",
    "A section as it was",
    "The Markdown source of a section at a branch, a tag, a commit or @{2026-01-31}.",
)
TEMPLATES = (DOCUMENT, SECTION, SECTION_AT)


def list_resources(context: Context, cursor: str | None) -> ResourcePage:
    """Return a page of the documents at the tip. Those whose text cannot be read are left out.

    Raises InvalidCursor, and StaleCursor once the documents are not those that the cursor was given out for.
    """
    snapshot = context.snapshot()
    last = read_place(cursor, snapshot.tree, _LIST) if cursor is not None else None
    paths = page_after(list(snapshot.documents), last)
    found = [resource for path in paths[:PAGE] if (resource := _resource(snapshot, path)) is not None]
    more = write_place(paths[PAGE - 1], snapshot.tree, _LIST) if len(paths) > PAGE else None
    return ResourcePage(tuple(found), more, snapshot)


def _resource(snapshot: Snapshot, path: str) -> Resource | None:
    try:
        document = snapshot.document(path)
    except (LimitExceeded, NotADocument):
        return None
    return Resource(write_uri(path), path, shorten_title(document.title), len(document.data))
