"""An index where a server would look for it, brought to the tip before others are measured on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str) -> dict[str, Any]:
    """The commit that the index stands for then."""
    return {"commit": SearchIndex(Workspace.open(Path(repository))).follow()}
