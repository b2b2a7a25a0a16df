"""The observer of calls that applies limits, and passes what it admits or refuses to other observers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from docyard.limits.limiter import RATE_LIMITED, LimitedServer, Limiter
from docyard.mcp_server.calls import CallObserver, CallOutcome

if TYPE_CHECKING:
    from docyard.mcp_server.calls import ToolCall
    from tools.tool import Answer

log = logging.getLogger("docyard")
_UNKNOWN_TOOL = "unknown"


class LimitingObserver:
    """The limits of one server, followed by observers that record, such as metrics.

    A refused call is recorded with the outcome `RATE_LIMITED`. An error of an observer is logged, because
    the call may have committed already.
    """

    def __init__(
        self, limiter: Limiter, server: LimitedServer, observers: Sequence[CallObserver] = ()
    ) -> None:
        self._limiter = limiter
        self._server = server
        self._observers = tuple(observers)

    def refuse(self, call: ToolCall) -> Answer | None:
        """Return the answer to a call that exceeds a limit; None if the call may run."""
        refusal = self._limiter.refuse(call, self._server)
        if refusal is not None:
            # The name of an unknown tool is a text of the client, which records do not store.
            name = call.name if self._server.find_tool(call.name) is not None else _UNKNOWN_TOOL
            self._record(call._replace(name=name), CallOutcome(RATE_LIMITED, 0.0, None, ()))
        return refusal

    def observe(self, call: ToolCall, outcome: CallOutcome) -> None:
        """Finish a call that was not refused, and record it."""
        self._limiter.finish(call, outcome, self._server)
        self._record(call, outcome)

    def _record(self, call: ToolCall, outcome: CallOutcome) -> None:
        for observer in self._observers:
            try:
                observer.observe(call, outcome)
            except Exception:
                log.exception("a call was not recorded")
