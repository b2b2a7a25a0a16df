"""Toolsets: the families of tools, and which of them a server offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tools import documents, history, proposals, reading, search, tasks
from workspace.addresses import nearest
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from tools.tool import Tool

FAMILIES: Mapping[str, tuple[Tool, ...]] = {
    "documents": documents.FAMILY,
    "tasks": tasks.FAMILY,
    "search": search.FAMILY,
    "reading": reading.FAMILY,
    "history": history.FAMILY,
    "proposals": proposals.FAMILY,
}
TOOLSETS = tuple(FAMILIES)
DEFAULT_TOOLSETS = ("documents", "tasks", "search")
REVIEW_TOOLSET = "proposals"
"""What is served with the defaults where the workspace's policy asks for review."""

# With --read-only and nothing else said: what a reader needs beside searching and reading.
_READ_ONLY_TOOLSETS = ("search", "reading")
_READ_ONLY_TOOLS = ("list_documents", "view_document")


class ToolsetUnknown(WorkspaceError):
    """No toolset has this name. `toolsets` are those that exist."""

    code = "UNKNOWN_TOOLSET"


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


def offered_tools(toolsets: Iterable[str] | None, *, read_only: bool) -> dict[str, Tool]:
    """The tools of these toolsets by name, of the default ones if None; those that read if `read_only`."""
    named: tuple[str, ...] = ()
    if toolsets is None:
        toolsets, named = (_READ_ONLY_TOOLSETS, _READ_ONLY_TOOLS) if read_only else (DEFAULT_TOOLSETS, ())
    chosen = set(toolsets)
    return {
        tool.name: tool
        for tool in all_tools()
        if (tool.toolset in chosen or tool.name in named) and not (read_only and tool.writes)
    }
