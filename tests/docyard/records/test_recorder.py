"""The recorder: what it stores in each mode, what it never stores, and a database that fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete, select

from docyard.database.database import Database, open_database
from docyard.database.schema import check_schema
from docyard.database.tables import NAMESPACES, SEARCH_COUNTS, TERM_TOTALS, TOOL_CALLS
from docyard.records.opt_outs import InvalidOptOut, add_opt_out, remove_opt_out
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.settings.settings import RecordsSection
from tests.docyard.records.conftest import make_search, observe, read_searches

BuildRecorder = Callable[..., Recorder]


def record(recorder: Recorder) -> None:
    """Write all calls that wait."""
    assert recorder._work()


def test_search_is_stored_with_its_words(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    recorder = build_recorder()
    observe(
        recorder,
        target,
        make_search("Retry  budget\0", missing_words=("zebra",), walkthrough="api:first.md", step="token"),
    )
    record(recorder)
    [row] = read_searches(database)
    assert row.id.startswith("dsq_")
    assert (row.query_text, row.missing_words) == ("Retry budget", ["zebra"])
    assert (row.namespace_id, row.mcp_server_id, row.organization_id) == (
        "ns_acme_api",
        "mcp_acme",
        "org_acme",
    )
    assert (row.result_count, row.response_time_ms, row.search_type) == (1, 4, "bm25")
    assert (row.commit, row.cache_hit, row.clicked) == ("a" * 40, False, False)
    assert (row.walkthrough_id, row.walkthrough_step_id) == ("api:first.md", "token")
    assert row.mcp_server_user_id == "user:issuer#ana"
    assert row.query_embedding is None
    with database.connect() as connection:
        call = connection.execute(select(TOOL_CALLS)).one()
    assert (call.tool, call.outcome, call.response_time_ms) == ("search_documentation", "ok", 5)
    assert recorder.numbers == (1, 0, 0, False)


def test_name_of_an_unknown_tool_is_not_stored(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    recorder = build_recorder()
    observe(recorder, target, tool="my password\0\udc80", code="UNKNOWN_TOOL")
    observe(recorder, target, make_search("harmless"))
    record(recorder)
    with database.connect() as connection:
        tools = set(connection.execute(select(TOOL_CALLS.c.tool)).scalars())
    assert tools == {"unknown", "search_documentation"}
    assert recorder.numbers == (2, 0, 0, False)


def test_call_that_the_database_refuses_does_not_stop_the_others(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    recorder = build_recorder()
    observe(recorder, target, make_search("before"))
    observe(recorder, target, make_search("text", walkthrough="\0\udc80"))
    observe(recorder, target, make_search("after"))
    record(recorder)
    assert {"before", "after"} <= {row.query_text for row in read_searches(database)}
    assert recorder.numbers.waiting == 0


def test_mode_hash_stores_no_words(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    recorder = build_recorder(mode="hash")
    observe(recorder, target, make_search("Retry budget", missing_words=("zebra",)))
    observe(recorder, target, make_search("retry   BUDGET"))
    observe(recorder, target, make_search("other"))
    record(recorder)
    rows = read_searches(database)
    texts = [row.query_text for row in rows]
    assert texts[0] == texts[1] != texts[2]
    assert all(text.startswith("hash:") and len(text) == 37 for text in texts)
    assert rows[0].missing_words is None
    with database.connect() as connection:
        assert not any(
            "budget" in row.text or "zebra" in row.text for row in connection.execute(select(TERM_TOTALS))
        )


def test_mode_off_stores_nothing(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    recorder = build_recorder(mode="off")
    observe(recorder, target, make_search())
    record(recorder)
    assert read_searches(database) == []
    assert recorder.numbers == (0, 0, 0, False)


def test_embedding_is_stored_only_if_the_settings_store_it(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    for store in (False, True):
        recorder = build_recorder(store_embeddings=store)
        observe(recorder, target, make_search(f"question {store}", embedding=(0.5, -1.0)))
        record(recorder)
    rows = {row.query_text: row.query_embedding for row in read_searches(database)}
    assert rows["question False"] is None
    assert len(rows["question True"]) == 8


def test_question_in_all_namespaces_is_one_row_and_counts_once(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    recorder = build_recorder()
    observe(
        recorder,
        target,
        make_search(result_counts={"guides": 2, "api": 1}, commits={"guides": None, "api": "b"}),
    )
    record(recorder)
    [row] = read_searches(database)
    assert (row.namespace_id, row.namespace_count, row.result_count) == ("ns_acme_guides", 2, 3)
    with database.connect() as connection:
        counts = connection.execute(select(SEARCH_COUNTS)).all()
    assert {(count.unit, count.namespace_id, count.searches) for count in counts} == {
        ("hour", "", 1),
        ("day", "", 1),
    }


def test_reading_a_result_counts_as_a_click_of_the_same_principal(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    recorder = build_recorder()
    observe(recorder, target, make_search("first"))
    record(recorder)
    observe(recorder, target, make_search("second", addresses=(("api", "other.md#x"),)))
    read = {"chunk_id": "doc:///api/errors.md#retries", "namespace": "api"}
    observe(recorder, target, tool="docs_get_doc", arguments=read, principal="user:issuer#ben")
    record(recorder)
    assert not any(row.clicked for row in read_searches(database))
    observe(recorder, target, tool="docs_get_doc", arguments=read)
    observe(recorder, target, make_search("third", addresses=(("api", "third.md#x"),)))
    observe(recorder, target, tool="get_doc", arguments={"chunk_id": "third.md#x", "namespace": "api"})
    record(recorder)
    assert {row.query_text for row in read_searches(database) if row.clicked} == {"first", "third"}


@pytest.mark.parametrize("key", ["user:issuer#ana", "client:Editor"])
def test_opted_out_caller_is_not_recorded(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder, key: str
) -> None:
    recorder = build_recorder()
    with database.begin() as connection:
        assert add_opt_out(connection, key)
        assert not add_opt_out(connection, key)
    observe(recorder, target, make_search("secret"))
    observe(recorder, target, make_search("plain"), principal="address:192.0.2.1", client="other")
    record(recorder)
    assert [row.query_text for row in read_searches(database)] == ["plain"]
    with database.connect() as connection:
        assert len(connection.execute(select(TOOL_CALLS)).all()) == 1
    with database.begin() as connection:
        assert remove_opt_out(connection, key)
    observe(recorder, target, make_search("again"))
    record(recorder)
    assert len(read_searches(database)) == 2


def test_invalid_opt_out_is_refused(database: Database) -> None:
    with pytest.raises(InvalidOptOut), database.begin() as connection:
        add_opt_out(connection, "ana")


def test_full_queue_drops_and_counts(target: RecordTarget, build_recorder: BuildRecorder) -> None:
    recorder = build_recorder(queue_limit=2)
    for _ in range(5):
        observe(recorder, target, make_search())
    assert recorder.numbers == (0, 3, 2, False)


def test_deleted_namespace_loses_only_its_own_records(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    with database.begin() as connection:
        connection.execute(delete(NAMESPACES).where(NAMESPACES.c.name == "guides"))
    recorder = build_recorder()
    observe(recorder, target, make_search("gone", result_counts={"guides": 1}))
    observe(recorder, target, make_search("kept"))
    record(recorder)
    assert [row.query_text for row in read_searches(database)] == ["kept"]
    assert recorder.numbers == (1, 1, 0, False)


def test_absent_database_delays_nothing_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "missing"
    database = open_database("sqlite:///records.sqlite", folder)
    recorder = Recorder(database, RecordsSection(mode="text"))
    target = RecordTarget("org_x", "mcp_x", {"api": "ns_x"})
    start = time.perf_counter()
    for _ in range(100):
        observe(recorder, target, make_search())
    assert time.perf_counter() - start < 0.2
    with caplog.at_level(logging.WARNING):
        assert not recorder._work()
        assert not recorder._work()
    assert len(caplog.records) == 1
    assert recorder.numbers == (0, 0, 100, True)
    folder.mkdir()
    check_schema(database)
    # The organization of the target does not exist, so its calls cannot be stored.
    assert recorder._work()
    assert recorder.numbers == (0, 100, 0, False)
    assert caplog.messages[-1] == "searches are recorded again"
    database.close()


def test_thread_records_within_its_interval_and_at_close(
    database: Database, target: RecordTarget, build_recorder: BuildRecorder
) -> None:
    recorder = build_recorder()
    recorder.start()
    observe(recorder, target, make_search())
    recorder.close()
    assert len(read_searches(database)) == 1
