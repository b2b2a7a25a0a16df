"""Arguments: what a client sent, made into what a tool asked for, or into an error that teaches.

A call is either single (an operation's fields at the top) or a batch (`operations`), never both. Some hosts
send `null` for what is left out, arrays as JSON strings, and numbers as strings: all of these are understood.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

OPERATIONS = "operations"

REF = "Branch, tag, commit, proposal, @{date}"
"""What every tool that reads says of its field `ref`; docs/refs.md says the rest."""

# What models call fields that are named otherwise here.
_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "path": ("file",),
    "document": ("file", "path"),
    "filename": ("file", "path"),
    "section": ("slug",),
    "address": ("slug",),
    "task": ("slug",),
    "parent": ("parent_slug",),
    "heading": ("title",),
    "name": ("title",),
    "text": ("content",),
    "body": ("content",),
    "content": ("criteria", "initial_content"),
    "description": ("criteria", "content"),
    "type": ("doc_type",),
    "template": ("doc_type",),
    "q": ("query",),
    "id": ("chunk_id",),
    "top_k": ("limit",),
}

_CURES: Mapping[str, str] = {
    "string_type": "as text",
    "int_type": "as a whole number",
    "bool_type": "as true or false",
    "dict_type": 'as an object, such as {"status": "draft"}',
    "list_type": 'as a list, such as ["a", "b"]',
    "value_error": 'as a list, such as ["a", "b"]',
}

Model = TypeVar("Model", bound=BaseModel)


class InvalidArguments(WorkspaceError):
    """A call that does not fit the tool. `field` names what is wrong, `nearest` what may have been meant."""

    code = "INVALID_ARGUMENTS"


class Arguments(BaseModel):
    """Arguments of a tool; a field that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


def _array(value: object) -> object:
    """An array that a host has sent as a JSON string."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("an array is meant here, and this text is no JSON array") from None
    if not isinstance(found, list):
        raise ValueError("an array is meant here, and this JSON is none")
    return found


def _integer(value: object) -> object:
    if isinstance(value, str) and len(value) < 20 and value.strip().lstrip("+-").isdecimal():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _object(value: object) -> object:
    """An object that a host has sent as a JSON string."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, dict) else value


def _boolean(value: object) -> object:
    return (
        {"true": True, "false": False}.get(value.strip().lower(), value) if isinstance(value, str) else value
    )


Integer = Annotated[int, BeforeValidator(_integer)]
Natural = Annotated[int, Field(ge=0), BeforeValidator(_integer)]
# The tokens of a summary. Bounds behind the validator are lost in the schema of a field that may be null.
LEAST_BUDGET, MOST_BUDGET = 100, 20_000
Budget = Annotated[int, Field(ge=LEAST_BUDGET, le=MOST_BUDGET), BeforeValidator(_integer)]
Boolean = Annotated[bool, BeforeValidator(_boolean)]
Strings = Annotated[list[str], BeforeValidator(_array)]
Objects = Annotated[list[Any], BeforeValidator(_array)]
Object = Annotated[dict[str, Any], BeforeValidator(_object)]


def without_nulls(given: Mapping[str, object]) -> dict[str, object]:
    """Arguments without those that are null: hosts send null for what a model left out."""
    return {key: value for key, value in given.items() if value is not None}


def asked_of(given: Mapping[str, object]) -> dict[str, object]:
    """What a call asks for, beside where it is to be written; nothing where it only wants to know how."""
    return {name: value for name, value in without_nulls(given).items() if name != "proposal"}


def read(model: type[Model], given: Mapping[str, object], others: Sequence[str] | None = None) -> Model:
    """Validates arguments. Raises InvalidArguments with the field, and the nearest to an unknown one.

    `others` are fields that this workspace adds; they are not in `given`, and the error lists all then.
    """
    try:
        return model.model_validate(without_nulls(given))
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # A field of another name is often the one that is missing.
        first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
        raise explain(first, model, others) from error


def explain(
    problem: ErrorDetails, model: type[BaseModel], others: Sequence[str] | None = None
) -> InvalidArguments:
    """The error for the first thing that validation found."""
    field = ".".join(str(part) for part in problem["loc"]) or "arguments"
    shown = field if len(field) <= 80 else field[:80] + "…"
    known = [*model.model_fields, *(others or ())]
    match problem["type"]:
        case "extra_forbidden":
            near = nearest_field(field, known)
            fix = f"Did you mean '{near[0]}'?" if near else f"Known fields: {', '.join(known)}."
            listed: dict[str, Any] = {} if others is None else {"known": known}
            return InvalidArguments(f"unknown field '{shown}'", fix=fix, field=shown, nearest=near, **listed)
        case "missing":
            return InvalidArguments(f"'{shown}' is missing", fix=f"Give '{shown}'.", field=shown)
        case _:
            message = problem["msg"].removeprefix("Value error, ")
            context = problem.get("ctx", {})
            limits = {key: context[key] for key in ("ge", "le", "max_length", "min_length") if key in context}
            cure = _CURES.get(problem["type"], "within what is allowed")
            return InvalidArguments(
                f"'{shown}': {message[0].lower()}{message[1:]}",
                fix=f"Give '{shown}' {cure}.",
                field=shown.partition(".")[0],
                **limits,
            )


def nearest_field(field: str, known: Sequence[str]) -> list[str]:
    """The declared fields that are most like one that is not: by another word for it, then by spelling."""
    import difflib  # late: a server answers its first questions without it

    synonyms = [name for name in _SYNONYMS.get(field, ()) if name in known]
    close = difflib.get_close_matches(field[:80], known, n=3, cutoff=0.5)
    return list(dict.fromkeys([*synonyms, *close]))


def read_operations(value: object) -> list[dict[str, object]]:
    """The operations of a batch. Raises InvalidArguments for an empty list or one that holds no objects."""
    try:
        found = _array(value)
    except ValueError as error:
        raise InvalidArguments(
            f"'{OPERATIONS}': {error}", fix="Send a list of objects.", field=OPERATIONS
        ) from error
    if not isinstance(found, list):
        raise InvalidArguments(f"'{OPERATIONS}' is no list", fix="Send a list of objects.", field=OPERATIONS)
    if not found:
        raise InvalidArguments(
            f"'{OPERATIONS}' is empty",
            fix="Send at least one operation, or its fields at the top.",
            field=OPERATIONS,
        )
    items: list[dict[str, object]] = []
    for position, item in enumerate(found):
        if isinstance(item, str):
            try:
                item = json.loads(item)
            except (ValueError, RecursionError):
                item = None
        if not isinstance(item, dict):
            raise InvalidArguments(
                f"'{OPERATIONS}[{position}]' is no object",
                fix="Each operation is an object of fields.",
                field=OPERATIONS,
            )
        items.append(without_nulls(item))
    return items
