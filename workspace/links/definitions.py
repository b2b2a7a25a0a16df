"""Labels of references and footnotes: where each is used, and what its definition says.

A footnote's label begins with `^` (GFM's footnotes): `[^1]` is its use, and `[^1]: words` with all that is
indented below it its definition.

References and footnotes whose definition an operation took away: text now, or another's use.
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
    from workspace.links.survival import OffsetMap
    from workspace.snapshot.overlay import Overlay

_FOOTNOTE = re.compile(r"^[ \t]*(\[\^[^\]\s]+\]):", re.MULTILINE)
_INDENTED = (b"    ", b"\t")


class LabelUse(NamedTuple):
    """A use of a label, and the last brackets of it [start, end), which say which one.

    They are of no bytes where the only brackets are its text as well.
    """

    label: str
    start: int
    end: int


class Label(NamedTuple):
    """The label of a definition, and its own bytes [start, end)."""

    label: str
    start: int
    end: int


class Definition(NamedTuple):
    """A definition [start, end), its label's own bytes, and what it means.

    `meaning` is equal where two definitions lead to the same place with the same title, or are footnotes of
    the same words. `link` is None for a footnote.
    """

    label: str
    start: int
    end: int
    label_start: int
    label_end: int
    meaning: object
    link: Link | None


class _Leaf(NamedTuple):
    """A block's inline text, and where each of its characters stands in the document."""

    text: str
    offset: Callable[[int], int]


def find_definitions(document: Document, rules: LinkRules) -> dict[str, Definition]:
    """Return the definition that counts for each label: the first (CommonMark §4.7)."""
    found: dict[str, Definition] = {}
    for link in read_cached_links(document).links:
        if link.kind is LinkKind.DEFINITION and link.label is not None:
            found.setdefault(link.label, _definition(document, link, rules))
    if b"[^" in document.data:
        for definition in _footnotes(document):
            found.setdefault(definition.label, definition)
    return found


def find_labels(document: Document) -> list[Label]:
    """Return the labels of all definitions, those too that do not count because another comes first."""
    found = [Label(item.label, item.label_start, item.label_end) for item in _footnotes(document)]
    for leaf in _leaves(document, InlineKind.DEFINITION):
        definition = read_definition(leaf.text)
        if definition is not None:
            label = definition[0]
            start, end = leaf.offset(1), leaf.offset(len(label)) + 1
            found.append(Label(normalize_label(decode_utf8(label)), start, end))
    return found


def find_uses(document: Document, labels: Collection[str]) -> list[LabelUse]:
    """Return the uses of some labels, or what would be one if the label had a definition."""
    if not labels:
        return []
    known = frozenset(labels)
    return [use for leaf in _leaves(document) for use in _uses(leaf, known)]


def _definition(document: Document, link: Link, rules: LinkRules) -> Definition:
    data = document.data
    label_end = data.rfind(b"]:", link.start, link.destination_start)
    behind = link.destination_end + (link.enclosure is Enclosure.ANGLE)
    target = read_target(link.destination, document.path, rules)
    title = b" ".join(data[behind : link.end].split())
    meant = (link.destination if target is None else target[:3], title)
    return Definition(link.label or "", link.start, link.end, link.start + 1, label_end, meant, link)


def _uses(leaf: _Leaf, labels: Container[str]) -> Iterator[LabelUse]:
    text = leaf.text
    definitions = {found.start(1) for found in _FOOTNOTE.finditer(text)}
    for first, last in find_inline_regions(text):
        for part in read_inline(text, first, last, labels):
            if not isinstance(part, LinkSpan) or part.kind is not LinkKind.REFERENCE or part.label is None:
                continue
            opening = text.rfind("[", part.start, part.end)
            while opening > part.start and text[opening - 1] == "\\":
                opening = text.rfind("[", part.start, opening)
            if opening in definitions:
                continue
            start, end = leaf.offset(opening), leaf.offset(part.end - 1) + 1
            is_alone = opening <= part.start + part.is_image and not part.label.startswith("^")
            yield LabelUse(part.label, end if is_alone else start, end)


def _footnotes(document: Document) -> Iterator[Definition]:
    """Yield the definitions of footnotes outside every list and quotation."""
    lines, data = document.lines, document.data
    for leaf in _leaves(document):
        found = list(_FOOTNOTE.finditer(leaf.text))
        if not found:
            continue
        after = lines.line_at(leaf.offset(len(leaf.text.rstrip("\n")) - 1)) + 1
        ends = [lines.line_at(leaf.offset(item.start(1))) for item in found[1:]]
        for item, end in zip(found, [*ends, _continued(document, after)], strict=True):
            start = leaf.offset(item.start(1))
            line = lines.line_at(start)
            if data[lines.offset(line) : start].strip(b" ") or start - lines.offset(line) > 3:
                continue
            label_end = leaf.offset(item.end(1) - 1)
            stop = lines.offset(end - 1) + len(lines.raw(end - 1))
            label = normalize_label(decode_utf8(item[1][1:-1]))
            words = b" ".join(data[label_end + 2 : stop].split())
            yield Definition(label, start, stop, start + 1, label_end, words, None)


def _continued(document: Document, line: int) -> int:
    """Return the line behind those that go on with a footnote: indented, with blank lines between."""
    lines = document.lines
    end = line
    while line < len(lines):
        raw = lines.raw(line)
        line += 1
        if not raw.strip():
            continue
        if not raw.startswith(_INDENTED):
            break
        end = line
    return end


def _leaves(document: Document, kind: InlineKind = InlineKind.INLINE) -> Iterator[_Leaf]:
    """Yield the text of each block of a kind that may hold a link."""
    leaves, place = read_body_sources(document)

    def offset_in(leaf: InlineSource) -> Callable[[int], int]:
        return lambda position: place(leaf.place(position))

    for leaf in leaves:
        if leaf.kind is kind:
            yield _Leaf(leaf.text, offset_in(leaf))


_DEFINES = b"]:"
_FOOTNOTE_LABEL = b"[^"


class DanglingReference(NamedTuple):
    """An old reference without its definition, and its position now. `is_text`: it is no longer a link.

    The use of a footnote has its brackets as destination.
    """

    link: Link
    path: str
    start: int
    is_text: bool


def find_dangling_references(
    before: Overlay, after: Overlay, survival: OffsetMap
) -> Iterator[DanglingReference]:
    """Yield the references that an operation preserved without their old definition."""
    for path in sorted(survival.paths):
        try:
            old = before.find(path)
        except LimitExceeded:
            continue
        if old is not None and _may_lose_definition(old, survival.lost(old)):
            yield from _undefined(old, after, survival)
            if _FOOTNOTE_LABEL in old.data:
                yield from _without_footnote(old, after, survival)


def _undefined(old: Document, after: Overlay, survival: OffsetMap) -> Iterator[DanglingReference]:
    gone = {
        label
        for label, item in _definitions(old).items()
        if survival.span(old.path, item.start, item.destination_start) is None
    }
    now: dict[str, dict[int, Link]] = {}
    others: dict[str, set[str]] = {}
    for link in read_cached_links(old).links if gone else ():
        if link.kind is not LinkKind.REFERENCE or link.label not in gone:
            continue
        at = survival.span(old.path, link.start, link.end)
        document = None if at is None else after.find(at[0])
        if at is None or document is None:
            continue
        if document.path not in now:
            now[document.path] = {item.start: item for item in read_cached_links(document).links}
            others[document.path] = _kept(document, survival)
        item = now[document.path].get(at[1])
        is_other = item is not None and item.destination != link.destination and document.path == old.path
        # A second definition of the label may count now, and lead elsewhere.
        if item is None or (is_other and link.label in others[document.path]):
            yield DanglingReference(link, *at, is_text=item is None)


def _definitions(document: Document) -> dict[str, Link]:
    """Return the definition that counts for each label."""
    found: dict[str, Link] = {}
    for link in read_cached_links(document).links:
        if link.kind is LinkKind.DEFINITION and link.label is not None:
            found.setdefault(link.label, link)
    return found


def _kept(document: Document, survival: OffsetMap) -> set[str]:
    """Return the labels whose definition the operation preserved."""
    written = survival.written(document)
    return {
        label
        for label, item in _definitions(document).items()
        if not _meets(written, item.start, item.destination_start)
    }


def _meets(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Return True if one of some spans in order holds a byte of [start, end)."""
    place = bisect_left(spans, start + 1, key=lambda span: span[1])
    return place < len(spans) and spans[place][0] < end


def _without_footnote(old: Document, after: Overlay, survival: OffsetMap) -> Iterator[DanglingReference]:
    """Yield the uses of footnotes that are missing now."""
    rules = after.snapshot.config.links
    gone = [
        label
        for label, item in find_definitions(old, rules).items()
        if item.link is None and survival.place(old.path, item.label_start) is None
    ]
    known: dict[str, Container[str]] = {}
    for use in find_uses(old, gone):
        at = survival.span(old.path, use.start, use.end)
        document = None if at is None else after.find(at[0])
        if at is None or document is None:
            continue
        if document.path not in known:
            known[document.path] = find_definitions(document, rules)
        if use.label not in known[document.path]:
            brackets = old.text(use.start, use.end)
            place, bare = (use.start, use.end, use.start, use.start), Enclosure.BARE
            link = Link(LinkKind.REFERENCE, False, *place, bare, brackets, use.label, 0)
            yield DanglingReference(link, *at, is_text=True)


def _may_lose_definition(old: Document, spans: Sequence[tuple[int, int]]) -> bool:
    """Return True if the lines of some spans may hold a definition."""
    data, stop = old.data, 0
    for start, end in spans:
        if end < stop:  # on a line that was looked at
            continue
        begin = max(stop, data.rfind(b"\n", stop, start) + 1)
        stop = data.find(b"\n", end)
        stop = len(data) if stop < 0 else stop
        if data.find(_DEFINES, begin, stop) >= 0:
            return True
    return False
