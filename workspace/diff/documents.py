"""Two versions of a document, their sections paired: what stayed, what came, what went, and what moved.

What happened between two versions of one document.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from workspace.diff import tasks
from workspace.diff.changes import ChangeKind, PartVersion, SectionChange, compare_metadata
from workspace.diff.sections import Evidence, SectionMatch
from workspace.diff.sequences import find_displaced
from workspace.diff.text import collapse_blanks, decode_trimmed, read_raw_heading, read_raw_text, read_source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from workspace.diff.changes import SectionChange
    from workspace.document.document import Document
    from workspace.document.sections import Section


class DocumentVersion:
    """A version of a document, of which places are told."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._before: dict[int, Section] | None = None

    def place(self, section: Section, text: str | None = None) -> PartVersion:
        """Return where a section stands; it says its own text with its heading, unless a text is given."""
        before = self._older_siblings().get(section.position)
        return PartVersion(
            self.document.path,
            section.key,
            section.title,
            section.line,
            read_source(self.document, section) if text is None else text,
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
    """The changes between two versions of a document, of which one may be missing.

    `gone` and `come` are the sections that only one of them has.
    """

    def __init__(self, old: Document | None, new: Document | None) -> None:
        self.old, self.new = (None if item is None else DocumentVersion(item) for item in (old, new))
        self._pairs = SectionMatch(old, new, Evidence.SIMILARITY).pairs if old and new else {}
        self._back = {one: two for two, one in self._pairs.items()}
        self.gone = [item for item in old.sections if item.position not in self._back] if old else []
        self.come = [item for item in new.sections if item.position not in self._pairs] if new else []

    def changes(
        self, elsewhere: Mapping[int, list[SectionChange]], left: Mapping[int, list[SectionChange]]
    ) -> Iterator[SectionChange]:
        """Return the changes in the order of the new version; removed parts follow their old predecessors.

        Of sections that came from elsewhere or left, by their positions, what is given is told instead.
        """
        kept: dict[int, list[SectionChange]] = {}
        if self.old and self.new:
            yield from compare_metadata(self.old.document, self.new.document)
            moved = _find_moved(self.old.document, self.new.document, self._pairs)
            kept = compare_matched_sections(self.old, self.new, self._pairs, moved, self.gone, self.come)
        lost: dict[int | None, list[SectionChange]] = {}
        last: int | None = None
        gone = {item.position for item in self.gone}
        for item in self.old.document.sections if self.old else ():
            if item.position not in gone:
                last = self._back[item.position]
            elif item.position in left:
                lost.setdefault(last, []).extend(left[item.position])
            elif self.old:
                lost.setdefault(last, []).append(
                    SectionChange(ChangeKind.REMOVED, self.old.place(item), None)
                )
        yield from lost.get(None, ())
        for item in self.new.document.sections if self.new else ():
            if item.position in kept:
                yield from kept[item.position]
            elif item.position in elsewhere:
                yield from elsewhere[item.position]
            elif item.position not in self._pairs and self.new:
                yield SectionChange(ChangeKind.ADDED, None, self.new.place(item))
            yield from lost.get(item.position, ())


def _find_moved(old: Document, new: Document, pairs: Mapping[int, int]) -> set[int]:
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
        moved |= {back[one] for one in find_displaced(sorted(back), list(back))}
    return moved


def compare_matched_sections(
    old: DocumentVersion,
    new: DocumentVersion,
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
    rewritten = {two for two, (a, b) in both.items() if read_raw_text(was, a) != read_raw_text(is_now, b)}
    groups = [(two, *both[two]) for two in both if two in rewritten]
    before = {two: tasks.list_tasks(was, item, two) for two, item, _ in groups}
    after = {two: tasks.list_tasks(is_now, item, two) for two, _, item in groups}
    told = tasks.compare_tasks(
        [item for row in before.values() for item in row]
        + [item for section in gone for item in tasks.list_tasks(was, section, None)],
        [item for row in after.values() for item in row]
        + [item for section in come for item in tasks.list_tasks(is_now, section, None)],
    )
    found: dict[int, list[SectionChange]] = {}
    carried: set[int | None] = set()
    for two, (one, other) in both.items():
        if two in moved or other.parent in carried:
            carried.add(two)
        changes: list[SectionChange] = []
        if two in moved:
            changes.append(SectionChange(ChangeKind.MOVED, old.place(one), new.place(other)))
        changes += _heading_change(old, one, new, other, two in carried)
        if two in rewritten:
            texts = _text(was, one, before[two]), _text(is_now, other, after[two])
            if two in told:
                # Blank lines come and go with tasks.
                differ = collapse_blanks(texts[0]) != collapse_blanks(texts[1])
            else:
                texts = texts if texts[0] != texts[1] else (_text(was, one), _text(is_now, other))
                differ = texts[0] != texts[1]
            if differ:
                places = old.place(one, texts[0]), new.place(other, texts[1])
                changes.append(SectionChange(ChangeKind.CHANGED, *places))
            changes += told.get(two, ())
        if changes:
            found[two] = changes
    return found


def _heading_change(
    old: DocumentVersion, was: Section, new: DocumentVersion, section: Section, is_moved: bool
) -> Iterator[SectionChange]:
    """Yield another title, or another way to write it.

    The level follows a move, of what stands above it too.
    """
    heads = read_raw_heading(old.document, was), read_raw_heading(new.document, section)
    if heads[0] == heads[1] and was.title == section.title:
        return
    before, after = map(decode_trimmed, heads)
    places = old.place(was, before), new.place(section, after)
    if was.title != section.title and (before or after):
        yield SectionChange(ChangeKind.RENAMED, *places)
    elif before != after and not is_moved:
        yield SectionChange(ChangeKind.CHANGED, *places, "heading")


def _text(document: Document, section: Section, listed: Iterable[tasks.ListedTask] = ()) -> str:
    """Return what a section says, without some tasks."""
    return decode_trimmed(read_raw_text(document, section, tasks.find_task_spans(listed)))


def compare_documents(old: Document | None, new: Document | None) -> tuple[SectionChange, ...]:
    """Return the changes between two versions of a document, by section; None is a missing version.

    In the order of the new version, what is gone behind what stood before it. Of a document that came or
    went, each section is told, and no task or key. Blank lines around a section, line ends, and bytes that
    are no text are no change. Linear in the texts: words are compared by who shows them.
    """
    if old is not None and new is not None and old.data == new.data:
        return ()
    return tuple(Comparison(old, new).changes({}, {}))
