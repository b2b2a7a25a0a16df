"""The registry: which tools there are, which of them a server offers, and how a call is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tools import documents, history, reading, search, tasks
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
    "reading": reading.FAMILY,
    "history": history.FAMILY,
}
TOOLSETS = tuple(FAMILIES)
DEFAULT_TOOLSETS = ("documents", "tasks", "search")

# With --read-only and nothing else said: what a reader needs beside searching and reading.
_READ_ONLY_TOOLSETS = ("search", "reading")
_READ_ONLY_TOOLS = ("list_documents", "view_document")

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


@dataclass(frozen=True, slots=True)
class Served:
    """What a call is answered from, to its end."""

    workspace: Workspace
    index: SearchIndex


class Toolbox:
    """The tools that one server offers; `toolsets` None are the defaults, read-only keeps what only reads."""

    def __init__(
        self, workspace: Workspace, index: SearchIndex, toolsets: Iterable[str] | None, read_only: bool
    ) -> None:
        self._last = Served(workspace, index)
        self._current: Callable[[], Served] = lambda: self._last
        self._latest = self._current
        named: tuple[str, ...] = ()
        if toolsets is None:
            toolsets, named = (
                (_READ_ONLY_TOOLSETS, _READ_ONLY_TOOLS) if read_only else (DEFAULT_TOOLSETS, named)
            )
        chosen = set(toolsets)
        tools = [
            tool
            for tool in all_tools()
            if (tool.toolset in chosen or tool.name in named) and not (read_only and tool.writes)
        ]
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self._told: list[dict[str, Any]] = []

    @classmethod
    def following(
        cls,
        current: Callable[[], SearchIndex],
        latest: Callable[[], SearchIndex],
        toolsets: Iterable[str] | None,
    ) -> Toolbox:
        """The tools that read, over whichever index serves when a call begins; a call keeps it to its end.

        `latest` gives the one that serves for a list of tools, which asks nothing of what is in it.
        """
        toolbox = cls((first := latest()).workspace, first, toolsets, True)
        toolbox._current = lambda: _served(current())
        toolbox._latest = lambda: _served(latest())
        return toolbox

    @cached_property
    def _schemas(self) -> Mapping[str, dict[str, Any]]:
        return {name: input_schema(tool.arguments) for name, tool in self._tools.items()}

    def definitions(self) -> list[dict[str, Any]]:
        """The tools as a client is told them, in the same order; one object as long as it says the same."""
        context = self._context(self._listed(), "")
        found = [
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
        if found != self._told:
            self._told = found
        return self._told

    def awaits_taxonomy(self) -> bool:
        """Whether the workspace declares taxonomy keys of which no index has told the values yet."""
        served = self._listed()
        if served.index.metadata() is not None or not any(tool.schema for tool in self._tools.values()):
            return False
        snapshot = _snapshot(served.workspace)
        try:
            return snapshot is not None and bool(snapshot.config.taxonomy)
        except WorkspaceError:  # a call will say what is wrong with the settings
            return False

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
        given: Mapping[str, object] = arguments if isinstance(arguments, Mapping) else {}
        served = None
        try:
            served = self._current()
            context = self._context(served, client, progress, sight)
            if arguments is not None and not isinstance(arguments, Mapping):
                raise InvalidArguments("the arguments are no object", fix="Send an object of fields.")
            return tool.run(context, given)
        except WorkspaceError as error:
            return self._failure(tool, error, given, served)

    def context(self, client: str = "") -> Context:
        """What a request reads from that is no call of a tool: whatever serves when it begins.

        Raises what an artifact is refused for.
        """
        return self._context(self._current(), client)

    def _failure(
        self, tool: Tool, error: WorkspaceError, given: Mapping[str, object], served: Served | None
    ) -> Answer:
        snapshot = _snapshot(served.workspace, given.get("ref")) if served else None
        moves = served.workspace.moves if served else None
        data = failure(error, tool, given, snapshot, moves=moves, offered=self._tools)
        data["commit"] = snapshot.commit if snapshot else None
        if tool.shape_error:
            data.update(tool.shape_error(given))
        text = visible(tool.error_text(error)) if tool.error_text else None
        return Answer(data, text=text, is_error=True)

    def _listed(self) -> Served:
        """What the list of tools tells of: what serves now, else what served when it was listed last."""
        with suppress(WorkspaceError):
            self._last = self._latest()
        return self._last

    def _context(
        self, served: Served, client: str, progress: Progress | None = None, sight: Sight | None = None
    ) -> Context:
        return Context(served.workspace, served.index, client, progress, frozenset(self._tools), sight)


def _served(index: SearchIndex) -> Served:
    return Served(index.workspace, index)


def _snapshot(workspace: Workspace, ref: object = None) -> Snapshot | None:
    """What an error speaks of: the commit of a ref, else the tip; None if neither can be read."""
    if isinstance(ref, str):
        with suppress(WorkspaceError):
            return workspace.at(ref)
    try:
        return workspace.snapshot()
    except WorkspaceError:
        return None
