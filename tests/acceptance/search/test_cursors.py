"""Cursors, which are valid only for their own list, user and commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import Server, ToolResponse, serve_repository
from tests.loops import loop_over
from tests.repositories import Repo, create_repository

FILES = {
    "docyard.toml": "[taxonomy.language]\n",
    **{
        f"g/{number}.md": f"---\nlanguage: l{number % 2}\n---\n# P{number}\n\nA quagga.\n"
        for number in range(8)
    },
}
SEARCH_ARGUMENTS = {"query": "quagga", "limit": 3}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(tmp_path_factory.mktemp("cursors") / "docs", FILES)


@pytest.fixture(scope="module")
def server(repo: Repo, home: Path) -> Iterator[Server]:
    with serve_repository(repo.path, home) as server:
        yield server


def get_cursor(server: Server) -> str:
    cursor = server.call("search_docs", **SEARCH_ARGUMENTS).data["next_cursor"]
    assert isinstance(cursor, str)
    return cursor


def get_next_page(server: Server, cursor: str, **arguments: Any) -> ToolResponse:
    return server.call("search_docs", **{**SEARCH_ARGUMENTS, "cursor": cursor, **arguments})


@loop_over(
    "other_arguments",
    [
        {"query": "quaggas"},
        {"query": "quagga "},
        {"language": "l1"},
        {"path": "g"},
        {"path": ""},
    ],
)
def test_cursor_of_other_search_is_refused(server: Server, other_arguments: dict[str, Any]) -> None:
    cursor = get_cursor(server)
    response = get_next_page(server, cursor, **other_arguments)
    assert response.is_error
    assert response.data["code"] == "INVALID_CURSOR"
    assert "another query or other filters" in response.data["error"]
    assert response.data["fix"]
    example_response = server.call("search_docs", **response.data["example"])
    assert not example_response.is_error


def test_cursor_of_other_tool_is_refused(server: Server) -> None:
    list_cursor = server.call("list_documents", limit=2).data["next_cursor"]
    assert get_next_page(server, list_cursor).data["code"] == "INVALID_CURSOR"
    assert server.call("list_documents", cursor=get_cursor(server)).data["code"] == "INVALID_CURSOR"


def test_cursor_of_other_user_is_refused(server: Server, repo: Repo, tmp_path: Path) -> None:
    with serve_repository(repo.path, tmp_path / "other") as other_server:
        response = get_next_page(other_server, get_cursor(server))
    assert response.data["code"] == "INVALID_CURSOR"
    assert "was not issued by this server" in response.data["error"]


def test_page_can_have_other_size_and_be_repeated(server: Server) -> None:
    cursor = get_cursor(server)
    first_result, second_result = (get_next_page(server, cursor, limit=2).data["hits"] for _ in range(2))
    assert first_result == second_result == get_next_page(server, cursor, limit=50).data["hits"][:2]


def test_cursor_is_stale_only_for_other_commit(server: Server, repo: Repo) -> None:
    cursor, first_commit = get_cursor(server), repo.head()
    page = get_next_page(server, cursor).data["hits"]
    repo.git("switch", "-q", "-c", "same")
    assert get_next_page(server, cursor).data["hits"] == page

    second_commit = repo.commit({"g/8.md": "# New\n\nA quagga.\n"})
    response = get_next_page(server, cursor)
    assert response.is_error
    assert response.data["code"] == "CURSOR_STALE"
    assert (response.data["cursor_commit"], response.data["commit"]) == (first_commit, second_commit)

    repo.git("switch", "-q", "main")
    assert get_next_page(server, cursor).data["hits"] == page
