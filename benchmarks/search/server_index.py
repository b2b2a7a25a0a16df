"""The build of the index and the link graph that a server uses, before other measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str) -> dict[str, Any]:
    """Build the index and the link graph; return the commit of the index."""
    workspace = Workspace.open(Path(repository))
    index = SearchIndex(workspace)
    index.links.update_to(workspace.snapshot())
    return {"commit": index.update_to_tip()}
