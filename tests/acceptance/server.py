"""A server process and the SDK's client, with synchronous calls."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp_types import TextContent

from tests import fork_server
from tests.stdio_client import ROOT, ProtocolMode, connect

CLIENT_NAME = "acceptance"


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """The response of a tool: its data, its text for a model, and `is_error`."""

    data: dict[str, Any]
    text: str
    is_error: bool


class Server:
    """A server process, as the SDK's client calls it."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def call(self, tool: str, /, **arguments: Any) -> ToolResponse:
        """Call a tool and wait for its response. Raises MCPError for a protocol error."""
        result = self._portal.call(self._client.call_tool, tool, arguments)
        [block] = result.content
        assert isinstance(block, TextContent)
        assert isinstance(result.structured_content, dict)
        return ToolResponse(result.structured_content, block.text, bool(result.is_error))

    def get_instructions(self) -> str:
        """Return the instructions that the server sends on connection."""
        return self._client.instructions or ""

    def list_tools(self) -> dict[str, dict[str, Any]]:
        """Return the tool definitions by name, as the client received them."""
        result = self._portal.call(lambda: self._client.list_tools(cache_mode="bypass"))
        return {
            tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in result.tools
        }


def serve_repository(
    repo: Path, home: Path, *options: str, protocol: ProtocolMode = "auto"
) -> AbstractContextManager[Server]:
    """Start a server of a repository as an MCP host does, for a user with an empty home."""
    return _start_server(["-C", str(repo), "--no-fsync", *options], home, protocol)


def serve_artifact(
    artifact: Path, home: Path, *options: str, protocol: ProtocolMode = "auto"
) -> AbstractContextManager[Server]:
    """Start a server of an artifact as an MCP host does, for a user with an empty home."""
    return _start_server(["--index", str(artifact), "--read-only", *options], home, protocol)


def serve_sources(
    sources_file: Path, home: Path, *options: str, protocol: ProtocolMode = "auto"
) -> AbstractContextManager[Server]:
    """Start a server of a sources file as an MCP host does, for a user with an empty home."""
    return _start_server(["--sources", str(sources_file), *options], home, protocol)


def run_docyard(arguments: Sequence[str], home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of docyard to its end, for a user with an empty home."""
    command = [*fork_server.build_python_command(), "-m", "docyard", *arguments]
    return subprocess.run(
        command,
        env=build_user_environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def _start_server(options: Sequence[str], home: Path, protocol: ProtocolMode) -> Iterator[Server]:
    command = [*fork_server.build_python_command(), "-m", "docyard", "serve", *options]
    connection = connect(command, protocol, name=CLIENT_NAME, variables=build_user_environment(home))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connection) as client:
        yield Server(portal, client)


def build_artifact(repository: Path, home: Path, artifact: Path) -> None:
    """Build the artifact of a repository, with the command `docyard build`."""
    command = [
        *fork_server.build_python_command(),
        "-m",
        "docyard",
        "build",
        str(repository),
        "--out",
        str(artifact),
    ]
    process = subprocess.run(
        command, env=build_user_environment(home), capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr


def build_user_environment(home: Path) -> Mapping[str, str]:
    """Return the environment of a user without settings."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("DOCYARD_", "GIT_"))
    }
    folders = {
        name: str(home / name.lower())
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    }
    overrides = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(ROOT)}
    return {**inherited, **folders, **overrides}
