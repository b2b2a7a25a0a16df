"""Pages of seven results, while a person commits: each result once, or a stale cursor."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.server import Server, serving
from tests.repositories import Repo, create_repository

LIMIT = 7
COMMITS = 4
PAGES, SECTIONS = 20 + COMMITS, 70  # each commit removes the word from a page


def page(number: int, word: str = "heron") -> str:
    sections = "".join(f"## Part {part}\n\nA {word} in part {part}.\n\n" for part in range(SECTIONS))
    return f"# Page {number}\n\n{sections}"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(
        tmp_path / "docs", {f"page-{number:02}.md": page(number) for number in range(PAGES)}
    )


@pytest.fixture
def server(repo: Repo, home: Path) -> Iterator[Server]:
    with serving(repo.path, home) as server:
        yield server


def test_each_result_is_returned_once_or_cursor_is_stale(server: Server, repo: Repo) -> None:
    rng = random.Random(7)
    commit_points = sorted(rng.sample(range(1, 230), COMMITS))  # by the number of requested pages
    request_count = commit_count = stale_count = 0
    results: list[str] = []
    cursor: str | None = None
    expected = PAGES * SECTIONS
    while True:
        if request_count in commit_points:
            repo.commit({f"page-{commit_count:02}.md": page(commit_count, "kestrel")})
            commit_count, expected = commit_count + 1, expected - SECTIONS
        request_count += 1
        cursor_field = {} if cursor is None else {"cursor": cursor}
        response = server.call("search_docs", query="heron", limit=LIMIT, **cursor_field)
        if response.is_error:
            assert response.data["code"] == "CURSOR_STALE"
            assert results, "a first page is never stale"
            stale_count, cursor, results = stale_count + 1, None, []
            continue
        results += [hit["chunk_id"] for hit in response.data["hits"]]
        assert {hit["source_commit"] for hit in response.data["hits"]} <= {response.data["commit"]}
        cursor = response.data["next_cursor"]
        if cursor is None:
            break
        assert len(response.data["hits"]) == LIMIT
    assert len(results) == len(set(results)) == expected
    assert commit_count == COMMITS
    assert 0 < stale_count <= commit_count
