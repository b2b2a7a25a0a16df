"""URLs of remotes: transports, and output without secrets and local paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.git.remotes.exchange import clean_message
from workspace.git.remotes.url import RemoteUrl, Transport, UnsupportedRemote, parse_remote_url


@loop_over(
    ("url", "transport", "host", "user", "password", "url_without_secret"),
    [
        ("/srv/docs.git", "file", "", None, None, "/srv/docs.git"),
        ("../docs", "file", "", None, None, "../docs"),
        ("file:///srv/docs.git", "file", "", None, None, "file:///srv/docs.git"),
        ("C:/docs", "file", "", None, None, "C:/docs"),
        ("./a:b", "file", "", None, None, "./a:b"),
        ("git://Host.example/x", "git", "host.example", None, None, "git://host.example/x"),
        ("git@host.example:x/y", "ssh", "host.example", "git", None, "git@host.example:x/y"),
        ("host:x", "ssh", "host", None, None, "host:x"),
        ("ssh://ada@h:2222/x", "ssh", "h", "ada", None, "ssh://ada@h:2222/x"),
        ("https://h/x", "https", "h", None, None, "https://h/x"),
        ("https://ada:p%40ss@h:8443/x", "https", "h", "ada", "p@ss", "https://h:8443/x"),
        (
            "https://ghp_0123456789abcdefghij@h/x",
            "https",
            "h",
            None,
            "ghp_0123456789abcdefghij",
            "https://h/x",
        ),
        ("http://[::1]:80/x", "http", "::1", None, None, "http://[::1]:80/x"),
    ],
)
def test_remote_url_is_parsed(
    url: str, transport: str, host: str, user: str | None, password: str | None, url_without_secret: str
) -> None:
    assert parse_remote_url(url) == RemoteUrl(Transport(transport), url_without_secret, host, user, password)


@loop_over(
    "url",
    [
        "",
        "ext::sh -c id",
        "ftp://h/x",
        "ssh://-oProxyCommand=id/x",
        "-x",
        "-host:x",
        "https:///x",
        "https://h:port/x",
        "https://h/\x1b[31m",
        "javascript://h/x",
    ],
)
def test_unsupported_url_is_refused_without_repeating_its_command(url: str) -> None:
    with pytest.raises(UnsupportedRemote) as error_info:
        parse_remote_url(url)
    assert "id" not in error_info.value.message.split()


def test_unencrypted_remote_url_is_not_private() -> None:
    assert not parse_remote_url("http://docs.example/x").is_private
    assert not parse_remote_url("http://127.0.0.1.docs.example/x").is_private
    assert parse_remote_url("http://127.0.0.1:8080/x").is_private
    assert parse_remote_url("https://docs.example/x").is_private


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for url in (text, f"https://{text}", f"ssh://{text}/x", f"https://ada:{text}@h/x"):
        try:
            remote_url = parse_remote_url(url)
        except UnsupportedRemote:
            continue
        assert remote_url.format_redacted().isprintable()


@given(st.text("abcdef0123456789", min_size=12, max_size=30), st.text(max_size=40))
def test_printed_texts_contain_no_secret(secret: str, text: str) -> None:
    remote_url = parse_remote_url(f"https://ada:{secret}@h.example/x")
    assert secret not in repr(remote_url)
    message = f"{text} https://ada:{secret}@h.example/x {secret} \x1b[1m{text}"
    assert secret not in clean_message(message, (secret,)).replace(clean_message(text), "")
    assert clean_message(message, (secret,)).isprintable()


def test_remote_message_is_cleaned() -> None:
    assert clean_message("no \x1b[31mway\x1b[0m\r\nout\x07.") == "no way out"
    assert (
        clean_message("failed to resolve path '/home/ada/docs': gone")
        == "failed to resolve path 'the folder': gone"
    )
    assert clean_message("at https://ada:x@h/y") == "at https://***@h/y"
    # At most 500 characters and an ellipsis.
    assert len(clean_message("x" * 100_000)) <= 501
