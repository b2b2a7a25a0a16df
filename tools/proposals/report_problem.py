"""report_problem: reports a problem in a document as a proposal with a suggestion, or as a comment.

Only servers that may write offer it. A suggestion replaces the text of the section in a submitted proposal.
A report without a suggestion is a comment in an open proposal of the same address, which the first report
opens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
from workspace.writing.idempotency import compute_digest

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
    address = document.path if slug is None else f"{document.path}#{slug}"
    if request.suggestion is None:
        return Answer(
            add_moved_to(
                location,
                _comment(context, problem, address, document.path, slug, key=request.idempotency_key),
            )
        )
    if slug is None:
        raise InvalidArguments(
            "a suggestion needs the address of a section",
            fix="Add the section to the address, such as api.md#errors.",
            field="address",
        )
    operation = UpdateContent(file=document.path, slug=slug, content=request.suggestion)
    writer = Writer(
        lambda: TOOL, lambda *_: operation, {"reported": True, "address": address}, _suggest_no_step
    )
    new_proposal = {"title": _build_title(address), "description": problem, "submit": True}
    fields = {**request.model_dump(exclude_none=True), "address": address}
    answer = writer.run(context, {**fields, "new_proposal": new_proposal})
    if "example" in answer.data:  # after an error, the same report can be sent again
        answer = replace(answer, data={**answer.data, "example": fields})
    return answer


def _comment(
    context: Context, problem: str, address: str, file: str, slug: str | None, *, key: str | None
) -> Data:
    """Comment in the open proposal for an address, which is opened if there is none; return the answer."""
    actor = identify_actor(context, TOOL.name)
    proposal_actions = context.workspace.proposal_actions()
    title = _build_title(address)
    proposal = _find_open_proposal(proposal_actions.list_all(), title) or proposal_actions.open(
        title, _DESCRIPTION, actor, submit=False, key=key
    )
    result = proposal_actions.comment(
        proposal.id,
        actor,
        problem,
        file=file,
        slug=slug,
        key=None if key is None else compute_digest(TOOL.name, {"key": key}),
    )
    return {
        "reported": True,
        "address": address,
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


def _build_title(address: str) -> str:
    shown = address if len(address) <= _MAX_TITLE_ADDRESS else f"{address[:_MAX_TITLE_ADDRESS]}…"
    return f"Problem in {shown}"


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
