"""Index and link graph where a server would look for them, at the tip before others are measured on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str) -> dict[str, Any]:
    """Return the commit that both stand for then."""
    workspace = Workspace.open(Path(repository))
    index = SearchIndex(workspace)
    index.links.follow(workspace.snapshot())
    return {"commit": index.follow()}
