"""Caveats: stale, partial and unreadable parts of search results, missing words, and unindexed writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.service import SearchPage
from index.storage.locking import hold_lock
from tests.loops import loop_over
from tests.repositories import Repo
from tools.caveats import describe_search_caveats
from tools.dispatcher import ToolDispatcher
from tools.tool import Data

SEARCH_TOOLS = ["search_docs", "search_documents"]
QUERY = {"query": "search", "limit": 50}


def count_hits(data: Data) -> int:
    return len(data["hits"] if "hits" in data else data["matches"])


def find_lock(repo: Repo) -> Path:
    [lock] = (repo.path / ".git" / "docyard" / "index").glob("*/lock")
    return lock


@pytest.mark.parametrize("tool", SEARCH_TOOLS)
def test_search_behind_branch_is_stale_and_names_its_commit(
    dispatcher: ToolDispatcher, repo: Repo, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    indexed_commit = repo.head()
    fresh_data = dispatcher.call(tool, QUERY, client="tests").data
    assert "stale" not in fresh_data
    repo.commit({"new.md": "# New\n\nMore to search.\n"})
    with hold_lock(find_lock(repo), 0):
        data = dispatcher.call(tool, QUERY, client="tests").data
    assert (data["stale"], data["commit"], count_hits(data)) == (True, indexed_commit, count_hits(fresh_data))
    data = dispatcher.call(tool, QUERY, client="tests").data
    assert ("stale" in data, data["commit"], count_hits(data)) == (
        False,
        repo.head(),
        count_hits(fresh_data) + 1,
    )


@pytest.mark.parametrize("tool", SEARCH_TOOLS)
def test_unindexed_documents_are_reported(dispatcher: ToolDispatcher, repo: Repo, tool: str) -> None:
    names = [f"lost/n{number:02}.md" for number in range(12)]
    repo.commit({name: f"# {name}\n\nMore to search.\n" for name in names})
    for name in names:
        blob = repo.git("rev-parse", f"HEAD:{name}").strip()
        (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    data = dispatcher.call(tool, QUERY, client="tests").data
    assert count_hits(data) > 0
    assert (data["unreadable"], data["unreadable_total"]) == (names[:10], 12)
    for name in names:
        repo.git("hash-object", "-w", name)
    data = dispatcher.call(tool, QUERY, client="tests").data
    assert "unreadable" not in data
    assert count_hits(data) > 12


def test_write_that_is_not_indexed_yet_is_reported(
    dispatcher: ToolDispatcher, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.storage.write_lock.WRITE_TIMEOUT_S", 0.05)
    dispatcher.call("search_docs", {"query": "search"}, client="tests")
    with hold_lock(find_lock(repo), 0):
        data = dispatcher.call("tag_document", {"file": "api.md", "tags": ["new"]}, client="tests").data
    assert data["commit"] == repo.head()
    assert data["hints"][0].startswith("Committed, but not searchable yet")
    data = dispatcher.call("tag_document", {"file": "api.md", "tags": ["newer"]}, client="tests").data
    assert "hints" not in data


@loop_over("is_partial", [True, False])
def test_only_partial_search_is_reported_as_partial(is_partial: bool) -> None:
    page = SearchPage(hits=(), next_cursor=None, hint=None, commit=None, is_partial=is_partial)
    assert describe_search_caveats(page) == ({"partial": True} if is_partial else {})


@pytest.mark.parametrize("tool", SEARCH_TOOLS)
def test_words_in_no_section_are_listed(dispatcher: ToolDispatcher, repo: Repo, tool: str) -> None:
    repo.commit({"limits.md": "# Rate limits\n\nAn error of the limit is retried.\n"})
    query = "how does RateLimitError retry the Zookeeper quorums -zebra zookeeper"
    data = dispatcher.call(tool, {"query": query}, client="tests").data
    assert data["missing_words"] == ["Zookeeper", "quorums", "zookeeper"]
    assert "missing_words" not in dispatcher.call(tool, {"query": "retries"}, client="tests").data
    data = dispatcher.call(tool, {"query": "retries quorums", "ref": "HEAD~1"}, client="tests").data
    assert data["missing_words"] == ["retries", "quorums"]


def test_missing_words_are_listed_on_the_first_page_alone(dispatcher: ToolDispatcher, repo: Repo) -> None:
    repo.commit({f"{number}.md": "# Page\n\nRetry.\n" for number in range(3)})
    query = {"query": "retry quorum", "limit": 2}
    page = dispatcher.call("search_docs", query, client="tests").data
    assert page["missing_words"] == ["quorum"]
    page = dispatcher.call("search_docs", {**query, "cursor": page["next_cursor"]}, client="tests").data
    assert "missing_words" not in page
