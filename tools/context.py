"""What a tool may reach while it answers one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.snapshot import Snapshot
    from workspace.workspace import Workspace

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Context:
    """The workspace and its index, who is asking, and where progress is reported."""

    workspace: Workspace
    index: SearchIndex
    client: str
    progress: Progress | None = None

    def snapshot(self) -> Snapshot:
        """The tip of the served branch."""
        return self.workspace.snapshot()
