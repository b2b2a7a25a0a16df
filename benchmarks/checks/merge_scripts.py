"""Random scripts of operations on one document, each with the units that it touches."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from workspace.config.tables import LinkRules
from workspace.diff.section_mapping import map_address
from workspace.document.addresses import format_task_address
from workspace.document.document import Document
from workspace.document.sections import Section
from workspace.document.splices import EditContext
from workspace.edits import (
    AddSection,
    AddTask,
    AppendContent,
    CompleteTask,
    DocumentOperation,
    MoveTask,
    RemoveSection,
    RemoveTask,
    RenameSection,
    ReopenTask,
    ReplaceText,
    SetMetadata,
    TagDocument,
    UpdateContent,
    UpdateTask,
)
from workspace.edits.section_place import find_target_position
from workspace.edits.transplant import is_in_place, move_section
from workspace.errors import WorkspaceError
from workspace.markdown.attribute_lists import AnchorForm
from workspace.merge.conflict import UnitId, UnitKind

EDIT_CONTEXT = EditContext(AnchorForm.BRACES, "2000-01-02")
_FEW = 4
_WORDS = re.compile(r"[A-Za-z]{5,}")


class Touch(NamedTuple):
    """A unit that a step touches; two steps may touch one if both only add to it, or change other parts."""

    unit: str
    is_shared: bool = False


class Step(NamedTuple):
    """A change of a document by addresses of the base, and what it touches."""

    touches: tuple[Touch, ...]
    make: Callable[[Document, Document], Document]


class Refused(Exception):
    """A step is not possible: its target is missing, or the operation is refused."""


def apply_steps(base: Document, steps: Sequence[Step], start: Document) -> Document:
    """Return the document after some steps. Raises Refused."""
    document = start
    for step in steps:
        try:
            document = step.make(base, document)
        except WorkspaceError as error:
            raise Refused(str(error)) from error
    return document


def are_apart(one: Sequence[Step], other: Sequence[Step]) -> bool:
    """Return True if two scripts touch different units."""
    mine = {touch for step in one for touch in step.touches}
    known: dict[str, bool] = {}
    for touch in mine:
        known[touch.unit] = known.get(touch.unit, True) and touch.is_shared
    return all(
        touch.is_shared and known[touch.unit]
        for step in other
        for touch in step.touches
        if touch.unit in known
    )


def edit(
    operation: Callable[..., DocumentOperation], *names: str, **fields: object
) -> Callable[[Document, Document], Document]:
    """Return a function that runs an operation; `names` are its fields with addresses of the base."""

    def make(base: Document, document: Document) -> Document:
        given = dict(fields)
        for name in names:
            if given.get(name) is not None:
                given[name] = map_address(base, document, str(given[name])) or given[name]
        return operation(file=document.path, **given).revise(document, EDIT_CONTEXT)[0]

    return make


def move(slug: str, parent: str | None, before: str | None) -> Callable[[Document, Document], Document]:
    """Return a function that moves a section within its document."""

    def make(base: Document, document: Document) -> Document:
        key, above, is_sibling = (
            None if name is None else map_address(base, document, name) for name in (slug, parent, before)
        )
        section = next(item for item in document.sections if item.key == key)
        place = find_target_position(document, above, is_sibling, None, section)
        if is_in_place(document, section, document, place) and place.level == section.level:
            return document
        form = document.form or EDIT_CONTEXT.form
        return move_section(document, section, document, place, (form, form), LinkRules()).target

    return make


class Drawing:
    """Draws steps for a document."""

    def __init__(self, document: Document, chance: random.Random, name: str) -> None:
        self._document, self._chance, self._name = document, chance, name
        self._number = 0
        # An address that becomes free without its number and is used again is a different unit.
        self.sections = [
            item
            for item in document.sections
            if not item.is_preamble and item.key == item.address and not re.search(r"-\d+(/|$)", item.address)
        ]
        self.tasks = [
            (section, format_task_address(section, task))
            for section in self.sections
            for task in document.tasks(section)
        ]

    def fresh(self) -> str:
        """Return words that do not occur elsewhere."""
        self._number += 1
        return f"{self._name} wrote {self._number}{self._chance.randrange(10**6)}"

    def steps(self) -> Iterator[Step]:
        """Yield steps endlessly."""
        kinds = [
            self._text,
            self._append,
            self._words,
            self._add,
            self._rename,
            self._move,
            self._remove,
            self._metadata,
        ]
        if self.tasks:
            kinds += [self._task] * 5
        while True:
            step = self._chance.choice(kinds)()
            if step is not None:
                yield step

    def _any(self) -> Section:
        return self._chance.choice(self.sections)

    def _text(self) -> Step:
        key = self._any().key
        content = "\n\n".join(self.fresh() for _ in range(self._chance.randint(1, 3)))
        return Step(
            (Touch(f"section {key}", True), Touch(f"text {key}")),
            edit(UpdateContent, "slug", slug=key, content=content),
        )

    def _append(self) -> Step:
        section = self._any()
        key = section.key
        content = self._chance.choice(["{}", "- {}", "```\n{}\n```"]).format(self.fresh())
        # Two steps that fill an empty section write the same text.
        has_text = bool(self._document.data[section.body : section.end].strip())
        return Step(
            (Touch(f"section {key}", True), Touch(f"text {key}", has_text)),
            edit(AppendContent, "slug", slug=key, content=content),
        )

    def _words(self) -> Step | None:
        section = self._any()
        found = [*_WORDS.finditer(self._document.text(section.body, section.end))]
        if not found:
            return None
        word = self._chance.choice(found)
        old = word.group()
        key = section.key
        # The position of a word is identified by the line breaks before it.
        block = self._document.text(section.body, section.end)[: word.start()].count("\n")
        return Step(
            (Touch(f"section {key}", True), Touch(f"text {key}", False), Touch(f"line {key} {block}")),
            edit(ReplaceText, "slug", slug=key, old=old, new=self.fresh(), count=1),
        )

    def _add(self) -> Step:
        section = self._any()
        is_sibling = self._chance.random() < 0.5
        fields = {"after": section.key} if is_sibling else {"parent_slug": section.key}
        return Step(
            (
                Touch(f"section {section.key}", True),
                Touch(f"place {section.key}", not is_sibling and self._has_one_level_below(section)),
            ),
            edit(AddSection, *fields, title=self.fresh(), content=self.fresh(), **fields),
        )

    def _rename(self) -> Step:
        key = self._any().key
        return Step(
            (Touch(f"section {key}", True), Touch(f"heading {key}")),
            edit(RenameSection, "slug", slug=key, new_title=self.fresh()),
        )

    def _move(self) -> Step:
        section, other = self._any(), self._any()
        is_sibling = self._chance.random() < 0.5
        parent = None if is_sibling or self._chance.random() < 0.2 else other.key
        before = other.key if is_sibling else None
        touches = [Touch(f"section {section.key}", True), Touch(f"place {section.key}")]
        if parent or before:
            # A place is identified by a section there, which must not move itself.
            is_shared = parent is None or self._has_one_level_below(other)
            touches += [Touch(f"section {other.key}", True), Touch(f"place {other.key}", is_shared)]
        touches += [Touch(f"place {item.key}") for item in self._passed(section, other if before else None)]
        return Step(tuple(touches), move(section.key, parent, before))

    def _has_one_level_below(self, section: Section) -> bool:
        """Return True if all children of a section are one level deeper, the level of a new one."""
        return all(item.level == section.level + 1 for item in self._document.children(section))

    def _passed(self, section: Section, before: Section | None) -> Sequence[Section]:
        """Return the siblings that a section passes, if few: then either side may count as moved."""
        above = None if section.parent is None else self._document.sections[section.parent]
        row = list(self._document.children(above))
        place = row.index(section)
        to = row.index(before) if before in row else len(row)
        passed = row[place + 1 : to] if to > place else row[to:place]
        return passed if len(passed) <= _FEW else ()

    def _remove(self) -> Step:
        section = self._any()
        removed = (section, *self._document.descendants(section))
        return Step(
            tuple(Touch(f"{kind} {item.key}") for item in removed for kind in ("section", "place")),
            edit(RemoveSection, "slug", slug=section.key),
        )

    def _metadata(self) -> Step:
        if self._chance.random() < 0.3:
            return Step((Touch("key tags"),), edit(TagDocument, tags=(self.fresh(),)))
        key = self._chance.choice([f"key{number}" for number in range(9)])
        return Step((Touch(f"key {key}"),), edit(SetMetadata, metadata={key: self.fresh()}))

    def _task(self) -> Step:
        section, task = self._chance.choice(self.tasks)
        shared = (Touch(f"section {section.key}", True), Touch(f"text {section.key}", True))
        part = Touch(f"task {task}", True)
        match self._chance.randint(0, 6):
            case 0:
                return Step(shared, edit(AddTask, "slug", slug=section.key, title=self.fresh()))
            case 1:
                return Step(
                    (*shared, part, Touch(f"box {task}")),
                    edit(CompleteTask, "slug", slug=task, note=self.fresh()),
                )
            case 2:
                return Step((*shared, part, Touch(f"box {task}")), edit(ReopenTask, "slug", slug=task))
            case 3:
                return Step(
                    (*shared, part, Touch(f"title {task}")),
                    edit(UpdateTask, "slug", slug=task, title=self.fresh()),
                )
            case 4:
                field = self._chance.choice(["criteria", "assignee"])
                return Step(
                    (*shared, part, Touch(f"{field} {task}")),
                    edit(UpdateTask, "slug", slug=task, **{field: self.fresh()}),
                )
            case 5:
                return Step((*shared, Touch(f"task {task}")), edit(RemoveTask, "slug", slug=task))
            case _:
                to = self._any().key
                return Step(
                    (*shared, Touch(f"task {task}"), Touch(f"section {to}", True), Touch(f"text {to}", True)),
                    edit(MoveTask, "slug", "to_slug", slug=task, to_slug=to),
                )

    def clash(self) -> tuple[Step, Step, UnitId] | None:
        """Return two steps that change one unit differently, and that unit."""
        section = self._any()
        key = section.key
        texts = [edit(UpdateContent, "slug", slug=key, content=self.fresh()) for _ in range(2)]
        match self._chance.randint(0, 5 if self.tasks else 3):
            case 0:
                makes = [edit(RenameSection, "slug", slug=key, new_title=self.fresh()) for _ in range(2)]
                unit = UnitId(UnitKind.HEADING, key)
            case 1:
                makes, unit = texts, UnitId(UnitKind.TEXT, key)
                if not self._document.data[section.body : section.end].strip():
                    return None
            case 2:
                makes = [edit(RemoveSection, "slug", slug=key), texts[0]]
                unit = UnitId(UnitKind.SECTION, key)
            case 3:
                makes = [edit(SetMetadata, metadata={"clash": self.fresh()}) for _ in range(2)]
                unit = UnitId(UnitKind.METADATA, "clash")
            case 4:
                _, task = self._chance.choice(self.tasks)
                makes = [edit(UpdateTask, "slug", slug=task, title=self.fresh()) for _ in range(2)]
                unit = UnitId(UnitKind.TASK, task)
            case _:
                _, task = self._chance.choice(self.tasks)
                makes = [
                    edit(RemoveTask, "slug", slug=task),
                    edit(UpdateTask, "slug", slug=task, criteria=self.fresh()),
                ]
                unit = UnitId(UnitKind.TASK, task)
        self._chance.shuffle(makes)
        return Step((), makes[0]), Step((), makes[1]), unit
