"""References and footnotes whose definition an operation took away: text now, or another's use."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import LimitExceeded
from workspace.links.definitions import definitions_of, uses_of
from workspace.links.link import Enclosure, Link, LinkKind
from workspace.links.reader import links_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from workspace.document.document import Document
    from workspace.links.survival import Survival
    from workspace.snapshot.overlay import Overlay

_DEFINES = b"]:"
_FOOTNOTE = b"[^"


class Undefined(NamedTuple):
    """A reference as it was, and where it stands now: path and byte. `is_text`: it is no link any more.

    The use of a footnote has its brackets as destination.
    """

    link: Link
    path: str
    start: int
    is_text: bool


def undefined(before: Overlay, after: Overlay, survival: Survival) -> Iterator[Undefined]:
    """The references that one operation kept, but not the definition that they had."""
    for path in sorted(survival.paths):
        try:
            old = before.find(path)
        except LimitExceeded:
            continue
        if old is not None and _may_lose_definition(old, survival.lost(old)):
            yield from _undefined(old, after, survival)
            if _FOOTNOTE in old.data:
                yield from _without_footnote(old, after, survival)


def _undefined(old: Document, after: Overlay, survival: Survival) -> Iterator[Undefined]:
    gone = {
        label
        for label, item in _definitions(old).items()
        if survival.span(old.path, item.start, item.destination_start) is None
    }
    now: dict[str, dict[int, Link]] = {}
    others: dict[str, set[str]] = {}
    for link in links_of(old).links if gone else ():
        if link.kind is not LinkKind.REFERENCE or link.label not in gone:
            continue
        at = survival.span(old.path, link.start, link.end)
        document = None if at is None else after.find(at[0])
        if at is None or document is None:
            continue
        if document.path not in now:
            now[document.path] = {item.start: item for item in links_of(document).links}
            others[document.path] = _kept(document, survival)
        item = now[document.path].get(at[1])
        is_other = item is not None and item.destination != link.destination and document.path == old.path
        # A second definition of the label may count now, and lead elsewhere.
        if item is None or (is_other and link.label in others[document.path]):
            yield Undefined(link, *at, is_text=item is None)


def _definitions(document: Document) -> dict[str, Link]:
    """The definition that counts for each label."""
    found: dict[str, Link] = {}
    for link in links_of(document).links:
        if link.kind is LinkKind.DEFINITION and link.label is not None:
            found.setdefault(link.label, link)
    return found


def _kept(document: Document, survival: Survival) -> set[str]:
    """The labels whose definition the operation did not write."""
    written = survival.written(document)
    return {
        label
        for label, item in _definitions(document).items()
        if not _meets(written, item.start, item.destination_start)
    }


def _meets(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of some spans in order holds a byte of [start, end)."""
    place = bisect_left(spans, start + 1, key=lambda span: span[1])
    return place < len(spans) and spans[place][0] < end


def _without_footnote(old: Document, after: Overlay, survival: Survival) -> Iterator[Undefined]:
    """The uses of footnotes that are there no more."""
    rules = after.snapshot.config.links
    gone = [
        label
        for label, item in definitions_of(old, rules).items()
        if item.link is None and survival.place(old.path, item.label_start) is None
    ]
    known: dict[str, Container[str]] = {}
    for use in uses_of(old, gone):
        at = survival.span(old.path, use.start, use.end)
        document = None if at is None else after.find(at[0])
        if at is None or document is None:
            continue
        if document.path not in known:
            known[document.path] = definitions_of(document, rules)
        if use.label not in known[document.path]:
            brackets = old.text(use.start, use.end)
            place, bare = (use.start, use.end, use.start, use.start), Enclosure.BARE
            link = Link(LinkKind.REFERENCE, False, *place, bare, brackets, use.label, 0)
            yield Undefined(link, *at, is_text=True)


def _may_lose_definition(old: Document, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether the lines of some spans may hold a definition."""
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
