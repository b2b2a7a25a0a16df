"""Update the dependencies of tasks after one operation of a batch.

If a task moves to another document, with its section or its document, the fields `Depends on` that name it
are rewritten, and so are its own that name a task by `#id`. Dependencies on a removed task are reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.splices import Edit, Splice, apply_edit
from workspace.errors import LimitExceeded
from workspace.snapshot.snapshot import LfsTextMissing
from workspace.task_graph import list_references

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.tasks import Task, TaskField
    from workspace.links.offset_map import OffsetMap
    from workspace.snapshot.overlay import Overlay

_TASK_ID = re.compile(rb"\[[ xX]\][^\r\n]*\{#")
_DEPENDENCY = re.compile(rb"depends[ \t]+on", re.IGNORECASE)
_ENTRY = re.compile(rb"[^,`\s](?:[^,`\r\n]*[^,`\s])?")


class DependencyUpdates(NamedTuple):
    """The number of rewritten dependencies in each document, the documents before and after, and lost tasks.

    `lost_references` are the removed tasks (`path#id`) on which tasks still depend.
    """

    counts: Mapping[str, int]
    revised_documents: Sequence[tuple[Document, Document]]
    lost_references: Sequence[str]


NO_UPDATES = DependencyUpdates({}, (), ())


def update_dependencies(before: Overlay, after: Overlay, offset_map: OffsetMap) -> DependencyUpdates:
    """Update the dependencies in `after`, which one operation made from `before`, and return the updates.

    Documents that are too large to read are skipped.
    """
    moves = _TaskMoves(before, after, offset_map)
    if not moves.new_references and not moves.lost_references:
        return NO_UPDATES
    counts: dict[str, int] = {}
    revised_documents: list[tuple[Document, Document]] = []
    lost_references: list[str] = []
    for document in _find_dependent_documents(after):
        splices: list[Splice] = []
        for task in document.all_tasks:
            old_path = moves.find_old_path(document.path, task)
            for field in task.fields:
                if field.name == "depends on":
                    splices += _make_splices(document, field, old_path, moves.new_references)
                    lost_references += moves.lost_references.intersection(
                        list_references(old_path, field.list_entries())
                    )
        if splices:
            new_document = apply_edit(document, Edit(tuple(splices), {}, ""))
            after.put(new_document)
            counts[document.path] = len(splices)
            revised_documents.append((document, new_document))
    return DependencyUpdates(counts, revised_documents, tuple(dict.fromkeys(lost_references)))


def _make_splices(
    document: Document, field: TaskField, old_path: str, new_references: Mapping[str, str]
) -> Iterator[Splice]:
    """Yield the splices of the entries of a field that lead elsewhere now."""
    for match in _ENTRY.finditer(document.data, field.value_start, field.value_end):
        entry = match.group().decode("utf-8", "replace")
        [old_reference] = list_references(old_path, [entry])
        reference = new_references.get(old_reference, old_reference)
        own_prefix = f"{document.path}#"
        new_entry = (
            f"#{reference.removeprefix(own_prefix)}" if reference.startswith(own_prefix) else reference
        )
        if (reference != old_reference or document.path != old_path) and new_entry != entry:
            yield Splice(*match.span(), new_entry.encode())


def _find_dependent_documents(overlay: Overlay) -> Iterator[Document]:
    """Yield the documents that may contain a dependency."""
    snapshot = overlay.snapshot
    written_paths = frozenset(overlay.written_paths)
    for path in sorted({*snapshot.documents, *written_paths}):
        if path in written_paths or _DEPENDENCY.search(snapshot.git.blob(snapshot.documents[path])):
            document = _find_document(overlay, path)
            if document is not None and _DEPENDENCY.search(document.data):
                yield document


def _find_document(overlay: Overlay, path: str) -> Document | None:
    """Return a document; None if it is missing, too large, or a pointer of Git LFS."""
    try:
        return overlay.find(path)
    except (LimitExceeded, LfsTextMissing):
        return None


class _TaskMoves:
    """The tasks with ids that an operation moved to another document, or removed."""

    def __init__(self, before: Overlay, after: Overlay, offset_map: OffsetMap) -> None:
        self.new_references: dict[str, str] = {}
        self.lost_references: set[str] = set()
        self._old_paths = {new: old for old, new in offset_map.path_map.items() if new is not None}
        self._moved_tasks: dict[tuple[str, int], str] = {}
        for path in sorted(offset_map.paths):
            document = _find_document(before, path)
            if document is not None and _may_lose_task(document, offset_map):
                self._add_document(document, after, offset_map)

    def find_old_path(self, path: str, task: Task) -> str:
        """Return the path of a task before the operation."""
        return self._moved_tasks.get((path, task.start)) or self._old_paths.get(path, path)

    def _add_document(self, document: Document, after: Overlay, offset_map: OffsetMap) -> None:
        for task in document.all_tasks:
            position = offset_map.map_offset(document.path, task.start)
            if position is not None and position[0] != document.path:
                self._moved_tasks[position] = document.path
            if task.id is None:
                continue
            new_path = position[0] if position is not None else offset_map.find_new_path(document.path)
            reference = f"{document.path}#{task.id}"
            new_document = _find_document(after, new_path) if new_path is not None else None
            if new_path is None or new_document is None or new_document.find_task(task.id) is None:
                self.lost_references.add(reference)
            elif new_path != document.path:
                self.new_references[reference] = f"{new_path}#{task.id}"


def _may_lose_task(document: Document, offset_map: OffsetMap) -> bool:
    """Return True if a task with an id, or one that depends on another, may be moved away or removed."""
    path = document.path
    is_moved = offset_map.find_new_path(path) != path or any(
        span.old_path == path != span.new_path for span in offset_map.preserved_spans
    )
    if is_moved:
        return _TASK_ID.search(document.data) is not None or _DEPENDENCY.search(document.data) is not None
    return any(
        _TASK_ID.search(document.data, start, end) for start, end in offset_map.find_removed_spans(document)
    )
