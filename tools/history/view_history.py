"""view_history: shows the commits that changed a document or section, and the author of each line."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from tools.arguments import (
    Boolean,
    Integer,
    InvalidArguments,
    ReadingArguments,
    read_arguments,
    remove_nulls,
    resolve_target,
)
from tools.examples import correct_sections
from tools.pages import count_fitting_entries, read_list_cursor, write_list_cursor
from tools.read_context import ReadContext
from tools.redirects import add_moved_to, find_current_location
from tools.tool import Answer, Data, Tool
from tools.writer import select_example_arguments
from workspace.document.addresses import read_fragment
from workspace.paths import check_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.history.commits import CommitChange
    from workspace.history.moved_addresses import Location

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
_MIN_BLAME_CHARACTERS = 40


class _Page(NamedTuple):
    """A page of an answer, and the position of the next page."""

    data: Data
    next_position: str | None


class ViewHistoryArguments(ReadingArguments):
    """The input of view_history."""

    file: str | None = Field(None, description="Document path")
    slug: str | None = Field(None, description="Section address; else the whole document")
    blame: Boolean = Field(False, description="Who last changed each line, instead of commits")
    diff: Boolean | None = Field(None, description="With diffs; by default for a section only")
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="Commits of a page")
    cursor: str | None = Field(None, description="next_cursor of the last page")
    ref: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "document": "Call with {file} for the commits that changed it, across renames",
        "section": "Call with {file, slug} for the commits that changed a section, with diffs, across moves",
        "blame": "Call with {file, slug?, blame: true} for the last commit of each line",
        "removed": "Name a removed document or section by its old address",
        "ref": "Add ref to begin at a branch, tag, commit or @{date} instead of the tip",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"file": "search-api.md", **select_example_arguments(arguments, ("file", "slug", "blame", "ref"))}


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(ViewHistoryArguments, arguments)
    if not request.file:
        return _explain_usage(context, arguments, request)
    from workspace.texts.text_file import normalize_path

    position = None
    read_context = ReadContext.at(context, request.ref)
    criteria = ["history", request.file, request.slug, request.blame, read_context.ref]
    if request.cursor is not None:
        read_context, position = _read_cursor(
            read_context, read_list_cursor(context.signing_keys, request.cursor, None, criteria)
        )
    file, slug = resolve_target(
        read_context.snapshot, normalize_path(read_context.snapshot, request.file), request.slug
    )
    if read_context.snapshot.entry(file) is None:
        check_path(file)
    location = find_current_location(context, read_context.snapshot, file, slug)
    page = (
        _view_blame(read_context, location, position)
        if request.blame
        else _view_changes(read_context, location, request, position)
    )
    cursor = (
        None
        if page.next_position is None
        else write_list_cursor(
            context.signing_keys, f"{read_context.snapshot.commit} {page.next_position}", None, criteria
        )
    )
    data = {**page.data, "commit": read_context.snapshot.commit}
    if cursor:
        data["next_cursor"] = cursor
    return Answer(add_moved_to(location, data))


def _read_cursor(read_context: ReadContext, cursor: str) -> tuple[ReadContext, str]:
    """Return the context at the commit of the first page, and the position of the next page.

    Raises StaleCursor if that commit no longer exists.
    """
    from index.cursors import StaleCursor

    workspace = read_context.context.workspace
    commit, position = cursor.split(" ")
    if not workspace.git.has_object(commit):
        raise StaleCursor(
            "the commit of the cursor no longer exists",
            fix="Repeat the call without a cursor.",
        )
    return read_context._replace(snapshot=workspace.snapshot(commit)), position


def _explain_usage(context: Context, arguments: CallArguments, request: ViewHistoryArguments) -> Answer:
    read_context = ReadContext.at(context, request.ref)
    if set(remove_nulls(arguments)) - {"ref"}:
        raise InvalidArguments("'file' is missing", fix="Give the path of a document.", field="file")
    return read_context.build_usage_answer(_usage(arguments))


def _view_changes(
    read_context: ReadContext, location: Location, request: ViewHistoryArguments, position: str | None
) -> _Page:
    """Return a page of changes, newest first."""
    context = read_context.context
    find_changes = partial(
        context.workspace.history().changes,
        read_context.snapshot,
        location.file,
        location.slug,
        after=position,
        progress=context.progress,
    )
    includes_diffs = request.diff if request.diff is not None else location.slug is not None
    page = find_changes(limit=request.limit)
    entries = _describe_changes(context, page.entries, includes_diffs=includes_diffs)
    count = count_fitting_entries(entries, context.text_tokens)
    if count < len(entries):
        page, entries = find_changes(limit=count), entries[:count]
    _record_shown_changes(context, page.entries, entries)
    hints = [*page.notes]
    if page.next is not None and not page.is_complete:
        hints.append(
            "the search stopped after many commits, before this page was full; the cursor continues it"
        )
    data: Data = {
        **_describe_target(location),
        "history": entries,
        **({"hints": hints} if hints else {}),
    }
    return _Page(data, page.next)


def _describe_changes(
    context: Context, changes: Sequence[CommitChange], *, includes_diffs: bool
) -> list[Data]:
    from tools.history.descriptions import DiffBudget, describe_change

    budget = DiffBudget(context.text_characters)
    entries: list[Data] = []
    for change in changes:
        data = describe_change(change, budget if includes_diffs else None)
        unknown_origins = [name for name in ("client", "tool", "proposal") if data[name] is None]
        entries.append({name: value for name, value in data.items() if name not in unknown_origins})
    return entries


def _record_shown_changes(context: Context, changes: Sequence[CommitChange], entries: Sequence[Data]) -> None:
    """Record the sections that the diffs of an answer show in full."""
    from tools.history.shown_sections import record_shown_sections

    if context.seen_texts is None:
        return
    for change, entry in zip(changes, entries, strict=False):
        if "diff" in entry:
            record_shown_sections(context, change, entry["diff"])


def _view_blame(read_context: ReadContext, location: Location, position: str | None) -> _Page:
    """Return a page of lines with the commits that wrote them."""
    from tools.history.descriptions import describe_blame

    history = read_context.context.workspace.history()
    lines = history.blame(
        read_context.snapshot, location.file, location.slug, progress=read_context.context.progress
    )
    max_characters = max(read_context.context.text_characters // 2, _MIN_BLAME_CHARACTERS)
    data, next_position = describe_blame(history, lines, int(position or 0), max_characters)
    return _Page({**_describe_target(location), **data}, next_position)


def _describe_target(location: Location) -> Data:
    """Return the document and section of a location; for a task, the section that contains the task."""
    return {"file": location.file, "slug": read_fragment(location.slug).section if location.slug else None}


TOOL = Tool(
    name="view_history",
    title="View history",
    toolset="history",
    description="The commits that changed a document ({file}) or section ({file, slug}), followed across "
    "renames and moves, with authors, clients and diffs; with blame, who last changed each line.",
    arguments=ViewHistoryArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_sections,
)
