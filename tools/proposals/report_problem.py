"""report_problem: reports a problem in a document as a proposal with a suggestion, or as a comment.

Only servers that may write offer it. A suggestion replaces the text of the section in a submitted proposal.
A report without a suggestion is a comment in an open proposal of the same address, which the first report
opens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from tools.arguments import (
    Arguments,
    InvalidArguments,
    read_arguments,
    remove_nulls,
    resolve_target,
    select_requested_fields,
)
from tools.examples import correct_address
from tools.next_steps import suggest_list_call
from tools.redirects import add_moved_to, find_current_location
from tools.tool import Answer, Data, NextStep, Tool
from tools.write_target import identify_actor, suggest_review
from tools.writer import Writer, select_example_arguments
from workspace.document.addresses import resolve_section
from workspace.edits.text import UpdateContent
from workspace.proposals.events import validate_text
from workspace.writing.idempotency import compute_call_digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.proposals.proposal import Proposal
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult

_MAX_TITLE_ADDRESS = 150
_DESCRIPTION = (
    "Readers reported problems in this section. The comments have the reports; nothing is changed yet."
)


class ReportProblemArguments(Arguments):
    """The input of report_problem."""

    address: str | None = Field(None, description="Document, or section (api.md#errors)")
    problem: str | None = Field(None, description="What is wrong, missing or unclear there")
    suggestion: str | None = Field(None, description="Markdown that replaces the section's own text")
    idempotency_key: str | None = Field(None, description="For retries")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "report": "Call with {address, problem}: a comment in a proposal for the section",
        "suggest": "Call with {address, problem, suggestion}: a proposal with the changed text, for review",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "address": "search-api.md#errors",
        "problem": "The status for a wrong key is missing.",
        **select_example_arguments(arguments, ("address", "problem", "suggestion")),
    }


def _run(context: Context, arguments: CallArguments) -> Answer:
    if not select_requested_fields(arguments):
        listing = suggest_list_call(context)
        step = NextStep(
            "Call with an address and a problem", *(("; list documents with ", listing) if listing else ())
        )
        return Answer(
            {"usage": dict(_usage(arguments)), "commit": context.workspace.tip(), "next_step": step}
        )
    request = read_arguments(ReportProblemArguments, remove_nulls(arguments))
    for field in ("address", "problem"):
        if not (getattr(request, field) or "").strip():
            raise InvalidArguments(f"'{field}' is missing", fix=f"Give '{field}'.", field=field)
    problem = validate_text(request.problem or "", "problem")  # before a proposal is opened for it
    snapshot = context.snapshot()
    location = find_current_location(
        context, snapshot, *resolve_target(snapshot, request.address or "", None)
    )
    document = snapshot.document(location.file)
    slug = None if location.slug is None else resolve_section(document, location.slug).key
    suggestion = (request.suggestion or "").strip()
    if suggestion and slug is None:
        raise InvalidArguments(
            "a suggestion needs the address of a section",
            fix="Add the section to the address, such as api.md#errors.",
            field="address",
        )
    report = _Report(context, problem, document.path, slug, request.idempotency_key)
    if suggestion:
        answer = _propose(report, suggestion)
        if answer.is_error or "proposal" in answer.data:
            return answer
    data = _comment(report)
    if suggestion:
        data["hints"] = ["the suggestion is the present text of the section, so that nothing is proposed"]
    return Answer(add_moved_to(location, data))


class _Report(NamedTuple):
    """A report of a problem in a document, or in one of its sections."""

    context: Context
    problem: str
    file: str
    slug: str | None
    key: str | None

    @property
    def address(self) -> str:
        """The address of the section, or of the document."""
        return self.file if self.slug is None else f"{self.file}#{self.slug}"

    @property
    def title(self) -> str:
        """The title of the proposal."""
        address = self.address
        shown_address = address if len(address) <= _MAX_TITLE_ADDRESS else f"{address[:_MAX_TITLE_ADDRESS]}…"
        return f"Problem in {shown_address}"


def _propose(report: _Report, suggestion: str) -> Answer:
    """Propose a suggestion, and return the answer; without a proposal if the section has this text."""
    operation = UpdateContent(file=report.file, slug=report.slug or "", content=suggestion)
    writer = Writer(
        lambda: TOOL, lambda *_: operation, {"reported": True, "address": report.address}, _suggest_no_step
    )
    fields: Data = {"address": report.address, "problem": report.problem, "suggestion": suggestion}
    new_proposal = {"title": report.title, "description": report.problem, "submit": True}
    options = {"new_proposal": new_proposal, "idempotency_key": report.key}
    answer = writer.run(report.context, {**fields, **options})
    if "example" in answer.data:  # that of the writer has the field of a new proposal
        answer = replace(answer, data={**answer.data, "example": _example(fields)})
    return answer


def _comment(report: _Report) -> Data:
    """Comment in the open proposal for an address, which is opened if there is none; return the answer."""
    context, key = report.context, report.key
    actor = identify_actor(context, TOOL.name)
    proposal_actions = context.workspace.proposal_actions()
    proposal = _find_open_proposal(proposal_actions.list_all(), report.title) or proposal_actions.open(
        report.title, _DESCRIPTION, actor, submit=False, key=key
    )
    result = proposal_actions.comment(
        proposal.id,
        actor,
        report.problem,
        file=report.file,
        slug=report.slug,
        key=None if key is None else compute_call_digest(TOOL.name, {"key": key}),
    )
    return {
        "reported": True,
        "address": report.address,
        "proposal": proposal.id,
        "comment": result.event_ids[0] if result.event_ids else None,
        "commit": context.workspace.tip(),
        "next_step": suggest_review(context, proposal.id),
    }


def _find_open_proposal(proposals: Sequence[Proposal], title: str) -> Proposal | None:
    """Return the proposal for earlier reports of the same address, unless its description was changed."""
    return next(
        (
            proposal
            for proposal in proposals
            if proposal.is_open
            and proposal.content.title == title
            and proposal.content.description == _DESCRIPTION
        ),
        None,
    )


def _suggest_no_step(context: Context, result: WriteResult, steps: Sequence[PlanStep]) -> None:
    """Return None, because the proposal of the write decides the next step."""


TOOL = Tool(
    name="report_problem",
    title="Report a problem in a document",
    toolset="proposals",
    description="Report a mistake or a gap in a document to its authors: as a proposal with a suggestion, or "
    "as a comment.",
    arguments=ReportProblemArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    idempotent=False,
    correct=correct_address,
)
