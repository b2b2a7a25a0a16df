"""The operations of edit_document: their fields, how a call selects one, and examples after an error.

An example has the caller's own fields, and for the rest values that would have worked.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tools.arguments import Boolean, Integer, InvalidArguments, Object, nearest_field
from tools.examples import with_sections, with_task
from tools.outline import TASKS
from workspace.document.addresses import read_fragment
from workspace.errors import LimitExceeded
from workspace.markdown.slugs import PREAMBLE
from workspace.nearest import find_nearest
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from tools.tool import Given
    from workspace.edits import DocumentOperation
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot

SPECIFICATIONS: Mapping[str, Mapping[str, str]] = {
    "add_section": {
        "file": "string",
        "title": "string",
        "parent_slug?": "string",
        "content?": "string",
        "before?": "string",
        "after?": "string",
    },
    "add_task": {
        "file": "string",
        "slug": "string",
        "title": "string",
        "criteria?": "string",
        "assignee?": "string",
        "before?": "string",
    },
    "update_task": {
        "file": "string",
        "slug": "string",
        "title?": "string",
        "criteria?": "string",
        "note?": "string",
        "assignee?": "string",
    },
    "remove_task": {"file": "string", "slug": "string"},
    "move_task": {"file": "string", "slug": "string", "to_slug?": "string", "before?": "string"},
    "update_content": {
        "file": "string",
        "slug": "string",
        "content": "string",
        "include_subsections?": "boolean",
    },
    "append_content": {"file": "string", "slug": "string", "content": "string"},
    "rename_section": {"file": "string", "slug": "string", "new_title": "string"},
    "move_section": {
        "file": "string",
        "slug": "string",
        "to_file?": "string",
        "parent_slug?": "string",
        "before?": "string",
        "after?": "string",
    },
    "replace_text": {
        "file": "string",
        "old": "string",
        "new": "string",
        "slug?": "string",
        "count?": "integer",
    },
    "set_metadata": {"file": "string", "metadata": "object"},
    "move_document": {"file": "string", "new_path": "string"},
}
"""The fields of each operation as a client is told them: `parent_slug?` may be left out.

They are those of the classes in `workspace.edits`, which a test holds: to import these for a list of tools
would be a fifth of the time that the list takes beside the SDK.
"""

# What other tools do, by the words with which it is looked for here.
_OTHER_TOOLS = {
    "remove": "remove_document",
    "delete": "remove_document",
    "complete": "complete_task",
    "reopen": "reopen_task",
    "tag": "tag_document",
    "create": "create_document",
}

# What models call operations that are named otherwise here.
_OTHER_NAMES = {
    "delete_task": "remove_task",
    "edit_task": "update_task",
    "rename_task": "update_task",
    "rename_document": "move_document",
    "rename_file": "move_document",
    "find_and_replace": "replace_text",
    "set_front_matter": "set_metadata",
}

# What the types are in a call.
_ARGUMENTS: dict[str, object] = {"string": str, "boolean": Boolean, "integer": Integer, "object": Object}


class OperationField(NamedTuple):
    """A field of an operation: its name, its type, and whether it may be left out."""

    name: str
    type: str
    is_optional: bool


@cache
def fields_of(name: str) -> tuple[OperationField, ...]:
    """Return the fields of an operation."""
    return tuple(
        OperationField(field.removesuffix("?"), kind, field.endswith("?"))
        for field, kind in SPECIFICATIONS[name].items()
    )


@cache
def classes() -> Mapping[str, type[DocumentOperation]]:
    """Return the classes of the operations by name, imported when a call means one of them."""
    from workspace.edits import EDIT_OPERATIONS

    return {operation.name: operation for operation in EDIT_OPERATIONS}


def describe_fields(name: str) -> str:
    """Return the fields of an operation on one line: `file, title, parent_slug?`."""
    return ", ".join(SPECIFICATIONS[name])


def all_fields() -> dict[str, Any]:
    """Return the fields of all operations together, as a pydantic model takes them; each may be left out."""
    fields: dict[str, Any] = {}
    for name in SPECIFICATIONS:
        for field in fields_of(name):
            fields.setdefault(field.name, cast("Any", _ARGUMENTS[field.type]) | None)
    return fields


def resolve_operation(item: Given) -> str:
    """Return the operation that a call names, else the one that its fields match.

    Raises InvalidArguments.
    """
    name = item.get("operation")
    if name is not None:
        if not isinstance(name, str) or name not in SPECIFICATIONS:
            shown = str(name)[:100]
            near = [_OTHER_NAMES[shown]] if shown in _OTHER_NAMES else find_nearest(shown, SPECIFICATIONS)
            other = (
                None
                if shown in _OTHER_NAMES
                else next((tool for word, tool in _OTHER_TOOLS.items() if word in shown.lower()), None)
            )
            fix = f"Did you mean '{near[0]}'?" if near else f"Known operations: {', '.join(SPECIFICATIONS)}."
            raise InvalidArguments(
                f"unknown operation '{shown}'",
                fix=f"Use the tool {other}." if other else fix,
                field="operation",
                valid_operations=list(SPECIFICATIONS),
            )
        return name
    given = {field for field in item if field != "operation"}
    fitting = _matching_operations(item, given)
    if len(fitting) > 1:
        implied = [name for name in fitting if (fields := classes()[name].implied_by) and fields <= given]
        fitting = implied if len(implied) == 1 else fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " or ".join(fitting)
        raise InvalidArguments(
            f"'operation' is required: the given fields match {names}",
            fix="Name the 'operation'.",
            field="operation",
        )
    raise _mismatch_error(given)


def guess_operation(item: Given) -> str | None:
    """Return the operation that an invalid call most likely means; None if that is ambiguous."""
    name = item.get("operation")
    if isinstance(name, str):
        near = [name] if name in SPECIFICATIONS else find_nearest(name[:100], SPECIFICATIONS)
        return near[0] if near else None
    given = {field for field in item if field != "operation"}
    fitting = _matching_operations(item, given)
    implied = [
        name
        for name in fitting or SPECIFICATIONS
        if (fields := classes()[name].implied_by) & given and fields <= given
    ]
    if len(implied) == 1:
        return implied[0]
    return fitting[0] if len(fitting) == 1 else None


def _matching_operations(item: Given, given: set[str]) -> list[str]:
    """Return the operations that the fields match; a `slug` of a task selects those on tasks."""
    fitting = [name for name in SPECIFICATIONS if _fits(name, given)]
    slug = item.get("slug")
    is_task = isinstance(slug, str) and read_fragment(slug).task is not None
    return [name for name in fitting if classes()[name].names_task in (None, is_task)] or fitting


def _fits(name: str, given: set[str]) -> bool:
    """Return True if fields are all of an operation's own; a name alone does not say what to do with it."""
    fields = fields_of(name)
    required = {field.name for field in fields if not field.is_optional}
    return required <= given <= {field.name for field in fields} and not given <= {"file", "slug"}


def _mismatch_error(given: set[str]) -> InvalidArguments:
    known = ["operation", *all_fields()]
    for field in sorted(given - set(known)):
        near = nearest_field(field, known)
        fix = f"Did you mean '{near[0]}'?" if near else f"Known fields: {', '.join(known)}."
        return InvalidArguments(f"unknown field '{field[:80]}'", fix=fix, field=field[:80], nearest=near)
    return InvalidArguments(
        "'operation' is missing, and the fields given do not decide it",
        fix=f"Name one of: {', '.join(SPECIFICATIONS)}.",
        field="operation",
        valid_operations=list(SPECIFICATIONS),
    )


def build(operation: str, values: Mapping[str, object]) -> DocumentOperation:
    """Return an operation of the fields given.

    Raises InvalidArguments for a missing one, or one of another's.
    """
    fields = {field.name: field for field in fields_of(operation)}
    for name in values:
        if name not in fields:
            near = nearest_field(name, list(fields))
            raise InvalidArguments(
                f"'{name[:80]}' does not belong to {operation}",
                fix=f"Did you mean '{near[0]}'?" if near else f"Its fields: {describe_fields(operation)}.",
                field=name,
                nearest=near,
            )
    missing = [field.name for field in fields.values() if not field.is_optional and field.name not in values]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        raise InvalidArguments(
            f"{operation} needs {names}", fix=f"Give {names}.", field=missing[0], missing=missing
        )
    made: DocumentOperation = cast("Any", classes()[operation])(**values)
    return made


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


def complete_fields(operation: str, values: Data) -> Data:
    """Return the fields of a call: those given, and placeholders for what it needs beside them."""
    needed = [field.name for field in fields_of(operation) if not field.is_optional]
    if operation in _MEANT and values.keys() <= set(needed):
        needed.append(_MEANT[operation])
    placeholders = {**PLACEHOLDERS, **_OWN.get(operation, {})}
    return {**{field: placeholders[field] for field in needed}, **values}


def with_existing_text(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose document, section, task and quoted text are there."""
    operation = example["operation"]
    if classes()[operation].names_task:
        example = with_task(example, error, snapshot)
        # The place that was named may be what is wrong; where the task stands is one.
        is_moved = operation == "move_task"
        own = {"to_slug": str(example["slug"]).rpartition("[")[0]} if is_moved else {}
        return {field: value for field, value in {**example, **own}.items() if field != "before"}
    named = example.get("file")
    if operation == "add_task" and error.code == "SECTION_NOT_FOUND" and _has_no_tasks(named, snapshot):
        return {"operation": "add_section", "file": named, "title": "Tasks"}
    example = with_sections(example, error, snapshot)
    known = {"operation", *(field.name for field in fields_of(operation))}
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
    """Return a path beside a document that nothing has."""
    stem, dot, suffix = file.rpartition(".")
    paths = (f"{stem}-{number}{dot}{suffix}" for number in count(1))
    return next(path for path in paths if path not in snapshot.documents)


def _with_place(example: Data, snapshot: Snapshot) -> Data:
    """Return a section's move to the end of its own document, which nothing hinders, without a commit."""
    moved: Data = {name: example[name] for name in ("operation", "file", "slug") if name in example}
    if moved.get("slug") == PREAMBLE:
        with suppress(DocumentNotFound, LimitExceeded, NotADocument):
            sections = snapshot.document(moved["file"]).sections
            moved["slug"] = next((item.key for item in sections if not item.is_preamble), PREAMBLE)
    return {**moved, "dry_run": True}


def _with_quotation(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return the number of matches that there are; else a line that stands there once, without a commit."""
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
