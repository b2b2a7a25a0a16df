"""report_problem: offered with a receiver alone, for addresses that exist in a readable namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from index.sources.sources import Sources
from tests.documentation_sources import TWO_SOURCES
from tests.tools.retrieval.conftest import CallSources
from tools.records.problem_reports import ReaderReport, name_sender
from tools.retrieval.dispatcher import SourcesDispatcher
from tools.tool import Answer

ARGUMENTS = {"address": "docs/errors.md#rate-limits", "namespace": "api-reference", "problem": "Wrong."}


@pytest.fixture
def reports() -> list[ReaderReport]:
    return []


@pytest.fixture
def report(build_sources: Callable[[str], Sources], reports: list[ReaderReport]) -> Callable[..., Answer]:
    def receive(received_report: ReaderReport) -> str:
        reports.append(received_report)
        return "rpt_1"

    dispatcher = SourcesDispatcher(build_sources(TWO_SOURCES), receive_report=receive)
    assert dispatcher.offers("report_problem")

    def call(**arguments: Any) -> Answer:
        return dispatcher.call("report_problem", {**ARGUMENTS, **arguments}, client="test")

    return call


def test_report_is_received_with_its_sender(
    report: Callable[..., Answer], reports: list[ReaderReport]
) -> None:
    with name_sender("user:issuer#ana"):
        answer = report(suggestion=" Say 30 s. ")
    assert answer.data == {"reported": True, "report": "rpt_1", "address": "docs/errors.md#rate-limits"}
    assert reports == [
        ReaderReport("api-reference", "docs/errors.md#rate-limits", "Wrong.", "Say 30 s.", "user:issuer#ana")
    ]
    report(address="doc:///api-reference/docs/errors.md")
    assert reports[1].address == "docs/errors.md"
    assert reports[1].sender is None


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"address": "docs/no.md"}, "DOCUMENT_NOT_FOUND"),
        ({"address": "docs/errors.md#no"}, "SECTION_NOT_FOUND"),
        ({"address": "../../etc/passwd"}, "DOCUMENT_NOT_FOUND"),
        ({"namespace": "no"}, "NAMESPACE_NOT_FOUND"),
        ({"namespace": "*"}, "NAMESPACE_NOT_FOUND"),
        ({"problem": " "}, "INVALID_ARGUMENTS"),
        ({"problem": "x" * 2_001}, "INVALID_ARGUMENTS"),
        ({"suggestion": "x" * 2_001}, "INVALID_ARGUMENTS"),
    ],
)
def test_invalid_report_is_refused(
    report: Callable[..., Answer], reports: list[ReaderReport], arguments: dict[str, Any], code: str
) -> None:
    answer = report(**arguments)
    assert answer.is_error
    assert answer.data["code"] == code
    assert reports == []


def test_server_without_a_receiver_does_not_offer_the_tool(call_sources: CallSources) -> None:
    from tools.dispatcher import UnknownTool

    with pytest.raises(UnknownTool):
        call_sources("report_problem", **ARGUMENTS)
