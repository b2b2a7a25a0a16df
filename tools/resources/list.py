"""The list of resources: the documents at the tip by path, page by page; and the URI templates.

The skills that the server offers come first, before the page of the other documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.pages import read_list_cursor, select_paths_after, shorten_title, write_list_cursor
from tools.resources.contents import SCHEME, format_uri
from workspace.errors import LimitExceeded
from workspace.snapshot.snapshot import LfsTextMissing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Context
    from workspace.skills import Skill
    from workspace.snapshot.snapshot import Snapshot

PAGE_SIZE = 100  # documents

_CURSOR_CRITERIA = ("resources",)


class Resource(NamedTuple):
    """A document as a host offers it; `size` is in bytes. `skill` is None unless it is offered as a skill."""

    uri: str
    path: str
    title: str
    size: int
    skill: Skill | None = None


class ListedDocuments(NamedTuple):
    """The snapshot whose documents are listed, and the skills that the server offers from it, by path."""

    snapshot: Snapshot
    skills: Mapping[str, Skill]

    @property
    def key(self) -> tuple[object, ...]:
        """The paths and the skills: the list has changed if they differ."""
        return tuple(self.snapshot.documents), tuple(self.skills.values())


class ResourcePage(NamedTuple):
    """A page of the list, the cursor of the next page, and the documents of the list."""

    resources: tuple[Resource, ...]
    next_cursor: str | None
    documents: ListedDocuments


class ResourceTemplate(NamedTuple):
    """A template of URIs (RFC 6570)."""

    uri: str
    name: str
    title: str
    description: str


DOCUMENT_TEMPLATE = ResourceTemplate(
    f"{SCHEME}:///{{+path}}{{?ref}}",
    "document",
    "A document",
    "The Markdown source of a document. ref is a branch, a tag, a commit or @{2026-01-31}; default: the "
    "newest commit.",
)
# {#section} would not encode the slashes of an address, but parsers of templates refuse it after {+path}.
SECTION_TEMPLATE = ResourceTemplate(
    f"{SCHEME}:///{{+path}}#{{section}}",
    "section",
    "A section of a document",
    "The Markdown source of a section with its subsections. section is its address, such as install/linux; "
    "_preamble is the text before the first heading.",
)
SECTION_AT_REF_TEMPLATE = ResourceTemplate(
    f"{SCHEME}:///{{+path}}?ref={{ref}}#{{section}}",
    "section_at",
    "A section at a ref",
    "The Markdown source of a section at a branch, a tag, a commit or @{2026-01-31}.",
)
TEMPLATES = (DOCUMENT_TEMPLATE, SECTION_TEMPLATE, SECTION_AT_REF_TEMPLATE)


def list_resources(context: Context, cursor: str | None) -> ResourcePage:
    """Return a page of the documents at the tip; unreadable documents are omitted.

    Raises InvalidCursor, and StaleCursor if the documents have changed since the cursor was issued.
    """
    documents = read_listed_documents(context)
    snapshot, skills = documents
    last_path = (
        read_list_cursor(context.signing_keys, cursor, snapshot.tree, _CURSOR_CRITERIA)
        if cursor is not None
        else None
    )
    paths = select_paths_after([path for path in snapshot.documents if path not in skills], last_path)
    page_paths = [*(skills if cursor is None else ()), *paths[:PAGE_SIZE]]
    resources = [
        resource
        for path in page_paths
        if (resource := _read_resource(snapshot, path, skills.get(path))) is not None
    ]
    next_cursor = (
        write_list_cursor(context.signing_keys, paths[PAGE_SIZE - 1], snapshot.tree, _CURSOR_CRITERIA)
        if len(paths) > PAGE_SIZE
        else None
    )
    return ResourcePage(tuple(resources), next_cursor, documents)


def read_listed_documents(context: Context) -> ListedDocuments:
    """Return the documents at the tip, with the skills that the server offers."""
    snapshot, skills = context.snapshot(), context.served_skills()
    if skills is None or skills.snapshot.tree != snapshot.tree:  # another commit was made meanwhile
        return ListedDocuments(snapshot, {})
    return ListedDocuments(snapshot, {skill.path: skill for skill in skills.offered})


def _read_resource(snapshot: Snapshot, path: str, skill: Skill | None) -> Resource | None:
    try:
        document = snapshot.document(path)
    except (LimitExceeded, LfsTextMissing):
        return None
    return Resource(format_uri(path), path, shorten_title(document.title), len(document.data), skill)
