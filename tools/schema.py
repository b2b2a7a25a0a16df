"""Input schemas that every host takes: a plain object, no combinators, no references, no lists of types."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

_DROPPED = frozenset(("title", "default"))


class _Schema(GenerateJsonSchema):
    """Take plain defaults as they are: pydantic makes a serializer for each, a tenth of the first list."""

    def encode_default(self, dft: Any) -> Any:
        return dft if isinstance(dft, str | int | None) else super().encode_default(dft)


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model's input. A field that may be left out is its plain type, not "or null"."""
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
