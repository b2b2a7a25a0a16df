"""The first page of a server of organizations: the servers that the caller may read, and their addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from docyard.web.endpoints import run_in_thread
from docyard.web.templates import render_template

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.caller import Caller

PAGE_PATH = "/"

Pages = Sequence[tuple[str, str]]
"""The labels and the URLs of the main pages that a caller can open."""


class ListedServer(NamedTuple):
    """A server: its title, the URL of its endpoint, and its namespaces with their descriptions."""

    title: str
    url: str
    namespaces: Sequence[tuple[str, str]]


class ServersAccess(NamedTuple):
    """The functions that return the servers, and the main pages, of a caller."""

    list_servers: Callable[[Request], Sequence[ListedServer]]
    list_pages: Callable[[Caller], Pages]


def build_servers_routes(access: ServersAccess) -> list[BaseRoute]:
    """Return the route of the page."""

    async def show(request: Request) -> Response:
        return await run_in_thread(partial(_render, access, request))

    return [Route(PAGE_PATH, show, methods=["GET"])]


def _render(access: ServersAccess, request: Request) -> Response:
    caller = request.state.caller
    values = {
        "caller": caller,
        "pages": access.list_pages(caller),
        "page_path": PAGE_PATH,
        "has_sign_in": True,
        "servers": access.list_servers(request),
    }
    return HTMLResponse(render_template("servers.html", values).encode("utf-8", "replace"))
