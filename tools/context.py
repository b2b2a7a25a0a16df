"""What a tool may reach while it answers one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.snapshot import Snapshot
    from workspace.workspace import Workspace

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Context:
    """The workspace and its index, who is asking, where progress is reported, and which tools are offered."""

    workspace: Workspace
    index: SearchIndex
    client: str
    progress: Progress | None = None
    tools: frozenset[str] = field(default_factory=frozenset)

    def offers(self, tool: str) -> bool:
        """Whether the client has this tool, so that a next step may name it."""
        return tool in self.tools

    def snapshot(self) -> Snapshot:
        """The tip of the served branch."""
        return self.workspace.snapshot()
