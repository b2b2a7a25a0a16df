"""The changes to the tasks of a section: completed, reopened, added, removed, moved or edited.

A task is known again by its title below those of the tasks above it; of several by their order; a task with
another title by its words, or by being the only one left.
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
_LEAST = 0.4  # of the words of the longer of two titles, to be titles of one task

Titles = tuple[str, ...]


class ListedTask(NamedTuple):
    """A task where it stands, with its title behind those of the tasks above it, and its sub-tasks' spans.

    `group` is the same for the tasks of a section in both versions; None where the section came or went.
    """

    document: Document
    section: Section
    task: Task
    titles: Titles
    below: tuple[Span, ...]
    group: int | None

    def place(self, text: str | None = None) -> PartVersion:
        """Return where it stands; it says its own lines, unless a text is given."""
        section, task = self.section, self.task
        return PartVersion(
            self.document.path,
            format_task_address(section, task),
            task.title,
            task.line,
            self.source if text is None else text,
            self.document.breadcrumb(section),
        )

    @property
    def bytes(self) -> bytes:
        """All its lines, those of its sub-tasks too."""
        return self.document.data[self.task.start : self.task.end]

    @property
    def source(self) -> str:
        """Its own lines, without its sub-tasks."""
        task = self.task
        return decode_trimmed(remove_spans(self.document.data, task.start, task.end, self.below))

    @property
    def title(self) -> str:
        """Its title as it is written."""
        return decode_trimmed(self.document.data[self.task.title_start : self.task.title_end])

    @property
    def rest(self) -> str:
        """The other text of its own lines, without its box, title and fields."""
        task = self.task
        holes = sorted([(field.start, field.end) for field in task.fields] + [*self.below])
        return decode_trimmed(remove_spans(self.document.data, task.title_end, task.end, holes))


def list_tasks(document: Document, section: Section, group: int | None) -> list[ListedTask]:
    """Return the tasks of a section, in order; quick where there can be none."""
    if not _BOX.search(document.data, section.start, section.end):
        return []
    tasks = document.tasks(section)
    below: dict[str, list[Span]] = {}
    titles: dict[str, Titles] = {}
    for task in tasks:
        above = task.index.rpartition(".")[0]
        below.setdefault(above, []).append((task.start, task.end))
        # Titles of tasks deep in lists within lists would add up to the square of the text.
        titles[task.index] = (*titles.get(above, ())[-3:], task.title)
    return [
        ListedTask(document, section, task, titles[task.index], tuple(below.get(task.index, ())), group)
        for task in tasks
    ]


def pair_tasks(olds: Sequence[ListedTask], news: Sequence[ListedTask]) -> dict[int, int]:
    """Return the place in `olds` of each task of `news` that stood there, by its place in `news`.

    Tasks of one section are looked at first, then those that left it for another one under their old title.
    """
    pairs = _of_the_same_name(olds, news)
    _pair_across(olds, news, pairs)
    taken = set(pairs.values())
    gone: dict[int, list[int]] = {}
    for one, item in enumerate(olds):
        if one not in taken and item.group is not None:
            gone.setdefault(item.group, []).append(one)
    come: dict[int, list[int]] = {}
    for two, item in enumerate(news):
        if two not in pairs and item.group is not None:
            come.setdefault(item.group, []).append(two)
    for group, places in come.items():
        if group in gone:
            pairs.update(_pair_retitled(olds, news, gone[group], places, pairs))
    return pairs


def _of_the_same_name(olds: Sequence[ListedTask], news: Sequence[ListedTask]) -> dict[int, int]:
    """Tasks of one section and of the same titles, one after the other."""
    waiting: dict[tuple[int, Titles], list[int]] = {}
    for one, item in enumerate(olds):
        if item.group is not None:
            waiting.setdefault((item.group, item.titles), []).append(one)
    for stack in waiting.values():
        stack.reverse()
    pairs: dict[int, int] = {}
    for two, item in enumerate(news):
        stack = waiting.get((item.group, item.titles), []) if item.group is not None else []
        if stack:
            pairs[two] = stack.pop()
    return pairs


def _pair_across(olds: Sequence[ListedTask], news: Sequence[ListedTask], pairs: dict[int, int]) -> None:
    """Pair the only task of a title that went with the only one that came, wherever they stand."""
    taken = set(pairs.values())
    went = Counter(item.task.title for one, item in enumerate(olds) if one not in taken)
    came = Counter(item.task.title for two, item in enumerate(news) if two not in pairs)
    places = {
        item.task.title: one
        for one, item in enumerate(olds)
        if one not in taken and went[item.task.title] == 1
    }
    for two, item in enumerate(news):
        title = item.task.title
        if two not in pairs and title in places and came[title] == 1:
            pairs[two] = places[title]


def _pair_retitled(
    olds: Sequence[ListedTask],
    news: Sequence[ListedTask],
    gone: Sequence[int],
    come: Sequence[int],
    pairs: Mapping[int, int],
) -> dict[int, int]:
    if len(gone) == len(come) == 1 and _have_same_predecessor(olds, news, gone[0], come[0], pairs):
        return {come[0]: gone[0]}
    found = sequences.match_similar(
        [Counter(split_words(olds[one].task.title)) for one in gone],
        [Counter(split_words(news[two].task.title)) for two in come],
        _LEAST,
    )
    return {come[two]: gone[one] for one, two in found.items()}


def _have_same_predecessor(
    olds: Sequence[ListedTask], news: Sequence[ListedTask], one: int, two: int, pairs: Mapping[int, int]
) -> bool:
    """Return True if two tasks stand behind the same one, or both are the first of their section."""
    is_first = one == 0 or olds[one - 1].group != olds[one].group
    is_first_now = two == 0 or news[two - 1].group != news[two].group
    return is_first and is_first_now if is_first or is_first_now else pairs.get(two - 1) == one - 1


def compare_task(old: ListedTask, new: ListedTask) -> Iterator[SectionChange]:
    """Yield what happened to a task that stands in both versions."""
    if old.bytes == new.bytes:
        return
    if old.task.is_done != new.task.is_done:
        kind = ChangeKind.TASK_COMPLETED if new.task.is_done else ChangeKind.TASK_REOPENED
        yield SectionChange(kind, old.place(), new.place())
    told = [("title", old.title, new.title)]
    for name in TASK_FIELDS:
        # The day on which it was ticked is part of being ticked.
        if name != "completed" or old.task.is_done == new.task.is_done:
            told.append((name, _describe(old.task, name), _describe(new.task, name)))
    told.append(("text", old.rest, new.rest))
    for name, before, after in told:
        if before != after:
            yield SectionChange(ChangeKind.TASK_CHANGED, old.place(before), new.place(after), name)


def compare_tasks(olds: Sequence[ListedTask], news: Sequence[ListedTask]) -> dict[int, list[SectionChange]]:
    """Return the changes to tasks, by the group of the section that they are in now.

    Of sections that came or went, only the tasks are told that stand elsewhere in the other version. There is
    an entry, perhaps empty, for a section that a task left, too.
    """
    pairs = pair_tasks(olds, news)
    told: dict[int, list[SectionChange]] = {}
    moved = find_displaced_tasks(olds, news, pairs)
    for two, item in enumerate(news):
        was = olds[pairs[two]] if two in pairs else None
        group = item.group if item.group is not None else was.group if was else None
        if group is None:
            continue
        changes: list[SectionChange] = []
        if was is None:
            changes.append(SectionChange(ChangeKind.TASK_ADDED, None, item.place()))
        else:
            if two in moved:
                changes.append(SectionChange(ChangeKind.TASK_MOVED, was.place(), item.place()))
                if was.group is not None:
                    told.setdefault(was.group, [])
            changes += compare_task(was, item)
        if changes:
            told.setdefault(group, []).extend(changes)
    taken = set(pairs.values())
    for one, item in enumerate(olds):
        if one not in taken and item.group is not None:
            told.setdefault(item.group, []).append(SectionChange(ChangeKind.TASK_REMOVED, item.place(), None))
    return told


def find_displaced_tasks(
    olds: Sequence[ListedTask], news: Sequence[ListedTask], pairs: Mapping[int, int]
) -> set[int]:
    """Return the tasks, by their place in `news`, that moved to another section or changed their order.

    These are the fewest without which the others are in the order that they had; a sub-task follows its task.
    """
    moved: set[int] = set()
    homes: dict[tuple[int, Titles], list[int]] = {}
    for two, one in pairs.items():
        old, new = olds[one], news[two]
        if old.group is None or old.group != new.group:
            moved.add(two)
        else:
            homes.setdefault((new.group, new.titles[:-1]), []).append(two)
    for places in homes.values():
        back = {pairs[two]: two for two in sorted(places)}
        moved |= {back[one] for one in sequences.find_displaced(sorted(back), list(back))}
    return moved


def find_task_spans(tasks: Iterable[ListedTask]) -> tuple[Span, ...]:
    """Return the bytes of a section that its tasks take, in order."""
    joined: list[Span] = []
    for item in tasks:
        if not joined or item.task.start >= joined[-1][1]:
            joined.append((item.task.start, item.task.end))
    return tuple(joined)


def _describe(task: Task, name: str) -> str:
    value = task.field(name)
    return value + "\n" if value else ""
