"""Random scripts of operations on a document, each with the units that it touches."""

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
from workspace.edits.section_move import is_in_place, move_section
from workspace.edits.section_position import find_target_position
from workspace.errors import WorkspaceError
from workspace.markdown.attribute_lists import AnchorForm
from workspace.merge.conflict import UnitId, UnitKind

EDIT_CONTEXT = EditContext(AnchorForm.BRACES, "2000-01-02")
_MAX_PASSED = 4
_WORDS = re.compile(r"[A-Za-z]{5,}")


class Touch(NamedTuple):
    """A unit that a step touches.

    Two steps may touch a shared unit: they only add text to the unit, or change different fields of it.
    """

    unit: str
    is_shared: bool = False


class Step(NamedTuple):
    """A change of a document by addresses of the base, and the units that it touches."""

    touches: tuple[Touch, ...]
    apply: Callable[[Document, Document], Document]


class StepRefused(Exception):
    """A step is not possible: its target is missing, or the operation is refused."""


def apply_steps(base: Document, steps: Sequence[Step], start: Document) -> Document:
    """Return the document after the steps. Raises Refused."""
    document = start
    for step in steps:
        try:
            document = step.apply(base, document)
        except WorkspaceError as error:
            raise StepRefused(str(error)) from error
    return document


def touch_different_units(left: Sequence[Step], right: Sequence[Step]) -> bool:
    """Return True if two scripts touch different units, except shared units."""
    left_touches = {touch for step in left for touch in step.touches}
    is_shared_by_unit: dict[str, bool] = {}
    for touch in left_touches:
        is_shared_by_unit[touch.unit] = is_shared_by_unit.get(touch.unit, True) and touch.is_shared
    return all(
        touch.is_shared and is_shared_by_unit[touch.unit]
        for step in right
        for touch in step.touches
        if touch.unit in is_shared_by_unit
    )


def edit_step(
    operation: Callable[..., DocumentOperation], *address_fields: str, **fields: object
) -> Callable[[Document, Document], Document]:
    """Return a function that runs an operation. `address_fields` contain addresses of the base."""

    def apply(base: Document, document: Document) -> Document:
        arguments = dict(fields)
        for field in address_fields:
            if arguments.get(field) is not None:
                arguments[field] = map_address(base, document, str(arguments[field])) or arguments[field]
        return operation(file=document.path, **arguments).revise(document, EDIT_CONTEXT)[0]

    return apply


def move_step(slug: str, parent: str | None, before: str | None) -> Callable[[Document, Document], Document]:
    """Return a function that moves a section within its document."""

    def apply(base: Document, document: Document) -> Document:
        key, parent_key, before_key = (
            None if address is None else map_address(base, document, address)
            for address in (slug, parent, before)
        )
        section = next(item for item in document.sections if item.key == key)
        position = find_target_position(document, parent_key, before_key, None, section)
        if is_in_place(document, section, document, position) and position.level == section.level:
            return document
        form = document.form or EDIT_CONTEXT.form
        return move_section(document, section, document, position, (form, form), LinkRules()).target

    return apply


class ScriptGenerator:
    """Draws random steps for a document."""

    def __init__(self, document: Document, rng: random.Random, name: str) -> None:
        self._document, self._rng, self._name = document, rng, name
        self._number = 0
        # An address that is free after a removal and then used again is a different unit.
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

    def unique_text(self) -> str:
        """Return a text that does not occur elsewhere."""
        self._number += 1
        return f"{self._name} wrote {self._number}{self._rng.randrange(10**6)}"

    def draw_steps(self) -> Iterator[Step]:
        """Yield steps without end."""
        draw_functions = [
            self._replace_text_step,
            self._append_step,
            self._replace_word_step,
            self._add_section_step,
            self._rename_step,
            self._move_section_step,
            self._remove_step,
            self._metadata_step,
        ]
        if self.tasks:
            draw_functions += [self._task_step] * 5
        while True:
            step = self._rng.choice(draw_functions)()
            if step is not None:
                yield step

    def _draw_section(self) -> Section:
        return self._rng.choice(self.sections)

    def _replace_text_step(self) -> Step:
        key = self._draw_section().key
        content = "\n\n".join(self.unique_text() for _ in range(self._rng.randint(1, 3)))
        return Step(
            (Touch(f"section {key}", True), Touch(f"text {key}")),
            edit_step(UpdateContent, "slug", slug=key, content=content),
        )

    def _append_step(self) -> Step:
        section = self._draw_section()
        key = section.key
        content = self._rng.choice(["{}", "- {}", "```\n{}\n```"]).format(self.unique_text())
        # Two steps that fill an empty section write the same text.
        has_text = bool(self._document.data[section.body : section.end].strip())
        return Step(
            (Touch(f"section {key}", True), Touch(f"text {key}", has_text)),
            edit_step(AppendContent, "slug", slug=key, content=content),
        )

    def _replace_word_step(self) -> Step | None:
        section = self._draw_section()
        words = [*_WORDS.finditer(self._document.text(section.body, section.end))]
        if not words:
            return None
        word = self._rng.choice(words)
        old = word.group()
        key = section.key
        # The number of line breaks before a word identifies its position.
        block = self._document.text(section.body, section.end)[: word.start()].count("\n")
        return Step(
            (Touch(f"section {key}", True), Touch(f"text {key}", False), Touch(f"line {key} {block}")),
            edit_step(ReplaceText, "slug", slug=key, old=old, new=self.unique_text(), count=1),
        )

    def _add_section_step(self) -> Step:
        section = self._draw_section()
        is_sibling = self._rng.random() < 0.5
        fields = {"after": section.key} if is_sibling else {"parent_slug": section.key}
        return Step(
            (
                Touch(f"section {section.key}", True),
                Touch(f"place {section.key}", not is_sibling and self._has_uniform_children(section)),
            ),
            edit_step(AddSection, *fields, title=self.unique_text(), content=self.unique_text(), **fields),
        )

    def _rename_step(self) -> Step:
        key = self._draw_section().key
        return Step(
            (Touch(f"section {key}", True), Touch(f"heading {key}")),
            edit_step(RenameSection, "slug", slug=key, new_title=self.unique_text()),
        )

    def _move_section_step(self) -> Step:
        section, other_section = self._draw_section(), self._draw_section()
        is_sibling = self._rng.random() < 0.5
        parent = None if is_sibling or self._rng.random() < 0.2 else other_section.key
        before = other_section.key if is_sibling else None
        touches = [Touch(f"section {section.key}", True), Touch(f"place {section.key}")]
        if parent or before:
            # A position is identified by a section at the position, which must not move itself.
            is_shared = parent is None or self._has_uniform_children(other_section)
            touches += [
                Touch(f"section {other_section.key}", True),
                Touch(f"place {other_section.key}", is_shared),
            ]
        touches += [
            Touch(f"place {item.key}")
            for item in self._passed_siblings(section, other_section if before else None)
        ]
        return Step(tuple(touches), move_step(section.key, parent, before))

    def _has_uniform_children(self, section: Section) -> bool:
        """Return True if all children of a section are one level deeper, the level of a new child."""
        return all(item.level == section.level + 1 for item in self._document.children(section))

    def _passed_siblings(self, section: Section, before: Section | None) -> Sequence[Section]:
        """Return the siblings that a section passes, if few: a merge may treat either side as moved."""
        parent = None if section.parent is None else self._document.sections[section.parent]
        siblings = list(self._document.children(parent))
        position = siblings.index(section)
        target_position = siblings.index(before) if before in siblings else len(siblings)
        passed = (
            siblings[position + 1 : target_position]
            if target_position > position
            else siblings[target_position:position]
        )
        return passed if len(passed) <= _MAX_PASSED else ()

    def _remove_step(self) -> Step:
        section = self._draw_section()
        removed = (section, *self._document.descendants(section))
        return Step(
            tuple(Touch(f"{kind} {item.key}") for item in removed for kind in ("section", "place")),
            edit_step(RemoveSection, "slug", slug=section.key),
        )

    def _metadata_step(self) -> Step:
        if self._rng.random() < 0.3:
            return Step((Touch("key tags"),), edit_step(TagDocument, tags=(self.unique_text(),)))
        key = self._rng.choice([f"key{number}" for number in range(9)])
        return Step((Touch(f"key {key}"),), edit_step(SetMetadata, metadata={key: self.unique_text()}))

    def _task_step(self) -> Step:
        section, task = self._rng.choice(self.tasks)
        section_touches = (Touch(f"section {section.key}", True), Touch(f"text {section.key}", True))
        task_touch = Touch(f"task {task}", True)
        match self._rng.randint(0, 6):
            case 0:
                return Step(
                    section_touches, edit_step(AddTask, "slug", slug=section.key, title=self.unique_text())
                )
            case 1:
                return Step(
                    (*section_touches, task_touch, Touch(f"box {task}")),
                    edit_step(CompleteTask, "slug", slug=task, note=self.unique_text()),
                )
            case 2:
                return Step(
                    (*section_touches, task_touch, Touch(f"box {task}")),
                    edit_step(ReopenTask, "slug", slug=task),
                )
            case 3:
                return Step(
                    (*section_touches, task_touch, Touch(f"title {task}")),
                    edit_step(UpdateTask, "slug", slug=task, title=self.unique_text()),
                )
            case 4:
                field = self._rng.choice(["criteria", "assignee"])
                return Step(
                    (*section_touches, task_touch, Touch(f"{field} {task}")),
                    edit_step(UpdateTask, "slug", slug=task, **{field: self.unique_text()}),
                )
            case 5:
                return Step(
                    (*section_touches, Touch(f"task {task}")), edit_step(RemoveTask, "slug", slug=task)
                )
            case _:
                target_key = self._draw_section().key
                return Step(
                    (
                        *section_touches,
                        Touch(f"task {task}"),
                        Touch(f"section {target_key}", True),
                        Touch(f"text {target_key}", True),
                    ),
                    edit_step(MoveTask, "slug", "to_slug", slug=task, to_slug=target_key),
                )

    def draw_clash(self) -> tuple[Step, Step, UnitId] | None:
        """Return two steps that change a unit differently, and the unit."""
        section = self._draw_section()
        key = section.key
        texts = [edit_step(UpdateContent, "slug", slug=key, content=self.unique_text()) for _ in range(2)]
        match self._rng.randint(0, 5 if self.tasks else 3):
            case 0:
                changes = [
                    edit_step(RenameSection, "slug", slug=key, new_title=self.unique_text()) for _ in range(2)
                ]
                unit = UnitId(UnitKind.HEADING, key)
            case 1:
                changes, unit = texts, UnitId(UnitKind.TEXT, key)
                if not self._document.data[section.body : section.end].strip():
                    return None
            case 2:
                changes = [edit_step(RemoveSection, "slug", slug=key), texts[0]]
                unit = UnitId(UnitKind.SECTION, key)
            case 3:
                changes = [edit_step(SetMetadata, metadata={"clash": self.unique_text()}) for _ in range(2)]
                unit = UnitId(UnitKind.METADATA, "clash")
            case 4:
                _, task = self._rng.choice(self.tasks)
                changes = [
                    edit_step(UpdateTask, "slug", slug=task, title=self.unique_text()) for _ in range(2)
                ]
                unit = UnitId(UnitKind.TASK, task)
            case _:
                _, task = self._rng.choice(self.tasks)
                changes = [
                    edit_step(RemoveTask, "slug", slug=task),
                    edit_step(UpdateTask, "slug", slug=task, criteria=self.unique_text()),
                ]
                unit = UnitId(UnitKind.TASK, task)
        self._rng.shuffle(changes)
        return Step((), changes[0]), Step((), changes[1]), unit
