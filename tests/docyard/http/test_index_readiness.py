"""`/readyz` of a node that shares its indexes with others in PostgreSQL."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest

from docyard.http.health import IndexReadiness, PartState
from docyard.service import RepositoryIndex, build_repository_service
from index.live import IndexLag
from index.postgres.database import Database
from index.postgres.options import EngineOptions, create_engine_options
from index.service import SearchIndex
from index.sources.settings import SourceSettings
from index.sources.source import Source, SourceUnavailable
from tests.databases import postgres  # noqa: F401
from tests.postgres_server import PostgresServer, run_postgres
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

OpenNode = Callable[..., SearchIndex]
DOWN_URL = "postgresql://docyard@127.0.0.1:1/docs"
BEHIND_CLONE = "the index is behind the tip of the clone"
BEHIND_DATABASE = "the clone is behind a commit that another node has indexed"
REPLICA_BEHIND = "the replica of the engine's database is behind the primary server"
REPLICA_DOWN = "the replica of the engine's database cannot be reached"
UNREACHABLE = "the engine's database cannot be reached"


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repository", {"a.md": "# Guide\n\nRetries after errors.\n"})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_node(tmp_path: Path) -> OpenNode:
    def open_index(name: str, path: Path, url: str) -> SearchIndex:
        engine = EngineOptions(Database(url), repository="docs")
        return SearchIndex(Workspace.open(path), location=tmp_path / name, engine=engine)

    return open_index


def build_readiness(index: SearchIndex, clock: Clock) -> IndexReadiness:
    shared_index = RepositoryIndex(index)
    return IndexReadiness(lambda: [shared_index], 60.0, clock)


def list_reasons(state: PartState) -> list[str]:
    return [reason for entry in state.details for reason in entry["reasons"]]


@pytest.mark.guarantee
def test_node_whose_clone_lags_behind_another_node_is_not_ready_after_the_limit(
    repo: Repo,
    postgres: PostgresServer,  # noqa: F811
    open_node: OpenNode,
    tmp_path: Path,
    clock: Clock,
) -> None:
    url = postgres.create_database()
    clone = Repo(shutil.copytree(repo.path, tmp_path / "clone"))
    first, late = open_node("first", repo.path, url), open_node("late", clone.path, url)
    late.update_to_tip()
    readiness = build_readiness(late, clock)
    assert readiness.describe() == PartState(True, False, [])
    repo.commit({"new.md": "# New\n\nAn okapi.\n"})
    first.update_to_tip()
    assert build_readiness(first, clock).describe() == PartState(True, False, [])
    state = readiness.describe()
    assert (state.is_ok, list_reasons(state)) == (True, [BEHIND_DATABASE])
    clock.now = 61.0
    assert readiness.describe()[:2] == (False, True)
    assert "docs" not in str(readiness.describe().details)
    clone.git("fetch", "-q", str(repo.path), "main")
    clone.git("reset", "--hard", "-q", "FETCH_HEAD")
    late.update_to_tip()
    assert readiness.describe() == PartState(True, False, [])


def test_index_that_lags_is_updated_without_a_search(
    repo: Repo,
    postgres: PostgresServer,  # noqa: F811
    open_node: OpenNode,
    clock: Clock,
) -> None:
    node = open_node("first", repo.path, postgres.create_database())
    readiness = build_readiness(node, clock)
    assert readiness.describe() == PartState(True, False, [])  # it was not used yet
    old_commit = node.update_to_tip()
    repo.commit({"new.md": "# New\n\nAn okapi.\n"})
    assert list_reasons(readiness.describe()) == [BEHIND_CLONE]
    for thread in threading.enumerate():
        if thread.name == "docyard-index":
            thread.join(30)
    assert readiness.describe() == PartState(True, False, [])
    repo.git("reset", "--hard", "-q", str(old_commit))
    assert readiness.describe() == PartState(True, False, [])  # the index has all commits of the branch


@pytest.mark.guarantee
def test_node_whose_replica_lags_is_not_ready_after_the_limit(
    repo: Repo,
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
    clock: Clock,
) -> None:
    url = postgres.create_database()
    with run_postgres(primary=postgres) as replica:
        replica_url = replica.build_url(url.rpartition("/")[2])
        engine = create_engine_options(url, replica_url)._replace(repository="docs")
        node = SearchIndex(Workspace.open(repo.path), location=tmp_path / "node", engine=engine)
        node.update_to_tip()
        readiness = build_readiness(node, clock)
        wait_until_ready(readiness)
        with psycopg.connect(replica.build_url("postgres"), autocommit=True) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
            repo.commit({"new.md": "# New\n\nAn okapi.\n"})
            node.update_to_tip()
            state = readiness.describe()
            assert (state.is_ok, list_reasons(state)) == (True, [REPLICA_BEHIND])
            clock.now = 61.0
            assert readiness.describe()[:2] == (False, True)
            connection.execute("SELECT pg_wal_replay_resume()")
            wait_until_ready(readiness)
            # A replica that is a moment behind each time it is asked does not lag.
            connection.execute("SELECT pg_wal_replay_pause()")
            repo.commit({"new.md": "# New\n\nA quagga.\n"})
            node.update_to_tip()
            assert list_reasons(readiness.describe()) == [REPLICA_BEHIND]
            connection.execute("SELECT pg_wal_replay_resume()")
        wait_until_ready(readiness)
        clock.now = 200.0
        replica.stop()
        state = readiness.describe()
        assert (state[:2], list_reasons(state)) == ((False, False), [REPLICA_DOWN])
        replica.start()


def test_replica_that_always_follows_after_a_moment_does_not_lag(clock: Clock) -> None:
    lags: list[IndexLag] = []

    class MovingIndex:
        name = ""

        def read_lag(self) -> IndexLag:
            return lags[-1]

        def open(self) -> AbstractContextManager[Any]:
            return nullcontext(self)

    index = MovingIndex()
    readiness = IndexReadiness(lambda: [index], 60.0, clock)
    for number in range(10):
        lags.append(IndexLag(True, False, False, True, number + 1, number))
        assert readiness.describe()[:2] == (True, False)
        clock.now += 50.0
    for _ in range(2):
        state = readiness.describe()
        clock.now += 50.0
    assert state[:2] == (False, True)


def wait_until_ready(readiness: IndexReadiness) -> None:
    deadline = time.monotonic() + 10
    while readiness.describe() != PartState(True, False, []):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_database_that_is_down_makes_only_a_node_without_an_index_unready(
    repo: Repo, open_node: OpenNode, clock: Clock
) -> None:
    with run_postgres() as server:
        url = server.create_database()
        node, new_node = open_node("first", repo.path, url), open_node("second", repo.path, url)
        node.update_to_tip()
        server.stop()
        state = build_readiness(node, clock).describe()
        assert (state[:2], list_reasons(state)) == ((False, False), [UNREACHABLE])
        state = build_readiness(new_node, clock).describe()
        assert (state[:2], list_reasons(state)) == ((False, True), [UNREACHABLE])
        server.start()


def test_sources_without_an_index_and_without_the_database_are_unready(
    repo: Repo, tmp_path: Path, clock: Clock
) -> None:
    folders = (tmp_path, tmp_path / "clones", tmp_path / "indexes")
    settings = SourceSettings(repo=str(repo.path))
    source = Source("docs", settings, *folders, engine=EngineOptions(Database(DOWN_URL)))
    readiness = IndexReadiness(lambda: [source], 60.0, clock)
    assert readiness.describe()[:2] == (False, True)
    with pytest.raises(SourceUnavailable):
        source.search("errors", 10)
    # The source is not opened again for a moment.
    assert readiness.describe()[:2] == (False, True)
    in_files = Source("docs", settings, *folders)
    assert IndexReadiness(lambda: [in_files], 60.0, clock).describe() == PartState(True, False, [])


def test_service_lists_the_index_that_nodes_share(repo: Repo) -> None:
    workspace = Workspace.open(repo.path)
    in_files = build_repository_service(workspace, None, read_only=True, syncs=False)
    assert in_files.list_shared_indexes is None
    engine = EngineOptions(Database(DOWN_URL))
    shared = build_repository_service(workspace, None, read_only=True, syncs=False, engine=engine)
    assert shared.list_shared_indexes is not None
    assert [index.name for index in shared.list_shared_indexes()] == [""]
    in_files.close()
    shared.close()
