"""list_comments: lists the open comments on documents and proposals, or shows one in full.

A list has the comments on documents first, then those of each open proposal; each discussion in the order in
which its threads began. A cursor names the last examined comment, so that a thread that is resolved between
two calls does not shift the pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    WITHOUT_DEFAULT,
    Boolean,
    Integer,
    InvalidArguments,
    Natural,
    ReadingArguments,
    read_arguments,
    resolve_target,
)
from tools.comments.discussions import (
    CommentDiscussion,
    EntryWriter,
    read_document_discussion,
    read_open_discussions,
    read_proposal_discussion,
)
from tools.examples import correct_path
from tools.pages import EntryBudget, build_list_page, cut_text, read_list_cursor, write_list_cursor
from tools.proposals.descriptions import describe_comment
from tools.tool import Answer, Call, Data, NextStep, Tool, call
from tools.writer import select_example_arguments
from workspace.escapes import escape_invisible
from workspace.proposals.answers import find_thread, make_comment_not_found_error
from workspace.proposals.comments import MAX_CHECKED_THREADS, MAX_TRACKED_TEXTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.errors import WorkspaceError
    from workspace.proposals.proposal import Thread
    from workspace.snapshot.snapshot import Snapshot

DEFAULT_LIMIT = 20
MAX_LIMIT = MAX_TRACKED_TEXTS
_MAX_TEXT_CHARACTERS = 10_000  # of a comment that is shown in full


class ListCommentsArguments(ReadingArguments):
    """The input of list_comments."""

    proposal: str | None = Field(None, description="Id; default: documents and open proposals")
    file: str | None = Field(None, description="Only on this document")
    slug: str | None = Field(None, description="Only on this section and below")
    resolved: Boolean | None = Field(None, description="Resolved instead of open ones")
    comment: str | None = Field(None, description="Only this one, in full")
    offset: Natural | None = Field(None, description="With comment: character to continue from")
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, json_schema_extra=WITHOUT_DEFAULT)
    cursor: str | None = None
    ref: str | None = Field(None, description="Where documents are read")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "all": "Call with {} for the open comments on documents and on open proposals",
        "proposal": "Call with {proposal} for those of one proposal",
        "filters": "Add file and slug, or resolved: true for the resolved ones",
        "ref": "Call with {ref} for the comments on documents, with the texts at a branch, tag, commit or "
        "proposal",
        "one": "Call with {comment} for a comment in full, with {comment, offset} for the rest of its text",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    if "comment" in arguments:
        return select_example_arguments(arguments, ("proposal", "comment"))
    return select_example_arguments(arguments, ("proposal", "file", "slug", "ref"))


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    candidates = error.details.get("candidates")
    nearest = candidates[0] if isinstance(candidates, list) and candidates else None
    if error.code == "PROPOSAL_NOT_FOUND":
        return {"proposal": nearest} if nearest else {}
    if error.code == "COMMENT_NOT_FOUND":
        return {"comment": nearest} if nearest else {}
    if error.code == "INVALID_ARGUMENTS":
        return {}
    return correct_path(example, error, snapshot) if "file" in example else example


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(ListCommentsArguments, arguments)
    if request.slug and not request.file:
        raise InvalidArguments("'slug' requires 'file'", fix="Give 'file' too.", field="slug")
    if request.offset is not None and not request.comment:
        raise InvalidArguments("'offset' requires 'comment'", fix="Give 'comment' too.", field="offset")
    if request.proposal and request.ref:
        raise InvalidArguments(
            "'ref' and 'proposal' cannot be combined",
            fix="Omit 'ref': the comments of a proposal are on its own texts.",
            field="ref",
        )
    discussions, hints = _read_discussions(context, request)
    if request.comment:
        return _show_comment(context, discussions, request.comment, request)
    return _list_page(context, discussions, hints, request)


def _read_discussions(
    context: Context, request: ListCommentsArguments
) -> tuple[list[CommentDiscussion], list[str]]:
    if request.proposal:
        proposal = context.workspace.proposal_actions().find(request.proposal)
        return [read_proposal_discussion(context, proposal)], []
    if request.ref and request.ref.strip():
        return [read_document_discussion(context, request.ref)], []
    return read_open_discussions(context)


def _list_page(
    context: Context,
    discussions: Sequence[CommentDiscussion],
    hints: Sequence[str],
    request: ListCommentsArguments,
) -> Answer:
    is_resolved = bool(request.resolved)
    file, slug = request.file or None, request.slug or None
    if file is not None:
        file, slug = resolve_target(context.snapshot(request.ref), file, slug)
    criteria = ["all comments", request.proposal, file, slug, is_resolved, request.ref]
    after = read_list_cursor(context.signing_keys, request.cursor, None, criteria) if request.cursor else None
    writer, budget = EntryWriter(context), EntryBudget(context.text_tokens)
    candidates = [
        (discussion, thread)
        for discussion, thread in _list_threads_after(discussions, after)
        if (thread.resolution is not None) == is_resolved
    ]
    filters = {discussion.proposal_id: discussion.build_filter((file, slug)) for discussion in discussions}
    entries: list[Data] = []
    examined_count = tracked_count = 0
    for discussion, thread in candidates[:MAX_CHECKED_THREADS]:
        if len(entries) == request.limit or tracked_count == MAX_TRACKED_TEXTS:
            break
        if filters[discussion.proposal_id].may_match(thread.comment):
            tracked_count += 1
            located_thread = discussion.locate(context, thread)
            if located_thread.is_at(file, slug):
                entry = writer.describe(discussion, located_thread)
                if not budget.take(entry) and entries:
                    break
                entries.append(entry)
        examined_count += 1
    counts = {"documents": 0, "proposals": 0}
    for discussion in discussions:
        counts["documents" if discussion.proposal is None else "proposals"] += sum(
            (thread.resolution is not None) == is_resolved for thread in discussion.threads
        )
    next_cursor = None
    if examined_count < len(candidates):
        last_id = candidates[examined_count - 1][1].comment.id
        next_cursor = write_list_cursor(context.signing_keys, last_id, None, criteria)
    data: Data = {"comments": entries, "totals": counts, "commit": _choose_commit(context, discussions)}
    if next_cursor is not None:
        data["next_cursor"] = next_cursor
    if hints:
        data["hints"] = list(hints)
    fields = request.model_dump(exclude_unset=True, exclude_none=True, exclude={"cursor", "max_tokens"})
    if next_cursor is not None:
        step = NextStep("See more with ", call("list_comments", **fields, cursor=next_cursor))
    else:
        step = _suggest_next_step(context, entries, is_resolved=is_resolved)
    return Answer({**data, "next_step": step})


def _list_threads_after(
    discussions: Sequence[CommentDiscussion], after: str | None
) -> list[tuple[CommentDiscussion, Thread]]:
    """Return the threads after the one with the id `after`. Raises StaleCursor if it is no longer listed."""
    threads = [(discussion, thread) for discussion in discussions for thread in discussion.threads]
    if after is None:
        return threads
    for index, (_, thread) in enumerate(threads):
        if thread.comment.id == after:
            return threads[index + 1 :]
    from index.cursors import StaleCursor

    raise StaleCursor(
        "the proposal of the last comment of the page before has ended",
        fix="Repeat the call without a cursor.",
    )


def _choose_commit(context: Context, discussions: Sequence[CommentDiscussion]) -> str | None:
    """Return the commit of the first texts that were read."""
    for discussion in discussions:
        if discussion.read_context is not None:
            return discussion.read_context.snapshot.commit
    return context.workspace.tip()


def _suggest_next_step(context: Context, entries: Sequence[Data], *, is_resolved: bool) -> NextStep:
    if not entries:
        return NextStep("There are no resolved comments" if is_resolved else "There are no open comments")
    entry = entries[0]
    if is_resolved:
        return NextStep("See one in full with ", call("list_comments", comment=entry["comment"]))
    if not context.offers("address_comments"):
        return NextStep("Edit the sections, then ask a person to resolve the comments")
    proposal_field = {"proposal": entry["proposal"]} if "proposal" in entry else {}
    answer = {"comment": entry["comment"], "text": "…", "resolve": True}
    return NextStep(
        "Answer and resolve, with the edits as operations: ",
        call("address_comments", answers=[answer], **proposal_field),
    )


def _show_comment(
    context: Context,
    discussions: Sequence[CommentDiscussion],
    id: str,
    request: ListCommentsArguments,
) -> Answer:
    """Return one comment or reply from a character, with its thread's location and a page of the replies."""
    for discussion in discussions:
        thread = find_thread(discussion.threads, id)
        if thread is not None:
            break
    else:
        threads = [thread for discussion in discussions for thread in discussion.threads]
        raise make_comment_not_found_error(threads, id, "comment")
    comment = next(item for item in (thread.comment, *thread.replies) if item.id == id)
    view = discussion.build_comment_call(id)
    entry = EntryWriter(context).describe(discussion, discussion.locate(context, thread))
    next_offset = next_cursor = None
    if comment is not thread.comment:
        entry = {**describe_comment(comment, view), "reply_to": thread.comment.id}
    else:
        page = build_list_page(
            thread.replies,
            lambda reply: describe_comment(reply, discussion.build_comment_call(reply.id)),
            cursor=request.cursor,
            version=None,
            criteria=["replies", id],
            limit=request.limit,
            keys=context.signing_keys,
            tokens=context.text_tokens // 2,
        )
        next_cursor = page.next_cursor
        entry |= {"replies": page.entries, "replies_total": len(thread.replies)}
        for name in ("more_replies", "replies_rest"):
            entry.pop(name, None)
    if request.cursor is None or request.offset is not None:  # later pages have the beginning of the text
        max_characters = min(_MAX_TEXT_CHARACTERS, context.text_characters // 2)
        text, next_offset = cut_text(escape_invisible(comment.text), request.offset or 0, max_characters)
        entry = {**{name: value for name, value in entry.items() if name != "rest"}, "text": text}
    data: Data = {"comments": [entry], "commit": _choose_commit(context, [discussion])}
    data |= {"next_offset": next_offset} if next_offset is not None else {}
    data |= {"next_cursor": next_cursor} if next_cursor is not None else {}
    if next_offset is not None:
        step = NextStep("Read the rest with ", Call(view.tool, {**view.arguments, "offset": next_offset}))
    elif next_cursor is not None:
        more = Call(view.tool, {**view.arguments, "limit": request.limit, "cursor": next_cursor})
        step = NextStep("See more replies with ", more)
    else:
        step = _suggest_next_step(context, [{**entry, "comment": thread.comment.id}], is_resolved=False)
    return Answer({**data, "next_step": step})


TOOL = Tool(
    name="list_comments",
    title="List comments",
    toolset="comments",
    description="List the open comments on documents and proposals, each with its section's current text.",
    arguments=ListCommentsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
)
