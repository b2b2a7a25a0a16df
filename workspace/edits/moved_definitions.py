"""Definitions of references and footnotes that a moved text needs, leaves behind, or clashes with.

Every use means after a move what it meant before. A definition that stays behind is copied to the end of the
moved text, one that is still used behind is left there too, and a label that means something else where the
text goes gets a number.

The links in definitions that are copied to another document, or left behind by a section.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.document import Document
from workspace.document.splices import Splice, apply_splices
from workspace.links.definitions import Definition, LabelUse, find_definitions, find_labels, find_uses
from workspace.links.link import LinkKind
from workspace.links.reader import read_cached_links
from workspace.links.survival import PreservedSpan
from workspace.markdown.inline import normalize_label

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.links.definitions import Definition
    from workspace.links.link import Link

_BRACKETED = re.compile(rb"\[([^\[\]]*)\]")


class CopiedDefinition(NamedTuple):
    """A definition of the source that stands in the document of a path as well, by the label given there.

    The links in it are written as in the source.
    """

    item: Definition
    path: str
    label: str


class LabelUpdates(NamedTuple):
    """The effect of a move on labels: splices in the moved text, text at its end, and text left in its place.

    `copies` are the definitions in these two texts. `linked` are words that stand in brackets in the moved
    text, and have a definition where it goes.
    """

    splices: tuple[Splice, ...] = ()
    tail: bytes = b""
    left: bytes = b""
    copies: tuple[CopiedDefinition, ...] = ()
    linked: tuple[str, ...] = ()


NO_LABEL_UPDATES = LabelUpdates()


def update_labels(
    source: Document,
    section: Section,
    target: Document,
    offset: int,
    rules: LinkRules,
) -> LabelUpdates:
    """Return what becomes of labels if a section goes to `offset` of a document, which may be its own."""
    moved = source.data[section.start : section.tree_end]
    if b"[" not in moved or b"]:" not in source.data + target.data:
        return NO_LABEL_UPDATES
    own = find_definitions(source, rules)
    move = _Move(source, section, own, find_uses(source, own), rules)
    return move.within(offset) if target is source else move.across(target)


class _Move:
    """The labels of one document, parted into those that are moved and those that stay."""

    def __init__(
        self,
        source: Document,
        section: Section,
        own: Mapping[str, Definition],
        uses: list[LabelUse],
        rules: LinkRules,
    ) -> None:
        self.source, self.section, self.own = source, section, own
        self.uses = sorted(uses, key=lambda use: use.start)
        self.rules = rules
        data = source.data
        alone = Document.parse(data[section.start : section.tree_end], source.path)
        rest = Document.parse(data[: section.start] + data[section.tree_end :], source.path)
        size = section.tree_end - section.start
        self.inside = {
            label: _shift_definition(item, section.start)
            for label, item in find_definitions(alone, rules).items()
        }
        self.rest = {
            label: _shift_definition(item, 0 if item.start < section.start else size)
            for label, item in find_definitions(rest, rules).items()
        }
        self.labels = find_labels(alone)
        self.taken = {*own, *self.inside, *self.rest}
        self.bracketed: dict[str, frozenset[str]] = {}
        self.splices: list[Splice] = []

    def within(self, offset: int) -> LabelUpdates:
        """Return a move within the document. The first definition of each label must stay the same."""
        left: list[Definition] = []
        for label, item in self.inside.items():
            other = self.rest.get(label)
            if other is None or other.meaning == item.meaning:
                continue
            if self._holds(self.own[label].start):
                if other.start < offset:
                    left.append(item)
            elif offset <= other.start:
                self._define_as(label, self._free(label, item, self.source))
        return LabelUpdates(
            tuple(self.splices),
            left=self._copies(left, {}),
            copies=tuple(CopiedDefinition(item, self.source.path, item.label) for item in left),
        )

    def across(self, target: Document) -> LabelUpdates:
        """Return a move to another document."""
        there = find_definitions(target, self.rules)
        self.taken |= set(there)
        needed = self._needed(self._holds, lambda item: not self._holds(item.start))
        fresh = {label for label in (*self.inside, *needed) if label not in there}
        clashing = {use.label for use in find_uses(target, fresh)}
        self.taken |= clashing
        names: dict[str, str] = {}
        copies: list[Definition] = []
        for label in dict.fromkeys((*needed, *self.inside)):
            live, item, other = self.own[label], self.inside.get(label), there.get(label)
            clashes = (
                label in clashing if other is None else item is not None and item.meaning != other.meaning
            )
            if item is not None and clashes:
                name = self._free(label, item, target)
                self._define_as(label, name)
                if self._holds(live.start):
                    names[label] = name
            if label not in needed or self._holds(live.start):
                continue
            if other is not None and other.meaning == live.meaning:
                continue
            if other is not None or item is not None or clashes:
                names[label] = self._free(label, live, target)
            copies.append(live)
        for use in self.uses:
            if use.label in names and self._holds(use.start):
                self._use_as(use, names[use.label])
        behind = self._needed(lambda start: not self._holds(start), lambda item: self._holds(item.start))
        left = [
            self.own[label]
            for label in behind
            if self._holds(self.own[label].start)
            and (label not in self.rest or self.rest[label].meaning != self.own[label].meaning)
        ]
        words = [use for use in find_uses(self.source, there.keys() - self.own) if self._holds(use.start)]
        return LabelUpdates(
            tuple(self.splices),
            self._copies(copies, names),
            self._copies(left, {}),
            (
                *(CopiedDefinition(item, target.path, names.get(item.label, item.label)) for item in copies),
                *(CopiedDefinition(item, self.source.path, item.label) for item in left),
            ),
            tuple(target.text(*there[label][3:5]) for label in dict.fromkeys(use.label for use in words)),
        )

    def _holds(self, offset: int) -> bool:
        """Return True if a byte of the document is moved."""
        return self.section.start <= offset < self.section.tree_end

    def _needed(
        self, counts: Callable[[int], bool], is_copied: Callable[[Definition], bool]
    ) -> dict[str, None]:
        """Return the labels used at the places that count, and in the footnotes that are copied for them."""
        needed = dict.fromkeys(use.label for use in self.uses if counts(use.start))
        queue = [self.own[label] for label in needed]
        for item in queue:
            if item.link is None and is_copied(item):
                for use in self._within(item):
                    if use.label not in needed:
                        needed[use.label] = None
                        queue.append(self.own[use.label])
        return needed

    def _free(self, label: str, item: Definition, target: Document) -> str:
        """Return a label that no definition has, with brackets that stand nowhere as text."""
        for document in (self.source, target):
            if document.path not in self.bracketed:
                words = {document.text(*found.span(1)) for found in _BRACKETED.finditer(document.data)}
                self.bracketed[document.path] = frozenset(map(normalize_label, words))
        written = " ".join(self.source.text(item.label_start, item.label_end).split())
        numbered = (f"{written}-{number}" for number in count(1))
        name = next(name for name in numbered if not self._is_taken(normalize_label(name)))
        self.taken.add(normalize_label(name))
        return name

    def _is_taken(self, label: str) -> bool:
        return label in self.taken or any(label in words for words in self.bracketed.values())

    def _within(self, item: Definition) -> list[LabelUse]:
        """Return the uses in a definition, which is a footnote's."""
        first = bisect_left(self.uses, item.start, key=lambda use: use.start)
        return self.uses[first : bisect_left(self.uses, item.end, key=lambda use: use.start)]

    def _define_as(self, label: str, name: str) -> None:
        """Return all definitions of a label in the moved text another one."""
        first = self.section.start
        self.splices += [
            Splice(first + item.start, first + item.end, name.encode())
            for item in self.labels
            if item.label == label
        ]

    def _use_as(self, use: LabelUse, name: str) -> None:
        self.splices.append(Splice(use.start, use.end, f"[{name}]".encode()))

    def _copies(self, items: Collection[Definition], names: Mapping[str, str]) -> bytes:
        """Return definitions for another place: those of links, then footnotes separated by blank lines."""
        links = [self._copy(item, names) for item in items if item.link is not None]
        footnotes = [self._copy(item, names) for item in items if item.link is None]
        return b"\n\n".join([*([b"\n".join(links)] if links else ()), *footnotes])

    def _copy(self, item: Definition, names: Mapping[str, str]) -> bytes:
        data = self.source.data
        label = names[item.label].encode() if item.label in names else data[item.label_start : item.label_end]
        if item.link is not None:
            after = b" ".join(data[item.link.destination_end : item.end].split())
            before = data[item.label_end : item.link.destination_start].split()
            opening = b"<" if before[-1:] and before[-1].endswith(b"<") else b""
            destination = data[item.link.destination_start : item.link.destination_end]
            parted = after if not after or after.startswith(b">") else b" " + after
            return b"[" + label + b"]: " + opening + destination + parted
        inner = [
            Splice(use.start - item.start, use.end - item.start, f"[{names[use.label]}]".encode())
            for use in self._within(item)
            if use.label in names
        ]
        place = item.label_start - item.start, item.label_end - item.start
        return apply_splices(data[item.start : item.end], [Splice(*place, label), *inner])


def _shift_definition(item: Definition, by: int) -> Definition:
    """Return a definition of a part of a document, as it stands in the whole."""
    return item._replace(
        start=item.start + by,
        end=item.end + by,
        label_start=item.label_start + by,
        label_end=item.label_end + by,
        link=None
        if item.link is None
        else item.link._replace(
            destination_start=item.link.destination_start + by,
            destination_end=item.link.destination_end + by,
        ),
    )


def find_copied_links(
    source: Document, now: Iterable[Document], copies: Iterable[CopiedDefinition], rules: LinkRules
) -> Iterator[PreservedSpan]:
    """Return the destinations in copied definitions of `source`, and their offsets in the documents `now`."""
    documents = {document.path: document for document in now}
    for copy in copies:
        document = documents[copy.path]
        item = find_definitions(document, rules).get(normalize_label(copy.label))
        if item is None:
            continue
        for old, new in zip(_links(source, copy.item), _links(document, item), strict=False):
            yield PreservedSpan(
                source.path, old.destination_start, old.destination_end, copy.path, new.destination_start
            )


def _links(document: Document, item: Definition) -> list[Link]:
    """Return the links in a definition that have a destination of their own."""
    return [
        link
        for link in read_cached_links(document).links
        if item.start <= link.destination_start < item.end and link.kind is not LinkKind.REFERENCE
    ]
