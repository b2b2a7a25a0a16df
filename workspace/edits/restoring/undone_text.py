"""The text of a document without what one commit did to it, made of the bytes of three versions."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.document import Document
from workspace.edits.restoring.taking_back import TakenBack, taken_back
from workspace.edits.restoring.units import Row, Unit, identified, own_text, row_of
from workspace.lines import BLANK, Lines
from workspace.links.survival import Piece

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from workspace.edits.restoring.units import Id
    from workspace.links.survival import Offset
    from workspace.sections import Section

_KEY = re.compile(rb"""(?![#\s-])[^:]+:(?=\s|$)""")


class UndoneText(NamedTuple):
    """A document's text afterwards; `is_sound` says whether it is read as the sections that it is made of.

    `metadata_clashes` are keys of the front matter that others have changed since, `clashing` the own texts
    of sections that clash, before the commit and after it. `pieces` are what was kept of the document,
    `renamed` its headings that came back with other words.
    """

    document: Document
    taken: TakenBack
    is_sound: bool
    has_metadata_changed: bool
    metadata_clashes: tuple[str, ...]
    clashing: frozenset[bytes]
    pieces: tuple[Piece, ...]
    renamed: dict[Offset, Offset]


def undone_text(
    base: Document, before: Document, now: Document, path: str, held: Collection[bytes] = ()
) -> UndoneText:
    """The document `now`, at a path, without what made `base` of `before`.

    `held` are own texts of sections that neither come nor go.
    """
    ids = identified(base, before, now)
    rows = [row_of(document, known) for document, known in zip((base, before, now), ids, strict=True)]
    left, was, is_now = rows
    kept_away = {
        unit.id
        for row, document in ((left, base), (was, before))
        for unit, item in zip(row.units, document.sections, strict=True)
        if held and own_text(document, item) in held
    }
    taken = taken_back(left.units, was.units, is_now.units, kept_away)
    if now.data == base.data and not taken.clashes:
        return _whole(before, taken, now, path, ids)
    head, metadata_clashes = _head(left.head, was.head, is_now.head)
    parts = [head]
    starts: list[int] = []
    size = len(head)
    gaps = _Gaps(left, was, is_now, now.ending)
    for place, unit in enumerate(taken.units):
        starts.append(size)
        last = place + 1 == len(taken.units)
        part = unit.text + (gaps.end() if last else gaps.behind(unit.id))
        parts.append(part)
        size += len(part)
    document = Document.parse(b"".join(parts), path)
    return UndoneText(
        document,
        taken,
        _is_sound(document, taken.units, rows)
        and (document.front_matter_error is None or now.front_matter_error is not None),
        head != is_now.head,
        metadata_clashes,
        _clashing(taken, ((base, ids[0]), (before, ids[1]))),
        tuple(_pieces(taken.units, starts, is_now, now.path, path, head)),
        _renamed(document, taken.units, now, ids[2]),
    )


def _whole(
    before: Document, taken: TakenBack, now: Document, path: str, ids: tuple[dict[int, Id], ...]
) -> UndoneText:
    """The document of before, byte for byte, since nobody has changed it since."""
    document = Document.parse(before.data, path)
    known = {id: before.sections[position] for position, id in ids[1].items()}
    renamed = _headings(now, ids[2], path, known)
    has_metadata = now.data[: now.front_matter_end] != before.data[: before.front_matter_end]
    return UndoneText(document, taken, True, has_metadata, (), frozenset(), (), renamed)


def _clashing(taken: TakenBack, versions: Iterable[tuple[Document, Mapping[int, Id]]]) -> frozenset[bytes]:
    ids = {unit.id for unit in taken.clashes}
    return frozenset(
        own_text(document, document.sections[position])
        for document, known in versions
        for position, id in known.items()
        if id in ids
    )


class _Gaps:
    """The blank lines behind units: those of now, where the commit did not change them."""

    def __init__(self, base: Row, before: Row, now: Row, ending: bytes) -> None:
        self._rows = base, before, now
        self._base, self._before, self._now = (
            {unit.id: unit.gap for unit in row.units} for row in self._rows
        )
        self._usual = ending * 2

    def behind(self, id: Id) -> bytes:
        """Behind a unit that is followed by another."""
        base, before, now = self._base.get(id), self._before.get(id), self._now.get(id)
        if now is None or (now == base and before is not None) or (base is None and before is not None):
            now = before if before is not None else now if now is not None else base
        return self._usual if now is None else now

    def end(self) -> bytes:
        """At the end of the document."""
        base, before, now = self._rows
        return before.end if now.end == base.end else now.end


def _head(base: bytes, before: bytes, now: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The front matter: as it was before where it stands as the commit left it, else key by key."""
    if base == before or now == before:
        return now, ()
    if now == base:
        return before, ()
    rows = [_blocks(head) for head in (base, before, now)]
    if None in rows:
        return now, ("front matter",)
    left, was, is_now = (row or () for row in rows)
    taken = taken_back(left, was, is_now)
    clashes = tuple(unit.key for unit in taken.clashes)
    return b"".join(unit.text for unit in taken.units), clashes


def _blocks(head: bytes) -> tuple[Unit, ...] | None:
    """The lines of front matter, a unit for each key with what belongs to it; None where there are none."""
    lines = Lines(head)
    blocks: list[tuple[bytes, list[bytes]]] = [(b"", [])]
    is_open = True
    for number in range(len(lines)):
        line = head[lines.offset(number) : lines.offset(number + 1)]
        found = _KEY.match(line) if is_open else None
        if found:
            blocks.append((found.group()[:-1], []))
        elif is_open and number and line.rstrip() in (b"---", b"..."):
            blocks.append((b"---", []))
            is_open = False
        blocks[-1][1].append(line)
    names = Counter(name for name, _ in blocks)
    if is_open or max(names.values()) > 1:
        return None
    return tuple(
        Unit(("key", name), b"".join(parts), key=name.decode("utf-8", "replace")) for name, parts in blocks
    )


def _is_sound(document: Document, units: tuple[Unit, ...], rows: list[Row]) -> bool:
    """Whether the text is read as these units, each below the one that it belongs to."""
    if len(document.sections) != len(units):
        return False
    left, was, is_now = ({unit.id: unit for unit in row.units} for row in rows)
    ids = {item.position: unit.id for item, unit in zip(document.sections, units, strict=True)}
    for item, unit in zip(document.sections, units, strict=True):
        old, base, now = was.get(unit.id), left.get(unit.id), is_now.get(unit.id)
        wanted = unit.parent if now is None else now.parent
        if old is not None and (base is None or old.parent != base.parent):
            wanted = old.parent
        parent = None if item.parent is None else ids[item.parent]
        if parent != wanted or document.source(item).rstrip(BLANK) != unit.text:
            return False
    return True


def _pieces(
    units: tuple[Unit, ...], starts: list[int], now: Row, old_path: str, path: str, head: bytes
) -> list[Piece]:
    """What was kept of the document that there is now."""
    standing = {unit.id: unit for unit in now.units}
    pieces = [Piece(old_path, 0, len(head), path, 0)] if head and head == now.head else []
    for unit, start in zip(units, starts, strict=True):
        if unit.text and standing.get(unit.id) is unit:
            pieces.append(Piece(old_path, unit.start, unit.start + len(unit.text), path, start))
    return pieces


def _renamed(
    document: Document, units: tuple[Unit, ...], now: Document, ids: dict[int, Id]
) -> dict[Offset, Offset]:
    """The headings of sections whose text came back, before and after."""
    if len(document.sections) != len(units):
        return {}
    known = {unit.id: item for item, unit in zip(document.sections, units, strict=True)}
    return _headings(now, ids, document.path, known)


def _headings(
    now: Document, ids: Mapping[int, Id], path: str, known: Mapping[Id, Section]
) -> dict[Offset, Offset]:
    """Where the headings of now are afterwards; `known` are the sections that there are by then."""
    return {
        (now.path, old.heading_start): (path, item.heading_start)
        for position, id in ids.items()
        if (item := known.get(id)) and (old := now.sections[position]).has_heading and item.has_heading
    }
