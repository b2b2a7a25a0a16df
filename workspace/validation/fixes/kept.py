"""What fixes keep of documents, for the links that lead there: lines stay lines, sections sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace import markdown
from workspace.config.tables import Dialect
from workspace.document.slugs import Names
from workspace.links.survival import Piece, Survival
from workspace.markdown.anchors import AnchorForm
from workspace.validation.fixes.missing_anchor import may_be_named_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.document.document import Document
    from workspace.validation.fixes.change import Fixed


def kept(one: Fixed, dialect: Dialect) -> Survival | None:
    """Where the places of a document are now; None where every name leads where it led."""
    before, after = one.before, one.document
    if not _may_rename(before, after, dialect):
        return None
    renamed = {
        (before.path, was.heading_start): (after.path, now.heading_start)
        for was, now in zip(before.sections, after.sections, strict=True)
        if was.has_heading
    }
    return Survival(tuple(_pieces(before, after)), renamed, {before.path: after.path})


def together(several: Iterable[Survival | None]) -> Survival | None:
    """What was kept of several documents; None where all stayed as they were."""
    found = [one for one in several if one is not None]
    if not found:
        return None
    pieces = tuple(piece for one in found for piece in one.pieces)
    renamed = {place: now for one in found for place, now in one.renamed.items()}
    return Survival(pieces, renamed, {path: now for one in found for path, now in one.documents.items()})


def _may_rename(before: Document, after: Document, dialect: Dialect) -> bool:
    """Whether a name of a place may lead to another one now; yes where only a closer look could tell."""
    if any(was.aliases != now.aliases for was, now in zip(before.sections, after.sections, strict=True)):
        return True
    given = {
        now.anchor: now.position
        for was, now in zip(before.sections, after.sections, strict=True)
        if was.anchor is None and now.anchor is not None
    }
    if not given:
        return False
    if (
        dialect is not Dialect.GITHUB
        or before.form not in (None, AnchorForm.HTML)
        or markdown.may_have_nested_headings(before.data)
        or may_be_named_elsewhere(before.data, set(given))
    ):
        return True
    numbered = Names("-", 1)
    slugs = {numbered.give(item.slug): item.position for item in before.sections if item.has_heading}
    return any(slugs.get(name, position) != position for name, position in given.items())


def _pieces(before: Document, after: Document) -> Iterator[Piece]:
    """The bytes that two versions of the same lines have in common, at the ends of each line."""
    old, new = before.lines, after.lines
    start = (old.offset(0), new.offset(0))
    for line in range(len(old)):
        first, second = old.offset(line), new.offset(line)
        one, other = before.data[first : old.offset(line + 1)], after.data[second : new.offset(line + 1)]
        if one == other:
            continue
        head = _common(one, other)
        tail = _common(one[head:][::-1], other[head:][::-1])
        if start[0] < first + head:
            yield Piece(before.path, start[0], first + head, after.path, start[1])
        start = first + len(one) - tail, second + len(other) - tail
    if start[0] < len(before.data):
        yield Piece(before.path, start[0], len(before.data), after.path, start[1])


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    size = min(len(one), len(other))
    return next((place for place in range(size) if one[place] != other[place]), size)
