"""view_history: which commits changed a document or section, and who wrote each of its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from tools.arguments import (
    REF,
    Arguments,
    Boolean,
    Integer,
    InvalidArguments,
    read,
    resolve_target,
    without_nulls,
)
from tools.examples import with_sections
from tools.moved import find_for_reading, with_moved_to
from tools.pages import read_place, write_place
from tools.read_context import ReadContext
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import arguments_of
from workspace.document.addresses import read_fragment
from workspace.paths import check_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.moved import FoundPlace
    from tools.tool import Context, Given
    from workspace.history.commits import CommitChange

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


class _Page(NamedTuple):
    """A page of an answer, where the next one begins, and what to do if there is none."""

    data: Data
    rest: str | None
    step: NextStep


class ViewHistoryArguments(Arguments):
    """The input of view_history."""

    file: str | None = Field(None, description="Document path")
    slug: str | None = Field(None, description="Section address; else the whole document")
    blame: Boolean = Field(False, description="Who last changed each line, instead of commits")
    diff: Boolean | None = Field(None, description="With diffs; by default for a section only")
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="Commits of a page")
    cursor: str | None = Field(None, description="next_cursor of the last page")
    ref: str | None = Field(None, description=REF)


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "document": "Call with {file} for the commits that changed it, across renames",
        "section": "Call with {file, slug} for those that changed a section, with diffs; across moves, too",
        "blame": "Call with {file, slug?, blame: true} for who last changed each line",
        "removed": "What is not there any more is asked for by the address that it had",
        "ref": "Add ref to begin at a branch, tag, commit or @{date} instead of the tip",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(given: Given) -> dict[str, Any]:
    return {"file": "search-api.md", **arguments_of(given, ("file", "slug", "blame", "ref"))}


def _run(context: Context, given: Given) -> Answer:
    asked = read(ViewHistoryArguments, given)
    if not asked.file:
        return _explain(context, given, asked)
    from workspace.texts.text_file import normalize_path

    after = None
    place = ReadContext.at(context, asked.ref)
    search = ["history", asked.file, asked.slug, asked.blame, place.ref]
    if asked.cursor is not None:
        place, after = _read_cursor(place, read_place(asked.cursor, None, search))
    file, slug = resolve_target(place.snapshot, normalize_path(place.snapshot, asked.file), asked.slug)
    if place.snapshot.entry(file) is None:
        check_path(file)
    there = find_for_reading(context, place.snapshot, file, slug)
    page = _blame(place, there, after) if asked.blame else _changes(place, there, asked, after)
    cursor = None if page.rest is None else write_place(f"{place.snapshot.commit} {page.rest}", None, search)
    step = page.step
    if cursor:
        fields = asked.model_dump(exclude_unset=True, exclude_none=True, exclude={"ref", "cursor"})
        step = NextStep("See more with ", place.call("view_history", **fields, cursor=cursor))
    data = {**page.data, "next_cursor": cursor, "commit": place.snapshot.commit, "next_step": step}
    return Answer(with_moved_to(there, data))


def _read_cursor(place: ReadContext, cursor: str) -> tuple[ReadContext, str]:
    """Return the commit of the first page, and the position of the next page.

    Raises StaleCursor once that commit is gone.
    """
    from index.cursors import StaleCursor

    workspace = place.context.workspace
    commit, after = cursor.split(" ")
    if not workspace.git.has(commit):
        raise StaleCursor(
            "the commit of the cursor no longer exists",
            fix="Repeat the call without a cursor.",
        )
    return place._replace(snapshot=workspace.snapshot(commit)), after


def _explain(context: Context, given: Given, asked: ViewHistoryArguments) -> Answer:
    place = ReadContext.at(context, asked.ref)
    if set(without_nulls(given)) - {"ref"}:
        raise InvalidArguments("'file' is missing", fix="Give the path of a document.", field="file")
    return place.explained(_usage(given))


def _changes(place: ReadContext, there: FoundPlace, asked: ViewHistoryArguments, after: str | None) -> _Page:
    """Return a page of changes, newest first."""
    page = place.context.workspace.history().changes(
        place.snapshot,
        there.file,
        there.slug,
        after=after,
        limit=asked.limit,
        progress=place.context.progress,
    )
    diff = asked.diff if asked.diff is not None else there.slug is not None
    hints = [*page.notes]
    if page.next is not None and not page.complete:
        hints.append("many commits were looked at without filling this page; the cursor goes on from there")
    data: Data = {
        **_document_and_section(there),
        "history": _describe_changes(place.context, page.entries, diff=diff),
        **({"hints": hints} if hints else {}),
    }
    return _Page(data, page.next, _after_changes(place, there, page.entries))


def _describe_changes(context: Context, changes: Sequence[CommitChange], *, diff: bool) -> list[Data]:
    from tools.history.descriptions import DiffBudget, change_data
    from tools.history.seen import remember_diff

    room = DiffBudget(context.text_characters)
    entries: list[Data] = []
    for change in changes:
        entries.append(data := change_data(change, room if diff else None))
        if context.sight is not None and "diff" in data:
            remember_diff(context, change, data["diff"])
    return entries


def _blame(place: ReadContext, there: FoundPlace, after: str | None) -> _Page:
    """Return a page of lines, with who wrote them."""
    from tools.history.descriptions import blame_data

    history = place.context.workspace.history()
    lines = history.blame(place.snapshot, there.file, there.slug, progress=place.context.progress)
    data, rest = blame_data(history, lines, int(after or 0), place.context.text_characters // 2)
    step = NextStep("See how it came to be: ", place.call("view_history", **_call_fields(there)))
    return _Page({**_document_and_section(there), **data}, rest, step)


def _document_and_section(there: FoundPlace) -> Data:
    """Return the document and section that are told of; a task's is the one that it stands in."""
    return {"file": there.file, "slug": read_fragment(there.slug).section if there.slug else None}


def _call_fields(there: FoundPlace) -> Data:
    """Return the same as fields of a call."""
    return {field: value for field, value in _document_and_section(there).items() if value is not None}


def _after_changes(place: ReadContext, there: FoundPlace, changes: Sequence[CommitChange]) -> NextStep:
    newest = changes[0] if changes else None
    if newest is None or newest.old_path is None or newest.parent is None:
        return NextStep(
            "See who wrote its lines: ", place.call("view_history", **_call_fields(there), blame=True)
        )
    was = {"file": newest.old_path, **({"slug": newest.old_fragment} if newest.old_fragment else {})}
    if newest.kind == "removed" and place.writes("restore_document"):
        return NextStep("Bring it back: ", place.change("restore_document", **was, ref=newest.parent))
    if place.context.offers("view_document"):
        return NextStep("Read it as it was before: ", call("view_document", **was, ref=newest.parent))
    return NextStep("See what was before: ", call("view_history", **was, ref=newest.parent))


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
    correct=with_sections,
)
