"""The routes by which people sign in at an identity provider.

The values of a sign-in that has begun are in a cookie of the browser, with a MAC of this server. So the
server stores nothing for a browser that never comes back, and no other site can finish a sign-in here.
"""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from docyard.http.authentication import AuthenticationMiddleware, is_cross_site
from docyard.http.login_page import CALLBACK_PATH, LOGIN_PATH, PROVIDER_LOGIN_PATH, sanitize_path
from docyard.identity.provider import ProviderUnavailable
from docyard.identity.sign_in import PendingSignIn, SignInFailed

if TYPE_CHECKING:
    from docyard.identity.sign_in import SignIn
    from docyard.sessions.sessions import Sessions

MAX_SIGN_IN_S = 600.0
"""The time in which a person must sign in at the provider."""

_MAC_CHARACTERS = 64
_MAX_COOKIE_CHARACTERS = 4_000
_NO_STORE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def build_provider_login_routes(
    authentication: AuthenticationMiddleware,
    sessions: Sessions,
    sign_in: SignIn,
    cookie_name: str,
    clock: Callable[[], float] = time.time,
) -> list[Route]:
    """Return the routes that send a browser to the provider, and that receive it from there.

    `clock` is the time of day: another worker, or another machine, may finish a sign-in.
    """

    def seal(pending: PendingSignIn) -> str:
        data = base64.urlsafe_b64encode(json.dumps([clock(), *pending]).encode()).decode()
        return sessions.compute_csrf_token(b"sign-in\n" + data.encode()) + data

    def unseal(value: str) -> PendingSignIn | None:
        mac, data = value[:_MAC_CHARACTERS], value[_MAC_CHARACTERS:].encode("utf-8", "replace")
        expected_mac = sessions.compute_csrf_token(b"sign-in\n" + data)
        if not hmac.compare_digest(mac.encode("utf-8", "replace"), expected_mac.encode()):
            return None
        started_at, *fields = json.loads(base64.urlsafe_b64decode(data))
        # The clock of the node that began it may be another one.
        return PendingSignIn(*fields) if abs(clock() - started_at) <= MAX_SIGN_IN_S else None

    async def begin(request: Request) -> Response:
        redirect_path = sanitize_path(request.query_params.get("after", "/"))
        # A link on another site must not change the identity of the reader.
        if is_cross_site(request.scope):
            return await authentication.render_login_page(request.scope, redirect_path=redirect_path)
        try:
            url, pending = await sign_in.begin(redirect_path)
        except ProviderUnavailable as error:
            return await respond_unavailable(request, error, redirect_path)
        value = seal(pending)
        if len(value) > _MAX_COOKIE_CHARACTERS:  # browsers ignore a longer cookie
            url, pending = await sign_in.begin("/")
            value = seal(pending)
        response = RedirectResponse(url, 303, _NO_STORE)
        response.set_cookie(
            cookie_name,
            value,
            max_age=int(MAX_SIGN_IN_S),
            path=LOGIN_PATH,
            httponly=True,
            samesite="lax",
            secure=authentication.is_secure(request.scope),
        )
        return response

    async def finish(request: Request) -> Response:
        pending = unseal(request.cookies.get(cookie_name, ""))
        redirect_path = "/" if pending is None else sanitize_path(pending.redirect_path)
        try:
            if pending is None:
                raise SignInFailed("it took too long, or was begun in another browser")
            owner = await sign_in.finish(pending, dict(request.query_params))
        except SignInFailed as error:
            failure = f"{error.message[0].upper()}{error.message[1:]}."
            response = await authentication.render_login_page(
                request.scope, 401, _NO_STORE, redirect_path=redirect_path, failure=failure
            )
        except ProviderUnavailable as error:
            return await respond_unavailable(request, error, redirect_path)
        else:
            response = RedirectResponse(redirect_path, 303, _NO_STORE)
            await authentication.start_session(request.scope, owner, response)
        response.delete_cookie(cookie_name, path=LOGIN_PATH, httponly=True, samesite="lax")
        return response

    async def respond_unavailable(
        request: Request, error: ProviderUnavailable, redirect_path: str
    ) -> Response:
        return await authentication.render_login_page(
            request.scope,
            503,
            {**_NO_STORE, "Retry-After": str(error.retry_after)},
            redirect_path=redirect_path,
            failure="The identity provider cannot be reached now. Try again in a moment.",
        )

    return [
        Route(PROVIDER_LOGIN_PATH, begin, methods=["GET"]),
        Route(CALLBACK_PATH, finish, methods=["GET"]),
    ]
