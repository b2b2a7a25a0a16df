"""Update the dependencies of tasks after one operation of a batch.

If a task moves to another document, with its section or its document, the fields `Depends on` that name it
are rewritten, and so are its own that name a task by `#id`. If a task of the other document has its id, it
gets a new one. Dependencies on a removed task are reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.fields import split_entries
from workspace.document.splices import Edit, Splice, apply_edit
from workspace.edits.task_text import list_used_names
from workspace.errors import LimitExceeded
from workspace.links.offset_map import OffsetMap
from workspace.markdown.slugs import UniqueNames
from workspace.snapshot.snapshot import LfsTextMissing
from workspace.task_graph import TaskLocation, list_references, may_have_dependencies

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.tasks import Task
    from workspace.snapshot.overlay import Overlay

_TASK_ID = re.compile(rb"\[[ xX]\][^\r\n]*\{#")
_ENTRY = re.compile(rb"[^,`\s](?:[^,`\r\n]*[^,`\s])?")


class DependencyUpdates(NamedTuple):
    """The rewritten dependencies and ids of tasks after an operation.

    `offset_map` is that of the operation with the rewritten text. `counts` are the numbers of rewritten
    dependencies by document. `revised_documents` are pairs before and after. `lost_dependencies` are pairs of
    a task and the task on which it depends in vain. `new_ids` are the addresses of tasks with a new id.
    """

    offset_map: OffsetMap
    counts: Mapping[str, int] = {}
    revised_documents: Sequence[tuple[Document, Document]] = ()
    lost_dependencies: Sequence[tuple[str, str]] = ()
    new_ids: Sequence[str] = ()


def update_dependencies(before: Overlay, after: Overlay, offset_map: OffsetMap) -> DependencyUpdates:
    """Update the dependencies in `after`, which one operation made from `before`, and return the updates.

    Documents that are too large to read are skipped.
    """
    moves = _TaskMoves(before, after, offset_map)
    if not moves:
        return DependencyUpdates(offset_map)
    counts: dict[str, int] = {}
    revised_documents: list[tuple[Document, Document]] = []
    lost_dependencies: list[tuple[str, str]] = []
    new_id_paths = {path for path, _ in moves.new_ids}
    for document in _find_dependent_documents(after, new_id_paths):
        entries = list(_list_entries(document, moves))
        splices = [entry.splice for entry in entries if entry.splice is not None]
        lost_dependencies += ((entry.task, entry.reference) for entry in entries if entry.is_lost)
        if splices:
            counts[document.path] = len(splices)
        splices += moves.make_id_splices(document)
        if splices:
            new_document = apply_edit(document, Edit(tuple(splices), {}, ""))
            after.put(new_document)
            offset_map = offset_map.compose(OffsetMap.of_splices(document, splices))
            revised_documents.append((document, new_document))
    new_ids = [f"{path}#{id}" for (path, _), id in moves.new_ids.items()]
    return DependencyUpdates(offset_map, counts, revised_documents, lost_dependencies, new_ids)


class _Entry(NamedTuple):
    """A dependency of a task, with the reference before the operation, and the splice that updates it.

    `is_lost` is True if no task has the reference any more, or if no dependency can name its new document.
    """

    task: str
    reference: str
    splice: Splice | None
    is_lost: bool


def _list_entries(document: Document, moves: _TaskMoves) -> Iterator[_Entry]:
    own_prefix = f"{document.path}#"
    for section in document.sections:
        for task in document.tasks(section):
            old_path = moves.find_old_path(document.path, task)
            address = TaskLocation(document.path, section, task).reference
            for match in _find_entries(document, task):
                entry = match.group().decode("utf-8", "replace")
                [old_reference] = list_references(old_path, [entry])
                reference = moves.new_references.get(old_reference, old_reference)
                is_lost = old_reference in moves.lost_references
                splice: Splice | None = None
                if reference != old_reference or document.path != old_path:
                    is_own = reference.startswith(own_prefix)
                    new_entry = f"#{reference.removeprefix(own_prefix)}" if is_own else reference
                    if split_entries(new_entry) != (new_entry,):
                        is_lost = True
                    elif new_entry != entry:
                        splice = Splice(*match.span(), new_entry.encode())
                yield _Entry(address, old_reference, splice, is_lost)


def _find_entries(document: Document, task: Task) -> Iterator[re.Match[bytes]]:
    for field in task.fields:
        if field.name == "depends on":
            yield from _ENTRY.finditer(document.data, field.value_start, field.value_end)


def _find_dependent_documents(overlay: Overlay, more_paths: Container[str]) -> Iterator[Document]:
    """Yield the documents that may contain a dependency, and those of `more_paths`."""
    snapshot = overlay.snapshot
    written_paths = frozenset(overlay.written_paths)
    for path in sorted({*snapshot.documents, *written_paths}):
        if path in written_paths or may_have_dependencies(snapshot.git.blob(snapshot.documents[path])):
            document = _find_document(overlay, path)
            if document is not None and (path in more_paths or may_have_dependencies(document.data)):
                yield document


def _find_document(overlay: Overlay, path: str) -> Document | None:
    """Return a document; None if it is missing, too large, or a pointer of Git LFS."""
    try:
        return overlay.find(path)
    except (LimitExceeded, LfsTextMissing):
        return None


class _TaskMoves:
    """The tasks with ids that an operation moved to another document, or removed.

    `new_ids` are the new ids of moved tasks by the path and the start of the task, in order.
    """

    def __init__(self, before: Overlay, after: Overlay, offset_map: OffsetMap) -> None:
        self.new_references: dict[str, str] = {}
        self.lost_references: set[str] = set()
        self.new_ids: dict[tuple[str, int], str] = {}
        self._old_paths = {new: old for old, new in offset_map.path_map.items() if new is not None}
        self._moved_tasks: dict[tuple[str, int], str] = {}
        for path in sorted(offset_map.paths):
            document = _find_document(before, path)
            if document is not None and _may_lose_task(document, offset_map):
                self._add_document(document, before, after, offset_map)

    def __bool__(self) -> bool:
        """Return True if a dependency may have to change."""
        return bool(self.new_references or self.lost_references or self._moved_tasks)

    def find_old_path(self, path: str, task: Task) -> str:
        """Return the path of a task before the operation."""
        return self._moved_tasks.get((path, task.start)) or self._old_paths.get(path, path)

    def make_id_splices(self, document: Document) -> Iterator[Splice]:
        """Yield the splices that write the new ids of a document's tasks."""
        for task in document.all_tasks:
            new_id = self.new_ids.get((document.path, task.start))
            if new_id is not None and task.id is not None:
                id = task.id.encode()
                start = document.data.index(b"#" + id, task.title_end) + 1
                yield Splice(start, start + len(id), new_id.encode())

    def _add_document(
        self, document: Document, before: Overlay, after: Overlay, offset_map: OffsetMap
    ) -> None:
        names: dict[str, UniqueNames] = {}
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
                id, target = task.id, _find_document(before, new_path)
                if position is not None and target is not None and target.find_task(id) is not None:
                    unique_names = names.setdefault(
                        new_path, UniqueNames("-", 1, list_used_names(new_document))
                    )
                    id = self.new_ids[position] = unique_names.make_unique(id)
                self.new_references.setdefault(reference, f"{new_path}#{id}")


def _may_lose_task(document: Document, offset_map: OffsetMap) -> bool:
    """Return True if a task with an id, or one that depends on another, may be moved away or removed."""
    path = document.path
    is_moved = offset_map.find_new_path(path) != path or any(
        span.old_path == path != span.new_path for span in offset_map.preserved_spans
    )
    if is_moved:
        return _TASK_ID.search(document.data) is not None or may_have_dependencies(document.data)
    return any(
        _TASK_ID.search(document.data, *_find_lines(document.data, start, end))
        for start, end in offset_map.find_edited_spans(document)
    )


def _find_lines(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the range of the lines of an edited span, which may be a part of an id."""
    line_end = data.find(b"\n", end)
    return data.rfind(b"\n", 0, start) + 1, len(data) if line_end < 0 else line_end
