"""Link updates of a batch after one of its operations.

A link refers to a position. If that position was preserved, the link must lead to it after the operation too.
If it would lead elsewhere, its destination is rewritten, and no other byte changes.

If links can no longer reach a heading by any name, its address is added as an anchor. For example, `##
Errors` that is moved above another `## Errors` takes over its name `#errors`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import InvalidAddress
from workspace.document.heading_text import rewrite_heading
from workspace.document.splices import Edit, Splice, StructureChanged, apply_edit
from workspace.errors import LimitExceeded
from workspace.links.definitions import find_dangling_references
from workspace.links.destinations import format_destination
from workspace.links.fragments import DOCUMENT, choose_document_name, choose_name, find_names, find_target
from workspace.links.inbound import AffectedPaths
from workspace.links.link import Enclosure, LinkKind, display_destination
from workspace.links.offset_map import OffsetMap
from workspace.links.reader import read_cached_links
from workspace.links.resolver import LinkStatus, ResolvedLink, Target, resolve
from workspace.links.world import OverlayFileTree
from workspace.markdown.slugs import PREAMBLE, UniqueNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.config.tables import Dialect
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.links.definitions import DanglingReference
    from workspace.links.inbound import Inbound
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
    """Add anchors to headings, and return the changed documents and the offset map that includes them.

    `headings_without_name` maps each path to the offsets of its headings' lines. A heading is skipped if its
    anchor would lead elsewhere or cannot be written.
    """
    config = overlay.snapshot.config
    revised_documents: list[tuple[Document, Document]] = []
    addresses: list[str] = []
    for path, offsets in headings_without_name.items():
        document = overlay.document(path)
        form = document.form or config.anchors
        for offset in sorted(offsets, reverse=True):
            section = next((item for item in document.sections if item.heading_start == offset), None)
            changed = _add_anchor(document, section, form, config.links.dialect) if section else None
            if section is None or changed is None:
                continue
            new, splices = changed
            try:
                overlay.put(new)
            except LimitExceeded:
                continue
            headings = {
                (path, item.heading_start): (path, counterpart.heading_start)
                for item, counterpart in zip(document.sections, new.sections, strict=True)
                if item.has_heading
            }
            offset_map = offset_map.compose(OffsetMap.of_splices(document, splices, renamed=headings))
            revised_documents.append((document, new))
            addresses.append(f"{path}#{new.sections[section.position].anchor}")
            document = new
    return AnchoredDocuments(tuple(revised_documents), tuple(reversed(addresses))), offset_map


def _add_anchor(
    document: Document, section: Section, form: AnchorForm, dialect: Dialect
) -> tuple[Document, list[Splice]] | None:
    """Return a document with an anchor on one heading; None if the anchor would not lead to it."""
    if section.anchor is not None or not section.has_heading:
        return None
    name = section.address
    if section.is_preamble:  # its address is not an anchor
        name = UniqueNames("-", 1, find_names(document, dialect)).make_unique(section.slug)
    try:
        splices = rewrite_heading(document, section, level=section.level, anchor=name, form=form)
        changed = apply_edit(document, Edit(tuple(splices), {}, ""))
    except (InvalidAddress, StructureChanged):
        return None
    counterpart = changed.sections[section.position]
    target = find_target(find_names(changed, dialect), name)
    return (changed, splices) if target is not None and target.offset == counterpart.heading_start else None


# A new anchor may itself take over the last name of another heading.
_MAX_ROUNDS = 4


class BrokenLink(NamedTuple):
    """A broken link: the document and the section that contain it, its line, and its destination."""

    file: str
    slug: str
    line: int
    destination: str


class LinkUpdates(NamedTuple):
    """The number of rewritten links in each file, and the links that are broken now.

    `revised_documents` are these files before and after. `misdirected` are links that lead elsewhere now and
    could not be rewritten. `unread_paths` are documents above the size limit, which may contain such links.
    `new_anchors` are the full addresses of headings to which an anchor was added, because they had no
    other name.
    """

    files: Mapping[str, int]
    revised_documents: Sequence[tuple[Document, Document]]
    broken: Sequence[BrokenLink]
    misdirected: Sequence[BrokenLink]
    unread_paths: Sequence[str]
    new_anchors: Sequence[str] = ()

    @property
    def total(self) -> int:
        """The number of rewritten links."""
        return sum(self.files.values())


NO_UPDATES = LinkUpdates({}, (), (), (), ())


class _IntendedTarget(NamedTuple):
    """The intended target of a link: a path and an offset in it; None means the full document."""

    path: str
    offset: int | None


def update_links(before: Overlay, after: Overlay, offset_map: OffsetMap, inbound: Inbound) -> LinkUpdates:
    """Update the links in `after`, which one operation made from `before`, and return the updates."""
    affected = AffectedPaths.of(before, after, offset_map)
    dangling = list(find_dangling_references(before, after, offset_map))
    if not affected.paths and not dangling:
        return NO_UPDATES
    anchored = AnchoredDocuments()
    for attempt in range(_MAX_ROUNDS):
        rewriter = _LinkRewriter(before, after, offset_map, affected)
        rewriter.report_dangling(dangling)
        linking_paths = (
            inbound.find_linking_documents(before.snapshot, affected.paths) if affected.paths else ()
        )
        for path in sorted({*before.written_paths, *linking_paths, *offset_map.paths}):
            rewriter.check_document(path)
        if not rewriter.headings_without_name or attempt + 1 == _MAX_ROUNDS:
            break
        added_anchors, offset_map = add_anchors(after, rewriter.headings_without_name, offset_map)
        if not added_anchors.addresses:
            break
        anchored = AnchoredDocuments(
            anchored.revised_documents + added_anchors.revised_documents,
            anchored.addresses + added_anchors.addresses,
        )
        affected = AffectedPaths.of(before, after, offset_map)
        dangling = list(find_dangling_references(before, after, offset_map))
    updates = rewriter.finish()
    return updates._replace(
        revised_documents=(*anchored.revised_documents, *updates.revised_documents),
        new_anchors=anchored.addresses,
    )


class _LinkRewriter:
    """One pass over the documents that may contain links to moved text."""

    def __init__(
        self, before: Overlay, after: Overlay, offset_map: OffsetMap, affected: AffectedPaths
    ) -> None:
        self._before, self._after = before, after
        self._old_tree, self._new_tree = OverlayFileTree(before), OverlayFileTree(after)
        self._offset_map, self._affected = offset_map, affected
        self._rules = before.snapshot.config.links
        self._splices: dict[str, list[tuple[Splice, Link]]] = {}
        self._written_spans: dict[str, Sequence[tuple[int, int]]] = {}
        self._resolved: dict[tuple[str, str, LinkKind], ResolvedLink] = {}
        self._formatted: dict[tuple[str, str, LinkKind, Target, Enclosure], bytes] = {}
        self._broken: list[BrokenLink] = []
        self._misdirected: list[BrokenLink] = []
        self._unread_paths: list[str] = []
        # The offsets of the lines of headings that links refer to but that have no name, by path.
        self.headings_without_name: dict[str, set[int]] = {}

    def check_document(self, source: str) -> None:
        """Check the links of an old document at their new positions, and collect the necessary changes."""
        try:
            document = self._before.find(source)
        except LimitExceeded:
            self._unread_paths.append(source)
            return
        if document is None or self._offset_map.document(source) is None:
            return
        old_results: dict[tuple[str, bool], ResolvedLink] = {}
        links_by_path: dict[str, Mapping[int, Link]] = {}
        for link, position in self._list_links_with_positions(document):
            if position[0] == source and not self._affected.may_mean(link, source):
                continue
            result_key = link.destination, link.kind is LinkKind.WIKI
            if result_key not in old_results:
                old_results[result_key] = resolve(self._old_tree, source, link)
            old_result = old_results[result_key]
            if old_result.status is not LinkStatus.OK or old_result.path is None:
                continue
            if old_result.path not in self._affected.paths and position[0] == source:
                continue
            if position[0] not in links_by_path:
                links_by_path[position[0]] = self._map_links_by_offset(position[0], document)
            new_link = links_by_path[position[0]].get(position[1])
            if new_link is not None and _has_same_destination(
                document, link, self._after.document(position[0]), new_link
            ):
                self._rewrite(old_result, position[0], new_link)

    def report_dangling(self, dangling: Sequence[DanglingReference]) -> None:
        """Report references whose definition is missing, or is another one now."""
        for link, path, start, is_text in dangling:
            document = self._after.document(path)
            moved = link._replace(start=start, line=document.lines.line_at(start) + 1)
            (self._broken if is_text else self._misdirected).append(describe_broken_link(document, moved))

    def _list_links_with_positions(self, document: Document) -> Iterator[tuple[Link, tuple[str, int]]]:
        """Yield the links of an old document, with the new position of each destination and of each copy."""
        copies: dict[int, list[tuple[str, int]]] = {}
        for copy in self._offset_map.copies:
            if copy.old_path == document.path:
                copies.setdefault(copy.old_start, []).append((copy.new_path, copy.new_start))
        for link in read_cached_links(document, wiki=self._rules.wiki).links:
            if link.kind in (LinkKind.REFERENCE, LinkKind.AUTOLINK):
                continue
            position = self._find_new_position(document.path, link)
            if position is not None:
                yield link, position
            for copy_position in copies.get(link.destination_start, ()):
                yield link, copy_position

    def _find_new_position(self, source: str, link: Link) -> tuple[str, int] | None:
        """Return the new position of a link's destination, if it was preserved."""
        start, end = link.destination_start, link.destination_end
        if start < end:
            return self._offset_map.span(source, start, end)
        # An empty destination has the position after the byte before it.
        previous = self._offset_map.place(source, start - 1)
        return None if previous is None else (previous[0], previous[1] + 1)

    def _map_links_by_offset(self, path: str, old_document: Document) -> Mapping[int, Link]:
        """Return the links of a document after the operation, by the offsets of their destinations."""
        document = self._after.find(path)
        if document is None:
            return {}
        source = old_document if old_document.data == document.data else document
        links = read_cached_links(source, wiki=self._rules.wiki).links
        return {link.destination_start: link for link in links if link.kind is not LinkKind.REFERENCE}

    def _rewrite(self, old_result: ResolvedLink, source: str, link: Link) -> None:
        """Rewrite the destination of a link if it leads elsewhere now."""
        key = source, link.destination, link.kind
        if key not in self._resolved:
            self._resolved[key] = resolve(self._new_tree, source, link)
        new_result = self._resolved[key]
        intended = self._find_intended_target(old_result)
        if intended is None:
            if not self._leads_to_new_text(new_result):
                self._broken.append(self._describe_broken(source, link))
            return
        if (
            new_result.status is LinkStatus.OK
            and new_result.path == intended.path
            and _leads_to_intended(new_result, old_result, intended)
        ):
            return
        target = self._choose_target(old_result, intended, link)
        if target is None:
            self._misdirected.append(self._describe_broken(source, link))
            if intended.offset is not None:
                self.headings_without_name.setdefault(intended.path, set()).add(intended.offset)
            return
        format_key = (*key, target, link.enclosure)
        if format_key not in self._formatted:
            self._formatted[format_key] = format_destination(link, source, target, self._new_tree)
        splice = Splice(link.destination_start, link.destination_end, self._formatted[format_key])
        self._splices.setdefault(source, []).append((splice, link))

    def _find_intended_target(self, old_result: ResolvedLink) -> _IntendedTarget | None:
        """Return the new location of a link's old target; None if it was removed."""
        assert old_result.path is not None
        path = self._affected.vanished.get(old_result.path, old_result.path)
        if path is None:
            return None
        if old_result.place is None or old_result.place == DOCUMENT:
            new_path = self._offset_map.document(path)
            return None if new_path is None else _IntendedTarget(new_path, None)
        position = self._offset_map.place(old_result.path, old_result.place.offset)
        return None if position is None else _IntendedTarget(*position)

    def _leads_to_new_text(self, new_result: ResolvedLink) -> bool:
        """Return True if a link leads to text that the operation wrote in place of the old target."""
        document = self._after.find(new_result.path) if new_result.place and new_result.path else None
        if document is None or new_result.place is None:
            return False
        if document.path not in self._written_spans:
            self._written_spans[document.path] = self._offset_map.find_written_spans(document)
        spans = self._written_spans[document.path]
        index = bisect_right(spans, new_result.place.offset, key=lambda span: span[0]) - 1
        return index >= 0 and new_result.place.offset < spans[index][1]

    def _choose_target(
        self, old_result: ResolvedLink, intended: _IntendedTarget, link: Link
    ) -> Target | None:
        """Return the target to write; None if the position has no name."""
        fragment = old_result.target.fragment if old_result.target else None
        document = self._new_tree.document(intended.path) if old_result.place else None
        if intended.offset is None:
            if document is not None and fragment is not None:
                fragment = choose_document_name(document, fragment, self._rules.dialect)
            return Target(intended.path, fragment, self._new_tree.is_folder(intended.path))
        if document is None:
            return None
        if link.kind is LinkKind.WIKI:  # it may name a heading by its text
            resolved = resolve(self._new_tree, intended.path, link._replace(destination=f"#{fragment}"))
            if resolved.place and resolved.place.offset == intended.offset:
                return Target(intended.path, fragment)
        name = choose_name(document, intended.offset, fragment, self._rules.dialect)
        return None if name is None else Target(intended.path, name)

    def _describe_broken(self, source: str, link: Link) -> BrokenLink:
        document = self._after.document(source)
        return describe_broken_link(document, link)

    def finish(self) -> LinkUpdates:
        """Write the new destinations into the documents, and return the updates."""
        files: dict[str, int] = {}
        revised_documents: list[tuple[Document, Document]] = []
        for path, changes in sorted(self._splices.items()):
            document = self._after.document(path)
            splices = [splice for splice, _ in changes]
            try:
                changed = apply_edit(document, Edit(tuple(splices), {}, ""))
                self._after.put(changed)
            except (StructureChanged, LimitExceeded):
                self._misdirected.extend(self._describe_broken(path, link) for _, link in changes)
                continue
            files[path] = len(splices)
            revised_documents.append((document, changed))
        return LinkUpdates(
            files, revised_documents, tuple(self._broken), tuple(self._misdirected), tuple(self._unread_paths)
        )


def _has_same_destination(old: Document, link: Link, new: Document, new_link: Link) -> bool:
    """Return True if the destination of a link is written as before."""
    old_bytes = old.data[link.destination_start : link.destination_end]
    return (
        link.kind is new_link.kind
        and old_bytes == new.data[new_link.destination_start : new_link.destination_end]
    )


def _leads_to_intended(new_result: ResolvedLink, old_result: ResolvedLink, intended: _IntendedTarget) -> bool:
    """Return True if a link leads to the intended position in a document."""
    if intended.offset is None:
        return old_result.place is None or new_result.place == DOCUMENT
    return new_result.place is not None and new_result.place.offset == intended.offset


def describe_broken_link(document: Document, link: Link) -> BrokenLink:
    """Return the document, section, line and destination of a broken link, for an answer."""
    section = document.section_at(link.start)
    return BrokenLink(
        document.path, section.key if section else PREAMBLE, link.line, display_destination(link.destination)
    )
