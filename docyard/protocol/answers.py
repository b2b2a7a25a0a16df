"""A tool's answer as a result of the protocol: text for models that read, structure for programs."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic_core import PydanticSerializationError, to_json

from tools.answers import Answer


def result_of(answer: Answer) -> CallToolResult:
    """The result that carries an answer: its text, else its data as compact JSON, and the data itself."""
    data = answer.data
    try:
        text = compact(data)
    except (
        PydanticSerializationError
    ):  # few answers hold what UTF-8 cannot, and looking costs as much as writing
        data = encodable(data)
        text = compact(data)
    if answer.text is not None:
        text = encodable(answer.text)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=data, is_error=answer.is_error
    )


def compact(data: Any) -> str:
    """JSON without spaces, letters of every script as they are."""
    return to_json(data, inf_nan_mode="constants").decode()


def encodable(value: Any) -> Any:
    """The same value with each lone surrogate written as an escape, since UTF-8 has no bytes for it."""
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return value.encode("utf-8", "backslashreplace").decode()
            return value
        case dict():
            return {encodable(key): encodable(item) for key, item in value.items()}
        case list() | tuple():
            return [encodable(item) for item in value]
        case _:
            return value
