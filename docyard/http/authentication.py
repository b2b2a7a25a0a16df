"""Authentication: by the token of a request, or by the session of a browser; and the scopes of requests.

A request contains `Authorization: Bearer …`, or a browser opens `/?token=…` and is redirected to `/` with a
session. The MCP endpoint accepts no sessions: otherwise a page of another site could call the endpoint with
the session of its reader. A feed also accepts `Authorization: Basic …` with a token as the password, because
readers of feeds send nothing else; browsers repeat such a header by themselves, so no other path accepts it.

A list of verifiers decides which secrets are valid. `TokenVerifier` knows the server's own token and the
named tokens of people; others are in `docyard.identity`. A secret that no verifier knows is a failed attempt,
and only failed attempts are delayed. A valid token whose scopes are not enough is answered with 403. Sessions
are in `docyard.sessions`; without their database, or that of people's tokens, one is answered with 503.
"""

from __future__ import annotations

import binascii
import hmac
import logging
import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import anyio
from anyio import to_thread
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.caller import ADMIN_SCOPE, READ_SCOPE, WRITE_SCOPE, Caller, Principal
from docyard.database.errors import DatabaseUnavailable
from docyard.http.challenges import INSUFFICIENT_SCOPE, INVALID_REQUEST, METADATA_PATH, Challenges
from docyard.http.host_origin import is_forwarded_https
from docyard.http.login_page import (
    CALLBACK_PATH,
    LOGIN_PATH,
    LOGOUT_PATH,
    PROVIDER_LOGIN_PATH,
    render_login_page,
)
from docyard.http.refusals import build_refusal, is_mcp_path, is_page_request
from docyard.identity.verifier import (
    INVALID_TOKEN,
    SERVER_PRINCIPAL,
    Authenticated,
    TokenRefusal,
    Verifier,
    digest_token_key,
)
from docyard.limits.addresses import group_address
from docyard.sessions.sessions import MAX_SESSION_S, Session, Sessions
from docyard.telemetry.logs import StateText
from docyard.web.urls import FEED_PREFIX
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.policy.tokens import KnownPerson, Tokens

log = logging.getLogger("docyard")
_MAX_TOKEN_CHARS = 1_000


class TokenVerifier:
    """The verifier of the server's `token`, if it is not None, and of the tokens of people.

    `issuers` are those of the users whom other verifiers know.
    """

    def __init__(self, token: str | None, person_tokens: Tokens | None, issuers: Sequence[str] = ()) -> None:
        self._token_digest = _digest_secret(token) if token is not None else None
        self._person_tokens = person_tokens
        self._user_prefixes = tuple(f"user:{issuer}#" for issuer in issuers)

    async def verify(self, secret: str, resource: str = "") -> Authenticated | TokenRefusal | None:
        """Return the owner of a secret; None if it is unknown, a refusal if tokens cannot be read now."""
        if len(secret) > _MAX_TOKEN_CHARS:
            return None
        owner: KnownPerson | TokenRefusal | None = None
        if self._person_tokens is not None:
            # Nodes may share the tokens in a database.
            owner = await to_thread.run_sync(_find_person, self._person_tokens, secret)
        digest = _digest_secret(secret)
        if self._token_digest is not None and hmac.compare_digest(self._token_digest, digest):
            return Authenticated(token_digest=digest)
        return owner if owner is None or isinstance(owner, TokenRefusal) else _build_authenticated(owner)

    async def revalidate(self, authenticated: Authenticated) -> Authenticated | None:
        """Return the current owner; None if the person's token was revoked, or has expired.

        A session outlives a restart if nodes share it. So one of another token of a server, and one of a user
        of another issuer, has ended. Raises DatabaseUnavailable.
        """
        key = authenticated.principal.key
        if key == SERVER_PRINCIPAL.key:
            is_current = self._token_digest is not None and hmac.compare_digest(
                self._token_digest, authenticated.token_digest
            )
            return authenticated if is_current else None
        if key.startswith("user:"):
            return authenticated if key.startswith(self._user_prefixes) else None
        # The database of nodes can contain anything: no other identity starts a session.
        if authenticated.person is None or key != _build_principal_key(authenticated.person.token):
            return None
        from index.port import EngineUnavailable

        try:
            known_person = (
                None
                if self._person_tokens is None
                else await to_thread.run_sync(self._person_tokens.find_owner, authenticated.person.token)
            )
        except WorkspaceError as error:
            log.warning("people's tokens cannot be read: %s", StateText(f"{error.message}. {error.fix}"))
            if isinstance(error, EngineUnavailable):
                raise DatabaseUnavailable.from_engine(error) from error
            return None
        if (
            known_person is None
            or known_person.has_expired()
            or not hmac.compare_digest(digest_token_key(known_person.key), authenticated.token_digest)
        ):
            return None
        return _build_authenticated(known_person)


def _find_person(person_tokens: Tokens, secret: str) -> KnownPerson | TokenRefusal | None:
    from index.port import EngineUnavailable
    from workspace.policy.tokens import InvalidToken

    try:
        return person_tokens.authenticate(secret)
    except InvalidToken:
        return None
    except WorkspaceError as error:
        log.warning("people's tokens cannot be read: %s", StateText(f"{error.message}. {error.fix}"))
        if isinstance(error, EngineUnavailable):
            return TokenRefusal("tokens cannot be checked now", _UNAVAILABLE_FIX, 503, "", _RETRY_S)
        return None


def _build_authenticated(owner: KnownPerson) -> Authenticated:
    person = owner.person
    principal = Principal(
        _build_principal_key(person.token),
        person.name,
        scopes=owner.scopes,
        is_operator=ADMIN_SCOPE in owner.scopes,
    )
    return Authenticated(principal, person, digest_token_key(owner.key), owner.expires_at)


def _build_principal_key(token_name: str) -> str:
    """Return the key of the principal who has a person's own token."""
    return f"token:{token_name}"


def _digest_secret(secret: str) -> bytes:
    return digest_token_key(secret.encode("utf-8", "surrogatepass"))


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


# Paths that need no token: static files, webhooks, which forges sign, and metadata for clients without one.
_PUBLIC_PREFIXES = ("/static/", "/hooks/", METADATA_PATH)
# Paths of the login. A request may have a caller, for example one who wants another identity.
_LOGIN_PATHS = (LOGIN_PATH, PROVIDER_LOGIN_PATH, CALLBACK_PATH)
# The names from which the CSRF tokens of callers without a session are computed.
_ANONYMOUS_NAME = b"anonymous"
_CLIENT_NAME = b"client"

_ADDRESS_PREFIX = "address:"  # of the keys of principals without a token

_RETRY_S = 2  # the time after which a client may ask again while sessions or tokens cannot be read

_UNAVAILABLE_FIX = (
    "Try again in a moment. If this lasts, tell the server's operator: the log of the server has the reason."
)
_BEARER_FIX = "Send the header Authorization: Bearer TOKEN."
_FORM_FIX = f"Go back and copy your text, sign in at {LOGIN_PATH}, and send the form from the page again."
_FEED_FIX = "Send a token as the password, with any user name, or the header Authorization: Bearer TOKEN."
_BASIC_CHALLENGE = 'Basic realm="docyard", charset="UTF-8"'


def find_required_scope(scope: Scope) -> str | None:
    """Return the scope that a request to a server of one repository needs; None if it needs none.

    A call of a tool needs only the scope for reading here: a caller without the scope for writing has an MCP
    endpoint without the tools that write.
    """
    if scope["path"] in (*_LOGIN_PATHS, LOGOUT_PATH):
        return None
    is_reading = scope["method"] in ("GET", "HEAD") or is_mcp_path(scope["path"])
    return READ_SCOPE if is_reading else WRITE_SCOPE


class AuthenticationMiddleware:
    """Middleware that responds with 401 to unauthenticated requests, and sets `caller` in the state."""

    def __init__(
        self,
        app: ASGIApp,
        verifiers: Sequence[Verifier],
        sessions: Sessions,
        throttle: FailedLoginThrottle,
        *,
        cookie_name: str,
        may_write: bool,
        is_proxied: bool,
        anonymous_scopes: frozenset[str] | None = None,
        find_required_scope: Callable[[Scope], str | None] = find_required_scope,
        challenges: Challenges = Challenges(),  # noqa: B008 - immutable
        provider_host: str | None = None,
    ) -> None:
        """Create the middleware.

        `anonymous_scopes` are the scopes of a request without a token; None if each request needs one.
        `find_required_scope` returns the scope that a request needs. `provider_host` is the host of the
        identity provider at which people can sign in.
        """
        self._app = app
        self._verifiers = verifiers
        self._sessions = sessions
        self._throttle = throttle
        self._cookie_name = cookie_name
        self._may_write = may_write
        self._is_proxied = is_proxied
        self._anonymous_scopes = anonymous_scopes
        self._find_required_scope = find_required_scope
        self._challenges = challenges
        self._provider_host = provider_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = self._app
        if scope["type"] == "http":
            caller: Caller | Response | None
            try:
                caller = await self._identify_caller(scope)
            except DatabaseUnavailable as error:
                caller = await self.respond_unavailable(scope, error)
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
        if path in _LOGIN_PATHS or (scope["method"] not in ("GET", "HEAD") and not is_mcp_path(path)):
            # Nodes compute the same tokens of forms, also one that was started while the database was down.
            await self._sessions.load_key()
        caller = await self._find_caller(scope)
        if isinstance(caller, Caller) and caller.principal is not None:
            required_scope = self._find_required_scope(scope)
            if required_scope is not None and required_scope not in caller.principal.scopes:
                is_anonymous = caller.principal.key.startswith(_ADDRESS_PREFIX)
                if is_anonymous:  # a token can help: RFC 6750 §3.1
                    return await self.require_token(scope)
                return self._refuse_scope(scope, required_scope)
        return caller

    async def _find_caller(self, scope: Scope) -> Caller | Response | None:
        path = scope["path"]
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        # Addresses are logged and stored, so a token in one is not safe (RFC 6750 §5.3).
        if any(name == "access_token" or (name == "token" and is_mcp_path(path)) for name, _ in query):
            headers = self._challenges.build_headers(scope, INVALID_REQUEST)
            return build_refusal(scope, 401, "the address contains a token", _BEARER_FIX, headers)
        authorization_headers = Headers(scope=scope).getlist("authorization")
        if authorization_headers:
            return await self._check_bearer(scope, authorization_headers)
        if (
            path == "/"
            and scope["method"] == "GET"
            and (response := await self._check_link(scope, query)) is not None
        ):
            return response
        if not is_mcp_path(path) and (session := await self.find_session(scope)) is not None:
            return self._build_caller(session.owner, session.csrf, is_session=True)
        if self._anonymous_scopes is not None:
            # A client usually has all addresses of an IPv6 network: each would have limits of its own.
            address = group_address((scope.get("client") or ("unknown",))[0])
            principal = Principal(f"{_ADDRESS_PREFIX}{address}", address, scopes=self._anonymous_scopes)
            csrf = self._sessions.compute_csrf_token(_ANONYMOUS_NAME)
            return self._build_caller(Authenticated(principal), csrf)
        return None if path in _LOGIN_PATHS else await self.require_token(scope)

    async def require_token(self, scope: Scope) -> Response:
        """Return the response to a request that needs a token: the login page for a browser."""
        headers = self._challenges.build_headers(
            scope, missing_scope=self._find_required_scope(scope) or READ_SCOPE
        )
        if is_page_request(scope) and not is_mcp_path(scope["path"]):
            return await self.render_login_page(scope, 401, headers)
        if _is_feed(scope):
            return _add_basic_challenge(
                build_refusal(scope, 401, "the request has no token", _FEED_FIX, headers)
            )
        if _is_form(scope):
            return build_refusal(
                scope, 401, "the form was not accepted: you are signed out", _FORM_FIX, headers
            )
        return build_refusal(scope, 401, "the request has no token", _BEARER_FIX, headers)

    def _refuse_scope(self, scope: Scope, required_scope: str) -> Response:
        headers = self._challenges.build_headers(
            scope, INSUFFICIENT_SCOPE, f"the scope {required_scope} is missing", required_scope
        )
        fix = f"Use a token, or sign in as a person, with the scope {required_scope}."
        return build_refusal(scope, 403, f"the scope {required_scope} is missing", fix, headers)

    async def render_login_page(self, scope: Scope, *arguments: Any, **options: Any) -> Response:
        """Return the login page, with the identity provider if there is one."""
        return await render_login_page(scope, *arguments, provider_host=self._provider_host, **options)

    async def handle_unavailable(self, request: Request, error: Exception) -> Response:
        """Return the response to a request whose route needs a session that cannot be read or changed now."""
        assert isinstance(error, DatabaseUnavailable)
        return await self.respond_unavailable(request.scope, error)

    async def respond_unavailable(
        self, scope: Scope, error: DatabaseUnavailable, redirect_path: str | None = None
    ) -> Response:
        """Return the response to a browser whose session cannot be read or changed now.

        `redirect_path` is the target of the redirect after a login with the form in the response.
        """
        headers = {"Retry-After": str(_RETRY_S), "Cache-Control": "no-store"}
        if not is_page_request(scope) and scope["path"] != LOGIN_PATH:
            return build_refusal(
                scope, 503, "sessions cannot be read or changed now", _UNAVAILABLE_FIX, headers
            )
        failure = f"Sessions cannot be read or changed now. {_UNAVAILABLE_FIX}"
        return await self.render_login_page(scope, 503, headers, failure=failure, redirect_path=redirect_path)

    async def find_session(self, scope: Scope) -> Session | None:
        """Return the active session of a request, if it has one. A revoked token ends the session.

        Raises DatabaseUnavailable.
        """
        value = read_cookie(scope, self._cookie_name)
        is_read_only = scope["method"] in ("GET", "HEAD")
        session = await self._sessions.find(value, is_read_only=is_read_only) if value else None
        if session is None:
            return None
        owner: Authenticated | None = session.owner
        if owner is not None and owner.expires_at is not None and time.time() >= owner.expires_at:
            owner = None
        for verifier in self._verifiers:
            owner = None if owner is None else await verifier.revalidate(owner)
        if owner is None:
            await self._sessions.end(value)
            return None
        return session._replace(owner=owner)

    async def start_session(self, scope: Scope, owner: Authenticated, response: Response) -> None:
        """Start a session whose cookie is set by `response`. The browser's former session ends.

        Raises DatabaseUnavailable.
        """
        if value := read_cookie(scope, self._cookie_name):
            await self._sessions.end(value)
        response.set_cookie(
            self._cookie_name,
            await self._sessions.start(owner),
            max_age=int(MAX_SESSION_S),
            httponly=True,
            samesite="lax",
            secure=self.is_secure(scope),
        )

    def is_secure(self, scope: Scope) -> bool:
        """Return True if the browser uses HTTPS, so that its cookies must be sent by HTTPS only."""
        return self._is_proxied and is_forwarded_https(scope)

    async def end_session(self, scope: Scope, response: Response) -> None:
        """End the session of a request, if it has one. Raises DatabaseUnavailable."""
        if value := read_cookie(scope, self._cookie_name):
            await self._sessions.end(value)
        response.delete_cookie(self._cookie_name, httponly=True, samesite="lax")

    async def authenticate(
        self, scope: Scope, secret: str, redirect_path: str | None = None
    ) -> Authenticated | Response:
        """Return the owner of a token, or the refusal; the refusal of an unknown token is delayed.

        `redirect_path` is the target of the redirect after a login with the form in the refusal.
        """
        resource = self._challenges.find_resource(scope)
        refusal = None
        for verifier in self._verifiers:
            result = await verifier.verify(secret, resource)
            if isinstance(result, Authenticated):
                return result
            refusal = refusal or result
        if refusal is None and not await self._throttle.delay():
            retry_headers = {"Retry-After": "1"}
            return build_refusal(
                scope, 429, "too many requests with an invalid token", "Try again in a second.", retry_headers
            )
        if refusal is None:
            # The answer is the same for every invalid token, so that it does not reveal which tokens exist.
            fix = (
                "It may have expired, have been revoked, or be incomplete. Ask the server's operator for a "
                "new token, or use the URL that the server printed at its last start."
            )
            refusal = TokenRefusal("the token is invalid", fix)
        return await self._refuse_token(scope, refusal, redirect_path)

    async def _refuse_token(self, scope: Scope, refusal: TokenRefusal, redirect_path: str | None) -> Response:
        if refusal.status != 401:
            headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
            if scope["path"] == LOGIN_PATH or (scope["path"] == "/" and is_page_request(scope)):
                failure = f"{refusal.message[:1].upper()}{refusal.message[1:]}. {refusal.fix}"
                return await self.render_login_page(
                    scope, refusal.status, headers, failure=failure, redirect_path=redirect_path
                )
            return build_refusal(scope, refusal.status, refusal.message, refusal.fix, headers)
        headers = self._challenges.build_headers(
            scope, INVALID_TOKEN, refusal.message, self._find_required_scope(scope) or READ_SCOPE
        )
        if scope["path"] in ("/", LOGIN_PATH):
            return await self.render_login_page(
                scope, 401, headers, is_token_wrong=True, redirect_path=redirect_path
            )
        response = build_refusal(scope, 401, refusal.message, refusal.fix, headers)
        return _add_basic_challenge(response) if _is_feed(scope) else response

    async def _check_bearer(self, scope: Scope, headers: list[str]) -> Caller | Response:
        secret = _read_secret(headers[0], accepts_basic=_is_feed(scope)) if len(headers) == 1 else None
        if secret is None:
            return build_refusal(
                scope,
                401,
                "the Authorization header is invalid",
                "Send one Authorization header: Bearer TOKEN.",
                self._challenges.build_headers(scope),
            )
        owner = await self.authenticate(scope, secret)
        if isinstance(owner, Response):
            return owner
        name = b"\n".join((_CLIENT_NAME, owner.principal.key.encode("utf-8", "replace"), owner.token_digest))
        return self._build_caller(owner, self._sessions.compute_csrf_token(name))

    async def _check_link(self, scope: Scope, query: list[tuple[str, str]]) -> Response | None:
        """Return the response to `/?token=…`; None if the query has no token."""
        tokens = [value for name, value in query if name == "token"]
        if not tokens:
            return None
        query_string = urlencode([(name, value) for name, value in query if name != "token"])
        # The redirect removes the token from the URL, which the browser would display and store.
        response = RedirectResponse(
            f"/?{query_string}" if query_string else "/", 303, {"Referrer-Policy": "no-referrer"}
        )
        if self._anonymous_scopes is None:
            owner = await self.authenticate(scope, tokens[-1].strip())
            if isinstance(owner, Response):
                return owner
            # A link on another site must not replace an active session with a session of the link's author.
            if not is_cross_site(scope) or await self.find_session(scope) is None:
                await self.start_session(scope, owner, response)
        return response

    def _build_caller(self, owner: Authenticated, csrf: str, *, is_session: bool = False) -> Caller:
        may_write = self._may_write and WRITE_SCOPE in owner.principal.scopes
        return Caller(owner.person, csrf, may_write, is_session, owner.principal)


def _is_feed(scope: Scope) -> bool:
    return scope["method"] in ("GET", "HEAD") and str(scope["path"]).startswith(FEED_PREFIX)


def _is_form(scope: Scope) -> bool:
    """Return True if a browser sends a form of a page."""
    accepts_page = "text/html" in Headers(scope=scope).get("accept", "")
    return scope["method"] == "POST" and accepts_page and not is_mcp_path(scope["path"])


def _read_secret(header: str, *, accepts_basic: bool) -> str | None:
    """Return the token in a header: Bearer, or the password of Basic (RFC 7617); None if it is invalid."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic" or not accepts_basic:
        return None
    try:
        _, colon, password = b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return password.strip() if colon else None


def _add_basic_challenge(response: Response) -> Response:
    """Return a response that also asks for Basic, so that a reader of feeds sends its user's password."""
    response.headers.append("WWW-Authenticate", _BASIC_CHALLENGE)
    return response


def is_cross_site(scope: Scope) -> bool:
    """Return True if the browser reports that another site caused the request (Fetch Metadata)."""
    return Headers(scope=scope).get("sec-fetch-site") in ("cross-site", "same-site")


def read_cookie(scope: Scope, name: str) -> str:
    """Return the value of a cookie; empty if there is none."""
    return HTTPConnection(scope).cookies.get(name, "")
