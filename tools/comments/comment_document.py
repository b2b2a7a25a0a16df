"""comment_document: comments on a document of the branch, on a section or quoted text, or replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    Arguments,
    InvalidArguments,
    read_arguments,
    resolve_target,
    select_requested_fields,
)
from tools.examples import correct_sections
from tools.tool import Answer, NextStep, Tool, call
from tools.write_target import identify_actor
from tools.writer import select_example_arguments
from workspace.proposals.answers import CommentAnswer
from workspace.publishing.after_commit import note_commit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context, Data
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot


class CommentDocumentArguments(Arguments):
    """The input of comment_document."""

    file: str | None = None
    slug: str | None = Field(None, description="Section; default: the whole document")
    text: str | None = Field(None, description="Markdown")
    quote: str | None = Field(None, description="Exact text there to comment on")
    reply_to: str | None = Field(None, description="Comment to reply to, instead of file")
    idempotency_key: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "comment": "Call with {file, slug?, text, quote?}",
        "reply": "Call with {reply_to, text}; address_comments replies to several, and resolves them",
        "proposals": "Comments on a proposal are made with update_proposal",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    text_field = {"text": "Which version?", **select_example_arguments(arguments, ("text",))}
    if "reply_to" in arguments:
        return {**select_example_arguments(arguments, ("reply_to",)), **text_field}
    return {"file": "search-api.md", **select_example_arguments(arguments, ("file", "slug")), **text_field}


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    candidates = error.details.get("candidates")
    if error.code == "COMMENT_NOT_FOUND" and isinstance(candidates, list) and candidates:
        return {**example, "reply_to": candidates[0]}
    if "reply_to" in example:
        return example
    return correct_sections(example, error, snapshot)


def _run(context: Context, arguments: CallArguments) -> Answer:
    if not select_requested_fields(arguments):
        data: Data = {"usage": dict(_usage(arguments)), "commit": context.workspace.tip()}
        return Answer({**data, "next_step": NextStep("See the comments with ", call("list_comments"))})
    request = read_arguments(CommentDocumentArguments, arguments)
    discussion = context.workspace.proposal_actions().document_discussion
    actor, text, key = identify_actor(context, TOOL.name), request.text or "", request.idempotency_key
    if request.reply_to is not None:
        if request.file is not None or request.slug is not None or request.quote is not None:
            raise InvalidArguments(
                "'reply_to' and 'file' cannot be combined: a reply has the address of its comment",
                fix="Omit 'file', 'slug' and 'quote'.",
                field="file",
            )
        result = discussion.answer(actor, [CommentAnswer(request.reply_to, text)], key=key)
    else:
        if not request.file:
            raise InvalidArguments("'file' is missing", fix="Give the path of a document.", field="file")
        file, slug = resolve_target(context.snapshot(), request.file, request.slug)
        result = discussion.comment(actor, text, file=file, slug=slug, quote=request.quote or "", key=key)
    note_commit(result.commit)
    return Answer(
        {
            "comment": result.event_ids[0],
            "changed": result.is_new,
            "commit": context.workspace.tip(),
            "next_step": NextStep("See the open comments with ", call("list_comments")),
        }
    )


TOOL = Tool(
    name="comment_document",
    title="Comment on a document",
    toolset="comments",
    description="Comment on a document, a section or quoted text, outside of a proposal; the comment follows "
    "its text.",
    arguments=CommentDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
    writes=True,
    idempotent=False,
)
