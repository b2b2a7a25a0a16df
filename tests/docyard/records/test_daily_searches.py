"""The recorded searches of days, and `docyard report` with the database of a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.database.database import Database
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.records.summary import read_daily_searches
from tests.docyard.records.conftest import create_target, make_search, observe

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def today(database: Database, target: RecordTarget, build_recorder: Callable[..., Recorder]) -> date:
    """Record three searches of one organization and one of another; return the day."""
    recorder = build_recorder()
    day = datetime.now(UTC).date()
    for _ in range(2):
        observe(recorder, target, make_search())
    observe(recorder, target, make_search("nothing", result_counts={"guides": 0}))
    observe(recorder, create_target(database, "globex"), make_search())
    assert recorder._work()
    return day


def test_days_have_the_searches_of_an_organization_or_of_all(database: Database, today: date) -> None:
    with database.connect() as connection:
        for organization_id, counts in (("org_acme", (3, 1)), ("org_globex", (1, 0)), (None, (4, 1))):
            assert read_daily_searches(connection, organization_id, today, today) == {today: counts}
        yesterday = today - timedelta(1)
        assert read_daily_searches(connection, None, yesterday, yesterday) == {}


def test_report_has_the_searches_of_the_database(
    tmp_path: Path, database_url: str, today: date, capsys: Capture
) -> None:
    config = tmp_path / "server.toml"
    config.write_text(f"[database]\nurl = {json.dumps(database_url)}\n")
    arguments = ["report", "--kind", "searches", "--config", str(config)]
    assert main([*arguments, "--json"]) == 0
    (searches,) = json.loads(capsys.readouterr().out)["statistics"]
    assert searches["values"][-1] == {"start": today.isoformat(), "searches": 4, "found_nothing": 1}
    assert main([*arguments, "--organization", "acme", "--output", str(tmp_path / "searches.svg")]) == 0
    assert "Searches: 3 searches, of which 1 found nothing." in capsys.readouterr().out
    assert b"bar-part" in (tmp_path / "searches.svg").read_bytes()
    assert main([*arguments, "--organization", "acne"]) == 3
    assert "Did you mean 'acme'?" in capsys.readouterr().err
