"""A low-level MCP server of a toolbox's tools, over standard input and output, for both protocol eras."""

from __future__ import annotations

import logging
import re
import signal
import sys
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)

from docyard.mcp_server.arrays import unwrap_array
from docyard.mcp_server.calls import Progress, ToolCalls, Workers, escape_surrogates
from docyard.mcp_server.handlers import Completions, Prompts, Resources
from docyard.mcp_server.instructions import build_instructions
from docyard.mcp_server.notifications import ResourceSubscriptions, ToolListAnnouncer
from docyard.mcp_server.requests import Requests
from docyard.mcp_server.stdio import OpenRequests, StdioConnection, stdio
from tools.registry import Toolbox, UnknownTool
from workspace.writing.read_before_write import SeenTexts

if TYPE_CHECKING:
    from docyard.caller import Caller
    from workspace.policy.tokens import Person

log = logging.getLogger("docyard")

Context = ServerRequestContext[Any, Any]

_LIST_TTL = 30_000  # milliseconds; the values of the taxonomy in a schema may be this old
_FIXED_TTL = 3_600_000  # milliseconds; prompts and templates are the same as long as a server runs
_WARM_AFTER = 1.0  # seconds until background work starts, if no client asks for the tools
_VALUES_WITHIN = 2.0  # seconds in which the first list of tools waits for the values of a declared taxonomy
_WORKERS = 8
_CLIENT_LENGTH = 100
_PRODUCT = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def build_server(
    toolbox: Toolbox,
    calls: ToolCalls,
    workers: Workers,
    announcer: ToolListAnnouncer,
    watching: ResourceSubscriptions,
    *,
    version: str,
    listed: anyio.Event,
    indexed: Callable[[], Awaitable[object]],
    is_shared: bool = False,
) -> Server[Any]:
    """Return a server whose tools are the toolbox's.

    `listed` is set when a client has listed the tools, and `indexed` returns when there is an index. The
    first list waits briefly for the index if a declared taxonomy has no known values yet: many hosts list
    once. `is_shared` is true if requests come from several clients; then nothing is sent but responses.
    """
    schemas: dict[str, Mapping[str, Any]] = {}

    def definitions() -> list[dict[str, Any]]:
        found = toolbox.definitions()
        schemas.update((tool["name"], tool["inputSchema"]) for tool in found)
        return found

    def schema(name: str) -> Mapping[str, Any] | None:
        if not schemas:
            definitions()
        return schemas.get(name)

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        if not listed.is_set() and await workers.run(toolbox.awaits_taxonomy):
            with anyio.move_on_after(_VALUES_WITHIN):
                await indexed()
        found = await workers.run(definitions)
        announcer.record_list(found, context.session)
        listed.set()
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in found])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        wanted = context.meta is not None and "progress_token" in context.meta
        reporter = context.session if wanted else None
        arguments = unwrap_array(params.arguments or {})
        try:
            result = await calls.call(
                params.name, arguments, read_client_name(context), reporter, get_person(context)
            )
            return CallToolResult.model_validate(result)
        except UnknownTool as error:
            raise unknown_tool(error) from None
        finally:
            _notify(announcer.schedule, watching.schedule)

    requests = Requests(toolbox, workers)
    resources, prompts = Resources(requests, watching), Prompts(requests)

    return Server(
        "docyard",
        version=version,
        instructions=build_instructions(toolbox.names()),
        cache_hints={
            "tools/list": CacheHint(ttl_ms=_LIST_TTL, scope="private"),
            "prompts/list": CacheHint(ttl_ms=_FIXED_TTL, scope="private"),
            "resources/templates/list": CacheHint(ttl_ms=_FIXED_TTL, scope="private"),
        },
        get_tool_input_schema=schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_subscribe_resource=None if is_shared else watching.subscribe,
        on_unsubscribe_resource=None if is_shared else watching.unsubscribe,
        on_subscriptions_listen=watching.listen,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
        on_completion=Completions(requests).complete,
    )


def _notify(*askers: Callable[[], None]) -> None:
    """Schedule notifications of changes. An error is logged and does not replace a response."""
    for ask in askers:
        try:
            ask()
        except Exception:
            log.exception("clients are not notified of changes")


def unknown_tool(error: UnknownTool) -> MCPError:
    """Return the protocol's error for an unknown tool, with the most similar names."""
    name = escape_surrogates(error.name[:_CLIENT_LENGTH])
    hint = (
        f"Did you mean {' or '.join(error.nearest)}?"
        if error.nearest
        else "tools/list names those there are."
    )
    message = f"Unknown tool: {name!r}. {hint}"
    return MCPError(code=INVALID_PARAMS, message=message, data={"tool": name, "nearest": error.nearest})


def read_client_name(context: Context) -> str:
    """Return the client's name on one line of at most 100 characters; "unknown" without a name.

    A handshake contains it once, a stateless request each time; the session knows both. Without a stored
    handshake, the product in `User-Agent` (RFC 9110 §10.1.5) is used.
    """
    parameters = context.session.client_params
    name = parameters.client_info.name if parameters else ""
    # Control, format and surrogate characters and line separators could forge a trailer, or hide one.
    plain = "".join(" " if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else c for c in name)
    told = " ".join(plain.split())[:_CLIENT_LENGTH].strip()
    return told or _product(context) or "unknown"


def _product(context: Context) -> str:
    headers: Mapping[str, str] = getattr(context.request, "headers", {})
    found = _PRODUCT.match(headers.get("user-agent", ""))
    return found[0][:_CLIENT_LENGTH] if found else ""


def get_person(context: Context) -> Person | None:
    """Return the owner of the named token of an HTTP request; None over standard input and output."""
    state = getattr(context.request, "state", None)
    caller: Caller | None = getattr(state, "caller", None)
    return None if caller is None else caller.person


async def serve_stdio(
    toolbox: Toolbox,
    *,
    version: str,
    warm: Callable[[Progress], object],
) -> None:
    """Serve one client over standard input and output until it closes its end, or a signal stops it.

    `warm` runs in a thread after the first list of tools, or after a second. It never starts while a request
    is open, except a list of tools that waits for it.
    """
    listed, begun, warmed = anyio.Event(), anyio.Event(), anyio.Event()

    async def warm_once() -> None:
        if not begun.is_set():
            begun.set()
            await calls.background(warm)
            warmed.set()
            _notify(announcer.schedule)

    async def indexed() -> None:
        tasks.start_soon(warm_once)
        await warmed.wait()

    async def warm_up(requests: OpenRequests) -> None:
        with anyio.move_on_after(_WARM_AFTER):
            await listed.wait()
        await requests.settle()
        await warm_once()

    async def stop_on_signal(connection: StdioConnection, scope: anyio.CancelScope) -> None:
        """Stop at the first signal, when what runs is answered; at the second without answers."""
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                if calls.is_closing:
                    scope.cancel()
                calls.close()
                workers.close()
                connection.stop()

    async with Workers(_WORKERS) as workers:
        calls = ToolCalls(toolbox, workers, SeenTexts())
        bus = InMemorySubscriptionBus()
        announcer = ToolListAnnouncer(toolbox.definitions, workers, bus)
        watching = ResourceSubscriptions(Requests(toolbox, workers), bus)
        server = build_server(
            toolbox,
            calls,
            workers,
            announcer,
            watching,
            version=version,
            listed=listed,
            indexed=indexed,
        )
        changing = NotificationOptions(tools_changed=True, resources_changed=True)
        options = server.create_initialization_options(changing)
        async with anyio.create_task_group() as tasks:
            async with stdio() as connection:
                if sys.platform != "win32":  # the event loop there cannot receive signals
                    tasks.start_soon(stop_on_signal, connection, tasks.cancel_scope)
                tasks.start_soon(warm_up, connection.requests)
                tasks.start_soon(announcer.run)
                tasks.start_soon(watching.run)
                await server.run(connection.incoming, connection.outgoing, options)
            calls.close()
            tasks.cancel_scope.cancel()


def run_stdio(
    toolbox: Toolbox,
    *,
    version: str,
    warm: Callable[[Progress], object],
) -> None:
    """Run `serve_stdio` to its end, from code that is not asynchronous."""
    anyio.run(partial(serve_stdio, toolbox, version=version, warm=warm))
