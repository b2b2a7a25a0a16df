"""update_proposal: a proposal is submitted, spoken of, refreshed, reviewed, merged or closed.

What can be done with a proposal: each action's fields, and what it does, as data.

The actions on a proposal, done: each by one call of `Proposing`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from tools.arguments import Arguments, InvalidArguments, Objects, read, resolve_target, without_nulls
from tools.errors import error_response, escape_invisible
from tools.proposals.descriptions import allowed_actions, announce, commit_of, latest_open
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.write_target import actor_of, overlaps_of
from tools.writer import arguments_of, follow_commit
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.publishing.after_commit import note_commit
from workspace.writing.idempotency import compute_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools.tool import Context, Given
    from workspace.merge.commits import MergeConflict
    from workspace.proposals.actions.actions import ProposalActions
    from workspace.proposals.actions.register import ActionResult
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot


class Action(NamedTuple):
    """An action: its fields beside `proposal`, `action` and `idempotency_key`, and what it does.

    `decisive` are fields that no other action has, so that a call that gives one need not name the action.
    """

    name: str
    needs: tuple[str, ...]
    may_have: tuple[str, ...]
    about: str
    decisive: tuple[str, ...] = ()

    @property
    def fields(self) -> str:
        """Its fields in brief: `text, file?, slug?`."""
        return ", ".join((*self.needs, *(f"{name}?" for name in self.may_have)))


_ALL = (
    Action("submit", (), (), "asks for a review of what the proposal is now"),
    Action(
        "comment",
        ("text",),
        ("file", "slug", "quote", "reply_to"),
        "says something of the proposal, of a document or section, of words quoted from it, or in answer to "
        "another comment",
        ("file", "slug", "quote", "reply_to"),
    ),
    Action(
        "refresh",
        (),
        ("resolutions", "commit", "target_commit"),
        "merges the target's tip into the proposal; conflicts are decided by resolutions: each a conflict as "
        "it is shown, with choice: ours (the proposal's), theirs (the target's) or content, and content "
        "then; with them the commit and the target_commit that they were shown with",
        ("resolutions", "target_commit"),
    ),
    Action("approve", (), ("text", "commit"), "a person's consent to the proposal as it is at a commit"),
    Action("request_changes", ("text",), ("commit",), "says what has to change before it can be merged"),
    Action("merge", (), ("commit",), "merges it into its target, if its policy allows and nothing conflicts"),
    Action("close", (), ("text",), "gives it up; its words and its branch stay"),
    Action("reopen", (), ("text",), "takes it up again"),
    Action("edit", (), ("title", "description"), "changes what it is called", ("title", "description")),
)

ACTIONS: Mapping[str, Action] = {action.name: action for action in _ALL}


def resolve_action(given: Mapping[str, object]) -> Action | None:
    """Return the action that a call names, or that its fields decide; None if they leave it open.

    Raises InvalidArguments for one that is not known, for a field of another one, and for a missing one.
    """
    name = given.get("action")
    action = _named(name) if isinstance(name, str) and name else _decide_by_fields(given)
    if action is None:
        return None
    known = {"proposal", "action", "idempotency_key", *action.needs, *action.may_have}
    for field in given:
        if field not in known:
            raise InvalidArguments(
                f"'{field}' is no field of {action.name}",
                fix=f"It takes {action.fields or 'no other field'}.",
                field=field,
            )
    for field in action.needs:
        if not given.get(field):
            raise InvalidArguments(f"'{field}' is missing", fix=f"Give '{field}'.", field=field)
    if action.name == "edit" and not {"title", "description"} & given.keys():
        raise InvalidArguments(
            "neither 'title' nor 'description' is given", fix="Give the one that changes.", field="title"
        )
    return action


def guess_action(given: Mapping[str, object]) -> Action | None:
    """Return the action that a wrong call most likely means."""
    name = given.get("action")
    if isinstance(name, str) and name:
        near = find_nearest(name, ACTIONS)
        return ACTIONS.get(name) or (ACTIONS[near[0]] if near else None)
    return next((action for action in _ALL if set(action.decisive) & given.keys()), None)


def _named(name: str) -> Action:
    found = ACTIONS.get(name)
    if found is None:
        near = find_nearest(name, ACTIONS)
        fix = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(ACTIONS)}."
        raise InvalidArguments(f"unknown action '{name[:100]}'", fix=fix, field="action", nearest=near)
    return found


def _decide_by_fields(given: Mapping[str, object]) -> Action | None:
    found = [action for action in _ALL if set(action.decisive) & given.keys()]
    if len(found) > 1:
        names = " or ".join(action.name for action in found)
        raise InvalidArguments(
            f"'action' is required: the given fields match {names}", fix="Give 'action'.", field="action"
        )
    return found[0] if found else None


_TOOL = "update_proposal"
SEEN_COMMITS = ("commit", "target_commit")
"""What conflicts are shown with, and their resolutions sent with: the commits that they are of."""


def act(context: Context, proposal: Proposal, action: str, asked: UpdateProposalArguments) -> ActionResult:
    """Do with a proposal what a call asks for. Raises what `Proposing` does, and InvalidArguments."""
    from workspace.proposals.events import ReviewDecision

    proposing = context.workspace.proposing()
    name, request = proposal.id, asked.idempotency_key
    actor = actor_of(context, _TOOL)
    text = asked.text or ""
    acts: Mapping[str, Callable[[], ActionResult]] = {
        "submit": partial(proposing.submit, name, actor, request=request),
        "comment": partial(_comment, context, proposing, proposal, asked),
        "refresh": partial(_refresh, context, proposing, proposal, asked),
        "approve": partial(
            proposing.review, name, actor, ReviewDecision.APPROVE, text, commit=asked.commit, request=request
        ),
        "request_changes": partial(
            proposing.review,
            name,
            actor,
            ReviewDecision.REQUEST_CHANGES,
            text,
            commit=asked.commit,
            request=request,
        ),
        "merge": partial(proposing.merge, name, actor, commit=asked.commit, request=request),
        "close": partial(proposing.close, name, actor, text, request=request),
        "reopen": partial(proposing.reopen, name, actor, text, request=request),
        "edit": partial(
            proposing.edit, name, actor, title=asked.title, description=asked.description, request=request
        ),
    }
    return acts[action]()


def _comment(
    context: Context, proposing: ProposalActions, proposal: Proposal, asked: UpdateProposalArguments
) -> ActionResult:
    file, slug = asked.file, asked.slug
    if file is not None:
        at = proposal.landing.tip if proposal.landing is not None else proposal.tip
        snapshot = context.workspace.snapshot(at) if at is not None else context.snapshot()
        file, slug = resolve_target(snapshot, file, slug)
    return proposing.comment(
        proposal.id,
        actor_of(context, _TOOL),
        asked.text or "",
        file=file,
        slug=slug,
        quote=asked.quote or "",
        reply_to=asked.reply_to,
        request=asked.idempotency_key,
    )


def _refresh(
    context: Context, proposing: ProposalActions, proposal: Proposal, asked: UpdateProposalArguments
) -> ActionResult:
    from tools.proposals.conflicts import read_resolutions
    from workspace.proposals.actions.refresh import RefreshDecisions

    items = asked.resolutions or ()
    seen = {
        field: value.strip().lower()
        for field in SEEN_COMMITS
        if (value := getattr(asked, field)) and value.strip()
    }
    missing = next((field for field in SEEN_COMMITS if field not in seen), None)
    if items and missing is not None:
        raise InvalidArguments(
            f"resolutions are given, and no '{missing}'",
            fix="Give the 'commit' and the 'target_commit' that the conflicts were shown with.",
            field=missing,
        )
    decisions = None
    if items or seen:
        decisions = RefreshDecisions(
            lambda conflicts: read_resolutions(items, conflicts),
            seen.get("commit"),
            seen.get("target_commit"),
            compute_digest(_TOOL, {"resolutions": items, **seen}),
        )
    return proposing.refresh(proposal.id, actor_of(context, _TOOL), decisions, request=asked.idempotency_key)


_ID = "k7m2q9xa"
_WORDS = "…"
_SHOWN = 5
_BEYOND_CLIENTS = frozenset(("NEEDS_PERSON", "OWN_PROPOSAL", "MERGE_BLOCKED"))


class UpdateProposalArguments(Arguments):
    """The input of update_proposal."""

    proposal: str | None = Field(None, description="Id")
    action: str | None = Field(
        None, description="; ".join(f"{name}: {one.fields}".rstrip(": ") for name, one in ACTIONS.items())
    )
    text: str | None = Field(None, description="Markdown")
    file: str | None = Field(None, description="Document of the comment")
    slug: str | None = Field(None, description="Section of the comment")
    quote: str | None = Field(None, description="Words there that are meant")
    reply_to: str | None = Field(None, description="Id of the comment that is answered")
    resolutions: Objects | None = Field(
        None,
        description="[{file, kind?, where?, part?, choice: ours|theirs|content, content?}]: "
        "conflicts as view_proposal shows them; without kind, all of the file",
    )
    commit: str | None = Field(None, description="Commit of it that you have seen; default: its tip")
    target_commit: str | None = Field(None, description="With resolutions: as shown with the conflicts")
    title: str | None = Field(None)
    description: str | None = Field(None, description="Markdown")
    idempotency_key: str | None = Field(None, description="For retries")


def _usage(given: Given) -> Mapping[str, object]:
    action = guess_action(given)
    if action is not None:
        fields = ", ".join(part for part in ("proposal, action", action.fields) if part)
        return {"action": action.name, "fields": fields, "about": action.about}
    return {
        "single": "Call with {proposal, action, ...fields}",
        "actions": {name: f"{{{one.fields}}}: {one.about}" for name, one in ACTIONS.items()},
        "people": "To approve, a person runs docyard proposals approve ID; to merge what is protected, "
        "docyard proposals merge ID",
    }


def _example(given: Given) -> dict[str, Any]:
    action = guess_action(given) or ACTIONS["submit"]
    example = {"proposal": _ID, **arguments_of(given, ("proposal",)), "action": action.name}
    example |= dict.fromkeys(action.needs, _WORDS)
    if action.name == "edit":
        example["title"] = _WORDS
    return {**example, **arguments_of(given, (*action.needs, *action.may_have))}


def _correct(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    """Return an example for a proposal that exists; if it is not the caller's own, one without a decision."""
    candidates = error.details.get("candidates")
    found = candidates if isinstance(candidates, list) else []
    if error.code == "PROPOSAL_NOT_FOUND" and found:
        return {"proposal": found[0], "action": "comment", "text": example.get("text", _WORDS)}
    if error.code == "PROPOSAL_ENDED":
        action = {"closed": "reopen", "gone": "close"}.get(str(error.details["state"]), "comment")
        words = {"text": _WORDS} if action == "comment" else {}
        return {"proposal": example["proposal"], "action": action, **words}
    if error.code == "DOCUMENT_NOT_FOUND" and found and example.get("file") not in snapshot.documents:
        left = {name: value for name, value in example.items() if name not in ("slug", "quote")}
        return {**left, "file": found[0]}
    if error.code == "SECTION_NOT_FOUND" and found:
        # What was moved is named where it is now.
        if snapshot.document(str(example.get("file", ""))).sections_by_address(str(example.get("slug", ""))):
            return example
        return {**{name: value for name, value in example.items() if name != "quote"}, "slug": found[0]}
    if error.code == "NOTHING_PROPOSED":
        return {"proposal": example["proposal"], "action": "comment", "text": _WORDS}
    if error.code in _BEYOND_CLIENTS:
        return {"proposal": example["proposal"], "action": "comment", "text": "Please review this."}
    return example


def _run(context: Context, given: Given) -> Answer:
    fields = without_nulls(given)
    asked = read(UpdateProposalArguments, fields)
    proposing = context.workspace.proposing()
    if asked.proposal is None:
        return _explain(context, proposing, fields)
    proposal = proposing.one(asked.proposal)
    action = resolve_action(fields)
    if action is None:
        return _explain_actions(context, proposal)
    from workspace.merge.commits import MergeConflict

    try:
        acted = act(context, proposal, action.name, asked)
    except MergeConflict as error:
        return _conflict_error(context, proposal, error, fields)
    except WorkspaceError as error:
        is_of_them = error.details.get("field") in ("resolutions", *SEEN_COMMITS)
        if error.code != "INVALID_RESOLUTION" and not (action.name == "refresh" and is_of_them):
            raise
        return _invalid_resolution_error(context, proposal, error, fields)
    return _answer(context, action, acted)


def _answer(context: Context, action: Action, acted: ActionResult) -> Answer:
    proposal = acted.proposal
    note_commit(acted.commit, proposal=proposal.id)  # an earlier call with the same key may have made it
    data: Data = {
        "proposal": proposal.id,
        "action": action.name,
        "title": escape_invisible(proposal.words.title),
        "state": proposal.state.value,
        "changed": acted.is_new,
        # Words have commits of their own, which no call takes.
        "commit": (acted.commit if action.name in ("merge", "refresh") else None)
        or commit_of(context, proposal),
    }
    if action.name == "comment" and acted.said:
        data["comment"] = acted.said[0]
    if action.name == "refresh":
        data["overlaps"] = overlaps_of(context, proposal.id)
    hints: list[str] = []
    if action.name == "submit":
        pull_request, hints = announce(context.workspace.proposing(), proposal)
        data |= pull_request
    if action.name == "merge":
        data["target"] = proposal.words.target
        hints += follow_commit(context, acted.commit)
    if hints:
        data["hints"] = hints
    return Answer({**data, "next_step": _next_step(context, action.name, acted)})


def _next_step(context: Context, action: str, acted: ActionResult) -> NextStep:
    proposal = acted.proposal
    view = call("view_proposal", proposal=proposal.id)
    match action:
        case "merge":
            return NextStep(
                "Nothing is left to do here; see what else is proposed with ", call("view_proposal")
            )
        case "close" if proposal.tip is not None:
            again = call("update_proposal", proposal=proposal.id, action="reopen")
            return NextStep("Take it up again with ", again)
        case "request_changes" if context.offers("edit_document"):
            return NextStep("See what stands, with the comments: ", view)
        case "refresh" if proposal.words.submitted is None:
            submit = call("update_proposal", proposal=proposal.id, action="submit")
            return NextStep("Ask for a review with ", submit)
        case _:
            return NextStep("See where it stands, and what is missing to merge it, with ", view)


def _explain(context: Context, proposing: ProposalActions, given: Given) -> Answer:
    """Return the answer to a call that names no proposal: the actions, and the proposals to choose from."""
    if set(given) - {"action"}:
        raise InvalidArguments("'proposal' is missing", fix="Give the id of a proposal.", field="proposal")
    found = latest_open(proposing.all(), _SHOWN)
    data: Data = {
        "usage": dict(_usage(given)),
        "open": found,
        "commit": context.workspace.tip(),
    }
    view = call("view_proposal", **({"proposal": found[0]["proposal"]} if found else {}))
    return Answer(
        {**data, "next_step": NextStep("Look at one with ", view, ", then call with proposal and action")}
    )


def _explain_actions(context: Context, proposal: Proposal) -> Answer:
    """Return the answer to a call that names no action: those that the proposal's state allows."""
    names = allowed_actions(proposal)
    data: Data = {
        "proposal": proposal.id,
        "state": proposal.state.value,
        "actions": {name: {"fields": ACTIONS[name].fields, "about": ACTIONS[name].about} for name in names},
        "commit": commit_of(context, proposal),
    }
    example = dict.fromkeys(ACTIONS[names[0]].needs, _WORDS)
    step = call("update_proposal", proposal=proposal.id, action=names[0], **example)
    return Answer({**data, "next_step": NextStep("Call with one of them, such as ", step)})


def _conflict_error(context: Context, proposal: Proposal, error: MergeConflict, given: Given) -> Answer:
    """Return the error of a merge or refresh with conflicts, and a call that resolves them."""
    from tools.proposals.conflicts import complete_resolutions, conflicts_data, suggest_resolutions
    from workspace.proposals.actions.refresh import ConflictChanged

    is_refresh = guess_action(given) is ACTIONS["refresh"]
    commit, target, left = error.tip, error.theirs, error.conflicts
    if not is_refresh:  # a merge has them the other way round
        commit, target = target, commit
        left = context.workspace.reviewing().conflicts(proposal._replace(tip=commit), target)
    shown = conflicts_data(left, context.text_characters // 2)
    is_changed = isinstance(error, ConflictChanged)
    items = [] if is_changed or not is_refresh else read(UpdateProposalArguments, given).resolutions or []
    seen = {"commit": commit, "target_commit": target}
    data = error_response(error, TOOL, given, None, offered=context.tools)
    data |= {
        "error": "the proposal and its target changed the same parts differently: nothing was merged",
        "fix": "Refresh the proposal with a resolution for each conflict: ours is the proposal's version, "
        "theirs the target's.",
        **({"error": error.message, "fix": error.fix} if is_changed else {}),
        **shown,
        **seen,
    }
    resolutions = (
        complete_resolutions(items, shown["conflicts"]) if items else suggest_resolutions(shown["conflicts"])
    )
    data["example"] = {"proposal": proposal.id, "action": "refresh"}
    if resolutions:
        data["example"] |= {"resolutions": resolutions, **seen}
    if items:
        data["hints"] = [
            "no decision is kept until all are made: give them in one call, those of this call too; what is "
            "still in 'conflicts' was not decided, or what was decided cannot stand there"
        ]
    return Answer(data, is_error=True)


def _invalid_resolution_error(
    context: Context, proposal: Proposal, error: WorkspaceError, given: Given
) -> Answer:
    """Return the error of a refresh with a decision that cannot be, and a call that decides all conflicts."""
    from tools.proposals.conflicts import conflicts_data, suggest_resolutions

    target = context.workspace.git.tip(proposal.words.target)
    conflicts = context.workspace.reviewing().conflicts(proposal, target)
    data = error_response(error, TOOL, given, None, offered=context.tools)
    seen = {"commit": commit_of(context, proposal), "target_commit": target}
    example: Data = {"proposal": proposal.id, "action": "refresh"}
    if conflicts:
        # Shown anew: what the call was made on may be another by now.
        shown = conflicts_data(conflicts, context.text_characters // 2)
        data |= shown
        example |= {"resolutions": suggest_resolutions(shown["conflicts"]), **seen}
    return Answer({**data, **seen, "example": example}, is_error=True)


TOOL = Tool(
    name="update_proposal",
    title="Act on a proposal",
    toolset="proposals",
    description="Submit, comment on, refresh, review, merge, close or reopen a proposal. {proposal} tells "
    "what is possible now.",
    arguments=UpdateProposalArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
    correct=_correct,
)
