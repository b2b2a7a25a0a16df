"""Labels of references and footnotes: their uses and their definitions.

A footnote's label begins with `^` (GFM's footnotes). `[^1]` is a use of the label. `[^1]: text`, with the
indented lines below, is its definition.

`find_dangling_references` finds references and footnotes whose definition an operation removed. They are
plain text now, or use another definition.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import LimitExceeded
from workspace.links.inline import find_inline_regions, read_definition, read_inline
from workspace.links.link import Enclosure, Link, LinkKind, LinkSpan, decode_utf8, read_body_texts
from workspace.links.reader import read_cached_links
from workspace.links.resolver import read_target
from workspace.markdown.inline import BlockText, BlockTextKind, normalize_label

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator, Sequence

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.offset_map import OffsetMap
    from workspace.snapshot.overlay import Overlay

_FOOTNOTE_DEFINITION = re.compile(r"^[ \t]*(\[\^[^\]\s]+\]):", re.MULTILINE)
_CONTINUATION_INDENTS = (b"    ", b"\t")


class LabelUse(NamedTuple):
    """A use of a label, and the bytes [start, end) of the label with its brackets.

    The range is empty for a shortcut reference (`[label]`), whose label is also its text.
    """

    label: str
    start: int
    end: int


class DefinitionLabel(NamedTuple):
    """The label of a definition, and the bytes [start, end) of the label."""

    label: str
    start: int
    end: int


class Definition(NamedTuple):
    """A definition at [start, end), the range of its label, and its meaning.

    `meaning` is equal for two definitions with the same target and the same title, and for two footnotes with
    the same text. `link` is None for a footnote.
    """

    label: str
    start: int
    end: int
    label_start: int
    label_end: int
    meaning: object
    link: Link | None


class _InlineText(NamedTuple):
    """The text of a block, and the map from its characters to byte offsets in the document."""

    text: str
    to_byte_offset: Callable[[int], int]


def find_definitions(document: Document, rules: LinkRules) -> dict[str, Definition]:
    """Return the effective definition of each label: the first one (CommonMark §4.7)."""
    definitions: dict[str, Definition] = {}
    for link in read_cached_links(document).links:
        if link.kind is LinkKind.DEFINITION and link.label is not None:
            definitions.setdefault(link.label, _make_definition(document, link, rules))
    if b"[^" in document.data:
        for definition in _read_footnotes(document):
            definitions.setdefault(definition.label, definition)
    return definitions


def find_definition_labels(document: Document) -> list[DefinitionLabel]:
    """Return the label of each definition, including repeated definitions of a label."""
    labels = [
        DefinitionLabel(item.label, item.label_start, item.label_end) for item in _read_footnotes(document)
    ]
    for inline_text in _read_texts(document, BlockTextKind.DEFINITION):
        definition = read_definition(inline_text.text)
        if definition is not None:
            label = definition[0]
            start, end = inline_text.to_byte_offset(1), inline_text.to_byte_offset(len(label)) + 1
            labels.append(DefinitionLabel(normalize_label(decode_utf8(label)), start, end))
    return labels


def find_uses(document: Document, labels: Collection[str]) -> list[LabelUse]:
    """Return the uses of these labels, including uses of labels that have no definition."""
    if not labels:
        return []
    label_set = frozenset(labels)
    return [use for inline_text in _read_texts(document) for use in _find_uses_in(inline_text, label_set)]


def _make_definition(document: Document, link: Link, rules: LinkRules) -> Definition:
    data = document.data
    label_end = data.rfind(b"]:", link.start, link.destination_start)
    title_start = link.destination_end + (link.enclosure is Enclosure.ANGLE)
    target = read_target(link.destination, document.path, rules)
    title = b" ".join(data[title_start : link.end].split())
    meaning = (link.destination if target is None else target[:3], title)
    return Definition(link.label or "", link.start, link.end, link.start + 1, label_end, meaning, link)


def _find_uses_in(inline_text: _InlineText, labels: Container[str]) -> Iterator[LabelUse]:
    text = inline_text.text
    definition_starts = {match.start(1) for match in _FOOTNOTE_DEFINITION.finditer(text)}
    for region_start, region_end in find_inline_regions(text):
        for span in read_inline(text, region_start, region_end, labels):
            if not isinstance(span, LinkSpan) or span.kind is not LinkKind.REFERENCE or span.label is None:
                continue
            bracket = text.rfind("[", span.start, span.end)
            while bracket > span.start and text[bracket - 1] == "\\":
                bracket = text.rfind("[", span.start, bracket)
            if bracket in definition_starts:
                continue
            start, end = inline_text.to_byte_offset(bracket), inline_text.to_byte_offset(span.end - 1) + 1
            is_shortcut = bracket <= span.start + span.is_image and not span.label.startswith("^")
            yield LabelUse(span.label, end if is_shortcut else start, end)


def _read_footnotes(document: Document) -> Iterator[Definition]:
    """Yield the definitions of footnotes that begin outside of lists and quotations."""
    lines, data = document.lines, document.data
    for inline_text in _read_texts(document):
        matches = list(_FOOTNOTE_DEFINITION.finditer(inline_text.text))
        if not matches:
            continue
        line_after = lines.line_at(inline_text.to_byte_offset(len(inline_text.text.rstrip("\n")) - 1)) + 1
        end_lines = [lines.line_at(inline_text.to_byte_offset(match.start(1))) for match in matches[1:]]
        for match, end_line in zip(
            matches, [*end_lines, _skip_continuation(document, line_after)], strict=True
        ):
            start = inline_text.to_byte_offset(match.start(1))
            line = lines.line_at(start)
            if data[lines.offset(line) : start].strip(b" ") or start - lines.offset(line) > 3:
                continue
            label_end = inline_text.to_byte_offset(match.end(1) - 1)
            definition_end = lines.offset(end_line - 1) + len(lines.line_bytes(end_line - 1))
            label = normalize_label(decode_utf8(match[1][1:-1]))
            footnote_text = b" ".join(data[label_end + 2 : definition_end].split())
            yield Definition(label, start, definition_end, start + 1, label_end, footnote_text, None)


def _skip_continuation(document: Document, line: int) -> int:
    """Return the line after the continuation of a footnote: indented lines and blank lines between them."""
    lines = document.lines
    end = line
    while line < len(lines):
        line_bytes = lines.line_bytes(line)
        line += 1
        if not line_bytes.strip():
            continue
        if not line_bytes.startswith(_CONTINUATION_INDENTS):
            break
        end = line
    return end


def _read_texts(document: Document, kind: BlockTextKind = BlockTextKind.INLINE) -> Iterator[_InlineText]:
    """Yield the text of each block of a kind, with its offset map."""
    block_texts, to_byte_offset = read_body_texts(document)

    def make_offset_function(block_text: BlockText) -> Callable[[int], int]:
        return lambda position: to_byte_offset(block_text.map_to_source(position))

    for block_text in block_texts:
        if block_text.kind is kind:
            yield _InlineText(block_text.text, make_offset_function(block_text))


_DEFINITION_MARK = b"]:"
_FOOTNOTE_MARK = b"[^"


class DanglingReference(NamedTuple):
    """A reference whose definition an operation removed, and the new position of the reference.

    `is_text` is True if the reference is plain text now. For a footnote, `link.destination` contains the
    bracketed label, such as `[^1]`.
    """

    link: Link
    path: str
    start: int
    is_text: bool


def find_dangling_references(
    before: Overlay, after: Overlay, offset_map: OffsetMap
) -> Iterator[DanglingReference]:
    """Yield the references that an operation preserved and whose definition it removed."""
    for path in sorted(offset_map.paths):
        try:
            old_document = before.find(path)
        except LimitExceeded:
            continue
        if old_document is not None and _may_lose_definition(
            old_document, offset_map.find_removed_spans(old_document)
        ):
            yield from _find_dangling_links(old_document, after, offset_map)
            if _FOOTNOTE_MARK in old_document.data:
                yield from _find_dangling_footnotes(old_document, after, offset_map)


def _find_dangling_links(
    old_document: Document, after: Overlay, offset_map: OffsetMap
) -> Iterator[DanglingReference]:
    removed_labels = {
        label
        for label, definition in _find_definition_links(old_document).items()
        if offset_map.map_span(old_document.path, definition.start, definition.destination_start) is None
    }
    new_links: dict[str, dict[int, Link]] = {}
    preserved_labels: dict[str, set[str]] = {}
    for link in read_cached_links(old_document).links if removed_labels else ():
        if link.kind is not LinkKind.REFERENCE or link.label not in removed_labels:
            continue
        new_position = offset_map.map_span(old_document.path, link.start, link.end)
        document = None if new_position is None else after.find(new_position[0])
        if new_position is None or document is None:
            continue
        if document.path not in new_links:
            new_links[document.path] = {
                new_link.start: new_link for new_link in read_cached_links(document).links
            }
            preserved_labels[document.path] = _find_preserved_labels(document, offset_map)
        new_link = new_links[document.path].get(new_position[1])
        leads_elsewhere = (
            new_link is not None
            and new_link.destination != link.destination
            and document.path == old_document.path
        )
        # A second definition of the label may be effective now, and lead elsewhere.
        if new_link is None or (leads_elsewhere and link.label in preserved_labels[document.path]):
            yield DanglingReference(link, *new_position, is_text=new_link is None)


def _find_definition_links(document: Document) -> dict[str, Link]:
    """Return the effective definition of each label as a link."""
    definitions: dict[str, Link] = {}
    for link in read_cached_links(document).links:
        if link.kind is LinkKind.DEFINITION and link.label is not None:
            definitions.setdefault(link.label, link)
    return definitions


def _find_preserved_labels(document: Document, offset_map: OffsetMap) -> set[str]:
    """Return the labels whose definition the operation preserved."""
    written_spans = offset_map.find_written_spans(document)
    return {
        label
        for label, definition in _find_definition_links(document).items()
        if not _overlaps(written_spans, definition.start, definition.destination_start)
    }


def _overlaps(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Return True if one of the sorted spans contains a byte of [start, end)."""
    index = bisect_left(spans, start + 1, key=lambda span: span[1])
    return index < len(spans) and spans[index][0] < end


def _find_dangling_footnotes(
    old_document: Document, after: Overlay, offset_map: OffsetMap
) -> Iterator[DanglingReference]:
    """Yield the uses of footnotes whose definition is missing now."""
    rules = after.snapshot.config.links
    removed_labels = [
        label
        for label, definition in find_definitions(old_document, rules).items()
        if definition.link is None
        and offset_map.map_offset(old_document.path, definition.label_start) is None
    ]
    definitions: dict[str, Container[str]] = {}
    for use in find_uses(old_document, removed_labels):
        position = offset_map.map_span(old_document.path, use.start, use.end)
        document = None if position is None else after.find(position[0])
        if position is None or document is None:
            continue
        if document.path not in definitions:
            definitions[document.path] = find_definitions(document, rules)
        if use.label not in definitions[document.path]:
            brackets = old_document.text(use.start, use.end)
            offsets, enclosure = (use.start, use.end, use.start, use.start), Enclosure.BARE
            link = Link(LinkKind.REFERENCE, False, *offsets, enclosure, brackets, use.label, 0)
            yield DanglingReference(link, *position, is_text=True)


def _may_lose_definition(old_document: Document, spans: Sequence[tuple[int, int]]) -> bool:
    """Return True if the lines that contain these spans may contain a definition."""
    data, line_end = old_document.data, 0
    for start, end in spans:
        if end < line_end:  # the line was already checked
            continue
        line_start = max(line_end, data.rfind(b"\n", line_end, start) + 1)
        line_end = data.find(b"\n", end)
        line_end = len(data) if line_end < 0 else line_end
        if data.find(_DEFINITION_MARK, line_start, line_end) >= 0:
            return True
    return False
