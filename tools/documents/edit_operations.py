"""The operations of edit_document: their fields, how a call selects one, and examples after an error.

Some operations are those of other writing tools, so that one batch can contain every change. An example has
the caller's fields, and valid values for the missing fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tools.arguments import Boolean, Integer, InvalidArguments, Object, Strings, find_nearest_fields
from tools.examples import correct_sections, correct_task
from tools.outline import TASKS_KEY
from workspace.document.addresses import read_fragment
from workspace.errors import LimitExceeded
from workspace.markdown.slugs import PREAMBLE
from workspace.nearest import find_nearest
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing

if TYPE_CHECKING:
    from tools.tool import CallArguments, Tool
    from tools.writer import Writer
    from workspace.edits.operation import DocumentOperation
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot

EDIT_FIELDS: Mapping[str, Mapping[str, str]] = {
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
        "to_title?": "string",
    },
    "replace_text": {
        "file": "string",
        "old": "string",
        "new": "string",
        "slug?": "string",
        "count?": "integer",
    },
    "set_metadata": {"file": "string", "metadata": "object"},
    "move_document": {"file": "string", "new_path?": "string", "to_title?": "string"},
}
"""The fields of each operation that only edit_document has; `?` marks an optional field.

The fields of the classes in `workspace.edits` are repeated here, and a test compares both. An import of the
classes would take a fifth of the time of `tools/list`, measured without the SDK.
"""

TOOL_OPERATIONS: Mapping[str, Mapping[str, str]] = {
    "create_document": {
        "doc_type": "string",
        "title": "string",
        "initial_content?": "string",
        "folder?": "string",
        "path?": "string",
    },
    "remove_document": {"path?": "string", "file?": "string", "slug?": "string"},
    "complete_task": {"file": "string", "slug": "string", "note?": "string"},
    "reopen_task": {"file": "string", "slug": "string"},
    "tag_document": {"file": "string", "tags": "array", "remove?": "boolean", "replace?": "boolean"},
    "restore_document": {"file?": "string", "slug?": "string", "ref?": "string", "undo?": "string"},
}
"""The fields of the operations of other writing tools, without the fields that all writing tools share."""

SPECIFICATIONS: Mapping[str, Mapping[str, str]] = {**EDIT_FIELDS, **TOOL_OPERATIONS}
"""The fields of each operation as a client lists them."""

# Operations of other tools that a call selects by its fields alone. A call must name a removal or completion.
_IMPLIED_TOOL_OPERATIONS = ("create_document", "tag_document", "restore_document")

# Known operations, by a word in the name of an unknown one.
_OPERATION_BY_WORD = {
    "remove": "remove_document",
    "delete": "remove_document",
    "complete": "complete_task",
    "reopen": "reopen_task",
    "tag": "tag_document",
    "create": "create_document",
    "restore": "restore_document",
    "undo": "restore_document",
    "revert": "restore_document",
}

# Wrong names of operations that language models send, and the operations that they mean.
_SYNONYMS = {
    "delete_task": "remove_task",
    "delete_section": "remove_document",
    "remove_section": "remove_document",
    "delete_document": "remove_document",
    "delete_file": "remove_document",
    "remove_file": "remove_document",
    **dict.fromkeys(("create_section", "insert_section", "new_section"), "add_section"),
    **dict.fromkeys(
        (
            "update_section",
            "replace_section",
            "edit_section",
            "rewrite_section",
            "set_section",
            "write_section",
            "overwrite_section",
            "modify_section",
            "change_section",
            "replace_content",
        ),
        "update_content",
    ),
    **dict.fromkeys(("append_section", "append_to_section", "add_content"), "append_content"),
    "create_task": "add_task",
    "insert_task": "add_task",
    "edit_task": "update_task",
    "rename_task": "update_task",
    "check_task": "complete_task",
    "tick_task": "complete_task",
    "uncheck_task": "reopen_task",
    "rename_document": "move_document",
    "rename_file": "move_document",
    "move_file": "move_document",
    **dict.fromkeys(("find_and_replace", "search_and_replace", "edit_text", "update_text"), "replace_text"),
    **dict.fromkeys(("set_front_matter", "set_frontmatter", "update_frontmatter"), "set_metadata"),
    **dict.fromkeys(("add_tag", "add_tags", "set_tags"), "tag_document"),
}

# The types of the fields in a call.
_ARGUMENT_TYPES: dict[str, object] = {
    "string": str,
    "boolean": Boolean,
    "integer": Integer,
    "object": Object,
    "array": Strings,
}


class OperationField(NamedTuple):
    """A field of an operation."""

    name: str
    type: str
    is_optional: bool


@cache
def get_operation_fields(name: str) -> tuple[OperationField, ...]:
    """Return the fields of an operation."""
    return tuple(
        OperationField(field.removesuffix("?"), kind, field.endswith("?"))
        for field, kind in SPECIFICATIONS[name].items()
    )


class WritingTool(NamedTuple):
    """A writing tool whose operation edit_document also accepts."""

    tool: Tool
    writer: Writer


def load_writing_tool(operation: str) -> WritingTool | None:
    """Return the tool of an operation; None for an operation that only edit_document has."""
    if operation not in TOOL_OPERATIONS:
        return None
    from tools.documents import create_document, remove_document
    from tools.history import restore_document
    from tools.tasks import complete_task, reopen_task, tag_document

    modules = (create_document, remove_document, complete_task, reopen_task, tag_document, restore_document)
    return next(
        WritingTool(module.TOOL, module.WRITER) for module in modules if module.TOOL.name == operation
    )


@cache
def load_operation_classes() -> Mapping[str, type[DocumentOperation]]:
    """Return the classes of the operations by name; they are imported at the first call."""
    from workspace.edits.edit_operations import EDIT_OPERATIONS

    return {operation.name: operation for operation in EDIT_OPERATIONS}


def describe_fields(name: str) -> str:
    """Return the fields of an operation on one line: `file, title, parent_slug?`."""
    return ", ".join(SPECIFICATIONS[name])


def list_all_fields() -> dict[str, Any]:
    """Return the fields of all operations as optional fields of a pydantic model."""
    fields: dict[str, Any] = {}
    for name in SPECIFICATIONS:
        for field in get_operation_fields(name):
            fields.setdefault(field.name, cast("Any", _ARGUMENT_TYPES[field.type]) | None)
    return fields


def resolve_operation(arguments: CallArguments) -> str:
    """Return the operation that a call names, else the operation that its fields match.

    Raises InvalidArguments if the name is unknown, and if several operations or none match.
    """
    name = arguments.get("operation")
    if name is not None:
        if not isinstance(name, str) or name not in SPECIFICATIONS:
            shown_name = str(name)[:100]
            nearest = _find_nearest_operations(shown_name)
            fix = (
                f"Did you mean '{nearest[0]}'?"
                if nearest
                else f"Known operations: {', '.join(SPECIFICATIONS)}."
            )
            raise InvalidArguments(
                f"unknown operation '{shown_name}'",
                fix=fix,
                field="operation",
                valid_operations=list(SPECIFICATIONS),
            )
        return name
    field_names = {field for field in arguments if field != "operation"}
    matching_names = _list_matching_operations(arguments, field_names)
    if len(matching_names) > 1:
        implied_names = [
            name
            for name in matching_names
            if (fields := _get_implying_fields(name)) and fields <= field_names
        ]
        matching_names = implied_names if len(implied_names) == 1 else matching_names
    if len(matching_names) == 1:
        return matching_names[0]
    if matching_names:
        alternatives = " or ".join(matching_names)
        raise InvalidArguments(
            f"'operation' is required: the given fields match {alternatives}",
            fix="Give 'operation'.",
            field="operation",
        )
    raise _build_mismatch_error(field_names)


def guess_operation(arguments: CallArguments) -> str | None:
    """Return the most likely operation of an invalid call; None if it is ambiguous."""
    name = arguments.get("operation")
    if isinstance(name, str):
        nearest = [name] if name in SPECIFICATIONS else _find_nearest_operations(name[:100])
        return nearest[0] if nearest else None
    field_names = {field for field in arguments if field != "operation"}
    matching_names = _list_matching_operations(arguments, field_names)
    implied_names = [
        name
        for name in matching_names or SPECIFICATIONS
        if (fields := _get_implying_fields(name)) & field_names and fields <= field_names
    ]
    if len(implied_names) == 1:
        return implied_names[0]
    return matching_names[0] if len(matching_names) == 1 else None


def _find_nearest_operations(name: str) -> list[str]:
    """Return the operations nearest to an unknown name: by synonym, by spelling, or by a word of the name."""
    if name in _SYNONYMS:
        return [_SYNONYMS[name]]
    return find_nearest(name, SPECIFICATIONS) or [
        operation for word, operation in _OPERATION_BY_WORD.items() if word in name.lower()
    ]


def _get_implying_fields(name: str) -> frozenset[str]:
    """Return the fields that select an operation without its name; empty for an operation of another tool."""
    operation_class = load_operation_classes().get(name)
    return operation_class.implied_by if operation_class else frozenset()


def _list_matching_operations(arguments: CallArguments, field_names: set[str]) -> list[str]:
    """Return the operations that the fields match; the `slug` of a task selects operations on tasks.

    An operation of another tool matches only if no operation that only edit_document has matches.
    """
    matching_names = [name for name in load_operation_classes() if _matches_fields(name, field_names)]
    if not matching_names:
        return [name for name in _IMPLIED_TOOL_OPERATIONS if _matches_fields(name, field_names)]
    slug = arguments.get("slug")
    is_task = isinstance(slug, str) and read_fragment(slug).task is not None
    return [
        name for name in matching_names if load_operation_classes()[name].targets_task in (None, is_task)
    ] or matching_names


def _matches_fields(name: str, field_names: set[str]) -> bool:
    """Return True if the fields match an operation; `file` and `slug` alone do not."""
    fields = get_operation_fields(name)
    required_names = {field.name for field in fields if not field.is_optional}
    return required_names <= field_names <= {field.name for field in fields} and not field_names <= {
        "file",
        "slug",
    }


def _build_mismatch_error(field_names: set[str]) -> InvalidArguments:
    known_fields = ["operation", *list_all_fields()]
    for field in sorted(field_names - set(known_fields)):
        nearest = find_nearest_fields(field, known_fields)
        fix = f"Did you mean '{nearest[0]}'?" if nearest else f"Known fields: {', '.join(known_fields)}."
        return InvalidArguments(f"unknown field '{field[:80]}'", fix=fix, field=field[:80], nearest=nearest)
    return InvalidArguments(
        "'operation' is required: the given fields match no operation",
        fix=f"Give 'operation', one of: {', '.join(SPECIFICATIONS)}.",
        field="operation",
        valid_operations=list(SPECIFICATIONS),
    )


def build_operation(operation: str, values: Mapping[str, object]) -> DocumentOperation:
    """Return an operation with the given fields.

    Raises InvalidArguments for a missing field, and for a field of another operation.
    """
    check_fields(operation, values)
    operation_instance: DocumentOperation = cast("Any", load_operation_classes()[operation])(**values)
    return operation_instance


def check_fields(operation: str, values: Mapping[str, object]) -> None:
    """Raise InvalidArguments for a missing field of an operation, and for a field of another operation."""
    fields = {field.name: field for field in get_operation_fields(operation)}
    for name in values:
        if name not in fields:
            nearest = find_nearest_fields(name, list(fields))
            raise InvalidArguments(
                f"'{name[:80]}' is not a field of {operation}",
                fix=f"Did you mean '{nearest[0]}'?"
                if nearest
                else f"Its fields: {describe_fields(operation)}.",
                field=name,
                nearest=nearest,
            )
    missing_names = [
        field.name for field in fields.values() if not field.is_optional and field.name not in values
    ]
    if missing_names:
        names = ", ".join(f"'{name}'" for name in missing_names)
        raise InvalidArguments(
            f"{operation} requires {names}",
            fix=f"Give {names}.",
            field=missing_names[0],
            missing=missing_names,
        )


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

_TASK_PLACEHOLDERS: Data = {"slug": "tasks[0]", "title": "Document the error codes"}

_PLACEHOLDERS_BY_OPERATION: dict[str, Data] = {
    "add_task": {**_TASK_PLACEHOLDERS, "slug": "tasks"},
    "update_task": _TASK_PLACEHOLDERS,
    "remove_task": _TASK_PLACEHOLDERS,
    "move_task": _TASK_PLACEHOLDERS,
}

# An optional field without which a call would have no effect.
_EXTRA_FIELD_BY_OPERATION = {
    "update_task": "criteria",
    "move_task": "to_slug",
    "move_section": "after",
    "move_document": "new_path",
}
_TEXT_ERRORS = frozenset(("MATCH_COUNT", "STRUCTURE_CHANGED", "INVALID_CONTENT"))

_MOVE_ERRORS = frozenset(
    (
        *("INVALID_MOVE", "LEVEL_CONFLICT", "STRUCTURE_CHANGED", "INVALID_PATH", "DOCUMENT_NOT_FOUND"),
        *("INVALID_TITLE", "INVALID_CONTENT", "INVALID_ARGUMENTS", "PATH_EXISTS"),
        *("SECTION_NOT_FOUND", "INVALID_ADDRESS", "AMBIGUOUS_ADDRESS"),
    )
)

_PATH_ERRORS = frozenset(("PATH_EXISTS", "INVALID_PATH", "INVALID_TITLE", "INVALID_CONTENT", "INVALID_MOVE"))
_MAX_QUOTABLE_LINES = 20
_MAX_QUOTE_CHARACTERS = 200


def complete_fields(operation: str, values: Data) -> Data:
    """Return the given fields of a call, and placeholders for the missing ones."""
    required_names = [field.name for field in get_operation_fields(operation) if not field.is_optional]
    if operation in _EXTRA_FIELD_BY_OPERATION and values.keys() <= set(required_names):
        required_names.append(_EXTRA_FIELD_BY_OPERATION[operation])
    placeholders = {**PLACEHOLDERS, **_PLACEHOLDERS_BY_OPERATION.get(operation, {})}
    return {**{field: placeholders[field] for field in required_names}, **values}


def correct_operation_example(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose document, section, task and quoted text exist."""
    operation = example["operation"]
    if (writing_tool := load_writing_tool(operation)) is not None:
        return _correct_tool_example(writing_tool.tool, example, error, snapshot)
    if load_operation_classes()[operation].targets_task:
        example = correct_task(example, error, snapshot)
        # The requested destination may be the invalid field, so the example uses the task's own section.
        is_move = operation == "move_task"
        task_section = {"to_slug": str(example["slug"]).rpartition("[")[0]} if is_move else {}
        return {field: value for field, value in {**example, **task_section}.items() if field != "before"}
    file = example.get("file")
    if operation == "add_task" and error.code == "SECTION_NOT_FOUND" and _has_no_tasks(file, snapshot):
        return {"operation": "add_section", "file": file, "title": "Tasks"}
    example = correct_sections(example, error, snapshot)
    field_names = {"operation", *(field.name for field in get_operation_fields(operation))}
    example = {field: value for field, value in example.items() if field in field_names}
    if operation == "replace_text" and error.code in _TEXT_ERRORS:
        return _correct_quotation(example, error, snapshot)
    if operation == "move_document" and (error.code in _PATH_ERRORS or example["file"] != file):
        fields: Data = {name: example[name] for name in ("operation", "file") if name in example}
        return {**fields, "new_path": _find_free_path(example["file"], snapshot), "dry_run": True}
    is_invalid_move = operation == "move_section" and error.code in _MOVE_ERRORS
    return _move_to_end(example, snapshot) if is_invalid_move else example


def _correct_tool_example(tool: Tool, example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example of an operation of another tool, corrected by that tool."""
    fields = {name: value for name, value in example.items() if name != "operation"}
    if tool.correct:
        fields = tool.correct(fields, error, snapshot)
    if error.details.get("field") == "operation" and tool.destructive:
        fields["dry_run"] = True  # the call did not name the operation
    return {"operation": example["operation"], **fields}


def _has_no_tasks(file: object, snapshot: Snapshot) -> bool:
    """Return True if a document exists and has neither tasks nor a section for them."""
    with suppress(DocumentNotFound, LimitExceeded, LfsTextMissing):
        document = snapshot.document(str(file))
        return document.section_by_key(TASKS_KEY) is None and not document.all_tasks
    return False


def _find_free_path(file: str, snapshot: Snapshot) -> str:
    """Return an unused path in the folder of a document."""
    stem, dot, suffix = file.rpartition(".")
    paths = (f"{stem}-{number}{dot}{suffix}" for number in count(1))
    return next(path for path in paths if path not in snapshot.documents)


def _move_to_end(example: Data, snapshot: Snapshot) -> Data:
    """Return a dry run of a section's move to the end of its own document, which is always valid."""
    move_fields: Data = {name: example[name] for name in ("operation", "file", "slug") if name in example}
    if move_fields.get("slug") == PREAMBLE:
        with suppress(DocumentNotFound, LimitExceeded, LfsTextMissing):
            sections = snapshot.document(move_fields["file"]).sections
            move_fields["slug"] = next((item.key for item in sections if not item.is_preamble), PREAMBLE)
    return {**move_fields, "dry_run": True}


def _correct_quotation(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example with the actual number of matches, else a dry run with a line that occurs once."""
    matches = error.details.get("matches")
    if isinstance(matches, int) and matches:
        return {**example, "count": matches}
    try:
        document = snapshot.document(example["file"])
    except (DocumentNotFound, LimitExceeded, LfsTextMissing):
        return example
    body = document.text(document.front_matter_end, len(document.data))
    lines = [line.strip() for line in body.splitlines()[: 10 * _MAX_QUOTABLE_LINES]]
    quotable_lines = [
        line for line in lines if line and len(line) <= _MAX_QUOTE_CHARACTERS and line.isprintable()
    ]
    quotation = next((line for line in quotable_lines[:_MAX_QUOTABLE_LINES] if body.count(line) == 1), None)
    if quotation is None:
        return example
    return {
        **{field: value for field, value in example.items() if field not in ("slug", "count")},
        "old": quotation,
        "new": quotation,
        "dry_run": True,
    }
