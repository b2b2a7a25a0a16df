"""Authentication: by the token of a request, or by the session of a browser.

A request contains `Authorization: Bearer …`, or a browser opens `/?token=…` and is redirected to `/` with a
session. The MCP endpoint accepts no sessions: otherwise a page of another site could call the endpoint with
the session of its reader.

Valid secrets are the server's own token and the named tokens of people. Only failed attempts are
delayed. Sessions are stored in memory by the digest of a random value.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlencode

import anyio
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.caller import Caller
from docyard.http.host_origin import is_forwarded_https
from docyard.http.login_page import LOGIN_PATH, render_login_page
from docyard.http.refusals import MCP_PATH, build_refusal, is_page_request
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.policy.tokens import Person, Tokens

log = logging.getLogger("docyard")
_MAX_TOKEN_CHARS = 1_000


class TokenOwner(NamedTuple):
    """The owner of a secret: a person, or the holder of the server's token.

    `token_key` is the key of the person's token; empty for the server's token.
    """

    person: Person | None = None
    token_key: bytes = b""


class TokenVerifier:
    """The verifier of secrets: the server's `token`, and the tokens of people.

    If `token` is None, every caller is accepted as anonymous.
    """

    def __init__(self, token: str | None, person_tokens: Tokens | None) -> None:
        self.accepts_everyone = token is None
        self._token = _digest(token) if token is not None else b""
        self._person_tokens = person_tokens

    def verify(self, secret: str) -> TokenOwner | None:
        """Return the owner of a secret; None if it is unknown."""
        if len(secret) > _MAX_TOKEN_CHARS:
            return None
        owner = None if self._person_tokens is None else self._find_person(self._person_tokens, secret)
        if not self.accepts_everyone and hmac.compare_digest(self._token, _digest(secret)):
            return TokenOwner()
        return owner

    def revalidate(self, owner: TokenOwner) -> TokenOwner | None:
        """Return the current owner; None if the person's token was revoked."""
        if owner.person is None:
            return owner
        try:
            known_person = (
                None if self._person_tokens is None else self._person_tokens.find_owner(owner.person.token)
            )
        except WorkspaceError as error:
            log.warning("people's tokens cannot be read: %s. %s", error.message, error.fix)
            return None
        if known_person is None or not hmac.compare_digest(known_person.key, owner.token_key):
            return None
        return TokenOwner(known_person.person, known_person.key)

    def _find_person(self, person_tokens: Tokens, secret: str) -> TokenOwner | None:
        from workspace.policy.tokens import InvalidToken

        try:
            person = person_tokens.person(secret)
            key = person_tokens.key(person.token)
        except InvalidToken:
            return None
        except WorkspaceError as error:
            log.warning("people's tokens cannot be read: %s. %s", error.message, error.fix)
            return None
        return None if key is None else TokenOwner(person, key)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


FAILED_LOGIN_DELAY_S = 0.5
MAX_DELAYED_ATTEMPTS = 32
"""The maximum number of delayed attempts; further attempts get a response to retry later."""


class FailedLoginThrottle:
    """The delay of failed logins at one server."""

    def __init__(self, delay_s: float = FAILED_LOGIN_DELAY_S) -> None:
        self._delay_s = delay_s
        self._waiting_count = 0

    async def delay(self) -> bool:
        """Wait after a failed attempt. Return False at once if too many attempts are waiting."""
        if self._waiting_count >= MAX_DELAYED_ATTEMPTS:
            return False
        self._waiting_count += 1
        try:
            await anyio.sleep(self._delay_s)
        finally:
            self._waiting_count -= 1
        return True


MAX_IDLE_S = 12 * 3600.0  # the time without a request after which a session ends
MAX_SESSION_S = 7 * 24 * 3600.0
MAX_SESSIONS = 1_000
"""The maximum number of sessions; beyond it the least recently used session ends."""

_RANDOM_BYTES = 32  # the length of the key of CSRF tokens, and of the value of a cookie


@dataclass(slots=True)
class Session:
    """The token's owner and the CSRF token of a session. Times are seconds of a monotonic clock."""

    owner: TokenOwner
    csrf: str
    started_at: float
    last_used_at: float


class Sessions:
    """The sessions of one server. Use them only on its event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(_RANDOM_BYTES)
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def start(self, owner: TokenOwner) -> str:
        """Start a session; return the value of its cookie, of which only the digest is stored."""
        value = secrets.token_urlsafe(_RANDOM_BYTES)
        now = self._clock()
        digest = _digest_session(value)
        self._sessions[digest] = Session(owner, self.compute_csrf_token(digest), now, now)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return value

    def find(self, value: str) -> Session | None:
        """Return the session of a cookie and mark it as used; None if it does not exist or has ended."""
        digest = _digest_session(value)
        session = self._sessions.get(digest)
        if session is None:
            return None
        now = self._clock()
        if now - session.last_used_at > MAX_IDLE_S or now - session.started_at > MAX_SESSION_S:
            del self._sessions[digest]
            return None
        session.last_used_at = now
        self._sessions.move_to_end(digest)
        return session

    def end(self, value: str) -> None:
        """End a session, if it exists."""
        self._sessions.pop(_digest_session(value), None)

    def compute_csrf_token(self, name: bytes) -> str:
        """Return the CSRF token for a session's digest or a caller's name. No other server can compute it."""
        return hmac.digest(self._key, name, "sha256").hex()


def _digest_session(value: str) -> bytes:
    # A lookup by digest does not reveal the value by its duration.
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()


_CHALLENGE_HEADERS = {"WWW-Authenticate": 'Bearer realm="docyard"'}
_INVALID_TOKEN_HEADERS = {"WWW-Authenticate": 'Bearer realm="docyard", error="invalid_token"'}

# Paths that need no token: static files, and webhooks, which forges sign.
_PUBLIC_PREFIXES = ("/static/", "/hooks/")
# The names from which the CSRF tokens of callers without a session are computed.
_ANONYMOUS_NAME = b"nobody"
_CLIENT_NAME = b"client"


class AuthenticationMiddleware:
    """Middleware that responds with 401 to unauthenticated requests, and sets `caller` in the state."""

    def __init__(
        self,
        app: ASGIApp,
        verifier: TokenVerifier,
        sessions: Sessions,
        throttle: FailedLoginThrottle,
        *,
        cookie_name: str,
        may_write: bool,
        is_proxied: bool,
    ) -> None:
        self._app = app
        self._verifier = verifier
        self._sessions = sessions
        self._throttle = throttle
        self._cookie_name = cookie_name
        self._may_write = may_write
        self._is_proxied = is_proxied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = self._app
        if scope["type"] == "http":
            caller = await self._identify_caller(scope)
            if isinstance(caller, Response):
                app = caller
            else:
                scope = {**scope, "state": {**scope.get("state", {}), "caller": caller}}
        await app(scope, receive, send)

    async def _identify_caller(self, scope: Scope) -> Caller | Response | None:
        """Return the caller, a response (a refusal or redirect), or None if the path needs no caller."""
        path = scope["path"]
        if path.startswith(_PUBLIC_PREFIXES):
            return None
        headers = Headers(scope=scope).getlist("authorization")
        if headers:
            return await self._check_bearer(scope, headers)
        if (
            path == "/"
            and scope["method"] == "GET"
            and (response := await self._check_link(scope)) is not None
        ):
            return response
        if path != MCP_PATH and (session := self.find_session(scope)) is not None:
            return Caller(session.owner.person, session.csrf, self._may_write, True)
        if self._verifier.accepts_everyone:
            return self._build_caller(TokenOwner(), _ANONYMOUS_NAME)
        if path == LOGIN_PATH:
            return None
        if is_page_request(scope) and path != MCP_PATH:
            return await render_login_page(scope, 401, _CHALLENGE_HEADERS)
        return build_refusal(
            scope,
            401,
            "the request has no token",
            "Send the header Authorization: Bearer TOKEN.",
            _CHALLENGE_HEADERS,
        )

    def find_session(self, scope: Scope) -> Session | None:
        """Return the active session of a request, if it has one. A revoked token ends the session."""
        value = read_cookie(scope, self._cookie_name)
        session = self._sessions.find(value) if value else None
        if session is None:
            return None
        owner = self._verifier.revalidate(session.owner)
        if owner is None:
            self._sessions.end(value)
            return None
        session.owner = owner
        return session

    def start_session(self, scope: Scope, owner: TokenOwner, response: Response) -> None:
        """Start a session whose cookie is set by `response`. The browser's former session ends."""
        self._sessions.end(read_cookie(scope, self._cookie_name))
        response.set_cookie(
            self._cookie_name,
            self._sessions.start(owner),
            max_age=int(MAX_SESSION_S),
            httponly=True,
            samesite="lax",
            secure=self._is_proxied and is_forwarded_https(scope),
        )

    def end_session(self, scope: Scope, response: Response) -> None:
        """End the session of a request, if it has one."""
        self._sessions.end(read_cookie(scope, self._cookie_name))
        response.delete_cookie(self._cookie_name, httponly=True, samesite="lax")

    async def authenticate(
        self, scope: Scope, secret: str, redirect_path: str | None = None
    ) -> TokenOwner | Response:
        """Return the owner of a token; after a delay, the refusal of an invalid token.

        `redirect_path` is the target of the redirect after a login with the form in the refusal.
        """
        owner = self._verifier.verify(secret)
        if owner is not None:
            return owner
        if not await self._throttle.delay():
            retry_headers = {"Retry-After": "1"}
            return build_refusal(
                scope, 429, "too many requests with an invalid token", "Try again in a second.", retry_headers
            )
        if scope["path"] in ("/", LOGIN_PATH):
            return await render_login_page(
                scope, 401, _INVALID_TOKEN_HEADERS, is_token_wrong=True, redirect_path=redirect_path
            )
        return build_refusal(
            scope,
            401,
            "the token is invalid",
            "Use the URL that the server printed at its last start.",
            _INVALID_TOKEN_HEADERS,
        )

    async def _check_bearer(self, scope: Scope, headers: list[str]) -> Caller | Response:
        scheme, _, secret = headers[0].partition(" ")
        if len(headers) > 1 or scheme.lower() != "bearer":
            fix = "Send one Authorization header: Bearer TOKEN."
            return build_refusal(scope, 401, "the Authorization header is invalid", fix, _CHALLENGE_HEADERS)
        owner = await self.authenticate(scope, secret.strip())
        return owner if isinstance(owner, Response) else self._build_caller(owner, _CLIENT_NAME)

    async def _check_link(self, scope: Scope) -> Response | None:
        """Return the response to `/?token=…`; None if the query has no token."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if not tokens:
            return None
        query_string = urlencode([(name, value) for name, value in query if name != "token"])
        # The redirect removes the token from the URL, which the browser would display and store.
        response = RedirectResponse(
            f"/?{query_string}" if query_string else "/", 303, {"Referrer-Policy": "no-referrer"}
        )
        if not self._verifier.accepts_everyone:
            owner = await self.authenticate(scope, tokens[-1].strip())
            if isinstance(owner, Response):
                return owner
            # A link on another site must not replace an active session with a session of the link's author.
            if not is_cross_site(scope) or self.find_session(scope) is None:
                self.start_session(scope, owner, response)
        return response

    def _build_caller(self, owner: TokenOwner, csrf_name: bytes) -> Caller:
        csrf_name += owner.token_key
        return Caller(owner.person, self._sessions.compute_csrf_token(csrf_name), self._may_write, False)


def is_cross_site(scope: Scope) -> bool:
    """Return True if the browser reports that another site caused the request (Fetch Metadata)."""
    return Headers(scope=scope).get("sec-fetch-site") in ("cross-site", "same-site")


def read_cookie(scope: Scope, name: str) -> str:
    """Return the value of a cookie; empty if there is none."""
    return HTTPConnection(scope).cookies.get(name, "")
