"""search_documentation: results as in the contract, namespaces, budgets, pages and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index.sources.sources import Sources
from tests.documentation_sources import TWO_SOURCES, write_sources_file
from tests.repositories import Repo
from tests.tools.retrieval.conftest import CallSources
from tools.pages import measure_tokens
from tools.retrieval.dispatcher import SourcesDispatcher
from tools.retrieval.results import shorten_summary

pytestmark = pytest.mark.smoke


def test_result_has_the_fields_of_the_contract(
    call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    data = call_sources("search_documentation", query="says", namespace="api-reference").data
    assert (data["query_processed"], data["search_type"]) == (True, "bm25")
    assert data["result_count"] == len(data["sources"]) == 1
    assert data["commit"] == repositories[0].head()
    [result] = data["sources"]
    assert result.pop("relevance_score") > 0
    assert result == {
        "namespace": "api-reference",
        "document": "docs/errors.md",
        "title": "Errors",
        "summary": "A `RateLimitError` says when to retry.",
        "content": "## Rate limits {#rate-limits}\n\nA `RateLimitError` says when to retry.\n",
        "url": "https://docs.example.com/errors#rate-limits",
        "chunk_index": 2,
        "address": "docs/errors.md#rate-limits",
        "blob": repositories[0].git("rev-parse", "HEAD:docs/errors.md").strip(),
        "lines": [3, 5],
    }


def test_result_without_content_has_a_summary(call_sources: CallSources) -> None:
    data = call_sources(
        "search_documentation", query="cursor", namespace="api-reference", include_content=False
    ).data
    assert all("content" not in result and result["summary"] for result in data["sources"])


def test_several_sources_need_a_namespace(call_sources: CallSources) -> None:
    answer = call_sources("search_documentation", query="cursor")
    assert answer.is_error
    assert answer.data["code"] == "NAMESPACE_REQUIRED"
    assert answer.data["error"] == "Multiple namespaces available: api-reference, tutorials"
    assert not call_sources("search_documentation", **answer.data["example"]).is_error
    unknown = call_sources("search_documentation", query="cursor", namespace="tutorial")
    assert (unknown.data["code"], unknown.data["nearest"]) == ("NAMESPACE_NOT_FOUND", ["tutorials"])
    assert not call_sources("search_documentation", **unknown.data["example"]).is_error


def test_search_of_all_sources_names_each_namespace(call_sources: CallSources) -> None:
    data = call_sources("search_documentation", query="page retry", namespace="*").data
    assert {result["namespace"] for result in data["sources"]} == {"api-reference", "tutorials"}
    assert set(data["commits"]) == {"api-reference", "tutorials"}


def test_single_source_needs_no_namespace(build_sources: Callable[[str], Sources]) -> None:
    dispatcher = SourcesDispatcher(build_sources('[sources.guides]\nrepo = "guides"\n'))
    data = dispatcher.call("search_documentation", {"query": "shell"}, client="test").data
    assert [result["address"] for result in data["sources"]] == ["install.md#steps"]
    assert "namespace" not in data["sources"][0]
    assert data["sources"][0]["url"] == "doc:///guides/install.md#steps"


def test_search_is_not_offered_after_all_sources_are_removed(
    build_sources: Callable[[str], Sources],
) -> None:
    sources = build_sources(TWO_SOURCES)
    dispatcher = SourcesDispatcher(sources)
    dispatcher.definitions()
    sources.replace(build_sources("").file)
    assert not dispatcher.offers("search_documentation")


def test_vector_search_returns_error_with_reason(call_sources: CallSources) -> None:
    answer = call_sources("search_documentation", query="x", namespace="tutorials", search_type="vector")
    assert (answer.data["code"], answer.data["field"]) == ("VECTOR_SEARCH_UNAVAILABLE", "search_type")
    assert "no embedding provider" in answer.data["error"]
    for search_type in ("bm25", "hybrid"):
        data = call_sources(
            "search_documentation", query="shell", namespace="tutorials", search_type=search_type
        ).data
        assert data["search_type"] == "bm25"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"max_results": 0}, "max_results"),
        ({"max_results": 21}, "max_results"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 1}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"search_type": "fuzzy"}, "search_type"),
        ({"include_content": "perhaps"}, "include_content"),
        ({"namespace": 5}, "namespace"),
        ({"operations": []}, "operations"),
        ({"operations": [{"query": "x"}] * 11}, "operations"),
        ({"random_string": "x"}, "random_string"),
    ],
)
def test_invalid_argument_names_its_field(
    call_sources: CallSources, arguments: dict[str, Any], field: str
) -> None:
    answer = call_sources("search_documentation", **{"query": "x", "namespace": "tutorials", **arguments})
    assert answer.is_error
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", field)


def test_huge_limit_means_the_limit_of_the_operator(
    call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    repositories[1].commit({"long.md": "# Long\n\n" + "A walrus eats fish. " * 5_000})
    answer = call_sources(
        "search_documentation", query="walrus", namespace="tutorials", max_tokens=1_000_000_000
    )
    assert 4_000 < measure_tokens(answer.data) <= 5_000


@pytest.mark.parametrize("max_tokens", [200, 500, 2_000])
def test_answer_fits_its_budget_and_the_rest_can_be_read(
    call_sources: CallSources, repositories: tuple[Repo, Repo], max_tokens: int
) -> None:
    text = "".join(f"Line {number} about the walrus.\n\n" for number in range(400))
    repositories[1].commit({f"{name}.md": f"# {name}\n\n{text}" for name in ("one", "two", "three")})
    answer = call_sources(
        "search_documentation", query="walrus", namespace="tutorials", max_tokens=max_tokens
    )
    assert measure_tokens(answer.data) <= max_tokens
    result = answer.data["sources"][0]
    assert result["truncated"]
    assert "get_doc" in answer.data["next_step"]
    # A short part that begins with the text would not contain the word.
    content, start, offset = result["content"], result.get("start", 0), result["offset"]
    assert "walrus" in content
    assert start + len(content) == offset
    while offset is not None:
        part = call_sources("get_doc", chunk_id=result["address"], namespace="tutorials", offset=offset)
        [chunk] = part.data["chunks"]
        content += chunk["text"]
        offset = part.data.get("offset")
    assert content == f"# {result['title']}\n\n{text}"[start:]


def parse_last_call(next_step: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of the call at the end of a next step."""
    text, _, arguments = next_step.partition("{")
    return text.split()[-1], json.loads("{" + arguments)


def test_pages_have_each_hit_once(call_sources: CallSources, repositories: tuple[Repo, Repo]) -> None:
    repositories[1].commit({f"{number}.md": f"# Walrus {number}\n\nFish.\n" for number in range(25)})
    addresses: list[str] = []
    arguments: dict[str, Any] = {"query": "walrus", "namespace": "*", "max_results": 10}
    while True:
        data = call_sources("search_documentation", **arguments).data
        addresses += [result["address"] for result in data["sources"]]
        if "next_cursor" not in data:
            break
        arguments["cursor"] = data["next_cursor"]
    assert sorted(addresses) == sorted(f"{number}.md#_preamble" for number in range(25))


def test_cursor_of_another_search_or_commit_is_refused(
    call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    repositories[1].commit({f"{number}.md": f"# Walrus {number}\n\nFish.\n" for number in range(5)})
    search = {"query": "walrus", "namespace": "tutorials", "max_results": 2}
    cursor = call_sources("search_documentation", **search).data["next_cursor"]
    for changes in ({"query": "fish"}, {"namespace": "*"}, {"cursor": cursor[:-2] + "AA"}, {"cursor": "x"}):
        answer = call_sources("search_documentation", **{**search, "cursor": cursor, **changes})
        assert answer.data["code"] == "INVALID_CURSOR", changes
    repositories[1].commit({"new.md": "# New\n"})
    answer = call_sources("search_documentation", **search, cursor=cursor)
    assert answer.data["code"] == "CURSOR_STALE"


def test_missing_words_and_suggestions_explain_an_empty_answer(call_sources: CallSources) -> None:
    data = call_sources("search_documentation", query="shel unicorn", namespace="tutorials").data
    assert data["missing_words"] == ["shel", "unicorn"]
    assert (data["result_count"], data["sources"]) == (0, [])
    assert data["suggested_queries"]
    tool, arguments = parse_last_call(data["next_step"])
    assert call_sources(tool, **arguments).data["result_count"] > 0


def test_several_questions_are_answered_in_one_call(call_sources: CallSources) -> None:
    questions = [
        {"query": "shell", "namespace": "tutorials"},
        {"query": " ", "namespace": "tutorials"},
        {"query": "cursor", "namespace": "api-reference", "max_results": 1},
    ]
    answer = call_sources("search_documentation", operations=questions, max_tokens=1_000)
    results = answer.data["batch_results"]
    assert [result["success"] for result in results] == [True, False, True]
    assert results[1]["code"] == "EMPTY_QUERY"
    assert results[0]["sources"][0]["address"] == "install.md#steps"
    assert measure_tokens(answer.data) <= 1_000
    mixed_answer = call_sources(
        "search_documentation", query="shell", namespace="*", operations=questions[:1]
    )
    assert len(mixed_answer.data["batch_results"]) == 2
    assert call_sources("search_documentation", operations=questions[1:2]).is_error
    shared_fields_answer = call_sources(
        "search_documentation", operations=[{"query": "shell"}], namespace="tutorials", include_content=False
    )
    [entry] = shared_fields_answer.data["batch_results"]
    assert "content" not in entry["sources"][0]
    assert set(shared_fields_answer.data["commits"]) == {"tutorials"}


@pytest.mark.parametrize("field", [{"max_tokens": 300}, {"token_limit": 300}, {"operations": []}])
def test_question_with_a_field_of_the_call_is_refused(
    call_sources: CallSources, field: dict[str, object]
) -> None:
    question = {"query": "shell", "namespace": "tutorials"}
    answer = call_sources("search_documentation", operations=[{**question, **field}, question])
    refused, answered = answer.data["batch_results"]
    assert (refused["success"], refused["code"], answered["success"]) == (False, "INVALID_ARGUMENTS", True)
    assert "must not be in an operation" in refused["error"]
    answer = call_sources("search_documentation", **question, operations=[question], max_tokens=1_000)
    assert [entry["success"] for entry in answer.data["batch_results"]] == [True, True]


def test_batch_with_too_few_tokens_names_the_needed_number(call_sources: CallSources) -> None:
    questions = [{"query": "shell", "namespace": "tutorials"}] * 10
    answer = call_sources("search_documentation", operations=questions, max_tokens=1_999)
    assert answer.is_error
    assert (answer.data["field"], "2,000" in answer.data["fix"]) == ("max_tokens", True)
    answer = call_sources("search_documentation", operations=questions, max_tokens=2_000)
    assert [entry["sources"][0]["address"] for entry in answer.data["batch_results"]] == [
        "install.md#steps"
    ] * 10


def test_uri_of_a_result_is_read_by_get_doc(call_sources: CallSources) -> None:
    uri = "doc:///tutorials/install.md#steps"
    data = call_sources("get_doc", chunk_id=uri, namespace="tutorials").data
    assert data["chunks"][0]["chunk_id"] == "install.md#steps"


@pytest.mark.parametrize(("size", "line"), [(200, 30), (2_000, 30), (200, 0)])
def test_cut_content_has_the_words_of_the_question(
    call_sources: CallSources, repositories: tuple[Repo, Repo], size: int, line: int
) -> None:
    lines = [f"Filler number {number} of this long section.\n\n" for number in range(400)]
    lines[line] = "The walrus answers the question about fish.\n\n"
    repositories[1].commit({"long.md": "# Long\n\n" + "".join(lines)})
    data = call_sources(
        "search_documentation", query="walrus question fish", namespace="tutorials", max_tokens=max(size, 400)
    ).data
    result = data["sources"][0]
    assert "The walrus answers" in result["content"]
    assert ("start" in result) == (line > 0 and size == 200)


def test_content_has_no_padding_in_tables(call_sources: CallSources, repositories: tuple[Repo, Repo]) -> None:
    table = "| Walrus    | Food        |\n|-----------|-------------|\n| a  `x  y` | fish        |\n"
    repositories[1].commit({"table.md": f"# Table\n\n{table}\n    indented   walrus\n"})
    data = call_sources("search_documentation", query="walrus", namespace="tutorials").data
    assert data["sources"][0]["content"] == (
        "# Table\n\n| Walrus | Food |\n|---|---|\n| a `x y` | fish |\n\n    indented   walrus\n"
    )


def test_unavailable_source_is_named_and_the_others_answer(
    tmp_path: Path, call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    repositories[1].path.rename(tmp_path / "elsewhere")
    data = call_sources("search_documentation", query="retry", namespace="*").data
    assert [result["namespace"] for result in data["sources"]] == ["api-reference"]
    assert list(data["unavailable"]) == ["tutorials"]
    answer = call_sources("search_documentation", query="retry", namespace="tutorials")
    assert answer.data["code"] == "SOURCE_UNAVAILABLE"
    assert str(tmp_path) not in json.dumps(answer.data)


@pytest.mark.parametrize("length", [10, 199, 200, 201, 5_000])
def test_summary_has_at_most_200_characters_and_an_ellipsis(length: int) -> None:
    for text in ("x" * length, ("word " * length)[:length].strip()):
        summary = shorten_summary(text)
        assert len(summary) <= 201
        assert (summary == text) == (len(text) <= 200)
        assert summary == text or summary.endswith("…")


def test_list_has_descriptions_and_stats(call_sources: CallSources, repositories: tuple[Repo, Repo]) -> None:
    assert call_sources("list_documentation_sources").data == {
        "namespaces": [
            {"name": "api-reference", "description": "Complete API documentation and guides"},
            {"name": "tutorials", "description": "Step-by-step tutorials and examples"},
        ]
    }
    [api, tutorials] = call_sources("list_documentation_sources", include_stats=True).data["namespaces"]
    tutorial_files = repositories[1].git("ls-files", "*.md").split()
    assert (api["document_count"], tutorials["document_count"]) == (2, len(tutorial_files))
    assert api["source_commit"] == repositories[0].head()
    assert api["last_updated"].endswith("Z")


def test_tools_appear_and_disappear_with_sources_and_features(
    tmp_path: Path, build_sources: Callable[[str], Sources]
) -> None:
    walkthrough_tools = {"list_walkthroughs", "start_walkthrough", "get_next_step"}
    sources = build_sources("")
    dispatcher = SourcesDispatcher(sources)
    assert dispatcher.tool_names() == walkthrough_tools
    assert dispatcher.call("list_walkthroughs", {}, client="test").data == {"walkthroughs": []}
    plain_names = walkthrough_tools | {"search_documentation", "list_documentation_sources", "get_doc"}
    sources.replace(build_sources(TWO_SOURCES).file)
    assert dispatcher.tool_names() == plain_names
    features = "[features]\ncontextual_search = true\ntool_prefix = 'docs_'\n"
    sources.replace(build_sources(TWO_SOURCES + features).file)
    contextual_names = plain_names | {"search_documentation_contextual"}
    assert dispatcher.tool_names() == {f"docs_{name}" for name in contextual_names}
    answer = dispatcher.call(
        "docs_search_documentation", {"query": "zzz", "namespace": "tutorials"}, client=""
    )
    assert not answer.is_error
    write_sources_file(tmp_path)


def test_definitions_have_the_schemas_of_the_contract(build_sources: Callable[[str], Sources]) -> None:
    dispatcher = SourcesDispatcher(build_sources(TWO_SOURCES))
    definitions = {definition["name"]: definition for definition in dispatcher.definitions()}
    schema = definitions["search_documentation"]["inputSchema"]
    assert schema["required"] == ["query"]
    assert schema["properties"]["namespace"]["enum"] == ["api-reference", "tutorials", "*"]
    assert schema["properties"]["search_type"]["enum"] == ["vector", "bm25", "hybrid"]
    assert schema["properties"]["search_type"]["default"] == "hybrid"
    results = schema["properties"]["max_results"]
    assert (results["minimum"], results["maximum"], results["default"]) == (1, 20, 10)
    assert "namespace" in definitions["get_doc"]["inputSchema"]["properties"]
    sizes = [len(json.dumps(definition, separators=(",", ":"))) for definition in definitions.values()]
    assert sum(sizes) <= 700 * len(sizes)
