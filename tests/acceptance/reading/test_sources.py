"""A server of many sources through a real client: the contract, changes of the file, failures."""

from __future__ import annotations

import hmac
import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.acceptance.http_server import serve_over_http
from tests.acceptance.server import Server, run_docyard, serve_sources
from tests.documentation_sources import TWO_SOURCES, create_source_repositories, write_sources_file
from tests.repositories import Repo
from tests.stdio_client import ProtocolVersion
from tests.workspace.sync.servers import run_http_server

pytestmark = pytest.mark.process

WALKTHROUGH_TOOLS = {"list_walkthroughs", "start_walkthrough", "get_next_step"}
DOCUMENTATION_TOOLS = {"search_documentation", "list_documentation_sources", "get_doc"}
ONE_SOURCE = '[sources.test-docs]\nrepo = "guides"\n'
WAIT_S = 30.0


@pytest.fixture
def repositories(tmp_path: Path) -> tuple[Repo, Repo]:
    return create_source_repositories(tmp_path)


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("", WALKTHROUGH_TOOLS),
        (ONE_SOURCE, WALKTHROUGH_TOOLS | DOCUMENTATION_TOOLS),
        (TWO_SOURCES, WALKTHROUGH_TOOLS | DOCUMENTATION_TOOLS),
        (
            f"{TWO_SOURCES}[features]\ncontextual_search = true\n",
            WALKTHROUGH_TOOLS | DOCUMENTATION_TOOLS | {"search_documentation_contextual"},
        ),
    ],
    ids=["none", "one", "two", "contextual"],
)
def test_documentation_tools_exist_only_with_sources(
    tmp_path: Path,
    home: Path,
    repositories: tuple[Repo, Repo],
    protocol: ProtocolVersion,
    text: str,
    tools: set[str],
) -> None:
    with serve_sources(write_sources_file(tmp_path, text), home, protocol=protocol) as server:
        assert set(server.tools()) == tools


def test_examples_of_the_contract(
    tmp_path: Path, home: Path, repositories: tuple[Repo, Repo], protocol: ProtocolVersion
) -> None:
    with serve_sources(write_sources_file(tmp_path), home, protocol=protocol) as server:
        check_examples(server)


def check_examples(server: Server) -> None:
    sources = server.call("list_documentation_sources", include_stats=True).data["namespaces"]
    assert [source["name"] for source in sources] == ["api-reference", "tutorials"]
    assert all(source["last_updated"].endswith("Z") and source["document_count"] for source in sources)
    required = server.call("search_documentation", query="retry")
    assert required.is_error
    assert required.data["code"] == "NAMESPACE_REQUIRED"
    found = server.call("search_documentation", query="retry", namespace="tutorials")
    assert found.data["query_processed"] is True
    assert found.data["sources"][0]["document"] == "retry.md"
    address = found.data["sources"][0]["address"]
    chunk = server.call("get_doc", chunk_id=address, namespace="tutorials")
    assert found.data["sources"][0]["content"].strip() in chunk.text
    assert server.call("search_documentation", query="retry", namespace="*").data["result_count"] >= 2


def test_single_source_is_searched_without_namespace(
    tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]
) -> None:
    with serve_sources(write_sources_file(tmp_path, ONE_SOURCE), home) as server:
        assert server.call("search_documentation", query="shell").data["result_count"] == 1


def test_invalid_file_ends_the_start_with_each_mistake(tmp_path: Path, home: Path) -> None:
    file = write_sources_file(tmp_path, "[sources.a]\nrepoo = 'x'\n[limits]\nmax_tokens = 1\n")
    for arguments in (["serve", "--sources", str(file)], ["serve", "--sources", str(file), "--check"]):
        process = run_docyard(arguments, home)
        assert process.returncode in (1, 3)
        assert "sources.toml:2" in process.stderr
        assert "sources.toml:4" in process.stderr
        assert "Traceback" not in process.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no SIGHUP")
def test_file_is_read_again_on_hangup(tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]) -> None:
    file = write_sources_file(tmp_path, "")
    with serve_over_http(home, "--sources", file, "--no-token") as server:
        assert list_tools(server.base_url) == WALKTHROUGH_TOOLS
        write_sources_file(tmp_path, TWO_SOURCES)
        os.kill(server.process.pid, signal.SIGHUP)
        wait_until(lambda: list_tools(server.base_url) == WALKTHROUGH_TOOLS | DOCUMENTATION_TOOLS)
        write_sources_file(tmp_path, "[sources")
        os.kill(server.process.pid, signal.SIGHUP)
        wait_until(lambda: "sources.toml:1" in server.read_log())
        assert list_tools(server.base_url) == WALKTHROUGH_TOOLS | DOCUMENTATION_TOOLS


def test_readiness_names_each_source(tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]) -> None:
    file = write_sources_file(tmp_path)
    with serve_over_http(home, "--sources", file, "--no-token") as server:
        response = server.send_raw_request("GET /readyz HTTP/1.1", f"Host: {server.host}:{server.port}")
        assert response.startswith("HTTP/1.1 200")
        body = json.loads(response.partition("\r\n\r\n")[2])
        assert [(item["name"], item["available"]) for item in body["sources"]] == [
            ("api-reference", True),
            ("tutorials", True),
        ]
        for repository in repositories:
            repository.path.rename(repository.path.with_suffix(".away"))
        response = server.send_raw_request("GET /readyz HTTP/1.1", f"Host: {server.host}:{server.port}")
        assert response.startswith("HTTP/1.1 503")
        assert str(tmp_path) not in response


def test_signed_push_is_read_before_the_interval(
    tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]
) -> None:
    variables = {"DOCYARD_WEBHOOK_SECRET": "s3cret"}
    guides = repositories[1]
    body = json.dumps({"repository": {"full_name": f"{tmp_path.name}/guides"}}).encode()
    signature = f"sha256={hmac.new(b's3cret', body, 'sha256').hexdigest()}"
    with run_http_server(tmp_path.parent, None) as url:
        text = f'[sources.guides]\nurl = "{url}/{tmp_path.name}/guides/.git"\nevery = "1h"\n'
        file = write_sources_file(tmp_path, text)
        with serve_over_http(home, "--sources", file, "--no-token", variables=variables) as server:
            wait_until(lambda: not call_tool(server.base_url, query="shell")["isError"])
            guides.commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
            assert call_tool(server.base_url, query="zebra")["structuredContent"]["result_count"] == 0
            assert send_webhook(server.base_url, body, "sha256=0")[0] == 401
            assert call_tool(server.base_url, query="zebra")["structuredContent"]["result_count"] == 0
            assert send_webhook(server.base_url, body, signature) == (200, {"sources": ["guides"]})
            wait_until(
                lambda: call_tool(server.base_url, query="zebra")["structuredContent"]["result_count"] == 1
            )


def send_webhook(base_url: str, body: bytes, signature: str) -> tuple[int, dict[str, Any]]:
    """Send a push event of GitHub, and return the status and the object of the response."""
    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=WAIT_S)
    connection.request(
        "POST", "/hooks/github", body, {"X-GitHub-Event": "push", "X-Hub-Signature-256": signature}
    )
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


def test_failures_of_one_source_do_not_reach_clients_of_the_others(
    tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]
) -> None:
    """Remove, damage, rewrite and restore a source while eight clients search the other one."""
    file = write_sources_file(tmp_path)
    guides = repositories[1].path
    with serve_over_http(home, "--sources", file, "--no-token") as server:
        errors: list[object] = []
        stop = threading.Event()

        def search_repeatedly() -> None:
            while not stop.is_set():
                answer = call_tool(server.base_url, query="cursor", namespace="api-reference")
                if answer["isError"] or not answer["structuredContent"]["result_count"]:
                    errors.append(answer)
                both = call_tool(server.base_url, query="retry", namespace="*")
                if both["isError"]:
                    errors.append(both)

        threads = [threading.Thread(target=search_repeatedly) for _ in range(8)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(3):
                guides.rename(tmp_path / "away")
                wait_until(lambda: is_unavailable(server.base_url))
                (tmp_path / "away").rename(guides)
                wait_until(lambda: not is_unavailable(server.base_url))
            head = (guides / ".git/HEAD").read_bytes()
            (guides / ".git/HEAD").write_bytes(b"\xff\x00nonsense")
            wait_until(lambda: is_unavailable(server.base_url))
            (guides / ".git/HEAD").write_bytes(head)
            wait_until(lambda: not is_unavailable(server.base_url))
            repositories[1].git("checkout", "-q", "--orphan", "new")
            repositories[1].git("rm", "-rfq", ".")
            repositories[1].commit({"zoo.md": "# Zoo\n\nA zebra.\n"})
            repositories[1].git("branch", "-M", "new", "main")
            repositories[1].git("reflog", "expire", "--expire=now", "--all")
            repositories[1].git("gc", "-q", "--prune=now")  # the served commit is lost
            wait_until(lambda: count_results(server.base_url, "zebra") == 1)
            assert count_results(server.base_url, "shell") == 0
        finally:
            stop.set()
            for thread in threads:
                thread.join(WAIT_S)
        assert errors == []


def count_results(base_url: str, query: str) -> int | None:
    """Return the number of results in the source `tutorials`; None if it is unavailable."""
    answer = call_tool(base_url, query=query, namespace="tutorials")
    count: int | None = answer["structuredContent"].get("result_count")
    return count


def is_unavailable(base_url: str) -> bool:
    return bool(call_tool(base_url, query="retry", namespace="tutorials")["isError"])


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.1)


def call_tool(base_url: str, **arguments: object) -> dict[str, Any]:
    """Call search_documentation over HTTP, and return its result."""
    params = {"name": "search_documentation", "arguments": arguments}
    result: dict[str, Any] = send_request(base_url, "tools/call", params)["result"]
    return result


def list_tools(base_url: str) -> set[str]:
    return {tool["name"] for tool in send_request(base_url, "tools/list", {})["result"]["tools"]}


def send_request(base_url: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send one stateless request, and return the message of the response."""
    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=WAIT_S)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "MCP-Protocol-Version": "2025-06-18",
    }
    connection.request("POST", "/mcp", body, headers)
    message: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return message
