"""Index and link graph at the place of a server's, built at the tip before other measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str) -> dict[str, Any]:
    """Build both; return their commit."""
    workspace = Workspace.open(Path(repository))
    index = SearchIndex(workspace)
    index.links.follow(workspace.snapshot())
    return {"commit": index.follow()}
