"""Arrays as the arguments of a tool. The SDK refuses them, but does not explain the correct form.

The tool itself explains the correct form. So the array is wrapped in an object before the SDK reads the
message, and is unwrapped before the tool is called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

_WRAPPER_KEY = "docyard/array"
_ARRAY_ARGUMENTS = re.compile(rb'"arguments"\s*:\s*\[')


def wrap_array(message: bytes) -> bytes:
    """Return a JSON message whose arguments are an object; other messages are unchanged."""
    if not _ARRAY_ARGUMENTS.search(message):
        return message
    try:
        request = from_json(message)
    except ValueError:
        return message
    match request:
        case {"method": "tools/call", "params": {"arguments": list(array)} as params}:
            return to_json({**request, "params": {**params, "arguments": {_WRAPPER_KEY: array}}})
    return message


def unwrap_array(arguments: Mapping[str, Any]) -> Mapping[str, Any] | list[Any]:
    """Return the array that `wrap_array` wrapped; other arguments are unchanged."""
    array = arguments.get(_WRAPPER_KEY)
    return array if isinstance(array, list) else arguments
