"""A server of sources behind nginx and behind Caddy, with the configurations of docs/sources.md."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.shared.subscriptions import ToolsListChanged

from tests.acceptance.clients import connect_over_http
from tests.acceptance.http_server import HttpServer, serve_over_http
from tests.documentation_sources import TWO_SOURCES, create_source_repositories, write_sources_file
from tests.stdio_client import ProtocolMode

pytestmark = [pytest.mark.process, pytest.mark.anyio]

GUIDE_PATH = Path(__file__).resolve().parents[3] / "docs/sources.md"
PUBLIC_HOST = "docs.example.com"
TIMEOUT_S = 30.0
PROXIES = [
    pytest.param(
        name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    )
    for name in ("nginx", "caddy")
]


def read_configuration(proxy: str, server: HttpServer) -> str:
    """Return the configuration of the guide, for the port of a server."""
    match = re.search(
        rf"^```{proxy}\n(.*?)^```$", GUIDE_PATH.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert match is not None
    configuration = match[1].replace("127.0.0.1:8000", f"{server.host}:{server.port}")
    assert configuration != match[1]
    return configuration


def write_nginx_configuration(folder: Path, configuration: str, port: int) -> list[str]:
    """Write the configuration of a whole nginx, and return its command."""
    text = f"""
        daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;
        events {{}}
        http {{
            access_log off;
            client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
            fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
            server {{ listen 127.0.0.1:{port}; server_name {PUBLIC_HOST}; {configuration} }}
        }}
    """
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def write_caddy_configuration(folder: Path, configuration: str, port: int) -> list[str]:
    """Write the configuration of a whole Caddy without certificates, and return its command."""
    site = configuration.replace(PUBLIC_HOST, f"http://{PUBLIC_HOST}:{port}")
    (folder / "Caddyfile").write_text("{\n    admin off\n}\n" + site, encoding="utf-8")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@contextmanager
def run_proxy(proxy: str, server: HttpServer, folder: Path) -> Iterator[str]:
    """Run a proxy in front of a server, and yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free_socket:
        port = free_socket.getsockname()[1]
    write_configuration = write_nginx_configuration if proxy == "nginx" else write_caddy_configuration
    command = write_configuration(folder, read_configuration(proxy, server), port)
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
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()  # Caddy would wait for open streams


@pytest.fixture
def server(tmp_path: Path, home: Path) -> Iterator[HttpServer]:
    create_source_repositories(tmp_path)
    sources_file = write_sources_file(tmp_path)
    with serve_over_http(home, "--sources", sources_file, "--allow-host", PUBLIC_HOST) as http_server:
        yield http_server


@pytest.mark.parametrize("proxy", PROXIES)
async def test_client_searches_through_the_proxy(
    server: HttpServer, tmp_path: Path, proxy: str, protocol: ProtocolMode
) -> None:
    with run_proxy(proxy, server, tmp_path) as url:
        async with connect_over_http(server, protocol, base_url=url, host=PUBLIC_HOST) as client:
            assert "search_documentation" in {tool.name for tool in (await client.list_tools()).tools}
            result = await client.call_tool("search_documentation", {"query": "cursor", "namespace": "*"})
            assert result.structured_content is not None
            assert result.structured_content["result_count"] > 0


@pytest.mark.parametrize("proxy", PROXIES)
async def test_proxy_passes_on_notifications_at_once(server: HttpServer, tmp_path: Path, proxy: str) -> None:
    with run_proxy(proxy, server, tmp_path) as url:
        async with connect_over_http(server, "auto", base_url=url, host=PUBLIC_HOST) as client:
            await client.list_tools()
            with anyio.fail_after(TIMEOUT_S):
                async with client.listen(tools_list_changed=True) as events:
                    write_sources_file(tmp_path, f"{TWO_SOURCES}[features]\ncontextual_search = true\n")
                    os.kill(server.process.pid, signal.SIGHUP)
                    assert isinstance(await anext(aiter(events)), ToolsListChanged)


@pytest.mark.parametrize("proxy", PROXIES)
def test_proxy_passes_on_host_token_and_readiness(server: HttpServer, tmp_path: Path, proxy: str) -> None:
    with run_proxy(proxy, server, tmp_path) as url:
        host, token = {"Host": PUBLIC_HOST}, {"Authorization": f"Bearer {server.token}"}
        assert len(httpx2.get(f"{url}/readyz", headers=host | token).json()["sources"]) == 2
        assert httpx2.get(f"{url}/readyz", headers=host).json() == {"ready": True, "status": "ok"}
        assert httpx2.get(f"{url}/metrics", headers=host).status_code == 401
        foreign_host_response = httpx2.get(f"{url}/readyz", headers={"Host": "evil.example"} | token)
        assert "sources" not in foreign_host_response.text
