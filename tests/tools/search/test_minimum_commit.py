"""`min_commit`: a read answers from this commit or a later one, or reports that it is behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from index.postgres.options import create_engine_options
from index.service import SearchIndex
from tests.databases import postgres  # noqa: F401
from tests.loops import loop_over
from tests.postgres_server import PostgresServer, run_postgres
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

MEMO = {"new.md": "# New\n\nAn okapi.\n"}
DOWN_URL = "postgresql://docyard@127.0.0.1:1/docyard"


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.search.minimum_commit.MAX_WAIT_S", 0.1)


def test_answer_contains_the_commit_that_a_write_returned(call_tool: CallTool) -> None:
    created = call_tool("create_document", doc_type="document", title="New", initial_content="An okapi.")
    later = call_tool("create_document", doc_type="document", title="Other").data["commit"]
    for commit in (created.data["commit"], created.data["commit"][:7].upper(), later):
        found = call_tool("search_docs", query="okapi", min_commit=commit)
        assert [hit["filepath"] for hit in found.data["hits"]] == ["new.md"]
        read = call_tool("get_doc", chunk_id="new.md#_preamble", min_commit=commit)
        assert [found.data["commit"], read.data["commit"]] == [later, later]
        assert "behind" not in {**found.data, **read.data}


@loop_over(
    ("commit", "code"),
    [
        ("0" * 40, "UNKNOWN_COMMIT"),
        ("abcdef12", "UNKNOWN_COMMIT"),
        ("abc", "INVALID_ARGUMENTS"),
        ("main", "INVALID_ARGUMENTS"),
        ("", "INVALID_ARGUMENTS"),
        ("g" * 40, "INVALID_ARGUMENTS"),
        ("0" * 41, "INVALID_ARGUMENTS"),
    ],
)
def test_unknown_and_malformed_commits_are_refused_at_once(
    call_tool: CallTool, commit: str, code: str
) -> None:
    start = time.monotonic()
    for tool, fields in (("search_docs", {"query": "paths"}), ("get_doc", {"chunk_id": "api.md#endpoints"})):
        answer = call_tool(tool, **fields, min_commit=commit)
        assert answer.is_error
        assert answer.data["code"] == code, commit
        assert "min_commit" in answer.data["fix"]
    assert time.monotonic() - start < 2


def test_commit_of_another_branch_is_reported_and_found_at_its_ref(call_tool: CallTool, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "other")
    commit = repo.commit(MEMO)
    repo.git("checkout", "-q", "main")
    data = call_tool("search_docs", query="paths", min_commit=commit).data
    assert data["behind"]["code"] == "BEHIND_MIN_COMMIT"
    assert data["behind"]["min_commit"] == commit
    assert data["hits"]
    found = call_tool("search_docs", query="okapi", min_commit=commit, ref="other").data
    assert (found["commit"], "behind" in found) == (commit, False)


@pytest.mark.guarantee
def test_node_whose_clone_lacks_the_commit_reports_that_it_is_behind(
    dispatcher: ToolDispatcher, call_tool: CallTool, repo: Repo, short_wait: None
) -> None:
    repo.git("remote", "add", "origin", "https://example.org/docs.git")
    requests: list[None] = []
    dispatcher.request_fetch = lambda: requests.append(None)
    data = call_tool("search_docs", query="paths", min_commit="0" * 40).data
    assert data["hits"]
    assert data["behind"]["commit"] == data["commit"] == repo.head()
    assert "earlier commit" in data["behind"]["message"]
    assert requests
    refused = call_tool("get_doc", chunk_id="new.md#_preamble", min_commit="0" * 40)
    assert (refused.is_error, refused.data["code"]) == (True, "BEHIND_MIN_COMMIT")
    assert "not found" in refused.data["error"]


def test_read_waits_until_the_clone_has_the_commit(
    dispatcher: ToolDispatcher, call_tool: CallTool, repo: Repo
) -> None:
    repo.git("remote", "add", "origin", "https://example.org/docs.git")
    base = repo.head()
    commit = repo.commit(MEMO)
    repo.git("reset", "-q", "--hard", base)
    timer = threading.Timer(0.3, lambda: repo.git("merge", "-q", "--ff-only", commit))
    dispatcher.request_fetch = lambda: timer.is_alive() or timer.ident or timer.start()
    data = call_tool("search_docs", query="okapi", min_commit=commit).data
    timer.join()
    assert [hit["filepath"] for hit in data["hits"]] == ["new.md"]
    assert "behind" not in data


@pytest.fixture(scope="module")
def replica(postgres: PostgresServer) -> Iterator[PostgresServer]:  # noqa: F811
    with run_postgres(primary=postgres) as server:
        yield server


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


@pytest.mark.process
@pytest.mark.guarantee
def test_replica_that_lags_is_not_waited_for(
    repo: Repo,
    postgres: PostgresServer,  # noqa: F811
    replica: PostgresServer,
    tmp_path: Path,
) -> None:
    url = postgres.create_database()
    replica_url = replica.build_url(url.rpartition("/")[2])

    def open_client(name: str, read_url: str | None) -> CallTool:
        workspace = Workspace.open(repo.path, durable=False)
        engine = create_engine_options(url, read_url)._replace(repository="docs")
        index = SearchIndex(workspace, location=tmp_path / name, engine=engine)
        return make_client(ToolDispatcher(workspace, index, None, False))

    writer = open_client("writer", None)
    writer("search_docs", query="paths")
    reader = open_client("reader", replica_url)
    reader("search_docs", query="paths")
    execute(replica.build_url("postgres"), "SELECT pg_wal_replay_pause()")
    try:
        commit = repo.commit(MEMO)
        writer("search_docs", query="okapi")
        start = time.monotonic()
        data = reader("search_docs", query="okapi", min_commit=commit).data
        assert [hit["filepath"] for hit in data["hits"]] == ["new.md"]
        assert (data["commit"], "behind" in data) == (commit, False)
        assert time.monotonic() - start < 3
    finally:
        execute(replica.build_url("postgres"), "SELECT pg_wal_replay_resume()")


@pytest.mark.process
@pytest.mark.guarantee
def test_index_that_cannot_be_updated_is_reported(repo: Repo, tmp_path: Path, short_wait: None) -> None:
    with run_postgres() as server:
        url = server.create_database()
        workspace = Workspace.open(repo.path, durable=False)
        index = SearchIndex(workspace, location=tmp_path / "node", engine=create_engine_options(url))
        call_tool = make_client(ToolDispatcher(workspace, index, None, False))
        base = call_tool("search_docs", query="paths").data["commit"]
        server.stop()
        commit = repo.commit(MEMO)
        data = call_tool("search_docs", query="paths", min_commit=commit).data
        assert (data["commit"], data["stale"], data["behind"]["commit"]) == (base, True, base)
        server.start()
