"""A server of many sources through a real client: the contract, changes of the sources file, failures."""

from __future__ import annotations

import hmac
import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from anyio.from_thread import start_blocking_portal

from tests.acceptance.clients import connect_over_http
from tests.acceptance.http_server import serve_over_http
from tests.acceptance.server import Server, run_docyard, serve_sources
from tests.documentation_sources import TWO_SOURCES, create_source_repositories, write_sources_file
from tests.repositories import Repo
from tests.stdio_client import ProtocolMode
from tests.workspace.sync.servers import run_http_server

pytestmark = pytest.mark.process

WALKTHROUGH_TOOLS = {"list_walkthroughs", "start_walkthrough", "get_next_step"}
DOCUMENTATION_TOOLS = {"search_documentation", "list_documentation_sources", "get_doc"}
ONE_SOURCE = '[sources.test-docs]\nrepo = "guides"\n'
WAIT_S = 30.0


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


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
    protocol: ProtocolMode,
    transport: str,
    text: str,
    tools: set[str],
) -> None:
    with serve(write_sources_file(tmp_path, text), home, protocol, transport) as server:
        assert set(server.list_tools()) == tools


def test_searches_and_walkthroughs_follow_the_contract(
    tmp_path: Path,
    home: Path,
    repositories: tuple[Repo, Repo],
    protocol: ProtocolMode,
    transport: str,
) -> None:
    repositories[0].commit({"docs/tour.md": TOUR})
    sources_file = write_sources_file(tmp_path, f"{TWO_SOURCES}[features]\ncontextual_search = true\n")
    with serve(sources_file, home, protocol, transport) as server:
        check_schemas(server)
        check_searches(server)
        check_contextual_search(server)
        check_walkthrough(server)


TOUR = (
    "---\ntype: walkthrough\ntechnology: [HTTP]\n---\n# Tour\n\nThe first call.\n\n"
    "## Call\n\nSee [rate limits](errors.md#rate-limits).\n\n## Page\n\nRead the next page.\n"
)


@contextmanager
def serve(sources_file: Path, home: Path, protocol: ProtocolMode, transport: str) -> Iterator[Server]:
    """Start a server of a sources file, and connect a client over stdio or over HTTP."""
    if transport == "stdio":
        with serve_sources(sources_file, home, protocol=protocol) as server:
            yield server
        return
    with serve_over_http(home, "--sources", sources_file) as http_server, start_blocking_portal() as portal:
        connection = connect_over_http(http_server, protocol)
        with portal.wrap_async_context_manager(connection) as client:
            yield Server(portal, client)


def check_schemas(server: Server) -> None:
    schema = server.list_tools()["search_documentation"]["inputSchema"]
    properties = schema["properties"]
    assert schema["required"] == ["query"]
    assert properties["query"]["description"] == "Search query for documentation"
    assert properties["namespace"]["enum"] == ["api-reference", "tutorials", "*"]
    assert (properties["search_type"]["enum"], properties["search_type"]["default"]) == (
        ["vector", "bm25", "hybrid"],
        "hybrid",
    )
    limits = {name: properties["max_results"][name] for name in ("minimum", "maximum", "default")}
    assert limits == {"minimum": 1, "maximum": 20, "default": 10}
    assert properties["include_content"]["default"] is True
    contextual = server.list_tools()["search_documentation_contextual"]["inputSchema"]["properties"]
    assert contextual["max_results"]["default"] == 5
    assert set(contextual["context"]["properties"]) == {
        "current_file",
        "current_function",
        "error_message",
        "task_description",
    }


def check_searches(server: Server) -> None:
    sources = server.call("list_documentation_sources", include_stats=True).data["namespaces"]
    assert [(source["name"], source["description"]) for source in sources] == [
        ("api-reference", "Complete API documentation and guides"),
        ("tutorials", "Step-by-step tutorials and examples"),
    ]
    assert all(source["last_updated"].endswith("Z") and source["document_count"] for source in sources)
    ambiguous_response = server.call("search_documentation", query="retry")
    assert ambiguous_response.is_error
    assert ambiguous_response.data["code"] == "NAMESPACE_REQUIRED"
    assert ambiguous_response.data["error"] == "Multiple namespaces available: api-reference, tutorials"
    search_response = server.call("search_documentation", query="retry", namespace="tutorials")
    assert (search_response.data["query_processed"], search_response.data["result_count"]) == (
        True,
        len(search_response.data["sources"]),
    )
    result = search_response.data["sources"][0]
    assert {"document", "relevance_score", "title", "summary", "content", "url", "chunk_index"} <= set(result)
    assert (result["document"], result["title"]) == ("retry.md", "Retrying")
    chunk = server.call("get_doc", chunk_id=result["address"], namespace="tutorials")
    assert result["content"].strip() in chunk.text
    response_without_content = server.call(
        "search_documentation", query="retry", namespace="tutorials", include_content=False
    )
    assert "content" not in response_without_content.data["sources"][0]
    assert server.call("search_documentation", query="retry", namespace="*").data["result_count"] >= 2
    vector_response = server.call("search_documentation", query="retry", namespace="*", search_type="vector")
    assert vector_response.data["code"] == "VECTOR_SEARCH_UNAVAILABLE"
    unknown_response = server.call("search_documentation", query="retry", namespace="tutorial")
    assert (unknown_response.data["code"], unknown_response.data["nearest"]) == (
        "NAMESPACE_NOT_FOUND",
        ["tutorials"],
    )


def check_contextual_search(server: Server) -> None:
    fields = {"query": "page", "namespace": "api-reference"}
    plain_results = server.call("search_documentation_contextual", **fields).data["sources"]
    lifted_results = server.call(
        "search_documentation_contextual", **fields, context={"error_message": "RateLimitError: slow down"}
    ).data["sources"]
    scores = {source["address"]: source["relevance_score"] for source in plain_results}
    for source in lifted_results:
        factor = 1.3 if source["lifted_by"] else 1.0
        assert source["relevance_score"] == pytest.approx(factor * scores[source["address"]], abs=2e-6)


def check_walkthrough(server: Server) -> None:
    [walkthrough] = server.call("list_walkthroughs").data["walkthroughs"]
    assert {"id", "title", "description", "technology", "steps", "namespace"} <= set(walkthrough)
    assert (walkthrough["title"], walkthrough["steps"]) == ("Tour", 2)
    start = server.call("start_walkthrough", walkthrough=walkthrough["id"]).data
    assert (start["step"]["number"], start["step"]["title"]) == (1, "Call")
    first_result = server.call(
        "search_documentation", query="limits", namespace="api-reference", handle=start["handle"]
    ).data["sources"][0]
    assert {"walkthrough_relevance", "related_walkthrough_steps", "suggested_follow_up"} <= set(first_result)
    second_step = server.call("get_next_step", handle=start["handle"]).data
    assert second_step["step"]["title"] == "Page"
    assert server.call("get_next_step", handle=second_step["handle"]).data["done"] is True


def test_single_source_is_searched_without_namespace(
    tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]
) -> None:
    with serve_sources(write_sources_file(tmp_path, ONE_SOURCE), home) as server:
        assert server.call("search_documentation", query="shell").data["result_count"] == 1


def test_invalid_sources_file_prevents_start_and_lists_each_mistake(tmp_path: Path, home: Path) -> None:
    sources_file = write_sources_file(tmp_path, "[sources.a]\nrepoo = 'x'\n[limits]\nmax_tokens = 1\n")
    for arguments in (
        ["serve", "--sources", str(sources_file)],
        ["serve", "--sources", str(sources_file), "--check"],
    ):
        process = run_docyard(arguments, home)
        assert process.returncode in (1, 3)
        assert "sources.toml:2" in process.stderr
        assert "sources.toml:4" in process.stderr
        assert "Traceback" not in process.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no SIGHUP")
def test_sources_file_is_read_again_after_sighup(
    tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]
) -> None:
    sources_file = write_sources_file(tmp_path, "")
    with serve_over_http(home, "--sources", sources_file, "--no-token") as server:
        assert list_tools(server.base_url) == WALKTHROUGH_TOOLS
        write_sources_file(tmp_path, TWO_SOURCES)
        os.kill(server.process.pid, signal.SIGHUP)
        wait_until(lambda: list_tools(server.base_url) == WALKTHROUGH_TOOLS | DOCUMENTATION_TOOLS)
        write_sources_file(tmp_path, "[sources")
        os.kill(server.process.pid, signal.SIGHUP)
        wait_until(lambda: "sources.toml:1" in server.read_log())
        assert list_tools(server.base_url) == WALKTHROUGH_TOOLS | DOCUMENTATION_TOOLS


def test_readiness_names_each_source(tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]) -> None:
    sources_file = write_sources_file(tmp_path)
    with serve_over_http(home, "--sources", sources_file) as server:
        headers = (f"Host: {server.host}:{server.port}", f"Authorization: Bearer {server.token}")
        response = server.send_raw_request("GET /readyz HTTP/1.1", *headers)
        assert response.startswith("HTTP/1.1 200")
        body = json.loads(response.partition("\r\n\r\n")[2])
        assert [(source["name"], source["available"]) for source in body["sources"]] == [
            ("api-reference", True),
            ("tutorials", True),
        ]
        for repository in repositories:
            repository.path.rename(repository.path.with_suffix(".away"))
        time.sleep(1.0)  # the state is read at most once a second
        response = server.send_raw_request("GET /readyz HTTP/1.1", *headers)
        assert response.startswith("HTTP/1.1 503")
        assert str(tmp_path) not in response


def test_signed_push_webhook_updates_source_before_the_interval(
    tmp_path: Path, home: Path, repositories: tuple[Repo, Repo]
) -> None:
    variables = {"DOCYARD_WEBHOOK_SECRET": "s3cret"}
    guides = repositories[1]
    body = json.dumps({"repository": {"full_name": f"{tmp_path.name}/guides"}}).encode()
    signature = f"sha256={hmac.new(b's3cret', body, 'sha256').hexdigest()}"
    with run_http_server(tmp_path.parent, None) as url:
        text = f'[sources.guides]\nurl = "{url}/{tmp_path.name}/guides/.git"\nevery = "1h"\n'
        sources_file = write_sources_file(tmp_path, text)
        with serve_over_http(home, "--sources", sources_file, "--no-token", variables=variables) as server:
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
    """Send a push event of GitHub, and return the status and the JSON object of the response."""
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
    """Move, damage and rewrite a source while eight clients search the other source and all sources."""
    sources_file = write_sources_file(tmp_path)
    guides = repositories[1].path
    with serve_over_http(home, "--sources", sources_file, "--no-token") as server:
        errors: list[object] = []
        stop = threading.Event()

        def search_repeatedly() -> None:
            while not stop.is_set():
                answer = call_tool(server.base_url, query="cursor", namespace="api-reference")
                if answer["isError"] or not answer["structuredContent"]["result_count"]:
                    errors.append(answer)
                response_of_all_sources = call_tool(server.base_url, query="retry", namespace="*")
                if response_of_all_sources["isError"]:
                    errors.append(response_of_all_sources)

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
