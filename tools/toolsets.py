"""Toolsets: the families of tools, and which of them a server offers."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from tools.tool import Tool

TOOLSETS = ("documents", "tasks", "search", "reading", "history", "proposals")
"""The toolsets in the order in which a client sees their tools; each is a package of `tools`."""

DEFAULT_TOOLSETS = ("documents", "tasks", "search")
REVIEW_TOOLSET = "proposals"
"""What is served with the defaults where the workspace's policy asks for review."""

# With --read-only and nothing else said: `search_docs` finds what `search_documents` would.
_READ_ONLY_TOOLSETS = ("documents", "search", "reading")
_NOT_BY_DEFAULT = ("search_documents",)


class ToolsetUnknown(WorkspaceError):
    """No toolset has this name. `toolsets` are those that exist."""

    code = "UNKNOWN_TOOLSET"


def family(toolset: str) -> tuple[Tool, ...]:
    """Return the tools of a toolset, imported here because a server does not offer all of them."""
    tools: tuple[Tool, ...] = import_module(f"tools.{toolset}").FAMILY
    return tools


def all_tools() -> tuple[Tool, ...]:
    """Return every tool, in the order in which a client sees them."""
    return tuple(tool for toolset in TOOLSETS for tool in family(toolset))


def choose_toolsets(names: str | Iterable[str] | None, *, read_only: bool) -> tuple[str, ...] | None:
    """Return the toolsets of a comma-separated text; None if it is empty, so that the defaults apply.

    Raises ToolsetUnknown with the nearest name.
    """
    if names is None:
        return None
    chosen = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    chosen = [name for name in chosen if name]
    for name in chosen:
        if name not in TOOLSETS:
            near = find_nearest(name, TOOLSETS)
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


def offered_tools(toolsets: Iterable[str] | None, *, read_only: bool) -> dict[str, Tool]:
    """Return the tools of these toolsets by name, of the defaults if None; only readers if `read_only`."""
    left_out: tuple[str, ...] = ()
    if toolsets is None:
        toolsets, left_out = (_READ_ONLY_TOOLSETS, _NOT_BY_DEFAULT) if read_only else (DEFAULT_TOOLSETS, ())
    chosen = set(toolsets)
    tools = (tool for toolset in TOOLSETS if toolset in chosen for tool in family(toolset))
    return {
        tool.name: tool for tool in tools if tool.name not in left_out and not (read_only and tool.writes)
    }
