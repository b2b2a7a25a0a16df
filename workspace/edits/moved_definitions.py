"""Definitions of references and footnotes in moved text.

Every label refers to the same definition after a move. A definition outside the moved text is copied to the
end of that text. A moved definition that other text uses is also left in the source. A label with another
definition in the target gets a number.
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
from workspace.links.offset_map import PreservedSpan
from workspace.links.reader import read_cached_links
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
    """A definition of the source with a copy in the document at `path`, and the label of the copy.

    The links in the copy are written as in the source.
    """

    item: Definition
    path: str
    label: str


class LabelUpdates(NamedTuple):
    """The effect of a move on labels: splices in the moved text, text at its end, and text left in its place.

    `copies` are the definitions in these two texts. `linked` are words in brackets in the moved text that
    have a definition in the target.
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
    """Return the label updates for a move of a section to `offset` of a document, which may be its own."""
    moved = source.data[section.start : section.tree_end]
    if b"[" not in moved or b"]:" not in source.data + target.data:
        return NO_LABEL_UPDATES
    definitions = find_definitions(source, rules)
    move = _LabelMove(source, section, definitions, find_uses(source, definitions), rules)
    return move.move_within(offset) if target is source else move.move_to(target)


class _LabelMove:
    """The labels of one document, split into the moved ones and the remaining ones."""

    def __init__(
        self,
        source: Document,
        section: Section,
        definitions: Mapping[str, Definition],
        uses: list[LabelUse],
        rules: LinkRules,
    ) -> None:
        self.source, self.section, self.definitions = source, section, definitions
        self.uses = sorted(uses, key=lambda use: use.start)
        self.rules = rules
        data = source.data
        moved_document = Document.parse(data[section.start : section.tree_end], source.path)
        remaining_document = Document.parse(data[: section.start] + data[section.tree_end :], source.path)
        size = section.tree_end - section.start
        self.inside = {
            label: _shift_definition(item, section.start)
            for label, item in find_definitions(moved_document, rules).items()
        }
        self.remaining = {
            label: _shift_definition(item, 0 if item.start < section.start else size)
            for label, item in find_definitions(remaining_document, rules).items()
        }
        self.labels = find_labels(moved_document)
        self.used_labels = {*definitions, *self.inside, *self.remaining}
        self.bracketed: dict[str, frozenset[str]] = {}
        self.splices: list[Splice] = []

    def move_within(self, offset: int) -> LabelUpdates:
        """Return the updates of a move within the document, which keep the first definition of each label."""
        left: list[Definition] = []
        for label, item in self.inside.items():
            other = self.remaining.get(label)
            if other is None or other.meaning == item.meaning:
                continue
            if self._is_moved(self.definitions[label].start):
                if other.start < offset:
                    left.append(item)
            elif offset <= other.start:
                self._rename_definitions(label, self._find_free_label(label, item, self.source))
        return LabelUpdates(
            tuple(self.splices),
            left=self._format_copies(left, {}),
            copies=tuple(CopiedDefinition(item, self.source.path, item.label) for item in left),
        )

    def move_to(self, target: Document) -> LabelUpdates:
        """Return the updates of a move to another document."""
        in_target = find_definitions(target, self.rules)
        self.used_labels |= set(in_target)
        needed = self._find_needed(self._is_moved, lambda item: not self._is_moved(item.start))
        new_labels = {label for label in (*self.inside, *needed) if label not in in_target}
        clashing = {use.label for use in find_uses(target, new_labels)}
        self.used_labels |= clashing
        names: dict[str, str] = {}
        copies: list[Definition] = []
        for label in dict.fromkeys((*needed, *self.inside)):
            current, item, other = self.definitions[label], self.inside.get(label), in_target.get(label)
            clashes = (
                label in clashing if other is None else item is not None and item.meaning != other.meaning
            )
            if item is not None and clashes:
                name = self._find_free_label(label, item, target)
                self._rename_definitions(label, name)
                if self._is_moved(current.start):
                    names[label] = name
            if label not in needed or self._is_moved(current.start):
                continue
            if other is not None and other.meaning == current.meaning:
                continue
            if other is not None or item is not None or clashes:
                names[label] = self._find_free_label(label, current, target)
            copies.append(current)
        for use in self.uses:
            if use.label in names and self._is_moved(use.start):
                self._rename_use(use, names[use.label])
        left_labels = self._find_needed(
            lambda start: not self._is_moved(start), lambda item: self._is_moved(item.start)
        )
        left = [
            self.definitions[label]
            for label in left_labels
            if self._is_moved(self.definitions[label].start)
            and (
                label not in self.remaining
                or self.remaining[label].meaning != self.definitions[label].meaning
            )
        ]
        linked = [
            use
            for use in find_uses(self.source, in_target.keys() - self.definitions)
            if self._is_moved(use.start)
        ]
        return LabelUpdates(
            tuple(self.splices),
            self._format_copies(copies, names),
            self._format_copies(left, {}),
            (
                *(CopiedDefinition(item, target.path, names.get(item.label, item.label)) for item in copies),
                *(CopiedDefinition(item, self.source.path, item.label) for item in left),
            ),
            tuple(
                target.text(*in_target[label][3:5]) for label in dict.fromkeys(use.label for use in linked)
            ),
        )

    def _is_moved(self, offset: int) -> bool:
        """Return True if a byte of the document is moved."""
        return self.section.start <= offset < self.section.tree_end

    def _find_needed(
        self, is_relevant: Callable[[int], bool], is_copied: Callable[[Definition], bool]
    ) -> dict[str, None]:
        """Return the labels used at relevant offsets, and in the footnotes that are copied for them."""
        needed = dict.fromkeys(use.label for use in self.uses if is_relevant(use.start))
        queue = [self.definitions[label] for label in needed]
        for item in queue:
            if item.link is None and is_copied(item):
                for use in self._find_uses_in(item):
                    if use.label not in needed:
                        needed[use.label] = None
                        queue.append(self.definitions[use.label])
        return needed

    def _find_free_label(self, label: str, item: Definition, target: Document) -> str:
        """Return a label without a definition, which no text has in brackets."""
        for document in (self.source, target):
            if document.path not in self.bracketed:
                texts = {document.text(*match.span(1)) for match in _BRACKETED.finditer(document.data)}
                self.bracketed[document.path] = frozenset(map(normalize_label, texts))
        base = " ".join(self.source.text(item.label_start, item.label_end).split())
        numbered = (f"{base}-{number}" for number in count(1))
        name = next(name for name in numbered if not self._is_used(normalize_label(name)))
        self.used_labels.add(normalize_label(name))
        return name

    def _is_used(self, label: str) -> bool:
        return label in self.used_labels or any(label in texts for texts in self.bracketed.values())

    def _find_uses_in(self, item: Definition) -> list[LabelUse]:
        """Return the uses in the definition of a footnote."""
        first = bisect_left(self.uses, item.start, key=lambda use: use.start)
        return self.uses[first : bisect_left(self.uses, item.end, key=lambda use: use.start)]

    def _rename_definitions(self, label: str, name: str) -> None:
        """Rename all definitions of a label in the moved text."""
        first = self.section.start
        self.splices += [
            Splice(first + item.start, first + item.end, name.encode())
            for item in self.labels
            if item.label == label
        ]

    def _rename_use(self, use: LabelUse, name: str) -> None:
        self.splices.append(Splice(use.start, use.end, f"[{name}]".encode()))

    def _format_copies(self, items: Collection[Definition], names: Mapping[str, str]) -> bytes:
        """Return the text of copied definitions: first links, then footnotes separated by blank lines."""
        links = [self._format_copy(item, names) for item in items if item.link is not None]
        footnotes = [self._format_copy(item, names) for item in items if item.link is None]
        return b"\n\n".join([*([b"\n".join(links)] if links else ()), *footnotes])

    def _format_copy(self, item: Definition, names: Mapping[str, str]) -> bytes:
        data = self.source.data
        label = names[item.label].encode() if item.label in names else data[item.label_start : item.label_end]
        if item.link is not None:
            after = b" ".join(data[item.link.destination_end : item.end].split())
            before = data[item.label_end : item.link.destination_start].split()
            opening = b"<" if before[-1:] and before[-1].endswith(b"<") else b""
            destination = data[item.link.destination_start : item.link.destination_end]
            title = after if not after or after.startswith(b">") else b" " + after
            return b"[" + label + b"]: " + opening + destination + title
        inner = [
            Splice(use.start - item.start, use.end - item.start, f"[{names[use.label]}]".encode())
            for use in self._find_uses_in(item)
            if use.label in names
        ]
        span = item.label_start - item.start, item.label_end - item.start
        return apply_splices(data[item.start : item.end], [Splice(*span, label), *inner])


def _shift_definition(item: Definition, shift: int) -> Definition:
    """Return a definition in a part of a document with its offsets in the full document."""
    return item._replace(
        start=item.start + shift,
        end=item.end + shift,
        label_start=item.label_start + shift,
        label_end=item.label_end + shift,
        link=None
        if item.link is None
        else item.link._replace(
            destination_start=item.link.destination_start + shift,
            destination_end=item.link.destination_end + shift,
        ),
    )


def find_copied_links(
    source: Document, documents: Iterable[Document], copies: Iterable[CopiedDefinition], rules: LinkRules
) -> Iterator[PreservedSpan]:
    """Yield the link destinations in copied definitions of `source`, with their offsets in `documents`."""
    by_path = {document.path: document for document in documents}
    for copy in copies:
        document = by_path[copy.path]
        item = find_definitions(document, rules).get(normalize_label(copy.label))
        if item is None:
            continue
        for old, new in zip(_find_links(source, copy.item), _find_links(document, item), strict=False):
            yield PreservedSpan(
                source.path, old.destination_start, old.destination_end, copy.path, new.destination_start
            )


def _find_links(document: Document, item: Definition) -> list[Link]:
    """Return the links in a definition that have their own destination."""
    return [
        link
        for link in read_cached_links(document).links
        if item.start <= link.destination_start < item.end and link.kind is not LinkKind.REFERENCE
    ]
