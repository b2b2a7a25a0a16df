"""Host and Origin headers that name this server, and similar headers that do not."""

from __future__ import annotations

from docyard.http.host_origin import AllowedHosts, Authority, parse_authority
from tests.loops import loop_over

LOCAL_HOSTS = AllowedHosts({("127.0.0.1", 8000), ("localhost", 8000), ("[::1]", 8000)})
PUBLIC_HOSTS = AllowedHosts({("docs.example.org", 443), ("docs.example.org", 80), ("docs.example.org", 8000)})

INVALID_AUTHORITIES = {
    "empty": "",
    "no host": ":8000",
    "empty port": "127.0.0.1:",
    "port 0": "127.0.0.1:0",
    "port too high": "127.0.0.1:65536",
    "huge port": "127.0.0.1:" + "9" * 400,
    "zeros before the port": "127.0.0.1:08000",
    "signed port": "127.0.0.1:+8000",
    "Arabic-Indic digits": "127.0.0.1:٨٠٠٠",
    "two ports": "127.0.0.1:8000:8000",
    "user": "user@127.0.0.1:8000",
    "user and password": "127.0.0.1:8000@evil.example",
    "final dot": "localhost.:8000",
    "dots": "localhost..:8000",
    "space": "localhost :8000",
    "tab": "localhost:8000\t",
    "newline": "localhost:8000\nx",
    "two names": "localhost:8000, evil.example",
    "path": "localhost:8000/x",
    "scheme": "http://localhost:8000",
    "wildcard": "*",
    "backslash": "localhost\\.evil.example",
    "percent": "local%68ost:8000",
    "short address": "127.1:8000",
    "number as address": "2130706433:8000",
    "octal address": "0177.0.0.1:8000",
    "bare IPv6": "::1:8000",
    "open bracket": "[::1:8000",
    "text after bracket": "[::1]x:8000",
    "zone": "[::1%25lo]:8000",
    "name in brackets": "[localhost]:8000",
    "letters of another script": "l\u043ecalhost:8000",
    "label too long": "a" * 64 + ":8000",
    "name too long": ".".join(["a" * 60] * 5) + ":8000",
}


@loop_over("text", INVALID_AUTHORITIES.values(), ids=INVALID_AUTHORITIES)
def test_invalid_authority_is_rejected(text: str) -> None:
    assert parse_authority(text) is None
    assert not LOCAL_HOSTS.allows_host(text)
    assert not LOCAL_HOSTS.allows_origin(f"http://{text}")


@loop_over(
    ("text", "expected"),
    [
        ("LOCALHOST:8000", Authority("localhost", 8000)),
        ("[0:0:0:0:0:0:0:1]:8000", Authority("[::1]", 8000)),
        ("[2001:DB8::0:1]", Authority("[2001:db8::1]", None)),
        ("my_host-2.example.org", Authority("my_host-2.example.org", None)),
    ],
    ids=["upper case", "long IPv6", "IPv6 without a port", "name"],
)
def test_authority_is_normalized(text: str, expected: Authority) -> None:
    assert parse_authority(text) == expected


@loop_over(
    ("header", "is_local", "is_public"),
    [
        ("127.0.0.1:8000", True, False),
        ("localhost:8000", True, False),
        ("[::1]:8000", True, False),
        ("127.0.0.1", False, False),
        ("127.0.0.1:8001", False, False),
        ("127.0.0.2:8000", False, False),
        ("evil.example:8000", False, False),
        ("localhost.evil.example:8000", False, False),
        ("docs.example.org", False, True),
        ("docs.example.org:443", False, True),
        ("docs.example.org:444", False, False),
        ("evil-docs.example.org", False, False),
    ],
)
def test_host_header_is_matched(header: str, is_local: bool, is_public: bool) -> None:
    assert LOCAL_HOSTS.allows_host(header) is is_local
    assert PUBLIC_HOSTS.allows_host(header) is is_public


def test_host_without_port_matches_default_ports() -> None:
    assert AllowedHosts({("127.0.0.1", 80)}).allows_host("127.0.0.1")
    assert not AllowedHosts({("127.0.0.1", 8080)}).allows_host("127.0.0.1")


@loop_over(
    ("header", "expected"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("https://localhost:8000", True),
        ("http://127.0.0.1", False),
        ("http://127.0.0.1:8001", False),
        ("http://evil.example", False),
        ("http://127.0.0.1:8000.evil.example", False),
        ("http://127.0.0.1:8000/", False),
        ("ftp://127.0.0.1:8000", False),
        ("file://", False),
        ("null", False),
        ("", False),
        ("http://127.0.0.1:8000 http://evil.example", False),
        ("HTTP://127.0.0.1:8000", False),
    ],
)
def test_origin_header_is_matched(header: str, expected: bool) -> None:
    assert LOCAL_HOSTS.allows_origin(header) is expected


def test_origin_without_port_has_the_default_port() -> None:
    assert PUBLIC_HOSTS.allows_origin("https://docs.example.org")
    assert PUBLIC_HOSTS.allows_origin("http://docs.example.org")
    assert not PUBLIC_HOSTS.allows_origin("http://docs.example.org", requires_https=True)
    assert not PUBLIC_HOSTS.allows_origin("https://docs.example.org:8443")
