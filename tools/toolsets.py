"""Toolsets: groups of tools, and the choice of the toolsets that a server offers."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from tools.tool import Tool

TOOLSETS = ("documents", "tasks", "search", "reading", "history", "proposals", "planning", "comments")
"""The toolsets in the order of a client's list of tools; each is a package of `tools`."""

DEFAULT_TOOLSETS = ("documents", "tasks", "search")
SOURCES_TOOLSET = "retrieval"
"""The toolset of a server of many sources; no other server offers it."""

REVIEW_TOOLSET = "proposals"
"""The toolset that is added to the defaults if the workspace's policy requires review."""

# The defaults with --read-only; `search_docs` makes `search_documents` superfluous.
_READ_ONLY_TOOLSETS = ("documents", "search", "reading")
_SOURCE_READING_TOOLSETS = ("documents", "search", "reading", "history")
_EXCLUDED_IF_READ_ONLY = ("search_documents",)


class UnknownToolset(WorkspaceError):
    """A toolset does not exist. `toolsets` are the valid names."""

    code = "UNKNOWN_TOOLSET"


def load_toolset(toolset: str) -> tuple[Tool, ...]:
    """Return the tools of a toolset. They are imported late, because a server does not offer all toolsets."""
    tools: tuple[Tool, ...] = import_module(f"tools.{toolset}").TOOLS
    return tools


def all_tools() -> tuple[Tool, ...]:
    """Return all tools except those of SOURCES_TOOLSET, in the order of a client's list."""
    return tuple(tool for toolset in TOOLSETS for tool in load_toolset(toolset))


def find_toolset(tool_name: str) -> str | None:
    """Return the toolset that has a tool of this name, or None."""
    return next((tool.toolset for tool in all_tools() if tool.name == tool_name), None)


def parse_toolsets(
    names: str | Iterable[str] | None, *, serves_sources: bool = False
) -> tuple[str, ...] | None:
    """Return the toolsets of a list or a comma-separated text; None for None (the defaults).

    Raises UnknownToolset for an unknown name, and for an empty list.
    """
    if names is None:
        return None
    toolsets = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    toolsets = [name for name in toolsets if name]
    known_toolsets = (SOURCES_TOOLSET, *_SOURCE_READING_TOOLSETS) if serves_sources else TOOLSETS
    for name in toolsets:
        if name not in known_toolsets:
            nearest = find_nearest(name, known_toolsets)
            fix = f"Did you mean '{nearest[0]}'? " if nearest else ""
            raise UnknownToolset(
                f"unknown toolset '{name[:100]}'",
                fix=f"{fix}The toolsets are {', '.join(known_toolsets)}.",
                toolsets=list(known_toolsets),
            )
    if not toolsets:
        raise UnknownToolset(
            "the list of toolsets is empty",
            fix=f"The toolsets are {', '.join(known_toolsets)}.",
            toolsets=list(known_toolsets),
        )
    return tuple(dict.fromkeys(toolsets))


def select_tools(toolsets: Iterable[str] | None, *, read_only: bool) -> dict[str, Tool]:
    """Return the tools of `toolsets`, or of the defaults, by name; only reading tools if `read_only`."""
    excluded_names: tuple[str, ...] = ()
    if toolsets is None:
        toolsets, excluded_names = (
            (_READ_ONLY_TOOLSETS, _EXCLUDED_IF_READ_ONLY) if read_only else (DEFAULT_TOOLSETS, ())
        )
    toolset_names = set(toolsets)
    tools = (tool for toolset in TOOLSETS if toolset in toolset_names for tool in load_toolset(toolset))
    return {
        tool.name: tool
        for tool in tools
        if tool.name not in excluded_names and not (read_only and tool.writes)
    }
