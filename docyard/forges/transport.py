"""HTTP calls to a forge, limited in time, size and attempts. The token is sent only to the API's origin.

A response is JSON, or else an error of `errors.py`. This module is independent of the kind of forge.

Attempts are counted here: httpx2's `retries` cover only connecting, and ignore Retry-After. The rules are the
forge's delay, one time limit for all attempts, and no second POST. A hook of `stamina` with these rules would
be as long as this code, and `stamina` also requires `tenacity`.

`Fields` reads a forge's JSON: it checks the documented type of each field, and makes texts safe to display.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2

from docyard.forges.errors import ForgeError, ForgeUnreachable, InvalidForgeResponse
from docyard.forges.statuses import ForgeResponse, build_error, get_retry_delay
from workspace.proposals.events import MAX_TEXT_CHARACTERS, join_lines, remove_controls

_MAX_REDIRECTS = 3
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_SAME_METHOD_STATUSES = (307, 308)
_RETRY_STATUSES = (429, 502, 503, 504)
_CONNECTED_EVENTS = ("connection.connect_tcp.complete", "connection.start_tls.complete")


class TransportLimits(NamedTuple):
    """The limits of a call.

    `total_s` limits one call with all its attempts, `pages` one list, and `bytes` one response. The delay
    between two attempts is `delay_s`, doubled each time, or the forge's delay. A delay above `max_delay_s`
    fails the call at once; the error then contains the delay.
    """

    connect_s: float = 5.0
    read_s: float = 15.0
    total_s: float = 30.0
    attempts: int = 3
    delay_s: float = 0.5
    max_delay_s: float = 10.0
    pages: int = 20
    bytes: int = 10_000_000


class ForgeTransport:
    """Calls of one API, with paths relative to `base_url`. Thread-safe, one call at a time.

    `title` is the forge's name in messages. `secret` is the token, which no message contains. `headers` are
    sent with each request.
    """

    def __init__(
        self, title: str, base_url: str, headers: Mapping[str, str], secret: str, limits: TransportLimits
    ) -> None:
        self.title = title
        self._base_url = base_url.rstrip("/")
        self._origin = _get_origin(httpx2.URL(base_url))
        self._secret = secret
        self._limits = limits
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        is_remote = httpx2.URL(base_url).scheme == "https"
        self._client = httpx2.Client(
            # No compression: the decompressed response could have any size.
            headers={"Accept-Encoding": "identity", "User-Agent": "docyard", **headers},
            timeout=httpx2.Timeout(limits.read_s, connect=limits.connect_s),
            # One connection, so that its socket is known at the timeout.
            limits=httpx2.Limits(max_connections=1),
            # The system's proxies and certificate authorities apply, but not for this machine.
            trust_env=is_remote,
            auth=_keep_request,
            follow_redirects=False,
        )

    def close_connections(self) -> None:
        """Close the connection."""
        self._client.close()

    def get(self, path: str, **query: str | int) -> Any:
        """Return the JSON at a path. Raises ForgeError."""
        return self._call("GET", self._build_url(path, query), None, is_idempotent=True).data

    def get_list(self, path: str, **query: str | int) -> list[Any]:
        """Return the items of a list, of at most `pages` pages (`TransportLimits`). Raises ForgeError."""
        url, items = self._build_url(path, query), list[Any]()
        for _ in range(self._limits.pages):
            response = self._call("GET", url, None, is_idempotent=True)
            if not isinstance(response.data, list):
                raise self._build_invalid_error("the response must be a list")
            items += response.data
            next_url = response.next_url
            if next_url is None and response.headers.get("x-next-page", "").isdigit():
                next_url = str(url.copy_set_param("page", response.headers["x-next-page"]))
            if next_url is None:
                break
            url = self._resolve_link(url, next_url)
        return items

    def send(self, method: str, path: str, body: Mapping[str, object], *, is_idempotent: bool = False) -> Any:
        """Send a change; if it is idempotent, it may be sent several times. Raises ForgeError."""
        return self._call(method, self._build_url(path, {}), body, is_idempotent=is_idempotent).data

    def _build_url(self, path: str, query: Mapping[str, str | int]) -> httpx2.URL:
        return httpx2.URL(self._base_url + path, params=dict(query) or None)

    def _resolve_link(self, url: httpx2.URL, link: str) -> httpx2.URL:
        """Return a URL of a response. Raises ForgeUnreachable if the token may not be sent to it."""
        try:
            resolved_url = url.join(link)
        except httpx2.InvalidURL:
            raise self._build_invalid_error("a URL in the response is invalid") from None
        if _get_origin(resolved_url) != self._origin:
            problem = "the response redirects to another host, which may not receive the token"
            raise ForgeUnreachable(self.title, problem)
        return resolved_url

    def _build_invalid_error(self, problem: str) -> InvalidForgeResponse:
        return InvalidForgeResponse(self.title, problem)

    def _call(
        self, method: str, url: httpx2.URL, body: Mapping[str, object] | None, *, is_idempotent: bool
    ) -> ForgeResponse:
        limits, deadline = self._limits, time.monotonic() + self._limits.total_s
        with self._lock:
            for attempt in range(1, limits.attempts + 1):
                default_delay = limits.delay_s * 2.0 ** (attempt - 1)
                result, may_retry = self._attempt(method, url, body, deadline)
                if isinstance(result, ForgeResponse):
                    return result
                forge_delay = get_retry_delay(result)
                delay = default_delay if forge_delay is None else forge_delay
                is_last = attempt == limits.attempts or delay > limits.max_delay_s
                if not is_idempotent or not may_retry or is_last or time.monotonic() + delay > deadline:
                    raise result
                time.sleep(delay)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _attempt(
        self, method: str, url: httpx2.URL, body: Mapping[str, object] | None, deadline: float
    ) -> tuple[ForgeResponse | ForgeError, bool]:
        """Return the response or error of one attempt, and True if a retry may succeed."""
        try:
            response = self._follow_redirects(method, url, body, deadline)
        except httpx2.HTTPError as error:
            if time.monotonic() >= deadline:
                reason = f"the call took more than {self._limits.total_s:g} seconds"
                return ForgeUnreachable(self.title, reason), False
            return ForgeUnreachable(self.title, _describe_error(error)), True
        except ForgeError as error:
            return error, False
        failure = build_error(self.title, response, self._secret)
        return (response, False) if failure is None else (failure, response.status in _RETRY_STATUSES)

    def _follow_redirects(
        self, method: str, url: httpx2.URL, body: Mapping[str, object] | None, deadline: float
    ) -> ForgeResponse:
        """Return the response after redirects within the same origin, such as for a renamed repository."""
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._send_once(method, url, body, deadline)
            if response.status not in _REDIRECT_STATUSES or "location" not in response.headers:
                return response
            if method != "GET" and response.status not in _SAME_METHOD_STATUSES:
                break
            url = self._resolve_link(url, response.headers["location"])
        raise ForgeUnreachable(self.title, "the response redirects too often")

    def _send_once(
        self, method: str, url: httpx2.URL, body: Mapping[str, object] | None, deadline: float
    ) -> ForgeResponse:
        watchdog = threading.Timer(max(0.0, deadline - time.monotonic()), self._shut_down_socket)
        watchdog.daemon = True
        watchdog.start()
        try:
            with self._client.stream(
                method, url, json=body, extensions={"trace": self._on_trace}
            ) as response:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise self._build_invalid_error("the response is compressed")
                body_bytes = bytearray()
                for chunk in response.iter_raw():
                    body_bytes += chunk
                    if len(body_bytes) > self._limits.bytes:
                        raise self._build_invalid_error(
                            f"the response is larger than {self._limits.bytes:,} bytes"
                        )
                next_url = response.links.get("next", {}).get("url")
                return ForgeResponse(
                    response.status_code, response.headers, next_url, self._parse(response, bytes(body_bytes))
                )
        finally:
            watchdog.cancel()

    def _parse(self, response: httpx2.Response, body: bytes) -> Any:
        if not body.strip():
            return None
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            if response.is_success:
                raise self._build_invalid_error("the response is not JSON") from None
            return None  # the body may be the page of a proxy; the status describes the error

    def _on_trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Store the socket of a new connection."""
        if event in _CONNECTED_EVENTS:
            self._socket = info["return_value"].get_extra_info("socket")

    def _shut_down_socket(self) -> None:
        """End a call at its timeout. A server that sends single bytes never exceeds the timeout of a read."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def _keep_request(request: httpx2.Request) -> httpx2.Request:
    """Return the request unchanged: no other credentials, such as `.netrc`, may replace its token."""
    return request


def _get_origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _is_caused_by(error: BaseException, error_type: type[Exception]) -> bool:
    """Return True if an exception, or one of its causes, is of a type."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, error_type):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _describe_error(error: httpx2.HTTPError) -> str:
    """Return the reason of a missing response. A library's own text may reveal details of this machine."""
    match error:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return "no connection in time"
        case httpx2.TimeoutException():
            return "no response in time"
        case httpx2.ConnectError() if _is_caused_by(error, ssl.SSLCertVerificationError):
            return "its certificate is invalid"
        case httpx2.ConnectError():
            return "no connection"
        case httpx2.ProxyError():
            return "the proxy refused the connection"
        case _:
            return "the connection ended before the response was complete"


_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSAFE_CHARACTERS = re.compile(r"[\s<>()\"'`\\^{|}]")
_MAX_NAME_CHARS = 100
_MAX_LINE_CHARS = 500
_MAX_URL_CHARS = 2_000
DELETED_USER = "ghost"
"""The name that forges show for a deleted account."""


class Fields:
    """A JSON object in a response. Most methods raise InvalidForgeResponse if a field has another type."""

    def __init__(self, forge: str, data: object) -> None:
        self._forge = forge
        if not isinstance(data, dict):
            raise InvalidForgeResponse(forge, "the response must be an object")
        self._data: dict[str, Any] = data

    def has(self, name: str) -> bool:
        """Return True if a field exists, and is not null."""
        return self._data.get(name) is not None

    def line(self, name: str) -> str:
        """Return a text on one line, of at most 500 characters."""
        return join_lines(self._read_text(name))[:_MAX_LINE_CHARS]

    def text(self, name: str) -> str:
        """Return a text of several lines, as an event stores it; "" for null."""
        value = remove_controls(self._read_text(name)) if self.has(name) else ""
        return value if len(value) <= MAX_TEXT_CHARACTERS else value[: MAX_TEXT_CHARACTERS - 1] + "…"

    def number(self, name: str) -> int:
        """Return a number above 0."""
        value = self._data.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 10**18:
            raise self._build_invalid_error(name)
        return value

    def flag(self, name: str) -> bool | None:
        """Return true or false; None if the field is missing or has another type."""
        value = self._data.get(name)
        return value if isinstance(value, bool) else None

    def time(self, name: str) -> datetime:
        """Return a time in UTC."""
        try:
            value = datetime.fromisoformat(self._read_text(name))
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):  # such as the year 1 with a positive UTC offset
            raise self._build_invalid_error(name) from None

    def optional_time(self, name: str) -> datetime | None:
        """Return a time in UTC; None if the field is missing."""
        return self.time(name) if self.has(name) else None

    def sha(self, name: str) -> str | None:
        """Return the id of a commit; None if the field has no valid id."""
        value = self._data.get(name)
        return value if isinstance(value, str) and _SHA.fullmatch(value) else None

    def url(self, name: str) -> str:
        """Return a link to the web that is safe in Markdown too; "" for other values."""
        value = self._data.get(name)
        if (
            not isinstance(value, str)
            or not value.isprintable()
            or len(value) > _MAX_URL_CHARS
            or _UNSAFE_CHARACTERS.search(value)
        ):
            return ""
        try:
            parts = urlsplit(value)
        except ValueError:
            return ""
        is_web = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        return value if is_web else ""

    def user_name(self, name: str, key: str) -> str:
        """Return the field `key` of the user object in the field `name`; DELETED_USER if it is null."""
        if not self.has(name):
            return DELETED_USER
        return self.nested(name).line(key)[:_MAX_NAME_CHARS] or DELETED_USER

    def nested(self, name: str) -> Fields:
        """Return an object in a field."""
        return Fields(self._forge, self._data.get(name))

    def nested_list(self, name: str) -> list[Fields]:
        """Return the objects of a list in a field; empty if the field has no list."""
        value = self._data.get(name)
        return [Fields(self._forge, item) for item in value] if isinstance(value, list) else []

    def _read_text(self, name: str) -> str:
        value = self._data.get(name)
        if not isinstance(value, str):
            raise self._build_invalid_error(name)
        return _SURROGATE.sub("�", value)

    def _build_invalid_error(self, name: str) -> InvalidForgeResponse:
        return InvalidForgeResponse(self._forge, f"the field '{name}' of the response is invalid")
