"""Cursors, which are valid for their own list, user and commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import Reply, Server, serving
from tests.loops import loop_over
from tests.repositories import Repo, create_repository

FILES = {
    "docyard.toml": "[taxonomy.language]\n",
    **{f"g/{n}.md": f"---\nlanguage: l{n % 2}\n---\n# P{n}\n\nA quagga.\n" for n in range(8)},
}
SEARCH = {"query": "quagga", "limit": 3}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(tmp_path_factory.mktemp("cursors") / "docs", FILES)


@pytest.fixture(scope="module")
def server(repo: Repo, home: Path) -> Iterator[Server]:
    with serving(repo.path, home) as server:
        yield server


def get_cursor(server: Server) -> str:
    cursor = server.call("search_docs", **SEARCH).data["next_cursor"]
    assert isinstance(cursor, str)
    return cursor


def get_next_page(server: Server, cursor: str, **arguments: Any) -> Reply:
    return server.call("search_docs", **{**SEARCH, "cursor": cursor, **arguments})


@loop_over(
    "other",
    [
        {"query": "quaggas"},
        {"query": "quagga "},
        {"language": "l1"},
        {"path": "g"},
        {"path": ""},
    ],
)
def test_cursor_of_other_search_is_refused(server: Server, other: dict[str, Any]) -> None:
    cursor = get_cursor(server)
    refused = get_next_page(server, cursor, **other)
    assert refused.is_error
    assert refused.data["code"] == "INVALID_CURSOR"
    assert "another query or other filters" in refused.data["error"]
    assert refused.data["fix"]
    corrected = server.call("search_docs", **refused.data["example"])
    assert not corrected.is_error


def test_cursor_of_other_tool_is_refused(server: Server) -> None:
    list_cursor = server.call("list_documents", limit=2).data["next_cursor"]
    assert get_next_page(server, list_cursor).data["code"] == "INVALID_CURSOR"
    assert server.call("list_documents", cursor=get_cursor(server)).data["code"] == "INVALID_CURSOR"


def test_cursor_of_other_user_is_refused(server: Server, repo: Repo, tmp_path: Path) -> None:
    with serving(repo.path, tmp_path / "other") as other:
        refused = get_next_page(other, get_cursor(server))
    assert refused.data["code"] == "INVALID_CURSOR"
    assert "was not issued by this server" in refused.data["error"]


def test_page_can_have_other_size_and_be_repeated(server: Server) -> None:
    cursor = get_cursor(server)
    first_result, second_result = (get_next_page(server, cursor, limit=2).data["hits"] for _ in range(2))
    assert first_result == second_result == get_next_page(server, cursor, limit=50).data["hits"][:2]


def test_cursor_is_stale_only_for_other_commit(server: Server, repo: Repo) -> None:
    cursor, first = get_cursor(server), repo.head()
    page = get_next_page(server, cursor).data["hits"]
    repo.git("switch", "-q", "-c", "same")
    assert get_next_page(server, cursor).data["hits"] == page

    second = repo.commit({"g/8.md": "# New\n\nA quagga.\n"})
    stale = get_next_page(server, cursor)
    assert stale.is_error
    assert stale.data["code"] == "CURSOR_STALE"
    assert (stale.data["cursor_commit"], stale.data["commit"]) == (first, second)

    repo.git("switch", "-q", "main")
    assert get_next_page(server, cursor).data["hits"] == page
