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
from workspace.edits.metadata import SetMetadata, TagDocument
from workspace.edits.operation import DocumentOperation
from workspace.edits.section_move import is_in_place, move_section
from workspace.edits.section_position import find_target_position
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask, MoveTask, RemoveTask, ReopenTask, UpdateTask
from workspace.edits.text import AppendContent, ReplaceText, UpdateContent
from workspace.errors import WorkspaceError
from workspace.markdown.attribute_lists import AnchorForm
from workspace.merge.conflict import UnitId, UnitKind

EDIT_CONTEXT = EditContext(AnchorForm.BRACES, "2000-01-02")
_MAX_PASSED_SIBLINGS = 4
_WORDS = re.compile(r"[A-Za-z]{5,}")


class TouchedUnit(NamedTuple):
    """A unit that a step touches, that is, changes or relies on.

    Two steps may touch a shared unit: they rely on the unit, add text to it, or change different fields.
    """

    unit: str
    is_shared: bool = False


class Step(NamedTuple):
    """A change of a document, and the units that the change touches.

    `apply` gets the base, in which it resolves its addresses, and the document to change.
    """

    touched_units: tuple[TouchedUnit, ...]
    apply: Callable[[Document, Document], Document]


class StepRefused(Exception):
    """An error: a step is not possible, because the target is missing, or the operation is refused."""


def apply_steps(base: Document, steps: Sequence[Step], start: Document) -> Document:
    """Return `start` after the steps, whose addresses are those of `base`. Raises StepRefused."""
    document = start
    for step in steps:
        try:
            document = step.apply(base, document)
        except WorkspaceError as error:
            raise StepRefused(str(error)) from error
    return document


def touch_different_units(left: Sequence[Step], right: Sequence[Step]) -> bool:
    """Return True if no unit is touched by both scripts, except units that all these steps share."""
    left_units = {touched_unit for step in left for touched_unit in step.touched_units}
    is_shared_by_unit: dict[str, bool] = {}
    for touched_unit in left_units:
        is_shared_by_unit[touched_unit.unit] = (
            is_shared_by_unit.get(touched_unit.unit, True) and touched_unit.is_shared
        )
    return all(
        touched_unit.is_shared and is_shared_by_unit[touched_unit.unit]
        for step in right
        for touched_unit in step.touched_units
        if touched_unit.unit in is_shared_by_unit
    )


def bind_edit(
    operation: Callable[..., DocumentOperation], *address_fields: str, **fields: object
) -> Callable[[Document, Document], Document]:
    """Return a function that runs an operation. The fields in `address_fields` are addresses of the base."""

    def apply(base: Document, document: Document) -> Document:
        arguments = dict(fields)
        for field in address_fields:
            if arguments.get(field) is not None:
                arguments[field] = map_address(base, document, str(arguments[field])) or arguments[field]
        return operation(file=document.path, **arguments).revise(document, EDIT_CONTEXT)[0]

    return apply


def bind_move(slug: str, parent: str | None, before: str | None) -> Callable[[Document, Document], Document]:
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
        form = document.anchor_form or EDIT_CONTEXT.anchor_form
        return move_section(document, section, document, position, (form, form), LinkRules()).target

    return apply


class ScriptGenerator:
    """A generator of random steps for a document."""

    def __init__(self, document: Document, rng: random.Random, name: str) -> None:
        self._document, self._rng, self._name = document, rng, name
        self._number = 0
        # After a removal, another section may get the same address, but that section is a different unit.
        self.sections = [
            item
            for item in document.sections
            if not item.is_preamble and item.key == item.address and not re.search(r"-\d+(/|$)", item.address)
        ]
        self.tasks = [
            (section, format_task_address(section.key, task))
            for section in self.sections
            for task in document.tasks(section)
        ]

    def make_unique_text(self) -> str:
        """Return a text that does not occur elsewhere."""
        self._number += 1
        return f"{self._name} wrote {self._number}{self._rng.randrange(10**6)}"

    def draw_steps(self) -> Iterator[Step]:
        """Yield random steps endlessly."""
        draw_functions = [
            self._draw_replace_text_step,
            self._draw_append_step,
            self._draw_replace_word_step,
            self._draw_add_section_step,
            self._draw_rename_step,
            self._draw_move_section_step,
            self._draw_remove_step,
            self._draw_metadata_step,
        ]
        if self.tasks:
            draw_functions += [self._draw_task_step] * 5
        while True:
            step = self._rng.choice(draw_functions)()
            if step is not None:
                yield step

    def _draw_section(self) -> Section:
        return self._rng.choice(self.sections)

    def _draw_replace_text_step(self) -> Step:
        key = self._draw_section().key
        content = "\n\n".join(self.make_unique_text() for _ in range(self._rng.randint(1, 3)))
        return Step(
            (TouchedUnit(f"section {key}", True), TouchedUnit(f"text {key}")),
            bind_edit(UpdateContent, "slug", slug=key, content=content),
        )

    def _draw_append_step(self) -> Step:
        section = self._draw_section()
        key = section.key
        content = self._rng.choice(["{}", "- {}", "```\n{}\n```"]).format(self.make_unique_text())
        # Two steps that append to an empty section both replace its empty text, so they are in conflict.
        has_text = bool(self._document.data[section.body_start : section.end].strip())
        return Step(
            (TouchedUnit(f"section {key}", True), TouchedUnit(f"text {key}", has_text)),
            bind_edit(AppendContent, "slug", slug=key, content=content),
        )

    def _draw_replace_word_step(self) -> Step | None:
        section = self._draw_section()
        words = [*_WORDS.finditer(self._document.text(section.body_start, section.end))]
        if not words:
            return None
        word = self._rng.choice(words)
        old_word = word.group()
        key = section.key
        # The number of line breaks before a word identifies its position.
        line_number = self._document.text(section.body_start, section.end)[: word.start()].count("\n")
        return Step(
            (
                TouchedUnit(f"section {key}", True),
                TouchedUnit(f"text {key}", False),
                TouchedUnit(f"line {key} {line_number}"),
            ),
            bind_edit(ReplaceText, "slug", slug=key, old=old_word, new=self.make_unique_text(), count=1),
        )

    def _draw_add_section_step(self) -> Step:
        section = self._draw_section()
        is_sibling = self._rng.random() < 0.5
        fields = {"after": section.key} if is_sibling else {"parent_slug": section.key}
        return Step(
            (
                TouchedUnit(f"section {section.key}", True),
                TouchedUnit(f"place {section.key}", not is_sibling and self._has_uniform_children(section)),
            ),
            bind_edit(
                AddSection, *fields, title=self.make_unique_text(), content=self.make_unique_text(), **fields
            ),
        )

    def _draw_rename_step(self) -> Step:
        key = self._draw_section().key
        return Step(
            (TouchedUnit(f"section {key}", True), TouchedUnit(f"heading {key}")),
            bind_edit(RenameSection, "slug", slug=key, new_title=self.make_unique_text()),
        )

    def _draw_move_section_step(self) -> Step:
        section, other_section = self._draw_section(), self._draw_section()
        is_sibling = self._rng.random() < 0.5
        parent = None if is_sibling or self._rng.random() < 0.2 else other_section.key
        before = other_section.key if is_sibling else None
        touched_units = [TouchedUnit(f"section {section.key}", True), TouchedUnit(f"place {section.key}")]
        if parent or before:
            # A section identifies the target position, so this section must not move itself.
            is_shared = parent is None or self._has_uniform_children(other_section)
            touched_units += [
                TouchedUnit(f"section {other_section.key}", True),
                TouchedUnit(f"place {other_section.key}", is_shared),
            ]
        touched_units += [
            TouchedUnit(f"place {item.key}")
            for item in self._find_passed_siblings(section, other_section if before else None)
        ]
        return Step(tuple(touched_units), bind_move(section.key, parent, before))

    def _has_uniform_children(self, section: Section) -> bool:
        """Return True if all children of a section are one level deeper, the level of a new child."""
        return all(item.level == section.level + 1 for item in self._document.children(section))

    def _find_passed_siblings(self, section: Section, before: Section | None) -> Sequence[Section]:
        """Return the siblings that a section passes, if there are at most four.

        A merge may treat these siblings as moved instead of the section.
        """
        parent = None if section.parent is None else self._document.sections[section.parent]
        siblings = list(self._document.children(parent))
        position = siblings.index(section)
        target_position = siblings.index(before) if before in siblings else len(siblings)
        passed_siblings = (
            siblings[position + 1 : target_position]
            if target_position > position
            else siblings[target_position:position]
        )
        return passed_siblings if len(passed_siblings) <= _MAX_PASSED_SIBLINGS else ()

    def _draw_remove_step(self) -> Step:
        section = self._draw_section()
        removed_sections = (section, *self._document.descendants(section))
        return Step(
            tuple(
                TouchedUnit(f"{kind} {item.key}")
                for item in removed_sections
                for kind in ("section", "place")
            ),
            bind_edit(RemoveSection, "slug", slug=section.key),
        )

    def _draw_metadata_step(self) -> Step:
        if self._rng.random() < 0.3:
            return Step((TouchedUnit("key tags"),), bind_edit(TagDocument, tags=(self.make_unique_text(),)))
        key = self._rng.choice([f"key{number}" for number in range(9)])
        return Step(
            (TouchedUnit(f"key {key}"),), bind_edit(SetMetadata, metadata={key: self.make_unique_text()})
        )

    def _draw_task_step(self) -> Step:
        section, task = self._rng.choice(self.tasks)
        section_units = (
            TouchedUnit(f"section {section.key}", True),
            TouchedUnit(f"text {section.key}", True),
        )
        task_unit = TouchedUnit(f"task {task}", True)
        match self._rng.randint(0, 6):
            case 0:
                return Step(
                    section_units,
                    bind_edit(AddTask, "slug", slug=section.key, title=self.make_unique_text()),
                )
            case 1:
                return Step(
                    (*section_units, task_unit, TouchedUnit(f"box {task}")),
                    bind_edit(CompleteTask, "slug", slug=task, note=self.make_unique_text()),
                )
            case 2:
                return Step(
                    (*section_units, task_unit, TouchedUnit(f"box {task}")),
                    bind_edit(ReopenTask, "slug", slug=task),
                )
            case 3:
                return Step(
                    (*section_units, task_unit, TouchedUnit(f"title {task}")),
                    bind_edit(UpdateTask, "slug", slug=task, title=self.make_unique_text()),
                )
            case 4:
                field = self._rng.choice(["criteria", "assignee"])
                return Step(
                    (*section_units, task_unit, TouchedUnit(f"{field} {task}")),
                    bind_edit(UpdateTask, "slug", slug=task, **{field: self.make_unique_text()}),
                )
            case 5:
                return Step(
                    (*section_units, TouchedUnit(f"task {task}")), bind_edit(RemoveTask, "slug", slug=task)
                )
            case _:
                target_key = self._draw_section().key
                return Step(
                    (
                        *section_units,
                        TouchedUnit(f"task {task}"),
                        TouchedUnit(f"section {target_key}", True),
                        TouchedUnit(f"text {target_key}", True),
                    ),
                    bind_edit(MoveTask, "slug", "to_slug", slug=task, to_slug=target_key),
                )

    def draw_conflicting_steps(self) -> tuple[Step, Step, UnitId] | None:
        """Return two steps that change a unit differently, and the unit; None if a section has no text."""
        section = self._draw_section()
        key = section.key
        replacements = [
            bind_edit(UpdateContent, "slug", slug=key, content=self.make_unique_text()) for _ in range(2)
        ]
        match self._rng.randint(0, 5 if self.tasks else 3):
            case 0:
                changes = [
                    bind_edit(RenameSection, "slug", slug=key, new_title=self.make_unique_text())
                    for _ in range(2)
                ]
                unit = UnitId(UnitKind.HEADING, key)
            case 1:
                changes, unit = replacements, UnitId(UnitKind.TEXT, key)
                if not self._document.data[section.body_start : section.end].strip():
                    return None
            case 2:
                changes = [bind_edit(RemoveSection, "slug", slug=key), replacements[0]]
                unit = UnitId(UnitKind.SECTION, key)
            case 3:
                changes = [
                    bind_edit(SetMetadata, metadata={"clash": self.make_unique_text()}) for _ in range(2)
                ]
                unit = UnitId(UnitKind.METADATA, "clash")
            case 4:
                _, task = self._rng.choice(self.tasks)
                changes = [
                    bind_edit(UpdateTask, "slug", slug=task, title=self.make_unique_text()) for _ in range(2)
                ]
                unit = UnitId(UnitKind.TASK, task)
            case _:
                _, task = self._rng.choice(self.tasks)
                changes = [
                    bind_edit(RemoveTask, "slug", slug=task),
                    bind_edit(UpdateTask, "slug", slug=task, criteria=self.make_unique_text()),
                ]
                unit = UnitId(UnitKind.TASK, task)
        self._rng.shuffle(changes)
        return Step((), changes[0]), Step((), changes[1]), unit
