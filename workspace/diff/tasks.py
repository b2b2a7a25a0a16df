"""Compare the tasks of two versions of a section: completed, reopened, added, removed, moved or edited tasks.

A task is matched by its title and the titles of its parent tasks. Tasks with equal titles are matched in
order. A task that moved to another section is matched by its own title, if the title is unique. A task with a
new title is matched by the words of its title, or as the only remaining task after the same task.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff import sequences
from workspace.diff.changes import ChangeKind, PartVersion, SectionChange
from workspace.diff.text import decode_trimmed, remove_spans, split_words
from workspace.document.addresses import format_task_address
from workspace.document.tasks import TASK_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workspace.diff.text import Span
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

_BOX = re.compile(rb"\[[ xX]\]")
_MIN_SIMILARITY = 0.4  # the common words of two titles, as a fraction of the longer title

Titles = tuple[str, ...]


class ListedTask(NamedTuple):
    """A task of a section. `titles` are the titles of its nearest parent tasks, and then its own title.

    `subtask_spans` are the bytes of its direct sub-tasks. `group` is equal for the tasks of a section in both
    versions; None if the section was added or removed.
    """

    document: Document
    section: Section
    task: Task
    titles: Titles
    subtask_spans: tuple[Span, ...]
    group: int | None

    def make_part(self, text: str | None = None) -> PartVersion:
        """Return the task as a part; by default its text is the task's own lines."""
        section, task = self.section, self.task
        return PartVersion(
            self.document.path,
            format_task_address(section.key, task),
            task.title,
            task.line,
            self.source if text is None else text,
            self.document.breadcrumb(section),
        )

    @property
    def full_source(self) -> bytes:
        """All lines of the task, including its sub-tasks."""
        return self.document.data[self.task.start : self.task.end]

    @property
    def source(self) -> str:
        """The own lines of the task, without its sub-tasks."""
        task = self.task
        return decode_trimmed(remove_spans(self.document.data, task.start, task.end, self.subtask_spans))

    @property
    def title(self) -> str:
        """The title of the task in its Markdown form."""
        return decode_trimmed(self.document.data[self.task.title_start : self.task.title_end])

    @property
    def other_text(self) -> str:
        """The own lines of the task without its checkbox, title and fields."""
        task = self.task
        removed_spans = sorted([(field.start, field.end) for field in task.fields] + [*self.subtask_spans])
        return decode_trimmed(remove_spans(self.document.data, task.title_end, task.end, removed_spans))


def list_tasks(document: Document, section: Section, group: int | None) -> list[ListedTask]:
    """Return the tasks of a section, in order. A section without a checkbox is not parsed."""
    if not _BOX.search(document.data, section.start, section.end):
        return []
    tasks = document.tasks(section)
    spans_by_parent: dict[str, list[Span]] = {}
    titles: dict[str, Titles] = {}
    for task in tasks:
        parent = task.index.rpartition(".")[0]
        spans_by_parent.setdefault(parent, []).append((task.start, task.end))
        # The full titles of deeply nested tasks would take space quadratic in the text.
        titles[task.index] = (*titles.get(parent, ())[-3:], task.title)
    return [
        ListedTask(
            document, section, task, titles[task.index], tuple(spans_by_parent.get(task.index, ())), group
        )
        for task in tasks
    ]


def pair_tasks(old_tasks: Sequence[ListedTask], new_tasks: Sequence[ListedTask]) -> dict[int, int]:
    """Return the index in `old_tasks` of each task of `new_tasks` that matches, by its index in `new_tasks`.

    Tasks of one section are matched first, then tasks that moved to another section under their old title.
    """
    pairs = _pair_same_titles(old_tasks, new_tasks)
    _pair_across_sections(old_tasks, new_tasks, pairs)
    matched_indexes = set(pairs.values())
    removed_by_group: dict[int, list[int]] = {}
    for old_index, listed_task in enumerate(old_tasks):
        if old_index not in matched_indexes and listed_task.group is not None:
            removed_by_group.setdefault(listed_task.group, []).append(old_index)
    added_by_group: dict[int, list[int]] = {}
    for new_index, listed_task in enumerate(new_tasks):
        if new_index not in pairs and listed_task.group is not None:
            added_by_group.setdefault(listed_task.group, []).append(new_index)
    for group, indexes in added_by_group.items():
        if group in removed_by_group:
            pairs.update(_pair_retitled_tasks(old_tasks, new_tasks, removed_by_group[group], indexes, pairs))
    return pairs


def _pair_same_titles(old_tasks: Sequence[ListedTask], new_tasks: Sequence[ListedTask]) -> dict[int, int]:
    """Return pairs of tasks of one section with the same titles, in order."""
    unmatched_indexes: dict[tuple[int, Titles], list[int]] = {}
    for old_index, listed_task in enumerate(old_tasks):
        if listed_task.group is not None:
            unmatched_indexes.setdefault((listed_task.group, listed_task.titles), []).append(old_index)
    for stack in unmatched_indexes.values():
        stack.reverse()
    pairs: dict[int, int] = {}
    for new_index, listed_task in enumerate(new_tasks):
        stack = (
            unmatched_indexes.get((listed_task.group, listed_task.titles), [])
            if listed_task.group is not None
            else []
        )
        if stack:
            pairs[new_index] = stack.pop()
    return pairs


def _pair_across_sections(
    old_tasks: Sequence[ListedTask], new_tasks: Sequence[ListedTask], pairs: dict[int, int]
) -> None:
    """Pair the only removed task of a title with the only added task of that title, in any sections."""
    matched_indexes = set(pairs.values())
    removed_counts = Counter(
        listed_task.task.title
        for old_index, listed_task in enumerate(old_tasks)
        if old_index not in matched_indexes
    )
    added_counts = Counter(
        listed_task.task.title for new_index, listed_task in enumerate(new_tasks) if new_index not in pairs
    )
    old_by_title = {
        listed_task.task.title: old_index
        for old_index, listed_task in enumerate(old_tasks)
        if old_index not in matched_indexes and removed_counts[listed_task.task.title] == 1
    }
    for new_index, listed_task in enumerate(new_tasks):
        title = listed_task.task.title
        if new_index not in pairs and title in old_by_title and added_counts[title] == 1:
            pairs[new_index] = old_by_title[title]


def _pair_retitled_tasks(
    old_tasks: Sequence[ListedTask],
    new_tasks: Sequence[ListedTask],
    removed_indexes: Sequence[int],
    added_indexes: Sequence[int],
    pairs: Mapping[int, int],
) -> dict[int, int]:
    if len(removed_indexes) == len(added_indexes) == 1 and _have_same_predecessor(
        old_tasks, new_tasks, removed_indexes[0], added_indexes[0], pairs
    ):
        return {added_indexes[0]: removed_indexes[0]}
    matches = sequences.match_similar(
        [Counter(split_words(old_tasks[old_index].task.title)) for old_index in removed_indexes],
        [Counter(split_words(new_tasks[new_index].task.title)) for new_index in added_indexes],
        _MIN_SIMILARITY,
    )
    return {added_indexes[new_index]: removed_indexes[old_index] for old_index, new_index in matches.items()}


def _have_same_predecessor(
    old_tasks: Sequence[ListedTask],
    new_tasks: Sequence[ListedTask],
    old_index: int,
    new_index: int,
    pairs: Mapping[int, int],
) -> bool:
    """Return True if two tasks follow the same task, or both are the first of their section."""
    is_first_before = old_index == 0 or old_tasks[old_index - 1].group != old_tasks[old_index].group
    is_first_after = new_index == 0 or new_tasks[new_index - 1].group != new_tasks[new_index].group
    return (
        is_first_before and is_first_after
        if is_first_before or is_first_after
        else pairs.get(new_index - 1) == old_index - 1
    )


def compare_task(old: ListedTask, new: ListedTask) -> Iterator[SectionChange]:
    """Yield the changes of a task that exists in both versions."""
    if old.full_source == new.full_source:
        return
    if old.task.is_done != new.task.is_done:
        kind = ChangeKind.TASK_COMPLETED if new.task.is_done else ChangeKind.TASK_REOPENED
        yield SectionChange(kind, old.make_part(), new.make_part())
    field_texts = [("title", old.title, new.title)]
    for name in TASK_FIELDS:
        # The completion date changes with the completion, which is a separate change.
        if name != "completed" or old.task.is_done == new.task.is_done:
            field_texts.append((name, _format_field(old.task, name), _format_field(new.task, name)))
    field_texts.append(("text", old.other_text, new.other_text))
    for name, before, after in field_texts:
        if before != after:
            yield SectionChange(ChangeKind.TASK_CHANGED, old.make_part(before), new.make_part(after), name)


def compare_tasks(
    old_tasks: Sequence[ListedTask], new_tasks: Sequence[ListedTask]
) -> dict[int, list[SectionChange]]:
    """Return the changes to tasks, by the group of their new section.

    For added and removed sections, only tasks that moved from or to another section are included. The former
    section of a moved task has an entry, which may be empty.
    """
    pairs = pair_tasks(old_tasks, new_tasks)
    changes_by_group: dict[int, list[SectionChange]] = {}
    moved_indexes = find_displaced_tasks(old_tasks, new_tasks, pairs)
    for new_index, listed_task in enumerate(new_tasks):
        old_task = old_tasks[pairs[new_index]] if new_index in pairs else None
        group = listed_task.group if listed_task.group is not None else old_task.group if old_task else None
        if group is None:
            continue
        changes: list[SectionChange] = []
        if old_task is None:
            changes.append(SectionChange(ChangeKind.TASK_ADDED, None, listed_task.make_part()))
        else:
            if new_index in moved_indexes:
                changes.append(
                    SectionChange(ChangeKind.TASK_MOVED, old_task.make_part(), listed_task.make_part())
                )
                if old_task.group is not None:
                    changes_by_group.setdefault(old_task.group, [])
            changes += compare_task(old_task, listed_task)
        if changes:
            changes_by_group.setdefault(group, []).extend(changes)
    matched_indexes = set(pairs.values())
    for old_index, listed_task in enumerate(old_tasks):
        if old_index not in matched_indexes and listed_task.group is not None:
            changes_by_group.setdefault(listed_task.group, []).append(
                SectionChange(ChangeKind.TASK_REMOVED, listed_task.make_part(), None)
            )
    return changes_by_group


def find_displaced_tasks(
    old_tasks: Sequence[ListedTask], new_tasks: Sequence[ListedTask], pairs: Mapping[int, int]
) -> set[int]:
    """Return the indexes in `new_tasks` of tasks that moved to another section or changed their order.

    The result is the smallest set of tasks without which the other tasks are in the same order as before. A
    sub-task moves with its parent task.
    """
    moved_indexes: set[int] = set()
    siblings: dict[tuple[int, Titles], list[int]] = {}
    for new_index, old_index in pairs.items():
        old_task, new_task = old_tasks[old_index], new_tasks[new_index]
        if old_task.group is None or old_task.group != new_task.group:
            moved_indexes.add(new_index)
        else:
            siblings.setdefault((new_task.group, new_task.titles[:-1]), []).append(new_index)
    for indexes in siblings.values():
        new_by_old = {pairs[new_index]: new_index for new_index in sorted(indexes)}
        moved_indexes |= {
            new_by_old[old_index]
            for old_index in sequences.find_displaced(sorted(new_by_old), list(new_by_old))
        }
    return moved_indexes


def find_task_spans(tasks: Iterable[ListedTask]) -> tuple[Span, ...]:
    """Return the spans of bytes that tasks of a section occupy, in order and without overlap."""
    spans: list[Span] = []
    for listed_task in tasks:
        if not spans or listed_task.task.start >= spans[-1][1]:
            spans.append((listed_task.task.start, listed_task.task.end))
    return tuple(spans)


def _format_field(task: Task, name: str) -> str:
    value = task.field(name)
    return value + "\n" if value else ""
