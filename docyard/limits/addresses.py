"""The limit of requests by address, which is checked before a request is authenticated.

An IPv6 client usually has all addresses of a /64 network, so that they share one bucket.
"""

from __future__ import annotations

import ipaddress

from docyard.limits.buckets import Buckets, Charge

_IPV6_PREFIX = 64


class AddressLimit:
    """The requests per minute of each address. `buckets` are those of all workers, if given."""

    def __init__(self, requests_per_minute: int, buckets: Buckets | None = None) -> None:
        self._rate = requests_per_minute
        self._buckets = Buckets() if buckets is None else buckets

    def refuse(self, address: str) -> int | None:
        """Return the seconds after which an address may send a request; None if it may send this one."""
        empty = self._buckets.charge([Charge(("address", group_address(address)), self._rate)])
        return None if empty is None else empty.retry_after_s


def group_address(address: str) -> str:
    """Return an IPv4 address, the network of an IPv6 address, or another text unchanged."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, _IPV6_PREFIX), strict=False))
    return str(ip)
