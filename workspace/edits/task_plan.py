"""The operation that writes what a task waits for: other tasks, or a reason.

A dependency is written as `path#id`, so that it does not change when tasks are added or moved. A task without
an id gets one, derived from its title, when another task depends on it for the first time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from workspace.diff.section_mapping import map_address
from workspace.document.addresses import (
    InvalidAddress,
    resolve_task,
    split_address,
)
from workspace.document.fields import split_entries
from workspace.document.splices import Edit, EditContext, Splice, StructureChanged, apply_edit
from workspace.edits.content import InvalidContent
from workspace.edits.operation import DocumentOperation, Outcome
from workspace.edits.task_text import (
    add_id,
    build_task_result,
    check_field_value,
    remove_fields,
    write_fields,
)
from workspace.errors import InvalidConfig, LimitExceeded, WorkspaceError
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.task_graph import TaskLocation, find_circle, format_circle, list_references

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_MAX_DEPENDENCIES = 100


class CircularDependency(WorkspaceError):
    """An error: a task would wait for itself. `circle` has the addresses: each task waits for the next."""

    code = "CIRCULAR_DEPENDENCY"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTask(DocumentOperation):
    """The change of a task's dependencies and of its reason to wait.

    `depends_on` and `remove` are addresses of tasks: `path#id` or `path#section[index]`; without a path, of
    the same document. An empty `blocked` removes the reason.
    """

    name: ClassVar[str] = "plan_task"
    targets_task: ClassVar[bool | None] = True

    file: str
    slug: str
    depends_on: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    blocked: str | None = None

    def list_overwritten_sections(self, document: Document) -> Sequence[Section]:
        """Return the task's section if the operation replaces the reason."""
        section, task = resolve_task(document, self.slug)
        return (section,) if self.blocked is not None and task.field("blocked") else ()

    def map_addresses(
        self, earlier_overlays: Sequence[Overlay], overlay: Overlay, base: Snapshot | None = None
    ) -> Self:
        """Return the operation with its addresses mapped, as in `DocumentOperation`."""
        mapped = DocumentOperation.map_addresses(self, earlier_overlays, overlay, base)
        return replace(
            mapped,
            depends_on=tuple(
                self._map_reference(name, earlier_overlays, overlay) for name in self.depends_on
            ),
            remove=tuple(self._map_reference(name, earlier_overlays, overlay) for name in self.remove),
        )

    def _map_reference(self, name: str, earlier_overlays: Sequence[Overlay], overlay: Overlay) -> str:
        path, fragment = self._split(name, overlay)
        for earlier_overlay in earlier_overlays:
            try:
                old_document = earlier_overlay.document(path)
            except (DocumentNotFound, LimitExceeded, InvalidConfig):
                continue
            new_fragment = map_address(old_document, overlay.document(path), fragment)
            if new_fragment is not None:
                return f"{path}#{new_fragment}"
        return name

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Write the fields, and the ids of the tasks that they name.

        Raises InvalidContent without a change, CircularDependency, StructureChanged, LimitExceeded, and the
        errors of `Overlay.document` and `resolve_task`.
        """
        path = check_path(self.file)
        if not self.depends_on and not self.remove and self.blocked is None:
            raise InvalidContent(
                "'depends_on', 'remove' and 'blocked' are all missing",
                fix="Set at least one of them; an empty 'blocked' removes the reason.",
            )
        if len(self.depends_on) > _MAX_DEPENDENCIES:
            raise LimitExceeded(
                f"{len(self.depends_on):,} dependencies are more than {_MAX_DEPENDENCIES}",
                fix="Let the task depend on fewer tasks, such as one whose sub-tasks they are.",
            )
        before = overlay.copy()
        added = [self._add_reference(name, overlay) for name in self.depends_on]
        location = _find(overlay, path, self.slug)
        for reference in added:
            if split_entries(reference) != (reference,):
                raise InvalidContent(
                    f"'{reference}' cannot be a dependency: a comma or backtick in its path would divide it",
                    fix="Rename the document with move_document, then plan the task.",
                )
        removed = {self._find_reference(name, overlay) for name in self.remove}
        old_references = list_references(path, location.task.dependencies)
        references = [name for name in old_references if name not in removed]
        references += [name for name in dict.fromkeys(added) if name not in references]
        circle = find_circle(overlay.find, location, added)
        if circle is not None:
            raise _make_circle_error(circle)
        splices = self._make_splices(overlay.document(path), location.task, references)
        result = build_task_result(location.section, location.task)
        result["depends_on"] = references
        edit = Edit(tuple(splices), result, f"Plan task {location.address} of {path}")
        if splices:
            overlay.put(apply_edit(overlay.document(path), edit))
            self._check_result(overlay, path, location, references)
        is_change = bool(overlay.list_changed_paths(before))
        unknown = sorted(removed.difference(old_references))
        hints = (f"the task did not depend on: {', '.join(unknown[:_MAX_DEPENDENCIES])}",) if unknown else ()
        return Outcome(path, result, edit.summary, is_change, hints)

    def _make_splices(self, document: Document, task: Task, references: Sequence[str]) -> list[Splice]:
        fields: list[tuple[str, str]] = []
        splices: list[Splice] = []
        if tuple(references) != list_references(document.path, task.dependencies):
            own = f"{document.path}#"
            names = [f"#{name.removeprefix(own)}" if name.startswith(own) else name for name in references]
            fields.append(("Depends on", ", ".join(names)))
            if names:
                splices += remove_fields(document, task, "Depends on", keep_last=True)
        if self.blocked is not None:
            fields.append(("Blocked", check_field_value("Blocked", self.blocked)))
        return splices + write_fields(document, task, fields)

    def _check_result(
        self, overlay: Overlay, path: str, location: TaskLocation, references: Sequence[str]
    ) -> None:
        _, task = resolve_task(overlay.document(path), location.address)
        reason = check_field_value("Blocked", self.blocked or "")
        if list_references(path, task.dependencies) != tuple(references) or (
            self.blocked is not None and (task.field("blocked") or "") != reason
        ):
            raise StructureChanged(
                f"after this edit '{location.address}' of {path} would not have the new fields",
                fix="Write plain words, without Markdown that begins a block.",
            )

    def _add_reference(self, name: str, overlay: Overlay) -> str:
        """Return the reference of a task, which gets an id if it has none."""
        path, fragment = self._split(name, overlay)
        location = _find(overlay, path, fragment)
        if location.task.id is not None:
            return f"{path}#{location.task.id}"
        document = overlay.document(path)
        id, splice = add_id(document, location.task)
        summary = f"Add the id {id} to {location.address} of {path}"
        new_document = apply_edit(document, Edit((splice,), {}, summary))
        if resolve_task(new_document, location.address)[1].id != id:
            raise StructureChanged(
                f"the title of '{location.address}' in {path} cannot have an id",
                fix=f"Write {{#{id}}} at the end of its first line yourself.",
            )
        overlay.put(new_document)
        return f"{path}#{id}"

    def _find_reference(self, name: str, overlay: Overlay) -> str:
        """Return the reference to remove; a task need not exist any more."""
        path, fragment = self._split(name, overlay)
        try:
            location = _find(overlay, path, fragment)
        except WorkspaceError:
            return f"{path}#{fragment}"
        return f"{path}#{location.task.id or fragment}"

    def _split(self, name: str, overlay: Overlay) -> tuple[str, str]:
        """Return the path and the fragment of a dependency. Raises InvalidAddress without a fragment."""
        text = name.strip()
        if "#" not in text or text.startswith("#"):
            return check_path(self.file), text.removeprefix("#")
        path, fragment = split_address(text, overlay.snapshot.documents)
        if not fragment:
            raise InvalidAddress(
                f"'{name[:200]}' names no task",
                fix="Give path#id, or path#section[index]; without a path, the task is of the same document.",
            )
        return path, fragment


def _find(overlay: Overlay, path: str, fragment: str) -> TaskLocation:
    return TaskLocation(path, *resolve_task(overlay.document(path), fragment))


def _make_circle_error(circle: Sequence[TaskLocation]) -> CircularDependency:
    return CircularDependency(
        f"the task would wait for itself: {format_circle(circle)}",
        fix="Leave out this dependency, or remove another one of the circle.",
        circle=[location.reference for location in circle],
    )
