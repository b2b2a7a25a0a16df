"""The routes `/login`, which accepts a token, and `/logout`, which ends the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from docyard.database.errors import DatabaseUnavailable
from docyard.http.login_page import LOGIN_PATH, LOGOUT_PATH, MAX_FORM_BYTES, sanitize_path

if TYPE_CHECKING:
    from docyard.http.authentication import AuthenticationMiddleware


def build_login_routes(authentication: AuthenticationMiddleware) -> list[Route]:
    """Return the routes of `/login` and `/logout`."""

    async def login(request: Request) -> Response:
        caller = getattr(request.state, "caller", None)
        if request.method != "POST":
            redirect_path = sanitize_path(request.query_params.get("after", "/"))
            # A caller without a person may log in as a person, because only a person approves.
            if caller is not None and caller.person is not None:
                return RedirectResponse(redirect_path, 303)
            return await authentication.render_login_page(
                request.scope, is_signed_in=caller is not None, redirect_path=redirect_path
            )
        fields = await _read_fields(request)
        if fields is None or "token" not in fields:
            return await authentication.render_login_page(request.scope, 400)
        redirect_path = sanitize_path(fields.get("after", ""))
        # The token is checked even with a session, because the user may switch to another token.
        owner = await authentication.authenticate(request.scope, fields["token"].strip(), redirect_path)
        if isinstance(owner, Response):
            return owner
        response = RedirectResponse(redirect_path, 303)
        try:
            await authentication.start_session(request.scope, owner, response)
        except DatabaseUnavailable as error:
            return await authentication.respond_unavailable(request.scope, error, redirect_path)
        return response

    async def logout(request: Request) -> Response:
        from docyard.web.forms import FormRefused, read_fields

        try:
            await read_fields(request, MAX_FORM_BYTES)  # the sender may have no token
        except FormRefused:
            return RedirectResponse("/", 303)
        response = RedirectResponse(LOGIN_PATH, 303)
        await authentication.end_session(request.scope, response)
        return response

    return [
        Route(LOGIN_PATH, login, methods=["GET", "POST"]),
        Route(LOGOUT_PATH, logout, methods=["POST"]),
    ]


async def _read_fields(request: Request) -> Mapping[str, str] | None:
    """Return the fields of the login form, which needs no session; None if the form is invalid."""
    if (
        request.headers.get("content-type", "").partition(";")[0].strip()
        != "application/x-www-form-urlencoded"
    ):
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return None
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        return None
