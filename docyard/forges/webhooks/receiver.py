"""The routes of webhooks: `POST /hooks/github`, `/hooks/gitlab` and `/hooks/gitea`.

    200  applied, applied before, or a ping    401  the signature is invalid
    202  the event is ignored                  404  no secret is set, or the forge has another kind
    400  the body is not a JSON object         413  the body is larger than 1 MiB
    422  the event is for another repository   503  not applied: the forge should send it again

A webhook only triggers an exchange or a fetch: the events themselves are read from the remote and the forge.
So a replayed webhook triggers at most another one. The ids and bodies of recent webhooks are stored, so that
each is applied once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from docyard.forges.kinds import FORGE_NAMES
from docyard.forges.webhooks.events import PING, parse_event, read_event_name
from docyard.forges.webhooks.signatures import has_valid_signature

if TYPE_CHECKING:
    from docyard.forges.webhooks.events import EventScope

log = logging.getLogger("docyard")

MAX_BODY_BYTES = 1 << 20
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


class WebhookResponse(NamedTuple):
    """The response to a webhook: its status, its JSON object, and additional headers."""

    status: int
    content: dict[str, Any]
    headers: dict[str, str] | None = None


class WebhookTarget(Protocol):
    """The repositories of a server that webhooks can be for, and the reaction to an event of one."""

    def check_repository(self, forge: str, data: dict[str, Any]) -> WebhookResponse | None:
        """Return the refusal if a webhook's repository is not served by this server; else None.

        `forge` is the kind of forge, and `data` the body. May block.
        """
        ...

    async def apply(self, forge: str, data: dict[str, Any], scope: EventScope) -> WebhookResponse:
        """Apply an event of a served repository. The forge sends it again unless the status is below 300."""
        ...


class WebhookReceiver:
    """The webhooks of one server: authenticates each, and applies it once.

    `secrets` are the forge's signing secrets, several while one is changed; none disables webhooks. `clock`
    returns seconds since 1970.
    """

    def __init__(
        self, target: WebhookTarget, secrets: Sequence[str], *, clock: Callable[[], float] = time.time
    ) -> None:
        self._target = target
        self._secrets = secrets
        self._clock = clock
        self._applied_webhooks = AppliedWebhooks()

    async def handle(self, request: Request) -> Response:
        """Check and apply one webhook, and return the response."""
        response = await self._handle_request(request)
        return JSONResponse(response.content, response.status, response.headers)

    async def _handle_request(self, request: Request) -> WebhookResponse:
        kind = request.path_params["forge"]
        if not self._secrets:
            return respond(404, "webhooks are disabled", "Start the server with DOCYARD_WEBHOOK_SECRET.")
        body = await _read_body(request)
        if body is None:
            return respond(413, "the webhook is larger than 1 MiB", "Select fewer events.")
        headers = {name.lower(): value for name, value in request.headers.items()}
        now = self._clock()
        # Each secret is tried, so that the duration reveals nothing.
        results = [has_valid_signature(kind, headers, body, secret, now) for secret in self._secrets]
        if not any(results):
            log.debug("a webhook has an invalid signature")  # no warning: any client can send thousands
            return respond(
                401, "the signature is invalid", "Set the same secret here and in the webhook's settings."
            )
        return await self._handle_signed_webhook(kind, headers, body)

    async def _handle_signed_webhook(
        self, kind: str, headers: dict[str, str], body: bytes
    ) -> WebhookResponse:
        if self._applied_webhooks.was_applied(kind, headers, body):
            return respond(200, "seen")
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            return respond(
                400, "the webhook must be a JSON object", "Select application/json as its content type."
            )
        scope = parse_event(kind, read_event_name(kind, headers), data)
        if scope is PING:
            return respond(200, "pong")
        refusal = await run_in_threadpool(self._target.check_repository, kind, data)
        if refusal is not None:
            return refusal
        if scope is None:
            return respond_ignored()
        response = await self._target.apply(kind, data, scope)
        if response.status == HTTPStatus.OK:
            self._applied_webhooks.record(kind, headers, body)
        return response


def build_webhook_routes(receiver: WebhookReceiver) -> list[Route]:
    """Return the routes of the webhooks. They need no token of Docyard, because forges sign requests."""
    return [
        Route(f"/hooks/{kind}", _build_endpoint(kind, receiver), methods=["POST"], name=f"hook-{kind}")
        for kind in FORGE_NAMES
    ]


def _build_endpoint(kind: str, receiver: WebhookReceiver) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        request.scope["path_params"] = {"forge": kind}
        return await receiver.handle(request)

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


def respond_ignored() -> WebhookResponse:
    """Return the response to an event that needs no reaction."""
    return respond(202, "the event is ignored")


def respond(
    status: int, message: str, fix: str = "", headers: dict[str, str] | None = None
) -> WebhookResponse:
    """Return a response with a message, and what to do."""
    return WebhookResponse(status, {"message": message, **({"fix": fix} if fix else {})}, headers)
