"""A tool's answer as a result of the protocol: text for models that read, structure for programs."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic_core import PydanticSerializationError, to_json

from tools.errors import Answer

_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def result_of(answer: Answer) -> dict[str, Any]:
    """The result that carries an answer: its text, else its data as compact JSON, and the data itself."""
    data = answer.data
    try:
        json = _json(data)
    except (
        PydanticSerializationError
    ):  # few answers hold what UTF-8 cannot, and looking costs as much as writing
        data = encodable(data)
        json = _json(data)
    text = json.decode() if answer.text is None else encodable(answer.text)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": data,
        "isError": answer.is_error,
    }


def compact(data: Any) -> str:
    """JSON without spaces, letters of every script as they are."""
    return _json(data).decode()


def _json(data: Any) -> bytes:
    """Write JSON, quickly if it is plain; what is not, such as long integers, as pydantic does."""
    try:
        return orjson.dumps(data, option=_PLAIN)
    except TypeError:
        return to_json(data, inf_nan_mode="null")


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
