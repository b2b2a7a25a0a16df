"""The numbers of a period, compared with the recorded searches themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from docyard.database.database import Database
from docyard.database.ids import read_clock_ms
from docyard.records import summary
from docyard.records.counts import DAY_MS, MISSING, NO_BOUND_MS, QUESTION, UNANSWERED
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.records.summary import (
    OrganizationNotFound,
    Percentiles,
    build_period,
    find_organization,
    find_percentile,
    format_latency,
    read_summary,
)
from tests.docyard.records.conftest import create_target, make_search, observe, read_searches


@pytest.fixture
def searches(
    database: Database,
    target: RecordTarget,
    build_recorder: Callable[..., Recorder],
    monkeypatch: pytest.MonkeyPatch,
) -> list[Any]:
    recorder = build_recorder()
    other_target = create_target(database, "globex")
    now = read_clock_ms()
    for number in range(120):
        day, question = number % 60, f"question {number * number % 23}"
        is_empty = number % 5 == 0
        monkeypatch.setattr("docyard.records.recorder.read_clock_ms", lambda day=day: now - day * DAY_MS)
        name = ("api", "guides")[number % 2]
        search = make_search(
            question,
            result_counts={name: 0 if is_empty else 2} if number % 7 else {"api": 1, "guides": 0},
            duration_ms=float(number),
            missing_words=("zebra",) if is_empty else (),
        )
        observe(recorder, target, search)
        observe(recorder, other_target, make_search("of another organization"))
    assert recorder._work()
    return [row for row in read_searches(database) if row.organization_id == "org_acme"]


@pytest.mark.parametrize("name", ["day", "week", "month", "quarter"])
def test_numbers_are_those_of_the_recorded_searches(
    database: Database, searches: list[Any], name: str
) -> None:
    period = build_period(name, read_clock_ms())
    with database.connect() as connection:
        numbers = read_summary(connection, "org_acme", period)
    rows = [row for row in searches if period.start_ms <= row.created_at < period.end_ms]
    assert rows
    assert numbers.total.searches == len(rows)
    assert numbers.total.empty_searches == sum(not row.result_count for row in rows)
    assert sum(point.searches for point in numbers.points) == len(rows)
    assert len(numbers.points) == {"day": 24, "week": 7, "month": 30, "quarter": 90}[name]
    assert {share.name: share.searches for share in numbers.namespaces} == Counter(
        None if row.namespace_count > 1 else row.namespace_id.removeprefix("ns_acme_") for row in rows
    )
    assert [(share.name, share.searches) for share in numbers.servers] == [("docs", len(rows))]
    names = {"ns_acme_api": "api", "ns_acme_guides": "guides"}

    def count(selected_rows: list[Any]) -> Counter[Any]:
        return Counter(
            (names[row.namespace_id] if row.namespace_count == 1 else None, row.query_text)
            for row in selected_rows
        )

    for terms, expected in (
        (numbers.questions, count(rows)),
        (numbers.unanswered, count([row for row in rows if not row.result_count])),
    ):
        assert [term.searches for term in terms] == sorted(expected.values(), reverse=True)[:20]
        assert all(expected[term.namespace, term.text] == term.searches for term in terms)
    words = {term.text for term in numbers.missing_words}
    assert words == ({"zebra"} if any(row.missing_words for row in rows) else set())


@pytest.mark.usefixtures("searches")
def test_candidates_give_the_same_list_as_the_sum_of_all_days(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    period = build_period("month", read_clock_ms())
    monkeypatch.setattr(summary, "_FIRST_CANDIDATES", 3)
    for namespace in (None, "ns_acme_api", ""):
        for kind in (QUESTION, UNANSWERED, MISSING):
            with database.connect() as connection:
                arguments = (connection, "org_acme", kind, period, namespace, {})
                monkeypatch.setattr(summary, "_SHORT_PERIOD_DAYS", 7)
                quick = summary.read_top_terms(*arguments, limit=4)
                monkeypatch.setattr(summary, "_SHORT_PERIOD_DAYS", 1_000)
                direct = summary.read_top_terms(*arguments, limit=4)
            assert [term.searches for term in quick] == [term.searches for term in direct]


@pytest.mark.usefixtures("searches")
def test_one_namespace_can_be_selected(database: Database) -> None:
    with database.connect() as connection:
        numbers = read_summary(connection, "org_acme", build_period("week", read_clock_ms()), "ns_acme_api")
    assert [share.name for share in numbers.namespaces] == ["api"]
    assert {term.namespace for term in numbers.questions} == {"api"}


def test_percentile_is_the_bound_of_its_bucket() -> None:
    counts = {5: 90, 20: 9, NO_BOUND_MS: 1}
    assert [find_percentile(counts, share) for share in (0.5, 0.95, 0.99, 1)] == [5, 20, 20, NO_BOUND_MS]
    assert find_percentile({}, 0.5) is None
    assert [format_latency(bound) for bound in Percentiles(None, 1_000, NO_BOUND_MS)] == [
        "none",
        "< 1,000 ms",
        "10 s or more",
    ]


@pytest.mark.usefixtures("target")
def test_unknown_organization_suggests_a_similar_name(database: Database) -> None:
    with database.connect() as connection:
        assert find_organization(connection, "acme") == "org_acme"
        with pytest.raises(OrganizationNotFound) as error:
            find_organization(connection, "acmee")
    assert error.value.fix == "Did you mean 'acme'?"
