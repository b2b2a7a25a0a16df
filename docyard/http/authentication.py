"""Who sent a request: by a token that it shows, or by the session of a browser that has shown one.

A request shows a token as `Authorization: Bearer …`, or a browser opens `/?token=…` and is sent on to `/`
with a session. The protocol's address takes no sessions: a page cannot speak for its reader there.

Which secrets let somebody in: the server's own token, and the named tokens of people.

Failed tries with a token: slowed down, each by itself, so that a right one never waits.

Sessions of browsers: kept in memory by the digest of a random value, for as long as they are used.
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
from docyard.http.access import came_by_https
from docyard.http.login_page import LOGIN, login_page
from docyard.http.refusals import MCP, refusal, wants_page
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.policy.tokens import Person, Tokens

log = logging.getLogger("docyard")


_MOST = 1_000  # characters of what may be a token


class Proof(NamedTuple):
    """Who showed a secret: a person with the key of their token, or whoever was given the server's own."""

    person: Person | None = None
    key: bytes = b""


class Proving:
    """Tells who a secret belongs to. `token` None lets everybody in, who then is nobody by name."""

    def __init__(self, token: str | None, people: Tokens | None) -> None:
        self.is_open = token is None
        self._token = _digest(token) if token is not None else b""
        self._people = people

    def prove(self, secret: str) -> Proof | None:
        """Return who this secret belongs to; None for nobody."""
        if len(secret) > _MOST:
            return None
        found = None if self._people is None else self._person(self._people, secret)
        if not self.is_open and hmac.compare_digest(self._token, _digest(secret)):
            return Proof()
        return found

    def again(self, proof: Proof) -> Proof | None:
        """Return the same proof by what is known now; None if the person's token was revoked."""
        if proof.person is None:
            return proof
        try:
            known = None if self._people is None else self._people.find_known(proof.person.token)
        except WorkspaceError as error:
            log.warning("people are not known by their tokens: %s. %s", error.message, error.fix)
            return None
        if known is None or not hmac.compare_digest(known.key, proof.key):
            return None
        return Proof(known.person, known.key)

    def _person(self, people: Tokens, secret: str) -> Proof | None:
        from workspace.policy.tokens import InvalidToken

        try:
            person = people.person(secret)
            key = people.key(person.token)
        except InvalidToken:
            return None
        except WorkspaceError as error:
            log.warning("people are not known by their tokens: %s. %s", error.message, error.fix)
            return None
        return None if key is None else Proof(person, key)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


PAUSE = 0.5  # seconds


MAX_DELAYED = 32


"""Tries that may wait at once; further ones are told to come back later."""


class Failures:
    """The failed tries of one server."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._waiting = 0

    async def slow(self) -> bool:
        """Wait, after a try that failed. False at once if too many are waiting."""
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


"""Sessions at once; then the one that was not used for the longest time ends."""


_RANDOM = 32  # bytes


@dataclass(slots=True)
class Session:
    """What was proved when a session began, and what its forms carry. Times are of a steady clock."""

    proof: Proof
    csrf: str
    begun: float
    used: float


class Sessions:
    """The sessions of one server. Used on its event loop alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(_RANDOM)
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, proof: Proof) -> str:
        """Begin a session; gives the value of its cookie, which is kept nowhere here."""
        value = secrets.token_urlsafe(_RANDOM)
        now = self._clock()
        digest = _session_digest(value)
        self._sessions[digest] = Session(proof, self.csrf(digest), now, now)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return value

    def find(self, value: str) -> Session | None:
        """Return the session of a cookie, which is used by this; None if there is none, or it has ended."""
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
        """End a session; one that there is not has ended."""
        self._sessions.pop(_session_digest(value), None)

    def csrf(self, name: bytes) -> str:
        """What forms carry for a session, or for a caller of another name: no other server can tell it."""
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


class Authentication:
    """Answers 401 to whoever may not come in; others have a `caller` in the state of their request."""

    def __init__(
        self,
        app: ASGIApp,
        proving: Proving,
        sessions: Sessions,
        failures: Failures,
        *,
        cookie: str,
        may_write: bool,
        is_proxied: bool,
    ) -> None:
        self._app = app
        self._proving = proving
        self._sessions = sessions
        self._failures = failures
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
        """Return who asks; the answer to whoever may not; None where nobody needs to be known."""
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
        if self._proving.is_open:
            return self._caller(Proof(), _NOBODY)
        if path == LOGIN:
            return None
        if wants_page(scope) and path != MCP:
            return await login_page(scope, 401, _CHALLENGE)
        return refusal(
            scope, 401, "no token was shown", "Send it as Authorization: Bearer TOKEN.", _CHALLENGE
        )

    def session(self, scope: Scope) -> Session | None:
        """The session of a request, if it has one that goes on; a token that was revoked has ended it."""
        value = cookie_value(scope, self._cookie)
        found = self._sessions.find(value) if value else None
        if found is None:
            return None
        proof = self._proving.again(found.proof)
        if proof is None:
            self._sessions.end(value)
            return None
        found.proof = proof
        return found

    def begin(self, scope: Scope, proof: Proof, response: Response) -> None:
        """Begin a session with an answer, in the place of the one that the browser had."""
        self._sessions.end(cookie_value(scope, self._cookie))
        response.set_cookie(
            self._cookie,
            self._sessions.begin(proof),
            max_age=int(LONGEST),
            httponly=True,
            samesite="lax",
            secure=self._is_proxied and came_by_https(scope),
        )

    def end(self, scope: Scope, response: Response) -> None:
        """End the session of a request, if it has one."""
        self._sessions.end(cookie_value(scope, self._cookie))
        response.delete_cookie(self._cookie, httponly=True, samesite="lax")

    async def prove(self, scope: Scope, secret: str, after: str | None = None) -> Proof | Response:
        """Return who a token belongs to; after a while, the answer to whoever shows a wrong one.

        `after` is where its reader goes on to from the form that is shown again.
        """
        found = self._proving.prove(secret)
        if found is not None:
            return found
        if not await self._failures.slow():
            later = {"Retry-After": "1"}
            return refusal(scope, 429, "too many wrong tokens were shown", "Try again in a second.", later)
        if scope["path"] in ("/", LOGIN):
            return await login_page(scope, 401, _WRONG, is_wrong=True, after=after)
        return refusal(
            scope, 401, "this token is not known here", "It may be that of an earlier start.", _WRONG
        )

    async def _bearer(self, scope: Scope, shown: list[str]) -> Caller | Response:
        scheme, _, secret = shown[0].partition(" ")
        if len(shown) > 1 or scheme.lower() != "bearer":
            fix = "Send one Authorization header: Bearer TOKEN."
            return refusal(scope, 401, "a token is shown in another way", fix, _CHALLENGE)
        found = await self.prove(scope, secret.strip())
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
        if not self._proving.is_open:
            found = await self.prove(scope, tokens[-1].strip())
            if isinstance(found, Response):
                return found
            # Another page's link lets nobody in under its writer's name who came in before.
            if not came_from_elsewhere(scope) or self.session(scope) is None:
                self.begin(scope, found, response)
        return response

    def _caller(self, proof: Proof, name: bytes) -> Caller:
        name += proof.key
        return Caller(proof.person, self._sessions.csrf(name), self._may_write, False)


def came_from_elsewhere(scope: Scope) -> bool:
    """Return True if a browser says that another server's page led here (Fetch Metadata)."""
    return Headers(scope=scope).get("sec-fetch-site") in ("cross-site", "same-site")


def cookie_value(scope: Scope, name: str) -> str:
    """Return the value of a cookie; empty if there is none."""
    return HTTPConnection(scope).cookies.get(name, "")
