"""The errors of requests that are not tool calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import MCPError

from docyard.mcp_server.calls import Workers
from docyard.mcp_server.requests import Requests
from index.service import SearchIndex
from tools.arguments import InvalidArguments
from tools.tool import Context
from tools.toolbox import Toolbox
from workspace.workspace import Workspace

pytestmark = pytest.mark.anyio

SECRET = "/srv/secret"


@pytest.fixture
def toolbox(repo: Path) -> Toolbox:
    workspace = Workspace.open(repo, durable=False)
    return Toolbox(workspace, SearchIndex(workspace), None, False)


async def catch_error(toolbox: Toolbox, error: Exception) -> MCPError:
    def fail(context: Context) -> None:
        raise error

    async with Workers(1) as workers:
        with pytest.raises(MCPError) as error_info:
            await Requests(toolbox, workers).run_with_context(fail)
    return error_info.value


async def test_request_uses_current_workspace(toolbox: Toolbox) -> None:
    async with Workers(1) as workers:
        paths = await Requests(toolbox, workers).run_with_context(
            lambda context: list(context.snapshot().documents)
        )
    assert paths == ["guide.md"]


async def test_expected_error_contains_fix(toolbox: Toolbox) -> None:
    tool_error = InvalidArguments(
        "'a\u202eb' is wrong", fix="Give 'c'.", field="a", nearest=["c"], other=SECRET
    )
    error = (await catch_error(toolbox, tool_error)).error
    assert error.code == -32602
    assert error.message == "'a\\u202eb' is wrong. Give 'c'."
    assert error.data == {"code": "INVALID_ARGUMENTS", "fix": "Give 'c'.", "nearest": ["c"], "field": "a"}


async def test_bug_returns_reference_and_is_logged(
    toolbox: Toolbox, caplog: pytest.LogCaptureFixture
) -> None:
    error = (await catch_error(toolbox, ZeroDivisionError(SECRET))).error
    assert error.code == -32603
    assert SECRET not in f"{error.message}{error.data}"
    assert error.data["reference"] in caplog.text
    assert SECRET in caplog.text
