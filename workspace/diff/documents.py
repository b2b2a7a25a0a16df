"""Compare two versions of a document: find sections that were added, removed, moved or changed."""

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
    """A version of a document, which makes the parts of its changes."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._previous_siblings: dict[int, Section] | None = None

    def make_part(self, section: Section, text: str | None = None) -> PartVersion:
        """Return a section as a part; by default its text is its own text with its heading."""
        previous_sibling = self._map_previous_siblings().get(section.position)
        return PartVersion(
            self.document.path,
            section.key,
            section.title,
            section.line,
            read_source(self.document, section) if text is None else text,
            self.document.breadcrumb(section)[:-1],
            previous_sibling.title if previous_sibling else None,
        )

    def _map_previous_siblings(self) -> Mapping[int, Section]:
        if self._previous_siblings is None:
            document = self.document
            sibling_lists = (document.children(parent) for parent in (None, *document.sections))
            self._previous_siblings = {
                section.position: previous_sibling
                for siblings in sibling_lists
                for previous_sibling, section in pairwise(siblings)
            }
        return self._previous_siblings


class DocumentComparison:
    """The comparison of two versions of a document; one of them may be missing.

    `removed_sections` and `added_sections` are the sections that only one version has.
    """

    def __init__(self, old: Document | None, new: Document | None) -> None:
        self.old, self.new = (None if item is None else DocumentVersion(item) for item in (old, new))
        self._pairs = SectionMatch(old, new, Evidence.SIMILARITY).pairs if old and new else {}
        self._new_positions = {
            old_position: new_position for new_position, old_position in self._pairs.items()
        }
        self.removed_sections = (
            [item for item in old.sections if item.position not in self._new_positions] if old else []
        )
        self.added_sections = (
            [item for item in new.sections if item.position not in self._pairs] if new else []
        )

    def list_changes(
        self,
        arrived_changes: Mapping[int, list[SectionChange]],
        departed_changes: Mapping[int, list[SectionChange]],
    ) -> Iterator[SectionChange]:
        """Yield the changes in the order of the new version; removed parts follow their old predecessors.

        `arrived_changes` maps the new position of each section that arrived from another document to its
        changes. `departed_changes` maps the old position of each section that departed to another document to
        its changes. These changes replace additions and removals.
        """
        matched_changes: dict[int, list[SectionChange]] = {}
        yield from compare_metadata(
            self.old.document if self.old else None, self.new.document if self.new else None
        )
        if self.old and self.new:
            moved_positions = _find_moved_positions(self.old.document, self.new.document, self._pairs)
            matched_changes = compare_matched_sections(
                self.old, self.new, self._pairs, moved_positions, self.removed_sections, self.added_sections
            )
        removed_changes: dict[int | None, list[SectionChange]] = {}
        last_position: int | None = None
        removed_positions = {item.position for item in self.removed_sections}
        for item in self.old.document.sections if self.old else ():
            if item.position not in removed_positions:
                last_position = self._new_positions[item.position]
            elif item.position in departed_changes:
                removed_changes.setdefault(last_position, []).extend(departed_changes[item.position])
            elif self.old:
                removed_changes.setdefault(last_position, []).append(
                    SectionChange(ChangeKind.REMOVED, self.old.make_part(item), None)
                )
        yield from removed_changes.get(None, ())
        for item in self.new.document.sections if self.new else ():
            if item.position in matched_changes:
                yield from matched_changes[item.position]
            elif item.position in arrived_changes:
                yield from arrived_changes[item.position]
            elif item.position not in self._pairs and self.new:
                yield SectionChange(ChangeKind.ADDED, None, self.new.make_part(item))
            yield from removed_changes.get(item.position, ())


def _find_moved_positions(old: Document, new: Document, pairs: Mapping[int, int]) -> set[int]:
    """Return the new positions of the moved sections: the smallest set that explains all differences.

    All other sections have the same parents as before, and the same order among themselves.
    """
    old_sections, new_sections = old.sections, new.sections
    moved_positions: set[int] = set()
    siblings: dict[int | None, list[int]] = {}
    for new_position, old_position in pairs.items():
        parent = new_sections[new_position].parent
        if old_sections[old_position].is_preamble or new_sections[new_position].is_preamble:
            continue
        if old_sections[old_position].parent != (None if parent is None else pairs.get(parent, -1)):
            moved_positions.add(new_position)
        else:
            siblings.setdefault(parent, []).append(new_position)
    for positions in siblings.values():
        new_by_old = {pairs[new_position]: new_position for new_position in sorted(positions)}
        moved_positions |= {
            new_by_old[old_position] for old_position in find_displaced(sorted(new_by_old), list(new_by_old))
        }
    return moved_positions


def compare_matched_sections(
    old: DocumentVersion,
    new: DocumentVersion,
    pairs: Mapping[int, int],
    moved_positions: Collection[int],
    removed_sections: Collection[Section] = (),
    added_sections: Collection[Section] = (),
) -> dict[int, list[SectionChange]]:
    """Return the changes of sections that exist in both versions, by their position in the new version.

    `pairs` maps their new positions to their old positions. `moved_positions` are the new positions of moved
    sections. `removed_sections` and `added_sections` are sections of one version only, from or to which tasks
    may have moved.
    """
    old_document, new_document = old.document, new.document
    matched_sections = {
        position: (old_document.sections[old_position], new_document.sections[position])
        for position, old_position in sorted(pairs.items())
    }
    rewritten_positions = {
        position
        for position, (old_item, new_item) in matched_sections.items()
        if read_raw_text(old_document, old_item) != read_raw_text(new_document, new_item)
    }
    rewritten_sections = [
        (position, *matched_sections[position])
        for position in matched_sections
        if position in rewritten_positions
    ]
    old_tasks = {
        position: tasks.list_tasks(old_document, item, position) for position, item, _ in rewritten_sections
    }
    new_tasks = {
        position: tasks.list_tasks(new_document, item, position) for position, _, item in rewritten_sections
    }
    task_changes = tasks.compare_tasks(
        [item for tasks_of_section in old_tasks.values() for item in tasks_of_section]
        + [item for section in removed_sections for item in tasks.list_tasks(old_document, section, None)],
        [item for tasks_of_section in new_tasks.values() for item in tasks_of_section]
        + [item for section in added_sections for item in tasks.list_tasks(new_document, section, None)],
    )
    changes_by_position: dict[int, list[SectionChange]] = {}
    moved_tree_positions: set[int | None] = set()
    for position, (old_section, new_section) in matched_sections.items():
        if position in moved_positions or new_section.parent in moved_tree_positions:
            moved_tree_positions.add(position)
        changes: list[SectionChange] = []
        if position in moved_positions:
            changes.append(
                SectionChange(ChangeKind.MOVED, old.make_part(old_section), new.make_part(new_section))
            )
        changes += _compare_headings(old, old_section, new, new_section, position in moved_tree_positions)
        if position in rewritten_positions:
            texts = (
                _read_text_without_tasks(old_document, old_section, old_tasks[position]),
                _read_text_without_tasks(new_document, new_section, new_tasks[position]),
            )
            if position in task_changes:
                # Added and removed tasks also add and remove blank lines.
                are_different = collapse_blanks(texts[0]) != collapse_blanks(texts[1])
            else:
                texts = (
                    texts
                    if texts[0] != texts[1]
                    else (
                        _read_text_without_tasks(old_document, old_section),
                        _read_text_without_tasks(new_document, new_section),
                    )
                )
                are_different = texts[0] != texts[1]
            if are_different:
                parts = old.make_part(old_section, texts[0]), new.make_part(new_section, texts[1])
                changes.append(SectionChange(ChangeKind.CHANGED, *parts))
            changes += task_changes.get(position, ())
        if changes:
            changes_by_position[position] = changes
    return changes_by_position


def _compare_headings(
    old: DocumentVersion, old_section: Section, new: DocumentVersion, new_section: Section, is_moved: bool
) -> Iterator[SectionChange]:
    """Yield the change of a title, or of the Markdown of the heading.

    The level of a heading also changes when the section or one of its parents moves.
    """
    headings = read_raw_heading(old.document, old_section), read_raw_heading(new.document, new_section)
    if headings[0] == headings[1] and old_section.title == new_section.title:
        return
    old_text, new_text = map(decode_trimmed, headings)
    parts = old.make_part(old_section, old_text), new.make_part(new_section, new_text)
    if old_section.title != new_section.title and (old_text or new_text):
        yield SectionChange(ChangeKind.RENAMED, *parts)
    elif old_text != new_text and not is_moved:
        yield SectionChange(ChangeKind.CHANGED, *parts, "heading")


def _read_text_without_tasks(
    document: Document, section: Section, omitted_tasks: Iterable[tasks.ListedTask] = ()
) -> str:
    """Return the own text of a section, without the given tasks."""
    return decode_trimmed(read_raw_text(document, section, tasks.find_task_spans(omitted_tasks)))


def compare_documents(old: Document | None, new: Document | None) -> tuple[SectionChange, ...]:
    """Return the changes between two versions of a document, by section; None is a missing version.

    The changes are in the order of the new version; a removed part follows its old predecessor. An added or
    removed document has one change for each section, and no changes of tasks or keys. Blank lines around a
    section, line endings, and bytes that are not text are not changes. The time is linear in the texts.
    """
    if old is not None and new is not None and old.data == new.data:
        return ()
    return tuple(DocumentComparison(old, new).list_changes({}, {}))
