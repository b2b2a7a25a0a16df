"""What a forge tells of unasked: `POST /hooks/github`, `/hooks/gitlab` and `/hooks/gitea`.

    200  done, or done before, or a ping           401  the signature does not hold
    202  nothing is to be done for such an event   404  no secret is set, or it is no hook of this forge
    400  it is no JSON object                      413  over 1 MiB
    422  it is of another repository               503  not applied: the forge is to send it again

A webhook says only that something happened; what it was, the remote and the forge are asked. So a replayed
one can do nothing but ask again, and one that was done is not done twice.

Which webhooks were answered already: a bounded memory of their ids and their bodies.

Whether a webhook was sent by who knows the secret, by the header of each forge.

    GitHub   X-Hub-Signature-256: sha256=HEX       HMAC-SHA256 of the body
    Gitea    X-Gitea-Signature: HEX, or GitHub's   the same; Forgejo also X-Forgejo-Signature
    GitLab   webhook-signature: v1,BASE64 …        HMAC-SHA256 of id.timestamp.body, by a key `whsec_BASE64`
             X-Gitlab-Token: SECRET                the secret itself

All comparisons take the same time whatever is wrong.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from docyard.forges.choice import find_forge_repository
from docyard.forges.errors import ForgeError
from docyard.forges.exchanges import PING, parse_event, read_event_name, read_repository
from docyard.forges.pull_request_sync import round_to_data
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.exchanges import EventScope, ExchangeQueue, ExchangeResult
    from docyard.forges.forge_repository import ForgeAccess
    from workspace.workspace import Workspace

_MOST = 2_000
_BODY_SECONDS = 600.0
"""How long the same body counts as the same webhook, whatever id it comes with; a signature covers no id."""

_ID_SECONDS = 3 * 86_400.0
_ID_LENGTH = 200

_IDS = {
    "github": ("x-github-delivery",),
    "gitea": ("x-gitea-delivery", "x-forgejo-delivery", "x-github-delivery"),
    "gitlab": ("idempotency-key", "webhook-id", "x-gitlab-event-uuid"),
}


class Deliveries:
    """Webhooks that were applied. A failed one is not stored: the forge sends it again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    def is_done(self, forge: str, headers: Mapping[str, str], body: bytes) -> bool:
        """Return True if a webhook of this id, or recently of this body, was applied."""
        now = self._clock()
        return any(self._until.get(key, now) > now for key, _ in _keys(forge, headers, body))

    def record(self, forge: str, headers: Mapping[str, str], body: bytes) -> None:
        """Record a webhook; the oldest one is removed."""
        now = self._clock()
        for key, seconds in _keys(forge, headers, body):
            self._until[key] = now + seconds
            self._until.move_to_end(key)
        while len(self._until) > _MOST:
            self._until.popitem(last=False)


def _keys(forge: str, headers: Mapping[str, str], body: bytes) -> list[tuple[str, float]]:
    keys = [(f"body:{hashlib.sha256(body).hexdigest()}", _BODY_SECONDS)]
    id = next((headers[name] for name in _IDS[forge] if headers.get(name)), "")
    if 0 < len(id) <= _ID_LENGTH:
        keys.append((f"{forge}:{id}", _ID_SECONDS))
    return keys


TOLERANCE = 300
"""Seconds that the time of a signature may differ (Standard Webhooks, "Verifying webhook authenticity")."""

_PREFIX = "whsec_"
_MAX_SIGNATURES = 10  # signatures in one header, as while a key is changed


def has_valid_signature(forge: str, headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    """Return True if a signature is valid. `headers` in lower case; `now` in Unix seconds."""
    match forge:
        case "github":
            return _has_digest(headers, ("x-hub-signature-256",), body, secret)
        case "gitea":
            names = ("x-gitea-signature", "x-forgejo-signature", "x-hub-signature-256")
            return _has_digest(headers, names, body, secret)
        case "gitlab":
            if "webhook-signature" in headers:
                return _is_standard(headers, body, secret, now)
            return _is_same(headers.get("x-gitlab-token", ""), secret)
        case _:
            return False


def _has_digest(headers: Mapping[str, str], names: tuple[str, ...], body: bytes, secret: str) -> bool:
    """Return True if the first of the headers that is there holds the digest of the body."""
    given = next((headers[name] for name in names if name in headers), "")
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return _is_same(given.strip().removeprefix("sha256=").lower(), digest)


def _is_standard(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    id, time = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not id or not (time.isascii() and time.isdecimal()) or len(time) > 12:
        return False
    if abs(now - int(time)) > TOLERANCE:
        return False
    try:
        is_encoded = secret.startswith(_PREFIX)
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True) if is_encoded else secret.encode()
    except binascii.Error:
        return False
    digest = hmac.new(key, f"{id}.{time}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}"
    given = headers["webhook-signature"].split(" ")[:_MAX_SIGNATURES]
    return any(_is_same(one, expected) for one in given)


def _is_same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


log = logging.getLogger("docyard")
MOST_BYTES = 1 << 20
_PATIENCE = 20.0  # seconds until a forge is told to come again; GitHub itself waits for 10
_RETRY = "30"


class Webhooks:
    """The hooks of one served branch, whose forge is that of its settings.

    `secret` is what the forge signs with, None to have no hooks. `patience` is how long an answer waits for
    an exchange, in seconds; `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        workspace: Workspace,
        exchanges: ExchangeQueue,
        access: Callable[[], ForgeAccess],
        secret: str | None,
        *,
        patience: float = _PATIENCE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._workspace = workspace
        self._exchanges = exchanges
        self._access = access
        self._secret = secret
        self._patience = patience
        self._clock = clock
        self._deliveries = Deliveries()

    async def answer(self, request: Request) -> Response:
        """Answer one webhook."""
        kind = request.path_params["forge"]
        if self._secret is None:
            return _told(404, "no webhooks are taken here", "Start the server with DOCYARD_WEBHOOK_SECRET.")
        body = await _body(request)
        if body is None:
            return _told(413, "the webhook is over 1 MiB", "Choose fewer events.")
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not has_valid_signature(kind, headers, body, self._secret, self._clock()):
            log.debug("a webhook was refused: its signature does not hold")  # anybody can send thousands
            return _told(
                401, "the signature does not hold", "Set the same secret here and in the webhook's settings."
            )
        return await self._signed(kind, headers, body)

    async def _signed(self, kind: str, headers: dict[str, str], body: bytes) -> Response:
        if self._deliveries.is_done(kind, headers, body):
            return _told(200, "seen")
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            return _told(400, "the webhook is no JSON object", "Choose application/json as its content type.")
        event = read_event_name(kind, headers)
        asked = parse_event(kind, event, data)
        if asked is PING:
            return _told(200, "pong")
        refused = await run_in_threadpool(self._refused, kind, data)
        if refused is not None:
            return refused
        if asked is None:
            return _told(202, "nothing is to be done for this event")
        return await self._done(kind, headers, body, asked)

    def _refused(self, kind: str, data: dict[str, Any]) -> Response | None:
        """Return the answer to a webhook of another forge or repository; None for one of ours."""
        try:
            place = find_forge_repository(self._workspace, self._access())
        except WorkspaceError as error:  # such as that there is no token for it
            return _failed(error)
        if place is None or place.kind != kind:
            fix = f'Set [forge] kind = "{kind}" in docyard.toml, or take the hook of the forge that is set.'
            return _told(404, "this forge is not the one of the repository", fix)
        ours, theirs = "/".join(place.segments), read_repository(kind, data)
        if theirs is None or theirs.casefold() != ours.casefold():
            return _told(
                422, f"this is not about {ours}, which is served here", "Remove the webhook where it was set."
            )
        return None

    async def _done(self, kind: str, headers: dict[str, str], body: bytes, asked: EventScope) -> Response:
        future = asyncio.wrap_future(self._exchanges.request(asked))
        try:
            # What was begun for many goes on, whoever of them stops waiting.
            found = await asyncio.wait_for(asyncio.shield(future), self._patience)
        except TimeoutError:
            return _told(503, "the exchange takes its time", "Send it again.", {"Retry-After": _RETRY})
        if not found.is_applied:
            return _failed(_reason(found))
        self._deliveries.record(kind, headers, body)
        synced = found.synced
        return JSONResponse(
            {
                "commit": synced.commit if synced is not None else None,
                "followed": round_to_data(found.forge_round),
            }
        )


def build_webhook_routes(webhooks: Webhooks) -> list[Route]:
    """Return the routes of the webhooks. They need no token of Docyard: forges sign requests."""
    return [
        Route(f"/hooks/{kind}", _of(kind, webhooks), methods=["POST"], name=f"hook-{kind}")
        for kind in ("github", "gitlab", "gitea")
    ]


def _of(kind: str, webhooks: Webhooks) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        request.scope["path_params"] = {"forge": kind}
        return await webhooks.answer(request)

    return answer


async def _body(request: Request) -> bytes | None:
    """Return the body of a request; None for one over 1 MiB, of which no more than that is read."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdecimal() and int(length[:20]) > MOST_BYTES:
        return None
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > MOST_BYTES:
                return None
    except ClientDisconnect:
        return b""
    return bytes(found)


def _reason(found: ExchangeResult) -> WorkspaceError:
    if found.error is not None:
        return found.error
    if found.forge_round is not None and found.forge_round.error is not None:
        return found.forge_round.error
    state = found.synced.state.value if found.synced is not None else "unknown"
    return WorkspaceError(
        f"the branch here is {state} after the fetch", fix="Run `docyard sync`: it says what to decide."
    )


def _failed(error: WorkspaceError) -> Response:
    """Return the answer to what was not applied: the forge is to come again."""
    wait = error.details.get("retry_after") if isinstance(error, ForgeError) else None
    seconds = str(int(wait) + 1) if isinstance(wait, int | float) else _RETRY
    return _told(503, error.message, error.fix, {"Retry-After": seconds})


def _told(status: int, message: str, fix: str = "", headers: dict[str, str] | None = None) -> Response:
    said = {"message": message, **({"fix": fix} if fix else {})}
    return JSONResponse(said, status, headers)
