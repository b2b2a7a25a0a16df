"""Copy and rename the definitions of references and footnotes when text is moved.

Every label refers to the same definition after a move. If the moved text uses a definition outside of it,
the definition is copied to the end of the moved text. A moved definition that the remaining text uses is
also kept in the source. A label that has another definition in the target gets a number.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.document import Document
from workspace.document.splices import Splice, apply_splices
from workspace.links.definitions import (
    Definition,
    LabelUse,
    find_definition_labels,
    find_definitions,
    find_uses,
)
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

_BRACKETED_TEXT = re.compile(rb"\[([^\[\]]*)\]")


class CopiedDefinition(NamedTuple):
    """A definition of the source that is copied to the document at `path`, and the label of the copy.

    The links in the copy are written as they are in the source.
    """

    definition: Definition
    path: str
    label: str


class LabelUpdates(NamedTuple):
    """The changes of labels that a move requires.

    `splices` change the moved text. `appended_text` is added at the end of the moved text, and `replacement`
    is inserted at the old position of the moved text. `copies` are the definitions in these two added texts.
    `linked_labels` are words in brackets in the moved text that have a definition in the target.
    """

    splices: tuple[Splice, ...] = ()
    appended_text: bytes = b""
    replacement: bytes = b""
    copies: tuple[CopiedDefinition, ...] = ()
    linked_labels: tuple[str, ...] = ()


NO_LABEL_UPDATES = LabelUpdates()


def find_label_updates(
    source: Document,
    section: Section,
    target: Document,
    offset: int,
    rules: LinkRules,
) -> LabelUpdates:
    """Return the label updates for a move of a section to `offset` of a document, which may be its own."""
    moved_text = source.data[section.start : section.tree_end]
    if b"[" not in moved_text or b"]:" not in source.data + target.data:
        return NO_LABEL_UPDATES
    definitions = find_definitions(source, rules)
    move = _LabelMove(source, section, definitions, find_uses(source, definitions), rules)
    return move.find_updates_within(offset) if target is source else move.find_updates_for(target)


class _LabelMove:
    """The labels of one document, split into moved and remaining labels."""

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
        moved_size = section.tree_end - section.start
        self.moved_definitions = {
            label: _shift_definition(definition, section.start)
            for label, definition in find_definitions(moved_document, rules).items()
        }
        self.remaining_definitions = {
            label: _shift_definition(definition, 0 if definition.start < section.start else moved_size)
            for label, definition in find_definitions(remaining_document, rules).items()
        }
        self.moved_labels = find_definition_labels(moved_document)
        self.used_labels = {*definitions, *self.moved_definitions, *self.remaining_definitions}
        self.bracketed_labels_by_path: dict[str, frozenset[str]] = {}
        self.splices: list[Splice] = []

    def find_updates_within(self, offset: int) -> LabelUpdates:
        """Return the updates for a move to `offset` of the same document."""
        retained_definitions: list[Definition] = []
        for label, definition in self.moved_definitions.items():
            remaining_definition = self.remaining_definitions.get(label)
            if remaining_definition is None or remaining_definition.meaning == definition.meaning:
                continue
            if self._is_moved(self.definitions[label].start):
                if remaining_definition.start < offset:
                    retained_definitions.append(definition)
            elif offset <= remaining_definition.start:
                self._rename_definitions(label, self._find_free_label(label, definition, self.source))
        return LabelUpdates(
            tuple(self.splices),
            replacement=self._format_copies(retained_definitions, {}),
            copies=tuple(
                CopiedDefinition(definition, self.source.path, definition.label)
                for definition in retained_definitions
            ),
        )

    def find_updates_for(self, target: Document) -> LabelUpdates:
        """Return the updates for a move to another document."""
        target_definitions = find_definitions(target, self.rules)
        self.used_labels |= set(target_definitions)
        needed_labels = self._find_needed_labels(
            self._is_moved, lambda definition: not self._is_moved(definition.start)
        )
        new_labels = {
            label for label in (*self.moved_definitions, *needed_labels) if label not in target_definitions
        }
        clashing_labels = {use.label for use in find_uses(target, new_labels)}
        self.used_labels |= clashing_labels
        new_names: dict[str, str] = {}
        copied_definitions: list[Definition] = []
        for label in dict.fromkeys((*needed_labels, *self.moved_definitions)):
            definition, moved_definition, target_definition = (
                self.definitions[label],
                self.moved_definitions.get(label),
                target_definitions.get(label),
            )
            is_clashing = (
                label in clashing_labels
                if target_definition is None
                else moved_definition is not None and moved_definition.meaning != target_definition.meaning
            )
            if moved_definition is not None and is_clashing:
                name = self._find_free_label(label, moved_definition, target)
                self._rename_definitions(label, name)
                if self._is_moved(definition.start):
                    new_names[label] = name
            if label not in needed_labels or self._is_moved(definition.start):
                continue
            if target_definition is not None and target_definition.meaning == definition.meaning:
                continue
            if target_definition is not None or moved_definition is not None or is_clashing:
                new_names[label] = self._find_free_label(label, definition, target)
            copied_definitions.append(definition)
        for use in self.uses:
            if use.label in new_names and self._is_moved(use.start):
                self._rename_use(use, new_names[use.label])
        remaining_labels = self._find_needed_labels(
            lambda start: not self._is_moved(start),
            lambda definition: self._is_moved(definition.start),
        )
        retained_definitions = [
            self.definitions[label]
            for label in remaining_labels
            if self._is_moved(self.definitions[label].start)
            and (
                label not in self.remaining_definitions
                or self.remaining_definitions[label].meaning != self.definitions[label].meaning
            )
        ]
        linked_uses = [
            use
            for use in find_uses(self.source, target_definitions.keys() - self.definitions)
            if self._is_moved(use.start)
        ]
        return LabelUpdates(
            tuple(self.splices),
            self._format_copies(copied_definitions, new_names),
            self._format_copies(retained_definitions, {}),
            (
                *(
                    CopiedDefinition(
                        definition,
                        target.path,
                        new_names.get(definition.label, definition.label),
                    )
                    for definition in copied_definitions
                ),
                *(
                    CopiedDefinition(definition, self.source.path, definition.label)
                    for definition in retained_definitions
                ),
            ),
            tuple(
                target.text(target_definitions[label].label_start, target_definitions[label].label_end)
                for label in dict.fromkeys(use.label for use in linked_uses)
            ),
        )

    def _is_moved(self, offset: int) -> bool:
        """Return True if a byte of the document is moved."""
        return self.section.start <= offset < self.section.tree_end

    def _find_needed_labels(
        self, is_relevant: Callable[[int], bool], is_copied: Callable[[Definition], bool]
    ) -> dict[str, None]:
        """Return the labels used at relevant offsets, and in the footnotes that are copied for them."""
        needed_labels = dict.fromkeys(use.label for use in self.uses if is_relevant(use.start))
        queue = [self.definitions[label] for label in needed_labels]
        for definition in queue:
            if definition.link is None and is_copied(definition):
                for use in self._find_uses_in(definition):
                    if use.label not in needed_labels:
                        needed_labels[use.label] = None
                        queue.append(self.definitions[use.label])
        return needed_labels

    def _find_free_label(self, label: str, definition: Definition, target: Document) -> str:
        """Choose a label that has no definition, and is not in brackets in either document; reserve it."""
        for document in (self.source, target):
            if document.path not in self.bracketed_labels_by_path:
                labels = {document.text(*match.span(1)) for match in _BRACKETED_TEXT.finditer(document.data)}
                self.bracketed_labels_by_path[document.path] = frozenset(map(normalize_label, labels))
        base_name = " ".join(self.source.text(definition.label_start, definition.label_end).split())
        numbered_names = (f"{base_name}-{number}" for number in count(1))
        name = next(name for name in numbered_names if not self._is_used(normalize_label(name)))
        self.used_labels.add(normalize_label(name))
        return name

    def _is_used(self, label: str) -> bool:
        return label in self.used_labels or any(
            label in labels for labels in self.bracketed_labels_by_path.values()
        )

    def _find_uses_in(self, definition: Definition) -> list[LabelUse]:
        """Return the uses in the definition of a footnote."""
        first_index = bisect_left(self.uses, definition.start, key=lambda use: use.start)
        return self.uses[first_index : bisect_left(self.uses, definition.end, key=lambda use: use.start)]

    def _rename_definitions(self, label: str, name: str) -> None:
        """Add the splices that rename all definitions of a label in the moved text."""
        section_start = self.section.start
        self.splices += [
            Splice(section_start + label_use.start, section_start + label_use.end, name.encode())
            for label_use in self.moved_labels
            if label_use.label == label
        ]

    def _rename_use(self, use: LabelUse, name: str) -> None:
        self.splices.append(Splice(use.start, use.end, f"[{name}]".encode()))

    def _format_copies(self, definitions: Collection[Definition], names: Mapping[str, str]) -> bytes:
        """Return the text of copied definitions: first links, then footnotes separated by blank lines."""
        links = [
            self._format_copy(definition, names) for definition in definitions if definition.link is not None
        ]
        footnotes = [
            self._format_copy(definition, names) for definition in definitions if definition.link is None
        ]
        return b"\n\n".join([*([b"\n".join(links)] if links else ()), *footnotes])

    def _format_copy(self, definition: Definition, names: Mapping[str, str]) -> bytes:
        data = self.source.data
        label = (
            names[definition.label].encode()
            if definition.label in names
            else data[definition.label_start : definition.label_end]
        )
        if definition.link is not None:
            title_part = b" ".join(data[definition.link.destination_end : definition.end].split())
            label_part = data[definition.label_end : definition.link.destination_start].split()
            opening_mark = b"<" if label_part[-1:] and label_part[-1].endswith(b"<") else b""
            destination = data[definition.link.destination_start : definition.link.destination_end]
            title = title_part if not title_part or title_part.startswith(b">") else b" " + title_part
            return b"[" + label + b"]: " + opening_mark + destination + title
        inner_splices = [
            Splice(use.start - definition.start, use.end - definition.start, f"[{names[use.label]}]".encode())
            for use in self._find_uses_in(definition)
            if use.label in names
        ]
        span = definition.label_start - definition.start, definition.label_end - definition.start
        return apply_splices(data[definition.start : definition.end], [Splice(*span, label), *inner_splices])


def _shift_definition(definition: Definition, shift: int) -> Definition:
    """Return a definition with all its offsets increased by `shift` bytes."""
    return definition._replace(
        start=definition.start + shift,
        end=definition.end + shift,
        label_start=definition.label_start + shift,
        label_end=definition.label_end + shift,
        link=None
        if definition.link is None
        else definition.link._replace(
            destination_start=definition.link.destination_start + shift,
            destination_end=definition.link.destination_end + shift,
        ),
    )


def find_copied_links(
    source: Document, documents: Iterable[Document], copies: Iterable[CopiedDefinition], rules: LinkRules
) -> Iterator[PreservedSpan]:
    """Yield the link destinations in copied definitions of `source`, with their offsets in `documents`."""
    documents_by_path = {document.path: document for document in documents}
    for copy in copies:
        document = documents_by_path[copy.path]
        definition = find_definitions(document, rules).get(normalize_label(copy.label))
        if definition is None:
            continue
        for old, new in zip(
            _find_links(source, copy.definition), _find_links(document, definition), strict=False
        ):
            yield PreservedSpan(
                source.path, old.destination_start, old.destination_end, copy.path, new.destination_start
            )


def _find_links(document: Document, definition: Definition) -> list[Link]:
    """Return the links in a definition that have their own destination."""
    return [
        link
        for link in read_cached_links(document).links
        if definition.start <= link.destination_start < definition.end and link.kind is not LinkKind.REFERENCE
    ]
