"""update_proposal: submits, discusses, refreshes, reviews, merges or closes a proposal.

Each action is described by its fields and a text, and is one call of `ProposalActions`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from tools.arguments import (
    Arguments,
    InvalidArguments,
    Objects,
    read_arguments,
    remove_nulls,
    resolve_target,
)
from tools.errors import build_error_response
from tools.proposals.descriptions import (
    choose_commit,
    describe_broken_dependencies,
    list_allowed_actions,
    list_latest_open,
    open_and_describe_pull_request,
)
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.write_target import identify_actor, list_overlaps
from tools.writer import select_example_arguments, update_index_after_commit
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible
from workspace.nearest import find_nearest
from workspace.publishing.after_commit import note_commit
from workspace.writing.idempotency import compute_call_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools.tool import CallArguments, Context
    from workspace.merge.commits import MergeConflict
    from workspace.proposals.actions.actions import ProposalActions
    from workspace.proposals.actions.repository import ActionResult
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot


class Action(NamedTuple):
    """An action: its fields except `proposal`, `action` and `idempotency_key`, and its description.

    `decisive_fields` are fields that no other action has; a call with one of them can omit `action`.
    """

    name: str
    required_fields: tuple[str, ...]
    optional_fields: tuple[str, ...]
    description: str
    decisive_fields: tuple[str, ...] = ()

    @property
    def field_list(self) -> str:
        """Return the fields on one line: `text, file?, slug?`."""
        return ", ".join((*self.required_fields, *(f"{name}?" for name in self.optional_fields)))


_ALL_ACTIONS = (
    Action("submit", (), (), "requests a review of the proposal at its tip"),
    Action(
        "comment",
        ("text",),
        ("file", "slug", "quote", "reply_to"),
        "comments on the proposal, on a document or section, or on quoted text, or replies to another "
        "comment",
        ("file", "slug", "quote", "reply_to"),
    ),
    Action(
        "refresh",
        (),
        ("resolutions", "commit", "target_commit"),
        "merges the target's tip into the proposal; resolutions resolve conflicts: each is a conflict as it "
        "is shown, with choice: ours (the proposal's), theirs (the target's), union (both texts) or "
        "content, and then the content; they require the commit and target_commit of the view that showed "
        "the conflicts",
        ("resolutions", "target_commit"),
    ),
    Action("approve", (), ("text", "commit"), "approves the proposal at a commit, for a person"),
    Action("request_changes", ("text",), ("commit",), "states the changes that are required before a merge"),
    Action(
        "merge",
        (),
        ("commit",),
        "merges the proposal into its target, if the policy permits it and there are no conflicts",
    ),
    Action("close", (), ("text",), "closes the proposal; its discussion and branch stay"),
    Action("reopen", (), ("text",), "reopens a closed proposal"),
    Action(
        "edit", (), ("title", "description"), "changes the title or description", ("title", "description")
    ),
)

ACTIONS: Mapping[str, Action] = {action.name: action for action in _ALL_ACTIONS}


def resolve_action(arguments: Mapping[str, object]) -> Action | None:
    """Return the action that a call names, or that its fields imply; None if the call has neither.

    Raises InvalidArguments for an unknown action, a field of another action, and a missing field.
    """
    name = arguments.get("action")
    action = _find_action(name) if isinstance(name, str) and name else _find_action_by_fields(arguments)
    if action is None:
        return None
    known_fields = {"proposal", "action", "idempotency_key", *action.required_fields, *action.optional_fields}
    for field in arguments:
        if field not in known_fields:
            raise InvalidArguments(
                f"'{field}' is not a field of {action.name}",
                fix=f"Omit '{field}'; {action.name} has {action.field_list or 'no further fields'}.",
                field=field,
            )
    for field in action.required_fields:
        if not arguments.get(field):
            raise InvalidArguments(f"'{field}' is missing", fix=f"Give '{field}'.", field=field)
    if action.name == "edit" and not {"title", "description"} & arguments.keys():
        raise InvalidArguments(
            "'title' or 'description' is required", fix="Give the field to change.", field="title"
        )
    return action


def guess_action(arguments: Mapping[str, object]) -> Action | None:
    """Return the most likely action of an invalid call; None if neither name nor fields suggest one."""
    name = arguments.get("action")
    if isinstance(name, str) and name:
        nearest = find_nearest(name, ACTIONS)
        return ACTIONS.get(name) or (ACTIONS[nearest[0]] if nearest else None)
    return next((action for action in _ALL_ACTIONS if set(action.decisive_fields) & arguments.keys()), None)


def _find_action(name: str) -> Action:
    action = ACTIONS.get(name)
    if action is None:
        nearest = find_nearest(name, ACTIONS)
        fix = f"Did you mean '{nearest[0]}'?" if nearest else f"The actions are {', '.join(ACTIONS)}."
        raise InvalidArguments(f"unknown action '{name[:100]}'", fix=fix, field="action", nearest=nearest)
    return action


def _find_action_by_fields(arguments: Mapping[str, object]) -> Action | None:
    matching_actions = [action for action in _ALL_ACTIONS if set(action.decisive_fields) & arguments.keys()]
    if len(matching_actions) > 1:
        names = " or ".join(action.name for action in matching_actions)
        raise InvalidArguments(
            f"'action' is required: the given fields match {names}", fix="Give 'action'.", field="action"
        )
    return matching_actions[0] if matching_actions else None


_TOOL_NAME = "update_proposal"
SEEN_COMMIT_FIELDS = ("commit", "target_commit")
"""The fields for the two commits of a conflict, in an answer and in the call that resolves it."""


def perform_action(
    context: Context, proposal: Proposal, action: str, request: UpdateProposalArguments
) -> ActionResult:
    """Perform the requested action on a proposal. Raises InvalidArguments, and errors of the action."""
    from workspace.proposals.events import ReviewDecision

    proposal_actions = context.workspace.proposal_actions()
    proposal_id, key = proposal.id, request.idempotency_key
    actor = identify_actor(context, _TOOL_NAME)
    text = request.text or ""
    handlers: Mapping[str, Callable[[], ActionResult]] = {
        "submit": partial(proposal_actions.submit, proposal_id, actor, key=key),
        "comment": partial(_comment, context, proposal_actions, proposal, request),
        "refresh": partial(_refresh, context, proposal_actions, proposal, request),
        "approve": partial(
            proposal_actions.review,
            proposal_id,
            actor,
            ReviewDecision.APPROVE,
            text,
            commit=request.commit,
            key=key,
        ),
        "request_changes": partial(
            proposal_actions.review,
            proposal_id,
            actor,
            ReviewDecision.REQUEST_CHANGES,
            text,
            commit=request.commit,
            key=key,
        ),
        "merge": partial(proposal_actions.merge, proposal_id, actor, commit=request.commit, key=key),
        "close": partial(proposal_actions.close, proposal_id, actor, text, key=key),
        "reopen": partial(proposal_actions.reopen, proposal_id, actor, text, key=key),
        "edit": partial(
            proposal_actions.edit,
            proposal_id,
            actor,
            title=request.title,
            description=request.description,
            key=key,
        ),
    }
    return handlers[action]()


def _comment(
    context: Context, proposal_actions: ProposalActions, proposal: Proposal, request: UpdateProposalArguments
) -> ActionResult:
    file, slug = request.file, request.slug
    if file is not None:
        commit = proposal.merge_record.tip if proposal.merge_record is not None else proposal.tip
        snapshot = context.workspace.snapshot(commit) if commit is not None else context.snapshot()
        file, slug = resolve_target(snapshot, file, slug)
    return proposal_actions.comment(
        proposal.id,
        identify_actor(context, _TOOL_NAME),
        request.text or "",
        file=file,
        slug=slug,
        quote=request.quote or "",
        reply_to=request.reply_to,
        key=request.idempotency_key,
    )


def _refresh(
    context: Context, proposal_actions: ProposalActions, proposal: Proposal, request: UpdateProposalArguments
) -> ActionResult:
    from tools.proposals.conflicts import read_resolutions
    from workspace.proposals.actions.refresh import RefreshResolutions

    resolutions = request.resolutions or ()
    seen_commits = {
        field: value.strip().lower()
        for field in SEEN_COMMIT_FIELDS
        if (value := getattr(request, field)) and value.strip()
    }
    missing_field = next((field for field in SEEN_COMMIT_FIELDS if field not in seen_commits), None)
    if resolutions and missing_field is not None:
        raise InvalidArguments(
            f"'{missing_field}' is required with 'resolutions'",
            fix="Give the 'commit' and 'target_commit' of the answer that showed the conflicts.",
            field=missing_field,
        )
    refresh_resolutions = None
    if resolutions or seen_commits:
        refresh_resolutions = RefreshResolutions(
            lambda conflicts: read_resolutions(resolutions, conflicts),
            seen_commits.get("commit"),
            seen_commits.get("target_commit"),
            compute_call_digest(_TOOL_NAME, {"resolutions": resolutions, **seen_commits}),
        )
    return proposal_actions.refresh(
        proposal.id, identify_actor(context, _TOOL_NAME), refresh_resolutions, key=request.idempotency_key
    )


_EXAMPLE_ID = "k7m2q9xa"
_PLACEHOLDER = "…"
_ACTIONS_ON_COMMITS = ("submit", "approve", "merge")  # an empty proposal refuses them
_MAX_PROPOSALS_LISTED = 5
_PERSON_ONLY_CODES = frozenset(("NEEDS_PERSON", "OWN_PROPOSAL", "MERGE_BLOCKED"))


class UpdateProposalArguments(Arguments):
    """The input of update_proposal."""

    proposal: str | None = Field(None, description="Id")
    action: str | None = Field(
        None,
        description="; ".join(
            f"{name}: {action.field_list}".rstrip(": ") for name, action in ACTIONS.items()
        ),
    )
    text: str | None = Field(None, description="Markdown")
    file: str | None = Field(None, description="Document of the comment")
    slug: str | None = Field(None, description="Section of the comment")
    quote: str | None = Field(None, description="Exact text there to comment on")
    reply_to: str | None = Field(None, description="Id of the comment to reply to")
    resolutions: Objects | None = Field(
        None,
        description="[{file, kind?, where?, part?, choice: ours|theirs|union|content, content?}]: "
        "conflicts as view_proposal shows them; without kind, all of the file",
    )
    commit: str | None = Field(None, description="Its commit that you have read; default: tip")
    target_commit: str | None = Field(None, description="With resolutions: as shown with the conflicts")
    title: str | None = Field(None)
    description: str | None = Field(None, description="Markdown")
    idempotency_key: str | None = Field(None, description="For retries")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    action = guess_action(arguments)
    if action is not None:
        fields = ", ".join(part for part in ("proposal, action", action.field_list) if part)
        return {"action": action.name, "fields": fields, "about": action.description}
    return {
        "single": "Call with {proposal, action, ...fields}",
        "actions": {
            name: f"{{{action.field_list}}}: {action.description}" for name, action in ACTIONS.items()
        },
        "people": "To approve, a person runs docyard proposals approve ID; to merge changes of protected "
        "paths, docyard proposals merge ID",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    action = guess_action(arguments) or ACTIONS["submit"]
    example = {
        "proposal": _EXAMPLE_ID,
        **select_example_arguments(arguments, ("proposal",)),
        "action": action.name,
    }
    example |= dict.fromkeys(action.required_fields, _PLACEHOLDER)
    if action.name == "edit":
        example["title"] = _PLACEHOLDER
    return {
        **example,
        **select_example_arguments(arguments, (*action.required_fields, *action.optional_fields)),
    }


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    """Return an example with existing names, and with an action that is possible after the error."""
    suggestions = error.details.get("candidates")
    candidates = suggestions if isinstance(suggestions, list) else []
    if error.code == "PROPOSAL_NOT_FOUND" and candidates:
        return {"proposal": candidates[0], "action": "comment", "text": example.get("text", _PLACEHOLDER)}
    if error.code == "PROPOSAL_ENDED":
        action = {"closed": "reopen", "gone": "close"}.get(str(error.details["state"]), "comment")
        text_field = {"text": _PLACEHOLDER} if action == "comment" else {}
        return {"proposal": example["proposal"], "action": action, **text_field}
    if error.code == "DOCUMENT_NOT_FOUND" and candidates and example.get("file") not in snapshot.documents:
        other_fields = {name: value for name, value in example.items() if name not in ("slug", "quote")}
        return {**other_fields, "file": candidates[0]}
    if error.code == "SECTION_NOT_FOUND" and candidates:
        # The address of a moved section is already corrected.
        if snapshot.document(str(example.get("file", ""))).sections_by_address(str(example.get("slug", ""))):
            return example
        return {**{name: value for name, value in example.items() if name != "quote"}, "slug": candidates[0]}
    if error.code == "NOTHING_PROPOSED":
        return {"proposal": example["proposal"], "action": "comment", "text": _PLACEHOLDER}
    if error.code in _PERSON_ONLY_CODES:
        return {"proposal": example["proposal"], "action": "comment", "text": "Please review this."}
    return example


def _run(context: Context, arguments: CallArguments) -> Answer:
    fields = remove_nulls(arguments)
    request = read_arguments(UpdateProposalArguments, fields)
    proposal_actions = context.workspace.proposal_actions()
    if request.proposal is None:
        return _explain_usage(context, proposal_actions, fields)
    proposal = proposal_actions.find(request.proposal)
    action = resolve_action(fields)
    if action is None:
        return _explain_actions(context, proposal)
    from workspace.merge.commits import MergeConflict

    try:
        result = perform_action(context, proposal, action.name, request)
    except MergeConflict as error:
        return _build_conflict_error(context, proposal, error, fields)
    except WorkspaceError as error:
        if error.code in _PERSON_ONLY_CODES and context.build_review_url is not None:
            url = error.details["url"] = context.build_review_url(proposal.id)
            error.fix = f"{error.fix} The proposal's page is {url}"
        is_resolution_field = error.details.get("field") in ("resolutions", *SEEN_COMMIT_FIELDS)
        if error.code != "INVALID_RESOLUTION" and not (action.name == "refresh" and is_resolution_field):
            raise
        return _build_invalid_resolution_error(context, proposal, error, fields)
    return _build_answer(context, action, result)


def _build_answer(context: Context, action: Action, result: ActionResult) -> Answer:
    proposal = result.proposal
    note_commit(result.commit, proposal=proposal.id)  # the result may be of an earlier call with the same key
    data: Data = {
        "proposal": proposal.id,
        "action": action.name,
        "title": escape_invisible(proposal.content.title),
        "state": proposal.state.value,
        "changed": result.is_new,
        # The commits of a discussion are omitted, because no call takes them.
        "commit": (result.commit if action.name in ("merge", "refresh") else None)
        or choose_commit(context, proposal),
    }
    if action.name == "comment" and result.event_ids:
        data["comment"] = result.event_ids[0]
    if action.name == "refresh":
        data["overlaps"] = list_overlaps(context, proposal.id)
    hints: list[str] = []
    if action.name == "submit":
        pull_request, hints = open_and_describe_pull_request(context.workspace.proposal_actions(), proposal)
        data |= pull_request
    if action.name == "approve":
        from tools.proposals.review_state import explain_missing_approvals

        hints = explain_missing_approvals(context.workspace, result)
    if action.name == "merge":
        data["target"] = proposal.content.target
        hints += describe_broken_dependencies(result)
        hints += update_index_after_commit(context, result.commit)
    if hints:
        data["hints"] = hints
    return Answer({**data, "next_step": _next_step(context, action.name, result)})


def _next_step(context: Context, action: str, result: ActionResult) -> NextStep:
    proposal = result.proposal
    view = call("view_proposal", proposal=proposal.id)
    match action:
        case "merge":
            return NextStep("The proposal is merged; see the other proposals with ", call("view_proposal"))
        case "close" if proposal.tip is not None:
            reopen_call = call("update_proposal", proposal=proposal.id, action="reopen")
            return NextStep("Reopen it with ", reopen_call)
        case "request_changes" if context.offers("edit_document"):
            return NextStep("View it with its comments: ", view)
        case "refresh" if proposal.content.submitted_commit is None and not _is_empty(context, proposal):
            submit = call("update_proposal", proposal=proposal.id, action="submit")
            return NextStep("Request a review with ", submit)
        case _:
            return NextStep("See its state and its merge requirements with ", view)


def _is_empty(context: Context, proposal: Proposal) -> bool:
    """Return True if an open proposal has no commit of its own."""
    return proposal.is_open and context.workspace.proposal_reviews().preview(proposal).is_empty


def _explain_usage(context: Context, proposal_actions: ProposalActions, arguments: CallArguments) -> Answer:
    """Return the answer to a call without a proposal: the actions, and the open proposals."""
    if set(arguments) - {"action"}:
        raise InvalidArguments("'proposal' is missing", fix="Give the id of a proposal.", field="proposal")
    open_proposals = list_latest_open(proposal_actions.list_all(), _MAX_PROPOSALS_LISTED)
    data: Data = {
        "usage": dict(_usage(arguments)),
        "open": open_proposals,
        "commit": context.workspace.tip(),
    }
    if arguments.get("action") is not None:
        data = {"changed": False, "note": "nothing was changed: give 'proposal'", **data}
    view = call("view_proposal", **({"proposal": open_proposals[0]["proposal"]} if open_proposals else {}))
    return Answer(
        {**data, "next_step": NextStep("View one with ", view, ", then call with proposal and action")}
    )


def _explain_actions(context: Context, proposal: Proposal) -> Answer:
    """Return the answer to a call without an action: the actions that the proposal's state allows."""
    names = list_allowed_actions(proposal)
    if _is_empty(context, proposal):
        names = tuple(name for name in names if name not in _ACTIONS_ON_COMMITS)
    data: Data = {
        "proposal": proposal.id,
        "state": proposal.state.value,
        "actions": {
            name: {"fields": ACTIONS[name].field_list, "about": ACTIONS[name].description} for name in names
        },
        "commit": choose_commit(context, proposal),
    }
    example = dict.fromkeys(ACTIONS[names[0]].required_fields, _PLACEHOLDER)
    step = call("update_proposal", proposal=proposal.id, action=names[0], **example)
    return Answer({**data, "next_step": NextStep("Call with one of them, such as ", step)})


def _build_conflict_error(
    context: Context, proposal: Proposal, error: MergeConflict, arguments: CallArguments
) -> Answer:
    """Return the error of a merge or refresh with conflicts, and a call that resolves them."""
    from tools.proposals.conflicts import complete_resolutions, describe_conflicts, suggest_resolutions
    from workspace.proposals.actions.refresh import ConflictChanged

    is_refresh = guess_action(arguments) is ACTIONS["refresh"]
    commit, target_commit, conflicts = error.tip, error.theirs, error.conflicts
    if not is_refresh:  # in a merge, ours and theirs are swapped
        commit, target_commit = target_commit, commit
        conflicts = context.workspace.proposal_reviews().conflicts(
            proposal._replace(tip=commit), target_commit
        )
    conflict_fields = describe_conflicts(conflicts, context.text_characters // 2)
    is_changed = isinstance(error, ConflictChanged)
    given_resolutions = (
        []
        if is_changed or not is_refresh
        else read_arguments(UpdateProposalArguments, arguments).resolutions or []
    )
    seen_commits = {"commit": commit, "target_commit": target_commit}
    data = build_error_response(error, TOOL, arguments, None, offered_tools=context.tools)
    data |= {
        "error": "the proposal and its target changed the same parts differently: nothing was merged",
        "fix": "Refresh the proposal with a resolution for each conflict: ours is the proposal's version, "
        "theirs the target's.",
        **({"error": error.message, "fix": error.fix} if is_changed else {}),
        **conflict_fields,
        **seen_commits,
    }
    resolutions = (
        complete_resolutions(given_resolutions, conflict_fields["conflicts"])
        if given_resolutions
        else suggest_resolutions(conflict_fields["conflicts"])
    )
    data["example"] = {"proposal": proposal.id, "action": "refresh"}
    if resolutions:
        data["example"] |= {"resolutions": resolutions, **seen_commits}
    if given_resolutions:
        data["hints"] = [
            "no resolution is stored until all conflicts are resolved: send all in one call, including those "
            "of this call; a conflict in 'conflicts' has no resolution, or an invalid one"
        ]
    return Answer(data, is_error=True)


def _build_invalid_resolution_error(
    context: Context, proposal: Proposal, error: WorkspaceError, arguments: CallArguments
) -> Answer:
    """Return the error of a refresh with an invalid resolution, and a call that resolves all conflicts."""
    from tools.proposals.conflicts import describe_conflicts, suggest_resolutions

    target_commit = context.workspace.git.tip(proposal.content.target)
    conflicts = context.workspace.proposal_reviews().conflicts(proposal, target_commit)
    data = build_error_response(error, TOOL, arguments, None, offered_tools=context.tools)
    seen_commits = {"commit": choose_commit(context, proposal), "target_commit": target_commit}
    example: Data = {"proposal": proposal.id, "action": "refresh"}
    if conflicts:
        # The conflicts are shown again, because they may have changed since the call.
        conflict_fields = describe_conflicts(conflicts, context.text_characters // 2)
        data |= conflict_fields
        example |= {"resolutions": suggest_resolutions(conflict_fields["conflicts"]), **seen_commits}
    return Answer({**data, **seen_commits, "example": example}, is_error=True)


TOOL = Tool(
    name="update_proposal",
    title="Act on a proposal",
    toolset="proposals",
    description="Submit, comment on, refresh, review, merge, close or reopen a proposal. {proposal} lists "
    "the possible actions.",
    arguments=UpdateProposalArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
    correct=_correct_example,
)
