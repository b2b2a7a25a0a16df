"""Tools as data: what the transport, the documentation and the tests read alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from tools.context import Context
    from tools.errors import Answer
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot

Given = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    `arguments` is the model of its input; `run` answers a call or raises a WorkspaceError, which the
    registry translates with `usage` (how the tool is called) and `example` (a call that works, with the
    caller's values; a field that was wrong is empty there). `correct` mends such an example by what there
    is, `shape_error` gives an error the fields that a contract asks for beside our own, and `error_text`
    words one as plain text.
    """

    name: str
    title: str
    toolset: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Context, Given], Answer]
    usage: Callable[[Given], Mapping[str, object]]
    example: Callable[[Given], dict[str, Any]]
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True
    schema: Callable[[Context, dict[str, Any]], dict[str, Any]] | None = None
    describe: Callable[[Context], str] | None = None
    correct: Callable[[dict[str, Any], WorkspaceError, Snapshot], dict[str, Any]] | None = None
    shape_error: Callable[[Given], Mapping[str, object]] | None = None
    error_text: Callable[[WorkspaceError], str] | None = None

    def annotations(self) -> dict[str, bool]:
        """The four hints of the protocol."""
        return {
            "readOnlyHint": not self.writes,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": False,
        }
