"""Nodes that share one index in PostgreSQL: writes at the same time, faults, and what a node keeps."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from index.documents import IndexedDocument
from index.port import BaseMoved, EngineUnavailable, State
from index.postgres import heads, storage
from index.postgres.database import Database
from index.query import parse_query
from index.storage.location import make_private_folder
from index.storage.manifest import IndexDamaged
from index.whoosh_engine.engine import WhooshEngine
from tests.index.documents import make_document
from tests.index.engines import Commit
from tests.index.postgres.conftest import OpenNode
from tests.index.storage.damage import replace_file
from tests.postgres_server import PostgresServer, run_postgres

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]
DOWN_URL = "postgresql://docyard@127.0.0.1:1/docs"


def search(node: WhooshEngine, query: str = "retry") -> list[str]:
    return [hit.record.path for hit in node.search(parse_query(query)).hits]


def apply(node: WhooshEngine, base: str | None, commit: str, *names: str) -> State:
    return node.apply(base, commit, [make_document(name, "retry") for name in names], ())


def rebuild(node: WhooshEngine, commit: str, *names: str) -> State:
    return node.rebuild(Commit(commit, {name: make_document(name, "retry") for name in names}))


def read_state(node: WhooshEngine) -> State:
    state = node.state()
    assert state is not None
    return state


def query_value(url: str, statement: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement).fetchone()
    return row[0] if row else None


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def list_segment_files(node_folder: Path) -> list[Path]:
    return sorted((node_folder / "index" / "segments").glob("MAIN_*.flat"))


def run_before_call(monkeypatch: pytest.MonkeyPatch, name: str, action: Callable[[], object]) -> None:
    """Run `action` once, immediately before the storage calls a function."""
    original, pending_actions = getattr(storage, name), [action]

    def run_action_and_call(*arguments: Any) -> Any:
        while pending_actions:
            pending_actions.pop()()
        return original(*arguments)

    monkeypatch.setattr(storage, name, run_action_and_call)


@pytest.mark.guarantee
def test_second_of_two_concurrent_writers_gets_base_moved(open_node: OpenNode) -> None:
    first, second = open_node("first"), open_node("second")
    apply(first, None, "c1", "a.md")
    assert read_state(second).commit == "c1"

    def write_meanwhile() -> Iterator[IndexedDocument]:
        apply(first, "c1", "c2", "b.md")
        yield make_document("c.md", "retry")

    with pytest.raises(BaseMoved) as error:
        second.apply("c1", "c2", write_meanwhile(), ())
    assert error.value.details["commit"] == "c2"
    assert read_state(second).commit == "c2"
    assert search(first) == search(second) == ["a.md", "b.md"]
    apply(second, "c2", "c3", "c.md")
    assert read_state(first).commit == "c3"
    assert search(first) == search(second) == ["a.md", "b.md", "c.md"]


def test_second_of_two_first_commits_gets_base_moved(open_node: OpenNode) -> None:
    first, second = open_node("first"), open_node("second")

    def write_meanwhile() -> Iterator[IndexedDocument]:
        apply(first, None, "c1", "a.md")
        yield make_document("b.md", "retry")

    with pytest.raises(BaseMoved):
        second.apply(None, "c1", write_meanwhile(), ())
    assert (read_state(second).commit, search(second)) == ("c1", ["a.md"])


@pytest.mark.parametrize("accepts_other", [False, True])
def test_rebuild_that_is_overtaken_replaces_or_returns_the_other_index(
    open_node: OpenNode, monkeypatch: pytest.MonkeyPatch, accepts_other: bool
) -> None:
    first, second = open_node("first"), open_node("second")
    apply(first, None, "c1", "a.md")
    run_before_call(monkeypatch, "set_head", lambda: apply(first, "c1", "c2", "b.md"))
    source = Commit("c3", {"c.md": make_document("c.md", "retry")})
    state = second.rebuild(source, unless=lambda state: accepts_other and state.commit == "c2")
    assert state.commit == ("c2" if accepts_other else "c3")
    expected = ["a.md", "b.md"] if accepts_other else ["c.md"]
    assert read_state(first).commit == state.commit
    assert search(first) == search(second) == expected


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from index.postgres import storage
from index.whoosh_engine.engine import WhooshEngine
from tests.index.documents import make_document
from tests.index.engines import open_postgres_storage

storage.set_head = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
engine = WhooshEngine(open_postgres_storage(Path(sys.argv[1]), sys.argv[2]), lambda record: b"")
engine.apply("c1", "c2", [make_document("b.md", "retry")], ())
"""


@pytest.mark.guarantee
def test_node_killed_between_segments_and_head_leaves_nothing_visible(
    open_node: OpenNode, url: str, tmp_path: Path
) -> None:
    node = open_node("first")
    apply(node, None, "c1", "a.md")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_WRITER, str(tmp_path / "first"), url], cwd=ROOT, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    other_node = open_node("second")
    assert (read_state(other_node).commit, search(other_node)) == ("c1", ["a.md"])
    assert query_value(url, "SELECT count(DISTINCT segment_id) FROM docyard_index_segments") == 1
    assert apply(node, "c1", "c2", "b.md").commit == "c2"
    assert search(other_node) == ["a.md"]
    assert (read_state(other_node).commit, search(other_node)) == ("c2", ["a.md", "b.md"])


def test_node_downloads_only_segments_that_it_lacks(
    open_node: OpenNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads: list[list[str]] = []
    original = storage.read_segments

    def record_and_read(connection: Any, namespace_id: str, ids: Any) -> Any:
        downloads.append(ids)
        return original(connection, namespace_id, ids)

    monkeypatch.setattr(storage, "read_segments", record_and_read)
    writer, reader = open_node("writer"), open_node("reader")
    rebuild(writer, "c1", *(f"{number}.md" for number in range(100)))
    read_state(reader)
    apply(writer, "c1", "c2", "new.md")
    read_state(reader)
    assert [len(ids) for ids in downloads] == [1, 1]
    restarted_reader = open_node("reader")
    assert read_state(restarted_reader).commit == "c2"
    assert len(search(restarted_reader)) == 10
    assert len(downloads) == 2


def test_missing_or_damaged_local_files_are_downloaded_again(open_node: OpenNode, tmp_path: Path) -> None:
    writer, reader = open_node("writer"), open_node("reader")
    apply(writer, None, "c1", "a.md")
    assert search(reader) == ["a.md"]
    [file] = list_segment_files(tmp_path / "reader")
    original_data = file.read_bytes()
    replace_file(file, original_data[:-8] + bytes(8)[::-1] + b"x")
    assert reader.serving_state() is not None
    assert (search(reader), file.read_bytes()) == (["a.md"], original_data)
    replace_file(file, b"")
    restarted_reader = open_node("reader")
    assert (search(restarted_reader), file.read_bytes()) == (["a.md"], original_data)
    shutil.rmtree(tmp_path / "reader" / "index")
    assert search(restarted_reader) == ["a.md"]  # from the open files
    assert search(open_node("reader")) == ["a.md"]
    assert file.read_bytes() == original_data


def test_node_without_a_writable_folder_has_segments_in_memory(open_node: OpenNode, tmp_path: Path) -> None:
    writer = open_node("writer")
    apply(writer, None, "c1", "a.md")
    (tmp_path / "reader").mkdir()
    (tmp_path / "reader" / "index").touch()
    reader = open_node("reader")
    assert search(reader) == ["a.md"]
    apply(reader, "c1", "c2", "b.md")
    assert (read_state(writer).commit, search(writer)) == ("c2", ["a.md", "b.md"])
    rebuild(reader, "c3", "c.md")
    assert (read_state(writer).commit, search(writer)) == ("c3", ["c.md"])


def test_node_with_a_full_disk_has_segments_in_memory(
    open_node: OpenNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = open_node("writer"), open_node("reader")
    apply(writer, None, "c1", "a.md")

    def refuse(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("index.postgres.segment_files.write_parts_atomically", refuse)
    assert search(reader) == ["a.md"]


def test_stopped_database_leaves_the_open_index_and_is_used_again(
    tmp_path: Path, open_node: OpenNode
) -> None:
    with run_postgres() as server:
        url = server.create_database()
        node, other_node = open_node("first", url=url), open_node("second", url=url)
        apply(node, None, "c1", "a.md")
        assert read_state(other_node).commit == "c1"
        server.stop()
        with pytest.raises(EngineUnavailable) as error:
            node.state()
        assert "docyard@" not in str(error.value)
        assert "127.0.0.1" not in str(error.value)
        with pytest.raises(EngineUnavailable):
            apply(node, "c1", "c2", "b.md")
        assert node.serving_state() == other_node.serving_state()
        assert search(node) == search(other_node) == ["a.md"]
        start = time.monotonic()
        with pytest.raises(EngineUnavailable):
            node.state()
        assert time.monotonic() - start < 0.1
        server.start()
        time.sleep(1.1)
        assert apply(node, "c1", "c2", "b.md").commit == "c2"
        assert (read_state(other_node).commit, search(other_node)) == ("c2", ["a.md", "b.md"])


def test_connection_that_the_server_has_closed_is_replaced(open_node: OpenNode, url: str) -> None:
    node = open_node("first")
    apply(node, None, "c1", "a.md")
    execute(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    assert read_state(node).commit == "c1"


def test_segments_deleted_during_a_download_are_read_from_the_next_head(
    open_node: OpenNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = open_node("writer", grace_s=0), open_node("reader")
    apply(writer, None, "c1", "a.md")
    run_before_call(monkeypatch, "read_segments", lambda: rebuild(writer, "c2", "b.md"))
    assert (search(reader), read_state(reader).commit) == (["b.md"], "c2")


def test_segments_without_a_head_are_deleted_after_the_grace_period(
    open_node: OpenNode, url: str, tmp_path: Path
) -> None:
    counts = "SELECT count(DISTINCT segment_id) FROM docyard_index_segments"
    writer = open_node("writer")
    apply(writer, None, "c1", "a.md")
    rebuild(writer, "c2", "b.md")
    assert query_value(url, counts) == 2
    old_file, *_ = old_files = list_segment_files(tmp_path / "writer")
    for file in old_files:
        os.utime(file, (1, 1))
    rebuild(open_node("writer", grace_s=0), "c3", "c.md")
    assert query_value(url, counts) == 1
    assert query_value(url, "SELECT count(*) FROM docyard_index_released_segments") == 0
    assert not old_file.exists()
    assert len(list_segment_files(tmp_path / "writer")) == 1


@pytest.mark.parametrize(
    ("statement", "is_found_by_status"),
    [
        ("DELETE FROM docyard_index_segments", True),
        ("UPDATE docyard_index_segments SET data = substr(data, 2) || 'x'", False),
        ("UPDATE docyard_index_heads SET state = '{}'", True),
        ("UPDATE docyard_index_heads SET segments = '[[1]]'", True),
        ("UPDATE docyard_index_heads SET state = replace(state, '\"chunks\": 1', '\"chunks\": 2')", False),
    ],
)
def test_damaged_rows_are_detected_and_replaced_by_a_rebuild(
    open_node: OpenNode, url: str, statement: str, is_found_by_status: bool
) -> None:
    writer, reader = open_node("writer"), open_node("reader")
    apply(writer, None, "c1", "a.md")
    execute(url, statement)
    with pytest.raises(IndexDamaged):
        reader.state()
    assert reader.status("c1").is_damaged == is_found_by_status
    rebuild(writer, "c1", "a.md", "b.md")
    assert search(writer) == ["a.md", "b.md"]
    assert not reader.status("c1").is_damaged
    assert search(reader) == ["a.md", "b.md"]


def test_dropped_tables_are_created_and_filled_again(open_node: OpenNode, url: str) -> None:
    node = open_node("first")
    apply(node, None, "c1", "a.md")
    execute(
        url,
        "DROP TABLE docyard_index_heads, docyard_index_segments, docyard_index_released_segments",
    )
    assert node.state() is None
    apply(node, None, "c2", "b.md")
    assert (read_state(node).commit, search(node)) == ("c2", ["b.md"])


def test_database_restored_from_a_backup_is_used_at_its_older_commit(open_node: OpenNode, url: str) -> None:
    node = open_node("first")
    apply(node, None, "c1", "a.md")
    execute(url, "CREATE TABLE backup AS SELECT * FROM docyard_index_heads")
    apply(node, "c1", "c2", "b.md")
    execute(
        url,
        "UPDATE docyard_index_heads AS heads SET generation = backup.generation, state = backup.state, "
        "segments = backup.segments, source_commit = backup.source_commit FROM backup",
    )
    assert (read_state(node).commit, search(node)) == ("c1", ["a.md"])
    apply(node, "c1", "c3", "c.md")
    assert search(node) == ["a.md", "c.md"]


def test_versions_have_heads_of_their_own(open_node: OpenNode, monkeypatch: pytest.MonkeyPatch) -> None:
    node = open_node("first")
    apply(node, None, "c1", "a.md")
    with monkeypatch.context() as patch:
        patch.setattr(heads, "SCHEMA_VERSION", heads.SCHEMA_VERSION + 1)
        newer_node = open_node("second")
        assert newer_node.state() is None
        apply(newer_node, None, "c2", "b.md")
    assert (read_state(node).commit, search(node)) == ("c1", ["a.md"])


def test_head_of_an_old_version_is_deleted_with_its_segments(
    open_node: OpenNode, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(heads, "SCHEMA_VERSION", heads.SCHEMA_VERSION - 1)
        apply(open_node("old"), None, "c1", "a.md")
    node = open_node("new", grace_s=0)
    apply(node, None, "c1", "a.md")
    counts = "SELECT count(DISTINCT segment_id) FROM docyard_index_segments"
    assert query_value(url, counts) == 2
    execute(url, "UPDATE docyard_index_heads SET changed_at = changed_at - interval '8 days'")
    apply(node, "c1", "c2", "b.md")
    assert query_value(url, "SELECT count(*) FROM docyard_index_heads") == 1
    assert query_value(url, counts) == 2
    assert search(open_node("other")) == ["a.md", "b.md"]


def test_threads_of_one_process_download_each_segment_once(
    open_node: OpenNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads: list[list[str]] = []
    original = storage.read_segments

    def record_and_read(connection: Any, namespace_id: str, ids: Any) -> Any:
        downloads.append(ids)
        time.sleep(0.1)
        return original(connection, namespace_id, ids)

    monkeypatch.setattr(storage, "read_segments", record_and_read)
    apply(open_node("writer"), None, "c1", "a.md")
    reader = open_node("reader")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(search, [reader] * 4)) == [["a.md"]] * 4
    assert len(downloads) == 1


def test_user_without_rights_gets_the_statement_that_grants_them(open_node: OpenNode, url: str) -> None:
    # A role is known to all databases of the server, and the test runs several times.
    execute(url, "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN")
    execute(url, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    node = open_node("first", url=url.replace("docyard@", "reader@"))
    with pytest.raises(EngineUnavailable, match="may not create") as error:
        apply(node, None, "c1", "a.md")
    assert "GRANT CREATE" in error.value.fix


def test_segment_is_stored_in_parts_that_are_its_file(
    open_node: OpenNode, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "PART_BYTES", 100)
    writer = open_node("writer")
    apply(writer, None, "c1", "a.md")
    [file] = list_segment_files(tmp_path / "writer")
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT data FROM docyard_index_segments ORDER BY part").fetchall()
    assert len(rows) > 5
    assert {len(data) for (data,) in rows[:-1]} == {100}
    assert b"".join(data for (data,) in rows) == file.read_bytes()
    assert search(open_node("reader")) == ["a.md"]


@pytest.fixture(scope="module")
def replica(postgres: PostgresServer) -> Iterator[PostgresServer]:
    with run_postgres(primary=postgres) as server:
        yield server


def wait_for_replica(primary: PostgresServer, replica: PostgresServer) -> None:
    position = query_value(primary.build_url("postgres"), "SELECT pg_current_wal_lsn()::text")
    deadline = time.monotonic() + 10
    statement = f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn"
    while not query_value(replica.build_url("postgres"), statement):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_primary_answers_while_the_replica_has_not_applied_all(
    postgres: PostgresServer, replica: PostgresServer, open_node: OpenNode, url: str
) -> None:
    replica_url = replica.build_url(url.rpartition("/")[2])
    writer = open_node("writer")
    apply(writer, None, "c1", "a.md")
    wait_for_replica(postgres, replica)
    reader = open_node("reader", replica=Database(replica_url))
    execute(replica_url, "SELECT pg_wal_replay_pause()")
    try:
        apply(writer, "c1", "c2", "b.md")
        deadline = time.monotonic() + 10
        while read_state(reader).commit != "c2":
            assert time.monotonic() < deadline
        assert search(reader) == ["a.md", "b.md"]
    finally:
        execute(replica_url, "SELECT pg_wal_replay_resume()")
    wait_for_replica(postgres, replica)


def test_replica_that_lags_gives_no_older_index_than_the_node_has_seen(
    postgres: PostgresServer, replica: PostgresServer, open_node: OpenNode, url: str
) -> None:
    name = url.rpartition("/")[2]
    writer = open_node("writer")
    apply(writer, None, "c1", "a.md")
    # A user without the right to see the lag.
    execute(url, f"CREATE ROLE {name}_reader LOGIN")
    execute(url, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}_reader")
    wait_for_replica(postgres, replica)
    control_url = replica.build_url(name)
    replica_url = control_url.replace("docyard@", f"{name}_reader@")
    reader = open_node("reader", replica=Database(replica_url))
    assert (read_state(reader).commit, search(reader)) == ("c1", ["a.md"])
    execute(control_url, "SELECT pg_wal_replay_pause()")
    try:
        apply(writer, "c1", "c2", "b.md")
        assert read_state(reader).commit == "c1"
        # A write reads the primary, so that the commit that another node has indexed is not indexed again.
        assert apply(reader, "c1", "c2", "b.md").commit == "c2"
        assert (read_state(reader).commit, search(reader)) == ("c2", ["a.md", "b.md"])
        apply(reader, "c2", "c3", "c.md")
        assert (read_state(reader).commit, search(reader)) == ("c3", ["a.md", "b.md", "c.md"])
    finally:
        execute(control_url, "SELECT pg_wal_replay_resume()")
    wait_for_replica(postgres, replica)
    assert (read_state(reader).commit, search(open_node("new", replica=Database(replica_url)))) == (
        "c3",
        ["a.md", "b.md", "c.md"],
    )


def test_primary_answers_if_the_replica_receives_nothing(
    postgres: PostgresServer, replica: PostgresServer, open_node: OpenNode, url: str
) -> None:
    replica_url = replica.build_url(url.rpartition("/")[2])
    writer = open_node("writer")
    apply(writer, None, "c1", "a.md")
    wait_for_replica(postgres, replica)
    settings_url = replica.build_url("postgres")
    source = query_value(settings_url, "SHOW primary_conninfo")
    execute(settings_url, "ALTER SYSTEM SET primary_conninfo = ''")
    execute(settings_url, "SELECT pg_reload_conf()")
    try:
        while query_value(settings_url, "SELECT count(*) FROM pg_stat_wal_receiver"):
            time.sleep(0.02)
        apply(writer, "c1", "c2", "b.md")
        assert read_state(open_node("reader", replica=Database(replica_url))).commit == "c2"
        # While the primary server is down, the index of the replica is better than none.
        alone = open_node("alone", url=DOWN_URL, replica=Database(replica_url))
        assert (read_state(alone).commit, search(alone)) == ("c1", ["a.md"])
    finally:
        with psycopg.connect(settings_url, autocommit=True) as connection:
            connection.execute(sql.SQL("ALTER SYSTEM SET primary_conninfo = {}").format(sql.Literal(source)))
            connection.execute("SELECT pg_reload_conf()")
    wait_for_replica(postgres, replica)


def test_primary_answers_if_the_replica_is_down(open_node: OpenNode) -> None:
    writer = open_node("writer")
    apply(writer, None, "c1", "a.md")
    assert search(open_node("reader", replica=Database(DOWN_URL))) == ["a.md"]


def test_new_local_files_of_other_processes_are_not_removed(open_node: OpenNode, tmp_path: Path) -> None:
    folder = tmp_path / "writer" / "index" / "segments"
    assert make_private_folder(folder)
    (folder.parent).chmod(0o700)
    (folder / "MAIN_0123.flat").touch()
    (folder / "MAIN_4567.flat").touch()
    os.utime(folder / "MAIN_4567.flat", (1, 1))
    apply(open_node("writer"), None, "c1", "a.md")
    assert (folder / "MAIN_0123.flat").exists()
    assert not (folder / "MAIN_4567.flat").exists()
