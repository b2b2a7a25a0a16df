"""The page that asks for a token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import anyio.to_thread
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

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
