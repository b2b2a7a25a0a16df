"""The address of `--http`, and the errors if the server cannot bind to it."""

from __future__ import annotations

import socket

import pytest

from docyard.http.settings import CannotListen, ListenAddress, open_sockets, parse_address
from tests.loops import loop_over


@loop_over(
    ("text", "expected", "url_host"),
    [
        ("127.0.0.1:8000", ListenAddress("127.0.0.1", 8000), "127.0.0.1"),
        ("127.0.0.1:0", ListenAddress("127.0.0.1", 0), "127.0.0.1"),
        ("[::1]:8000", ListenAddress("::1", 8000), "[::1]"),
        ("LOCALHOST:8000", ListenAddress("localhost", 8000), "localhost"),
        ("0.0.0.0:80", ListenAddress("0.0.0.0", 80), "127.0.0.1"),
        ("[::]:80", ListenAddress("::", 80), "[::1]"),
        ("192.0.2.1:80", ListenAddress("192.0.2.1", 80), "192.0.2.1"),
    ],
)
def test_valid_address_is_parsed(text: str, expected: ListenAddress, url_host: str) -> None:
    address = parse_address(text)
    assert address == expected
    assert address.url_host == url_host


INVALID_ADDRESSES = (
    *("", "8000", ":8000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1"),
    *("::1:8000", "[::1]", "[127.0.0.1]:80", "[::1%lo]:80", "example.org:80", "http://127.0.0.1:80"),
    "127.1:80",
)


@loop_over("text", INVALID_ADDRESSES)
def test_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        parse_address(text)


@loop_over("host", ["127.0.0.1", "localhost"])
def test_port_zero_selects_a_free_port(host: str) -> None:
    sockets, port = open_sockets(ListenAddress(host, 0))
    try:
        assert port > 0
        assert {listener.getsockname()[1] for listener in sockets} == {port}
        with pytest.raises(CannotListen, match="is in use") as error_info:
            open_sockets(ListenAddress("127.0.0.1", port))
        assert "0 for a free port" in error_info.value.fix
    finally:
        for listener in sockets:
            listener.close()


def test_address_of_other_machine_cannot_be_bound() -> None:
    with pytest.raises(CannotListen, match="does not have the address"):
        open_sockets(ListenAddress("192.0.2.1", 0))


def test_recently_closed_port_can_be_bound_again() -> None:
    [listener], port = open_sockets(ListenAddress("127.0.0.1", 0))
    with socket.create_connection(("127.0.0.1", port)) as client:
        connection, _ = listener.accept()
        connection.close()
        listener.close()
        assert client.recv(1) == b""
    [second_listener], _ = open_sockets(ListenAddress("127.0.0.1", port))
    second_listener.close()
