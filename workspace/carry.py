"""Carrying an address from one version of a document to another: the same section, the same task.

A section is found by its anchor, else by its slug below the same parent; where several have that, their
titles and then their texts tell them apart. A task is found by its title within its section. What cannot be
told is a conflict, never a guess.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workspace.addresses import (
    PREAMBLE,
    AmbiguousAddress,
    Fragment,
    SectionNotFound,
    TaskNotFound,
    nearest,
    read_fragment,
    resolve_section,
    resolve_task,
    task_address,
)
from workspace.errors import WorkspaceError
from workspace.section_text import own_text, whole_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workspace.document import Document, Section, Task

_SHOWN = 200


class Conflict(WorkspaceError):
    """Another writer changed what this call is about.

    `theirs` is the text as it is now, `base` as the call knew it, `ours` as the call would have left it.
    Where an address cannot be carried, `candidates` are those that it may mean now.
    """

    code = "CONFLICT"


def carry(old: Document, new: Document, address: str) -> str | None:
    """The address in `new` of the section or task that an address means in `old`.

    None where it means nothing in `old`. Raises SectionNotFound or TaskNotFound for what is gone, Conflict
    for what cannot be told from its like, AmbiguousAddress for an address that was ambiguous already.
    """
    fragment = read_fragment(address)
    try:
        if fragment.task is None:
            section, task = resolve_section(old, address), None
        else:
            section, task = resolve_task(old, address)
    except (SectionNotFound, TaskNotFound):
        return None
    if old.data == new.data or (section.is_preamble and task is None):
        return address
    twin = Twins(old, new).of(section)
    return twin.key if task is None else task_address(twin, _same_task(old, section, task, new, twin))


def check_not_newer(tip: Document, address: str) -> None:
    """Refuses an address that means nothing in the commit that a caller names, and something in the tip.

    What is there was added since, so the caller cannot mean it. `_preamble` names a place, whether something
    stands there or not. Raises SectionNotFound, TaskNotFound.
    """
    fragment = read_fragment(address)
    if fragment == Fragment(PREAMBLE, None):
        return
    try:
        if fragment.task is None:
            resolve_section(tip, address)
        else:
            resolve_task(tip, address)
    except (SectionNotFound, TaskNotFound):
        return  # this batch made it, or there is no such thing at all
    except AmbiguousAddress:
        pass
    shown = address if len(address) <= _SHOWN else address[:_SHOWN] + "…"
    fix = "Leave base_commit out, or give the newer commit that you read it in."
    if fragment.task is None:
        message = f"the section '{shown}' of {tip.path} is not in base_commit: it was added or renamed later"
        raise SectionNotFound(message, fix=fix, wanted=shown)
    raise TaskNotFound(
        f"the task '{shown}' of {tip.path} is not in base_commit: it was added or moved later", fix=fix
    )


class Twins:
    """Which section of one version of a document is which of another."""

    def __init__(self, old: Document, new: Document) -> None:
        self.old, self.new = old, new
        self._twins: dict[int, Section] = {}
        self._unsure: dict[int, Sequence[Section]] = {}
        if old.data == new.data:
            self._twins = dict(enumerate(new.sections))
        else:
            self._match()
        self._origins = {twin.position: old.sections[place] for place, twin in self._twins.items()}

    def of(self, section: Section) -> Section:
        """The section of the new version that was this one. Raises SectionNotFound, Conflict."""
        if section.position in self._twins:
            return self._twins[section.position]
        candidates = self._unsure.get(section.position)
        if candidates is None:
            raise _gone(self.new, section)
        keys = [item.key for item in candidates]
        raise Conflict(
            f"another writer changed {self.new.path} meanwhile, and which section '{section.key}' is now "
            "cannot be told",
            fix="View the document again, and name the section by the address that it has there.",
            file=self.new.path,
            slugs=[section.key],
            candidates=keys[:20],
        )

    def origin(self, section: Section) -> Section | None:
        """The section of the old version that became this one; None where there is none, or none for sure."""
        return self._origins.get(section.position)

    def _match(self) -> None:
        self._match_anchors()
        taken = {twin.position for twin in self._twins.values()}
        free: dict[tuple[int | None, str], list[Section]] = {}
        for item in self.new.sections:
            if item.position not in taken and not item.is_preamble:
                free.setdefault((item.parent, item.slug), []).append(item)
        groups: dict[tuple[int | None, str], list[Section]] = {}
        for item in self.old.sections:
            if item.position not in self._twins and not item.is_preamble:
                groups.setdefault((item.parent, item.slug), []).append(item)
        # A parent stands before its children, so it has its twin when theirs are looked for.
        for (parent, slug), olds in groups.items():
            above = None if parent is None else self._twins.get(parent)
            known = parent is None or above is not None
            news = free.get((above.position if above else None, slug), []) if known else []
            self._match_group(olds, news)

    def _match_anchors(self) -> None:
        """Pairs what has the same name, where that is an anchor in the old version."""
        before, after = self.old.preamble, self.new.preamble
        if before and after:
            self._twins[before.position] = after
        for item in self.old.sections:
            if item.anchor and not item.is_preamble and len(self.old.sections_by_address(item.address)) == 1:
                same = self.new.sections_by_address(item.address)
                if len(same) == 1 and not same[0].is_preamble:
                    self._twins[item.position] = same[0]

    def _match_group(self, olds: Sequence[Section], news: Sequence[Section]) -> None:
        """Pairs sections of one slug below one parent."""
        pinned = {item.position: pin for item in olds if (pin := self._pinned(item))}
        rest = [item for item in olds if item.position not in pinned]
        pins = {pin.position for pin in pinned.values()}
        others = [item for item in news if item.position not in pins]
        if pinned and sum(item.anchor is None for item in others) > len(rest):
            # A heading that took over the anchor, or one of the same name beside it: its text must tell.
            rest, others = [*olds], [*others, *pinned.values()]
        else:
            self._twins.update(pinned)
        if len(rest) == len(others) == 1:
            self._twins[rest[0].position] = others[0]
            return
        for feature in (_title, own_text, whole_text):
            rest, others = self._pair_unique(rest, others, feature)
        if rest and [whole_text(self.old, item) for item in rest] == [
            whole_text(self.new, item) for item in others
        ]:
            # They are alike as they were: whichever is meant, the text is the same.
            self._twins.update((item.position, twin) for item, twin in zip(rest, others, strict=True))
        elif others:
            self._unsure.update((item.position, others) for item in rest)

    def _pinned(self, section: Section) -> Section | None:
        """The section that carries a derived address as its anchor now: a rename writes it there."""
        if section.anchor is not None:
            return None
        same = self.new.sections_by_address(section.address)
        return same[0] if len(same) == 1 and same[0].anchor == section.address else None

    def _pair_unique(
        self,
        olds: Sequence[Section],
        news: Sequence[Section],
        feature: Callable[[Document, Section], str | bytes],
    ) -> tuple[list[Section], list[Section]]:
        """Pairs those of which a feature is found once on each side; returns the others."""
        had = [feature(self.old, item) for item in olds]
        has = [feature(self.new, item) for item in news]
        times, times_now = Counter(had), Counter(has)
        by_feature = dict(zip(has, news, strict=True))
        rest: list[Section] = []
        paired: set[int] = set()
        for item, value in zip(olds, had, strict=True):
            if value and times[value] == times_now[value] == 1:
                self._twins[item.position] = by_feature[value]
                paired.add(by_feature[value].position)
            else:
                rest.append(item)
        return rest, [item for item in news if item.position not in paired]


def _title(document: Document, section: Section) -> str:
    return section.title


def _gone(document: Document, section: Section) -> SectionNotFound:
    known = [item.key for item in document.sections]
    return SectionNotFound(
        f"the section '{section.key}' of {document.path} is gone: another writer removed, moved or retitled "
        "it meanwhile",
        fix="View the document again to see what there is now.",
        candidates=nearest(section.key, known) or [name for name in known if name != PREAMBLE][:5] or known,
        wanted=section.key,
    )


def _same_task(old: Document, section: Section, task: Task, new: Document, twin: Section) -> Task:
    """The task of a section's new version: the same index where nothing changed, else the same title."""
    before, after = old.tasks(section), new.tasks(twin)
    if own_text(old, section) == own_text(new, twin):
        return next(item for item in after if item.index == task.index)
    name = _titles(before)[task.index]
    alike = sum(titles == name for titles in _titles(before).values())
    indexes = [index for index, titles in _titles(after).items() if titles == name]
    address = task_address(section, task)
    if not indexes:
        raise TaskNotFound(
            f"the task '{address}' of {new.path} is gone: another writer removed, moved or retitled it "
            "meanwhile",
            fix="View the section again to see its tasks.",
            tasks=_addresses(twin, after),
        )
    if alike > 1 or len(indexes) > 1:
        raise Conflict(
            f"another writer changed the tasks of '{twin.key}' in {new.path} meanwhile, and which of those "
            f"of the same title '{address}' is now cannot be told",
            fix="View the section again, and name the task by the index that it has there.",
            file=new.path,
            slugs=[address],
            candidates=[task_address(twin, item) for item in after if item.index in indexes][:20],
        )
    return next(item for item in after if item.index == indexes[0])


def _titles(tasks: Iterable[Task]) -> dict[str, tuple[str, ...]]:
    """What a task is called, by its index: its title after those of the tasks above it."""
    names: dict[str, tuple[str, ...]] = {}
    for task in tasks:
        above, _, _ = task.index.rpartition(".")
        names[task.index] = (*names.get(above, ()), task.title)
    return names


def _addresses(section: Section, tasks: Iterable[Task]) -> list[str]:
    return [task_address(section, task) for task in tasks][:50]
