"""Limits of calls, searches and writes, by caller, organization and namespace."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from docyard.caller import Caller, Principal
from docyard.limits.addresses import AddressLimit, group_address
from docyard.limits.buckets import Buckets
from docyard.limits.limiter import LimitedServer, Limiter
from docyard.limits.observer import LimitingObserver
from docyard.mcp_server.calls import CallOutcome, ToolCall
from docyard.settings.settings import LimitsSection
from tests.docyard.limits.test_buckets import SECOND_NS, Clock
from tests.loops import loop_over
from tools.documents.edit_document import TOOL as EDIT_TOOL
from tools.records.searches import SearchRecord
from tools.retrieval.search_documentation import TOOL as SEARCH_TOOL
from tools.search.get_doc import TOOL as READ_TOOL
from tools.tool import Answer
from tools.toolsets import all_tools

TOOLS = {tool.name: tool for tool in (EDIT_TOOL, SEARCH_TOOL, READ_TOOL)}
OUTCOME = CallOutcome("ok", 1.0, None, ())
SEARCH = "search_documentation"


class Server:
    """A limited server and its clock, for one organization."""

    def __init__(self, organization: str = "acme", limiter: Limiter | None = None, **limits: int) -> None:
        self.clock = Clock()
        self.limiter = limiter or Limiter(LimitsSection(**limits), Buckets(clock=self.clock))
        self.server = LimitedServer(organization, TOOLS.get, lambda: ("api", "guides"))

    def call(
        self,
        name: str = SEARCH,
        caller: str = "token:1",
        finishes: bool = True,
        found: int = 0,
        **fields: Any,
    ) -> dict[str, Any] | None:
        """Return the refusal of a call; None if it was admitted."""
        principal = Principal(caller, caller)
        call = ToolCall(name, fields, "test", Caller(None, "", True, False, principal))
        refusal = self.limiter.refuse(call, self.server)
        if refusal is not None:
            assert refusal.is_error
            return refusal.data
        if finishes:
            record = SearchRecord("q", "bm25", {}, {}, (), (), 1.0)
            self.limiter.finish(call, OUTCOME._replace(searches=[record] * found), self.server)
        return None

    def count_admitted(self, attempts: int = 50, **fields: Any) -> int:
        """Return the number of calls that are admitted at one time."""
        return sum(self.call(**fields) is None for _ in range(attempts))


def test_refusal_names_the_limit_and_the_seconds_to_wait() -> None:
    server = Server(searches_per_minute=6)
    assert server.count_admitted(query="x") == 6
    refusal = server.call(query="x")
    assert refusal == {
        "error": "the limit of searches is reached (6 per minute for each caller)",
        "code": "RATE_LIMITED",
        "fix": "Wait 10 seconds, then send the call again.",
        "retry_after": 10,
        "limit": "searches_per_minute",
    }
    server.clock.now += 10 * SECOND_NS
    assert server.count_admitted(query="x") == 1


def test_only_searches_and_writes_are_charged_to_their_limits() -> None:
    server = Server(searches_per_minute=1, writes_per_minute=2)
    assert server.count_admitted(name="get_doc", chunk_id="a") == 50
    assert server.count_admitted(name="edit_document") == 2
    assert server.count_admitted(name="unknown") == 50
    assert server.count_admitted() == 1


def test_tools_that_search_are_marked() -> None:
    assert {tool.name for tool in all_tools() if tool.searches} >= {"search_docs", "search_documents"}
    assert not [tool.name for tool in all_tools() if tool.searches and tool.writes]


@loop_over(
    "fields, count",
    [
        ({"operations": [{"query": "a"}, {"query": "b"}]}, 2),
        ({"operations": json.dumps([{"query": "a"}] * 5)}, 5),
        ({"operations": [{"query": "a"}], "query": "b"}, 2),
        ({"operations": []}, 1),
        ({"operations": "not json"}, 1),
        ({"query": "a"}, 1),
    ],
)
def test_each_question_of_a_batch_is_charged(fields: dict[str, Any], count: int) -> None:
    server = Server(searches_per_minute=20)
    assert server.count_admitted(**fields) == 20 // count


def test_searches_that_arguments_did_not_show_are_charged_afterwards() -> None:
    server = Server(searches_per_minute=20)
    assert server.count_admitted(found=10, query="a") == 2


def test_callers_do_not_share_limits_but_organizations_do() -> None:
    server = Server(searches_per_minute=3, organization_searches_per_minute=5)
    other = Server("other", limiter=server.limiter)
    assert server.count_admitted(caller="token:1") == 3
    assert server.count_admitted(caller="token:2") == 2
    refusal = server.call(caller="token:3")
    assert refusal is not None
    assert refusal["limit"] == "organization_searches_per_minute"
    assert other.count_admitted(caller="token:3") == 3


def test_namespace_limit_counts_each_searched_namespace() -> None:
    server = Server(namespace_searches_per_minute=4)
    assert server.count_admitted(attempts=3, namespace="*") == 3
    assert server.count_admitted(namespace="api") == 1
    assert server.count_admitted(operations=[{"query": "a", "namespace": "guides"}]) == 1
    assert server.call(namespace="*") is not None
    assert server.count_admitted(namespace="never-existed") == 50


def test_refused_call_takes_no_tokens_of_other_limits() -> None:
    server = Server(calls_per_minute=10, namespace_searches_per_minute=1)
    assert server.count_admitted(namespace="api") == 1
    assert server.count_admitted(name="get_doc") == 9


def test_calls_in_flight_are_limited_by_caller_and_organization() -> None:
    server = Server(calls_in_flight=2, organization_calls_in_flight=3)
    assert server.count_admitted(finishes=False, caller="token:1") == 2
    refusal = server.call(caller="token:1")
    assert refusal is not None
    assert (refusal["limit"], refusal["retry_after"]) == ("caller_calls_in_flight", 1)
    assert server.count_admitted(finishes=False, caller="token:2") == 1
    server.limiter.finish(
        ToolCall(SEARCH, {}, "", Caller(None, "", True, False, Principal("token:1", ""))),
        OUTCOME,
        server.server,
    )
    assert server.count_admitted(finishes=False, caller="token:1") == 1


def test_call_that_a_rate_refuses_is_not_in_flight() -> None:
    server = Server(calls_in_flight=1, calls_per_minute=1)
    assert server.count_admitted() == 1
    server.clock.now += 60 * SECOND_NS
    assert server.count_admitted() == 1


def test_observers_see_refused_and_finished_calls() -> None:
    seen: list[str] = []

    def fail(call: ToolCall, outcome: CallOutcome) -> None:
        raise KeyError("broken")

    broken: Any = SimpleNamespace(observe=fail)
    recorder: Any = SimpleNamespace(observe=lambda call, outcome: seen.append(outcome.code))
    limiter = Limiter(LimitsSection(calls_per_minute=1))
    observer = LimitingObserver(limiter, LimitedServer("acme", TOOLS.get), [broken, recorder])
    call = ToolCall(SEARCH, {}, "", None)
    assert observer.refuse(call) is None
    observer.observe(call, OUTCOME)
    assert observer.refuse(call) is not None
    assert seen == ["ok", "RATE_LIMITED"]


def test_name_of_an_unknown_tool_is_not_recorded_when_it_is_refused() -> None:
    seen: list[str] = []

    class Recorder:
        def refuse(self, call: ToolCall) -> Answer | None:
            return None

        def observe(self, call: ToolCall, outcome: CallOutcome) -> None:
            seen.append(call.name)

    limiter = Limiter(LimitsSection(calls_per_minute=1))
    observer = LimitingObserver(limiter, LimitedServer("acme", TOOLS.get), [Recorder()])
    for name in (SEARCH, "my password", SEARCH):
        observer.refuse(ToolCall(name, {}, "", None))
    assert seen == ["unknown", SEARCH]


def test_organization_limit_below_the_limit_of_a_caller_is_refused() -> None:
    with pytest.raises(ValueError, match="organization_searches_per_minute"):
        LimitsSection(searches_per_minute=10, organization_searches_per_minute=5)


def test_addresses_of_one_ipv6_network_share_a_limit() -> None:
    clock = Clock()
    limit = AddressLimit(2, Buckets(clock=clock))
    assert limit.refuse("2001:db8::1") is None
    assert limit.refuse("2001:db8::2") is None
    assert limit.refuse("2001:db8::3") == 30
    assert limit.refuse("2001:db8:0:1::3") is None
    assert limit.refuse("192.0.2.1") is None
    assert group_address("::ffff:192.0.2.1") == "192.0.2.1"
    assert group_address("unix") == "unix"
