"""Examples of edits: the caller's own fields, and for the rest what would have worked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.documents import operations
from tools.examples import with_sections, with_task
from workspace.config import LimitExceeded
from workspace.edits import DocumentOperation
from workspace.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from workspace.errors import WorkspaceError
    from workspace.snapshot import Snapshot

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

_SHOWN_LINES = 20
_MAX_QUOTE = 200


def completed(operation: type[DocumentOperation], values: Data) -> Data:
    """The fields of a call: those given, and placeholders for what it needs beside them."""
    needed = [field.name for field in operations.fields_of(operation) if not field.is_optional]
    if operation.name in _MEANT and values.keys() <= set(needed):
        needed.append(_MEANT[operation.name])
    placeholders = {**PLACEHOLDERS, **_OWN.get(operation.name, {})}
    return {**{field: placeholders[field] for field in needed}, **values}


def with_words(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """An example whose document, section, task and quoted text are there."""
    operation = operations.by_name()[example["operation"]]
    if operation.names_task:
        example = with_task(example, error, snapshot)
        # The place that was named may be what is wrong; where the task stands is one.
        own = {"to_slug": str(example["slug"]).rpartition("[")[0]} if "to_slug" in example else {}
        return {field: value for field, value in {**example, **own}.items() if field != "before"}
    example = with_sections(example, error, snapshot)
    return _with_quotation(example, error, snapshot) if error.code == "MATCH_COUNT" else example


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
