"""Merges that lack a decision: the client asks its user to open the page, and a person decides there."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    TextContent,
)

from docyard.mcp_server.input import MAX_LINE_BYTES
from tests import fork_server
from tests.acceptance.clients import connect_over_http, wait_until
from tests.acceptance.http_server import TIMEOUT_S, HttpServer, serve_over_http
from tests.acceptance.server import build_user_environment
from tests.repositories import Repo, create_bare_repository, create_repository
from tests.stdio_client import (
    HANDSHAKE,
    REQUEST_META,
    ProtocolMode,
    RawClient,
    connect,
    encode_call,
    encode_line,
)
from workspace.policy.tokens import Tokens
from workspace.workspace import Workspace

pytestmark = pytest.mark.anyio

FILES = {
    "docyard.toml": '[[protect]]\npaths = ["specs/**"]\napprovals = 1\nchecks = []\n',
    "specs/api.md": "# API\n\n## Calls\n\nSome calls.\n\n## Errors\n\nSome errors.\n",
    "free.md": "# Free\n\nText.\n",
}
TITLE = "Count the calls"
TOOLSETS = "documents,tasks,search,proposals"
SHORT_DECISION_SERVER = str(Path(__file__).with_name("short_decision_server.py"))
Action = Literal["accept", "decline", "cancel"]
Elicit = Callable[[Any, ElicitRequestParams], Awaitable[ElicitResult | ErrorData]]
ACCEPTED = {"action": "accept"}


class PageUser:
    """A person who is signed in at the pages with a token, and sends their forms."""

    def __init__(self, base_url: str, token: str) -> None:
        self._http = httpx2.Client(base_url=base_url, timeout=TIMEOUT_S)
        assert self._http.post("/login", data={"token": token, "after": "/"}).status_code == 303

    def decide(self, url: str, *actions: str, text: str = "") -> None:
        """Open the page of a proposal, and send the form of each action for the commit that it shows."""
        for action in actions:
            page = self._http.get(url)
            assert page.status_code == 200, page.text
            response = self._http.post(
                f"{url}/{action}",
                data={
                    **{
                        name: page.text.partition(f'name="{name}" value="')[2].partition('"')[0]
                        for name in ("csrf", "key", "commit")
                    },
                    "text": text,
                },
            )
            assert response.status_code == 303, response.text


class Setup:
    """A repository, the server of its pages, and two people with tokens."""

    def __init__(self, repo: Repo, pages: HttpServer, home: Path) -> None:
        self.repo, self.pages, self.home = repo, pages, home
        self.workspace = Workspace.open(repo.path, durable=False)
        tokens = Tokens(self.workspace.git.common_dir)
        self.secrets = {
            name: tokens.add(name, name.title(), f"{name}@example.org") for name in ("ana", "ben", "cyd")
        }
        self.ana = PageUser(pages.base_url, self.secrets["ana"])

    @asynccontextmanager
    async def connect(
        self,
        elicit: Elicit | None,
        protocol: ProtocolMode = "auto",
        *,
        script: str = "",
        has_pages: bool = True,
    ) -> AsyncIterator[Client]:
        """Start a server over standard input and output, and connect to it."""
        options = ["--page-url", self.pages.base_url] if has_pages else []
        program = [script] if script else ["-m", "docyard"]
        command = [*fork_server.build_python_command(), *program, "serve", "-C", str(self.repo.path)]
        command += ["--no-fsync", "--toolsets", TOOLSETS, *options]
        variables = build_user_environment(self.home)
        async with connect(command, protocol, variables=variables, elicit=elicit) as client:
            yield client

    def find_state(self, id: str) -> str:
        """Return the state of a proposal, as Git stores it."""
        return self.workspace.proposal_actions().find(id).state.value

    def count_approvals(self, id: str) -> int:
        """Return the number of valid approvals of a proposal."""
        return len(self.workspace.proposal_actions().find(id).approvals)

    def count_merges(self) -> int:
        """Return the number of merge commits of the branch."""
        return int(self.repo.git("rev-list", "--merges", "--count", "main"))


@pytest.fixture(params=["checked out", "bare"])
def setup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Setup]:
    create = create_repository if request.param == "checked out" else create_bare_repository
    repo = create(tmp_path / "docs", FILES)
    with serve_over_http(tmp_path / "home", "-C", repo.path, "--no-fsync", "--toolsets", TOOLSETS) as pages:
        yield Setup(repo, pages, tmp_path / "home")
        assert "Traceback" not in pages.read_log()
    assert repo.fsck() == ""
    if request.param == "checked out":
        assert repo.status() == ""
    git_folder = repo.path / ".git" if request.param == "checked out" else repo.path
    assert not [*git_folder.glob("*.lock"), *(git_folder / "refs").rglob("*.lock")]


only_checked_out = pytest.mark.parametrize("setup", ["checked out"], indirect=True)


async def call(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    with anyio.fail_after(TIMEOUT_S):
        return await client.call_tool(tool, arguments)


def get_data(result: CallToolResult) -> Mapping[str, Any]:
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def get_text(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    assert json.loads(block.text) == result.structured_content
    return block.text


async def open_proposal(client: Client, title: str = TITLE, new: str = "Ten calls.") -> str:
    """Open a proposal with one edit of a protected document, and submit it; return its id."""
    id = get_data(await call(client, "create_proposal", title=title, description="Counted."))["proposal"]
    await edit(client, id, "Some calls.", new)
    await call(client, "update_proposal", proposal=id, action="submit")
    assert isinstance(id, str)
    return id


async def edit(client: Client, id: str, old: str, new: str) -> None:
    fields = {"file": "specs/api.md", "operation": "replace_text", "old": old, "new": new}
    assert not (await call(client, "edit_document", proposal=id, **fields)).is_error


def merge(client: Client, id: str, **arguments: Any) -> Awaitable[CallToolResult]:
    return call(client, "update_proposal", proposal=id, action="merge", **arguments)


class User:
    """The user of a client: records each request, then runs `decide` in a thread and returns an action."""

    def __init__(
        self,
        decide: Callable[[str], object] = lambda url: None,
        action: Action = "accept",
    ) -> None:
        self.requests: list[ElicitRequestURLParams] = []
        self._decide, self._action = decide, action

    async def __call__(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        self.requests.append(params)
        await anyio.to_thread.run_sync(self._decide, params.url)
        return ElicitResult(action=self._action)


async def test_merge_on_page_completes_call(setup: Setup, protocol: ProtocolMode) -> None:
    user = User(lambda url: setup.ana.decide(url, "approve", "merge"))
    async with setup.connect(user, protocol) as client:
        id = await open_proposal(client, "Count\u202e the calls")
        result = await merge(client, id)
        assert not result.is_error
        assert get_data(result) | {"state": "merged", "action": "merge"} == get_data(result)
        [request] = user.requests
        assert request.url == f"{setup.pages.base_url}/proposals/{id}"
        assert request.message == (
            f'The proposal {id}, "Count\\u202e the calls", is not merged yet: specs/api.md needs 1 approval '
            "of the proposal as it is now, and has 0; specs/api.md is protected, so a person must merge "
            "this, by a token. Open its page, sign in with your own token, read its changes, and approve it "
            "and merge it there."
        )
        assert "Ten calls." in setup.repo.git("show", "main:specs/api.md")
        assert setup.repo.git("log", "-1", "--format=%ae", "main") == "ana@example.org\n"
        assert setup.count_merges() == 1
        assert get_data(await merge(client, id))["changed"] is False  # a retry merges nothing again
    assert setup.count_merges() == len(user.requests) == 1


@only_checked_out
async def test_page_without_session_requires_sign_in(setup: Setup) -> None:
    statuses: list[int] = []
    user = User(lambda url: statuses.append(httpx2.get(url).status_code), "decline")
    async with setup.connect(user) as client:
        await merge(client, await open_proposal(client))
    assert statuses == [401]


async def test_approval_on_page_lets_person_of_call_merge(setup: Setup) -> None:
    user = User(lambda url: setup.ana.decide(url, "approve"))
    async with connect_over_http(setup.pages, "auto", setup.secrets["ben"], elicit=user) as ben:
        async with setup.connect(None) as agent:
            id = await open_proposal(agent)
        data = get_data(await merge(ben, id, idempotency_key="merge-once"))
        assert (data["state"], data["changed"]) == ("merged", True)
        data = get_data(await merge(ben, id, idempotency_key="merge-once"))
        assert (data["state"], data["changed"]) == ("merged", False)
    assert setup.repo.git("log", "-1", "--format=%ae", "main") == "ben@example.org\n"
    assert "and approve it there." in user.requests[0].message
    assert setup.count_merges() == len(user.requests) == 1


@only_checked_out
async def test_clients_without_requests_or_pages_get_same_refusal(
    setup: Setup, protocol: ProtocolMode
) -> None:
    user = User()
    refusals: list[dict[str, Any]] = []
    async with setup.connect(None, has_pages=False) as agent:
        id = await open_proposal(agent)
    for elicit, has_pages in ((None, False), (user, False), (None, True)):
        async with setup.connect(elicit, protocol, has_pages=has_pages) as client:
            refusals.append(dict(get_data(await merge(client, id))))
    async with connect_over_http(setup.pages, "legacy", elicit=user) as client:
        refusals.append(dict(get_data(await merge(client, id))))
    url = f"{setup.pages.base_url}/proposals/{id}"
    for refusal in refusals[2:]:  # of a server with pages
        assert refusal.pop("url") == url
        refusal["fix"] = refusal["fix"].removesuffix(f" The proposal's page is {url}")
    assert all(refusal == refusals[0] for refusal in refusals)
    assert "NEEDS_APPROVAL" in str(refusals[0])
    assert user.requests == []


@only_checked_out
@pytest.mark.guarantee
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_user_who_does_not_accept_gets_refusal_with_hint(setup: Setup, action: Action) -> None:
    """Approve the proposal, but do not accept: nothing is merged, although its requirements are met."""
    user = User(lambda url: setup.ana.decide(url, "approve"), action)
    async with setup.connect(None, has_pages=False) as agent:
        id = await open_proposal(agent)
    async with connect_over_http(setup.pages, "auto", setup.secrets["ben"]) as ben:
        refusal = get_data(await merge(ben, id))
    async with connect_over_http(setup.pages, "auto", setup.secrets["ben"], elicit=user) as ben:
        result = await merge(ben, id)
    assert result.is_error
    hint = {"decline": "the user declined to open ", "cancel": "the user closed the request to open "}[action]
    assert get_data(result) == {**refusal, "hints": [hint + user.requests[0].url]}
    assert json.loads(get_text(result)) == get_data(result)
    assert setup.count_merges() == 0
    assert setup.find_state(id) == "approved"


@only_checked_out
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_user_may_refuse_in_each_protocol_version(
    setup: Setup, protocol: ProtocolMode, action: Action
) -> None:
    user = User(action=action)
    async with setup.connect(user, protocol) as client:
        result = await merge(client, await open_proposal(client))
    assert result.is_error
    assert user.requests[0].url in get_data(result)["hints"][0]


@pytest.mark.guarantee
async def test_acceptance_is_no_approval(setup: Setup, protocol: ProtocolMode) -> None:
    async with setup.connect(User(), protocol, script=SHORT_DECISION_SERVER) as client:
        id = await open_proposal(client)
        reports: list[float] = []

        async def record_progress(progress: float, total: float | None, message: str | None) -> None:
            assert message is not None
            assert setup.pages.base_url in message
            reports.append(progress)

        arguments = {"proposal": id, "action": "merge"}
        start_time = anyio.current_time()
        result = await client.call_tool("update_proposal", arguments, progress_callback=record_progress)
        assert anyio.current_time() - start_time >= 3
    data = get_data(result)
    assert data["code"] == "MERGE_BLOCKED"
    assert "no decision was made within 3 seconds" in data["hints"][0]
    assert reports == sorted(set(reports))
    assert len(reports) >= 2
    assert setup.count_merges() == 0
    assert setup.find_state(id) == "open"


@only_checked_out
@pytest.mark.guarantee
async def test_proposal_that_changes_meanwhile_is_not_merged(setup: Setup) -> None:
    async with setup.connect(None) as agent:
        id = await open_proposal(agent)

        async def change_and_approve(context: Any, params: ElicitRequestParams) -> ElicitResult:
            await edit(agent, id, "Some errors.", "No errors.")
            assert isinstance(params, ElicitRequestURLParams)
            await anyio.to_thread.run_sync(lambda: approve(setup, id))
            return ElicitResult(action="accept")

        async with connect_over_http(
            setup.pages, "auto", setup.secrets["ben"], elicit=change_and_approve
        ) as ben:
            assert get_data(await merge(ben, id))["code"] == "PROPOSAL_MOVED"
        assert setup.count_merges() == 0
        assert setup.find_state(id) == "approved"


@only_checked_out
async def test_proposal_that_changes_while_call_waits_is_not_merged(
    setup: Setup, protocol: ProtocolMode
) -> None:
    id = await open_proposal_and_disconnect(setup)
    client = start_waiting_merge(setup, id, protocol)
    async with setup.connect(None) as agent:
        await edit(agent, id, "Some errors.", "No errors.")
    assert client.receive()["result"]["structuredContent"]["code"] == "PROPOSAL_MOVED"
    client.close()
    assert setup.count_merges() == 0


@only_checked_out
async def test_requested_changes_end_waiting(setup: Setup, protocol: ProtocolMode) -> None:
    user = User(lambda url: setup.ana.decide(url, "request-changes", text="Count again."))
    async with setup.connect(user, protocol) as client:
        data = get_data(await merge(client, await open_proposal(client)))
    assert data["blocks"][0]["code"] == "CHANGES_REQUESTED"
    assert setup.count_merges() == 0


@only_checked_out
async def test_no_request_is_sent_if_something_else_blocks_merge(setup: Setup) -> None:
    user = User()
    async with setup.connect(user) as client:
        requested_id = await open_proposal(client)
        setup.ana.decide(f"{setup.pages.base_url}/proposals/{requested_id}", "request-changes", text="No.")
        requested = get_data(await merge(client, requested_id))
        assert requested["code"] == "MERGE_BLOCKED"
        conflicting_id = await open_proposal(client, new="Twelve calls.")
        setup.repo.commit({"specs/api.md": FILES["specs/api.md"].replace("Some calls", "No calls")})
        assert get_data(await merge(client, conflicting_id))["code"] == "MERGE_CONFLICT"
        free_id = get_data(
            await call(client, "create_proposal", title="Free", description="Needs no approval.")
        )["proposal"]
        fields = {"file": "free.md", "operation": "replace_text", "old": "Text.", "new": "More text."}
        await call(client, "edit_document", proposal=free_id, **fields)
        assert get_data(await merge(client, free_id))["changed"] is True
        for arguments in ({"proposal": "none"}, {"proposal": conflicting_id, "commit": "0" * 40}):
            assert (await call(client, "update_proposal", action="merge", **arguments)).is_error
    assert user.requests == []


@only_checked_out
async def test_call_waits_for_each_missing_approval(setup: Setup) -> None:
    setup.repo.commit({"docyard.toml": FILES["docyard.toml"].replace("approvals = 1", "approvals = 2")})
    user = User(lambda url: setup.ana.decide(url, "approve"))
    results: list[CallToolResult] = []
    async with connect_over_http(setup.pages, "auto", setup.secrets["ben"], elicit=user) as ben:
        id = await open_proposal_and_disconnect(setup)

        async def merge_and_record() -> None:
            results.append(await merge(ben, id))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(merge_and_record)
            with anyio.fail_after(TIMEOUT_S):
                while not setup.count_approvals(id):
                    await anyio.sleep(0.05)
            await anyio.sleep(2)
            assert results == []
            cyd = PageUser(setup.pages.base_url, setup.secrets["cyd"])
            await anyio.to_thread.run_sync(lambda: cyd.decide(user.requests[0].url, "approve"))
    assert get_data(results[0])["changed"] is True
    assert setup.count_merges() == len(user.requests) == 1


@only_checked_out
async def test_revoked_token_of_waiting_call_does_not_merge(setup: Setup) -> None:
    user, results = User(), list[CallToolResult]()
    id = await open_proposal_and_disconnect(setup)
    async with connect_over_http(setup.pages, "auto", setup.secrets["ben"], elicit=user) as ben:

        async def merge_and_record() -> None:
            results.append(await merge(ben, id))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(merge_and_record)
            while not user.requests:
                await anyio.sleep(0.05)
            await anyio.sleep(2)
            Tokens(setup.workspace.git.common_dir).revoke("ben")
            await anyio.to_thread.run_sync(lambda: approve(setup, id))
    assert get_data(results[0])["code"] == "NEEDS_PERSON"
    assert get_data(results[0])["url"] == user.requests[0].url
    assert setup.count_merges() == 0


@only_checked_out
@pytest.mark.parametrize("protocol", ["legacy"])
async def test_client_that_fails_to_show_page_gets_refusal(setup: Setup, protocol: ProtocolMode) -> None:
    async def fail(context: Any, params: ElicitRequestParams) -> ErrorData:
        return ErrorData(code=INTERNAL_ERROR, message="no screen")

    async with setup.connect(fail, protocol) as client:
        result = await merge(client, await open_proposal(client))
    assert result.is_error
    assert "the client could not ask the user" in get_data(result)["hints"][0]


@only_checked_out
@pytest.mark.parametrize("response", [{"action": "approve"}, {"action": 1}, {}, {"roots": []}])
async def test_invalid_response_merges_nothing(
    setup: Setup, protocol: ProtocolMode, response: dict[str, Any]
) -> None:
    id = await open_proposal_and_disconnect(setup)
    approve(setup, id)
    client = start_waiting_merge(setup, id, protocol, response)
    message = client.receive()
    if protocol == "legacy":
        assert "the client could not ask" in message["result"]["structuredContent"]["hints"][0]
    elif response == {"roots": []}:
        assert message["result"]["resultType"] == "input_required"
    else:
        assert message["error"]["code"] == INVALID_PARAMS
    client.close()
    assert setup.count_merges() == 0


@only_checked_out
async def test_two_merges_at_once_merge_once(setup: Setup) -> None:
    user = User(lambda url: setup.ana.decide(url, "approve"))
    changed: list[bool] = []
    async with (
        setup.connect(None) as agent,
        connect_over_http(setup.pages, "auto", setup.secrets["ben"], elicit=user) as ben,
        connect_over_http(setup.pages, "auto", setup.secrets["ben"], elicit=user) as other_ben,
    ):
        id = await open_proposal(agent)

        async def merge_and_record(client: Client) -> None:
            changed.append(get_data(await merge(client, id))["changed"])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(merge_and_record, ben)
            tasks.start_soon(merge_and_record, other_ben)
    assert sorted(changed) == [False, True]
    assert setup.count_merges() == 1


@only_checked_out
async def test_sixteen_waiting_merges_do_not_delay_other_calls(setup: Setup, protocol: ProtocolMode) -> None:
    request_count, release_event = 0, anyio.Event()
    results: list[CallToolResult] = []

    async def wait_for_release(context: Any, params: ElicitRequestParams) -> ElicitResult:
        nonlocal request_count
        request_count += 1
        if protocol == "legacy":
            await release_event.wait()
        return ElicitResult(action="accept")

    async with setup.connect(wait_for_release, protocol) as client, anyio.create_task_group() as tasks:
        id = await open_proposal(client)

        async def merge_and_record() -> None:
            results.append(await merge(client, id))

        for _ in range(16):
            tasks.start_soon(merge_and_record)
        with anyio.fail_after(TIMEOUT_S):
            while request_count < 16:
                await anyio.sleep(0.01)
            await anyio.sleep(1.5)  # every repeated call waits
        start_time = anyio.current_time()
        for _ in range(20):
            assert not (await call(client, "search_docs", query="errors")).is_error
        assert anyio.current_time() - start_time < 10
        assert "16 merges wait for a decision already" in get_data(await merge(client, id))["hints"][0]
        assert results == []
        await anyio.to_thread.run_sync(
            lambda: setup.ana.decide(f"{setup.pages.base_url}/proposals/{id}", "approve", "merge")
        )
        release_event.set()
    assert [get_data(result)["state"] for result in results] == ["merged"] * 16
    assert setup.count_merges() == 1


@pytest.mark.guarantee
async def test_state_of_repeated_call_is_verified(setup: Setup) -> None:
    """Repeat the call with a changed state, other arguments, no response, and another kind of response."""
    async with setup.connect(User()) as client:
        id = await open_proposal(client)
        arguments = {"proposal": id, "action": "merge"}

        async def send(arguments: dict[str, Any], state: str | None, action: Action | None = None) -> object:
            return await client.session.call_tool(
                "update_proposal",
                arguments,
                request_state=state,
                input_responses={"review_page": ElicitResult(action=action)} if action else None,
                allow_input_required=True,
            )

        first = await send(arguments, None)
        assert isinstance(first, InputRequiredResult)
        state = first.request_state
        assert state is not None
        assert "specs" not in state
        assert isinstance(await send(arguments, state), InputRequiredResult)  # without a response
        assert isinstance(await send(arguments, None, "accept"), InputRequiredResult)  # never asked
        declined = await send(arguments, state, "decline")
        assert isinstance(declined, CallToolResult)
        assert declined.is_error
        for changed_arguments, changed_state in (
            (arguments, state[:-2] + ("AA" if state[-2:] != "AA" else "BB")),
            ({**arguments, "commit": "0" * 40}, state),
            (arguments, json.dumps({"proposal": id, "arguments": arguments, "message": "", "data": {}})),
        ):
            with pytest.raises(MCPError, match="requestState"):
                await send(changed_arguments, changed_state, "accept")
    assert setup.count_merges() == 0


def build_raw_command(setup: Setup) -> list[str]:
    command = [*fork_server.build_python_command(), "-m", "docyard", "serve", "-C", str(setup.repo.path)]
    return [*command, "--no-fsync", "--toolsets", TOOLSETS, "--page-url", setup.pages.base_url]


def start_waiting_merge(
    setup: Setup, id: str, protocol: ProtocolMode, response: Mapping[str, Any] = ACCEPTED
) -> RawClient:
    """Start a server and a merge, and respond to its request; return the client, which waits."""
    capabilities = {"elicitation": {"url": {}}}
    client = RawClient(build_raw_command(setup), build_user_environment(setup.home), handshake=False)
    arguments = {"proposal": id, "action": "merge"}
    if protocol == "legacy":
        initialize = json.loads(HANDSHAKE[0])
        initialize["params"]["capabilities"] = capabilities
        client.exchange(initialize)
        client.write(HANDSHAKE[1] + encode_call(1, "update_proposal", arguments))
        request = client.receive()
        assert request["method"] == "elicitation/create"
        assert request["params"]["mode"] == "url"
        client.write(encode_line({"id": request["id"], "result": response}))
        time.sleep(1)
        return client
    meta = {**REQUEST_META, "io.modelcontextprotocol/clientCapabilities": capabilities}
    params = {"name": "update_proposal", "arguments": arguments, "_meta": meta}
    result = client.request(1, "tools/call", **params)["result"]
    assert result["resultType"] == "input_required"
    [request] = result["inputRequests"].values()
    assert set(request["params"]) == {"mode", "message", "url"}
    responses = dict.fromkeys(result["inputRequests"], response)
    params |= {"requestState": result["requestState"], "inputResponses": responses}
    client.write(encode_line({"id": 1, "method": "tools/call", "params": params}))
    time.sleep(1)
    return client


@only_checked_out
async def test_response_behind_many_and_large_requests_arrives(setup: Setup) -> None:
    """Send requests beyond both limits of unanswered requests, and then the responses of the user."""
    id = await open_proposal_and_disconnect(setup)
    client = RawClient(build_raw_command(setup), build_user_environment(setup.home), handshake=False)
    initialize = json.loads(HANDSHAKE[0])
    initialize["params"]["capabilities"] = {"elicitation": {"url": {}}}
    client.exchange(initialize)
    padding = b" " * (MAX_LINE_BYTES * 2 // 3)
    merges = [
        encode_call(number, "update_proposal", {"proposal": id, "action": "merge"}) for number in range(16)
    ]
    client.write(HANDSHAKE[1] + padding + b"".join(merges))
    requests = [client.receive() for _ in merges]
    searches = [encode_call(number, "search_docs", {"query": "calls"}) for number in range(100, 150)]
    client.write(padding + b"".join(searches))
    client.write(
        b"".join(encode_line({"id": request["id"], "result": {"action": "decline"}}) for request in requests)
    )
    results = {message["id"]: message["result"] for message in (client.receive() for _ in range(66))}
    assert results.keys() == {*range(16), *range(100, 150)}
    assert not any(results[number]["isError"] for number in range(100, 150))
    assert all("declined" in results[number]["structuredContent"]["hints"][0] for number in range(16))
    assert client.close() == ""


def approve(setup: Setup, id: str) -> None:
    setup.ana.decide(f"{setup.pages.base_url}/proposals/{id}", "approve")


async def open_proposal_and_disconnect(setup: Setup) -> str:
    async with setup.connect(None) as agent:
        return await open_proposal(agent)


async def test_closed_client_ends_waiting(setup: Setup, protocol: ProtocolMode) -> None:
    id = await open_proposal_and_disconnect(setup)
    client = start_waiting_merge(setup, id, protocol)
    client.close_input()
    [response] = client.receive_all()
    assert "the connection ended before" in response["result"]["structuredContent"]["hints"][0]
    assert client.wait_for_exit() == (0, "")
    approve(setup, id)
    assert (setup.find_state(id), setup.count_merges()) == ("approved", 0)


@only_checked_out
async def test_terminated_server_ends_waiting(setup: Setup, protocol: ProtocolMode) -> None:
    id = await open_proposal_and_disconnect(setup)
    client = start_waiting_merge(setup, id, protocol)
    client.process.terminate()
    [response] = client.receive_all()
    assert "the connection ended before" in response["result"]["structuredContent"]["hints"][0]
    assert client.wait_for_exit()[0] == 0
    approve(setup, id)
    assert setup.count_merges() == 0


@pytest.mark.parametrize("killed", ["client", "server"])
async def test_killed_process_leaves_nothing_behind(
    setup: Setup, protocol: ProtocolMode, killed: str
) -> None:
    id = await open_proposal_and_disconnect(setup)
    client = start_waiting_merge(setup, id, protocol)
    if killed == "server":
        client.process.kill()
    else:  # the system closes the pipes of a killed client
        client.close_output()
        client.close_input()
    client.wait_for_exit()
    approve(setup, id)
    assert (setup.find_state(id), setup.count_merges()) == ("approved", 0)


@only_checked_out
async def test_cancelled_call_does_not_merge_later(setup: Setup, protocol: ProtocolMode) -> None:
    id = await open_proposal_and_disconnect(setup)
    client = start_waiting_merge(setup, id, protocol)
    client.notify("notifications/cancelled", requestId=1)
    setup.ana.decide(f"{setup.pages.base_url}/proposals/{id}", "approve")
    await anyio.sleep(2)
    assert client.close() == ""
    assert setup.count_merges() == 0


@only_checked_out
@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
async def test_http_client_that_disconnects_does_not_merge_later(setup: Setup, accept: str) -> None:
    id = await open_proposal_and_disconnect(setup)
    headers = {
        "Authorization": f"Bearer {setup.secrets['ben']}",
        "Accept": accept,
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "update_proposal",
    }
    meta = {**REQUEST_META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}
    params: dict[str, Any] = {
        "name": "update_proposal",
        "arguments": {"proposal": id, "action": "merge"},
        "_meta": meta,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    url = f"{setup.pages.base_url}/mcp"
    response = httpx2.post(url, json=message, headers=headers, timeout=TIMEOUT_S)
    result = response.json()["result"]
    assert result["resultType"] == "input_required"
    responses = {name: {"action": "accept"} for name in result["inputRequests"]}
    params |= {"requestState": result["requestState"], "inputResponses": responses}
    headers_of_ana = {**headers, "Authorization": f"Bearer {setup.secrets['ana']}"}
    stolen = httpx2.post(url, json=message, headers=headers_of_ana, timeout=TIMEOUT_S).json()
    assert stolen["error"]["data"] == {"reason": "invalid_request_state"}
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(url, json=message, headers=headers, timeout=2)
    await anyio.sleep(1.5)
    approve(setup, id)
    await anyio.sleep(2)
    assert (setup.find_state(id), setup.count_merges()) == ("approved", 0)


@only_checked_out
async def test_http_server_stops_while_merge_waits(setup: Setup) -> None:
    user = User()
    errors: list[object] = []
    async with setup.connect(None) as agent:
        id = await open_proposal(agent)
    async with connect_over_http(setup.pages, "auto", setup.secrets["ben"], elicit=user) as ben:

        async def merge_until_end() -> None:
            errors.append(get_data(await merge(ben, id))["hints"][0])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(merge_until_end)
            while not user.requests:
                await anyio.sleep(0.01)
            await anyio.sleep(1)
            await anyio.to_thread.run_sync(setup.pages.stop)
    assert "the connection ended before" in str(errors[0])
    wait_until(lambda: setup.pages.process.poll() is not None, "the end of the server")
