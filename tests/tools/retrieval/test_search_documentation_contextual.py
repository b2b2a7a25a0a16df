"""search_documentation_contextual: the lifts, their factors and reasons, and the list without a context."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.retrieval.conftest import WALKTHROUGH, CallSources
from tools.retrieval.lifts import ErrorTraits, explain_technology, list_technologies

pytestmark = pytest.mark.smoke

PAGES = {
    "docs/connection.md": "# Connection\n\nConnection problems and connection pools.\n",
    "docs/refused.md": "# Refused\n\nA connection fails with `ConnectionRefusedError` or ECONNREFUSED.\n",
    "docs/python.md": "# Client\n\nOpen a connection.\n\n```python\nconnect()\n```\n",
}


@pytest.fixture(autouse=True)
def pages_commit(repositories: tuple[Repo, Repo]) -> str:
    return repositories[0].commit({**PAGES, "docs/first-call.md": WALKTHROUGH})


def search(call_sources: CallSources, query: str = "connection", **arguments: Any) -> list[dict[str, Any]]:
    answer = call_sources(
        "search_documentation_contextual",
        **{"query": query, "namespace": "api-reference", "max_results": 20, **arguments},
    )
    assert not answer.is_error, answer.data
    results: list[dict[str, Any]] = answer.data["sources"]
    return results


def read_scores(results: list[dict[str, Any]]) -> dict[str, float]:
    return {result["address"]: result["relevance_score"] for result in results}


@pytest.mark.parametrize("context", [None, {}, {"current_file": "", "error_message": None}])
@pytest.mark.parametrize("query", ["connection", "cursor page", "rate limits", "zzz"])
def test_empty_context_gives_the_plain_list(
    call_sources: CallSources, query: str, context: dict[str, Any] | None
) -> None:
    results = search(call_sources, query, **({} if context is None else {"context": context}))
    plain = call_sources("search_documentation", query=query, namespace="api-reference", max_results=20).data[
        "sources"
    ]
    assert [{**result, "lifted_by": []} for result in plain] == results


@pytest.mark.parametrize(
    ("context", "lifted_address", "lift", "factor"),
    [
        (
            {"error_message": "ConnectionRefusedError: [Errno 111]"},
            "docs/refused.md#_preamble",
            "error_category",
            1.3,
        ),
        (
            {"error_message": "connect ECONNREFUSED ::1"},
            "docs/refused.md#_preamble",
            "error_category",
            1.3,
        ),
        ({"current_file": "src/app/client.py"}, "docs/python.md#_preamble", "current_technology", 1.1),
    ],
)
def test_context_lifts_the_right_result_by_exactly_its_factor(
    call_sources: CallSources, context: dict[str, Any], lifted_address: str, lift: str, factor: float
) -> None:
    plain_scores = read_scores(search(call_sources))
    results = search(call_sources, context=context)
    for result in results:
        expected = factor if result["address"] == lifted_address else 1.0
        assert result["relevance_score"] == pytest.approx(
            plain_scores[result["address"]] * expected, abs=2e-6
        )
        assert [(item["lift"], item["factor"]) for item in result["lifted_by"]] == (
            [(lift, factor)] if result["address"] == lifted_address else []
        )
    order = [result["address"] for result in results]
    assert order.index(lifted_address) <= list(plain_scores).index(lifted_address)
    scores = [result["relevance_score"] for result in results]
    assert scores == sorted(scores, reverse=True)


def test_walkthrough_under_way_lifts_linked_sections_by_1_2(call_sources: CallSources) -> None:
    handle = call_sources("start_walkthrough", walkthrough="First call").data["handle"]
    plain_scores = read_scores(search(call_sources, "RateLimitError says"))
    results = search(call_sources, "RateLimitError says", handle=handle)
    [result] = [item for item in results if item["address"] == "docs/errors.md#rate-limits"]
    assert result["lifted_by"] == [
        {"lift": "walkthrough_relevance", "factor": 1.2, "why": "related to step 2, Handle errors"}
    ]
    assert result["relevance_score"] == pytest.approx(plain_scores[result["address"]] * 1.2, abs=2e-6)
    assert result["walkthrough_relevance"] == 1.0


def test_technology_of_the_walkthrough_lifts_too(call_sources: CallSources) -> None:
    handle = call_sources("start_walkthrough", walkthrough="First call").data["handle"]
    [result] = [
        item for item in search(call_sources, handle=handle) if item["address"] == "docs/python.md#_preamble"
    ]
    assert result["lifted_by"] == [{"lift": "current_technology", "factor": 1.1, "why": "has python code"}]


def test_factors_of_several_lifts_are_multiplied(
    call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    repositories[0].commit(
        {"docs/both.md": "# Both\n\nA connection raises ConnectionRefusedError in Python.\n"}
    )
    plain_scores = read_scores(search(call_sources))
    context = {"current_file": "a.py", "error_message": "ConnectionRefusedError"}
    scores = read_scores(search(call_sources, context=context))
    assert scores["docs/both.md#_preamble"] == pytest.approx(
        plain_scores["docs/both.md#_preamble"] * 1.43, abs=2e-6
    )


@pytest.mark.parametrize(
    ("context", "phrase"),
    [
        ({"current_file": 5}, "current_file"),
        ({"file": "a.py"}, "file"),
        ("a.py", "object"),
        ([], "object"),
        ({"task_description": "x" * 100_001}, "100,000"),
        ({"error_message": "é" * 60_000}, "100,000"),
    ],
)
def test_invalid_context_is_refused(call_sources: CallSources, context: object, phrase: str) -> None:
    answer = call_sources(
        "search_documentation_contextual", query="x", namespace="api-reference", context=context
    )
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", "context")
    assert phrase in answer.data["error"] + answer.data["fix"]


def test_control_characters_in_context_are_harmless(call_sources: CallSources) -> None:
    context = {"current_file": "\x00/\x1b[31m.py", "error_message": "\x07(((((a+)+$" * 100}
    assert search(call_sources, context=context)


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Traceback: requests.exceptions.ConnectTimeout: x", ("ConnectTimeout",)),
        ("error[E0308]: mismatched types", ("E0308",)),
        ("fatal error C2065: 'x': undeclared identifier", ("C2065",)),
        ("HTTP 429 Too Many Requests", ("429",)),
        ("Error: ERR_MODULE_NOT_FOUND", ("ERR_MODULE_NOT_FOUND",)),
        ("it does not work", ()),
        ("", ()),
    ],
)
def test_error_message_has_class_names_and_codes(message: str, names: tuple[str, ...]) -> None:
    assert ErrorTraits.read(message).names == names


@pytest.mark.parametrize(
    ("message", "text", "is_match"),
    [
        ("MyError: x", "about MyError here", True),
        ("MyError: x", "about MyErrors here", False),
        ("disk quota exceeded", "The quota of the disk was exceeded.", True),
        ("disk quota exceeded", "A disk.", False),
        ("failed", "failed", False),
    ],
)
def test_section_matches_error_by_name_else_by_words(message: str, text: str, is_match: bool) -> None:
    assert (ErrorTraits.read(message).explain_match(text) is not None) == is_match


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("a/b.py", "In Python, call it.", "names python"),
        ("a/b.py", "```python\nx\n```", "has python code"),
        ("a/b.go", "Go there and go on.", None),
        ("a/b.go", "```go\nx\n```", "has go code"),
        ("a\\b.CPP", "Use C++ here", "names c++"),
        ("Dockerfile", "A docker image", "names docker"),
        ("a/b.c", "```c++\n```", None),
        ("noextension", "Python", None),
    ],
)
def test_technology_of_file_is_found_in_section(file: str, text: str, reason: str | None) -> None:
    assert explain_technology(list_technologies(file, None), text) == reason
