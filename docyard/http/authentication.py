"""Authentication: by the token of a request, or by the session of a browser.

A request contains `Authorization: Bearer …`, or a browser opens `/?token=…` and is redirected to `/` with a
session. The protocol's address takes no sessions: otherwise a page could act for its reader there.

Valid secrets are the server's own token and the named tokens of people. Each failed attempt is delayed by
itself, so that a right token never waits. Sessions are stored in memory by the digest of a random value.
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
from docyard.http.access import is_forwarded_https
from docyard.http.login_page import LOGIN, render_login_page
from docyard.http.refusals import MCP, build_refusal, is_page_request
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.policy.tokens import Person, Tokens

log = logging.getLogger("docyard")
_MOST = 1_000  # characters of what may be a token


class TokenOwner(NamedTuple):
    """The owner of a secret: a person with the key of their token, or the holder of the server's token."""

    person: Person | None = None
    key: bytes = b""


class TokenVerifier:
    """Finds the owner of a secret. With `token` None every caller is accepted, without a name."""

    def __init__(self, token: str | None, people: Tokens | None) -> None:
        self.is_open = token is None
        self._token = _digest(token) if token is not None else b""
        self._people = people

    def verify(self, secret: str) -> TokenOwner | None:
        """Return the owner of a secret; None if it is unknown."""
        if len(secret) > _MOST:
            return None
        found = None if self._people is None else self._person(self._people, secret)
        if not self.is_open and hmac.compare_digest(self._token, _digest(secret)):
            return TokenOwner()
        return found

    def revalidate(self, proof: TokenOwner) -> TokenOwner | None:
        """Return the owner as known now; None if the person's token was revoked."""
        if proof.person is None:
            return proof
        try:
            known = None if self._people is None else self._people.find_known(proof.person.token)
        except WorkspaceError as error:
            log.warning("people are not known by their tokens: %s. %s", error.message, error.fix)
            return None
        if known is None or not hmac.compare_digest(known.key, proof.key):
            return None
        return TokenOwner(known.person, known.key)

    def _person(self, people: Tokens, secret: str) -> TokenOwner | None:
        from workspace.policy.tokens import InvalidToken

        try:
            person = people.person(secret)
            key = people.key(person.token)
        except InvalidToken:
            return None
        except WorkspaceError as error:
            log.warning("people are not known by their tokens: %s. %s", error.message, error.fix)
            return None
        return None if key is None else TokenOwner(person, key)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


FAILED_LOGIN_DELAY_S = 0.5  # seconds
MAX_DELAYED = 32
"""Failed attempts that may wait at once; further ones get a response to retry later."""


class FailedLoginThrottle:
    """The throttle for failed attempts at one server."""

    def __init__(self, pause: float = FAILED_LOGIN_DELAY_S) -> None:
        self._pause = pause
        self._waiting = 0

    async def delay(self) -> bool:
        """Wait after a failed attempt. Return False at once if too many are waiting."""
        if self._waiting >= MAX_DELAYED:
            return False
        self._waiting += 1
        try:
            await anyio.sleep(self._pause)
        finally:
            self._waiting -= 1
        return True


IDLE = 12 * 3600.0  # seconds without a request after which a session ends
LONGEST = 7 * 24 * 3600.0  # seconds after which every session ends
MAX_SESSIONS = 1_000
"""Sessions at once; beyond that the least recently used session ends."""

_RANDOM = 32  # bytes


@dataclass(slots=True)
class Session:
    """The token's owner and the form token of a session. Times are of a monotonic clock."""

    proof: TokenOwner
    csrf: str
    begun: float
    used: float


class Sessions:
    """The sessions of one server. Use them only on its event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(_RANDOM)
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, proof: TokenOwner) -> str:
        """Begin a session; return the value of its cookie, which is not stored here."""
        value = secrets.token_urlsafe(_RANDOM)
        now = self._clock()
        digest = _session_digest(value)
        self._sessions[digest] = Session(proof, self.csrf(digest), now, now)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return value

    def find(self, value: str) -> Session | None:
        """Return the session of a cookie and mark it as used; None if it does not exist or has ended."""
        digest = _session_digest(value)
        found = self._sessions.get(digest)
        if found is None:
            return None
        now = self._clock()
        if now - found.used > IDLE or now - found.begun > LONGEST:
            del self._sessions[digest]
            return None
        found.used = now
        self._sessions.move_to_end(digest)
        return found

    def end(self, value: str) -> None:
        """End a session, if it exists."""
        self._sessions.pop(_session_digest(value), None)

    def csrf(self, name: bytes) -> str:
        """Return the form token of a session or of another caller; other servers cannot compute it."""
        return hmac.digest(self._key, name, "sha256").hex()


def _session_digest(value: str) -> bytes:
    # Looked up by its digest, so that nothing of the value is told by how long that takes.
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()


_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="docyard"'}
_WRONG = {"WWW-Authenticate": 'Bearer realm="docyard", error="invalid_token"'}

# What needs no token: files that are the same for everybody, and what forges sign themselves.
_PUBLIC = ("/static/", "/hooks/")
_NOBODY = b"nobody"
_CLIENT = b"client"


class AuthenticationMiddleware:
    """Answers 401 to unauthenticated requests; sets `caller` in the state of the others."""

    def __init__(
        self,
        app: ASGIApp,
        verifier: TokenVerifier,
        sessions: Sessions,
        throttle: FailedLoginThrottle,
        *,
        cookie: str,
        may_write: bool,
        is_proxied: bool,
    ) -> None:
        self._app = app
        self._verifier = verifier
        self._sessions = sessions
        self._throttle = throttle
        self._cookie = cookie
        self._may_write = may_write
        self._is_proxied = is_proxied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self._app
        if scope["type"] == "http":
            found = await self._asked(scope)
            if isinstance(found, Response):
                answer = found
            else:
                scope = {**scope, "state": {**scope.get("state", {}), "caller": found}}
        await answer(scope, receive, send)

    async def _asked(self, scope: Scope) -> Caller | Response | None:
        """Return the caller, the refusal, or None for a public address."""
        path = scope["path"]
        if path.startswith(_PUBLIC):
            return None
        shown = Headers(scope=scope).getlist("authorization")
        if shown:
            return await self._bearer(scope, shown)
        if path == "/" and scope["method"] == "GET" and (found := await self._by_link(scope)) is not None:
            return found
        if path != MCP and (session := self.session(scope)) is not None:
            return Caller(session.proof.person, session.csrf, self._may_write, True)
        if self._verifier.is_open:
            return self._caller(TokenOwner(), _NOBODY)
        if path == LOGIN:
            return None
        if is_page_request(scope) and path != MCP:
            return await render_login_page(scope, 401, _CHALLENGE)
        return build_refusal(
            scope, 401, "no token was shown", "Send it as Authorization: Bearer TOKEN.", _CHALLENGE
        )

    def session(self, scope: Scope) -> Session | None:
        """Return the active session of a request. A revoked token ends it."""
        value = read_cookie(scope, self._cookie)
        found = self._sessions.find(value) if value else None
        if found is None:
            return None
        proof = self._verifier.revalidate(found.proof)
        if proof is None:
            self._sessions.end(value)
            return None
        found.proof = proof
        return found

    def begin(self, scope: Scope, proof: TokenOwner, response: Response) -> None:
        """Begin a session with a response. It replaces the browser's former one."""
        self._sessions.end(read_cookie(scope, self._cookie))
        response.set_cookie(
            self._cookie,
            self._sessions.begin(proof),
            max_age=int(LONGEST),
            httponly=True,
            samesite="lax",
            secure=self._is_proxied and is_forwarded_https(scope),
        )

    def end(self, scope: Scope, response: Response) -> None:
        """End the session of a request, if it has one."""
        self._sessions.end(read_cookie(scope, self._cookie))
        response.delete_cookie(self._cookie, httponly=True, samesite="lax")

    async def authenticate(
        self, scope: Scope, secret: str, after: str | None = None
    ) -> TokenOwner | Response:
        """Return the owner of a token; after a delay, the refusal of a wrong one.

        `after` is the redirect target of the login form in the refusal.
        """
        found = self._verifier.verify(secret)
        if found is not None:
            return found
        if not await self._throttle.delay():
            later = {"Retry-After": "1"}
            return build_refusal(
                scope, 429, "too many wrong tokens were shown", "Try again in a second.", later
            )
        if scope["path"] in ("/", LOGIN):
            return await render_login_page(scope, 401, _WRONG, is_wrong=True, after=after)
        return build_refusal(
            scope, 401, "this token is not known here", "It may be that of an earlier start.", _WRONG
        )

    async def _bearer(self, scope: Scope, shown: list[str]) -> Caller | Response:
        scheme, _, secret = shown[0].partition(" ")
        if len(shown) > 1 or scheme.lower() != "bearer":
            fix = "Send one Authorization header: Bearer TOKEN."
            return build_refusal(scope, 401, "a token is shown in another way", fix, _CHALLENGE)
        found = await self.authenticate(scope, secret.strip())
        return found if isinstance(found, Response) else self._caller(found, _CLIENT)

    async def _by_link(self, scope: Scope) -> Response | None:
        """Return the answer to `/?token=…`; None if there is no token in the query."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if not tokens:
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # The token is in no address that the browser shows, keeps or passes on.
        response = RedirectResponse(f"/?{rest}" if rest else "/", 303, {"Referrer-Policy": "no-referrer"})
        if not self._verifier.is_open:
            found = await self.authenticate(scope, tokens[-1].strip())
            if isinstance(found, Response):
                return found
            # Another page's link lets nobody in under its writer's name who came in before.
            if not is_cross_site(scope) or self.session(scope) is None:
                self.begin(scope, found, response)
        return response

    def _caller(self, proof: TokenOwner, name: bytes) -> Caller:
        name += proof.key
        return Caller(proof.person, self._sessions.csrf(name), self._may_write, False)


def is_cross_site(scope: Scope) -> bool:
    """Return True if the browser reports that another site's page led here (Fetch Metadata)."""
    return Headers(scope=scope).get("sec-fetch-site") in ("cross-site", "same-site")


def read_cookie(scope: Scope, name: str) -> str:
    """Return the value of a cookie; empty if there is none."""
    return HTTPConnection(scope).cookies.get(name, "")
