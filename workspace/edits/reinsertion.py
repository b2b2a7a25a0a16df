"""An old version of a section put into a document: over the section that it became, or where it stood.

Only its bytes go in. Headings get the levels of the place, lines end as those of the document do, and an
anchor is written only where the section would have another address than it has (or had) without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import Evidence, SectionMatch
from workspace.document.heading_text import heading_splices
from workspace.document.spacing import blank_line, end_of_text, insert_block
from workspace.document.splices import Edit, Splice, StructureChanged, apply_edit
from workspace.edits.content import MAX_LEVEL, LevelConflict, taken_names, with_newlines
from workspace.edits.landing import landing
from workspace.edits.moving_transplant import cut, ended, put_in, transplanted
from workspace.edits.section_place import find_place
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.document.document import Document, Section
    from workspace.edits.section_place import Place
    from workspace.markdown.anchors import AnchorForm

_ROUNDS = 3


class ParentGone(WorkspaceError):
    """What a removed section stood in is gone as well. `parent` is its address as it was."""

    code = "PARENT_GONE"


class Replanted(NamedTuple):
    """The document afterwards, the section in it, and the splices that made it."""

    document: Document
    section: Section
    splices: tuple[Splice, ...]


def replanted(
    document: Document, now: Section | None, old: Document, then: Section, form: AnchorForm
) -> Replanted:
    """Puts the section `then` of an old version, with all below it, into a document.

    It takes the place of `now`, else goes where it stood. Raises ParentGone, LevelConflict for what would be
    deeper than H6, InvalidAddress for an address that cannot be written as an anchor, StructureChanged.
    """
    if then.is_preamble or (now is not None and now.is_preamble):
        return _introduction(document, now, old, then)
    place = None if now else place_of(document, old, then)
    moved = (then, *old.descendants(then))
    level = now.level if now else place.level if place else then.level
    shift = level - then.level
    _check_depth(moved, shift)
    replaced = (now, *document.descendants(now)) if now else ()
    names = landing(old, moved, taken_names(document, replaced))
    wanted = now.address if now and then.anchor is None else names.addresses[then.position]
    anchor: str | None = None
    for _ in range(_ROUNDS):
        inner = [
            splice
            for item in moved
            for splice in heading_splices(
                old,
                item,
                level=item.level + shift,
                anchor=anchor if item is then else None,
                form=form,
                names=names.renamed,
            )
        ]
        splice, start, size = _splice(document, now, place, old, then, inner)
        changed = apply_edit(document, Edit((splice,), {}, ""))
        landed = [
            item
            for item in changed.sections
            if item.has_heading and start <= item.heading_start < start + size
        ]
        _check_landed(moved, landed, shift)
        if landed[0].address == wanted or anchor == wanted or then.anchor is not None:
            return Replanted(changed, landed[0], (splice,))
        anchor = wanted
    raise _misread(then)


def place_of(document: Document, old: Document, then: Section) -> Place:
    """Where a section goes that is gone: after the nearest sibling before it that is still there.

    Else before the nearest one after it, else at the end of its parent. Raises ParentGone.
    """
    match = SectionMatch(old, document, Evidence.TEXT)
    parent = None if then.parent is None else old.sections[then.parent]
    above = match.successor(parent) if parent else None
    if parent and above is None:
        raise ParentGone(
            f"'{then.key}' stood in '{parent.key}', which is gone from {document.path} as well",
            fix=f"Restore '{parent.key}', or the whole document.",
            parent=parent.key,
        )
    siblings = old.children(parent)
    index = next(place for place, item in enumerate(siblings) if item.position == then.position)
    key = above.key if above else None
    for field, others in (("after", reversed(siblings[:index])), ("before", iter(siblings[index + 1 :]))):
        for other in others:
            twin = match.successor(other)
            if twin and not twin.is_preamble and twin.parent == (above.position if above else None):
                before, after = (None, twin.key) if field == "after" else (twin.key, None)
                return find_place(document, key, before, after, None)
    return find_place(document, key, None, None, None)


def _splice(
    document: Document,
    now: Section | None,
    place: Place | None,
    old: Document,
    then: Section,
    inner: list[Splice],
) -> tuple[Splice, int, int]:
    """The splice, and where the section's own bytes stand afterwards: their start and their length."""
    ending = _ending(document, old)
    cutting = cut(old, then)
    block = transplanted(old.data, cutting.start, cutting.end, inner, ending).data
    if now is not None:
        stop = end_of_text(document.data, now.start, now.tree_end)
        text = with_newlines(block.decode("utf-8", "replace"))
        after = blank_line(document, text, stop, now.tree_end)
        return Splice(now.start, stop, block + after), now.start, len(block)
    assert place is not None
    above = [item for item in inner if item.end <= then.body]
    heading = transplanted(old.data, then.start, then.body, above, ending).data
    put, lead = put_in(document, place.offset, block, heading, cutting.gap, ending)
    return put, put.start + lead, len(block)


def _introduction(document: Document, now: Section | None, old: Document, then: Section) -> Replanted:
    """Puts an old title and introduction in place of those that are there."""
    if not then.is_preamble or (now is not None and not now.is_preamble):
        raise _misread(then)
    text = ended(old.data[then.start : end_of_text(old.data, then.start, then.end)], _ending(document, old))
    if now is not None:
        splice = Splice(now.start, end_of_text(document.data, now.start, now.end), text)
    else:
        offset = document.sections[0].start if document.sections else len(document.data)
        splice = insert_block(document, offset, with_newlines(text.decode("utf-8", "replace")))
    changed = apply_edit(document, Edit((splice,), {}, "", renamed=now.position if now else None))
    preamble = changed.preamble
    if preamble is None:
        raise _misread(then)
    return Replanted(changed, preamble, (splice,))


def _ending(document: Document, old: Document) -> bytes:
    return document.ending if b"\n" in document.data or b"\r" in document.data else old.ending


def _check_depth(moved: tuple[Section, ...], shift: int) -> None:
    deepest = max(moved, key=lambda item: item.level)
    if deepest.level + shift > MAX_LEVEL:
        raise LevelConflict(
            f"'{deepest.key}' would be deeper than H{MAX_LEVEL} where '{moved[0].key}' stands now",
            fix="Move the section higher up with move_section first.",
            slug=deepest.key,
        )


def _check_landed(moved: tuple[Section, ...], landed: list[Section], shift: int) -> None:
    """Raises StructureChanged if the sections are not read as what they were."""
    if len(moved) != len(landed):
        raise _misread(moved[0])
    for item, twin in zip(moved, landed, strict=True):
        if item.title != twin.title or item.level + shift != twin.level:
            raise _misread(item)


def _misread(section: Section) -> StructureChanged:
    return StructureChanged(
        f"'{section.key}' would not be read as the same section where it stands now",
        fix="Restore the whole document, or close every code fence (```) and comment (<!-- -->) before it.",
        section=section.key,
    )
