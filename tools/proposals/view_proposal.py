"""view_proposal: lists proposals, or shows one with its changes, discussion and merge requirements.

A list has the proposals of one state or of all states, newest first, page by page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    Boolean,
    Integer,
    InvalidArguments,
    Natural,
    ReadingArguments,
    read_arguments,
    resolve_target,
)
from tools.pages import count_fitting_entries, cut_text, read_list_cursor, write_list_cursor
from tools.proposals.descriptions import describe_proposal, summarize_proposal
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.write_target import list_overlaps, suggest_first_write
from tools.writer import select_example_arguments
from workspace.escapes import escape_invisible
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.errors import WorkspaceError
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot

STATES = ("open", "draft", "changes_requested", "approved", "merged", "closed", "gone", "any")
"""The values of the filter `state`."""


def list_proposals(context: Context, request: ViewProposalArguments, usage: Mapping[str, object]) -> Answer:
    """Return a page of the proposals, newest first.

    Raises InvalidArguments, InvalidCursor, StaleCursor.
    """
    state = request.state or "any"
    if state not in STATES:
        nearest = find_nearest(state, STATES)
        fix = f"Did you mean '{nearest[0]}'?" if nearest else f"Use one of {', '.join(STATES)}."
        raise InvalidArguments(f"unknown state '{state[:50]}'", fix=fix, field="state", nearest=nearest)
    proposals = context.workspace.proposal_actions().list_all()
    matching_proposals = [entry for entry in proposals if _has_state(entry, state)]
    criteria = ["proposals", state]
    first_index = 0
    if request.cursor is not None:
        # The cursor names the last entry, so that a new proposal does not shift the pages.
        last_key = read_list_cursor(context.signing_keys, request.cursor, None, criteria)
        first_index = sum(_sort_key(entry) >= last_key for entry in matching_proposals)
    page = matching_proposals[first_index : first_index + request.limit]
    entries = [summarize_proposal(entry) for entry in page]
    count = count_fitting_entries(entries, context.text_tokens)
    page, entries = page[:count], entries[:count]
    is_last_page = first_index + len(page) >= len(matching_proposals)
    cursor = (
        None if is_last_page else write_list_cursor(context.signing_keys, _sort_key(page[-1]), None, criteria)
    )
    data: Data = {
        "proposals": entries,
        "total": len(matching_proposals),
        "states": {
            name: sum(entry.state.value == name for entry in proposals) for name in STATES if name != "any"
        },
        "next_cursor": cursor,
        "commit": context.workspace.tip(),
        "usage": dict(usage),
    }
    return Answer({**data, "next_step": _suggest_after_list(context, page, cursor, request)})


def _has_state(proposal: Proposal, state: str) -> bool:
    """Return True if a proposal has a state; "open" includes all states that have not ended."""
    if state == "open":
        return proposal.is_open
    return state == "any" or proposal.state.value == state


def _sort_key(proposal: Proposal) -> str:
    """Return the sort key of a proposal in the list; a newer proposal has a greater key."""
    return f"{proposal.content.opened_at.isoformat(timespec='milliseconds')} {proposal.id}"


def _suggest_after_list(
    context: Context, page: Sequence[Proposal], cursor: str | None, request: ViewProposalArguments
) -> NextStep:
    if cursor is not None:
        fields = request.model_dump(exclude_unset=True, exclude_none=True, exclude={"cursor"})
        return NextStep("See more with ", call("view_proposal", **fields, cursor=cursor))
    if page:
        suggested_proposal = next((proposal for proposal in page if proposal.is_open), page[0])
        return NextStep("View one with ", call("view_proposal", proposal=suggested_proposal.id))
    if request.state is not None and request.state != "any":
        return NextStep(f"No proposal is {request.state}; list all with ", call("view_proposal"))
    if context.offers("create_proposal"):
        return NextStep("There are no proposals yet; open one with ", call("create_proposal"))
    return NextStep("There are no proposals yet; list them again with ", call("view_proposal"))


DEFAULT_LIMIT = 20
MAX_LIMIT = 100
_SINGLE_PROPOSAL_FIELDS = ("file", "slug", "comments", "comment", "reviews", "offset")
_MAX_COMMENTS = 5
_MAX_DESCRIPTION_CHARACTERS = 5_000
_MAX_COMMENTS_BYTES = 12_000
_MIN_CHANGES_CHARACTERS = 5_000
_MIN_PAGE_TOKENS = 2_000  # with fewer, an answer has its changes once: as data, or as Markdown


class ViewProposalArguments(ReadingArguments):
    """The input of view_proposal."""

    proposal: str | None = Field(None, description="Id; else all are listed")
    file: str | None = Field(None, description="Only this document's changes and comments, in full")
    slug: str | None = Field(None, description="Only this section's")
    comments: Boolean = Field(False, description="All comments, instead of the changes")
    comment: str | None = Field(None, description="Only this comment or review, in full, with its replies")
    reviews: Boolean = Field(False, description="All reviews, instead of the changes")
    state: str | None = Field(
        None, description=f"Of the list: {', '.join(STATES)}; open: not ended; default: any"
    )
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="Entries of a page")
    cursor: str | None = Field(None, description="next_cursor of the last page")
    offset: Natural | None = Field(
        None,
        description="Character to continue from: of the changes, with file; of a comment; of the description",
    )


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "list": "Call with {state?} for the proposals, the newest first",
        "one": "Call with {proposal} for its changes, checks, reviews, comments and merge requirements",
        "part": "Call with {proposal, file, slug?} for the changes of one document or section",
        "comments": "Call with {proposal, comments: true, file?, slug?} for all comments, "
        "{proposal, reviews: true} for all reviews",
        "words": "Call with {proposal, comment: ID} for one of them in full, "
        "{proposal, offset} for the rest of the description",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    if "state" in arguments and "proposal" not in arguments:
        return {"state": "open", **select_example_arguments(arguments, ("state",))}
    if "proposal" not in arguments:
        return {}  # this call lists the valid names
    return select_example_arguments(arguments, ("proposal", "file", "slug"))


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    candidates = error.details.get("candidates")
    nearest = candidates[0] if isinstance(candidates, list) and candidates else None
    if error.code == "PROPOSAL_NOT_FOUND":
        return {"proposal": nearest} if nearest else {}
    if error.code == "COMMENT_NOT_FOUND":
        return {"proposal": example["proposal"], **({"comment": nearest} if nearest else {"comments": True})}
    if error.code == "NOT_CHANGED":
        field = str(error.details["field"])
        other_fields = {name: value for name, value in example.items() if name != field}
        return {**other_fields, field: nearest} if nearest else {"proposal": example["proposal"]}
    return example


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(ViewProposalArguments, arguments)
    if not request.proposal:
        _check_list_request(request)
        return list_proposals(context, request, _usage(arguments))
    proposal_actions = context.workspace.proposal_actions()
    proposal = proposal_actions.find(request.proposal)
    if request.state is not None:
        raise InvalidArguments(
            "'state' and 'proposal' cannot be combined",
            fix="Omit 'state', or omit 'proposal' to list proposals.",
            field="state",
        )
    if (
        request.comment
        or request.reviews
        or request.comments
        or (request.offset is not None and not request.file)
    ):
        return _view_discussion(context, proposal, request)
    if request.file:
        return _view_part(context, proposal, request)
    return _view_full(context, proposal, request)


def _check_list_request(request: ViewProposalArguments) -> None:
    """Raise InvalidArguments for a field that requires a proposal."""
    for field in _SINGLE_PROPOSAL_FIELDS:
        if getattr(request, field) not in (None, False):
            raise InvalidArguments(
                f"'{field}' requires 'proposal'", fix="Give 'proposal' too.", field="proposal"
            )


def _view_discussion(context: Context, proposal: Proposal, request: ViewProposalArguments) -> Answer:
    """Return the discussion of a proposal without its changes."""
    from tools.proposals import discussion

    if request.comment:
        return discussion.view_comment(
            context, proposal, request.comment, request.offset, request.limit, request.cursor
        )
    if request.reviews:
        return discussion.view_reviews(context, proposal, request.limit, request.cursor)
    if request.comments:
        location = (request.file or None, request.slug or None)
        return discussion.view_comments(context, proposal, location, request.limit, request.cursor)
    return discussion.view_description(context, proposal, request.offset or 0)


def _compute_remaining_characters(context: Context, data: Data) -> int:
    """Return the remaining characters for changes; an answer is sent as data and as Markdown."""
    from tools.proposals.changes import MAX_PAGE_CHARACTERS
    from tools.proposals.comments import measure_json_size

    return max(
        min(_MIN_CHANGES_CHARACTERS, context.text_characters // 2),
        min(MAX_PAGE_CHARACTERS, context.text_characters // 2 - measure_json_size(data)),
    )


def _view_full(context: Context, proposal: Proposal, request: ViewProposalArguments) -> Answer:
    from tools.proposals.changes import describe_commits, render_changes
    from tools.proposals.comments import read_comments_page, write_comments_cursor
    from tools.proposals.discussion import build_comments_call
    from tools.proposals.page import render_page
    from tools.proposals.review_state import describe_next_actor, describe_review_state

    changes = context.workspace.proposal_reviews().changes(proposal)
    criteria = ["changes", proposal.id, changes.base, changes.tip]
    first_index = (
        int(read_list_cursor(context.signing_keys, request.cursor, None, criteria))
        if request.cursor is not None
        else 0
    )
    data = describe_proposal(proposal)
    if first_index == 0:
        description = escape_invisible(proposal.content.description)
        data["description"], next_offset = (
            cut_text(description, 0, min(_MAX_DESCRIPTION_CHARACTERS, context.text_characters // 4))
            if context.text_tokens >= _MIN_PAGE_TOKENS
            else ("", 0)
        )
        if next_offset is not None:
            data["description_rest"] = str(call("view_proposal", proposal=proposal.id, offset=next_offset))
        data |= describe_review_state(context, proposal)
        data |= describe_next_actor(proposal, data)
        data["overlaps"] = list_overlaps(context, proposal.id) if proposal.is_open else []
        data |= describe_commits(context, proposal)
        any_location = (None, None)
        threads_page = read_comments_page(
            context,
            proposal,
            0,
            _MAX_COMMENTS,
            any_location,
            min(_MAX_COMMENTS_BYTES, context.text_characters // 4),
        )
        data |= {"comments": threads_page.threads, "comments_total": threads_page.total}
        if threads_page.next_index is not None:
            next_cursor = write_comments_cursor(context, proposal, any_location, threads_page.next_index)
            data["comments_rest"] = str(build_comments_call(proposal, any_location, next_cursor))
    page = render_changes(
        context, changes, proposal.id, first_index, _compute_remaining_characters(context, data)
    )
    cursor = (
        None
        if page.next_position is None
        else write_list_cursor(context.signing_keys, str(page.next_position), None, criteria)
    )
    data |= {"changes": {**page.data, "total": len(changes.documents)}, "next_cursor": cursor}
    if changes.reason:
        data["changes"]["reason"] = escape_invisible(changes.reason)
    if cursor is not None:
        step = NextStep("See more changes with ", call("view_proposal", proposal=proposal.id, cursor=cursor))
    elif first_index > 0:
        step = NextStep(
            "These are all changes; see its state with ", call("view_proposal", proposal=proposal.id)
        )
    else:
        step = _suggest_after_view(context, proposal, data)
    data |= {"commit": changes.tip or context.workspace.tip(), "next_step": step}
    data_with_values = _drop_empty_fields(data)
    if context.text_tokens < _MIN_PAGE_TOKENS:
        return Answer(data_with_values)
    return Answer({**data_with_values, "rendered": render_page(data, page.markdown)})


def _view_part(context: Context, proposal: Proposal, request: ViewProposalArguments) -> Answer:
    from tools.proposals.changes import render_change
    from tools.proposals.comments import read_comments_page, write_comments_cursor
    from tools.proposals.discussion import build_comments_call
    from tools.proposals.page import render_page

    changes = context.workspace.proposal_reviews().changes(proposal)
    file, slug = str(request.file), request.slug
    if changes.tip is not None:
        file, slug = resolve_target(context.workspace.snapshot(changes.tip), file, slug)
    location = (file, slug or None)
    max_bytes = min(_MAX_COMMENTS_BYTES, context.text_characters // 4)
    threads_page = read_comments_page(context, proposal, 0, request.limit, location, max_bytes)
    data = {**describe_proposal(proposal), "file": file, "slug": slug, "comments": threads_page.threads}
    if threads_page.next_index is not None:
        next_cursor = write_comments_cursor(context, proposal, location, threads_page.next_index)
        data["comments_rest"] = str(build_comments_call(proposal, location, next_cursor))
    page = render_change(
        context, changes, file, slug, request.offset or 0, _compute_remaining_characters(context, data)
    )
    target_fields = {"proposal": proposal.id, "file": file, **({"slug": slug} if slug else {})}
    if page.next_position is not None:
        step = NextStep(
            "Read the rest with ", call("view_proposal", **target_fields, offset=page.next_position)
        )
    elif context.offers("update_proposal") and proposal.is_open:
        step = NextStep(
            "Add a comment: ", call("update_proposal", action="comment", text="…", **target_fields)
        )
    else:
        step = NextStep("View the proposal with ", call("view_proposal", proposal=proposal.id))
    commit = changes.tip or context.workspace.tip()
    data |= {"changes": page.data, "next_offset": page.next_position, "commit": commit, "next_step": step}
    if context.text_tokens < _MIN_PAGE_TOKENS:
        # The offset continues the text of the page, so the data are left out.
        position_fields = {name: data[name] for name in ("next_offset", "commit", "next_step")}
        return Answer({**target_fields, **position_fields, "rendered": page.markdown})
    return Answer({**data, "rendered": render_page(data, page.markdown)})


def _drop_empty_fields(data: Data) -> Data:
    """Return the fields without the empty ones: a list without entries, a null, and an empty text.

    `reviewed_by` is always returned, because an empty list means that the proposal has no review.
    """
    return {
        name: value
        for name, value in data.items()
        if name == "reviewed_by" or value not in (None, [], (), "")
    }


def _suggest_after_view(context: Context, proposal: Proposal, data: Data) -> NextStep:
    """Return the next step for the state of a proposal."""
    view = call("view_proposal")
    if not context.offers("update_proposal"):
        return NextStep("A person acts on it with docyard proposals; see the other proposals with ", view)
    fields: Data = {"proposal": proposal.id}
    if data.get("conflicts"):
        from tools.proposals.conflicts import suggest_resolutions

        seen_commits = {"commit": proposal.tip, "target_commit": data["target_commit"]}
        fields |= {"action": "refresh", "resolutions": suggest_resolutions(data["conflicts"]), **seen_commits}
        return NextStep("Resolve the conflicts with ", call("update_proposal", **fields))
    blockers = data.get("missing", ())
    if any(blocker["code"] == "NOTHING_PROPOSED" for blocker in blockers):
        return suggest_first_write(context, proposal.id)
    if any(blocker["code"] == "NEEDS_REFRESH" for blocker in blockers):
        return NextStep("Refresh it with ", call("update_proposal", **fields, action="refresh"))
    if proposal.state.value == "draft":
        return NextStep("Request a review with ", call("update_proposal", **fields, action="submit"))
    if data["next_actor"] == "author":
        return NextStep(
            "Write the requested changes with this proposal, then request a review with ",
            call("update_proposal", **fields, action="submit"),
        )
    if data["next_actor"] == "reviewer":
        count = len(data["reviewed_by"])
        reviews = f"{count} {'person has' if count == 1 else 'people have'}" if count else "nobody has"
        return NextStep(f"A reviewer acts next: {reviews} reviewed it")
    if data["next_actor"] == "merger":
        return NextStep("A person who may merge acts next; the author only waits")
    return NextStep("See the other proposals with ", view)


TOOL = Tool(
    name="view_proposal",
    title="View proposals",
    toolset="proposals",
    description="List proposals ({}), or view one: state, changed sections before and after, conflicts, "
    "checks, reviews, comments, overlaps with others, and merge requirements.",
    arguments=ViewProposalArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
)
