"""Comments on documents and proposals at a terminal: their list, and the result of comments and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from docyard.cli.proposals.changes import PagePrinter
from docyard.cli.proposals.comments import print_thread
from docyard.terminal import console
from tools.comments.discussions import find_discussion
from workspace.proposals.actions.repository import InvalidTarget
from workspace.proposals.comments import LocatedThread, TargetFilter
from workspace.writing.write import DetachedHead

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.answers import CommentAnswer
    from workspace.proposals.comments import LocationFilter
    from workspace.proposals.proposal import Proposal, Thread
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


class ListedComment(NamedTuple):
    """A thread with its location, and its proposal; None for a comment on a document of the branch."""

    located_thread: LocatedThread
    proposal: Proposal | None


def resolve_document_address(
    workspace: Workspace, address: str | None, folder: Path, ref: str | None = None
) -> tuple[str | None, str | None]:
    """Return the path and the section address of an address, which may be relative to a folder."""
    if address is None:
        return None, None
    from docyard.cli.addresses import resolve_relative_address
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths

    snapshot = workspace.at(ref)
    return split_address(
        resolve_relative_address(address, workspace, snapshot, folder), LazyFilePaths(snapshot)
    )


def load_comments(
    workspace: Workspace,
    proposal_name: str | None,
    ref: str | None,
    location: LocationFilter,
    *,
    is_resolved: bool,
) -> list[ListedComment]:
    """Return the open or resolved comments at a location, of one proposal or of all open discussions."""
    reviews = workspace.proposal_reviews()
    comments: list[ListedComment] = []
    for threads, snapshot, proposal in _list_discussions(workspace, proposal_name, ref):
        target_filter = TargetFilter(snapshot, location)
        for thread in threads:
            if (thread.resolution is not None) != is_resolved or not target_filter.may_match(thread.comment):
                continue
            location_now = reviews.find_location(thread.comment, snapshot) if snapshot is not None else None
            located_thread = LocatedThread(thread, location_now, len(comments))
            if located_thread.is_at(*location):
                comments.append(ListedComment(located_thread, proposal))
    return comments


def _list_discussions(
    workspace: Workspace, proposal_name: str | None, ref: str | None
) -> Iterator[tuple[tuple[Thread, ...], Snapshot | None, Proposal | None]]:
    """Yield the threads of each discussion, and the documents at which their texts are located."""
    actions = workspace.proposal_actions()
    if proposal_name is None:
        try:
            yield actions.document_discussion.list_threads(), workspace.at(ref), None
        except (DetachedHead, InvalidTarget) as error:
            if ref is not None:
                raise
            click.echo(f"comments on documents are not listed: {error.message}", err=True)
    if ref is not None:
        return
    proposals = [actions.find(proposal_name)] if proposal_name is not None else actions.list_all()[::-1]
    for proposal in proposals:
        if proposal.is_open or proposal_name is not None:
            tip = proposal.merge_record.tip if proposal.merge_record is not None else proposal.tip
            yield (
                proposal.content.threads,
                workspace.snapshot(tip) if tip is not None else None,
                proposal,
            )


def print_comment_list(comments: Sequence[ListedComment], total: int, *, is_resolved: bool) -> None:
    """Print comments, with a heading above those of each discussion."""
    printer = PagePrinter()
    last_heading = ""
    for located_thread, proposal in comments:
        heading = "Documents" if proposal is None else f"Proposal {proposal.id}: {proposal.content.title}"
        if heading != last_heading:
            printer.print_heading(heading)
            last_heading = heading
        print_thread(printer, located_thread)
    if not total:
        click.echo("There are no resolved comments." if is_resolved else "There are no open comments.")
    elif len(comments) < total:
        click.echo(f"{total - len(comments):,} more: --limit 0 lists all.")


def append_answers(
    workspace: Workspace, actor: Actor, answers: Sequence[CommentAnswer]
) -> tuple[str | None, tuple[str, ...]]:
    """Append answers to the discussion of their comments, and return the commit and the events' ids."""
    discussion = find_discussion(workspace, (answer.comment for answer in answers), None)
    actions = workspace.proposal_actions()
    if discussion.proposal is None:
        result = actions.document_discussion.answer(actor, answers)
        return result.commit, result.event_ids
    action_result = actions.answer(discussion.proposal.id, actor, answers)
    return action_result.commit, action_result.event_ids


def print_appended(
    action: str, commit: str | None, event_ids: Sequence[str], comments: Sequence[str], *, as_json: bool
) -> None:
    """Print the result of an action on comments; `commit` is None if nothing changed."""
    if as_json:
        console.print_json({"commit": commit, "events": list(event_ids), "new": commit is not None})
    elif commit is None:
        click.echo("Nothing to do: the comments have this state already.")
    else:
        click.echo(f"{action}: {' '.join(comments)}")
