"""Arguments: parsing what a client sent, or returning an error with a working call.

A call is either single (an operation's fields at the top) or a batch (`operations`), never both. Some hosts
send `null` for omitted fields, arrays as JSON strings, and numbers as strings; all of these are accepted.

`resolve_target` reads a document, section or task from one field or two. `input_schema` writes schemas that
every host accepts: a plain object, no combinators, no references, no lists of types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from workspace.document.addresses import split_address
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from workspace.snapshot.snapshot import Snapshot

OPERATIONS = "operations"
REF = "Branch, tag, commit, proposal, @{date}"
"""What every tool that reads says of its field `ref`; docs/history.md says the rest."""

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

_FIXES: Mapping[str, str] = {
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
    """Return an array that a host has sent as a JSON string."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("must be an array, or an array as JSON text") from None
    if not isinstance(found, list):
        raise ValueError("must be an array, or an array as JSON text")
    return found


def _integer(value: object) -> object:
    if isinstance(value, str) and len(value) < 20 and value.strip().lstrip("+-").isdecimal():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _object(value: object) -> object:
    """Return an object that a host has sent as a JSON string."""
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
    """Return arguments without those that are null: hosts send null for omitted fields."""
    return {key: value for key, value in given.items() if value is not None}


def requested_fields(given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a call except `proposal`.

    An empty result means that the caller asks for instructions.
    """
    return {name: value for name, value in without_nulls(given).items() if name != "proposal"}


def read(model: type[Model], given: Mapping[str, object], others: Sequence[str] | None = None) -> Model:
    """Validate arguments. Raises InvalidArguments with the field, and the nearest to an unknown one.

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
    """Return the error for the first problem that validation found."""
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
            suggested_fix = _FIXES.get(problem["type"], "within what is allowed")
            return InvalidArguments(
                f"'{shown}': {message[0].lower()}{message[1:]}",
                fix=f"Give '{shown}' {suggested_fix}.",
                field=shown.partition(".")[0],
                **limits,
            )


def nearest_field(field: str, known: Sequence[str]) -> list[str]:
    """Return the declared fields nearest to an unknown one: by synonym, then by spelling."""
    import difflib  # late: a server answers its first questions without it

    synonyms = [name for name in _SYNONYMS.get(field, ()) if name in known]
    close = difflib.get_close_matches(field[:80], known, n=3, cutoff=0.5)
    return list(dict.fromkeys([*synonyms, *close]))


def read_operations(value: object) -> list[dict[str, object]]:
    """Return the operations of a batch.

    Raises InvalidArguments for an empty list or one that holds no objects.
    """
    try:
        found = _array(value)
    except ValueError as error:
        raise InvalidArguments(
            f"'{OPERATIONS}': {error}", fix="Send a list of objects.", field=OPERATIONS
        ) from error
    if not isinstance(found, list):
        raise InvalidArguments(
            f"'{OPERATIONS}' must be a list", fix="Send a list of objects.", field=OPERATIONS
        )
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
                f"'{OPERATIONS}[{position}]' must be an object",
                fix="Each operation is an object of fields.",
                field=OPERATIONS,
            )
        items.append(without_nulls(item))
    return items


def resolve_target(snapshot: Snapshot, file: str, slug: str | None) -> tuple[str, str | None]:
    """Return the path and the slug of a target; `file` may also be a whole address (`api.md#endpoints`).

    Raises InvalidArguments if a section is named twice.
    """
    path, fragment = (file, None) if "#" not in file else split_address(file, snapshot.documents)
    if slug is not None and slug.startswith(f"{path}#"):
        slug = slug[len(path) + 1 :]
    if fragment and slug and fragment != slug:
        raise InvalidArguments(
            "'file' names one section and 'slug' another",
            fix="Put the path into 'file' and the section into 'slug'.",
        )
    return path.removeprefix("./"), slug or fragment or None


_DROPPED = frozenset(("title", "default"))


class _Schema(GenerateJsonSchema):
    """Take plain defaults as they are: pydantic makes a serializer for each, a tenth of the first list."""

    def encode_default(self, dft: Any) -> Any:
        return dft if isinstance(dft, str | int | None) else super().encode_default(dft)


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model's input.

    A field that may be left out is its plain type, not "or null".
    """
    schema = model.model_json_schema(schema_generator=_Schema)
    inherited = {name for base in model.__mro__[1:] for name in getattr(base, "model_fields", ())}
    # A model's own fields come first: those that it shares with other tools speak of "the fields above".
    names = sorted(schema.get("properties", {}), key=lambda name: name in inherited)
    properties = {name: _plain(schema["properties"][name]) for name in names}
    lean: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := schema.get("required"):
        lean["required"] = required
    return lean


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in field:
        [kind] = [option for option in field["anyOf"] if option.get("type") != "null"]
        field = {**{key: value for key, value in field.items() if key != "anyOf"}, **kind}
    default = field.get("default")
    lean = {key: value for key, value in field.items() if key not in _DROPPED}
    if "items" in lean:
        lean["items"] = {key: value for key, value in lean["items"].items() if key not in _DROPPED} or {
            "type": "object"
        }
        lean["items"].pop("additionalProperties", None)
    if lean.get("type") == "object":
        lean.pop("additionalProperties", None)
    if default is not None and default is not False:
        lean["default"] = default
    return lean
