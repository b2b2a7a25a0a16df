"""The observer that counts calls and searches in the metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docyard.mcp_server.calls import CallOutcome, ToolCall
    from docyard.telemetry.metrics import Metrics
    from tools.tool import Answer, Tool


class MetricsObserver:
    """Counts the calls of one server. `find_tool` returns the tool of a name that a client sends."""

    def __init__(self, metrics: Metrics, find_tool: Callable[[str], Tool | None]) -> None:
        self._metrics = metrics
        self._find_tool = find_tool

    def refuse(self, call: ToolCall) -> Answer | None:
        """Return None: metrics limit nothing."""
        return None

    def observe(self, call: ToolCall, outcome: CallOutcome) -> None:
        """Count a call, by the tool's own name."""
        tool = self._find_tool(call.name)
        self._metrics.count_call(
            None if tool is None else tool.name, outcome.code, outcome.duration_ms / 1_000, outcome.searches
        )
