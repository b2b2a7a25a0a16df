"""OpenTelemetry: with a configured SDK, the MCP library records a span of each message, without content."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.repositories import create_repository
from tests.stdio_client import ROOT, ProtocolMode, build_server_environment, connect

pytestmark = [
    pytest.mark.process,
    pytest.mark.anyio,
    pytest.mark.skipif(
        importlib.util.find_spec("opentelemetry.sdk") is None, reason="opentelemetry-sdk is not installed"
    ),
]

TRACED_SERVER = str(Path(__file__).with_name("traced_server.py"))
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SECRET = "rotate the payroll key"


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
async def test_span_of_a_call_names_the_tool_and_joins_the_trace_of_the_client(
    tmp_path: Path, protocol: ProtocolMode
) -> None:
    repo = create_repository(tmp_path / "docs", {"guide.md": f"# Guide\n\nHow to {SECRET}.\n"})
    spans_file = tmp_path / "spans"
    command = [sys.executable, TRACED_SERVER, str(spans_file), "serve", "-C", str(repo.path), "--no-fsync"]
    search_path = os.pathsep.join(path for path in (str(ROOT), os.environ.get("PYTHONPATH")) if path)
    variables = {**build_server_environment(), "HOME": str(tmp_path), "PYTHONPATH": search_path}
    async with connect(command, protocol, variables=variables) as client:
        meta: Any = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}
        result = await client.call_tool("search_docs", {"query": SECRET}, meta=meta)
        assert SECRET in str(result.structured_content)
        failed = await client.call_tool("search_docs", {"query": ""})
        assert failed.is_error
    text = spans_file.read_text(encoding="utf-8")
    assert SECRET not in text
    spans = [json.loads(line) for line in text.splitlines()]
    call, failed_call = [span for span in spans if span["name"] == "tools/call search_docs"]
    assert call["kind"] == "SpanKind.SERVER"
    assert call["attributes"]["mcp.method.name"] == "tools/call"
    assert call["attributes"]["gen_ai.tool.name"] == "search_docs"
    assert call["context"]["trace_id"] == f"0x{TRACE_ID}"
    assert failed_call["attributes"]["error.type"] == "tool_error"
