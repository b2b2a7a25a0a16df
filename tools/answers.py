"""Answers, and the one translation of an error to an answer that teaches the right call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.arguments import InvalidArguments
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from tools.tool import Tool

Data = dict[str, Any]

_PATH_FIELDS = ("file", "path")
_SLUG_FIELDS = ("slug", "parent_slug", "before", "after")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says: `data` for programs, and `text` where a contract fixes the words (else the data as JSON)."""

    data: Data
    text: str | None = None
    is_error: bool = False


def failure(error: WorkspaceError, tool: Tool, given: Mapping[str, object]) -> Data:
    """An error with its code and cure, the tool's specification, and a call that would have worked."""
    data: Data = {"error": error.message, "code": error.code}
    if error.fix:
        data["fix"] = error.fix
    data.update(error.details)
    data["usage"] = dict(tool.usage(given))
    data["example"] = corrected(tool.example(given), error)
    return data


def corrected(example: Data, error: WorkspaceError) -> Data:
    """An example with the name that was not found replaced by the nearest one that exists."""
    candidates = error.details.get("candidates")
    if isinstance(error, InvalidArguments) or not isinstance(candidates, list) or not candidates:
        return example
    first = candidates[0]
    name = first.get("slug") if isinstance(first, dict) else first
    fields = _PATH_FIELDS if error.code in ("DOCUMENT_NOT_FOUND", "NOT_COMMITTED") else _SLUG_FIELDS
    for field in fields:
        if field in example and isinstance(name, str):
            return {**example, field: name}
    return example
