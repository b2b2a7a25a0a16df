"""`/login`, where a person shows a token, and `/logout`, where the session ends."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Scope

if TYPE_CHECKING:
    from docyard.http.authentication import Authentication

LOGIN, LOGOUT = "/login", "/logout"

_MOST = 10_000  # bytes of the form


async def login_page(
    scope: Scope,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    *,
    is_wrong: bool = False,
    is_signed_in: bool = False,
    after: str | None = None,
) -> Response:
    """The page that asks for a token. `after` is where its reader was going, else what was asked for."""
    from docyard.web.templates import render

    if after is None:
        query = scope["query_string"].decode("latin-1")
        path = scope.get("raw_path", b"").decode("latin-1") or "/"
        is_telling = path in ("/", LOGIN)  # there the query may hold a token
        after = "/" if is_telling else f"{path}?{query}" if query else path
    values = {"is_wrong": is_wrong, "is_signed_in": is_signed_in, "after": own_path(after)}
    html = await anyio.to_thread.run_sync(partial(render, "login.html", values))
    return HTMLResponse(html, status, headers)


def own_path(text: str) -> str:
    """A path of this server to go on to; the library for anything that a browser could read as elsewhere."""
    is_own = text.startswith("/") and not text.startswith("//") and len(text) < _MOST
    plain = is_own and text.isascii() and text.isprintable() and "\\" not in text and " " not in text
    return text if plain and not text.startswith((LOGIN, LOGOUT)) else "/"


def signing_in_routes(authentication: Authentication) -> list[Route]:
    """The two routes."""

    async def login(request: Request) -> Response:
        caller = getattr(request.state, "caller", None)
        if request.method != "POST":
            after = own_path(request.query_params.get("after", "/"))
            # Who came in without a name is asked for one: only a person approves.
            if caller is not None and caller.person is not None:
                return RedirectResponse(after, 303)
            return await login_page(request.scope, is_signed_in=caller is not None, after=after)
        fields = await _fields(request)
        if fields is None or "token" not in fields:
            return await login_page(request.scope, 400)
        after = own_path(fields.get("after", ""))
        # Proved again even where there is a session: a person may go on under another name.
        found = await authentication.prove(request.scope, fields["token"].strip(), after)
        if isinstance(found, Response):
            return found
        response = RedirectResponse(after, 303)
        authentication.begin(request.scope, found, response)
        return response

    async def logout(request: Request) -> Response:
        from docyard.web.forms import FormRefused, fields_of

        try:
            await fields_of(request)
        except FormRefused:
            return RedirectResponse("/", 303)
        response = RedirectResponse(LOGIN, 303)
        authentication.end(request.scope, response)
        return response

    return [
        Route(LOGIN, login, methods=["GET", "POST"]),
        Route(LOGOUT, logout, methods=["POST"]),
    ]


async def _fields(request: Request) -> Mapping[str, str] | None:
    """The fields of the form, which carries nothing of a session yet; None for what is no such form."""
    if (
        request.headers.get("content-type", "").partition(";")[0].strip()
        != "application/x-www-form-urlencoded"
    ):
        return None
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > _MOST:
            return None
    try:
        return dict(parse_qsl(data.decode("ascii"), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        return None
