"""The contract of the reading tools: JSON schemas of inputs and answers, and the starts of descriptions."""

from __future__ import annotations

from typing import Any

JsonSchema = dict[str, Any]

TEXT: JsonSchema = {"type": "string"}
INTEGER: JsonSchema = {"type": "integer"}
NUMBER: JsonSchema = {"type": "number"}
OBJECT: JsonSchema = {"type": "object"}
TEXT_LIST: JsonSchema = {"type": "array", "items": TEXT}


def _make_enum_schema(*names: str) -> JsonSchema:
    return {"type": "string", "enum": list(names)}


def _make_object_schema(required: str, **properties: JsonSchema) -> JsonSchema:
    """Return the schema of an object; `required` contains names of properties, separated by spaces."""
    return {"type": "object", "properties": properties, "required": required.split()}


INPUT_SCHEMAS: dict[str, JsonSchema] = {
    "smart_read": _make_object_schema(
        "file_path",
        file_path={"type": "string", "description": "Path to file to read"},
        mode={
            "type": "string",
            "enum": ["auto", "summary", "full"],
            "default": "auto",
            "description": "Reading mode: auto (summarize if >10K tokens), summary (always summarize), "
            "full (never summarize)",
        },
        summary_style={"type": "string", "default": "structured"},
    ),
    "read_section": _make_object_schema(
        "file_path section_heading",
        file_path={"type": "string", "description": "Path to file"},
        section_heading={
            "type": "string",
            "description": "Heading to search for (e.g., '3.1', 'Methods', 'Introduction')",
        },
    ),
    "list_sections": _make_object_schema(
        "file_path", file_path={"type": "string", "description": "Path to file"}
    ),
}

DESCRIPTION_STARTS = {
    "smart_read": "Smart file reader with automatic summarization for large files",
    "read_section": "Extract specific section from document without loading entire file into context",
    "list_sections": "Get table of contents for document",
}

SUMMARY_ANSWER_SCHEMA = _make_object_schema(
    "_preamble content type",
    _preamble=TEXT,
    content=TEXT,
    type=_make_enum_schema("summary"),
    style=TEXT,
    original_tokens=INTEGER,
    summary_tokens=INTEGER,
    reduction_factor=NUMBER,
    sections=_make_object_schema("", count=INTEGER, headers=TEXT_LIST, note=TEXT),
    coverage=_make_object_schema("", included=OBJECT, excluded=OBJECT, completeness_score=NUMBER),
    original=_make_object_schema("", path=TEXT, filename=TEXT, size_bytes=INTEGER, size_tokens=INTEGER),
    confidence=_make_object_schema(
        "", completeness=NUMBER, recommended_for=TEXT_LIST, not_recommended_for=TEXT_LIST
    ),
)
FULL_TEXT_ANSWER_SCHEMA = _make_object_schema(
    "content type tokens path", content=TEXT, type=_make_enum_schema("full"), tokens=INTEGER, path=TEXT
)
SECTION_ANSWER_SCHEMA = _make_object_schema(
    "content type section",
    content=TEXT,
    type=_make_enum_schema("section"),
    section=TEXT,
    heading_level={"type": "integer", "minimum": 1, "maximum": 6},
    tokens=INTEGER,
    start_line=INTEGER,
    end_line=INTEGER,
)
TABLE_OF_CONTENTS_ANSWER_SCHEMA = _make_object_schema(
    "sections count type path",
    sections=TEXT_LIST,
    count=INTEGER,
    type=_make_enum_schema("toc"),
    path=TEXT,
    note=TEXT,
)
ERROR_ANSWER_SCHEMA = _make_object_schema("error type", error=TEXT, type=_make_enum_schema("error"))
SECTION_ERROR_ANSWER_SCHEMA = _make_object_schema(
    "content type section error", content=TEXT, type=_make_enum_schema("error"), section=TEXT, error=TEXT
)


def require_every_field(schema: JsonSchema) -> JsonSchema:
    """Return a copy of a schema in which every field is required, also in nested objects."""
    properties = schema.get("properties")
    if not properties:
        return schema
    required_properties = {name: require_every_field(field) for name, field in properties.items()}
    return {**schema, "properties": required_properties, "required": list(required_properties)}
