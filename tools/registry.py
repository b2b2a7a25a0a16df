"""The registry: which tools there are, which of them a server offers, and how a call is answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tools import documents, search, tasks
from tools.answers import Answer, failure, visible
from tools.arguments import InvalidArguments
from tools.context import Context, Progress
from tools.schema import input_schema
from workspace.addresses import nearest
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.service import SearchIndex
    from tools.tool import Tool
    from workspace.sight import Sight
    from workspace.snapshot import Snapshot
    from workspace.workspace import Workspace

FAMILIES: Mapping[str, tuple[Tool, ...]] = {
    "documents": documents.FAMILY,
    "tasks": tasks.FAMILY,
    "search": search.FAMILY,
}
TOOLSETS = tuple(FAMILIES)
DEFAULT_TOOLSETS = ("documents", "tasks", "search")

# With --read-only and nothing else said: what a reader needs beside searching.
_READ_ONLY_TOOLS = ("search_docs", "get_doc", "list_documents", "view_document")

__all__ = [
    "DEFAULT_TOOLSETS",
    "FAMILIES",
    "TOOLSETS",
    "Answer",
    "Toolbox",
    "ToolsetUnknown",
    "UnknownTool",
    "all_tools",
    "choose_toolsets",
]


class ToolsetUnknown(WorkspaceError):
    """No toolset has this name. `toolsets` are those that exist."""

    code = "UNKNOWN_TOOLSET"


class UnknownTool(LookupError):
    """No tool of this name is offered; `nearest` are names that are."""

    def __init__(self, name: str, near: list[str]) -> None:
        super().__init__(name)
        self.name = name
        self.nearest = near


def all_tools() -> tuple[Tool, ...]:
    """Every tool, in the order in which a client sees them."""
    return tuple(tool for family in FAMILIES.values() for tool in family)


def choose_toolsets(names: str | Iterable[str] | None, *, read_only: bool) -> tuple[str, ...] | None:
    """The toolsets of a comma-separated text; None where nothing was chosen, so that the defaults hold.

    Raises ToolsetUnknown with the nearest name.
    """
    if names is None:
        return None
    chosen = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    chosen = [name for name in chosen if name]
    for name in chosen:
        if name not in FAMILIES:
            near = nearest(name, TOOLSETS)
            fix = f"Did you mean '{near[0]}'? " if near else ""
            raise ToolsetUnknown(
                f"no toolset '{name[:100]}'",
                fix=f"{fix}There are {', '.join(TOOLSETS)}.",
                toolsets=list(TOOLSETS),
            )
    if not chosen:
        raise ToolsetUnknown(
            "no toolset is named", fix=f"There are {', '.join(TOOLSETS)}.", toolsets=list(TOOLSETS)
        )
    return tuple(dict.fromkeys(chosen))


class Toolbox:
    """The tools that one server offers; `toolsets` None are the defaults, read-only keeps what only reads."""

    def __init__(
        self, workspace: Workspace, index: SearchIndex, toolsets: Iterable[str] | None, read_only: bool
    ) -> None:
        self._workspace = workspace
        self._index = index
        chosen = set(toolsets) if toolsets is not None else set(DEFAULT_TOOLSETS)
        tools = [tool for tool in all_tools() if tool.toolset in chosen and not (read_only and tool.writes)]
        if read_only and toolsets is None:
            tools = [tool for tool in tools if tool.name in _READ_ONLY_TOOLS]
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}

    @cached_property
    def _schemas(self) -> Mapping[str, dict[str, Any]]:
        return {name: input_schema(tool.arguments) for name, tool in self._tools.items()}

    def definitions(self) -> list[dict[str, Any]]:
        """The tools as a client is told them, always in the same order."""
        context = self._context("")
        return [
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.describe(context) if tool.describe else tool.description,
                "inputSchema": tool.schema(context, self._schemas[name])
                if tool.schema
                else self._schemas[name],
                "annotations": tool.annotations(),
            }
            for name, tool in self._tools.items()
        ]

    def call(
        self,
        name: str,
        arguments: object,
        *,
        client: str,
        progress: Progress | None = None,
        sight: Sight | None = None,
    ) -> Answer:
        """Answers a call. An expected error is an answer too; only UnknownTool and bugs are raised.

        `sight` is what the client has seen so far, and is told what this answer shows it.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(name, nearest(name, self._tools))
        context = self._context(client, progress, sight)
        given: Mapping[str, object] = arguments if isinstance(arguments, Mapping) else {}
        try:
            if arguments is not None and not isinstance(arguments, Mapping):
                raise InvalidArguments("the arguments are no object", fix="Send an object of fields.")
            return tool.run(context, given)
        except WorkspaceError as error:
            return self._failure(tool, error, given)

    def _failure(self, tool: Tool, error: WorkspaceError, given: Mapping[str, object]) -> Answer:
        snapshot = self._snapshot()
        data = failure(error, tool, given, snapshot)
        data["commit"] = snapshot.commit if snapshot else None
        text = visible(tool.error_text(error)) if tool.error_text else None
        return Answer(data, text=text, is_error=True)

    def _context(self, client: str, progress: Progress | None = None, sight: Sight | None = None) -> Context:
        return Context(self._workspace, self._index, client, progress, frozenset(self._tools), sight)

    def _snapshot(self) -> Snapshot | None:
        try:
            return self._workspace.snapshot()
        except WorkspaceError:
            return None
