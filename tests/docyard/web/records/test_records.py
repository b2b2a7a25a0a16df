"""The page of records: its numbers, its boundaries, and its forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from docyard.database.database import Database, open_database
from docyard.database.tables import PROBLEM_REPORTS, TERM_TOTALS
from docyard.records.problem_reports import add_report
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.web.charts import ChartValue, build_chart
from docyard.web.records.proposals import MissingDocument, build_document_proposer
from tests.docyard.records.conftest import make_search, observe
from tests.docyard.web.page_server import ParsedPage, serve_pages
from tests.docyard.web.records.conftest import CSRF, OpenPages
from tests.repositories import create_repository


@pytest.mark.usefixtures("recorded_searches")
@pytest.mark.parametrize("period", ["day", "week", "month", "quarter", "nonsense"])
def test_page_shows_numbers_lists_and_accessible_charts(open_pages: OpenPages, period: str) -> None:
    page = open_pages().get(f"/records?period={period}").text
    assert "<strong>15</strong> searches" in page
    assert "3 found nothing" in page
    assert "how to &lt;b&gt;rotate&lt;/b&gt; keys?" in page
    assert "globex" not in page
    parsed_page = ParsedPage(page)
    assert parsed_page.nesting_errors == []
    svgs = [attributes for name, attributes in parsed_page.elements if attributes.get("role") == "img"]
    ids = {attributes.get("id") for _, attributes in parsed_page.elements}
    assert len(svgs) == 2
    assert all(id in ids for attributes in svgs for id in (attributes["aria-labelledby"] or "").split())
    assert not re.search(r'\sstyle="', page)


@pytest.mark.usefixtures("recorded_searches")
def test_namespace_can_be_selected(open_pages: OpenPages) -> None:
    page = open_pages().get("/records?namespace=ns_acme_guides").text
    assert "<strong>3</strong> searches" in page
    assert "retry budget" not in page


@pytest.mark.usefixtures("recorded_searches")
def test_caller_without_an_organization_sees_no_page(open_pages: OpenPages) -> None:
    client = open_pages(())
    for answer in (
        client.get("/records"),
        client.post("/records/proposals", data={"csrf": CSRF}),
        client.post("/records/reports/rpt_x", data={"csrf": CSRF}),
    ):
        unknown = client.get("/no-such-page")
        assert (answer.status_code, answer.text, dict(answer.headers)) == (
            404,
            unknown.text,
            dict(unknown.headers),
        )


@pytest.mark.usefixtures("recorded_searches")
def test_administrator_of_one_organization_cannot_select_another(open_pages: OpenPages) -> None:
    client = open_pages()
    other, missing = (client.get(f"/records?organization={slug}") for slug in ("globex", "nowhere"))
    assert (other.status_code, other.text) == (missing.status_code, missing.text) == (404, "Not Found")
    operator = open_pages(None)
    assert "of globex alone" in operator.get("/records?organization=globex").text


def test_page_without_searches_has_a_notice(open_pages: OpenPages, target: RecordTarget) -> None:
    assert "No searches in this period" in open_pages(mode="off").get("/records").text


def test_mode_hash_explains_missing_words(
    open_pages: OpenPages, target: RecordTarget, build_recorder: Callable[..., Recorder]
) -> None:
    recorder = build_recorder(mode="hash")
    observe(recorder, target, make_search("retry budget", result_counts={"api": 0}))
    assert recorder._work()
    page = open_pages(mode="hash").get("/records").text
    assert "The words of questions are not recorded" in page
    assert "retry" not in page
    assert "Propose a document" not in page


def test_unavailable_database_is_reported(tmp_path: Path, open_pages: OpenPages) -> None:
    database = open_database("sqlite:///missing/records.sqlite", tmp_path)
    from docyard.caller import Caller
    from docyard.web.records.records import RecordsAccess, render_records_page

    access = RecordsAccess(database, "text", lambda _: None)
    response = render_records_page(access, Caller(None, CSRF, True, True), {})
    assert response.status_code == 503
    assert b"DATABASE_UNAVAILABLE" in response.body


def find_question(database: Database, text: str) -> dict[str, str]:
    with database.connect() as connection:
        row = connection.execute(
            select(TERM_TOTALS).where(TERM_TOTALS.c.text == text, TERM_TOTALS.c.kind == "unanswered")
        ).one()
    return {"csrf": CSRF, "namespace": row.namespace_id, "digest": row.digest}


@pytest.mark.usefixtures("recorded_searches")
def test_question_becomes_a_proposal_with_a_document(
    open_pages: OpenPages, database: Database, tmp_path: Path
) -> None:
    repo = create_repository(tmp_path / "specs")
    with serve_pages(repo.path) as server:
        client = open_pages(propose_document=build_document_proposer(server.site))
        fields = find_question(database, "how to <b>rotate</b> keys?")
        answer = client.post("/records/proposals", data=fields)
        assert answer.status_code == 303, answer.text
        page = server.get(answer.headers["location"])
        assert "Document: How to b rotate /b keys?" in page
        assert "Readers asked this 3 times" in page
        assert client.post("/records/proposals", data={**fields, "csrf": "x"}).status_code == 403
        assert client.post("/records/proposals", data={**fields, "digest": "0" * 32}).status_code == 400


@pytest.mark.usefixtures("recorded_searches")
def test_server_that_cannot_write_names_the_command(open_pages: OpenPages, database: Database) -> None:
    fields = find_question(database, "how to <b>rotate</b> keys?")
    answer = open_pages().post("/records/proposals", data=fields)
    assert answer.status_code == 403
    assert "docyard proposals create" in answer.text
    other_organization = open_pages(("org_globex",)).post("/records/proposals", data=fields)
    assert other_organization.status_code == 400
    assert "rotate" not in other_organization.text


@pytest.mark.usefixtures("recorded_searches")
def test_report_of_a_reader_is_shown_escaped_and_resolved(open_pages: OpenPages, database: Database) -> None:
    with database.begin() as connection:
        id = add_report(
            connection,
            organization_id="org_acme",
            namespace_id="ns_acme_api",
            sender="address:192.0.2.7",
            address="errors.md#retries",
            problem="<script>alert(1)</script>",
            suggestion="Say 30 s.",
        )
    client = open_pages()
    page = client.get("/records").text
    assert "&lt;script&gt;alert(1)" in page
    assert open_pages(("org_globex",)).post(f"/records/reports/{id}", data={"csrf": CSRF}).status_code == 404
    answer = client.post(f"/records/reports/{id}", data={"csrf": CSRF, "organization": "acme"})
    assert answer.status_code == 303
    assert "There are no open reports" in client.get(answer.headers["location"]).text
    with database.connect() as connection:
        assert connection.execute(select(PROBLEM_REPORTS.c.is_resolved)).scalar_one()


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("how do I rotate keys?", "How do I rotate keys?"),
        ("# [x](javascript:1) `rm`", "X (javascript 1) rm"),
        ("***", "Unanswered question"),
        ("w" * 300, "W" + "w" * 99),
    ],
)
def test_title_of_a_document_is_plain_text(question: str, title: str) -> None:
    assert MissingDocument(None, question, 1).title == title


def test_bars_fit_into_the_chart() -> None:
    chart = build_chart("x", "X", "", [ChartValue(str(n), n * n, n) for n in range(90)])
    assert max(bar.height for bar in chart.bars) <= chart.height
    assert all(bar.y >= 0 and bar.x + bar.width <= chart.width for bar in chart.bars)
    assert chart.ticks[-1].label == "10,000"
    assert build_chart("x", "X", "", []).bars == []
