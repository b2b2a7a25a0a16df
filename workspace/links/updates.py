"""Link updates of a batch after one of its operations.

A link means a place. Where it meant one before the operation, and that place survived, it means the same
place afterwards; if it does not as it stands, its destination is spelled anew, and nothing else is touched.

Anchors for headings that links can reach by no name any more.

`## Errors` that is moved above another `## Errors` takes its name `#errors`. Where that was the only name of
a place to which links lead, its heading gets its address as an anchor.
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
from workspace.links.fragments import DOCUMENT, choose_document_name, choose_name, find_names, find_place
from workspace.links.inbound import AffectedPaths
from workspace.links.link import Enclosure, LinkKind, display_destination
from workspace.links.reader import read_cached_links
from workspace.links.resolver import LinkStatus, ResolvedLink, Target, resolve
from workspace.links.survival import OffsetMap
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
    from workspace.links.survival import OffsetMap
    from workspace.markdown.attribute_lists import AnchorForm
    from workspace.snapshot.overlay import Overlay


class AnchoredDocuments(NamedTuple):
    """Documents before and after headings in them were given anchors, and the full addresses of these."""

    revised: tuple[tuple[Document, Document], ...] = ()
    addresses: tuple[str, ...] = ()


def give_anchors(
    overlay: Overlay, nameless: Mapping[str, Iterable[int]], survival: OffsetMap
) -> tuple[AnchoredDocuments, OffsetMap]:
    """Return headings anchors, by path and by the byte where each one's line begins.

    A heading whose anchor would lead elsewhere, or cannot be written, is left. The survival that is answered
    is that of both: of what came before, and of this.
    """
    config = overlay.snapshot.config
    revised: list[tuple[Document, Document]] = []
    addresses: list[str] = []
    for path, offsets in nameless.items():
        document = overlay.document(path)
        form = document.form or config.anchors
        for offset in sorted(offsets, reverse=True):
            section = next((item for item in document.sections if item.heading_start == offset), None)
            changed = _with_anchor(document, section, form, config.links.dialect) if section else None
            if section is None or changed is None:
                continue
            new, splices = changed
            try:
                overlay.put(new)
            except LimitExceeded:
                continue
            headings = {
                (path, item.heading_start): (path, twin.heading_start)
                for item, twin in zip(document.sections, new.sections, strict=True)
                if item.has_heading
            }
            survival = survival.followed_by(OffsetMap.of_splices(document, splices, renamed=headings))
            revised.append((document, new))
            addresses.append(f"{path}#{new.sections[section.position].anchor}")
            document = new
    return AnchoredDocuments(tuple(revised), tuple(reversed(addresses))), survival


def _with_anchor(
    document: Document, section: Section, form: AnchorForm, dialect: Dialect
) -> tuple[Document, list[Splice]] | None:
    """Return a document with an anchor on one heading; None where that would not lead there."""
    if section.anchor is not None or not section.has_heading:
        return None
    name = section.address
    if section.is_preamble:  # whose address is no anchor
        name = UniqueNames("-", 1, find_names(document, dialect)).give(section.slug)
    try:
        splices = rewrite_heading(document, section, level=section.level, anchor=name, form=form)
        changed = apply_edit(document, Edit(tuple(splices), {}, ""))
    except (InvalidAddress, StructureChanged):
        return None
    twin = changed.sections[section.position]
    place = find_place(find_names(changed, dialect), name)
    return (changed, splices) if place is not None and place.offset == twin.heading_start else None


# An anchor that is given may take another place's last name in turn.
_ROUNDS = 4


class BrokenLink(NamedTuple):
    """A link to what is gone: the document and section that it stands in, its line, and its destination."""

    file: str
    slug: str
    line: int
    destination: str


class LinkUpdates(NamedTuple):
    """The number of rewritten links in each file, and the links that are broken now.

    `revised` are these files before and after. `left` are links that mean another place now, or none, and
    could not be written anew; `unread` are documents too large to be read, which may hold such links.
    `anchored` are the full addresses of headings that were given an anchor, because they had no name left.
    """

    files: Mapping[str, int]
    revised: Sequence[tuple[Document, Document]]
    broken: Sequence[BrokenLink]
    left: Sequence[BrokenLink]
    unread: Sequence[str]
    anchored: Sequence[str] = ()

    @property
    def total(self) -> int:
        """The number of links that were rewritten."""
        return sum(self.files.values())


NO_UPDATES = LinkUpdates({}, (), (), (), ())


class _IntendedTarget(NamedTuple):
    """The intended target of a link: a path, and the offset of a place in it, None for the whole."""

    path: str
    offset: int | None


def update_links(before: Overlay, after: Overlay, survival: OffsetMap, inbound: Inbound) -> LinkUpdates:
    """Update the links in `after`, which one operation made of `before`, and return the updates."""
    affected = AffectedPaths.of(before, after, survival)
    lost = list(find_dangling_references(before, after, survival))
    if not affected.paths and not lost:
        return NO_UPDATES
    anchored = AnchoredDocuments()
    for attempt in range(_ROUNDS):
        mending = _LinkRewriter(before, after, survival, affected)
        mending.tell(lost)
        inbound_of = inbound.linking_to(before.snapshot, affected.paths) if affected.paths else ()
        for path in sorted({*before.laid, *inbound_of, *survival.paths}):
            mending.look(path)
        if not mending.nameless or attempt + 1 == _ROUNDS:
            break
        given, survival = give_anchors(after, mending.nameless, survival)
        if not given.addresses:
            break
        anchored = AnchoredDocuments(anchored.revised + given.revised, anchored.addresses + given.addresses)
        affected = AffectedPaths.of(before, after, survival)
        lost = list(find_dangling_references(before, after, survival))
    done = mending.done()
    return done._replace(revised=(*anchored.revised, *done.revised), anchored=anchored.addresses)


class _LinkRewriter:
    """One pass over the documents that may hold links to what moved."""

    def __init__(self, before: Overlay, after: Overlay, survival: OffsetMap, affected: AffectedPaths) -> None:
        self._before, self._after = before, after
        self._old, self._new = OverlayFileTree(before), OverlayFileTree(after)
        self._survival, self._affected = survival, affected
        self._rules = before.snapshot.config.links
        self._splices: dict[str, list[tuple[Splice, Link]]] = {}
        self._written: dict[str, Sequence[tuple[int, int]]] = {}
        self._resolved: dict[tuple[str, str, LinkKind], ResolvedLink] = {}
        self._spelled: dict[tuple[str, str, LinkKind, Target, Enclosure], bytes] = {}
        self._broken: list[BrokenLink] = []
        self._left: list[BrokenLink] = []
        self._unread: list[str] = []
        # Where links are to lead that no name leads to: by path, the bytes where headings begin.
        self.nameless: dict[str, set[int]] = {}

    def look(self, source: str) -> None:
        """Check the links of an old document at their new positions."""
        try:
            document = self._before.find(source)
        except LimitExceeded:
            self._unread.append(source)
            return
        if document is None or self._survival.document(source) is None:
            return
        known: dict[tuple[str, bool], ResolvedLink] = {}
        standing: dict[str, Mapping[int, Link]] = {}
        for link, at in self._standing(document):
            if at[0] == source and not self._affected.may_mean(link, source):
                continue
            spelled = link.destination, link.kind is LinkKind.WIKI
            if spelled not in known:
                known[spelled] = resolve(self._old, source, link)
            was = known[spelled]
            if was.status is not LinkStatus.OK or was.path is None:
                continue
            if was.path not in self._affected.paths and at[0] == source:
                continue
            if at[0] not in standing:
                standing[at[0]] = self._links_at(at[0], document)
            now = standing[at[0]].get(at[1])
            if now is not None and _same_bytes(document, link, self._after.document(at[0]), now):
                self._mend(was, at[0], now)

    def tell(self, lost: Sequence[DanglingReference]) -> None:
        """Report references whose definition is missing or is another one now."""
        for link, path, start, is_text in lost:
            document = self._after.document(path)
            moved = link._replace(start=start, line=document.lines.line_at(start) + 1)
            (self._broken if is_text else self._left).append(describe_broken_link(document, moved))

    def _standing(self, document: Document) -> Iterator[tuple[Link, tuple[str, int]]]:
        """Return the links of the old document with the new positions of their destinations and copies."""
        copies: dict[int, list[tuple[str, int]]] = {}
        for copy in self._survival.copies:
            if copy.old_path == document.path:
                copies.setdefault(copy.old_start, []).append((copy.new_path, copy.new_start))
        for link in read_cached_links(document, wiki=self._rules.wiki).links:
            if link.kind in (LinkKind.REFERENCE, LinkKind.AUTOLINK):
                continue
            at = self._place_of(document.path, link)
            if at is not None:
                yield link, at
            for other in copies.get(link.destination_start, ()):
                yield link, other

    def _place_of(self, source: str, link: Link) -> tuple[str, int] | None:
        """Return the new position of a link's destination, if it was preserved."""
        start, end = link.destination_start, link.destination_end
        if start < end:
            return self._survival.span(source, start, end)
        # Of no bytes: what stands before it tells.
        before = self._survival.place(source, start - 1)
        return None if before is None else (before[0], before[1] + 1)

    def _links_at(self, path: str, known: Document) -> Mapping[int, Link]:
        """Return the links of a document as it is now, by where their destinations begin."""
        document = self._after.find(path)
        if document is None:
            return {}
        same = known if known.data == document.data else document
        found = read_cached_links(same, wiki=self._rules.wiki).links
        return {link.destination_start: link for link in found if link.kind is not LinkKind.REFERENCE}

    def _mend(self, was: ResolvedLink, source: str, link: Link) -> None:
        """Rewrite the destination of a link that leads elsewhere now."""
        spelled = source, link.destination, link.kind
        if spelled not in self._resolved:
            self._resolved[spelled] = resolve(self._new, source, link)
        now = self._resolved[spelled]
        meant = self._meant(was)
        if meant is None:
            if not self._is_written(now):
                self._broken.append(self._told(source, link))
            return
        if now.status is LinkStatus.OK and now.path == meant.path and _is_meant(now, was, meant):
            return
        target = self._target(was, meant, link)
        if target is None:
            self._left.append(self._told(source, link))
            if meant.offset is not None:
                self.nameless.setdefault(meant.path, set()).add(meant.offset)
            return
        way = (*spelled, target, link.enclosure)
        if way not in self._spelled:
            self._spelled[way] = format_destination(link, source, target, self._new)
        splice = Splice(link.destination_start, link.destination_end, self._spelled[way])
        self._splices.setdefault(source, []).append((splice, link))

    def _meant(self, was: ResolvedLink) -> _IntendedTarget | None:
        """Return the new location of a link's old target; None if it is missing."""
        assert was.path is not None
        path = self._affected.vanished.get(was.path, was.path)
        if path is None:
            return None
        if was.place is None or was.place == DOCUMENT:
            moved = self._survival.document(path)
            return None if moved is None else _IntendedTarget(moved, None)
        place = self._survival.place(was.path, was.place.offset)
        return None if place is None else _IntendedTarget(*place)

    def _is_written(self, now: ResolvedLink) -> bool:
        """Return True if a link leads to what the operation wrote in place of what it meant."""
        document = self._after.find(now.path) if now.place and now.path else None
        if document is None or now.place is None:
            return False
        if document.path not in self._written:
            self._written[document.path] = self._survival.written(document)
        spans = self._written[document.path]
        at = bisect_right(spans, now.place.offset, key=lambda span: span[0]) - 1
        return at >= 0 and now.place.offset < spans[at][1]

    def _target(self, was: ResolvedLink, meant: _IntendedTarget, link: Link) -> Target | None:
        """Return what to spell; None if the place has no name."""
        fragment = was.target.fragment if was.target else None
        document = self._new.document(meant.path) if was.place else None
        if meant.offset is None:
            if document is not None and fragment is not None:
                fragment = choose_document_name(document, fragment, self._rules.dialect)
            return Target(meant.path, fragment, self._new.is_folder(meant.path))
        if document is None:
            return None
        if link.kind is LinkKind.WIKI:  # which may name a heading by its words
            known = resolve(self._new, meant.path, link._replace(destination=f"#{fragment}"))
            if known.place and known.place.offset == meant.offset:
                return Target(meant.path, fragment)
        name = choose_name(document, meant.offset, fragment, self._rules.dialect)
        return None if name is None else Target(meant.path, name)

    def _told(self, source: str, link: Link) -> BrokenLink:
        document = self._after.document(source)
        return describe_broken_link(document, link)

    def done(self) -> LinkUpdates:
        """Write the new destinations into the documents."""
        files: dict[str, int] = {}
        revised: list[tuple[Document, Document]] = []
        for path, found in sorted(self._splices.items()):
            document = self._after.document(path)
            splices = [splice for splice, _ in found]
            try:
                changed = apply_edit(document, Edit(tuple(splices), {}, ""))
                self._after.put(changed)
            except (StructureChanged, LimitExceeded):
                self._left.extend(self._told(path, link) for _, link in found)
                continue
            files[path] = len(splices)
            revised.append((document, changed))
        return LinkUpdates(files, revised, tuple(self._broken), tuple(self._left), tuple(self._unread))


def _same_bytes(old: Document, link: Link, new: Document, now: Link) -> bool:
    """Return True if the destination of a link is written as it was."""
    one = old.data[link.destination_start : link.destination_end]
    return link.kind is now.kind and one == new.data[now.destination_start : now.destination_end]


def _is_meant(now: ResolvedLink, was: ResolvedLink, meant: _IntendedTarget) -> bool:
    """Return True if a link leads to the place in a document that it is to lead to."""
    if meant.offset is None:
        return was.place is None or now.place == DOCUMENT
    return now.place is not None and now.place.offset == meant.offset


def describe_broken_link(document: Document, link: Link) -> BrokenLink:
    """Return a link as an answer names it."""
    section = document.section_at(link.start)
    return BrokenLink(
        document.path, section.key if section else PREAMBLE, link.line, display_destination(link.destination)
    )
