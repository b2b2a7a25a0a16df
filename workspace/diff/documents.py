"""Two versions of a document, their sections paired: what stayed, what came, what went, and what moved.

What happened between two versions of one document.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from workspace.diff import tasks
from workspace.diff.changes import Kind, Place, SectionChange, metadata_changes
from workspace.diff.sections import Evidence, SectionMatch
from workspace.diff.sequences import displaced
from workspace.diff.text import raw_heading, raw_text, readable, source, spaced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from workspace.diff.changes import SectionChange
    from workspace.document.document import Document
    from workspace.document.sections import Section


class Version:
    """A version of a document, of which places are told."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._before: dict[int, Section] | None = None

    def place(self, section: Section, text: str | None = None) -> Place:
        """Return where a section stands; it says its own text with its heading, unless a text is given."""
        before = self._older_siblings().get(section.position)
        return Place(
            self.document.path,
            section.key,
            section.title,
            section.line,
            source(self.document, section) if text is None else text,
            self.document.breadcrumb(section)[:-1],
            before.title if before else None,
        )

    def _older_siblings(self) -> Mapping[int, Section]:
        if self._before is None:
            document = self.document
            rows = (document.children(above) for above in (None, *document.sections))
            self._before = {item.position: before for row in rows for before, item in pairwise(row)}
        return self._before


class Comparison:
    """What happened between two versions of a document, of which one may be missing.

    `gone` and `come` are the sections that only one of them has.
    """

    def __init__(self, old: Document | None, new: Document | None) -> None:
        self.old, self.new = (None if item is None else Version(item) for item in (old, new))
        self._pairs = SectionMatch(old, new, Evidence.SIMILARITY).pairs if old and new else {}
        self._back = {one: two for two, one in self._pairs.items()}
        self.gone = [item for item in old.sections if item.position not in self._back] if old else []
        self.come = [item for item in new.sections if item.position not in self._pairs] if new else []

    def changes(
        self, elsewhere: Mapping[int, list[SectionChange]], left: Mapping[int, list[SectionChange]]
    ) -> Iterator[SectionChange]:
        """What happened, in the order of the new version; what is gone stands behind what stood before it.

        Of sections that came from elsewhere or left, by their positions, what is given is told instead.
        """
        kept: dict[int, list[SectionChange]] = {}
        if self.old and self.new:
            yield from metadata_changes(self.old.document, self.new.document)
            moved = _moved(self.old.document, self.new.document, self._pairs)
            kept = kept_changes(self.old, self.new, self._pairs, moved, self.gone, self.come)
        lost: dict[int | None, list[SectionChange]] = {}
        last: int | None = None
        gone = {item.position for item in self.gone}
        for item in self.old.document.sections if self.old else ():
            if item.position not in gone:
                last = self._back[item.position]
            elif item.position in left:
                lost.setdefault(last, []).extend(left[item.position])
            elif self.old:
                lost.setdefault(last, []).append(SectionChange(Kind.REMOVED, self.old.place(item), None))
        yield from lost.get(None, ())
        for item in self.new.document.sections if self.new else ():
            if item.position in kept:
                yield from kept[item.position]
            elif item.position in elsewhere:
                yield from elsewhere[item.position]
            elif item.position not in self._pairs and self.new:
                yield SectionChange(Kind.ADDED, None, self.new.place(item))
            yield from lost.get(item.position, ())


def _moved(old: Document, new: Document, pairs: Mapping[int, int]) -> set[int]:
    """Return the fewest sections without which all others stand below the same one in the same order."""
    was, is_now = old.sections, new.sections
    moved: set[int] = set()
    rows: dict[int | None, list[int]] = {}
    for two, one in pairs.items():
        above = is_now[two].parent
        if was[one].is_preamble or is_now[two].is_preamble:
            continue
        if was[one].parent != (None if above is None else pairs.get(above, -1)):
            moved.add(two)
        else:
            rows.setdefault(above, []).append(two)
    for row in rows.values():
        back = {pairs[two]: two for two in sorted(row)}
        moved |= {back[one] for one in displaced(sorted(back), list(back))}
    return moved


def kept_changes(
    old: Version,
    new: Version,
    pairs: Mapping[int, int],
    moved: Collection[int],
    gone: Collection[Section] = (),
    come: Collection[Section] = (),
) -> dict[int, list[SectionChange]]:
    """Return what happened to sections that stand in both versions, by their position in the new one.

    `pairs` are their positions in the old version, `moved` those that stand elsewhere now; `gone` and `come`
    are the other sections in which tasks of theirs may have stood, or stand.
    """
    was, is_now = old.document, new.document
    both = {two: (was.sections[one], is_now.sections[two]) for two, one in sorted(pairs.items())}
    rewritten = {two for two, (a, b) in both.items() if raw_text(was, a) != raw_text(is_now, b)}
    groups = [(two, *both[two]) for two in both if two in rewritten]
    before = {two: tasks.tasks_of(was, item, two) for two, item, _ in groups}
    after = {two: tasks.tasks_of(is_now, item, two) for two, _, item in groups}
    told = tasks.task_changes(
        [item for row in before.values() for item in row]
        + [item for section in gone for item in tasks.tasks_of(was, section, None)],
        [item for row in after.values() for item in row]
        + [item for section in come for item in tasks.tasks_of(is_now, section, None)],
    )
    found: dict[int, list[SectionChange]] = {}
    carried: set[int | None] = set()
    for two, (one, other) in both.items():
        if two in moved or other.parent in carried:
            carried.add(two)
        changes: list[SectionChange] = []
        if two in moved:
            changes.append(SectionChange(Kind.MOVED, old.place(one), new.place(other)))
        changes += _heading_change(old, one, new, other, two in carried)
        if two in rewritten:
            texts = _text(was, one, before[two]), _text(is_now, other, after[two])
            if two in told:
                # Blank lines come and go with tasks.
                differ = spaced(texts[0]) != spaced(texts[1])
            else:
                texts = texts if texts[0] != texts[1] else (_text(was, one), _text(is_now, other))
                differ = texts[0] != texts[1]
            if differ:
                places = old.place(one, texts[0]), new.place(other, texts[1])
                changes.append(SectionChange(Kind.CHANGED, *places))
            changes += told.get(two, ())
        if changes:
            found[two] = changes
    return found


def _heading_change(
    old: Version, was: Section, new: Version, section: Section, is_moved: bool
) -> Iterator[SectionChange]:
    """Yield another title, or another way to write it.

    The level follows a move, of what stands above it too.
    """
    heads = raw_heading(old.document, was), raw_heading(new.document, section)
    if heads[0] == heads[1] and was.title == section.title:
        return
    before, after = map(readable, heads)
    places = old.place(was, before), new.place(section, after)
    if was.title != section.title and (before or after):
        yield SectionChange(Kind.RENAMED, *places)
    elif before != after and not is_moved:
        yield SectionChange(Kind.CHANGED, *places, "heading")


def _text(document: Document, section: Section, listed: Iterable[tasks.Listed] = ()) -> str:
    """Return what a section says, without some tasks."""
    return readable(raw_text(document, section, tasks.spans(listed)))


def section_changes(old: Document | None, new: Document | None) -> tuple[SectionChange, ...]:
    """What happened between two versions of a document, section by section; None is one that is not there.

    In the order of the new version, what is gone behind what stood before it. Of a document that came or
    went, each section is told, and no task or key. Blank lines around a section, line ends, and bytes that
    are no text are no change. Linear in the texts: words are compared by who shows them.
    """
    if old is not None and new is not None and old.data == new.data:
        return ()
    return tuple(Comparison(old, new).changes({}, {}))
