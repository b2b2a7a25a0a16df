"""No answer to a caller of one organization depends on documents that they may not read.

Each request is sent in two worlds: one with the secrets, one in which they never existed. The answers must be
equal, byte for byte, in both versions of the protocol: status, headers, and body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.acceptance.organizations.worlds import (
    ACME_HOST,
    BASE_URL,
    GLOBEX_HOST,
    World,
    create_template,
    open_world,
)

OWN_PATH, FOREIGN_PATH, INTERNAL_PATH = "/o/acme/docs/mcp", "/o/globex/docs/mcp", "/o/acme/board/mcp"
UNKNOWN_PATH = "/o/never/docs/mcp"
VOLATILE_HEADERS = {"date", "x-request-id"}

NAMESPACES = ("docs", "internal", "secret-plans", "never", "*", "", "globex/docs", None)
ADDRESSES = (
    "guide.md#install",
    "merger.md",
    "merger.md#terms",
    "salaries.md#salaries",
    "never.md",
    "doc:///docs/merger.md#terms",
    "doc:///secret-plans/merger.md#terms",
    "doc:///internal/salaries.md",
    "doc:///never/merger.md",
    "../secret/merger.md",
)
QUERIES = (
    "xylophone",
    "quarkonium",
    "zirconium",
    "neverword",
    "installer",
    "xylophone installer",
    "title:merger",
    'path:merger.md "xylophone clause"',
    "xyloph*",
    "xylophnoe~1",
    "salaries OR merger",
)
WALKTHROUGHS = ("tour", "plan", "plan.md", "docs/plan", "secret-plans/plan", "docs/tour", "never")


class Version(NamedTuple):
    """A version of the protocol, with the headers and the metadata of its requests."""

    name: str

    @property
    def is_stateless(self) -> bool:
        return self.name >= "2026"


pytestmark = pytest.mark.guarantee

VERSIONS = (Version("2025-11-25"), Version("2026-07-28"))


def build_body(version: Version, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a request of the protocol."""
    if version.is_stateless:
        meta = {
            "io.modelcontextprotocol/protocolVersion": version.name,
            "io.modelcontextprotocol/clientInfo": {"name": "differential", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {**params, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def build_headers(version: Version, method: str, params: dict[str, Any]) -> dict[str, str]:
    """Return the headers of a request of the protocol."""
    headers = {"Accept": "application/json", "MCP-Protocol-Version": version.name}
    if version.is_stateless:
        headers["Mcp-Method"] = method
        if "name" in params or "uri" in params:
            headers["Mcp-Name"] = str(params.get("name", params.get("uri")))
    return headers


class Answer(NamedTuple):
    """The answer to a request, without what changes with each request."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str


class Sender:
    """Sends requests to a world as one of its callers."""

    def __init__(self, world: World) -> None:
        self.world = world

    def send(
        self,
        http_method: str,
        path: str,
        *,
        caller: str | None = "staff",
        host: str | None = None,
        headers: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
    ) -> Answer:
        """Send one HTTP request."""
        all_headers = dict(headers or {})
        if caller is not None:
            all_headers["Authorization"] = f"Bearer {self.world.tokens[caller]}"
        if host is not None:
            all_headers["Host"] = host
        response = self.world.client.request(http_method, f"{BASE_URL}{path}", headers=all_headers, json=body)
        stable_headers = sorted(
            (name, value) for name, value in response.headers.items() if name not in VOLATILE_HEADERS
        )
        return Answer(response.status_code, tuple(stable_headers), response.text)

    def request(
        self,
        version: Version,
        method: str,
        params: dict[str, Any],
        path: str = OWN_PATH,
        **options: Any,
    ) -> Answer:
        """Send one request of the protocol."""
        return self.send(
            "POST",
            path,
            headers=build_headers(version, method, params),
            body=build_body(version, method, params),
            **options,
        )

    def call(self, version: Version, tool: str, arguments: dict[str, Any], **options: Any) -> Any:
        """Call a tool, and return its data."""
        answer = self.request(version, "tools/call", {"name": tool, "arguments": arguments}, **options)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)["result"]["structuredContent"]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sender, Sender]]:
    """Return the world with secrets, and the world in which they never existed."""
    folder = tmp_path_factory.mktemp("worlds")
    create_template(folder / "template")
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        open_world(folder / "template", folder / "with", has_secrets=True, monkeypatch=monkeypatch) as first,
        open_world(
            folder / "template", folder / "without", has_secrets=False, monkeypatch=monkeypatch
        ) as second,
    ):
        yield Sender(first), Sender(second)


def list_tool_calls(tools: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield calls of each tool, with secret names in each of its fields."""
    for tool in tools:
        name, fields = tool["name"], tool["inputSchema"]["properties"]
        namespaces = NAMESPACES if "namespace" in fields else (None,)
        probes: list[dict[str, Any]] = [{}]
        for field in fields:
            values: tuple[Any, ...] = {
                "query": QUERIES,
                "chunk_id": ADDRESSES,
                "address": ADDRESSES,
                "path": ("merger.md", "salaries.md", "never.md", "guide.md", "**"),
                "walkthrough": WALKTHROUGHS,
                "ref": ("main", "secret", "HEAD", "0" * 40),
                "cursor": ("x", "A" * 60),
                "handle": ("x", "A" * 60),
                "operations": (
                    [
                        {"query": query, "namespace": space}
                        for query in QUERIES[:3]
                        for space in NAMESPACES[:3]
                    ],
                ),
                "context": ({"current_file": "merger.py", "error_message": "XylophoneError: x"},),
            }.get(field, ())
            probes += [{field: value} for value in values]
        for namespace in namespaces:
            own = {} if namespace is None else {"namespace": namespace}
            for probe in probes:
                required = {
                    key: "installer" if key == "query" else "guide.md#install"
                    for key in tool["inputSchema"].get("required", ())
                    if key not in probe
                }
                yield name, {**required, **probe, **own}


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_calls_of_all_tools_do_not_depend_on_secrets(worlds: tuple[Sender, Sender], version: Version) -> None:
    with_secrets, without = worlds
    listed = [sender.request(version, "tools/list", {}) for sender in worlds]
    assert listed[0] == listed[1]
    tools = json.loads(listed[0].body)["result"]["tools"]
    assert {"search_documentation", "get_doc", "list_documentation_sources"} <= {
        tool["name"] for tool in tools
    }
    calls = list(list_tool_calls(tools))
    assert len(calls) > 150
    for name, arguments in calls:
        params = {"name": name, "arguments": arguments}
        first, second = (
            with_secrets.request(version, "tools/call", params),
            without.request(version, "tools/call", params),
        )
        assert first == second, (name, arguments)
        for word in ("quarkonium budget", "xylophone clause of", "Takeover", "Buy shares"):
            assert word not in first.body


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_secrets_are_found_by_those_who_may_read_them(
    worlds: tuple[Sender, Sender], version: Version
) -> None:
    """Show that the comparison would find a leak: the words are in the index of the first world."""
    sender = worlds[0]
    found = sender.call(
        version,
        "search_documentation",
        {"query": "xylophone", "namespace": "docs"},
        caller="globex",
        path=FOREIGN_PATH,
    )
    assert found["sources"][0]["document"] == "merger.md"
    found = sender.call(
        version, "search_documentation", {"query": "quarkonium"}, caller="board", path=INTERNAL_PATH
    )
    assert found["sources"][0]["document"] == "salaries.md"


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_other_requests_do_not_depend_on_secrets(worlds: tuple[Sender, Sender], version: Version) -> None:
    requests: list[tuple[str, dict[str, Any]]] = [
        ("prompts/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("ping", {}),
        ("server/discover", {}),
        ("unknown/method", {}),
        ("tools/call", {"name": "search_docs", "arguments": {"query": "xylophone"}}),
        ("tools/call", {"name": "search_documentatoin", "arguments": {}}),
        ("prompts/get", {"name": "search_documentation", "arguments": {"question": "xylophone"}}),
        ("prompts/get", {"name": "search_documentation", "arguments": {"namespace": "internal"}}),
    ]
    requests += [("resources/read", {"uri": address}) for address in ADDRESSES if ":" in address]
    for prompt in ("search_documentation", "search", "never"):
        for argument in ("query", "question", "namespace", "walkthrough"):
            for value in ("", "x", "xylo", "quark", "sec", "int", "d", "plan"):
                reference = {"type": "ref/prompt", "name": prompt}
                requests.append(
                    (
                        "completion/complete",
                        {"ref": reference, "argument": {"name": argument, "value": value}},
                    )
                )
    for value in ("", "mer", "sal", "secret-plans/m"):
        reference = {"type": "ref/resource", "uri": "doc:///{+path}"}
        requests.append(
            ("completion/complete", {"ref": reference, "argument": {"name": "path", "value": value}})
        )
    for method, params in requests:
        answers = [sender.request(version, method, params) for sender in worlds]
        assert answers[0] == answers[1], (method, params)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
@pytest.mark.parametrize("caller", [None, "staff"])
def test_other_servers_are_like_servers_that_never_existed(
    worlds: tuple[Sender, Sender], version: Version, caller: str | None
) -> None:
    with_secrets = worlds[0]
    unknown = with_secrets.request(version, "tools/list", {}, path=UNKNOWN_PATH, caller=caller)
    assert unknown.status == (401 if caller is None else 404)
    for path in (FOREIGN_PATH, INTERNAL_PATH, "/o/globex/plans/mcp", "/o/acme/never/mcp"):
        for sender in worlds:
            for http_method in ("GET", "POST", "DELETE", "OPTIONS", "HEAD"):
                answers = [
                    sender.send(http_method, each, caller=caller, headers={"Accept": "application/json"})
                    for each in (path, UNKNOWN_PATH)
                ]
                assert answers[0] == replace_path(answers[1], UNKNOWN_PATH, path), (http_method, path)
        answer = with_secrets.request(version, "tools/list", {}, path=path, caller=caller)
        assert answer == replace_path(unknown, UNKNOWN_PATH, path)


def replace_path(answer: Answer, old: str, new: str) -> Answer:
    """Return an answer with another path, such as that of the metadata in a challenge."""
    headers = tuple((name, value.replace(old, new)) for name, value in answer.headers)
    return Answer(answer.status, headers, answer.body.replace(old, new))


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_cursors_and_handles_of_others_are_like_forged_ones(
    worlds: tuple[Sender, Sender], version: Version
) -> None:
    sender = worlds[0]
    foreign = {"caller": "globex", "path": FOREIGN_PATH}
    search = {"query": "secret xylophone merger", "namespace": "docs", "max_results": 1}
    page = sender.call(version, "search_documentation", search, **foreign)
    listed = sender.call(version, "list_walkthroughs", {"namespace": "docs"}, **foreign)
    walkthrough = listed["walkthroughs"][0]["id"]
    started = sender.call(version, "start_walkthrough", {"walkthrough": walkthrough}, **foreign)
    answers = [
        sender.request(version, "tools/call", {"name": "get_next_step", "arguments": {"handle": handle}})
        for handle in (started["handle"], "A" * len(started["handle"]))
    ]
    data = [json.loads(answer.body)["result"]["structuredContent"] for answer in answers]
    assert {item["code"] for item in data} == {"INVALID_HANDLE"}
    params = {"name": "search_documentation", "arguments": {**search, "cursor": page["next_cursor"]}}
    answer = sender.request(version, "tools/call", params)
    assert json.loads(answer.body)["result"]["structuredContent"]["code"] == "INVALID_CURSOR"


PAGES = (
    *("/", "/login", "/admin", "/admin/", "/records", "/records/", "/healthz", "/readyz", "/metrics", "/mcp"),
    *(
        "/o/globex",
        "/o/globex/docs",
        "/o/acme",
        "/admin/organizations/globex",
        "/admin/globex",
        "/records/globex",
    ),
    *("/records?organization=globex", "/admin?organization=globex", "/o/globex/docs/mcp?max_tokens=200"),
    *("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/o/globex/docs/mcp"),
    *("/search?q=xylophone", "/merger.md", "/static/base.css", "/tasks", "/proposals", "/events"),
)


@pytest.mark.parametrize("caller", [None, "staff"])
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_pages_and_metrics_do_not_depend_on_secrets(
    worlds: tuple[Sender, Sender], caller: str | None, accept: str
) -> None:
    for path in PAGES:
        for http_method in ("GET", "POST"):
            answers = [
                sender.send(http_method, path, caller=caller, headers={"Accept": accept}) for sender in worlds
            ]
            assert answers[0] == answers[1], (http_method, path)
            for word in ("globex", "internal", "xylophone", "quarkonium"):
                assert word not in answers[0].body.replace(path, "").lower() or path in answers[0].body


def test_host_of_a_server_finds_it(worlds: tuple[Sender, Sender]) -> None:
    version = VERSIONS[0]
    by_host = [sender.request(version, "tools/list", {}, path="/mcp", host=ACME_HOST) for sender in worlds]
    assert by_host[0] == by_host[1]
    assert by_host[0].body == worlds[0].request(version, "tools/list", {}).body
    foreign = worlds[0].request(version, "tools/list", {}, path="/mcp", host=GLOBEX_HOST)
    assert foreign.status == 404
