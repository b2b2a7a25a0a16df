"""Labels of references and footnotes: their uses and their definitions.

A footnote's label begins with `^` (GFM's footnotes). `[^1]` is a use of it. `[^1]: text`, with the indented
lines below, is its definition.

`find_dangling_references` finds references and footnotes whose definition an operation removed. These are
text now, or use another definition.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import LimitExceeded
from workspace.links.inline import find_inline_regions, read_definition, read_inline
from workspace.links.link import Enclosure, Link, LinkKind, LinkSpan, decode_utf8, read_body_sources
from workspace.links.reader import read_cached_links
from workspace.links.resolver import read_target
from workspace.markdown.inline import InlineKind, InlineSource, normalize_label

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator, Sequence

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.offset_map import OffsetMap
    from workspace.snapshot.overlay import Overlay

_FOOTNOTE = re.compile(r"^[ \t]*(\[\^[^\]\s]+\]):", re.MULTILINE)
_INDENTED = (b"    ", b"\t")


class LabelUse(NamedTuple):
    """A use of a label, and its last brackets [start, end), which contain the label.

    The range is empty where the only brackets also contain the text of the link.
    """

    label: str
    start: int
    end: int


class Label(NamedTuple):
    """The label of a definition, and the bytes [start, end) of the label."""

    label: str
    start: int
    end: int


class Definition(NamedTuple):
    """A definition [start, end), the bytes of its label, and its meaning.

    `meaning` is equal for two definitions that lead to the same target with the same title, or that are
    footnotes of the same text. `link` is None for a footnote.
    """

    label: str
    start: int
    end: int
    label_start: int
    label_end: int
    meaning: object
    link: Link | None


class _InlineText(NamedTuple):
    """The inline text of a block, and the map from its characters to offsets in the document."""

    text: str
    offset: Callable[[int], int]


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


def find_labels(document: Document) -> list[Label]:
    """Return the labels of all definitions, including repeated definitions of a label."""
    labels = [Label(item.label, item.label_start, item.label_end) for item in _read_footnotes(document)]
    for block in _read_texts(document, InlineKind.DEFINITION):
        definition = read_definition(block.text)
        if definition is not None:
            label = definition[0]
            start, end = block.offset(1), block.offset(len(label)) + 1
            labels.append(Label(normalize_label(decode_utf8(label)), start, end))
    return labels


def find_uses(document: Document, labels: Collection[str]) -> list[LabelUse]:
    """Return the uses of some labels, including uses of labels that have no definition."""
    if not labels:
        return []
    label_set = frozenset(labels)
    return [use for block in _read_texts(document) for use in _find_uses_in(block, label_set)]


def _make_definition(document: Document, link: Link, rules: LinkRules) -> Definition:
    data = document.data
    label_end = data.rfind(b"]:", link.start, link.destination_start)
    title_start = link.destination_end + (link.enclosure is Enclosure.ANGLE)
    target = read_target(link.destination, document.path, rules)
    title = b" ".join(data[title_start : link.end].split())
    meaning = (link.destination if target is None else target[:3], title)
    return Definition(link.label or "", link.start, link.end, link.start + 1, label_end, meaning, link)


def _find_uses_in(block: _InlineText, labels: Container[str]) -> Iterator[LabelUse]:
    text = block.text
    definitions = {match.start(1) for match in _FOOTNOTE.finditer(text)}
    for first, last in find_inline_regions(text):
        for part in read_inline(text, first, last, labels):
            if not isinstance(part, LinkSpan) or part.kind is not LinkKind.REFERENCE or part.label is None:
                continue
            opening = text.rfind("[", part.start, part.end)
            while opening > part.start and text[opening - 1] == "\\":
                opening = text.rfind("[", part.start, opening)
            if opening in definitions:
                continue
            start, end = block.offset(opening), block.offset(part.end - 1) + 1
            is_alone = opening <= part.start + part.is_image and not part.label.startswith("^")
            yield LabelUse(part.label, end if is_alone else start, end)


def _read_footnotes(document: Document) -> Iterator[Definition]:
    """Yield the definitions of footnotes outside of lists and quotations."""
    lines, data = document.lines, document.data
    for block in _read_texts(document):
        matches = list(_FOOTNOTE.finditer(block.text))
        if not matches:
            continue
        after = lines.line_at(block.offset(len(block.text.rstrip("\n")) - 1)) + 1
        ends = [lines.line_at(block.offset(match.start(1))) for match in matches[1:]]
        for match, end in zip(matches, [*ends, _skip_continuation(document, after)], strict=True):
            start = block.offset(match.start(1))
            line = lines.line_at(start)
            if data[lines.offset(line) : start].strip(b" ") or start - lines.offset(line) > 3:
                continue
            label_end = block.offset(match.end(1) - 1)
            stop = lines.offset(end - 1) + len(lines.line_bytes(end - 1))
            label = normalize_label(decode_utf8(match[1][1:-1]))
            words = b" ".join(data[label_end + 2 : stop].split())
            yield Definition(label, start, stop, start + 1, label_end, words, None)


def _skip_continuation(document: Document, line: int) -> int:
    """Return the line after the continuation of a footnote: indented lines and blank lines between them."""
    lines = document.lines
    end = line
    while line < len(lines):
        raw = lines.line_bytes(line)
        line += 1
        if not raw.strip():
            continue
        if not raw.startswith(_INDENTED):
            break
        end = line
    return end


def _read_texts(document: Document, kind: InlineKind = InlineKind.INLINE) -> Iterator[_InlineText]:
    """Yield the inline text of each block of a kind."""
    sources, place = read_body_sources(document)

    def offset_in(source: InlineSource) -> Callable[[int], int]:
        return lambda position: place(source.source_position(position))

    for source in sources:
        if source.kind is kind:
            yield _InlineText(source.text, offset_in(source))


_DEFINES = b"]:"
_FOOTNOTE_LABEL = b"[^"


class DanglingReference(NamedTuple):
    """An old reference without its definition, and its new position; `is_text` is True if it is text now.

    The destination of a footnote's use is the text of its brackets.
    """

    link: Link
    path: str
    start: int
    is_text: bool


def find_dangling_references(
    before: Overlay, after: Overlay, offset_map: OffsetMap
) -> Iterator[DanglingReference]:
    """Yield the references that an operation preserved although it removed their definition."""
    for path in sorted(offset_map.paths):
        try:
            old = before.find(path)
        except LimitExceeded:
            continue
        if old is not None and _may_lose_definition(old, offset_map.find_lost_spans(old)):
            yield from _find_dangling_links(old, after, offset_map)
            if _FOOTNOTE_LABEL in old.data:
                yield from _find_dangling_footnotes(old, after, offset_map)


def _find_dangling_links(old: Document, after: Overlay, offset_map: OffsetMap) -> Iterator[DanglingReference]:
    removed_labels = {
        label
        for label, new_link in _find_definition_links(old).items()
        if offset_map.span(old.path, new_link.start, new_link.destination_start) is None
    }
    new_links: dict[str, dict[int, Link]] = {}
    preserved_labels: dict[str, set[str]] = {}
    for link in read_cached_links(old).links if removed_labels else ():
        if link.kind is not LinkKind.REFERENCE or link.label not in removed_labels:
            continue
        position = offset_map.span(old.path, link.start, link.end)
        document = None if position is None else after.find(position[0])
        if position is None or document is None:
            continue
        if document.path not in new_links:
            new_links[document.path] = {
                new_link.start: new_link for new_link in read_cached_links(document).links
            }
            preserved_labels[document.path] = _find_preserved_labels(document, offset_map)
        new_link = new_links[document.path].get(position[1])
        leads_elsewhere = (
            new_link is not None and new_link.destination != link.destination and document.path == old.path
        )
        # A second definition of the label may be effective now, and lead elsewhere.
        if new_link is None or (leads_elsewhere and link.label in preserved_labels[document.path]):
            yield DanglingReference(link, *position, is_text=new_link is None)


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
        for label, item in _find_definition_links(document).items()
        if not _overlaps(written_spans, item.start, item.destination_start)
    }


def _overlaps(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Return True if one of the sorted spans contains a byte of [start, end)."""
    index = bisect_left(spans, start + 1, key=lambda span: span[1])
    return index < len(spans) and spans[index][0] < end


def _find_dangling_footnotes(
    old: Document, after: Overlay, offset_map: OffsetMap
) -> Iterator[DanglingReference]:
    """Yield the uses of footnotes whose definition is missing now."""
    rules = after.snapshot.config.links
    removed_labels = [
        label
        for label, item in find_definitions(old, rules).items()
        if item.link is None and offset_map.place(old.path, item.label_start) is None
    ]
    definitions: dict[str, Container[str]] = {}
    for use in find_uses(old, removed_labels):
        position = offset_map.span(old.path, use.start, use.end)
        document = None if position is None else after.find(position[0])
        if position is None or document is None:
            continue
        if document.path not in definitions:
            definitions[document.path] = find_definitions(document, rules)
        if use.label not in definitions[document.path]:
            brackets = old.text(use.start, use.end)
            offsets, enclosure = (use.start, use.end, use.start, use.start), Enclosure.BARE
            link = Link(LinkKind.REFERENCE, False, *offsets, enclosure, brackets, use.label, 0)
            yield DanglingReference(link, *position, is_text=True)


def _may_lose_definition(old: Document, spans: Sequence[tuple[int, int]]) -> bool:
    """Return True if the lines of some spans may contain a definition."""
    data, stop = old.data, 0
    for start, end in spans:
        if end < stop:  # the line was already checked
            continue
        begin = max(stop, data.rfind(b"\n", stop, start) + 1)
        stop = data.find(b"\n", end)
        stop = len(data) if stop < 0 else stop
        if data.find(_DEFINES, begin, stop) >= 0:
            return True
    return False
