"""The page of statistics: its charts, tables and times, its background count, and its cache in a file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from docyard.caller import Caller, Principal
from docyard.database.errors import DatabaseUnavailable
from docyard.web import growth
from docyard.web.growth import count_growth
from docyard.web.page_request import PageRequest
from docyard.web.statistics.page import render_statistics_page
from docyard.web.statistics.statistics import (
    build_documents,
    build_merge_times,
    build_review_times,
    build_searches,
    build_tasks,
)
from tests.docyard.web.page_server import PageServer, ParsedPage, serve_pages
from tests.repositories import Repo, create_empty_repository, create_repository
from workspace.history.growth import DocumentCounts, Growth, GrowthCounter
from workspace.history.periods import MAX_PERIODS, split_into_periods
from workspace.proposals.review_times import ReviewTimes
from workspace.workspace import Workspace

OPERATOR = Principal("token:operator", "operator", is_operator=True)
FILES = {"a.md": "# A\n\n- [ ] One\n- [x] Two\n", "b.md": "# B\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", FILES)


@pytest.fixture
def server(repo: Repo) -> Iterator[PageServer]:
    with serve_pages(repo.path) as page_server:
        yield page_server


def get(server: PageServer, url: str = "/statistics") -> str:
    """Return the page when its numbers are counted."""
    end_time = time.monotonic() + 10
    while True:
        page = server.get(url)
        assert ParsedPage(page).nesting_errors == []
        if "The history is being counted" not in page:
            return page
        assert time.monotonic() < end_time


def find_file(repo: Repo) -> Path:
    (file,) = (repo.path / ".git/docyard/index").glob("growth-*/counts.json")
    return file


def test_page_has_charts_with_tables_of_their_values(server: PageServer) -> None:
    page = get(server)
    assert page.count('<svg class="chart"') == page.count("<table>") == 2
    assert "2 documents now" in page
    assert "1 open task and 1 done now" in page
    assert "No merges in this time." in page
    parsed = ParsedPage(page)
    ids = {attributes.get("id") for _, attributes in parsed.elements}
    for chart in parsed.find_all("svg"):
        if chart.get("class") == "chart":
            assert set((chart["aria-labelledby"] or "").split()) <= ids
    assert "Searches" not in page


def test_page_is_linked_from_the_tasks(server: PageServer) -> None:
    assert 'href="/statistics"' in server.get("/tasks")


@pytest.mark.parametrize("period", ["month", "year", "all", "nonsense", ""])
def test_time_is_selected(server: PageServer, period: str) -> None:
    page = get(server, f"/statistics?period={period}")
    selected = period if period in ("month", "all") else "year"
    assert f'period={selected}" aria-current="true"' in page


def test_page_shows_a_new_commit(repo: Repo, server: PageServer) -> None:
    assert "2 documents now" in get(server)
    first_commit = repo.head()
    repo.commit({"c.md": "# C\n"})
    assert "3 documents now" in get(server)
    assert "2 documents now" in get(server, f"/statistics?ref={first_commit}")


def test_first_count_runs_in_the_background(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_MAX_WAIT_S", 0)
    response = server.client.get("/statistics")
    assert "The history is being counted" in response.text
    assert response.headers["refresh"] == "3"
    assert "refresh" not in server.client.get("/tasks").headers
    assert "2 documents now" in get(server)


def test_error_of_the_count_is_shown_and_not_cached(
    server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patches:
        patches.setattr(GrowthCounter, "_count_tasks", lambda *_: 1 / 0)
        server.get("/statistics", 500)
    assert "2 documents now" in get(server)


def test_count_that_is_submitted_after_its_end_keeps_its_result(server: PageServer) -> None:
    snapshot = server.workspace.snapshot()
    result = None
    while not isinstance(result, Growth):
        result = server.site.growth_counts.get(server.workspace, snapshot, None, server.site.background)
    (count,) = server.site.growth_counts._counts._values.values()
    assert count.advance()
    assert server.site.growth_counts.get(server.workspace, snapshot, None, server.site.background) is result


@pytest.mark.parametrize("read_only", [False, True])
def test_repository_without_commits_and_detached_head_have_a_page(tmp_path: Path, read_only: bool) -> None:
    empty_repo = create_empty_repository(tmp_path / "empty")
    with serve_pages(empty_repo.path, read_only=read_only) as server:
        assert "0 documents now" in get(server)
    repo = create_repository(tmp_path / "detached", FILES)
    repo.git("checkout", "-q", "--detach")
    with serve_pages(repo.path, read_only=read_only) as server:
        assert "2 documents now" in get(server)


def test_later_process_counts_only_new_trees(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_pages(repo.path) as server:
        get(server)
    with monkeypatch.context() as patches, serve_pages(repo.path) as server:
        patches.setattr(GrowthCounter, "_count_tasks", lambda *_: 1 / 0)
        assert "2 documents now" in get(server)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b'{"format": 1}',
        b"\xff",
        b'{"format":"docyard-growth-1","settings":" ","counts":[]}',
    ],
)
def test_damaged_file_of_counts_is_ignored_and_replaced(repo: Repo, content: bytes) -> None:
    workspace = Workspace.open(repo.path)
    count_growth(workspace, workspace.snapshot(), None, None)
    find_file(repo).write_bytes(content)
    other = Workspace.open(repo.path)
    assert count_growth(other, other.snapshot(), None, None).counts[-1] == (2, 1, 1, 0)
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    assert orjson.loads(find_file(repo).read_bytes())["counts"][tree] == [2, 1, 1, 0]


def test_invalid_counts_of_a_file_are_ignored(repo: Repo) -> None:
    workspace = Workspace.open(repo.path)
    count_growth(workspace, workspace.snapshot(), None, None)
    content = orjson.loads(find_file(repo).read_bytes())
    for counts in ([1, 2, 3], [1, 2, 3, "4"], [True, 1, 1, 1], "abcd", 7):
        content["counts"] = dict.fromkeys(content["counts"], counts)
        find_file(repo).write_bytes(orjson.dumps(content))
        other = Workspace.open(repo.path)
        assert count_growth(other, other.snapshot(), None, None).counts[-1] == (2, 1, 1, 0)


def test_unwritable_cache_is_no_error(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: Path, data: bytes) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(growth, "write_atomically", refuse)
    workspace = Workspace.open(repo.path)
    assert count_growth(workspace, workspace.snapshot(), None, None).counts[-1] == (2, 1, 1, 0)


def render(server: PageServer, **site_values: object) -> str:
    """Return the page for the operator of a server with these values of its site."""
    for name, value in site_values.items():
        object.__setattr__(server.site, name, value)
    get(server)
    caller = Caller(None, "", may_write=True, is_session=True, principal=OPERATOR)
    request = PageRequest(server.site, caller, {}, {})
    return bytes(render_statistics_page(request).body).decode()


def test_operator_sees_recorded_searches(server: PageServer) -> None:
    today = datetime.now(UTC).date()
    page = render(server, has_records=True, read_searches=lambda first, last: {today: (7, 3)})
    assert "7 searches, of which 3 found nothing." in page
    assert 'href="/records"' in page


def test_unavailable_records_are_left_out(server: PageServer) -> None:
    def fail(first_day: date, last_day: date) -> dict[date, tuple[int, int]]:
        raise DatabaseUnavailable("down", "the database does not answer", "Start it.")

    assert "of which" not in render(server, has_records=True, read_searches=fail)


def test_page_of_the_most_periods_is_small(server: PageServer) -> None:
    last_day = datetime.now(UTC).date()
    first_day = last_day - timedelta(7 * (MAX_PERIODS - 1))
    periods = split_into_periods(first_day, last_day)
    days = [first_day + timedelta(7 * number) for number in range(MAX_PERIODS)]
    counts = [DocumentCounts(10_000 + number, 2_000 - number, 3_000) for number in range(MAX_PERIODS)]
    times = []
    for day in days:
        opened_at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        times += [
            ReviewTimes("k7m2q9xa", opened_at, opened_at + hours, opened_at + 2 * hours)
            for hours in (timedelta(hours=2), timedelta(hours=5))
        ]
    growing = Growth(periods, counts, [None] * MAX_PERIODS, "")
    request = PageRequest(server.site, Caller(None, "", may_write=True, is_session=True), {}, {})
    response = request.page(
        "statistics.html",
        periods={"all": "All"},
        period="all",
        progress=None,
        statistics=[
            build_documents(growing),
            build_tasks(growing),
            build_review_times(times, first_day, last_day),
            build_merge_times(times, first_day, last_day),
            build_searches(dict.fromkeys(days, (1_200, 34)), first_day, last_day),
        ],
        is_complete=True,
        first_day=first_day,
    )
    page = bytes(response.body).decode()
    assert page.count("<path class=") == 1 + 1 + 2 + 2 + 2
    assert page.count('<th scope="row">') == 5 * MAX_PERIODS
    assert len(page) <= 60_000
