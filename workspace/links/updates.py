"""Update links after one operation of a batch.

A link refers to a position. If the operation preserved that position, the link must still lead to it. If the
link would lead elsewhere, its destination is rewritten, and no other byte changes.

If links can no longer reach a heading by any name, the heading's address is added as an anchor. For example,
a heading `## Errors` that is moved above another `## Errors` takes the name `#errors` from it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import InvalidAddress
from workspace.document.heading_splices import rewrite_heading
from workspace.document.splices import Edit, Splice, StructureChanged, apply_edit
from workspace.errors import LimitExceeded
from workspace.links.definitions import find_dangling_references
from workspace.links.destinations import format_destination
from workspace.links.file_tree import OverlayFileTree
from workspace.links.fragments import (
    DOCUMENT_TARGET,
    choose_document_name,
    choose_name,
    find_names,
    find_target,
)
from workspace.links.inbound_links import AffectedPaths
from workspace.links.link import Enclosure, LinkKind, display_destination
from workspace.links.offset_map import OffsetMap
from workspace.links.reader import read_cached_links
from workspace.links.resolver import LinkStatus, ResolvedLink, Target, resolve
from workspace.markdown.slugs import PREAMBLE, UniqueNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.config.names import Dialect
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.links.definitions import DanglingReference
    from workspace.links.inbound_links import InboundLinkFinder
    from workspace.links.link import Link
    from workspace.links.offset_map import OffsetMap
    from workspace.markdown.attribute_lists import AnchorForm
    from workspace.snapshot.overlay import Overlay


class AnchoredDocuments(NamedTuple):
    """The documents before and after anchors were added, and the full addresses of the headings."""

    revised_documents: tuple[tuple[Document, Document], ...] = ()
    addresses: tuple[str, ...] = ()


def add_anchors(
    overlay: Overlay, headings_without_name: Mapping[str, Iterable[int]], offset_map: OffsetMap
) -> tuple[AnchoredDocuments, OffsetMap]:
    """Add anchors to headings, and return the changed documents and an offset map that includes the anchors.

    `headings_without_name` maps each path to the offsets of the lines of headings. A heading is skipped if
    its anchor would lead elsewhere or cannot be written, or if the document would be too large.
    """
    config = overlay.snapshot.config
    revised_documents: list[tuple[Document, Document]] = []
    addresses: list[str] = []
    for path, offsets in headings_without_name.items():
        document = overlay.document(path)
        form = document.anchor_form or config.anchors
        for offset in sorted(offsets, reverse=True):
            section = next((item for item in document.sections if item.heading_start == offset), None)
            anchor_edit = _add_anchor(document, section, form, config.links.dialect) if section else None
            if section is None or anchor_edit is None:
                continue
            new_document, splices = anchor_edit
            try:
                overlay.put(new_document)
            except LimitExceeded:
                continue
            new_heading_positions = {
                (path, item.heading_start): (path, counterpart.heading_start)
                for item, counterpart in zip(document.sections, new_document.sections, strict=True)
                if item.has_heading
            }
            offset_map = offset_map.compose(
                OffsetMap.of_splices(document, splices, new_heading_positions=new_heading_positions)
            )
            revised_documents.append((document, new_document))
            addresses.append(f"{path}#{new_document.sections[section.position].anchor}")
            document = new_document
    return AnchoredDocuments(tuple(revised_documents), tuple(reversed(addresses))), offset_map


def _add_anchor(
    document: Document, section: Section, form: AnchorForm, dialect: Dialect
) -> tuple[Document, list[Splice]] | None:
    """Return a document with an anchor on one heading; None if the anchor would not lead to the heading."""
    if section.anchor is not None or not section.has_heading:
        return None
    name = section.address
    if section.is_preamble:  # the address of a preamble is not an anchor
        name = UniqueNames("-", 1, find_names(document, dialect)).make_unique(section.slug)
    try:
        splices = rewrite_heading(document, section, level=section.level, anchor=name, form=form)
        new_document = apply_edit(document, Edit(tuple(splices), {}, ""))
    except (InvalidAddress, StructureChanged):
        return None
    counterpart = new_document.sections[section.position]
    target = find_target(find_names(new_document, dialect), name)
    return (
        (new_document, splices) if target is not None and target.offset == counterpart.heading_start else None
    )


# A new anchor may itself take the last name of another heading, which then needs an anchor too.
_MAX_ROUNDS = 4


class BrokenLink(NamedTuple):
    """A broken link: the document and the section that contain it, its line, and its destination."""

    file: str
    slug: str
    line: int
    destination: str


class LinkUpdates(NamedTuple):
    """The number of rewritten links in each file, and the links that are broken now.

    `link_counts` are the numbers by path. `revised_documents` are the rewritten documents, each before and
    after. `misdirected_links` lead elsewhere now and could not be rewritten. `unread_paths` are documents
    above the size limit, which may contain such links. `new_anchors` are the full addresses of headings to
    which an anchor was added, because they had no other name.
    """

    link_counts: Mapping[str, int]
    revised_documents: Sequence[tuple[Document, Document]]
    broken_links: Sequence[BrokenLink]
    misdirected_links: Sequence[BrokenLink]
    unread_paths: Sequence[str]
    new_anchors: Sequence[str] = ()

    @property
    def total_count(self) -> int:
        """The number of rewritten links."""
        return sum(self.link_counts.values())


NO_UPDATES = LinkUpdates({}, (), (), (), ())


class _IntendedTarget(NamedTuple):
    """The intended target of a link: a path and an offset in the document; None means the full document."""

    path: str
    offset: int | None


def update_links(
    before: Overlay, after: Overlay, offset_map: OffsetMap, inbound_links: InboundLinkFinder
) -> LinkUpdates:
    """Update the links in `after`, which one operation made from `before`, and return the updates."""
    affected_paths = AffectedPaths.of(before, after, offset_map)
    dangling_references = list(find_dangling_references(before, after, offset_map))
    if not affected_paths.paths and not dangling_references:
        return NO_UPDATES
    anchored_documents = AnchoredDocuments()
    for attempt in range(_MAX_ROUNDS):
        rewriter = _LinkRewriter(before, after, offset_map, affected_paths)
        rewriter.record_dangling_references(dangling_references)
        linking_paths = (
            inbound_links.find_linking_documents(before.snapshot, affected_paths.paths)
            if affected_paths.paths
            else ()
        )
        for path in sorted({*before.written_paths, *linking_paths, *offset_map.paths}):
            rewriter.check_document(path)
        if not rewriter.headings_without_name or attempt + 1 == _MAX_ROUNDS:
            break
        added_anchors, offset_map = add_anchors(after, rewriter.headings_without_name, offset_map)
        if not added_anchors.addresses:
            break
        anchored_documents = AnchoredDocuments(
            anchored_documents.revised_documents + added_anchors.revised_documents,
            anchored_documents.addresses + added_anchors.addresses,
        )
        affected_paths = AffectedPaths.of(before, after, offset_map)
        dangling_references = list(find_dangling_references(before, after, offset_map))
    updates = rewriter.write_destinations()
    return updates._replace(
        revised_documents=(*anchored_documents.revised_documents, *updates.revised_documents),
        new_anchors=anchored_documents.addresses,
    )


class _LinkRewriter:
    """One pass over the documents that may contain links to moved text."""

    def __init__(
        self, before: Overlay, after: Overlay, offset_map: OffsetMap, affected_paths: AffectedPaths
    ) -> None:
        self._before, self._after = before, after
        self._old_tree, self._new_tree = OverlayFileTree(before), OverlayFileTree(after)
        self._offset_map, self._affected_paths = offset_map, affected_paths
        self._rules = before.snapshot.config.links
        self._splices: dict[str, list[tuple[Splice, Link]]] = {}
        self._written_spans: dict[str, Sequence[tuple[int, int]]] = {}
        self._resolved_links: dict[tuple[str, str, LinkKind], ResolvedLink] = {}
        self._formatted_destinations: dict[tuple[str, str, LinkKind, Target, Enclosure], bytes] = {}
        self._broken_links: list[BrokenLink] = []
        self._misdirected_links: list[BrokenLink] = []
        self._unread_paths: list[str] = []
        # The offsets of the lines of headings that links refer to but that have no name, by path.
        self.headings_without_name: dict[str, set[int]] = {}

    def check_document(self, source_path: str) -> None:
        """Check the links of an old document at their new positions, and collect the necessary changes."""
        try:
            document = self._before.find(source_path)
        except LimitExceeded:
            self._unread_paths.append(source_path)
            return
        if document is None or self._offset_map.find_new_path(source_path) is None:
            return
        old_results: dict[tuple[str, bool], ResolvedLink] = {}
        links_by_path: dict[str, Mapping[int, Link]] = {}
        for link, position in self._list_links_with_positions(document):
            if position[0] == source_path and not self._affected_paths.may_refer(link, source_path):
                continue
            result_key = link.destination, link.kind is LinkKind.WIKI
            if result_key not in old_results:
                old_results[result_key] = resolve(self._old_tree, source_path, link)
            old_result = old_results[result_key]
            if old_result.status is not LinkStatus.OK or old_result.path is None:
                continue
            if old_result.path not in self._affected_paths.paths and position[0] == source_path:
                continue
            if position[0] not in links_by_path:
                links_by_path[position[0]] = self._map_links_by_offset(position[0], document)
            new_link = links_by_path[position[0]].get(position[1])
            if new_link is not None and _has_same_destination(
                document, link, self._after.document(position[0]), new_link
            ):
                self._update_link(old_result, position[0], new_link)

    def record_dangling_references(self, references: Sequence[DanglingReference]) -> None:
        """Record references that have no definition now, or another definition."""
        for link, path, start, is_text in references:
            document = self._after.document(path)
            moved_link = link._replace(start=start, line=document.lines.line_at(start) + 1)
            (self._broken_links if is_text else self._misdirected_links).append(
                describe_broken_link(document, moved_link)
            )

    def _list_links_with_positions(self, document: Document) -> Iterator[tuple[Link, tuple[str, int]]]:
        """Yield the links of an old document, with the new position of each destination and of each copy."""
        copies: dict[int, list[tuple[str, int]]] = {}
        for copied_span in self._offset_map.copies:
            if copied_span.old_path == document.path:
                copies.setdefault(copied_span.old_start, []).append(
                    (copied_span.new_path, copied_span.new_start)
                )
        for link in read_cached_links(document, wiki=self._rules.wiki).links:
            if link.kind in (LinkKind.REFERENCE, LinkKind.AUTOLINK):
                continue
            position = self._find_new_position(document.path, link)
            if position is not None:
                yield link, position
            for copy_position in copies.get(link.destination_start, ()):
                yield link, copy_position

    def _find_new_position(self, source_path: str, link: Link) -> tuple[str, int] | None:
        """Return the new position of a link's destination, if it was preserved."""
        start, end = link.destination_start, link.destination_end
        if start < end:
            return self._offset_map.map_span(source_path, start, end)
        # An empty destination has the position after the byte before it.
        previous_byte = self._offset_map.map_offset(source_path, start - 1)
        return None if previous_byte is None else (previous_byte[0], previous_byte[1] + 1)

    def _map_links_by_offset(self, path: str, old_document: Document) -> Mapping[int, Link]:
        """Return the links of a document after the operation, by the offsets of their destinations."""
        document = self._after.find(path)
        if document is None:
            return {}
        # The links of the old document are cached already.
        equal_document = old_document if old_document.data == document.data else document
        links = read_cached_links(equal_document, wiki=self._rules.wiki).links
        return {link.destination_start: link for link in links if link.kind is not LinkKind.REFERENCE}

    def _update_link(self, old_result: ResolvedLink, source_path: str, link: Link) -> None:
        """Rewrite the destination of a link if the link leads elsewhere now."""
        key = source_path, link.destination, link.kind
        if key not in self._resolved_links:
            self._resolved_links[key] = resolve(self._new_tree, source_path, link)
        new_result = self._resolved_links[key]
        intended_target = self._find_intended_target(old_result)
        if intended_target is None:
            if not self._leads_to_new_text(new_result):
                self._broken_links.append(self._describe_broken_link(source_path, link))
            return
        if (
            new_result.status is LinkStatus.OK
            and new_result.path == intended_target.path
            and _leads_to_intended_target(new_result, old_result, intended_target)
        ):
            return
        target = self._choose_target(old_result, intended_target, link)
        if target is None:
            self._misdirected_links.append(self._describe_broken_link(source_path, link))
            if intended_target.offset is not None:
                self.headings_without_name.setdefault(intended_target.path, set()).add(intended_target.offset)
            return
        format_key = (*key, target, link.enclosure)
        if format_key not in self._formatted_destinations:
            self._formatted_destinations[format_key] = format_destination(
                link, source_path, target, self._new_tree
            )
        splice = Splice(
            link.destination_start, link.destination_end, self._formatted_destinations[format_key]
        )
        self._splices.setdefault(source_path, []).append((splice, link))

    def _find_intended_target(self, old_result: ResolvedLink) -> _IntendedTarget | None:
        """Return the new location of a link's old target; None if it was removed."""
        assert old_result.path is not None
        path = self._affected_paths.vanished_folders.get(old_result.path, old_result.path)
        if path is None:
            return None
        if old_result.fragment_target is None or old_result.fragment_target == DOCUMENT_TARGET:
            new_path = self._offset_map.find_new_path(path)
            return None if new_path is None else _IntendedTarget(new_path, None)
        position = self._offset_map.map_offset(old_result.path, old_result.fragment_target.offset)
        return None if position is None else _IntendedTarget(*position)

    def _leads_to_new_text(self, new_result: ResolvedLink) -> bool:
        """Return True if a link leads to text that the operation wrote in place of the old target."""
        document = (
            self._after.find(new_result.path) if new_result.fragment_target and new_result.path else None
        )
        if document is None or new_result.fragment_target is None:
            return False
        if document.path not in self._written_spans:
            self._written_spans[document.path] = self._offset_map.find_written_spans(document)
        spans = self._written_spans[document.path]
        index = bisect_right(spans, new_result.fragment_target.offset, key=lambda span: span[0]) - 1
        return index >= 0 and new_result.fragment_target.offset < spans[index][1]

    def _choose_target(
        self, old_result: ResolvedLink, intended_target: _IntendedTarget, link: Link
    ) -> Target | None:
        """Return the target to write; None if the intended position has no name."""
        fragment = old_result.target.fragment if old_result.target else None
        document = self._new_tree.document(intended_target.path) if old_result.fragment_target else None
        if intended_target.offset is None:
            if document is not None and fragment is not None:
                fragment = choose_document_name(document, fragment, self._rules.dialect)
            return Target(intended_target.path, fragment, self._new_tree.is_folder(intended_target.path))
        if document is None:
            return None
        if link.kind is LinkKind.WIKI:  # a wiki link may name a heading by its text
            resolved_link = resolve(
                self._new_tree, intended_target.path, link._replace(destination=f"#{fragment}")
            )
            if (
                resolved_link.fragment_target
                and resolved_link.fragment_target.offset == intended_target.offset
            ):
                return Target(intended_target.path, fragment)
        name = choose_name(document, intended_target.offset, fragment, self._rules.dialect)
        return None if name is None else Target(intended_target.path, name)

    def _describe_broken_link(self, source_path: str, link: Link) -> BrokenLink:
        document = self._after.document(source_path)
        return describe_broken_link(document, link)

    def write_destinations(self) -> LinkUpdates:
        """Write the new destinations into the documents, and return the updates."""
        link_counts: dict[str, int] = {}
        revised_documents: list[tuple[Document, Document]] = []
        for path, changes in sorted(self._splices.items()):
            document = self._after.document(path)
            splices = [splice for splice, _ in changes]
            try:
                new_document = apply_edit(document, Edit(tuple(splices), {}, ""))
                self._after.put(new_document)
            except (StructureChanged, LimitExceeded):
                self._misdirected_links.extend(self._describe_broken_link(path, link) for _, link in changes)
                continue
            link_counts[path] = len(splices)
            revised_documents.append((document, new_document))
        return LinkUpdates(
            link_counts,
            revised_documents,
            tuple(self._broken_links),
            tuple(self._misdirected_links),
            tuple(self._unread_paths),
        )


def _has_same_destination(old: Document, link: Link, new: Document, new_link: Link) -> bool:
    """Return True if the destination of a link is written as before."""
    old_bytes = old.data[link.destination_start : link.destination_end]
    return (
        link.kind is new_link.kind
        and old_bytes == new.data[new_link.destination_start : new_link.destination_end]
    )


def _leads_to_intended_target(
    new_result: ResolvedLink, old_result: ResolvedLink, intended_target: _IntendedTarget
) -> bool:
    """Return True if a link leads to the intended position in a document."""
    if intended_target.offset is None:
        return old_result.fragment_target is None or new_result.fragment_target == DOCUMENT_TARGET
    return (
        new_result.fragment_target is not None and new_result.fragment_target.offset == intended_target.offset
    )


def describe_broken_link(document: Document, link: Link) -> BrokenLink:
    """Return the document, section, line and destination of a broken link, for a response."""
    section = document.section_at(link.start)
    return BrokenLink(
        document.path, section.key if section else PREAMBLE, link.line, display_destination(link.destination)
    )
