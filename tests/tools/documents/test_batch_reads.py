"""Batches of reads: several views or searches in one call."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.documents.batch_reads import MAX_READS
from tools.documents.search_documents import DEFAULT_BATCH_LIMIT

QUERIES = ["schemas", "note", "zzzz"]


def test_batch_of_searches_equals_single_searches(call_tool: CallTool) -> None:
    batch = call_tool("search_documents", operations=[{"query": query} for query in QUERIES]).data
    limit = DEFAULT_BATCH_LIMIT
    single_results = [call_tool("search_documents", query=query, limit=limit).data for query in QUERIES]
    assert batch["commit"] == single_results[0]["commit"]
    for result, single_result in zip(batch["batch_results"], single_results, strict=True):
        expected = {key: value for key, value in single_result.items() if key not in ("commit", "next_step")}
        assert result == {"success": True, **expected}
    assert batch["batch_results"][0]["matches"][0]["tasks"][0]["slug"] == "tasks[0]"


def test_searches_of_a_batch_have_their_own_limit_and_ref(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.git("rev-parse", "HEAD").strip()
    repo.commit({"new.md": "# New\n\nNothing but schemas.\n"})
    old, limited, new = call_tool(
        "search_documents",
        operations=[
            {"query": "schemas", "ref": first_commit},
            {"query": "schemas", "limit": 1},
            {"query": "new"},
        ],
    ).data["batch_results"]
    assert old["commit"] == first_commit
    assert [match["file"] for match in old["matches"]] == ["api.md"]
    assert (len(limited["matches"]), limited["more"], "commit" in limited) == (1, True, False)
    assert new["matches"][0]["file"] == "new.md"


def test_ref_of_a_batch_applies_to_its_reads(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.git("rev-parse", "HEAD").strip()
    repo.commit({"api.md": "# Empty\n"})
    data = call_tool("search_documents", operations=[{"query": "schemas"}], ref=first_commit).data
    assert (data["commit"], len(data["batch_results"][0]["matches"])) == (first_commit, 1)


@pytest.mark.parametrize(
    ("tool", "valid_read"),
    [("search_documents", {"query": "schemas"}), ("view_document", {"file": "api.md"})],
)
def test_failed_reads_do_not_affect_the_others(
    call_tool: CallTool, tool: str, valid_read: dict[str, object]
) -> None:
    invalid_reads = [
        {},
        {"ref": "nope", **valid_read},
        {"unknown_field": 1, **valid_read},
        {"ref": 5, **valid_read},
    ]
    answer = call_tool(tool, operations=[*invalid_reads, valid_read])
    assert not answer.is_error
    *failures, success = answer.data["batch_results"]
    assert success["success"]
    for failure in failures:
        assert not failure["success"]
        assert failure["code"]
        assert failure["fix"]
    assert call_tool(tool, operations=invalid_reads).is_error


@pytest.mark.parametrize("tool", ["search_documents", "view_document"])
@pytest.mark.parametrize(
    "fields",
    [
        {"operations": []},
        {"operations": "schemas"},
        {"operations": [["a"]]},
        {"operations": [{}] * (MAX_READS + 1)},
        {"operations": [{"query": "a", "file": "a"}], "limit": 3},
        {"operations": [{}], "ref": "nope"},
    ],
)
def test_malformed_batch_is_refused(call_tool: CallTool, tool: str, fields: dict[str, object]) -> None:
    answer = call_tool(tool, **fields)
    assert answer.is_error
    assert answer.data["fix"]
    assert answer.data["example"]


def test_search_without_words_names_the_field(call_tool: CallTool) -> None:
    answer = call_tool("search_documents", limit=3)
    assert (answer.is_error, answer.data["field"]) == (True, "query")
