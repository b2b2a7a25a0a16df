"""Examples of edits: the caller's own fields, and for the rest what would have worked."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from tools.documents import edit_operations
from tools.examples import with_sections, with_task
from tools.outline import TASKS
from workspace.config.config import LimitExceeded
from workspace.document.sections import PREAMBLE
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot

Data = dict[str, Any]

PLACEHOLDERS: Data = {
    "file": "api.md",
    "slug": "endpoints",
    "title": "Authentication",
    "content": "Text in Markdown.",
    "new_title": "API endpoints",
    "new_path": "reference/api.md",
    "old": "v1",
    "new": "v2",
    "metadata": {"status": "draft"},
    "criteria": "All examples run",
    "to_slug": "tasks",
    "after": "errors",
}
_OF_TASKS: Data = {"slug": "tasks[0]", "title": "Document the error codes"}
_OWN: dict[str, Data] = {
    "add_task": {**_OF_TASKS, "slug": "tasks"},
    "update_task": _OF_TASKS,
    "remove_task": _OF_TASKS,
    "move_task": _OF_TASKS,
}
# What a call needs beside its required fields to say what it is to do.
_MEANT = {"update_task": "criteria", "move_task": "to_slug", "move_section": "after"}

_TEXT_ERRORS = frozenset(("MATCH_COUNT", "STRUCTURE_CHANGED", "INVALID_CONTENT"))
_PLACE_ERRORS = frozenset(
    (
        *("INVALID_MOVE", "LEVEL_CONFLICT", "STRUCTURE_CHANGED", "INVALID_PATH", "DOCUMENT_NOT_FOUND"),
        *("SECTION_NOT_FOUND", "INVALID_ADDRESS", "AMBIGUOUS_ADDRESS"),
    )
)
_PATH_ERRORS = frozenset(("PATH_EXISTS", "INVALID_PATH"))
_SHOWN_LINES = 20
_MAX_QUOTE = 200


def completed(operation: str, values: Data) -> Data:
    """The fields of a call: those given, and placeholders for what it needs beside them."""
    needed = [field.name for field in edit_operations.fields_of(operation) if not field.is_optional]
    if operation in _MEANT and values.keys() <= set(needed):
        needed.append(_MEANT[operation])
    placeholders = {**PLACEHOLDERS, **_OWN.get(operation, {})}
    return {**{field: placeholders[field] for field in needed}, **values}


def with_words(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """An example whose document, section, task and quoted text are there."""
    operation = example["operation"]
    if edit_operations.classes()[operation].names_task:
        example = with_task(example, error, snapshot)
        # The place that was named may be what is wrong; where the task stands is one.
        is_moved = operation == "move_task"
        own = {"to_slug": str(example["slug"]).rpartition("[")[0]} if is_moved else {}
        return {field: value for field, value in {**example, **own}.items() if field != "before"}
    named = example.get("file")
    if operation == "add_task" and error.code == "SECTION_NOT_FOUND" and _has_no_tasks(named, snapshot):
        return {"operation": "add_section", "file": named, "title": "Tasks"}
    example = with_sections(example, error, snapshot)
    known = {"operation", *(field.name for field in edit_operations.fields_of(operation))}
    example = {field: value for field, value in example.items() if field in known}
    if operation == "replace_text" and error.code in _TEXT_ERRORS:
        return _with_quotation(example, error, snapshot)
    if "new_path" in example and (error.code in _PATH_ERRORS or example["file"] != named):
        return {**example, "new_path": _free_path(example["file"], snapshot), "dry_run": True}
    is_refused = operation == "move_section" and error.code in _PLACE_ERRORS
    return _with_place(example, snapshot) if is_refused else example


def _has_no_tasks(file: object, snapshot: Snapshot) -> bool:
    """Return True if a document is there, and none of its sections is for tasks."""
    with suppress(DocumentNotFound, LimitExceeded, NotADocument):
        document = snapshot.document(str(file))
        return document.section_by_key(TASKS) is None and not document.all_tasks
    return False


def _free_path(file: str, snapshot: Snapshot) -> str:
    """A path beside a document that nothing has."""
    stem, dot, suffix = file.rpartition(".")
    paths = (f"{stem}-{number}{dot}{suffix}" for number in count(1))
    return next(path for path in paths if path not in snapshot.documents)


def _with_place(example: Data, snapshot: Snapshot) -> Data:
    """A section's move to the end of its own document, which nothing hinders, without a commit."""
    moved: Data = {name: example[name] for name in ("operation", "file", "slug") if name in example}
    if moved.get("slug") == PREAMBLE:
        with suppress(DocumentNotFound, LimitExceeded, NotADocument):
            sections = snapshot.document(moved["file"]).sections
            moved["slug"] = next((item.key for item in sections if not item.is_preamble), PREAMBLE)
    return {**moved, "dry_run": True}


def _with_quotation(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """The number of matches that there are; else a line that stands there once, without a commit."""
    matches = error.details.get("matches")
    if isinstance(matches, int) and matches:
        return {**example, "count": matches}
    try:
        document = snapshot.document(example["file"])
    except (DocumentNotFound, LimitExceeded, NotADocument):
        return example
    body = document.text(document.front_matter_end, len(document.data))
    lines = [line.strip() for line in body.splitlines()[: 10 * _SHOWN_LINES]]
    quotable = [line for line in lines if line and len(line) <= _MAX_QUOTE and line.isprintable()]
    quoted = next((line for line in quotable[:_SHOWN_LINES] if body.count(line) == 1), None)
    if quoted is None:
        return example
    return {
        **{field: value for field, value in example.items() if field not in ("slug", "count")},
        "old": quoted,
        "new": quoted,
        "dry_run": True,
    }
