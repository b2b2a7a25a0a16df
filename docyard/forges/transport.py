"""Speaking with a forge over HTTP: bounded in time, in size and in tries; the token goes to its origin alone.

What a forge answers is JSON, or else an error of `errors.py`. Nothing here knows which forge it is.

Tries are counted here: httpx2's `retries` are for connecting alone and wait for no Retry-After, and what is
specific (the wait that the forge asks for, the limit of all tries together, never a second POST) would be as
long as a hook of `stamina`, which brings `tenacity` along.

Fields of a forge's JSON, each with the kind that its API documents, and fit to be shown.
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

from docyard.forges.errors import ForgeError, ForgeUnclear, ForgeUnreachable
from docyard.forges.statuses import ForgeResponse, build_error, get_retry_delay
from workspace.proposals.events import MAX_TEXT, join_lines, remove_controls

_REDIRECTS = 3
_PASSED_ON = (301, 302, 303, 307, 308)
_SAME_METHOD = (307, 308)
_PASSING = (429, 502, 503, 504)
_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")


class TransportLimits(NamedTuple):
    """How long and how much a forge may take; times are in seconds.

    `total` bounds one call with all its tries, `pages` and `bytes` what one list, and one answer, may have.
    Between two tries lies `pause`, doubled each time, or what the forge asks for: if that is more than
    `longest_pause`, the call fails at once and says when it may be tried again.
    """

    connect: float = 5.0
    read: float = 15.0
    total: float = 30.0
    attempts: int = 3
    pause: float = 0.5
    longest_pause: float = 10.0
    pages: int = 20
    bytes: int = 10_000_000


class ForgeTransport:
    """Calls of one API, whose paths count from `base`. Safe in several threads, one call at a time.

    `title` is the forge's name in messages, `secret` the token, which never stands in one. `marks` are the
    headers of each request.
    """

    def __init__(
        self, title: str, base: str, marks: Mapping[str, str], secret: str, patience: TransportLimits
    ) -> None:
        self.title = title
        self._base = base.rstrip("/")
        self._origin = _origin(httpx2.URL(base))
        self._secret = secret
        self._patience = patience
        self._turn = threading.Lock()
        self._socket: socket.socket | None = None
        is_far = httpx2.URL(base).scheme == "https"
        self._client = httpx2.Client(
            # No compression: what is unpacked could be of any size.
            headers={"Accept-Encoding": "identity", "User-Agent": "docyard", **marks},
            timeout=httpx2.Timeout(patience.read, connect=patience.connect),
            # One connection, so that its socket is known when time is up.
            limits=httpx2.Limits(max_connections=1),
            # Proxies and authorities of the system count, but nothing is sent to them about this machine.
            trust_env=is_far,
            auth=_as_it_is,
            follow_redirects=False,
        )

    def close_connections(self) -> None:
        """Close the connection."""
        self._client.close()

    def get(self, path: str, **query: str | int) -> Any:
        """Return the JSON at a path. Raises ForgeError."""
        return self._asked("GET", self._url(path, query), None, repeats=True).data

    def pages(self, path: str, **query: str | int) -> list[Any]:
        """Return a list, page after page; of one that has more than 20, its beginning. Raises ForgeError."""
        url, found = self._url(path, query), list[Any]()
        for _ in range(self._patience.pages):
            answer = self._asked("GET", url, None, repeats=True)
            if not isinstance(answer.data, list):
                raise self._nonsense("it is no list")
            found += answer.data
            following = answer.next_url
            if following is None and answer.headers.get("x-next-page", "").isdigit():
                following = str(url.copy_set_param("page", answer.headers["x-next-page"]))
            if following is None:
                break
            url = self._within(url, following)
        return found

    def send(self, method: str, path: str, body: Mapping[str, object], *, repeats: bool = False) -> Any:
        """Send a change; `repeats` if it is idempotent. Raises ForgeError."""
        return self._asked(method, self._url(path, {}), body, repeats=repeats).data

    def _url(self, path: str, query: Mapping[str, str | int]) -> httpx2.URL:
        return httpx2.URL(self._base + path, params=dict(query) or None)

    def _within(self, url: httpx2.URL, link: str) -> httpx2.URL:
        """Return a URL that an answer names, if the token may be shown there."""
        try:
            found = url.join(link)
        except httpx2.InvalidURL:
            raise self._nonsense("it leads nowhere") from None
        if _origin(found) != self._origin:
            raise ForgeUnreachable(self.title, "it leads to another host, which is not shown the token")
        return found

    def _nonsense(self, why: str) -> ForgeUnclear:
        return ForgeUnclear(self.title, why)

    def _asked(
        self, method: str, url: httpx2.URL, body: Mapping[str, object] | None, *, repeats: bool
    ) -> ForgeResponse:
        patience, until = self._patience, time.monotonic() + self._patience.total
        with self._turn:
            for attempt in range(1, patience.attempts + 1):
                pause = patience.pause * 2.0 ** (attempt - 1)
                error, may_pass = self._tried(method, url, body, until)
                if isinstance(error, ForgeResponse):
                    return error
                asked = get_retry_delay(error)
                wait = pause if asked is None else asked
                is_over = attempt == patience.attempts or wait > patience.longest_pause
                if not repeats or not may_pass or is_over or time.monotonic() + wait > until:
                    raise error
                time.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _tried(
        self, method: str, url: httpx2.URL, body: Mapping[str, object] | None, until: float
    ) -> tuple[ForgeResponse | ForgeError, bool]:
        """Return one try: its answer, or what is wrong, and whether that may be otherwise in a moment."""
        try:
            answer = self._followed(method, url, body, until)
        except httpx2.HTTPError as error:
            if time.monotonic() >= until:
                reason = f"it took more than {self._patience.total:g} seconds"
                return ForgeUnreachable(self.title, reason), False
            return ForgeUnreachable(self.title, _reason(error)), True
        except ForgeError as error:
            return error, False
        wrong = build_error(self.title, answer, self._secret)
        return (answer, False) if wrong is None else (wrong, answer.status in _PASSING)

    def _followed(
        self, method: str, url: httpx2.URL, body: Mapping[str, object] | None, until: float
    ) -> ForgeResponse:
        """Return the answer, also where it has moved within the same origin, as a renamed repository has."""
        for _ in range(_REDIRECTS + 1):
            answer = self._once(method, url, body, until)
            if answer.status not in _PASSED_ON or "location" not in answer.headers:
                return answer
            if method != "GET" and answer.status not in _SAME_METHOD:
                break
            url = self._within(url, answer.headers["location"])
        raise ForgeUnreachable(self.title, "it leads from one place to another without end")

    def _once(
        self, method: str, url: httpx2.URL, body: Mapping[str, object] | None, until: float
    ) -> ForgeResponse:
        watch = threading.Timer(max(0.0, until - time.monotonic()), self._hang_up)
        watch.daemon = True
        watch.start()
        try:
            with self._client.stream(method, url, json=body, extensions={"trace": self._seen}) as response:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise self._nonsense("it is packed")
                data = bytearray()
                for part in response.iter_raw():
                    data += part
                    if len(data) > self._patience.bytes:
                        raise self._nonsense(f"it is larger than {self._patience.bytes:,} bytes")
                following = response.links.get("next", {}).get("url")
                return ForgeResponse(
                    response.status_code, response.headers, following, self._read(response, bytes(data))
                )
        finally:
            watch.cancel()

    def _read(self, response: httpx2.Response, data: bytes) -> Any:
        if not data.strip():
            return None
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            if response.is_success:
                raise self._nonsense("it is no JSON") from None
            return None  # the page of a proxy: its status says enough

    def _seen(self, event: str, told: Mapping[str, Any]) -> None:
        """Keep the socket of a connection that was just made."""
        if event in _CONNECTED:
            self._socket = told["return_value"].get_extra_info("socket")

    def _hang_up(self) -> None:
        """End a call whose time is up. Each of its reads may still be in time: a byte now and then."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def _as_it_is(request: httpx2.Request) -> httpx2.Request:
    """Return the request unchanged: no other credentials, such as `.netrc`, may replace its token."""
    return request


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _is_caused_by(error: BaseException, kind: type[Exception]) -> bool:
    """Return True if an exception, or one of its causes, is of a kind."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, kind):
        found = found.__cause__ or found.__context__
    return found is not None


def _reason(error: httpx2.HTTPError) -> str:
    """Return why there was no response, in our words: a library's may reveal details of this machine."""
    match error:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return "no connection in time"
        case httpx2.TimeoutException():
            return "no answer in time"
        case httpx2.ConnectError() if _is_caused_by(error, ssl.SSLCertVerificationError):
            return "its certificate is not valid"
        case httpx2.ConnectError():
            return "no connection"
        case httpx2.ProxyError():
            return "the proxy does not let us through"
        case _:
            return "the connection ended before the answer was whole"


_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ODD = re.compile(r"[\s<>()\"'`\\^{|}]")
_NAME = 100
_LINE = 500
_URL = 2_000
DELETED_USER = "ghost"
"""The author of a deleted account's text, as forges show it."""


class Fields:
    """An object of an answer. Each reading raises ForgeUnclear for what is not of its kind."""

    def __init__(self, forge: str, data: object) -> None:
        self._forge = forge
        if not isinstance(data, dict):
            raise ForgeUnclear(forge, "it is no object")
        self._data: dict[str, Any] = data

    def has(self, name: str) -> bool:
        """Return True if a field is there, and not null."""
        return self._data.get(name) is not None

    def line(self, name: str) -> str:
        """Return a text on one line, of at most 500 characters."""
        return join_lines(self._text(name))[:_LINE]

    def text(self, name: str) -> str:
        """Return a text of several lines, as it would be kept; "" for null."""
        found = remove_controls(self._text(name)) if self.has(name) else ""
        return found if len(found) <= MAX_TEXT else found[: MAX_TEXT - 1] + "…"

    def number(self, name: str) -> int:
        """Return a number above 0."""
        found = self._data.get(name)
        if not isinstance(found, int) or isinstance(found, bool) or not 0 < found < 10**18:
            raise self._wrong(name)
        return found

    def flag(self, name: str) -> bool | None:
        """Return true or false; None if the field is missing."""
        found = self._data.get(name)
        return found if isinstance(found, bool) else None

    def time(self, name: str) -> datetime:
        """Return a time in UTC."""
        try:
            found = datetime.fromisoformat(self._text(name))
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):  # such as the first moment of all, east of Greenwich
            raise self._wrong(name) from None

    def optional_time(self, name: str) -> datetime | None:
        """Return a time in UTC; None if the field is missing."""
        return self.time(name) if self.has(name) else None

    def sha(self, name: str) -> str | None:
        """Return the id of a commit; None where there is none."""
        found = self._data.get(name)
        return found if isinstance(found, str) and _SHA.fullmatch(found) else None

    def url(self, name: str) -> str:
        """Return a link to the web that is safe in Markdown too; "" for anything else."""
        found = self._data.get(name)
        if not isinstance(found, str) or not found.isprintable() or len(found) > _URL or _ODD.search(found):
            return ""
        try:
            parts = urlsplit(found)
        except ValueError:
            return ""
        is_web = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        return found if is_web else ""

    def name_of(self, name: str, key: str) -> str:
        """Return the name of a user, who may be gone."""
        if not self.has(name):
            return DELETED_USER
        return self.nested(name).line(key)[:_NAME] or DELETED_USER

    def nested(self, name: str) -> Fields:
        """Return an object in a field."""
        return Fields(self._forge, self._data.get(name))

    def nested_list(self, name: str) -> list[Fields]:
        """Return the objects of a list in a field; none where there is no list."""
        found = self._data.get(name)
        return [Fields(self._forge, one) for one in found] if isinstance(found, list) else []

    def _text(self, name: str) -> str:
        found = self._data.get(name)
        if not isinstance(found, str):
            raise self._wrong(name)
        return _SURROGATE.sub("�", found)

    def _wrong(self, name: str) -> ForgeUnclear:
        return ForgeUnclear(self._forge, f"'{name}' is not as documented")
