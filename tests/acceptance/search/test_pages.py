"""Result pages while a person commits: each result is returned once, or the cursor is stale."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.server import Server, serve_repository
from tests.repositories import Repo, create_repository

PAGE_SIZE = 7
COMMIT_COUNT = 4
DOCUMENT_COUNT, SECTION_COUNT = 20 + COMMIT_COUNT, 70  # each commit removes the word from a document


def make_document(number: int, word: str = "heron") -> str:
    sections = "".join(f"## Part {part}\n\nA {word} in part {part}.\n\n" for part in range(SECTION_COUNT))
    return f"# Page {number}\n\n{sections}"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(
        tmp_path / "docs", {f"page-{number:02}.md": make_document(number) for number in range(DOCUMENT_COUNT)}
    )


@pytest.fixture
def server(repo: Repo, home: Path) -> Iterator[Server]:
    with serve_repository(repo.path, home) as server:
        yield server


def test_each_result_is_returned_once_or_cursor_is_stale(server: Server, repo: Repo) -> None:
    rng = random.Random(7)
    commit_points = sorted(rng.sample(range(1, 230), COMMIT_COUNT))  # by the number of requested pages
    request_count = commit_count = stale_count = 0
    results: list[str] = []
    cursor: str | None = None
    expected = DOCUMENT_COUNT * SECTION_COUNT
    while True:
        if request_count in commit_points:
            repo.commit({f"page-{commit_count:02}.md": make_document(commit_count, "kestrel")})
            commit_count, expected = commit_count + 1, expected - SECTION_COUNT
        request_count += 1
        cursor_field = {} if cursor is None else {"cursor": cursor}
        response = server.call("search_docs", query="heron", limit=PAGE_SIZE, **cursor_field)
        if response.is_error:
            assert response.data["code"] == "CURSOR_STALE"
            assert results, "a first page is never stale"
            stale_count, cursor, results = stale_count + 1, None, []
            continue
        results += [hit["chunk_id"] for hit in response.data["hits"]]
        assert response.data["commit"] == repo.head()
        assert response.data["blobs"].keys() == {hit["filepath"] for hit in response.data["hits"]}
        cursor = response.data["next_cursor"]
        if cursor is None:
            break
        assert len(response.data["hits"]) == PAGE_SIZE
    assert len(results) == len(set(results)) == expected
    assert commit_count == COMMIT_COUNT
    assert 0 < stale_count <= commit_count
