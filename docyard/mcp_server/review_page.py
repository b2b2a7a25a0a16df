"""Requests to a user to open the page of a proposal whose merge lacks a decision, and the wait for it.

A client that supports elicitation by URL shows the request (MCP 2025-11-25 and 2026-07-28, "Elicitation").
Its response only states whether the user agreed to open the page; it is never a verdict. While the user
decides, no worker thread and no lock is held. When the proposal, its discussion, its target or a token has
changed, and no decision is missing, the call is repeated. It has the same requirements as any other merge.

In version 2025-11-25 the server sends a request to the client, over standard input and output only. In
version 2026-07-28 the result of the call contains the request, and the client repeats the call with its
response.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from docyard.caller import may_review
from docyard.mcp_server.calls import WorkRejected, build_result
from docyard.mcp_server.requests import Requests
from tools.dispatcher import add_hints
from tools.tool import Answer

if TYPE_CHECKING:
    from docyard.caller import Caller
    from docyard.mcp_server.calls import Reporter
    from tools.proposals.missing_decision import MissingDecision
    from tools.tool import Context

MAX_WAITING_CALLS = 16
"""The largest number of calls that wait for a decision; each of them is an unanswered request."""

DECISION_TIMEOUT_S = 300.0
_POLL_INTERVAL_S = 1.0
_MERGING_TOOL = "update_proposal"
_REFUSAL_CODES = ("MERGE_BLOCKED", "NEEDS_PERSON")
_INPUT_KEY = "review_page"


class CallTool(Protocol):
    """A function that calls the tool of a request, and returns the result."""

    async def __call__(
        self, arguments: Mapping[str, Any] | list[Any], *, reporter: Reporter | None
    ) -> dict[str, Any]: ...


class RefusedMerge(NamedTuple):
    """A refused merge that only people can permit: its proposal, its call, and the data of its answer."""

    proposal: str
    arguments: Mapping[str, Any]
    message: str
    data: dict[str, Any]


class ReviewPage:
    """The review pages of one server's proposals; `build_url` returns the URL of a proposal's page."""

    def __init__(self, requests: Requests, build_url: Callable[[str], str]) -> None:
        self._requests = requests
        self._build_url = build_url
        self._stop_event = anyio.Event()
        self._waiting_count = 0

    def stop(self) -> None:
        """End all waiting, because the server is stopping or its client has closed the connection."""
        self._stop_event.set()

    def is_offered(self, request: ServerRequestContext[Any, Any], tool: str) -> bool:
        """Return True if the client of a request can show a page, and a call of the tool may need one."""
        capabilities = request.session.client_capabilities
        elicitation = capabilities.elicitation if capabilities is not None else None
        return (
            tool == _MERGING_TOOL
            and elicitation is not None
            and elicitation.url is not None
            and (_is_modern(request) or request.session.can_send_request)
        )

    async def call(
        self,
        request: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        arguments: Mapping[str, Any] | list[Any],
        caller: Caller | None,
        call_tool: CallTool,
        reporter: Reporter | None,
    ) -> CallToolResult | InputRequiredResult:
        """Return the result of a call; if only a decision of people is missing, ask the user for it first."""
        if _is_modern(request) and params.request_state is not None:
            refused = RefusedMerge(**json.loads(params.request_state))
            response = (params.input_responses or {}).get(_INPUT_KEY)
            if not isinstance(response, ElicitResult):
                return self._build_input_request(refused)
            return _to_result(await self._continue(request, refused, caller, call_tool, response.action))
        result = await call_tool(arguments, reporter=reporter)
        refused_merge = await self._find_refused_merge(arguments, result, caller)
        if refused_merge is None:
            return _to_result(result)
        if _is_modern(request):
            return self._build_input_request(refused_merge)
        return _to_result(await self._continue(request, refused_merge, caller, call_tool))

    async def _find_refused_merge(
        self, arguments: Mapping[str, Any] | list[Any], result: dict[str, Any], caller: Caller | None
    ) -> RefusedMerge | None:
        """Return the merge that a result refuses, if only a decision of people is missing."""
        data = result["structuredContent"]
        if not isinstance(arguments, Mapping) or data.get("code") not in _REFUSAL_CODES:
            return None
        decision = await self._requests.run_with_context(partial(_find_missing_decision, arguments, caller))
        return None if decision is None else RefusedMerge(*decision, data)

    def _build_input_request(self, refused: RefusedMerge) -> InputRequiredResult:
        elicitation = ElicitRequestURLParams(message=refused.message, url=self._build_url(refused.proposal))
        return InputRequiredResult(
            input_requests={_INPUT_KEY: ElicitRequest(params=elicitation)},
            request_state=json.dumps(refused._asdict()),
        )

    async def _continue(
        self,
        request: ServerRequestContext[Any, Any],
        refused: RefusedMerge,
        caller: Caller | None,
        call_tool: CallTool,
        action: str | None = None,
    ) -> dict[str, Any]:
        """Wait for the decision if the user accepts, and return the result. Without an action, ask first."""
        if action not in (None, "accept"):
            return self._refuse(refused, action or "")
        if self._waiting_count >= MAX_WAITING_CALLS:
            return self._refuse(refused, "busy")
        self._waiting_count += 1
        try:
            action = action or await self._request_action(request, refused)
            if action != "accept":
                return self._refuse(refused, action)
            return await self._wait_and_merge(request, refused, caller, call_tool)
        except WorkRejected:
            return self._refuse(refused, "stopped")
        finally:
            self._waiting_count -= 1

    async def _request_action(self, request: ServerRequestContext[Any, Any], refused: RefusedMerge) -> str:
        """Send the request to the client; return the user's action, or the reason why there is none."""
        action = "timeout"

        async def stop_request() -> None:
            nonlocal action
            await self._stop_event.wait()
            action = "stopped"
            tasks.cancel_scope.cancel()

        with anyio.move_on_after(DECISION_TIMEOUT_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop_request)
                action = await self._elicit(request, refused)
                tasks.cancel_scope.cancel()
        return action

    async def _elicit(self, request: ServerRequestContext[Any, Any], refused: RefusedMerge) -> str:
        try:
            result = await request.session.elicit_url(
                refused.message,
                self._build_url(refused.proposal),
                secrets.token_hex(16),
                related_request_id=request.request_id,
            )
        except (MCPError, ValidationError):
            return "failed"
        return result.action

    async def _wait_and_merge(
        self,
        request: ServerRequestContext[Any, Any],
        refused: RefusedMerge,
        caller: Caller | None,
        call_tool: CallTool,
    ) -> dict[str, Any]:
        """Repeat the call when no decision is missing, and at the end of the time; return its result."""
        start_time = anyio.current_time()
        last_state: object = ()
        while True:
            elapsed_s = anyio.current_time() - start_time
            is_over = elapsed_s >= DECISION_TIMEOUT_S
            # The state is read first, so that no later change is missed.
            state = await self._requests.run_with_context(partial(_read_state, refused.proposal))
            find_decision = partial(_find_missing_decision, refused.arguments, caller)
            if is_over or (
                state != last_state and await self._requests.run_with_context(find_decision) is None
            ):
                result = await call_tool(refused.arguments, reporter=None)
                still_refused = await self._find_refused_merge(refused.arguments, result, caller)
                if still_refused is None:
                    return result
                refused = still_refused
            if is_over:
                return self._refuse(refused, "timeout")
            last_state = state
            message = f"waiting for a decision at {self._build_url(refused.proposal)}"
            await request.session.report_progress(elapsed_s, DECISION_TIMEOUT_S, message)
            if await self._is_closed_after(
                min(_POLL_INTERVAL_S, DECISION_TIMEOUT_S - elapsed_s), request.request
            ):
                return self._refuse(refused, "stopped")

    async def _is_closed_after(self, seconds: float, http_request: Any) -> bool:
        """Wait; return True at once if the server stops or the client of an HTTP request disconnects."""
        is_closed = False

        async def wait_for(event: Callable[[], Awaitable[object]]) -> None:
            nonlocal is_closed
            await event()
            is_closed = True
            tasks.cancel_scope.cancel()

        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait_for, self._stop_event.wait)
                if http_request is not None:
                    # The SDK notices a closed connection only if its response is a stream.
                    tasks.start_soon(wait_for, partial(_wait_for_disconnect, http_request))
        return is_closed

    def _refuse(self, refused: RefusedMerge, event: str) -> dict[str, Any]:
        """Return the refusal of the merge, with a hint about what happened to the request to the user."""
        url = self._build_url(refused.proposal)
        hint = {
            "decline": f"the user declined to open {url}",
            "cancel": f"the user closed the request to open {url}",
            "timeout": f"the user was asked to open {url}, and no decision was made within "
            f"{DECISION_TIMEOUT_S:,.0f} seconds; call again to ask again",
            "stopped": f"the user was asked to open {url}, and the connection ended before the decision",
            "failed": f"the client could not ask the user to open {url}",
            "busy": f"{MAX_WAITING_CALLS} merges wait for a decision already, so the user was not asked to "
            f"open {url}",
        }[event]
        return build_result(add_hints(Answer(refused.data, is_error=True), [hint]))


def _is_modern(request: ServerRequestContext[Any, Any]) -> bool:
    """Return True if the server cannot send requests in the protocol version of a request."""
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _to_result(result: dict[str, Any]) -> CallToolResult:
    return CallToolResult.model_validate(result)


async def _wait_for_disconnect(http_request: Any) -> None:
    while (await http_request.receive())["type"] != "http.disconnect":
        pass


def _find_missing_decision(
    arguments: Mapping[str, Any], caller: Caller | None, context: Context
) -> MissingDecision | None:
    from tools.proposals.missing_decision import find_missing_decision

    person = None if caller is None else caller.person
    call_context = replace(context, person=person, may_review=may_review(caller))
    return find_missing_decision(call_context, arguments)


def _read_state(proposal: str, context: Context) -> object:
    from tools.proposals.missing_decision import read_decision_state

    return read_decision_state(context, proposal)
