"""What forges publish of the calls that are made here, as it lies beside this file.

Each file says under `source` where it was taken from, and under `licence` on what terms.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def published(name: str) -> dict[str, Any]:
    """`operations`, and the `schemas` (JSON Schema) that they name; of GitHub `examples` too."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name(f"{name}_openapi.json").read_text())
    return found
