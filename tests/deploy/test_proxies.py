"""nginx and Caddy with the configurations of `deploy/`, over HTTPS, before a server of organizations."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

import anyio
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ToolsListChanged

from tests.acceptance.http_server import HttpServer, serve_over_http
from tests.acceptance.server import run_docyard
from tests.documentation_sources import TWO_SOURCES, create_source_repositories, write_sources_file
from tests.repositories import create_repository

pytestmark = [pytest.mark.process, pytest.mark.anyio]

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PUBLIC_HOST = "docs.example.org"
TIMEOUT_S = 30.0
REQUEST_LIMIT = 12
PROXIES = [
    pytest.param(
        name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    )
    for name in ("nginx", "caddy")
]
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "search_documentation", "arguments": {"query": "cursor"}},
}
MCP_HEADERS = {"Accept": "application/json", "Content-Type": "application/json"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a certificate of the public host, `fullchain.pem`, and its key, `privkey.pem`."""
    folder = tmp_path_factory.mktemp("certificate")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, PUBLIC_HOST)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(PUBLIC_HOST), x509.IPAddress(ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    (folder / "privkey.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return folder


class Proxy(NamedTuple):
    """A running proxy: its ports, and the certificate that its clients trust."""

    port: int
    http_port: int
    certificate: Path

    def connect(self) -> httpx2.Client:
        """Return a client that speaks to the public host, and resolves it to the proxy."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        return httpx2.Client(
            base_url=f"https://127.0.0.1:{self.port}",
            headers={"Host": PUBLIC_HOST},
            verify=context,
            timeout=TIMEOUT_S,
        )

    def request(self, path: str, *options: str) -> str:
        """Return the headers and the body of the response to curl, over HTTP/2."""
        command = [
            *("curl", "--silent", "--include", "--http2", "--max-time", "30"),
            *("--cacert", str(self.certificate), "--resolve", f"{PUBLIC_HOST}:{self.port}:127.0.0.1"),
            *("--header", f"Host: {PUBLIC_HOST}", *options),
            f"https://{PUBLIC_HOST}:{self.port}{path}",
        ]
        # A proxy may close the stream after its response, while curl still sends: then curl reports an error.
        return subprocess.run(command, capture_output=True, text=True).stdout


def find_free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


def replace_all(text: str, replacements: Sequence[tuple[str, str]]) -> str:
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return text


def write_nginx_configuration(folder: Path, server: HttpServer, proxy: Proxy, certificate: Path) -> list[str]:
    """Write a whole nginx with the file of `deploy/`, and return its command."""
    site = replace_all(
        (DEPLOY / "nginx.conf").read_text(),
        [
            ("127.0.0.1:8000", f"{server.host}:{server.port}"),
            ("listen 80;", f"listen 127.0.0.1:{proxy.http_port};"),
            ("listen [::]:80;", ""),
            ("listen 443 ssl http2;", f"listen 127.0.0.1:{proxy.port} ssl http2;"),
            ("listen [::]:443 ssl http2;", ""),
            ("/etc/ssl/docyard", str(certificate)),
        ],
    )
    paths = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    text = f"""
        daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;
        events {{}}
        http {{ access_log off; {paths} {site} }}
    """
    (folder / "nginx.conf").write_text(text)
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def write_caddy_configuration(folder: Path, server: HttpServer, proxy: Proxy, certificate: Path) -> list[str]:
    """Write a whole Caddy with the file of `deploy/` and a certificate, and return its command."""
    site = replace_all(
        (DEPLOY / "Caddyfile").read_text(),
        [
            ("127.0.0.1:8000", f"{server.host}:{server.port}"),
            (
                f"\n{PUBLIC_HOST} {{",
                f"\n{PUBLIC_HOST}:{proxy.port} {{\n"
                f"    tls {certificate}/fullchain.pem {certificate}/privkey.pem",
            ),
        ],
    )
    # The clients of these tests connect to an address, and so send no name.
    ports = f"    http_port {proxy.http_port}\n    https_port {proxy.port}\n"
    options = f"{{\n    default_sni {PUBLIC_HOST}\n    admin off\n{ports}}}\n"
    (folder / "Caddyfile").write_text(options + site)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@contextmanager
def run_proxy(name: str, server: HttpServer, folder: Path, certificate: Path) -> Iterator[Proxy]:
    """Run a proxy in front of a server until the end of the block."""
    folder = folder / name
    folder.mkdir()
    proxy = Proxy(*find_free_ports(2), certificate / "fullchain.pem")
    write = write_nginx_configuration if name == "nginx" else write_caddy_configuration
    command = write(folder, server, proxy, certificate)
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stderr=log, env=environment) as process,
    ):
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while True:
                assert process.poll() is None, (folder / "log").read_text()
                try:
                    socket.create_connection(("127.0.0.1", proxy.port)).close()
                    break
                except OSError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            yield proxy
        finally:
            process.kill()  # Caddy would wait for open streams


@pytest.fixture
def server(tmp_path: Path, home: Path) -> Iterator[HttpServer]:
    """Return a server of organizations with the files of `deploy/`, on a free port."""
    create_repository(tmp_path / "handbook", {"guide.md": "# Guide\n\nMove the cursor.\n"})
    (tmp_path / "server.toml").write_text(
        replace_all(
            (DEPLOY / "server.toml").read_text(),
            [
                ('"127.0.0.1:8000"', '"127.0.0.1:0"'),
                ("/var/lib/docyard", str(tmp_path)),
                ("workers = 2", "workers = 1"),
                ("requests_per_minute = 600", f"requests_per_minute = {REQUEST_LIMIT}"),
            ],
        )
    )
    organizations = (DEPLOY / "organizations.toml").read_text()
    (tmp_path / "organizations.toml").write_text(
        replace_all(organizations, [("/var/lib/docyard", str(tmp_path))])
    )
    configuration = ["--config", str(tmp_path / "server.toml")]
    for command in (["database", "upgrade"], ["apply", "--yes", str(tmp_path / "organizations.toml")]):
        process = run_docyard(["admin", *command, *configuration], home)
        assert process.returncode == 0, process.stderr
    with serve_over_http(home, *configuration) as http_server:
        yield http_server


@pytest.mark.parametrize("proxy_name", PROXIES)
def test_public_server_behind_a_proxy(
    server: HttpServer, tmp_path: Path, certificate: Path, proxy_name: str
) -> None:
    with run_proxy(proxy_name, server, tmp_path, certificate) as proxy, proxy.connect() as client:
        call = json.dumps(CALL)
        response = proxy.request(
            "/mcp",
            *("--data", call, "--header", "Accept: application/json"),
            *("--header", "Content-Type: application/json", "--header", "X-Forwarded-For: 203.0.113.1"),
        )
        assert response.startswith("HTTP/2 200")
        assert "strict-transport-security: max-age=31536000" in response
        assert "x-request-id: " in response
        assert "Move the cursor." in response
        assert client.get("/metrics").status_code == 404
        assert client.get("/readyz").json() == {"ready": True, "status": "ok"}
        redirect = httpx2.get(f"http://127.0.0.1:{proxy.http_port}/mcp", headers={"Host": PUBLIC_HOST})
        assert redirect.status_code == 308
        assert redirect.headers["location"].startswith(f"https://{PUBLIC_HOST}")
        # The address that a client claims is not the one that is limited.
        statuses = [
            client.post(
                "/mcp", json=CALL, headers=MCP_HEADERS | {"X-Forwarded-For": f"198.51.100.{number}"}
            ).status_code
            for number in range(REQUEST_LIMIT + 2)
        ]
        assert statuses.count(200) in (REQUEST_LIMIT - 1, REQUEST_LIMIT)
        limited = client.post("/mcp", json=CALL, headers=MCP_HEADERS)
        assert limited.status_code == 429
        assert int(limited.headers["retry-after"]) >= 1


@pytest.mark.parametrize("proxy_name", PROXIES)
def test_proxy_refuses_a_body_of_100_megabytes(
    server: HttpServer, tmp_path: Path, certificate: Path, proxy_name: str
) -> None:
    body = tmp_path / "body"
    with body.open("wb") as stream:
        stream.truncate(100_000_000)
    with run_proxy(proxy_name, server, tmp_path, certificate) as proxy, proxy.connect() as client:
        response = proxy.request(
            "/mcp", "--data-binary", f"@{body}", "--header", "Content-Type: application/json"
        )
        assert "HTTP/2 413" in response
        assert client.post("/mcp", json=CALL, headers=MCP_HEADERS).status_code == 200


@pytest.mark.parametrize("proxy_name", PROXIES)
async def test_proxy_passes_on_events_at_once(
    tmp_path: Path, home: Path, certificate: Path, proxy_name: str
) -> None:
    create_source_repositories(tmp_path)
    sources_file = write_sources_file(tmp_path)
    with (
        serve_over_http(home, "--sources", sources_file, "--allow-host", PUBLIC_HOST) as sources_server,
        run_proxy(proxy_name, sources_server, tmp_path, certificate) as proxy,
    ):
        headers = {"Authorization": f"Bearer {sources_server.token}", "Host": PUBLIC_HOST}
        context = ssl.create_default_context(cafile=str(proxy.certificate))
        url = f"https://127.0.0.1:{proxy.port}/mcp"
        async with (
            httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S, verify=context) as http_client,
            Client(streamable_http_client(url, http_client=http_client)) as client,
        ):
            await client.list_tools()
            with anyio.fail_after(TIMEOUT_S):
                async with client.listen(tools_list_changed=True) as events:
                    write_sources_file(tmp_path, f"{TWO_SOURCES}[features]\ncontextual_search = true\n")
                    sources_server.process.send_signal(1)  # SIGHUP
                    assert isinstance(await anext(aiter(events)), ToolsListChanged)
