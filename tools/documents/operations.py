"""The operations of edit_document: their fields, and which of them a call means."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args, get_origin, get_type_hints

from tools.arguments import Boolean, Integer, InvalidArguments, Object, nearest_field
from workspace.addresses import nearest, read_fragment
from workspace.edits import EDIT_OPERATIONS, DocumentOperation

if TYPE_CHECKING:
    from tools.tool import Given

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

_TYPES: dict[object, str] = {str: "string", bool: "boolean", int: "integer", Mapping: "object"}
# What the same are in a call.
_ARGUMENTS: dict[object, object] = {str: str, bool: Boolean, int: Integer, Mapping: Object}


@dataclasses.dataclass(frozen=True, slots=True)
class OperationField:
    """A field of an operation: its name, its type, and whether it may be left out."""

    name: str
    type: type
    is_optional: bool


def fields_of(operation: type[DocumentOperation]) -> tuple[OperationField, ...]:
    """The fields of an operation, read from its own declaration."""
    return _fields(operation.name)


@cache
def _fields(name: str) -> tuple[OperationField, ...]:
    operation = by_name()[name]
    hints = get_type_hints(operation, localns={"ClassVar": ClassVar})
    found: list[OperationField] = []
    for field in dataclasses.fields(cast("Any", operation)):
        hint = hints[field.name]
        plain = hint
        if get_origin(hint) is UnionType:
            plain = next(part for part in get_args(hint) if part is not type(None))
        plain = get_origin(plain) or plain
        is_optional = field.default is not dataclasses.MISSING
        found.append(OperationField(field.name, plain, is_optional))
    return tuple(found)


@cache
def by_name() -> Mapping[str, type[DocumentOperation]]:
    """The operations by name."""
    return {operation.name: operation for operation in EDIT_OPERATIONS}


def specification(operation: type[DocumentOperation]) -> dict[str, str]:
    """The fields of an operation as a client is told them: `parent_slug?` may be left out."""
    return {
        field.name + ("?" if field.is_optional else ""): _TYPES[field.type] for field in fields_of(operation)
    }


def in_brief(operation: type[DocumentOperation]) -> str:
    """The same on one line: `file, title, parent_slug?`."""
    return ", ".join(specification(operation))


def all_fields() -> dict[str, Any]:
    """The fields of all operations together, as a pydantic model takes them; each may be left out."""
    fields: dict[str, Any] = {}
    for operation in EDIT_OPERATIONS:
        for field in fields_of(operation):
            fields.setdefault(field.name, cast("Any", _ARGUMENTS[field.type]) | None)
    return fields


def meant(item: Given) -> type[DocumentOperation]:
    """The operation that a call names, else the one that its fields decide. Raises InvalidArguments."""
    known = by_name()
    name = item.get("operation")
    if name is not None:
        operation = known.get(name) if isinstance(name, str) else None
        if operation is None:
            shown = str(name)[:100]
            near = [_OTHER_NAMES[shown]] if shown in _OTHER_NAMES else nearest(shown, known)
            other = (
                None
                if shown in _OTHER_NAMES
                else next((tool for word, tool in _OTHER_TOOLS.items() if word in shown.lower()), None)
            )
            fix = f"Did you mean '{near[0]}'?" if near else f"Known operations: {', '.join(known)}."
            raise InvalidArguments(
                f"unknown operation '{shown}'",
                fix=f"Use the tool {other}." if other else fix,
                field="operation",
                valid_operations=list(known),
            )
        return operation
    given = {field for field in item if field != "operation"}
    fitting = _fitting(item, given)
    if len(fitting) > 1:
        implied = [
            operation for operation in fitting if operation.implied_by and operation.implied_by <= given
        ]
        fitting = implied if len(implied) == 1 else fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " or ".join(operation.name for operation in fitting)
        raise InvalidArguments(f"this could be {names}", fix="Name the 'operation'.", field="operation")
    raise _unfitting(given)


def likely(item: Given) -> type[DocumentOperation] | None:
    """The operation that a call seems to mean although it is wrong; None where that cannot be told."""
    known = by_name()
    name = item.get("operation")
    if isinstance(name, str):
        near = [name] if name in known else nearest(name[:100], known)
        return known[near[0]] if near else None
    given = {field for field in item if field != "operation"}
    fitting = _fitting(item, given)
    implied = [
        operation
        for operation in fitting or EDIT_OPERATIONS
        if operation.implied_by & given and operation.implied_by <= given
    ]
    if len(implied) == 1:
        return implied[0]
    return fitting[0] if len(fitting) == 1 else None


def _fitting(item: Given, given: set[str]) -> list[type[DocumentOperation]]:
    """The operations that the fields fit; where `slug` tells a task from a section, those that mean one."""
    fitting = [operation for operation in EDIT_OPERATIONS if _fits(operation, given)]
    slug = item.get("slug")
    is_task = isinstance(slug, str) and read_fragment(slug).task is not None
    return [operation for operation in fitting if operation.names_task in (None, is_task)] or fitting


def _fits(operation: type[DocumentOperation], given: set[str]) -> bool:
    """Whether fields are all of an operation's own; a name alone does not say what to do with it."""
    fields = fields_of(operation)
    required = {field.name for field in fields if not field.is_optional}
    return required <= given <= {field.name for field in fields} and not given <= {"file", "slug"}


def _unfitting(given: set[str]) -> InvalidArguments:
    known = ["operation", *all_fields()]
    for field in sorted(given - set(known)):
        near = nearest_field(field, known)
        fix = f"Did you mean '{near[0]}'?" if near else f"Known fields: {', '.join(known)}."
        return InvalidArguments(f"unknown field '{field[:80]}'", fix=fix, field=field[:80], nearest=near)
    return InvalidArguments(
        "'operation' is missing, and the fields given do not decide it",
        fix=f"Name one of: {', '.join(by_name())}.",
        field="operation",
        valid_operations=list(by_name()),
    )


def build(operation: type[DocumentOperation], values: Mapping[str, object]) -> DocumentOperation:
    """An operation of the fields given. Raises InvalidArguments for a missing one, or one of another's."""
    fields = {field.name: field for field in fields_of(operation)}
    for name in values:
        if name not in fields:
            near = nearest_field(name, list(fields))
            raise InvalidArguments(
                f"'{name[:80]}' does not belong to {operation.name}",
                fix=f"Did you mean '{near[0]}'?" if near else f"Its fields: {in_brief(operation)}.",
                field=name,
                nearest=near,
            )
    missing = [field.name for field in fields.values() if not field.is_optional and field.name not in values]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        raise InvalidArguments(
            f"{operation.name} needs {names}", fix=f"Give {names}.", field=missing[0], missing=missing
        )
    made: DocumentOperation = cast("Any", operation)(**values)
    return made
