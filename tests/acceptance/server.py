"""A real server process and the SDK's own client, behind calls that are not asynchronous."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp_types import TextContent

from tests import warm
from tests.stdio_client import ROOT, Era, connect

CLIENT = "acceptance"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answered: its data, the text that a model reads, and whether it failed."""

    data: dict[str, Any]
    text: str
    is_error: bool


class Server:
    """A conversation with one server."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def call(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool and wait for its answer. A protocol error is raised as MCPError."""
        result = self._portal.call(self._client.call_tool, tool, arguments)
        [part] = result.content
        assert isinstance(part, TextContent)
        assert isinstance(result.structured_content, dict)
        return Reply(result.structured_content, part.text, bool(result.is_error))

    def instructions(self) -> str:
        """Return what the server says of itself when a client connects."""
        return self._client.instructions or ""

    def tools(self) -> dict[str, dict[str, Any]]:
        """The definitions as the client was sent them, by name."""
        listed = self._portal.call(lambda: self._client.list_tools(cache_mode="bypass"))
        return {
            tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools
        }


def serving(repo: Path, home: Path, *options: str, era: Era = "auto") -> AbstractContextManager[Server]:
    """A server of a repository, started as a host starts it, with an empty home for its user."""
    return _started(["-C", str(repo), "--no-fsync", *options], home, era)


def serving_artifact(
    out: Path, home: Path, *options: str, era: Era = "auto"
) -> AbstractContextManager[Server]:
    """A server of an artifact, started the same way."""
    return _started(["--index", str(out), "--read-only", *options], home, era)


@contextmanager
def _started(options: Sequence[str], home: Path, era: Era) -> Iterator[Server]:
    command = [*warm.python(), "-m", "docyard", "serve", *options]
    connected = connect(command, era, name=CLIENT, variables=surroundings(home))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected) as client:
        yield Server(portal, client)


def surroundings(home: Path) -> Mapping[str, str]:
    """The variables of a user who has nothing set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOCYARD_", "GIT_"))}
    folders = {
        name: str(home / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    }
    own = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(ROOT)}
    return {**kept, **folders, **own}
