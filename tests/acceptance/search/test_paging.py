"""Pages of seven results, while a person commits: each result once, or a stale cursor."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.server import Server, serving
from tests.repositories import Repo, normal

LIMIT = 7
COMMITS = 4
PAGES, SECTIONS = 20 + COMMITS, 70  # each commit takes the word out of one page


def page(number: int, word: str = "heron") -> str:
    sections = "".join(f"## Part {part}\n\nA {word} in part {part}.\n\n" for part in range(SECTIONS))
    return f"# Page {number}\n\n{sections}"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return normal(tmp_path / "docs", {f"page-{number:02}.md": page(number) for number in range(PAGES)})


@pytest.fixture
def server(repo: Repo, home: Path) -> Iterator[Server]:
    with serving(repo.path, home) as server:
        yield server


def test_each_result_is_returned_once_or_cursor_is_stale(server: Server, repo: Repo) -> None:
    chance = random.Random(7)
    moments = sorted(chance.sample(range(1, 230), COMMITS))  # by the number of requested pages
    requested = committed = stale = 0
    found: list[str] = []
    cursor: str | None = None
    expected = PAGES * SECTIONS
    while True:
        if requested in moments:
            repo.commit({f"page-{committed:02}.md": page(committed, "kestrel")})
            committed, expected = committed + 1, expected - SECTIONS
        requested += 1
        more = {} if cursor is None else {"cursor": cursor}
        answer = server.call("search_docs", query="heron", limit=LIMIT, **more)
        if answer.is_error:
            assert answer.data["code"] == "CURSOR_STALE"
            assert found, "a first page is never stale"
            stale, cursor, found = stale + 1, None, []
            continue
        found += [hit["chunk_id"] for hit in answer.data["hits"]]
        assert {hit["source_commit"] for hit in answer.data["hits"]} <= {answer.data["commit"]}
        cursor = answer.data["next_cursor"]
        if cursor is None:
            break
        assert len(answer.data["hits"]) == LIMIT
    assert len(found) == len(set(found)) == expected
    assert committed == COMMITS
    assert 0 < stale <= committed
