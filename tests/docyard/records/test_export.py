"""The export: the same searches in each format, and cells that no spreadsheet evaluates."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from docyard.commands.admin import command
from docyard.database.database import Database
from docyard.records import export
from docyard.records.export import WRITERS, format_time, iterate_searches
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from tests.docyard.records.conftest import create_target, make_search, observe


@pytest.fixture(autouse=True)
def _recorded_searches(
    database: Database,
    target: RecordTarget,
    build_recorder: Callable[..., Recorder],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export, "_PART_ROWS", 2)
    recorder = build_recorder(store_embeddings=True)
    questions = ("=HYPERLINK(1)", "-1+2", 'quote " and , ü', "\u202eabc", "plain")
    for number, question in enumerate(questions):
        monkeypatch.setattr("docyard.records.recorder.read_clock_ms", lambda n=number: 1_000 + n // 2)
        observe(recorder, target, make_search(question, missing_words=("a", "b"), embedding=(0.5, 1.0)))
    observe(recorder, create_target(database, "globex"), make_search("of another organization"))
    recorder._write_batch()


def write(database: Database, format: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    WRITERS[format](iterate_searches(database, **options), stream)
    return stream.getvalue()


def test_all_formats_have_the_same_searches(database: Database) -> None:
    rows = json.loads(write(database, "json", organization_id="org_acme"))
    assert len({row["id"] for row in rows}) == len(rows) == 5
    assert rows[0]["time"] == "1970-01-01T00:00:01.000Z"
    assert (rows[0]["organization"], rows[0]["server"], rows[0]["namespace"]) == ("acme", "docs", "api")
    assert (rows[0]["missing_words"], rows[0]["embedding"]) == (["a", "b"], [0.5, 1.0])
    cells = list(csv.DictReader(io.StringIO(write(database, "csv", organization_id="org_acme").decode())))
    assert [cell["id"] for cell in cells] == [row["id"] for row in rows]
    assert {cell["question"] for cell in cells} == {
        "'=HYPERLINK(1)",
        "'-1+2",
        'quote " and , ü',
        "\u202eabc",
        "plain",
    }
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(write(database, "parquet", organization_id="org_acme")))
    assert table.to_pylist() == rows


def test_export_of_all_organizations_and_since_a_time(database: Database) -> None:
    assert len(json.loads(write(database, "json"))) == 6
    assert len(json.loads(write(database, "json", since_ms=1_002))) == 2
    assert json.loads(write(database, "json", since_ms=5_000)) == []


def test_command_exports_an_organization(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCYARD_SERVER__DATABASE__URL", database_url)
    result = CliRunner().invoke(
        command, ["records", "export", "--format", "json", "--organization", "globex"]
    )
    assert result.exit_code == 0, result.output
    assert "of another organization" in result.stdout
    assert "retry" not in result.stdout
    assert "1 search" in result.stderr
    result = CliRunner().invoke(command, ["records", "opt-out", "client:Robot"])
    assert result.output == "client:Robot is not recorded from now on.\n"
    result = CliRunner().invoke(command, ["records", "opt-in", "client:robot"])
    assert result.output == "client:robot is recorded again.\n"


def test_missing_library_for_parquet_names_the_package(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(export.ParquetUnavailable) as error:
        write(database, "parquet")
    assert "docyard[parquet]" in error.value.fix


def test_time_is_in_utc() -> None:
    assert format_time(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
