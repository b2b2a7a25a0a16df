"""Parsing of a call's arguments, with errors that name the field.

A call is either a single operation (its fields at the top level) or a batch (`operations`), never both.
Some hosts send `null` for omitted fields, arrays as JSON strings, and numbers as strings; all of these are
accepted.

`resolve_target` reads a document, section or task from one or two fields. `build_input_schema` writes schemas
that every host accepts: a plain object without combinators, references and lists of types.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from workspace.config.tables import MAX_CLAIM_HOURS
from workspace.document.addresses import split_address
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from workspace.snapshot.snapshot import Snapshot

OPERATIONS = "operations"
REF_DESCRIPTION = "Branch, tag, commit, proposal, @{date}"
"""The description of the field `ref` of view_document; other reading tools have the same field."""

SINCE_DESCRIPTION = "Changed after this ref or date"
"""The description of the field `since` of searches."""

# Wrong names of fields that language models send, and the fields that they mean.
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
    "text": ("content", "problem"),
    "body": ("content", "problem"),
    "comment": ("problem",),
    "content": ("criteria", "initial_content"),
    "description": ("criteria", "content", "problem"),
    "message": ("problem",),
    "report": ("problem",),
    "issue": ("problem",),
    "type": ("doc_type",),
    "template": ("doc_type",),
    "q": ("query",),
    "id": ("chunk_id",),
    "top_k": ("limit",),
}

_FIX_PHRASES: Mapping[str, str] = {
    "string_type": "as text",
    "int_type": "as a whole number",
    "bool_type": "as true or false",
    "dict_type": 'as an object, such as {"status": "draft"}',
    "list_type": 'as a list, such as ["a", "b"]',
    "value_error": 'as a list, such as ["a", "b"]',
}

Model = TypeVar("Model", bound=BaseModel)


class InvalidArguments(WorkspaceError):
    """The arguments of a call are invalid. `field` is the wrong field, `nearest` are similar valid names."""

    code = "INVALID_ARGUMENTS"


class Arguments(BaseModel):
    """Arguments of a tool; an undeclared field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class ReadingArguments(Arguments):
    """Arguments of a tool that only reads. The dispatcher keeps the answer within `max_tokens`.

    The type is wide, because the dispatcher itself parses the value.
    """

    max_tokens: Any = Field(None, json_schema_extra={"type": "integer"})


def _parse_array(value: object) -> object:
    """Return an array, parsed if a host has sent it as a JSON string. Raises ValueError."""
    if not isinstance(value, str):
        return value
    try:
        array = json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("must be a list, or a list as JSON text") from None
    if not isinstance(array, list):
        raise ValueError("must be a list, or a list as JSON text")
    return array


def _parse_integer(value: object) -> object:
    if isinstance(value, str) and len(value) < 20 and value.strip().lstrip("+-").isdecimal():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _parse_object(value: object) -> object:
    """Return an object, parsed if a host has sent it as a JSON string; other values unchanged."""
    try:
        decoded_value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return decoded_value if isinstance(decoded_value, dict) else value


def _parse_boolean(value: object) -> object:
    return (
        {"true": True, "false": False}.get(value.strip().lower(), value) if isinstance(value, str) else value
    )


Integer = Annotated[int, BeforeValidator(_parse_integer)]
# Definitions must be short, so `_simplify` leaves out keywords with the value None.
WITHOUT_DEFAULT: dict[str, JsonValue] = {"default": None}
Natural = Annotated[int, Field(ge=0, json_schema_extra={"minimum": None}), BeforeValidator(_parse_integer)]

# Bounds after the validator would be lost in the schema of a field that may be null.
MIN_BUDGET_TOKENS, MAX_BUDGET_TOKENS = 100, 20_000
Budget = Annotated[int, Field(ge=MIN_BUDGET_TOKENS, le=MAX_BUDGET_TOKENS), BeforeValidator(_parse_integer)]
ClaimHours = Annotated[int, Field(ge=1, le=MAX_CLAIM_HOURS), BeforeValidator(_parse_integer)]
Boolean = Annotated[bool, BeforeValidator(_parse_boolean)]
Strings = Annotated[list[str], BeforeValidator(_parse_array)]
Objects = Annotated[list[Any], BeforeValidator(_parse_array)]
Object = Annotated[dict[str, Any], BeforeValidator(_parse_object)]


def remove_nulls(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return arguments without the null ones, because hosts send null for omitted fields."""
    return {key: value for key, value in arguments.items() if value is not None}


def select_requested_fields(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a call that are not null, except `proposal`.

    An empty result means that the caller requests instructions.
    """
    return {name: value for name, value in remove_nulls(arguments).items() if name != "proposal"}


def list_field_names(model: type[BaseModel]) -> list[str]:
    """Return the names of a model's fields as a call gives them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def read_arguments(
    model: type[Model], arguments: Mapping[str, object], extra_fields: Sequence[str] | None = None
) -> Model:
    """Return validated arguments. Raises InvalidArguments with the field, and the nearest valid names.

    `extra_fields` are fields that the workspace adds. They are not in `arguments`, but an error lists them.
    """
    try:
        return model.model_validate(remove_nulls(arguments))
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # An unknown field is often a misspelt required one, so it is reported before a missing field.
        first_problem = next(
            (problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0]
        )
        raise make_field_error(first_problem, model, extra_fields) from error


def make_field_error(
    problem: ErrorDetails, model: type[BaseModel], extra_fields: Sequence[str] | None = None
) -> InvalidArguments:
    """Return the error for a problem of the validation; it names the field."""
    field = ".".join(str(part) for part in problem["loc"]) or "arguments"
    shown_field = field if len(field) <= 80 else field[:80] + "…"
    known_fields = [*list_field_names(model), *(extra_fields or ())]
    match problem["type"]:
        case "extra_forbidden":
            matches = find_nearest_fields(field, known_fields)
            fix = f"Did you mean '{matches[0]}'?" if matches else f"Known fields: {', '.join(known_fields)}."
            details: dict[str, Any] = {} if extra_fields is None else {"known": known_fields}
            return InvalidArguments(
                f"unknown field '{shown_field}'", fix=fix, field=shown_field, nearest=matches, **details
            )
        case "missing":
            return InvalidArguments(
                f"'{shown_field}' is missing", fix=f"Give '{shown_field}'.", field=shown_field
            )
        case _:
            message = problem["msg"].removeprefix("Value error, ")
            context = problem.get("ctx", {})
            limits = {key: context[key] for key in ("ge", "le", "max_length", "min_length") if key in context}
            suggested_fix = _FIX_PHRASES.get(problem["type"], "within the limits of the schema")
            if field == "new_proposal":
                suggested_fix = 'as an object, such as {"title": "Summary of the changes"}'
            return InvalidArguments(
                f"'{shown_field}': {message[0].lower()}{message[1:]}",
                fix=f"Give '{shown_field}' {suggested_fix}.",
                field=shown_field.partition(".")[0],
                **limits,
            )


def find_nearest_fields(field: str, known_fields: Sequence[str]) -> list[str]:
    """Return the declared fields nearest to an unknown field: by synonym, then by spelling."""
    import difflib  # Imported late, because most calls do not need this module.

    synonyms = [name for name in _SYNONYMS.get(field, ()) if name in known_fields]
    similar_names = difflib.get_close_matches(field[:80], known_fields, n=3, cutoff=0.5)
    return list(dict.fromkeys([*synonyms, *similar_names]))


def read_operations(value: object) -> list[dict[str, object]]:
    """Return the operations of a batch.

    Raises InvalidArguments for a value that is not a list, an empty list, and an item that is not an object.
    """
    try:
        operations = _parse_array(value)
    except ValueError as error:
        raise InvalidArguments(
            f"'{OPERATIONS}': {error}", fix="Send a list of objects.", field=OPERATIONS
        ) from error
    if not isinstance(operations, list):
        raise InvalidArguments(
            f"'{OPERATIONS}' must be a list", fix="Send a list of objects.", field=OPERATIONS
        )
    if not operations:
        raise InvalidArguments(
            f"'{OPERATIONS}' is empty",
            fix="Send at least one operation, or its fields without 'operations'.",
            field=OPERATIONS,
        )
    field_mappings: list[dict[str, object]] = []
    for position, item in enumerate(operations):
        if isinstance(item, str):
            try:
                item = json.loads(item)
            except (ValueError, RecursionError):
                item = None
        if not isinstance(item, dict):
            raise InvalidArguments(
                f"'{OPERATIONS}[{position}]' must be an object",
                fix="Send each operation as an object of its fields.",
                field=OPERATIONS,
            )
        field_mappings.append(remove_nulls(item))
    return field_mappings


def check_call_fields(operation: Mapping[str, object], call_fields: Collection[str]) -> None:
    """Raise InvalidArguments if an operation of a batch has a field that applies to the whole call."""
    for name in sorted(operation.keys() & call_fields):
        raise InvalidArguments(
            f"'{name}' must not be in an operation: it applies to the whole call",
            fix=f"Move '{name}' out of '{OPERATIONS}', to the top of the call."
            if name != OPERATIONS
            else f"Put each operation directly into '{OPERATIONS}'.",
            field=name,
        )


def resolve_target(snapshot: Snapshot, file: str, slug: str | None) -> tuple[str, str | None]:
    """Return the path and the slug of a target; `file` may also be a full address (`api.md#endpoints`).

    Raises InvalidArguments if `file` and `slug` name different sections.
    """
    path, fragment = (file, None) if "#" not in file else split_address(file, snapshot.documents)
    if slug is not None and slug.startswith(f"{path}#"):
        slug = slug[len(path) + 1 :]
    if fragment and slug and fragment != slug:
        raise InvalidArguments(
            "'file' and 'slug' name different sections",
            fix="Put only the path into 'file', and the section into 'slug'.",
        )
    return path.removeprefix("./"), slug or fragment or None


_OMITTED_SCHEMA_KEYS = frozenset(("title", "default"))

HIDDEN = "hidden"
"""A key of a field's schema: the server accepts the field, and the tool's definition does not list it."""


class _SchemaGenerator(GenerateJsonSchema):
    """A schema generator that copies plain defaults.

    Pydantic would build a serializer for each default, which takes a tenth of the time of the first
    `tools/list` request.
    """

    def encode_default(self, dft: Any) -> Any:
        return dft if isinstance(dft, str | int | None) else super().encode_default(dft)


def build_input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model's input.

    An optional field has its plain type, without null. Fields with the key HIDDEN are left out.
    """
    schema = model.model_json_schema(schema_generator=_SchemaGenerator)
    inherited_names = {
        name for base in model.__mro__[1:] if issubclass(base, Arguments) for name in list_field_names(base)
    }
    # A model's own fields come first, because descriptions of inherited fields refer to "the fields above".
    fields = schema.get("properties", {})
    names = sorted(
        (name for name, field in fields.items() if HIDDEN not in field),
        key=lambda name: name in inherited_names,
    )
    properties = {name: _simplify(schema["properties"][name]) for name in names}
    result: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := schema.get("required"):
        result["required"] = required
    return result


def _simplify(field: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in field:
        [variant] = [option for option in field["anyOf"] if option.get("type") != "null"]
        field = {**{key: value for key, value in field.items() if key != "anyOf"}, **variant}
    default = field.get("default")
    schema = {
        key: value for key, value in field.items() if key not in _OMITTED_SCHEMA_KEYS and value is not None
    }
    if "items" in schema:
        schema["items"] = {
            key: value for key, value in schema["items"].items() if key not in _OMITTED_SCHEMA_KEYS
        } or {"type": "object"}
        schema["items"].pop("additionalProperties", None)
    if schema.get("type") == "object":
        schema.pop("additionalProperties", None)
    if default is not None and default is not False:
        schema["default"] = default
    return schema
