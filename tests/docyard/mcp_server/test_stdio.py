"""The server over stdio, with the SDK's client in both protocol versions, and with a raw client."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, CallToolResult

from docyard.mcp_server.input import MAX_LINE_BYTES
from tests import fork_server
from tests.docyard.conftest import Git
from tests.loops import loop_over
from tests.stdio_client import ProtocolMode, RawClient, build_serve_command, build_server_environment, connect

STUB_SERVER = str(Path(__file__).with_name("stub_server.py"))

VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}

pytestmark = [pytest.mark.process, pytest.mark.anyio]


@pytest.fixture(params=VERSIONS)
def protocol(request: pytest.FixtureRequest) -> ProtocolMode:
    protocol: ProtocolMode = request.param
    return protocol


def build_cold_serve_command(repo: Path) -> list[str]:
    """Return the command of a server in a new Python process, which has imported no modules yet."""
    return [sys.executable, "-m", "docyard", "serve", "-C", str(repo), "--no-fsync"]


def get_structured_content(result: CallToolResult) -> dict[str, Any]:
    data = result.structured_content
    assert isinstance(data, dict)
    return data


async def test_written_document_is_found(repo: Path, git: Git, protocol: ProtocolMode) -> None:
    async with connect(build_cold_serve_command(repo), protocol) as client:
        assert client.protocol_version == VERSIONS[protocol]
        assert client.server_info is not None
        assert client.server_info.name == "docyard"
        assert client.instructions is not None
        assert "create_document {doc_type, title, initial_content}" in client.instructions
        assert len(client.instructions) <= 600
        create_result = await client.call_tool(
            "create_document", {"doc_type": "api_spec", "title": "Search API"}
        )
        assert not create_result.is_error
        assert get_structured_content(create_result)["path"] == "search-api.md"
        assert get_structured_content(create_result)["commit"] == git("rev-parse", "HEAD")
        response = await client.call_tool("search_docs", {"query": "backoff jitter"})
        assert get_structured_content(response)["hits"][0]["chunk_id"] == "guide.md#retries"
        assert response.content[0].type == "text"
        assert json.loads(response.content[0].text) == get_structured_content(response)
        section_result = await client.call_tool("get_doc", {"chunk_id": "guide.md#retries"})
        assert section_result.content[0].type == "text"
        assert section_result.content[0].text.startswith(
            "--- Chunk: guide.md#retries (Chunk 2 of 2) (Target) ---\n"
        )
    assert git("log", "-1", "--format=%an|%(trailers:key=Docyard-Tool,valueonly,separator=)") == (
        "Ann Author|create_document"
    )
    assert git("status", "--porcelain") == ""
    assert git("fsck", "--strict") == ""


async def test_list_of_tools_is_stable(repo: Path, protocol: ProtocolMode) -> None:
    async with connect(build_serve_command(repo), protocol) as client:
        first_list = await client.list_tools(cache_mode="bypass")
        await client.call_tool("tag_document", {"file": "guide.md", "tags": ["new"]})
        await client.call_tool("search_docs", {"query": "guide"})
        second_list = await client.list_tools(cache_mode="bypass")
        assert [tool.name for tool in first_list.tools] == [tool.name for tool in second_list.tools]
        assert {"create_document", "complete_task", "search_docs"} <= {tool.name for tool in first_list.tools}
        for tool in first_list.tools:
            assert tool.annotations is not None
            hints = tool.annotations.model_dump(exclude={"title"}, exclude_none=True)
            assert all(isinstance(hint, bool) for hint in hints.values())
            assert {"read_only_hint", "destructive_hint", "open_world_hint"} <= hints.keys()


async def test_unknown_tool_returns_protocol_error(repo: Path, protocol: ProtocolMode) -> None:
    async with connect(build_serve_command(repo), protocol) as client:
        with pytest.raises(MCPError) as error_info:
            await client.call_tool("create_documents", {})
        assert error_info.value.error.code == INVALID_PARAMS
        assert "create_document" in error_info.value.error.message


async def test_read_only_server_has_no_writing_tools(repo: Path, git: Git, protocol: ProtocolMode) -> None:
    head_before = git("rev-parse", "HEAD")
    command = build_serve_command(repo, "--read-only", "--toolsets", "documents,tasks,search")
    async with connect(command, protocol) as client:
        tool_list = await client.list_tools()
        for tool in tool_list.tools:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("create_document", {"doc_type": "document", "title": "No"})
        assert client.instructions is not None
        assert "create_document" not in client.instructions
    assert git("rev-parse", "HEAD") == head_before


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Some Host", "Some Host"),
        ("a\r\nSigned-off-by: eve\x00\u202e", "a Signed-off-by: eve"),
        ("  ", "unknown"),
        ("x" * 500, "x" * 100),
    ],
)
async def test_client_name_cannot_forge_trailer(
    tmp_path: Path, protocol: ProtocolMode, name: str, expected: str
) -> None:
    async with connect(
        [*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)], protocol, name=name
    ) as client:
        assert get_structured_content(await client.call_tool("whoami", {})) == {"client": expected}


async def test_commit_contains_client_name(repo: Path, git: Git, protocol: ProtocolMode) -> None:
    async with connect(build_serve_command(repo), protocol, name="Some Host") as client:
        await client.call_tool("tag_document", {"file": "guide.md", "tags": ["new"]})
    assert git("log", "-1", "--format=%(trailers:key=Docyard-Client,valueonly,separator=)") == "Some Host"


async def test_long_call_reports_progress(tmp_path: Path, protocol: ProtocolMode) -> None:
    reports: list[tuple[float, float | None, str | None]] = []

    async def record_progress(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async with connect([*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)], protocol) as client:
        result = await client.call_tool("slow", {}, progress_callback=record_progress)
        assert get_structured_content(result) == {"done": True}
    assert len(reports) > 3
    assert reports == sorted(reports)
    assert reports[-1] == (10, 10, "Counting")


async def test_bug_is_logged_and_returns_reference(tmp_path: Path, protocol: ProtocolMode) -> None:
    log = tmp_path / "log"
    command = [*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)]
    with log.open("w") as stream:
        async with connect(command, protocol, log=stream) as client:
            result = await client.call_tool("broken", {})
            assert result.is_error
            data = get_structured_content(result)
            assert data["code"] == "INTERNAL_ERROR"
            assert "secret" not in str(result)
            assert get_structured_content(await client.call_tool("noisy", {})) == {"printed": True}
    log_text = log.read_text()
    assert data["reference"] in log_text
    assert "ZeroDivisionError" in log_text
    assert "to standard output" in log_text


async def test_lone_surrogate_in_answer_is_escaped(tmp_path: Path, protocol: ProtocolMode) -> None:
    async with connect([*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)], protocol) as client:
        result = await client.call_tool("surrogate", {})
        assert get_structured_content(result) == {"text": "a\\ud800b", "é": ["\\udfff"]}
        assert result.content[0].type == "text"
        assert json.loads(result.content[0].text) == get_structured_content(result)


def test_request_with_invalid_id_is_refused(repo: Path) -> None:
    server = RawClient(build_serve_command(repo))
    invalid_ids: list[Any] = [None, 1.0, 1.5, True, [], {}]
    for number, request_id in enumerate(invalid_ids):
        server.send(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/list"}).encode())
        server.send(b'{"jsonrpc":"2.0","method":"notifications/odd","params":{"id":1}}')
        response = server.request(number, "ping")
        assert (response["id"], response.get("error", {}).get("code")) == (None, INVALID_REQUEST)
        assert server.receive()["id"] == number
    assert server.close() == ""


def test_invalid_line_returns_error_and_server_continues(repo: Path) -> None:
    server = RawClient(build_serve_command(repo))
    response = server.call(5, "search_docs", {"query": "\ud800"})
    assert (response["id"], response["error"]["code"]) == (5, PARSE_ERROR)
    server.send(b'{"jsonrpc":"2.0","id":6,"method":')
    response = server.receive()
    assert (response["id"], response["error"]["code"]) == (6, PARSE_ERROR)
    server.send(b"\xff\xfe")
    response = server.receive()
    assert (response["id"], response["error"]["code"]) == (None, PARSE_ERROR)
    server.send(b"\r")
    server.send(b'{"jsonrpc":"2.0","method":"notifications/odd","params":{"a":"\\ud800"}}')
    response = server.call(7, "search_docs", {"query": "backoff"})
    assert response["id"] == 7
    assert response["result"]["structuredContent"]["hits"]
    assert server.close() == ""
    assert server.process.returncode == 0


def test_deeply_nested_array_of_arguments_returns_a_response(repo: Path) -> None:
    """Check that an array of each depth has a response: a result up to 198 levels, and then an error."""
    server = RawClient(build_serve_command(repo))
    for depth, key in ((198, "result"), (199, "error"), (200, "error")):
        arguments = json.loads("[" * depth + "]" * depth)
        response = server.call(depth, "search_docs", arguments)
        assert response["id"] == depth
        assert key in response
    assert server.close() == ""
    assert server.process.returncode == 0


def test_long_string_is_refused_by_tool_and_long_line_by_server(repo: Path, git: Git) -> None:
    head_before = git("rev-parse", "HEAD")
    server = RawClient(build_serve_command(repo))
    edit = {"operation": "append_content", "file": "guide.md", "slug": "retries"}
    response = server.call(1, "edit_document", {**edit, "content": "x" * (MAX_LINE_BYTES - 3_000_000)})
    assert response["result"]["isError"] is True
    assert len(json.dumps(response)) < 20_000
    response = server.call(2, "edit_document", {**edit, "content": "x" * (MAX_LINE_BYTES + 1)})
    assert (response["id"], response["error"]["code"]) == (2, INVALID_REQUEST)
    assert git("rev-parse", "HEAD") == head_before
    response = server.call(3, "edit_document", {**edit, "content": "Short."})
    assert response["result"]["isError"] is False
    server.close()


def test_call_finishes_when_client_disconnects(tmp_path: Path) -> None:
    server = RawClient([*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)])
    server.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}')
    wait_for_file(tmp_path / "begun")
    server.close()
    assert (tmp_path / "done").exists()
    assert server.process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@loop_over("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_call_finishes_after_signal(tmp_path: Path, signal_number: signal.Signals) -> None:
    server = RawClient([*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)])
    server.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}')
    wait_for_file(tmp_path / "begun")
    server.process.send_signal(signal_number)
    assert server.process.wait(timeout=60) == 0
    assert (tmp_path / "done").exists()
    server.close()


def test_warm_up_waits_for_first_list_and_ends_with_server(tmp_path: Path) -> None:
    server = RawClient([*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)])
    server.exchange({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    wait_for_file(tmp_path / "warming")
    assert server.close() == ""  # the server exits before its warm-up is done


def test_warm_up_does_not_start_while_requests_are_open(tmp_path: Path) -> None:
    server = RawClient([*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)])
    server.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}')
    server.send(b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
    assert [server.receive()["id"], server.receive()["id"]] == [2, 1]
    wait_for_file(tmp_path / "warming")
    assert (tmp_path / "warming").stat().st_mtime_ns >= (tmp_path / "done").stat().st_mtime_ns
    assert server.close() == ""


def test_server_exits_without_error_after_immediate_disconnect(repo: Path) -> None:
    process = subprocess.run(
        build_cold_serve_command(repo),
        input=b"",
        capture_output=True,
        env=build_server_environment(),
        timeout=60,
    )
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("options", "code"),
    [(["--toolsets", "documents,nonsense"], 2), (["--branch", "nonsense"], 3), (["--nonsense"], 2)],
)
def test_invalid_serve_option_is_refused_at_start(repo: Path, options: list[str], code: int) -> None:
    process = subprocess.run(
        build_serve_command(repo, *options),
        input=b"",
        capture_output=True,
        env=build_server_environment(),
        timeout=60,
    )
    assert process.returncode == code
    assert process.stdout == b""
    assert process.stderr.startswith(b"error: ")
    assert b"\n  fix: " in process.stderr


def wait_for_file(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, f"the file {file.name} was not created"
        time.sleep(0.01)
