"""The delivery by a signed HTTP request: `POST` of JSON to the URL of the operator.

    X-Docyard-Event          the kind of the event
    X-Docyard-Delivery       the id of the notification, the same in each attempt
    X-Docyard-Signature-256  sha256=HEX, the HMAC-SHA256 of the body, one for each key, separated by spaces

The host is resolved once, its addresses are checked, and the connection is made to a checked address. So a
name that resolves differently a moment later cannot lead into the private network. Redirects are not
followed, the environment's proxies are not used, and the content of a response is not read.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import socket
import ssl
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from docyard import __version__
from docyard.notifications.content import NotificationContent
from docyard.notifications.sender import DeliveryFailed, SendLimits, describe_failure, limit_time

SIGNATURE_HEADER = "X-Docyard-Signature-256"
_MAX_ADDRESSES = 3
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: addresses of IPv4 in the last 32 bits


class WebhookSender:
    """The delivery to one URL. `page_url` is the URL of this server's pages, without a slash at the end.

    `may_be_private` permits an address in a private network. `tls` verifies the receiver's certificate.
    """

    channel = "webhook"

    def __init__(
        self,
        url: str,
        secrets: Sequence[str],
        page_url: str,
        *,
        may_be_private: bool = False,
        limits: SendLimits = SendLimits(),  # noqa: B008 - immutable
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._is_https = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_https else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._secrets = tuple(secrets)
        self._page_url = page_url
        self._may_be_private = may_be_private
        self._limits = limits
        self._tls = tls

    def send(self, id: str, recipient: str, content: NotificationContent) -> None:
        """Deliver a notification. Raises DeliveryFailed."""
        body = build_body(id, content, self._page_url)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"docyard/{__version__}",
            "X-Docyard-Event": content.kind.value,
            "X-Docyard-Delivery": id,
            SIGNATURE_HEADER: " ".join(sign(body, secret) for secret in self._secrets),
            "Connection": "close",
        }
        try:
            connection = self._build_connection()
            with limit_time(self._limits.total_s) as watchdog:
                watchdog.watch(connection)
                try:
                    connection.request("POST", self._target, body, headers)
                    status = connection.getresponse().status
                    watchdog.check()
                finally:
                    connection.close()
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise DeliveryFailed(describe_failure(error)) from None
        if 300 <= status < 400:
            raise DeliveryFailed(f"it redirects (status {status}), which is not followed")
        if not 200 <= status < 300:
            raise DeliveryFailed(f"status {status}")

    def _build_connection(self) -> _CheckedConnection:
        tls = (self._tls or ssl.create_default_context()) if self._is_https else None
        return _CheckedConnection(
            self._host, self._port, self._limits.wait_s, tls, may_be_private=self._may_be_private
        )


class _CheckedConnection(http.client.HTTPConnection):
    """A connection to a checked address of a host. With `tls` it is encrypted."""

    def __init__(
        self, host: str, port: int, timeout_s: float, tls: ssl.SSLContext | None, *, may_be_private: bool
    ) -> None:
        super().__init__(host, port, timeout=timeout_s)
        self._timeout_s = timeout_s
        self._tls = tls
        self._may_be_private = may_be_private
        if tls is not None:
            self.default_port = http.client.HTTPS_PORT  # then the header Host has no port 443

    def connect(self) -> None:
        """Connect. Raises DeliveryFailed for a private address, and OSError."""
        addresses = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        if not self._may_be_private and not all(_is_public(str(address[4][0])) for address in addresses):
            raise DeliveryFailed("its host has a private address; notify.private_hosts may list the host")
        self.sock = self._connect_to_first(addresses[:_MAX_ADDRESSES])
        if self._tls is not None:
            # The socket is known before the handshake, so that the watchdog can end that, too.
            self.sock = self._tls.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self.sock.do_handshake()

    def _connect_to_first(self, addresses: Sequence[Any]) -> socket.socket:
        """Return a connection to the first address that accepts one. Raises OSError."""
        failure = OSError("no address")
        for _, _, _, _, (ip, port, *_) in addresses:
            try:
                return socket.create_connection((ip, port), self._timeout_s)
            except OSError as error:
                failure = error
        raise failure


def _is_public(text: str) -> bool:
    """Return True for an address of the public network, also if it contains one of IPv4."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        embedded = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            embedded = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if embedded is not None:
            address = embedded
    return address.is_global and not address.is_multicast


def sign(body: bytes, secret: str) -> str:
    """Return the signature of a body, in the form of GitHub's `X-Hub-Signature-256`."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def build_body(id: str, content: NotificationContent, page_url: str) -> bytes:
    """Return the body of a request."""
    data = {
        "delivery": id,
        "id": content.event_id,
        "event": content.kind,
        "time": content.time,
        "workspace": content.workspace,
        "summary": content.summary,
        "url": page_url + content.path,
        "author": content.author,
        "proposal": {"id": content.proposal, "title": content.title} if content.proposal else None,
        "document": content.document,
        "people": content.people,
        "mentioned": content.mentioned,
    }
    return json.dumps(data).encode()
