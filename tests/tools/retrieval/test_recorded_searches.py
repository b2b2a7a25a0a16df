"""The records of searches: one for each question, with its namespaces, counts and words."""

from __future__ import annotations

from collections.abc import Callable

from index.sources.sources import Sources
from tests.documentation_sources import TWO_SOURCES
from tests.repositories import Repo
from tests.tools.retrieval.conftest import WALKTHROUGH, CallSources
from tools.records.searches import record_searches
from tools.retrieval.dispatcher import SourcesDispatcher


def test_question_in_one_namespace_is_recorded(
    call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    with record_searches() as searches:
        call_sources("search_documentation", query="cursor zebra", namespace="api-reference")
        call_sources("search_documentation", query="cursor zebra", namespace="api-reference")
    first, second = searches
    assert first.query == "cursor zebra"
    assert first.result_counts == {"api-reference": len(first.addresses)}
    assert first.commits == {"api-reference": repositories[0].head()}
    assert first.missing_words == ("zebra",)
    assert first.duration_ms > 0
    assert (first.is_cached, second.is_cached) == (False, True)
    assert all(namespace == "api-reference" for namespace, _ in first.addresses)


def test_question_in_all_namespaces_is_one_record(call_sources: CallSources) -> None:
    with record_searches() as searches:
        call_sources("search_documentation", query="cursor", namespace="*")
    [search] = searches
    assert set(search.result_counts) == {"api-reference", "tutorials"}
    assert sum(search.result_counts.values()) == len(search.addresses)
    assert next(iter(search.result_counts)) == search.addresses[0][0]


def test_each_question_of_a_batch_is_recorded(call_sources: CallSources) -> None:
    with record_searches() as searches:
        call_sources(
            "search_documentation",
            operations=[
                {"query": "cursor", "namespace": "tutorials"},
                {"query": "token", "namespace": "nowhere"},
                {"query": "token", "namespace": "tutorials"},
            ],
        )
    assert [search.query for search in searches] == ["cursor", "token"]


def test_further_page_is_not_recorded(call_sources: CallSources) -> None:
    with record_searches() as searches:
        arguments = {"query": "a the errors cursor", "namespace": "*", "max_results": 1}
        answer = call_sources("search_documentation", **arguments)
        call_sources("search_documentation", **arguments, cursor=answer.data["next_cursor"])
    assert len(searches) == 1


def test_contextual_search_records_the_walkthrough_and_its_step(
    call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    repositories[0].commit({"docs/first-call.md": WALKTHROUGH})
    walkthrough = call_sources("list_walkthroughs").data["walkthroughs"][0]["id"]
    handle = call_sources("start_walkthrough", walkthrough=walkthrough).data["handle"]
    arguments = {"query": "token", "namespace": "api-reference", "handle": handle}
    with record_searches() as searches:
        call_sources("search_documentation_contextual", **arguments, max_results=1)
        call_sources("search_documentation", **arguments)
    assert [(search.walkthrough, search.step) for search in searches] == [
        ("api-reference:docs/first-call.md", "get-a-token")
    ] * 2
    assert sum(searches[0].result_counts.values()) == 1


def test_reading_tool_records_the_namespace_of_its_call(build_sources: Callable[[str], Sources]) -> None:
    dispatcher = SourcesDispatcher(build_sources(TWO_SOURCES), ["search"])
    with record_searches() as searches:
        dispatcher.call("search_docs", {"query": "cursor", "namespace": "tutorials"}, client="test")
    [search] = searches
    assert search.result_counts == {"tutorials": len(search.addresses)}
    assert all(namespace == "tutorials" for namespace, _ in search.addresses)
