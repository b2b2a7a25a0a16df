"""A server with slow, broken and noisy tools, for tests: `python stub_server.py FOLDER`.

The server creates the files `begun`, `done` and `warming` in FOLDER, so that tests can wait for these states.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docyard.mcp_server.server import run_stdio
from tools.dispatcher import UnknownTool
from tools.tool import Answer

FOLDER = Path(sys.argv[1])
TOOL_NAMES = ("slow", "broken", "noisy", "whoami", "surrogate")


class StubDispatcher:
    """A dispatcher of the tools in TOOL_NAMES."""

    on_list_change: Any = None
    build_review_url: Any = None
    has_resources = True

    def definitions(self) -> list[dict[str, Any]]:
        return [
            {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {}}}
            for name in TOOL_NAMES
        ]

    def tool_names(self) -> frozenset[str]:
        return frozenset(TOOL_NAMES)

    def may_change_prompts(self) -> bool:
        return False

    def awaits_taxonomy(self) -> bool:
        return (FOLDER / "awaits").exists()

    def call(
        self,
        name: str,
        arguments: Mapping[str, object],
        *,
        client: str,
        progress: Any = None,
        seen_texts: Any = None,
        person: Any = None,
        may_review: bool = True,
        max_tokens: Any = None,
    ) -> Answer:
        match name:
            case "slow":
                (FOLDER / "begun").touch()
                for step in range(10):
                    time.sleep(0.06)
                    if progress:
                        progress(step + 1, 10, "Counting")
                (FOLDER / "done").touch()
                return Answer({"done": True})
            case "broken":
                raise ZeroDivisionError("the secret path /srv/secret")
            case "noisy":
                print("to standard output")
                return Answer({"printed": True})
            case "whoami":
                return Answer({"client": client})
            case "surrogate":
                return Answer({"text": "a\ud800b", "é": ["\udfff"]})
        raise UnknownTool(name, [])


def warm(progress: Any) -> None:
    (FOLDER / "warming").touch()
    for step in range(600):
        time.sleep(0.1)
        progress(step, 600, "Warming")


logging.basicConfig(stream=sys.stderr)
run_stdio(StubDispatcher(), version="0", warm=warm)  # type: ignore[arg-type]
