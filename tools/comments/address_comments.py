"""address_comments: edits documents, and answers and resolves comments, in one call.

The edit is one commit, with the operations of edit_document in the mode "all"; the answers are one commit of
the discussion after it. Git has no transaction over both branches. If the answers cannot be written after the
edit, the answer names the call that writes only them; a retry with the same key writes neither twice.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    OPERATIONS,
    Arguments,
    Boolean,
    InvalidArguments,
    Object,
    Objects,
    read_arguments,
    remove_nulls,
    select_requested_fields,
)
from tools.comments.discussions import CommentDiscussion, find_discussion
from tools.documents import edit_document
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.write_target import identify_actor
from workspace.proposals.answers import MAX_ANSWERS, CommentAnswer
from workspace.publishing.after_commit import note_commit, run_with_caveat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tools.tool import Call, CallArguments, Context
    from workspace.errors import WorkspaceError
    from workspace.proposals.actions.document_discussion import AppendedComments
    from workspace.proposals.actions.repository import ActionResult
    from workspace.snapshot.snapshot import Snapshot

_EDIT_FIELDS = (
    OPERATIONS,
    "proposal",
    "new_proposal",
    "message",
    "base_commit",
    "dry_run",
    "idempotency_key",
)


class AddressCommentsArguments(Arguments):
    """The input of address_comments."""

    answers: Objects | None = Field(None, description="[{comment, text?, resolve?}]; resolve false reopens")
    operations: Objects | None = Field(
        None, description="Of edit_document, all or none: [{operation, file, …}]"
    )
    proposal: str | None = Field(None, description="To edit, and whose comments are answered")
    new_proposal: Object | None = Field(None, description="To edit: {title, description, submit}")
    message: str | None = None
    base_commit: str | None = None
    dry_run: Boolean = False
    idempotency_key: str | None = None


class _AnswerFields(Arguments):
    """The fields of an answer."""

    comment: str
    text: str = ""
    resolve: Boolean | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "answers": "Call with {answers: [{comment, text?, resolve?}, ...]}; resolve: true resolves the "
        "thread, false reopens it",
        "edit": "Add operations: [...], as edit_document has them; they are committed before the answers, "
        "all or none",
        "proposal": "Add proposal to edit a proposal; the comments may be its own or those on documents",
        "limits": f"1 to {MAX_ANSWERS} answers, all of one proposal, or all on documents",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    proposal = arguments.get("proposal")
    proposal_field = {"proposal": proposal} if isinstance(proposal, str) and len(proposal) < 100 else {}
    return {"answers": [{"comment": "9f2c51d0a7b3e846", "text": "Done.", "resolve": True}], **proposal_field}


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    candidates = error.details.get("candidates")
    if not isinstance(candidates, list) or not candidates:
        return example
    if error.code == "COMMENT_NOT_FOUND":
        return {**example, "answers": [{**example["answers"][0], "comment": candidates[0]}]}
    return {**example, "proposal": candidates[0]} if error.code == "PROPOSAL_NOT_FOUND" else example


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(AddressCommentsArguments, arguments)
    if not select_requested_fields(arguments):
        data: Data = {"usage": dict(_usage(arguments)), "commit": context.workspace.tip()}
        return Answer({**data, "next_step": NextStep("See the comments with ", call("list_comments"))})
    answers = _read_answers(request.answers)
    discussion = find_discussion(context.workspace, (answer.comment for answer in answers), request.proposal)
    append = partial(_append, context, discussion, answers, request.idempotency_key)
    append(dry_run=True)  # raises an error before the edit is written
    if request.operations is None:
        return _answer_only(context, discussion, answers, request, append)
    fields = {name: value for name, value in remove_nulls(arguments).items() if name in _EDIT_FIELDS}
    # The answers are part of the call that a key identifies.
    edit_answer = _EDIT_WRITER.run(context, {**fields, "answers": request.answers, "mode": "all"})
    if edit_answer.is_error:
        return replace(edit_answer, data={**edit_answer.data, "answers": []})
    if request.dry_run:
        return replace(edit_answer, data={**edit_answer.data, "answers": _describe_answers(answers)})
    appended = run_with_caveat(append, None, "the comments are not answered")
    note_commit(edit_answer.data["commit"])
    if appended is None:
        retry = _build_answers_call(request)
        step = NextStep("The edit is committed. Write only the answers with ", retry)
        return replace(edit_answer, data={**edit_answer.data, "answers": [], "next_step": step})
    data = {**edit_answer.data, "answers": _describe_answers(answers, appended.event_ids)}
    if "branch" not in data:  # a new proposal has a next step of its own
        data["next_step"] = _build_list_step(discussion)
    return replace(edit_answer, data=data)


def _read_answers(values: Sequence[object] | None) -> list[CommentAnswer]:
    if not values:
        raise InvalidArguments(
            "'answers' is missing" if values is None else "'answers' is empty",
            fix="Give the comments to answer: [{comment, text?, resolve?}]. To edit only, use edit_document.",
            field="answers",
        )
    answers: list[CommentAnswer] = []
    for index, value in enumerate(values[: MAX_ANSWERS + 1]):
        if not isinstance(value, dict):
            raise InvalidArguments(
                f"'answers[{index}]' must be an object",
                fix="Give each answer as {comment, text?, resolve?}.",
                field="answers",
            )
        try:
            fields = read_arguments(_AnswerFields, value)
        except InvalidArguments as error:
            raise InvalidArguments(
                f"in 'answers[{index}]': {error.message}", fix=error.fix, field="answers"
            ) from error
        answers.append(CommentAnswer(fields.comment, fields.text, fields.resolve))
    return answers


def _answer_only(
    context: Context,
    discussion: CommentDiscussion,
    answers: Sequence[CommentAnswer],
    request: AddressCommentsArguments,
    append: Callable[[], AppendedComments | ActionResult],
) -> Answer:
    for name in ("new_proposal", "message", "base_commit"):
        if getattr(request, name) is not None:
            raise InvalidArguments(
                f"'{name}' requires 'operations'", fix="Give 'operations', or omit the field.", field=name
            )
    if request.dry_run:
        data: Data = {
            "answers": _describe_answers(answers),
            "dry_run": True,
            "commit": context.workspace.tip(),
        }
        return Answer({**data, "next_step": NextStep("Send the same call without dry_run")})
    result = append()
    data = {
        "answers": _describe_answers(answers, result.event_ids),
        "changed": result.is_new,
        "commit": context.workspace.tip(),
    }
    if discussion.proposal is not None:
        data["proposal"] = discussion.proposal.id
    return Answer({**data, "next_step": _build_list_step(discussion)})


def _append(
    context: Context,
    discussion: CommentDiscussion,
    answers: Sequence[CommentAnswer],
    key: str | None,
    *,
    dry_run: bool = False,
) -> AppendedComments | ActionResult:
    """Append the events of answers; a dry run only checks them."""
    actions, actor = context.workspace.proposal_actions(), identify_actor(context, TOOL.name)
    if discussion.proposal is None:
        return actions.document_discussion.answer(actor, answers, key=key, dry_run=dry_run)
    return actions.answer(discussion.proposal.id, actor, answers, key=key, dry_run=dry_run)


def _describe_answers(answers: Sequence[CommentAnswer], event_ids: Sequence[str] = ()) -> list[Data]:
    """Return the answers; `event_ids` are the ids of their replies and resolutions in order, if known."""
    remaining_ids = iter(event_ids)
    entries: list[Data] = []
    for answer in answers:
        entry: Data = {"comment": answer.comment}
        if answer.text.strip() and (reply_id := next(remaining_ids, None)):
            entry["reply"] = reply_id
        if answer.is_resolved is not None:
            next(remaining_ids, None)
            entry["resolved"] = answer.is_resolved
        entries.append(entry)
    return entries


def _build_answers_call(request: AddressCommentsArguments) -> Call:
    fields: Data = {"answers": request.answers}
    if request.idempotency_key is not None:
        fields["idempotency_key"] = request.idempotency_key
    return call("address_comments", **fields)


def _build_list_step(discussion: CommentDiscussion) -> NextStep:
    fields = {"proposal": discussion.proposal.id} if discussion.proposal is not None else {}
    return NextStep("See the comments that are still open with ", call("list_comments", **fields))


TOOL = Tool(
    name="address_comments",
    title="Address comments",
    toolset="comments",
    description="Edit documents, and answer and resolve the comments, in one call.",
    arguments=AddressCommentsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
    writes=True,
    destructive=True,
    idempotent=False,
)

# Failed operations are explained as those of edit_document; the commit names this tool.
_EDIT_TOOL = replace(edit_document.TOOL, name=TOOL.name)
_EDIT_WRITER = replace(edit_document.WRITER, tool=lambda: _EDIT_TOOL, call_fields=frozenset(("answers",)))
