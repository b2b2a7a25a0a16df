"""The published API descriptions of forges, from the JSON files in this folder.

Each file names its origin under `source`, and its licence under `licence`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load_published(name: str) -> dict[str, Any]:
    """Return a description: `operations`, and the `schemas` that they name; for GitHub also `examples`."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name(f"{name}_openapi.json").read_text())
    return data
