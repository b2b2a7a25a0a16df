"""Webhooks of forges: `POST /hooks/github`, `/hooks/gitlab` and `/hooks/gitea`.

    200  applied, applied before, or a ping    401  the signature is invalid
    202  the event is ignored                  404  no secret is set, or `[forge]` has another kind
    400  the body is not a JSON object         413  the body is larger than 1 MiB
    422  the event is for another repository   503  not applied: the forge should send it again

A webhook only triggers an exchange: the events themselves are read from the remote and the forge. So a
replayed webhook triggers at most another exchange. The ids and bodies of recent webhooks are stored, so that
each is applied once.

A webhook is authenticated by the secret, with the header of each forge:

    GitHub   X-Hub-Signature-256: sha256=HEX       HMAC-SHA256 of the body
    Gitea    X-Gitea-Signature: HEX, or GitHub's   HMAC-SHA256 of the body; Forgejo also X-Forgejo-Signature
    GitLab   webhook-signature: v1,BASE64 …        HMAC-SHA256 of id.timestamp.body, with a key `whsec_BASE64`
             X-Gitlab-Token: SECRET                the secret itself

All comparisons take constant time.
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

from docyard.forges.errors import ForgeError
from docyard.forges.kinds import FORGE_NAMES
from docyard.forges.open_forge import find_forge_repository
from docyard.forges.pull_request_sync import check_result_to_data
from docyard.forges.webhook_events import PING, parse_event, read_event_name, read_repository
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.exchange_queue import ExchangeQueue, ExchangeResult
    from docyard.forges.forge_repository import ForgeAccess
    from docyard.forges.webhook_events import EventScope
    from workspace.workspace import Workspace

_MAX_STORED_KEYS = 2_000
_BODY_EXPIRY_S = 600.0
"""Equal bodies within this time are the same webhook, because a signature does not cover the id."""

_ID_EXPIRY_S = 3 * 86_400.0
_MAX_ID_CHARS = 200

_ID_HEADERS = {
    "github": ("x-github-delivery",),
    "gitea": ("x-gitea-delivery", "x-forgejo-delivery", "x-github-delivery"),
    "gitlab": ("idempotency-key", "webhook-id", "x-gitlab-event-uuid"),
}


class AppliedWebhooks:
    """The webhooks that were applied. A failed webhook is not stored, because the forge sends it again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._expiry_by_key: OrderedDict[str, float] = OrderedDict()

    def was_applied(self, forge: str, headers: Mapping[str, str], body: bytes) -> bool:
        """Return True if a webhook with this id was applied, or recently one with this body."""
        now = self._clock()
        return any(self._expiry_by_key.get(key, now) > now for key, _ in _list_keys(forge, headers, body))

    def record(self, forge: str, headers: Mapping[str, str], body: bytes) -> None:
        """Record a webhook; the oldest one is removed if there are too many."""
        now = self._clock()
        for key, expiry_s in _list_keys(forge, headers, body):
            self._expiry_by_key[key] = now + expiry_s
            self._expiry_by_key.move_to_end(key)
        while len(self._expiry_by_key) > _MAX_STORED_KEYS:
            self._expiry_by_key.popitem(last=False)


def _list_keys(forge: str, headers: Mapping[str, str], body: bytes) -> list[tuple[str, float]]:
    """Return the keys under which a webhook is stored, each with the seconds until it expires."""
    keys = [(f"body:{hashlib.sha256(body).hexdigest()}", _BODY_EXPIRY_S)]
    id = next((headers[name] for name in _ID_HEADERS[forge] if headers.get(name)), "")
    if 0 < len(id) <= _MAX_ID_CHARS:
        keys.append((f"{forge}:{id}", _ID_EXPIRY_S))
    return keys


MAX_CLOCK_SKEW_S = 300
"""Maximum deviation of a signature's time in seconds (Standard Webhooks, "Verifying webhook authenticity").
"""

_SECRET_PREFIX = "whsec_"
_MAX_SIGNATURES = 10  # while the secret is being changed, a header has several signatures


def has_valid_signature(forge: str, headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    """Return True if a signature is valid. The names of `headers` are in lower case; `now` is Unix time."""
    match forge:
        case "github":
            return _has_digest(headers, ("x-hub-signature-256",), body, secret)
        case "gitea":
            names = ("x-gitea-signature", "x-forgejo-signature", "x-hub-signature-256")
            return _has_digest(headers, names, body, secret)
        case "gitlab":
            if "webhook-signature" in headers:
                return _has_standard_signature(headers, body, secret, now)
            return _equals_in_constant_time(headers.get("x-gitlab-token", ""), secret)
        case _:
            return False


def _has_digest(headers: Mapping[str, str], names: tuple[str, ...], body: bytes, secret: str) -> bool:
    """Return True if the first existing header contains the digest of the body."""
    signature = next((headers[name] for name in names if name in headers), "")
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return _equals_in_constant_time(signature.strip().removeprefix("sha256=").lower(), digest)


def _has_standard_signature(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    id, time = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not id or not (time.isascii() and time.isdecimal()) or len(time) > 12:
        return False
    if abs(now - int(time)) > MAX_CLOCK_SKEW_S:
        return False
    try:
        is_encoded = secret.startswith(_SECRET_PREFIX)
        key = (
            base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
            if is_encoded
            else secret.encode()
        )
    except binascii.Error:
        return False
    digest = hmac.new(key, f"{id}.{time}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}"
    signatures = headers["webhook-signature"].split(" ")[:_MAX_SIGNATURES]
    return any(_equals_in_constant_time(signature, expected) for signature in signatures)


def _equals_in_constant_time(signature: str, expected: str) -> bool:
    return hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode())


log = logging.getLogger("docyard")
MAX_BODY_BYTES = 1 << 20
_EXCHANGE_TIMEOUT_S = 20.0  # then the response is 503; GitHub waits for only 10 s
_RETRY_AFTER_S = "30"


class Webhooks:
    """The webhooks of one served branch, from the forge in its settings.

    `access` returns the forge settings of the environment. `secret` is the forge's signing secret; None
    disables webhooks. `timeout_s` limits the wait for an
    exchange. `clock` returns seconds since 1970.
    """

    def __init__(
        self,
        workspace: Workspace,
        exchanges: ExchangeQueue,
        access: Callable[[], ForgeAccess],
        secret: str | None,
        *,
        timeout_s: float = _EXCHANGE_TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._workspace = workspace
        self._exchanges = exchanges
        self._access = access
        self._secret = secret
        self._timeout_s = timeout_s
        self._clock = clock
        self._applied_webhooks = AppliedWebhooks()

    async def handle(self, request: Request) -> Response:
        """Check and apply one webhook, and return the response."""
        kind = request.path_params["forge"]
        if self._secret is None:
            return _respond(404, "webhooks are disabled", "Start the server with DOCYARD_WEBHOOK_SECRET.")
        body = await _read_body(request)
        if body is None:
            return _respond(413, "the webhook is larger than 1 MiB", "Select fewer events.")
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not has_valid_signature(kind, headers, body, self._secret, self._clock()):
            log.debug("a webhook has an invalid signature")  # no warning: any client can send thousands
            return _respond(
                401, "the signature is invalid", "Set the same secret here and in the webhook's settings."
            )
        return await self._handle_signed_webhook(kind, headers, body)

    async def _handle_signed_webhook(self, kind: str, headers: dict[str, str], body: bytes) -> Response:
        if self._applied_webhooks.was_applied(kind, headers, body):
            return _respond(200, "seen")
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            return _respond(
                400, "the webhook must be a JSON object", "Select application/json as its content type."
            )
        event = read_event_name(kind, headers)
        scope = parse_event(kind, event, data)
        if scope is PING:
            return _respond(200, "pong")
        refusal = await run_in_threadpool(self._check_repository, kind, data)
        if refusal is not None:
            return refusal
        if scope is None:
            return _respond(202, "the event is ignored")
        return await self._run_exchange(kind, headers, body, scope)

    def _check_repository(self, kind: str, data: dict[str, Any]) -> Response | None:
        """Return the refusal if a webhook is not for the served repository; else None."""
        try:
            repository = find_forge_repository(self._workspace, self._access())
        except WorkspaceError as error:  # for example, no token is set
            return _respond_retry(error)
        if repository is None or repository.kind != kind:
            fix = f'Set [forge] kind = "{kind}" in docyard.toml, or use the webhook URL of that forge.'
            return _respond(404, f"the forge of the repository is not {kind}", fix)
        own_path, webhook_path = "/".join(repository.segments), read_repository(kind, data)
        if webhook_path is None or webhook_path.casefold() != own_path.casefold():
            return _respond(
                422,
                f"the webhook is not for {own_path}, the served repository",
                "Remove it from that repository.",
            )
        return None

    async def _run_exchange(
        self, kind: str, headers: dict[str, str], body: bytes, scope: EventScope
    ) -> Response:
        future = asyncio.wrap_future(self._exchanges.request(scope))
        try:
            # Other requests share the exchange, so a timeout must not cancel it.
            result = await asyncio.wait_for(asyncio.shield(future), self._timeout_s)
        except TimeoutError:
            message = f"the exchange takes more than {self._timeout_s:g} seconds"
            return _respond(503, message, "Send the webhook again.", {"Retry-After": _RETRY_AFTER_S})
        if not result.is_applied:
            return _respond_retry(_get_error(result))
        self._applied_webhooks.record(kind, headers, body)
        sync_result = result.sync_result
        return JSONResponse(
            {
                "commit": sync_result.commit if sync_result is not None else None,
                "followed": check_result_to_data(result.check_result),
            }
        )


def build_webhook_routes(webhooks: Webhooks) -> list[Route]:
    """Return the routes of the webhooks. They need no token of Docyard, because forges sign requests."""
    return [
        Route(f"/hooks/{kind}", _build_endpoint(kind, webhooks), methods=["POST"], name=f"hook-{kind}")
        for kind in FORGE_NAMES
    ]


def _build_endpoint(kind: str, webhooks: Webhooks) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        request.scope["path_params"] = {"forge": kind}
        return await webhooks.handle(request)

    return endpoint


async def _read_body(request: Request) -> bytes | None:
    """Return the body of a request; None if it is larger than 1 MiB, which is then not read to the end."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdecimal() and int(length[:20]) > MAX_BODY_BYTES:
        return None
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return None
    except ClientDisconnect:
        return b""
    return bytes(body)


def _get_error(result: ExchangeResult) -> WorkspaceError:
    if result.error is not None:
        return result.error
    if result.check_result is not None and result.check_result.error is not None:
        return result.check_result.error
    state = result.sync_result.state.value if result.sync_result is not None else "unknown"
    return WorkspaceError(
        f"the served branch is {state} after the fetch", fix="Run `docyard sync`, which shows the next step."
    )


def _respond_retry(error: WorkspaceError) -> Response:
    """Return the response to a webhook that was not applied, after which the forge sends it again."""
    retry_after = error.details.get("retry_after") if isinstance(error, ForgeError) else None
    seconds = str(int(retry_after) + 1) if isinstance(retry_after, int | float) else _RETRY_AFTER_S
    return _respond(503, error.message, error.fix, {"Retry-After": seconds})


def _respond(status: int, message: str, fix: str = "", headers: dict[str, str] | None = None) -> Response:
    content = {"message": message, **({"fix": fix} if fix else {})}
    return JSONResponse(content, status, headers)
