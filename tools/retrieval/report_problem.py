"""report_problem: sends a problem of a document to the owners of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import Arguments, InvalidArguments, read_arguments
from tools.records.problem_reports import ReaderReport, get_sender
from tools.tool import Answer, Tool
from tools.writer import select_example_arguments
from workspace.document.addresses import resolve_section, split_address
from workspace.texts.text_file import LazyFilePaths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from index.sources.source import Source
    from tools.retrieval.context import RetrievalContext
    from tools.tool import CallArguments

MAX_REPORT_CHARACTERS = 2_000


class ReaderReportArguments(Arguments):
    """The input of report_problem."""

    address: str = Field(description="Address of the document or section, from a search result")
    problem: str = Field(description=f"What is wrong; at most {MAX_REPORT_CHARACTERS:,} characters")
    suggestion: str | None = Field(None, description="A better text")
    namespace: str | None = Field(
        None, description="Namespace of the address (optional if only one namespace)"
    )


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {"report": "Call with {address, problem, suggestion?, namespace?}; owners read it, agents do not"}


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "address": "guides/install.md#requirements",
        **select_example_arguments(arguments, ("address", "namespace")),
        "problem": "The command fails with version 3",
    }


def _run(context: RetrievalContext, arguments: CallArguments) -> Answer:
    request = read_arguments(ReaderReportArguments, arguments)
    assert context.receive_report is not None, "the tool is offered with a receiver"
    problem = _check_text("problem", request.problem)
    suggestion = _check_text("suggestion", request.suggestion or "")
    if not problem:
        raise InvalidArguments("'problem' must not be blank", fix="Say what is wrong.", field="problem")
    [source] = context.sources.select(request.namespace, allows_all=False)
    address = _find_address(source, request.address)
    report = ReaderReport(source.name, address, problem, suggestion, get_sender())
    return Answer({"reported": True, "report": context.receive_report(report), "address": address})


def _check_text(field: str, text: str) -> str:
    if len(text) > MAX_REPORT_CHARACTERS:
        raise InvalidArguments(
            f"'{field}' has {len(text):,} characters; at most {MAX_REPORT_CHARACTERS:,} are allowed",
            fix="Shorten the text.",
            field=field,
        )
    return text.strip()


def _find_address(source: Source, address: str) -> str:
    """Return the address of an existing document or section.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, InvalidAddress, SourceUnavailable.
    """
    with source.open() as index:
        snapshot = index.workspace.snapshot()
        # A search result names the section by its URI, too.
        path, slug = split_address(address.removeprefix(f"doc:///{source.name}/"), LazyFilePaths(snapshot))
        document = snapshot.document(path)
        if not slug:
            return document.path
        return f"{document.path}#{resolve_section(document, slug).address}"


TOOL = Tool(
    name="report_problem",
    title="Report a problem",
    toolset="retrieval",
    description="Report a wrong or unclear text to the owners of the documentation",
    arguments=ReaderReportArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    idempotent=False,
)
