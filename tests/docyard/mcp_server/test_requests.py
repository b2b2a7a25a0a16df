"""Requests that are not tool calls: their workspace and their errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from docyard.mcp_server.calls import Workers
from docyard.mcp_server.requests import Requests
from index.service import SearchIndex
from tools.arguments import InvalidArguments
from tools.dispatcher import ToolDispatcher
from tools.tool import Context
from workspace.workspace import Workspace

pytestmark = pytest.mark.anyio

SECRET = "/srv/secret"


@pytest.fixture
def dispatcher(repo: Path) -> ToolDispatcher:
    workspace = Workspace.open(repo, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), None, False)


async def catch_error(dispatcher: ToolDispatcher, error: Exception) -> MCPError:
    def fail(context: Context) -> None:
        raise error

    async with Workers(1) as workers:
        with pytest.raises(MCPError) as error_info:
            await Requests(dispatcher, workers).run_with_context(fail)
    return error_info.value


async def test_request_uses_current_workspace(dispatcher: ToolDispatcher) -> None:
    async with Workers(1) as workers:
        paths = await Requests(dispatcher, workers).run_with_context(
            lambda context: list(context.snapshot().documents)
        )
    assert paths == ["guide.md"]


async def test_expected_error_contains_fix(dispatcher: ToolDispatcher) -> None:
    tool_error = InvalidArguments(
        "'a\u202eb' is wrong", fix="Give 'c'.", field="a", nearest=["c"], other=SECRET
    )
    error = (await catch_error(dispatcher, tool_error)).error
    assert error.code == INVALID_PARAMS
    assert error.message == "'a\\u202eb' is wrong. Give 'c'."
    assert error.data == {"code": "INVALID_ARGUMENTS", "fix": "Give 'c'.", "nearest": ["c"], "field": "a"}


async def test_bug_returns_reference_and_is_logged(
    dispatcher: ToolDispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    error = (await catch_error(dispatcher, ZeroDivisionError(SECRET))).error
    assert error.code == INTERNAL_ERROR
    assert SECRET not in f"{error.message}{error.data}"
    assert error.data["reference"] in caplog.text
    assert SECRET in caplog.text
