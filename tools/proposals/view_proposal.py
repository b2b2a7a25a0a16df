"""view_proposal: the proposals there are; or one, with what it changes, what is said, and what is missing.

The list of proposals: the newest first, a page at a time, of one state or of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import Arguments, Boolean, Integer, InvalidArguments, Natural, read, resolve_target
from tools.errors import escape_invisible
from tools.pages import cut_text, read_place, write_place
from tools.proposals.descriptions import allowed_actions, describe_proposal, summarize_proposal
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.write_target import first_write_step, overlaps_of
from tools.writer import arguments_of
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import Context, Given
    from workspace.errors import WorkspaceError
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot

STATES = ("open", "draft", "changes_requested", "approved", "merged", "closed", "gone", "any")
"""What the list can be asked for."""


def list_proposals(context: Context, asked: ViewProposalArguments, usage: Mapping[str, object]) -> Answer:
    """Return a page of the proposals, the one that was opened last first.

    Raises InvalidArguments, StaleCursor.
    """
    state = asked.state or "any"
    if state not in STATES:
        near = find_nearest(state, STATES)
        fix = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(STATES)}."
        raise InvalidArguments(f"no state '{state[:50]}'", fix=fix, field="state", nearest=near)
    every = context.workspace.proposing().all()
    found = [one for one in every if _has_state(one, state)]
    search = ["proposals", state]
    first = 0
    if asked.cursor is not None:
        # By what was shown last, so that a proposal that is opened meanwhile moves nothing.
        last = read_place(asked.cursor, None, search)
        first = sum(_place(one) >= last for one in found)
    page = found[first : first + asked.limit]
    is_end = first + len(page) >= len(found)
    cursor = None if is_end else write_place(_place(page[-1]), None, search)
    data: Data = {
        "proposals": [summarize_proposal(one) for one in page],
        "total": len(found),
        "states": {name: sum(one.state.value == name for one in every) for name in STATES if name != "any"},
        "next_cursor": cursor,
        "commit": context.workspace.tip(),
        "usage": dict(usage),
    }
    return Answer({**data, "next_step": _after_list(context, page, cursor, asked)})


def _has_state(proposal: Proposal, state: str) -> bool:
    """Return True if a proposal is listed; "open" are all that have not ended, as on the command line."""
    if state == "open":
        return proposal.is_open
    return state == "any" or proposal.state.value == state


def _place(proposal: Proposal) -> str:
    """Return where a proposal stands in the list; a later one has the greater place."""
    return f"{proposal.words.opened.isoformat(timespec='milliseconds')} {proposal.id}"


def _after_list(
    context: Context, page: Sequence[Proposal], cursor: str | None, asked: ViewProposalArguments
) -> NextStep:
    if cursor is not None:
        fields = asked.model_dump(exclude_unset=True, exclude_none=True, exclude={"cursor"})
        return NextStep("See more with ", call("view_proposal", **fields, cursor=cursor))
    if page:
        best = next((one for one in page if one.is_open), page[0])
        return NextStep("Look at one with ", call("view_proposal", proposal=best.id))
    if asked.state is not None and asked.state != "any":
        return NextStep(f"None is {asked.state}; see all with ", call("view_proposal"))
    if context.offers("create_proposal"):
        return NextStep("None was opened yet; open one with ", call("create_proposal"))
    return NextStep("None was opened yet; look again with ", call("view_proposal"))


DEFAULT_LIMIT = 20
MAX_LIMIT = 100
_OF_ONE = ("file", "slug", "comments", "comment", "reviews", "offset")
_COMMENTS = 5
_DESCRIPTION = 5_000
_COMMENTS_ROOM = 12_000  # bytes
_LEAST_ROOM = 5_000  # of changes


class ViewProposalArguments(Arguments):
    """The input of view_proposal."""

    proposal: str | None = Field(None, description="Id; else all are listed")
    file: str | None = Field(None, description="Only this document's changes and comments, in full")
    slug: str | None = Field(None, description="Only this section's")
    comments: Boolean = Field(False, description="All comments, instead of the changes")
    comment: str | None = Field(None, description="Only this comment or review, whole, with its answers")
    reviews: Boolean = Field(False, description="All reviews, instead of the changes")
    state: str | None = Field(
        None, description=f"Of the list: {', '.join(STATES)}; open: not ended; default: any"
    )
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="Entries of a page")
    cursor: str | None = Field(None, description="next_cursor of the last page")
    offset: Natural | None = Field(
        None,
        description="Character to go on from: of the changes, with file; of a comment; of the description",
    )


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "list": "Call with {state?} for the proposals, the newest first",
        "one": "Call with {proposal} for its changes, checks, reviews, comments, and what it lacks",
        "part": "Call with {proposal, file, slug?} for what changes in one document or section",
        "comments": "Call with {proposal, comments: true, file?, slug?} for all comments, "
        "{proposal, reviews: true} for all reviews",
        "words": "Call with {proposal, comment: ID} for one of them whole, "
        "{proposal, offset} for the rest of the description",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(given: Given) -> dict[str, Any]:
    if "state" in given and "proposal" not in given:
        return {"state": "open", **arguments_of(given, ("state",))}
    if "proposal" not in given:
        return {}  # which lists those that can be named
    return arguments_of(given, ("proposal", "file", "slug"))


def _correct(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    found = error.details.get("candidates")
    near = found[0] if isinstance(found, list) and found else None
    if error.code == "PROPOSAL_NOT_FOUND":
        return {"proposal": near} if near else {}
    if error.code == "COMMENT_NOT_FOUND":
        return {"proposal": example["proposal"], **({"comment": near} if near else {"comments": True})}
    if error.code == "NOT_CHANGED":
        field = str(error.details["field"])
        left = {name: value for name, value in example.items() if name != field}
        return {**left, field: near} if near else {"proposal": example["proposal"]}
    return example


def _run(context: Context, given: Given) -> Answer:
    asked = read(ViewProposalArguments, given)
    if not asked.proposal:
        _check_list(asked)
        return list_proposals(context, asked, _usage(given))
    proposing = context.workspace.proposing()
    proposal = proposing.one(asked.proposal)
    if asked.state is not None:
        raise InvalidArguments(
            "'state' filters the list, and one proposal is named",
            fix="Leave out 'state', or 'proposal'.",
            field="state",
        )
    if asked.comment or asked.reviews or asked.comments or (asked.offset is not None and not asked.file):
        return _view_discussion(context, proposal, asked)
    if asked.file:
        return _view_part(context, proposal, asked)
    return _view_whole(context, proposal, asked)


def _check_list(asked: ViewProposalArguments) -> None:
    """Raise InvalidArguments for a field that only one proposal can have."""
    for field in _OF_ONE:
        if getattr(asked, field) not in (None, False):
            raise InvalidArguments(
                f"'{field}' is given, and no proposal", fix="Give 'proposal' too.", field="proposal"
            )


def _view_discussion(context: Context, proposal: Proposal, asked: ViewProposalArguments) -> Answer:
    """Return what is said of it, without what it changes."""
    from tools.proposals import discussion

    if asked.comment:
        return discussion.view_comment(
            context, proposal, asked.comment, asked.offset, asked.limit, asked.cursor
        )
    if asked.reviews:
        return discussion.view_reviews(context, proposal, asked.limit, asked.cursor)
    if asked.comments:
        place = (asked.file or None, asked.slug or None)
        return discussion.view_comments(context, proposal, place, asked.limit, asked.cursor)
    return discussion.view_description(context, proposal, asked.offset or 0)


def _remaining_budget(context: Context, data: Data) -> int:
    """Return the room for changes beside what else is told, all of which goes out as data and as Markdown."""
    from tools.proposals.changes import MAX_PAGE_CHARACTERS
    from tools.proposals.comments import size_of

    return max(_LEAST_ROOM, min(MAX_PAGE_CHARACTERS, context.text_characters // 2 - size_of(data)))


def _view_whole(context: Context, proposal: Proposal, asked: ViewProposalArguments) -> Answer:
    from tools.proposals.changes import commits_data, render_changes
    from tools.proposals.comments import comments_cursor, comments_page
    from tools.proposals.discussion import comments_call
    from tools.proposals.page import render_page
    from tools.proposals.review_state import review_state

    changes = context.workspace.reviewing().changes(proposal)
    search = ["changes", proposal.id, changes.base, changes.tip]
    first = int(read_place(asked.cursor, None, search)) if asked.cursor is not None else 0
    data = describe_proposal(proposal)
    if first == 0:
        data["description"], rest = cut_text(escape_invisible(proposal.words.description), 0, _DESCRIPTION)
        if rest is not None:
            data["description_rest"] = str(call("view_proposal", proposal=proposal.id, offset=rest))
        data |= review_state(context, proposal)
        data["overlaps"] = overlaps_of(context, proposal.id) if proposal.is_open else []
        data |= commits_data(context, proposal)
        everywhere = (None, None)
        said = comments_page(context, proposal, 0, _COMMENTS, everywhere, _COMMENTS_ROOM)
        data |= {"comments": said.threads, "comments_total": said.total}
        if said.next is not None:
            after = comments_cursor(proposal, everywhere, said.next)
            data["comments_rest"] = str(comments_call(proposal, everywhere, after))
    page = render_changes(context, changes, proposal.id, first, _remaining_budget(context, data))
    cursor = None if page.next is None else write_place(str(page.next), None, search)
    data |= {"changes": {**page.data, "total": len(changes.documents)}, "next_cursor": cursor}
    if changes.reason:
        data["changes"]["reason"] = escape_invisible(changes.reason)
    if cursor is not None:
        step = NextStep("See more of it with ", call("view_proposal", proposal=proposal.id, cursor=cursor))
    elif first > 0:
        step = NextStep(
            "These are all changes; see where it stands with ", call("view_proposal", proposal=proposal.id)
        )
    else:
        step = _after_one(context, proposal, data)
    data |= {"commit": changes.tip or context.workspace.tip(), "next_step": step}
    return Answer(data, text=render_page(data, page.markdown))


def _view_part(context: Context, proposal: Proposal, asked: ViewProposalArguments) -> Answer:
    from tools.proposals.changes import render_change
    from tools.proposals.comments import comments_cursor, comments_page
    from tools.proposals.discussion import comments_call
    from tools.proposals.page import render_page

    changes = context.workspace.reviewing().changes(proposal)
    file, slug = str(asked.file), asked.slug
    if changes.tip is not None:
        file, slug = resolve_target(context.workspace.snapshot(changes.tip), file, slug)
    place = (file, slug or None)
    said = comments_page(context, proposal, 0, asked.limit, place, _COMMENTS_ROOM)
    data = {**describe_proposal(proposal), "file": file, "slug": slug, "comments": said.threads}
    if said.next is not None:
        after = comments_cursor(proposal, place, said.next)
        data["comments_rest"] = str(comments_call(proposal, place, after))
    page = render_change(context, changes, file, slug, asked.offset or 0, _remaining_budget(context, data))
    named = {"proposal": proposal.id, "file": file, **({"slug": slug} if slug else {})}
    if page.next is not None:
        step = NextStep("Read on with ", call("view_proposal", **named, offset=page.next))
    elif context.offers("update_proposal") and proposal.is_open:
        step = NextStep(
            "Say what you think of it: ", call("update_proposal", action="comment", text="…", **named)
        )
    else:
        step = NextStep("See all of it with ", call("view_proposal", proposal=proposal.id))
    commit = changes.tip or context.workspace.tip()
    data |= {"changes": page.data, "next_offset": page.next, "commit": commit, "next_step": step}
    return Answer(data, text=render_page(data, page.markdown))


def _after_one(context: Context, proposal: Proposal, data: Data) -> NextStep:
    """Return what follows from how it stands."""
    view = call("view_proposal")
    if not context.offers("update_proposal"):
        return NextStep("A person acts on it with docyard proposals; see the others with ", view)
    act: Data = {"proposal": proposal.id}
    if data.get("conflicts"):
        from tools.proposals.conflicts import suggest_resolutions

        seen = {"commit": proposal.tip, "target_commit": data["target_commit"]}
        act |= {"action": "refresh", "resolutions": suggest_resolutions(data["conflicts"]), **seen}
        return NextStep("Decide the conflicts with ", call("update_proposal", **act))
    missing = data.get("missing", ())
    if any(block["code"] == "NOTHING_PROPOSED" for block in missing):
        return first_write_step(context, proposal.id)
    if any(block["code"] == "NEEDS_REFRESH" for block in missing):
        return NextStep("Bring both together with ", call("update_proposal", **act, action="refresh"))
    if proposal.state.value == "draft":
        return NextStep("Ask for a review with ", call("update_proposal", **act, action="submit"))
    if proposal.is_open and not missing and not data.get("demands"):
        return NextStep("Merge it with ", call("update_proposal", **act, action="merge", commit=proposal.tip))
    if "comment" in allowed_actions(proposal) and proposal.state.value != "merged":
        return NextStep("Say something: ", call("update_proposal", **act, action="comment", text="…"))
    return NextStep("See the others with ", view)


TOOL = Tool(
    name="view_proposal",
    title="View proposals",
    toolset="proposals",
    description="List proposals ({}), or view one: state, changed sections before and after, conflicts, "
    "checks, reviews, comments, overlaps with others, and what is missing to merge it.",
    arguments=ViewProposalArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct,
)
