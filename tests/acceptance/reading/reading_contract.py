"""The JSON schemas of the reading tools, which the contract promises to clients."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
OBJECT: Schema = {"type": "object"}
TEXTS: Schema = {"type": "array", "items": TEXT}


def _enum(*names: str) -> Schema:
    return {"type": "string", "enum": list(names)}


def _object(required: str, **properties: Schema) -> Schema:
    """Return the schema of an object; `required` contains names of properties, separated by spaces."""
    return {"type": "object", "properties": properties, "required": required.split()}


INPUTS: dict[str, Schema] = {
    "smart_read": _object(
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
    "read_section": _object(
        "file_path section_heading",
        file_path={"type": "string", "description": "Path to file"},
        section_heading={
            "type": "string",
            "description": "Heading to search for (e.g., '3.1', 'Methods', 'Introduction')",
        },
    ),
    "list_sections": _object("file_path", file_path={"type": "string", "description": "Path to file"}),
}

DESCRIPTIONS = {
    "smart_read": "Smart file reader with automatic summarization for large files",
    "read_section": "Extract specific section from document without loading entire file into context",
    "list_sections": "Get table of contents for document",
}

SUMMARY = _object(
    "_preamble content type",
    _preamble=TEXT,
    content=TEXT,
    type=_enum("summary"),
    style=TEXT,
    original_tokens=INTEGER,
    summary_tokens=INTEGER,
    reduction_factor=NUMBER,
    sections=_object("", count=INTEGER, headers=TEXTS, note=TEXT),
    coverage=_object("", included=OBJECT, excluded=OBJECT, completeness_score=NUMBER),
    original=_object("", path=TEXT, filename=TEXT, size_bytes=INTEGER, size_tokens=INTEGER),
    confidence=_object("", completeness=NUMBER, recommended_for=TEXTS, not_recommended_for=TEXTS),
)
FULL = _object("content type tokens path", content=TEXT, type=_enum("full"), tokens=INTEGER, path=TEXT)
SECTION = _object(
    "content type section",
    content=TEXT,
    type=_enum("section"),
    section=TEXT,
    heading_level={"type": "integer", "minimum": 1, "maximum": 6},
    tokens=INTEGER,
    start_line=INTEGER,
    end_line=INTEGER,
)
CONTENTS = _object(
    "sections count type path", sections=TEXTS, count=INTEGER, type=_enum("toc"), path=TEXT, note=TEXT
)
ERROR = _object("error type", error=TEXT, type=_enum("error"))
SECTION_ERROR = _object(
    "content type section error", content=TEXT, type=_enum("error"), section=TEXT, error=TEXT
)


def require_every_field(schema: Schema) -> Schema:
    """Return the schema with every field required."""
    properties = schema.get("properties")
    if not properties:
        return schema
    required_properties = {name: require_every_field(field) for name, field in properties.items()}
    return {**schema, "properties": required_properties, "required": list(required_properties)}
