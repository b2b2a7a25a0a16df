"""The login page, and the path of the redirect after a login."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from urllib.parse import urlencode

import anyio.to_thread
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

LOGIN_PATH, LOGOUT_PATH = "/login", "/logout"
PROVIDER_LOGIN_PATH, CALLBACK_PATH = "/login/provider", "/login/callback"
MAX_FORM_BYTES = 10_000


async def render_login_page(
    scope: Scope,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    *,
    is_token_wrong: bool = False,
    is_signed_in: bool = False,
    redirect_path: str | None = None,
    provider_host: str | None = None,
    failure: str = "",
) -> Response:
    """Return the login page.

    After a login, the browser is redirected to `redirect_path`, or to the requested URL if the path is None.
    `provider_host` is the host of the identity provider, if people can sign in there. `failure` is the reason
    why they could not.
    """
    from docyard.web.templates import render_template

    if redirect_path is None:
        query = scope["query_string"].decode("latin-1")
        path = scope.get("raw_path", b"").decode("latin-1") or "/"
        # The query of these paths may contain a token.
        redirect_path = "/" if path in ("/", LOGIN_PATH) else f"{path}?{query}" if query else path
    values = {
        "is_token_wrong": is_token_wrong,
        "is_signed_in": is_signed_in,
        "redirect_path": sanitize_path(redirect_path),
        "provider_host": provider_host,
        "provider_url": f"{PROVIDER_LOGIN_PATH}?{urlencode({'after': sanitize_path(redirect_path)})}",
        "failure": failure,
    }
    html = await anyio.to_thread.run_sync(partial(render_template, "login.html", values))
    return HTMLResponse(html, status, headers)


def sanitize_path(text: str) -> str:
    """Return a path of this server; "/" for a text that a browser may interpret as another site's URL."""
    is_own_path = text.startswith("/") and not text.startswith("//") and len(text) < MAX_FORM_BYTES
    is_safe = is_own_path and text.isascii() and text.isprintable() and "\\" not in text and " " not in text
    return text if is_safe and not text.startswith((LOGIN_PATH, LOGOUT_PATH)) else "/"
