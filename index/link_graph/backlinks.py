"""Resolved links: the links of a document, and the links to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from index.link_graph.records import LinkRecord, Reference, make_name_test, make_reference
from workspace.links.link import Enclosure, Link, LinkKind
from workspace.links.reader import read_cached_links
from workspace.links.resolver import FileTree, LinkStatus, ResolvedLink, resolve

if TYPE_CHECKING:
    from workspace.document.document import Document


class DocumentLink(NamedTuple):
    """A link and its target.

    `section` is the key of the section that contains the link, None outside sections. `target_key` is the
    key of the target section, None for the document itself.
    """

    source: str
    section: str | None
    line: int
    kind: LinkKind
    is_image: bool
    destination: str
    status: LinkStatus
    path: str | None
    target_key: str | None

    @property
    def address(self) -> str:
        """The target's address: path and section, or the destination if it has no target."""
        if self.path is None or self.status is not LinkStatus.OK:
            return self.destination
        return self.path if self.target_key is None else f"{self.path}#{self.target_key}"

    @property
    def source_address(self) -> str:
        """The address of the section that contains the link."""
        return self.source if self.section is None else f"{self.source}#{self.section}"

    @property
    def is_broken(self) -> bool:
        """Return True if the target should be in the repository but does not exist."""
        return self.status in (LinkStatus.MISSING_FILE, LinkStatus.MISSING_FRAGMENT)


def resolve_outgoing(file_tree: FileTree, document: Document) -> list[DocumentLink]:
    """Return the links of a document in document order. A reference link has the position of its use."""
    links = read_cached_links(document, wiki=file_tree.rules.wiki).links
    return list(_resolve_links(file_tree, document.path, (make_reference(document, link) for link in links)))


def resolve_backlinks(
    file_tree: FileTree,
    document: Document,
    records: Iterable[tuple[str, LinkRecord]],
    *,
    include_own: bool = True,
) -> list[DocumentLink]:
    """Return the links to a document or its sections from documents, given by path and record.

    The links are in order of paths and positions. With `include_own`, the document's own links come first.
    """
    path = document.path

    def targets_document(link: DocumentLink) -> bool:
        return link.path == path and link.status is LinkStatus.OK

    backlinks = list(filter(targets_document, resolve_outgoing(file_tree, document))) if include_own else []
    may_name = make_name_test(path)
    for source, record in records:
        if source != path:
            candidates = (reference for reference in record.references if may_name(reference.destination))
            backlinks.extend(filter(targets_document, _resolve_links(file_tree, source, candidates)))
    return backlinks


def _resolve_links(
    file_tree: FileTree, source: str, references: Iterable[Reference]
) -> Iterator[DocumentLink]:
    resolved_links: dict[tuple[LinkKind, str], ResolvedLink] = {}
    for reference in references:
        if reference.kind is LinkKind.DEFINITION:
            continue
        target = (reference.kind, reference.destination)
        if target not in resolved_links:
            resolved_links[target] = resolve(file_tree, source, _make_link(reference))
        resolved = resolved_links[target]
        yield DocumentLink(
            source, *reference[:5], resolved.status, resolved.path, _find_section_key(file_tree, resolved)
        )


def _find_section_key(file_tree: FileTree, resolved: ResolvedLink) -> str | None:
    """Return the key of the section that a link targets."""
    if resolved.fragment_target is None or resolved.fragment_target.section is None or resolved.path is None:
        return None
    document = file_tree.document(resolved.path)
    return document.sections[resolved.fragment_target.section].key if document else None


def _make_link(reference: Reference) -> Link:
    """Return a link with only the fields that decide its target."""
    return Link(
        reference.kind,
        reference.is_image,
        0,
        0,
        0,
        0,
        Enclosure.BARE,
        reference.destination,
        None,
        reference.line,
    )
