"""A really started server of pages, and an agent that speaks MCP to it over HTTP."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from tests.acceptance.server import surroundings
from tests.repositories import Repo

PATIENCE = 60  # seconds in which a server starts and ends


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens: `url` ends without a slash, `token` is that of its start."""

    repo: Repo
    url: str
    token: str

    @contextmanager
    def agent(self, name: str = "writing-agent") -> Iterator[Agent]:
        """An agent that is connected to /mcp."""
        headers = {"Authorization": f"Bearer {self.token}"}
        with start_blocking_portal() as portal:
            http = httpx2.AsyncClient(headers=headers, timeout=PATIENCE)
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            client = Client(transport, client_info=Implementation(name=name, version="1"))
            with portal.wrap_async_context_manager(http), portal.wrap_async_context_manager(client) as opened:
                yield Agent(portal, opened)


class Agent:
    """A client of /mcp whose calls succeed."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool; gives its data."""
        result = self._portal.call(self._client.call_tool, tool, arguments)
        data = result.structured_content
        assert isinstance(data, dict)
        assert not result.is_error, data
        return data


@contextmanager
def serving(repo: Repo, home: Path, *options: str) -> Iterator[Served]:
    """Start a server of a repository's pages on a free port, and end it as a person does: by a signal."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "docyard", "serve", "-C", str(repo.path), "--no-fsync"]
    with (home / "log").open("w+b") as log:
        process = subprocess.Popen(
            [*command, "--http", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=surroundings(home),
        )
        assert process.stdout is not None
        try:
            line = b""
            if select.select([process.stdout], [], [], PATIENCE)[0]:
                line = process.stdout.readline()
            assert line, f"no server came:\n{(home / 'log').read_text()}"
            told = urlsplit(line.decode().strip())
            [token] = parse_qs(told.query).get("token", [""])
            yield Served(repo, f"http://{told.netloc}", token)
        finally:
            process.terminate()
            process.wait(PATIENCE)
            process.stdout.close()
