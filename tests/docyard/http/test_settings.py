"""Settings of an HTTP server; with invalid settings, the server does not start, and prints a fix."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.http import server
from docyard.http.settings import build_http_settings, parse_page_url
from docyard.terminal.exits import Exit
from tests.loops import loop_over
from workspace.policy.tokens import Tokens

LOCAL_ADDRESS = ["--http", "127.0.0.1:0"]
ALL_ADDRESSES = ["--http", "0.0.0.0:0"]
VALID_TOKEN = "x" * 43

INVALID_OPTIONS = {
    "no port": (["--http", "127.0.0.1"], "write 127.0.0.1:8000"),
    "a name": (["--http", "docs.example.org:80"], "--allow-host"),
    "a URL": (["--http", "http://127.0.0.1:80"], "must be an IP address"),
    "all addresses": (ALL_ADDRESSES, "--allow-host NAME"),
    "all IPv6 addresses": (["--http", "[::]:0"], "--allow-host NAME"),
    "another machine's address": (["--http", "192.0.2.1:0"], "--allow-host NAME"),
    "all addresses and no token": ([*ALL_ADDRESSES, "--no-token"], "--allow-host NAME"),
    "all addresses, a name, no token": (
        [*ALL_ADDRESSES, "--allow-host", "a.example", "--no-token"],
        "--read-only",
    ),
    "a proxy and no token": ([*LOCAL_ADDRESS, "--allow-host", "a.example", "--no-token"], "--read-only"),
    "--no-token and --token-file": (
        [*LOCAL_ADDRESS, "--no-token", "--token-file", "token"],
        "exclude each other",
    ),
    "any host": ([*LOCAL_ADDRESS, "--allow-host", "*"], "must be NAME"),
    "any subdomain": ([*LOCAL_ADDRESS, "--allow-host", "*.example.org"], "must be NAME"),
    "a host as URL": ([*LOCAL_ADDRESS, "--allow-host", "https://a.example"], "without a scheme"),
    "a host with a path": ([*LOCAL_ADDRESS, "--allow-host", "a.example/docs"], "must be NAME"),
    "an empty host": ([*LOCAL_ADDRESS, "--allow-host", ""], "must be NAME"),
    "a host with a user": ([*LOCAL_ADDRESS, "--allow-host", "me@a.example"], "must be NAME"),
    "a port out of range": ([*LOCAL_ADDRESS, "--allow-host", "a.example:99999"], "must be NAME"),
    "--allow-host alone": (["--allow-host", "a.example"], "needs --http"),
    "--no-token alone": (["--no-token"], "needs --http"),
    "--token-file alone": (["--token-file", "token"], "needs --http"),
    "--mermaid alone": (["--mermaid", "m.js"], "needs --http"),
    "--math alone": (["--math"], "needs --http"),
    "a page URL without a scheme": (["--page-url", "docs.example.org"], "write https://docs.example.org"),
    "a page URL of another scheme": (["--page-url", "file:///docs"], "must have only a scheme, a host"),
    "a page URL without a host": (["--page-url", "https://"], "must have only a scheme, a host"),
    "a page URL with a user": (["--page-url", "https://me:secret@a.example"], "without a user name"),
    "a page URL with a path": (["--page-url", "https://a.example/docs"], "must have only a scheme, a host"),
    "a page URL with a query": (["--page-url", "https://a.example/?token=secret"], "a query or a fragment"),
    "a page URL with a fragment": (["--page-url", "https://a.example#secret"], "a query or a fragment"),
    "a page URL over HTTP": (["--page-url", "http://a.example"], "must begin with https://"),
    "a page URL with a control character": (["--page-url", "https://a.example\n"], "must have only a scheme"),
    "a page URL without merges": (
        ["--page-url", "https://a.example", "--read-only"],
        "nothing can be merged",
    ),
}


@pytest.fixture(autouse=True)
def _forbid_server_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that starts a server, because the server would run forever."""

    def fail(*_: object) -> None:
        raise AssertionError("a server was started")

    monkeypatch.setattr(server, "run_app", fail)


@loop_over(("options", "message"), INVALID_OPTIONS.values(), ids=INVALID_OPTIONS)
def test_invalid_options_are_usage_error(
    repo: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "-C", str(repo), *options]) == Exit.USAGE
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert "fix:" in output.err
    assert "secret" not in output.err


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("", 0o600, "is empty"),
        ("few", 0o600, "must have at least 32 characters"),
        ("x" * 31, 0o600, "must have at least 32 characters"),
        (f"{VALID_TOKEN} {VALID_TOKEN}", 0o600, "visible ASCII"),
        ("ä" * 40, 0o600, "visible ASCII"),
        (VALID_TOKEN, 0o640, "by other users"),
        (VALID_TOKEN, 0o604, "by other users"),
        ("docyard_ana_" + "0" * 48, 0o600, "contains a person's token"),
        (None, 0, "cannot be read"),
    ],
    ids=[
        "empty",
        "short",
        "one too few",
        "two words",
        "non-ASCII",
        "group",
        "others",
        "a person's",
        "missing",
    ],
)
def test_unusable_token_file_is_refused(
    repo: Path, tmp_path: Path, text: str | None, mode: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    token_file = tmp_path / "token"
    if text is not None:
        token_file.write_text(text)
        token_file.chmod(mode)
    assert (
        main(["serve", "-C", str(repo), *LOCAL_ADDRESS, "--token-file", str(token_file)]) == Exit.CANNOT_RUN
    )
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert "fix:" in output.err
    assert not text or text not in output.err


@pytest.mark.parametrize("is_damaged", [True, False], ids=["damaged", "unsafe"])
def test_unusable_file_of_peoples_tokens_is_refused(
    repo: Path, is_damaged: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    Tokens(repo / ".git").add("ana", "Ana", "ana@example.org")
    tokens_file = repo / ".git/docyard/tokens.json"
    if is_damaged:
        tokens_file.write_text("{")
    else:
        tokens_file.chmod(0o644)
    assert main(["serve", "-C", str(repo), *LOCAL_ADDRESS]) == Exit.CANNOT_RUN
    output = capsys.readouterr()
    assert output.out == ""
    assert "damaged" in output.err if is_damaged else "others can read" in output.err


def test_port_in_use_is_reported(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from docyard.http.settings import ListenAddress, open_sockets

    [listener], port = open_sockets(ListenAddress("127.0.0.1", 0))
    with listener:
        assert main(["serve", "-C", str(repo), "--http", f"127.0.0.1:{port}"]) == Exit.CANNOT_RUN
    output = capsys.readouterr()
    assert output.out == ""
    assert f"port {port} is in use" in output.err


def test_missing_mermaid_script_is_reported(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["serve", "-C", str(repo), *LOCAL_ADDRESS, "--mermaid", str(repo / "none.js")])
        == Exit.CANNOT_RUN
    )
    assert "--mermaid cannot be read" in capsys.readouterr().err


def test_math_without_library_is_reported(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "latex2mathml", None)
    assert main(["serve", "-C", str(repo), *LOCAL_ADDRESS, "--math"]) == Exit.CANNOT_RUN
    output = capsys.readouterr()
    assert output.out == ""
    assert "docyard[math]" in output.err


@loop_over(
    ("http", "allow", "read_only"),
    [
        ("127.0.0.1:0", [], False),
        ("127.0.0.1:0", ["localhost:9000"], False),
        ("[::1]:0", [], False),
        ("0.0.0.0:0", ["docs.example.org"], True),
    ],
    ids=["loopback", "a forwarded port", "IPv6", "read-only"],
)
def test_no_token_option_is_allowed_for_local_or_read_only_server(
    http: str, allow: list[str], read_only: bool
) -> None:
    settings = build_http_settings(http, allow, None, no_token=True, read_only=read_only)
    assert settings.token is None
    assert "token" not in settings.build_url(8000)


def test_printed_url_has_host_and_generated_token(tmp_path: Path) -> None:
    def build_url(http: str, *allow: str, token_file: Path | None = None) -> str:
        return build_http_settings(http, allow, token_file, no_token=False, read_only=False).build_url(8000)

    assert build_url("127.0.0.1:0").startswith("http://127.0.0.1:8000/?token=")
    assert build_url("[::1]:0").startswith("http://[::1]:8000/?token=")
    assert build_url("0.0.0.0:0", "docs.example.org").startswith("http://127.0.0.1:8000/?token=")
    assert build_url("192.0.2.1:0", "docs.example.org:443").startswith("http://docs.example.org:443/?token=")
    assert len(build_url("127.0.0.1:0").partition("=")[2]) == 43  # 256 bits
    assert build_url("127.0.0.1:0") != build_url("127.0.0.1:0")
    file = tmp_path / "token"
    file.write_text(VALID_TOKEN + "\n")
    file.chmod(0o600)
    assert build_url("127.0.0.1:0", token_file=file) == "http://127.0.0.1:8000/"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://docs.example.org", "https://docs.example.org"),
        ("HTTPS://Docs.example.org:8443/", "https://docs.example.org:8443"),
        ("http://localhost:8000/", "http://localhost:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_page_url_is_normalized(text: str, url: str) -> None:
    assert parse_page_url(text) == url


def test_default_page_url_is_that_of_this_machine_without_token() -> None:
    def build_page_url(http: str, *allow: str, page_url: str | None = None) -> str | None:
        settings = build_http_settings(http, allow, None, no_token=False, read_only=False, page_url=page_url)
        return settings.build_page_url(8000)

    assert build_page_url("127.0.0.1:0") == "http://127.0.0.1:8000"
    assert build_page_url("[::1]:0") == "http://[::1]:8000"
    assert build_page_url("127.0.0.1:0", "docs.example.org") is None
    assert build_page_url("0.0.0.0:0", "docs.example.org") is None
    url = "https://docs.example.org"
    assert build_page_url("127.0.0.1:0", "docs.example.org", page_url=url) == url


def test_allowed_hosts_match_only_their_ports() -> None:
    settings = build_http_settings(
        "0.0.0.0:0", ["docs.example.org", "b.example:9"], None, no_token=False, read_only=False
    )
    hosts = settings.build_allowed_hosts(8000)
    for host in ("localhost:8000", "docs.example.org", "docs.example.org:8000", "b.example:9"):
        assert hosts.allows_host(host)
    for host in ("b.example", "b.example:8000", "docs.example.org:81", "0.0.0.0:8000"):
        assert not hosts.allows_host(host)
    remote_settings = build_http_settings(
        "192.0.2.1:0", ["docs.example.org"], None, no_token=False, read_only=False
    )
    assert not remote_settings.build_allowed_hosts(8000).allows_host("localhost:8000")
