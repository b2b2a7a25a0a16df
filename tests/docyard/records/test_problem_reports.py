"""Reports of readers: stored, limited, listed and resolved."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from docyard.commands.admin import command
from docyard.database.database import Database
from docyard.records import problem_reports
from docyard.records.problem_reports import (
    REPORTS_PER_HOUR,
    ReportNotFound,
    TooManyReports,
    build_report_receiver,
    count_open_reports,
    list_reports,
    resolve_report,
)
from docyard.records.rows import RecordTarget
from tests.docyard.records.conftest import create_target
from tools.records.problem_reports import ReaderReport


def make_report(sender: str | None = "address:192.0.2.7", problem: str = "Wrong.") -> ReaderReport:
    return ReaderReport("api", "errors.md#retries", problem, "Say 30 s.", sender)


def test_report_is_stored_listed_and_resolved(database: Database, target: RecordTarget) -> None:
    receive = build_report_receiver(database, lambda: target)
    id = receive(make_report(problem="A NUL \0 and \ud800"))
    create_target(database, "globex")
    with database.connect() as connection:
        [report] = list_reports(connection, "org_acme")
        assert list_reports(connection, "org_globex") == []
        assert count_open_reports(connection, "org_acme") == 1
    assert (report.id, report.organization, report.namespace) == (id, "acme", "api")
    assert (report.problem, report.suggestion) == ("A NUL \ufffd and ?", "Say 30 s.")
    with database.begin() as connection:
        with pytest.raises(ReportNotFound):
            resolve_report(connection, id, "org_globex")
        resolve_report(connection, id, "org_acme")
        assert list_reports(connection) == []
        assert [item.is_resolved for item in list_reports(connection, include_resolved=True)] == [True]


def test_reports_of_one_sender_are_limited(
    database: Database, target: RecordTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = build_report_receiver(database, lambda: target)
    for _ in range(REPORTS_PER_HOUR):
        receive(make_report())
    with pytest.raises(TooManyReports) as error:
        receive(make_report())
    assert error.value.code == "RATE_LIMITED"
    assert 3_590 < error.value.details["retry_after"] <= 3_601
    receive(make_report("user:issuer#ana"))
    receive(make_report(None))
    now = problem_reports.read_clock_ms()
    monkeypatch.setattr(problem_reports, "read_clock_ms", lambda: now + 3_600_001)
    receive(make_report())


def test_commands_show_untrusted_text_escaped(
    database: Database, target: RecordTarget, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = build_report_receiver(database, lambda: target)(make_report(problem="\x1b[2J cleared\nsecond"))
    monkeypatch.setenv("DOCYARD_SERVER__DATABASE__URL", database_url)
    result = CliRunner().invoke(command, ["reports", "list"])
    assert "\x1b" not in result.output
    assert "  second\n  > Say 30 s.\n" in result.output
    assert (
        '"problem": "\\u001b[2J cleared' in CliRunner().invoke(command, ["reports", "list", "--json"]).output
    )
    assert CliRunner().invoke(command, ["reports", "resolve", id]).exit_code == 0
    assert CliRunner().invoke(command, ["reports", "list"]).output == "There are no reports.\n"
