"""A server that cannot start completes the handshake, and answers each call with the error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from docyard.mcp_server.start_error import TOOL
from docyard.terminal.exits import Exit
from tests.docyard.conftest import Git
from tests.docyard.mcp_server.test_stdio import get_structured_content
from tests.stdio_client import INITIALIZE, ProtocolMode, RawClient, build_serve_command, connect

pytestmark = pytest.mark.process


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ["auto", "legacy"])
async def test_invalid_settings_are_the_answer_until_they_are_fixed(
    repo: Path, git: Git, protocol: ProtocolMode
) -> None:
    (repo / "docyard.toml").write_text("protect = 1\n")
    git("add", "docyard.toml")
    git("commit", "-q", "-m", "Break the settings")
    async with connect(build_serve_command(repo), protocol) as client:
        assert client.server_info is not None
        assert client.server_info.name == "docyard"
        assert client.instructions is not None
        for part in ("docyard.toml: protect", "[[protect]]", "commit it", "restart the server"):
            assert part in client.instructions
        (tool,) = (await client.list_tools()).tools
        assert tool.name == TOOL
        assert tool.description is not None
        assert tool.description.startswith(client.instructions)
        for name in (TOOL, "search_docs"):
            answer = await client.call_tool(name, {})
            assert answer.is_error
            assert get_structured_content(answer)["code"] == "INVALID_CONFIG"
            assert answer.content[0].type == "text"
            assert answer.content[0].text == client.instructions

        (repo / "docyard.toml").write_text("title = = 1\n")
        git("commit", "-q", "-a", "-m", "Break the settings in another way")
        answer = await client.call_tool(TOOL, {})
        assert "docyard.toml is not TOML" in get_structured_content(answer)["error"]
        assert "line 1" in get_structured_content(answer)["error"]

        git("rm", "-q", "docyard.toml")
        git("commit", "-q", "-m", "Remove the settings")
        for name in (TOOL, "search_docs"):
            answer = await client.call_tool(name, {})
            assert answer.is_error == (name != TOOL)
            assert get_structured_content(answer)["code"] == "RESTART_REQUIRED"


def test_start_error_is_printed_and_sets_the_exit_code() -> None:
    for arguments in (["-C", "missing"], ["--index", "missing", "--read-only"]):
        client = RawClient([sys.executable, "-m", "docyard", "serve", *arguments], handshake=False)
        response = client.exchange(INITIALIZE)
        client.close_input()
        code, log = client.wait_for_exit()
        assert code == Exit.CANNOT_RUN
        assert "error: " in log
        assert "  fix: " in log
        assert response["result"]["instructions"].startswith("Docyard cannot start: ")
