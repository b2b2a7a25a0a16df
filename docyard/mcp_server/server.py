"""An MCP server of a dispatcher's tools in both protocol versions, also over standard input and output.

Importing the SDK takes most of a server's start, so only commands that serve import this module.
"""

from __future__ import annotations

import logging
import re
import secrets
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
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)

from docyard.mcp_server.arrays import unwrap_array
from docyard.mcp_server.calls import CallObserver, Progress, ToolCalls, Workers, escape_surrogates
from docyard.mcp_server.handlers import FIXED_TTL_MS, LIST_TTL_MS, Completions, Prompts, Resources
from docyard.mcp_server.instructions import build_instructions
from docyard.mcp_server.notifications import ListAnnouncers, ResourceSubscriptions
from docyard.mcp_server.requests import Requests
from docyard.mcp_server.review_page import ReviewPage
from docyard.mcp_server.stdio import OpenRequests, StdioConnection, open_stdio
from tools.budgets.limits import MAX_TOKENS, parse_max_tokens
from tools.compatibility.schema_versions import META_KEY, SCHEMA_VERSION
from tools.dispatcher import Dispatcher, UnknownTool
from workspace.config.config import MAX_TEXT_TOKENS
from workspace.writing.read_before_write import SeenTexts

if TYPE_CHECKING:
    from mcp.server.request_state import RequestStateBoundary

    from docyard.caller import Caller

log = logging.getLogger("docyard")

Context = ServerRequestContext[Any, Any]

_WARM_UP_DELAY_S = 1.0  # background work starts after this time if no client has listed the tools
_TAXONOMY_TIMEOUT_S = 2.0  # the first list of tools waits at most this long for the values of a taxonomy
_WORKER_COUNT = 8
_MAX_CLIENT_NAME_CHARACTERS = 100
_PRODUCT_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def build_server(
    dispatcher: Dispatcher,
    calls: ToolCalls,
    workers: Workers,
    announcers: ListAnnouncers,
    subscriptions: ResourceSubscriptions,
    *,
    version: str,
    list_event: anyio.Event,
    wait_for_index: Callable[[], Awaitable[object]],
    is_shared: bool = False,
    review_page: ReviewPage | None = None,
) -> Server[Any]:
    """Return a server of the dispatcher's tools.

    `list_event` is set when a client has listed the tools. `wait_for_index` returns when there is an index.
    The first list waits briefly for the index if a declared taxonomy has no known values yet, because many
    hosts list the tools only once. `is_shared` is true if requests come from several clients; the
    server then sends only responses. `review_page` is None if users are not asked to open pages.
    """
    schemas: dict[str, Mapping[str, Any]] = {}

    def list_definitions() -> list[dict[str, Any]]:
        tool_definitions = dispatcher.definitions()
        schemas.update((tool["name"], tool["inputSchema"]) for tool in tool_definitions)
        return tool_definitions

    def get_schema(name: str) -> Mapping[str, Any] | None:
        if not schemas:
            list_definitions()
        return schemas.get(name)

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        if not list_event.is_set() and await workers.run(dispatcher.awaits_taxonomy):
            with anyio.move_on_after(_TAXONOMY_TIMEOUT_S):
                await wait_for_index()
        tool_definitions = await workers.run(list_definitions)
        announcers.tools.record_list(tool_definitions, context.session)
        list_event.set()
        return ListToolsResult(
            tools=[Tool.model_validate(tool) for tool in tool_definitions], _meta={META_KEY: SCHEMA_VERSION}
        )

    async def call_tool(
        context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        has_progress_token = context.meta is not None and "progress_token" in context.meta
        reporter = context.session if has_progress_token else None
        arguments = unwrap_array(params.arguments or {})
        caller = get_caller(context)
        try:
            call = partial(
                calls.call,
                params.name,
                client=read_client_name(context),
                caller=caller,
                max_tokens=read_max_tokens(getattr(context.request, "query_params", {})),
            )
            if review_page is not None and review_page.is_offered(context, params.name):
                return await review_page.call(context, params, arguments, caller, call, reporter)
            return CallToolResult.model_validate(await call(arguments, reporter=reporter))
        except UnknownTool as error:
            raise build_unknown_tool_error(error) from None
        finally:
            _notify(announcers.schedule, subscriptions.schedule)

    requests = Requests(dispatcher, workers)
    resources, prompts = Resources(requests, subscriptions), Prompts(requests, announcers.prompts)
    handlers: dict[str, Any] = {
        "on_list_prompts": prompts.list,
        "on_get_prompt": prompts.get,
        "on_completion": Completions(requests).complete,
    }
    if dispatcher.has_resources:
        handlers |= {
            "on_list_resources": resources.list,
            "on_list_resource_templates": resources.list_templates,
            "on_read_resource": resources.read,
            "on_subscribe_resource": None if is_shared else subscriptions.subscribe,
            "on_unsubscribe_resource": None if is_shared else subscriptions.unsubscribe,
        }

    server: Server[Any] = Server(
        "docyard",
        version=version,
        instructions=build_instructions(dispatcher.tool_names()),
        cache_hints={
            "tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="private"),
            "resources/templates/list": CacheHint(ttl_ms=FIXED_TTL_MS, scope="private"),
        },
        get_tool_input_schema=get_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=subscriptions.listen,
        **handlers,
    )
    if review_page is not None:
        server.middleware.append(build_state_boundary())
    return server


def build_state_boundary() -> RequestStateBoundary:
    """Return a middleware that encrypts the state of a request which the client repeats.

    A state is valid for the same call by the same principal, for ten minutes, at this process.
    """
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

    def get_principal(context: Context) -> str | None:
        caller = get_caller(context)
        return None if caller is None or caller.principal is None else caller.principal.key

    security = RequestStateSecurity(keys=[secrets.token_bytes(32)], bind_principal=get_principal)
    return RequestStateBoundary(security, default_audience="docyard")


def _notify(*schedulers: Callable[[], None]) -> None:
    """Schedule notifications of changes. An error is logged, because the response must be sent anyway."""
    for schedule in schedulers:
        try:
            schedule()
        except Exception:
            log.exception("a notification of changes was not scheduled")


def build_unknown_tool_error(error: UnknownTool) -> MCPError:
    """Return the protocol's error for an unknown tool, with the most similar names."""
    name = escape_surrogates(error.name[:_MAX_CLIENT_NAME_CHARACTERS])
    hint = f"Did you mean {' or '.join(error.nearest)}?" if error.nearest else "tools/list lists the tools."
    data: dict[str, object] = {"tool": name, "nearest": error.nearest}
    if error.toolset is not None:
        hint = (
            f"The toolset '{error.toolset}' has it, which this server does not offer: "
            f"add {error.toolset} to --toolsets."
        )
        data["toolset"] = error.toolset
    message = f"Unknown tool: {name!r}. {hint}"
    return MCPError(code=INVALID_PARAMS, message=message, data=data)


def read_client_name(context: Context) -> str:
    """Return the client's name on one line of at most 100 characters; "unknown" if no name is known.

    A handshake contains the name once, a stateless request each time; the session stores both. If the client
    sends no name, the product in `User-Agent` is used (RFC 9110 §10.1.5).
    """
    parameters = context.session.client_params
    name = parameters.client_info.name if parameters else ""
    # Control, format and surrogate characters and line separators could forge a trailer, or hide one.
    printable_name = "".join(
        " " if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else character
        for character in name
    )
    client_name = " ".join(printable_name.split())[:_MAX_CLIENT_NAME_CHARACTERS].strip()
    return client_name or _read_user_agent_product(context) or "unknown"


def _read_user_agent_product(context: Context) -> str:
    headers: Mapping[str, str] = getattr(context.request, "headers", {})
    product = _PRODUCT_TOKEN.match(headers.get("user-agent", ""))
    return product[0][:_MAX_CLIENT_NAME_CHARACTERS] if product else ""


def get_caller(context: Context) -> Caller | None:
    """Return the sender of an HTTP request; None over standard input and output."""
    state = getattr(context.request, "state", None)
    caller: Caller | None = getattr(state, "caller", None)
    return caller


def read_max_tokens(parameters: Mapping[str, str]) -> int | None:
    """Return the limit of an answer in the parameters of a request's URL; None without one.

    Raises InvalidArguments.
    """
    value = parameters.get(MAX_TOKENS)
    return None if value is None else parse_max_tokens(value, MAX_TEXT_TOKENS)


async def serve_stdio(
    dispatcher: Dispatcher,
    *,
    version: str,
    warm: Callable[[Progress], object],
    build_review_url: Callable[[str], str] | None = None,
    observer: CallObserver | None = None,
) -> None:
    """Serve one client over standard input and output until the client closes its end or a signal arrives.

    `warm` runs in a thread after the first list of tools, or after a second. It starts when no request is
    open, or when a list of tools waits for it. `build_review_url` returns the URL of a proposal's page; it is
    None if there are no pages. `observer` limits and records calls.
    """
    list_event, start_event, warm_event = anyio.Event(), anyio.Event(), anyio.Event()

    async def warm_once() -> None:
        if not start_event.is_set():
            start_event.set()
            await calls.run_background(warm)
            warm_event.set()
            _notify(announcers.schedule)

    async def wait_for_index() -> None:
        tasks.start_soon(warm_once)
        await warm_event.wait()

    async def warm_up(requests: OpenRequests) -> None:
        with anyio.move_on_after(_WARM_UP_DELAY_S):
            await list_event.wait()
        await requests.wait_until_all_answered()
        await warm_once()

    async def stop_on_signal(connection: StdioConnection, scope: anyio.CancelScope) -> None:
        """Stop after the running calls at the first signal; stop immediately at the second."""
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                if calls.is_closing:
                    scope.cancel()
                calls.close()
                workers.close()
                connection.stop()

    async def stop_review_page(connection: StdioConnection) -> None:
        if review_page is not None:
            await connection.close_event.wait()
            review_page.stop()

    async with Workers(_WORKER_COUNT) as workers:
        calls = ToolCalls(dispatcher, workers, SeenTexts(), observer)
        bus = InMemorySubscriptionBus()
        may_change_prompts = await workers.run(dispatcher.may_change_prompts)
        announcers = ListAnnouncers(dispatcher, workers, bus, polls_prompts=may_change_prompts)
        dispatcher.on_list_change = announcers.tools.schedule_from_thread
        dispatcher.build_review_url = build_review_url
        requests = Requests(dispatcher, workers)
        subscriptions = ResourceSubscriptions(requests, bus)
        review_page = None if build_review_url is None else ReviewPage(requests, build_review_url)
        server = build_server(
            dispatcher,
            calls,
            workers,
            announcers,
            subscriptions,
            version=version,
            list_event=list_event,
            wait_for_index=wait_for_index,
            review_page=review_page,
        )
        notification_options = NotificationOptions(
            tools_changed=True, resources_changed=True, prompts_changed=may_change_prompts
        )
        options = server.create_initialization_options(notification_options)
        async with anyio.create_task_group() as tasks:
            async with open_stdio() as connection:
                if sys.platform != "win32":  # the event loop there cannot receive signals
                    tasks.start_soon(stop_on_signal, connection, tasks.cancel_scope)
                tasks.start_soon(warm_up, connection.requests)
                tasks.start_soon(stop_review_page, connection)
                tasks.start_soon(announcers.run)
                tasks.start_soon(subscriptions.run)
                await server.run(connection.incoming, connection.outgoing, options)
            calls.close()
            tasks.cancel_scope.cancel()


def run_stdio(
    dispatcher: Dispatcher,
    *,
    version: str,
    warm: Callable[[Progress], object],
    build_review_url: Callable[[str], str] | None = None,
    observer: CallObserver | None = None,
) -> None:
    """Run `serve_stdio` from synchronous code."""
    serve = partial(
        serve_stdio,
        dispatcher,
        version=version,
        warm=warm,
        build_review_url=build_review_url,
        observer=observer,
    )
    anyio.run(serve)
