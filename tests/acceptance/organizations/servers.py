"""Processes of a server of organizations: `docyard serve --config FILE`, and requests to them."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from docyard.caller import ADMIN_SCOPE, READ_SCOPE
from docyard.database.database import Database, open_database
from docyard.database.schema import upgrade_schema
from docyard.identity.access_tokens import AccessTokens
from tests.acceptance.http_server import TIMEOUT_S, HttpServer
from tests.organizations import create_organization
from tests.repositories import create_repository

FILES = {
    "guide.md": "# Guide {#guide}\n\n## Install {#install}\n\nRun the installer of herons.\n",
    "use.md": "# Use {#use}\n\nPass the cursor of herons.\n",
}
MCP_PATH = "/o/acme/docs/mcp"


class Reply(NamedTuple):
    """The status, the headers (names in lower case) and the body of a response."""

    status: int
    headers: Mapping[str, str]
    body: str

    def read_result(self) -> dict[str, Any]:
        """Return the structured content of a tool's answer."""
        assert self.status == 200, self
        content: dict[str, Any] = json.loads(self.body)["result"]["structuredContent"]
        return content


class Site:
    """The folder of a server: its configuration, its database, its repositories, and two tokens."""

    def __init__(self, folder: Path, database_url: str, *, workers: int = 1) -> None:
        self.folder = folder
        self.database_url = database_url
        self.config_file = folder / "server.toml"
        self.config_file.write_text(
            f'[http]\nlisten = "127.0.0.1:0"\nworkers = {workers}\n[database]\nurl = "{database_url}"\n'
            '[records]\nmode = "text"\n[telemetry]\nmetrics = true\n'
        )
        create_repository(folder / "acme", FILES)
        self.database: Database = open_database(database_url, folder)
        upgrade_schema(self.database)
        create_organization(
            self.database, "acme", {"docs": {"repo": "acme"}}, {"docs": ["docs"]}, [("staff", "", "reader")]
        )
        tokens = AccessTokens(self.database)
        self.token = tokens.add("acme", "ana", [READ_SCOPE], ["staff"])
        self.operator_token = tokens.add(None, "operator", [READ_SCOPE, ADMIN_SCOPE])

    @contextmanager
    def serve(self, variables: Mapping[str, str] | None = None) -> Iterator[OrganizationsServer]:
        """Start the server, and kill it at the end."""
        server = OrganizationsServer(self, variables)
        try:
            yield server
        finally:
            if server.process.poll() is None:
                server.process.kill()
            server.process.wait()
            assert server.process.stdout is not None
            server.process.stdout.close()


class OrganizationsServer(HttpServer):
    """A running server of organizations."""

    def __init__(self, site: Site, variables: Mapping[str, str] | None = None) -> None:
        super().__init__(["--config", str(site.config_file)], site.folder / "home", variables)
        self.site = site

    def request(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request over a new connection. Raises OSError, HTTPException."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, names, response.read().decode())
        finally:
            connection.close()

    def call(self, tool: str, token: str | None = None, path: str = MCP_PATH, **arguments: Any) -> Reply:
        """Call a tool of a server, by default as a member of the organization."""
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "MCP-Protocol-Version": "2025-06-18",
            "Authorization": f"Bearer {token or self.site.token}",
        }
        return self.request("POST", path, json.dumps(message), headers)

    def search(self, query: str = "herons", **options: Any) -> Reply:
        """Search the documentation."""
        return self.call("search_documentation", query=query, **options)

    def read_state(self) -> tuple[int, str]:
        """Return the status of `/readyz`, and the state that it names."""
        reply = self.request("GET", "/readyz")
        return reply.status, json.loads(reply.body)["status"]

    def read_details(self, token: str | None = None) -> dict[str, Any]:
        """Return the state of the server as an operator sees it."""
        headers = {"Authorization": f"Bearer {token or self.site.operator_token}"}
        details: dict[str, Any] = json.loads(self.request("GET", "/readyz", headers=headers).body)
        return details

    def read_metric(self, name: str) -> float:
        """Return the sum of the samples of a metric."""
        text = self.request("GET", "/metrics").body
        samples = [line for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name]
        return sum(float(line.rsplit(" ", 1)[1]) for line in samples)


def wait_until(condition: Callable[[], object], name: str, timeout_s: float = TIMEOUT_S) -> float:
    """Wait until a condition is true; return the seconds that it took."""
    start_time = time.monotonic()
    while not condition():
        assert time.monotonic() - start_time < timeout_s, f"timed out waiting for {name}"
        time.sleep(0.05)
    return time.monotonic() - start_time
