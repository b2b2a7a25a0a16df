"""list_walkthroughs, start_walkthrough and get_next_step, and results for a walkthrough under way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.tools.retrieval.conftest import WALKTHROUGH, CallSources
from tools.pages import measure_tokens

pytestmark = pytest.mark.smoke


@pytest.fixture(autouse=True)
def walkthrough_commit(repositories: tuple[Repo, Repo]) -> str:
    return repositories[0].commit({"docs/first-call.md": WALKTHROUGH})


def start(call_sources: CallSources) -> str:
    handle: str = call_sources("start_walkthrough", walkthrough="First call").data["handle"]
    return handle


def test_list_has_the_fields_of_the_contract(call_sources: CallSources) -> None:
    expected = {
        "walkthroughs": [
            {
                "id": "api-reference:docs/first-call.md",
                "title": "First call",
                "description": "Make your first call.",
                "technology": "Python, HTTP",
                "steps": 3,
                "namespace": "api-reference",
            }
        ]
    }
    assert call_sources("list_walkthroughs").data == expected
    assert call_sources("list_walkthroughs", namespace="api-reference").data == expected
    assert call_sources("list_walkthroughs", namespace="tutorials").data == {"walkthroughs": []}
    assert call_sources("list_walkthroughs", namespace="absent").data["code"] == "NAMESPACE_NOT_FOUND"


@pytest.mark.parametrize(
    "id", ["api-reference:docs/first-call.md", "docs/first-call.md", "docs/first-call", "first CALL"]
)
def test_steps_follow_each_other_until_done(
    call_sources: CallSources, walkthrough_commit: str, id: str
) -> None:
    answer = call_sources("start_walkthrough", walkthrough=id)
    titles = []
    while "done" not in answer.data:
        assert answer.data["commit"] == walkthrough_commit
        step = answer.data["step"]
        titles.append((step["number"], step["title"], step["address"]))
        assert step["content"].startswith(f"## {step['title']}\n")
        answer = call_sources("get_next_step", handle=answer.data["handle"])
    assert titles == [
        (1, "Get a token", "docs/first-call.md#get-a-token"),
        (2, "Handle errors", "docs/first-call.md#handle-errors"),
        (3, "Read all pages", "docs/first-call.md#read-all-pages"),
    ]
    assert call_sources("get_next_step", handle=answer.data["handle"]).data["done"] is True


def test_handle_survives_rename_and_a_shorter_walkthrough(
    call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    handle = start(call_sources)
    (repositories[0].path / "docs/first-call.md").unlink()
    repositories[0].commit({"docs/start.md": WALKTHROUGH})
    step = call_sources("get_next_step", handle=handle).data["step"]
    assert step["address"] == "docs/start.md#handle-errors"
    repositories[0].commit({"docs/start.md": WALKTHROUGH.partition("## Handle")[0]})
    assert call_sources("get_next_step", handle=handle).data["done"] is True


def test_handle_of_removed_walkthrough_is_an_error_with_a_fix(
    call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    handle = start(call_sources)
    (repositories[0].path / "docs/first-call.md").unlink()
    repositories[0].commit({"docs/errors.md": "# Errors\n"})
    answer = call_sources("get_next_step", handle=handle)
    assert answer.data["code"] == "WALKTHROUGH_GONE"
    assert answer.data["fix"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-4],
        lambda text: ("B" if text.startswith("A") else "A") + text[1:],
        lambda text: "x",
        str.upper,
    ],
)
def test_changed_handle_is_refused(call_sources: CallSources, change: object) -> None:
    assert callable(change)
    handle = change(start(call_sources))
    for tool, arguments in (
        ("get_next_step", {}),
        ("search_documentation", {"query": "x", "namespace": "tutorials"}),
        ("search_documentation_contextual", {"query": "x", "namespace": "tutorials"}),
    ):
        assert call_sources(tool, handle=handle, **arguments).data["code"] == "INVALID_HANDLE"


def test_unknown_walkthrough_suggests_the_nearest(call_sources: CallSources) -> None:
    answer = call_sources("start_walkthrough", walkthrough="docs/first-cal.md")
    assert answer.data["code"] == "WALKTHROUGH_NOT_FOUND"
    assert answer.data["candidates"] == ["api-reference:docs/first-call.md"]


def test_unavailable_source_does_not_hide_other_walkthroughs(
    tmp_path: Path, call_sources: CallSources, repositories: tuple[Repo, Repo]
) -> None:
    repositories[1].path.rename(tmp_path / "elsewhere")
    data = call_sources("list_walkthroughs").data
    assert [item["title"] for item in data["walkthroughs"]] == ["First call"]
    assert list(data["unavailable"]) == ["tutorials"]
    assert not call_sources("start_walkthrough", walkthrough="First call").is_error


@pytest.mark.parametrize("max_tokens", [200, 1_000])
def test_every_part_of_a_long_step_can_be_read(
    call_sources: CallSources, repositories: tuple[Repo, Repo], max_tokens: int
) -> None:
    content = "## Long\n\n" + "".join(f"Line {number} of the step.\n\n" for number in range(200))
    repositories[0].commit({"docs/first-call.md": f"---\ntype: walkthrough\n---\n# First call\n\n{content}"})
    answer = call_sources("start_walkthrough", walkthrough="First call", max_tokens=max_tokens)
    text = ""
    while True:
        assert measure_tokens(answer.data) <= max_tokens
        step = answer.data["step"]
        text += step["content"]
        if not step.get("truncated"):
            break
        handle = answer.data["handle"]
        answer = call_sources("get_next_step", handle=handle, offset=len(text), max_tokens=max_tokens)
    assert text == content
    end = call_sources("get_next_step", handle=answer.data["handle"], offset=len(text))
    assert (end.data["code"], end.data["field"]) == ("INVALID_ARGUMENTS", "offset")


def test_results_name_related_steps_and_follow_ups(call_sources: CallSources) -> None:
    handle = start(call_sources)
    data = call_sources(
        "search_documentation", query="RateLimitError says", namespace="api-reference", handle=handle
    ).data
    results = {result["address"]: result for result in data["sources"]}
    linked = results["docs/errors.md#rate-limits"]
    assert linked["walkthrough_relevance"] == 1.0
    assert linked["related_walkthrough_steps"] == [{"number": 2, "title": "Handle errors"}]
    assert linked["suggested_follow_up"] == ["Handle errors"]
    assert results["docs/errors.md#_preamble"]["walkthrough_relevance"] == 0.0
    other = call_sources(
        "search_documentation", query="cursor", namespace="api-reference", handle=handle
    ).data
    [cursors] = [item for item in other["sources"] if item["address"] == "docs/paging.md#cursors"]
    assert cursors["walkthrough_relevance"] == 0.5
    assert cursors["related_walkthrough_steps"] == [{"number": 3, "title": "Read all pages"}]
