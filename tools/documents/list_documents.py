"""list_documents: the documents under a folder, with their sections and tasks, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import REF, Arguments, Boolean, Integer, read
from tools.examples import proposed_names
from tools.moved import find_for_reading as found_now
from tools.moved import with_moved_to
from tools.outline import cut_hint, summarize_sections
from tools.pages import page_after, read_place, write_place
from tools.read_context import ReadContext
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import arguments_of
from workspace.errors import LimitExceeded
from workspace.nearest import find_nearest
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Context, Given
    from workspace.config.taxonomy import Values
    from workspace.document.document import Document
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class ListDocumentsArguments(Arguments):
    """The input of list_documents."""

    path: str = Field(".", description="Folder or document")
    type: str | None = Field(None, description="Filter")
    tag: str | None = Field(None, description="Filter")
    has_open_tasks: Boolean | None = Field(None, description="true: some open; false: none")
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, description="next_cursor")
    ref: str | None = Field(None, description=REF)


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "all": "Call with {}",
        "folder": "Call with {path}",
        "filters": "Add type, tag or has_open_tasks",
        "ref": "Add ref to list a branch, tag, commit or @{date} instead of the tip",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(given: Given) -> dict[str, Any]:
    return {"path": ".", **arguments_of(given, ("path", "type", "tag", "ref"))}


def _correct(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    found = proposed_names(error)
    if error.code == "DOCUMENT_NOT_FOUND" and found:
        return {**example, "path": found[0]}
    return example


def _run(context: Context, given: Given) -> Answer:
    asked = read(ListDocumentsArguments, given)
    place = ReadContext.at(context, asked.ref)
    snapshot = place.snapshot
    there = found_now(context, snapshot, _normalize_path(asked.path), None)
    paths = _paths(snapshot, there.file)
    search = [asked.path, asked.type, asked.tag, asked.has_open_tasks]
    last = read_place(asked.cursor, snapshot.tree, search) if asked.cursor is not None else None
    found: list[Data] = []
    next_cursor = None
    for path in page_after(paths, last):
        try:
            document = snapshot.document(path)
            values = snapshot.taxonomy.values(path, document.front_matter)
            entry = _entry(document, values) if _matches(document, values, asked) else None
        except (LimitExceeded, NotADocument) as error:
            # What is in it is not known, so that only a list without filters holds it.
            entry = (
                None
                if any(value is not None for value in search[1:])
                else {"path": path, "type": None, "hints": [error.message]}
            )
        if entry is None:
            continue
        if len(found) == asked.limit:
            next_cursor = write_place(found[-1]["path"], snapshot.tree, search)
            break
        found.append(entry)
    data: Data = {"documents": found, "next_cursor": next_cursor, "commit": snapshot.commit}
    if not any(value is not None for value in search[1:]):
        data["total"] = len(paths)
    elif next_cursor is None and last is None:
        data["total"] = len(found)
    step = _next_step(place, found, bool(paths))
    if next_cursor:
        fields = asked.model_dump(exclude_unset=True, exclude_none=True, exclude={"ref", "cursor"})
        step = NextStep("See more with ", place.call("list_documents", **fields, cursor=next_cursor))
    return Answer(with_moved_to(there, {**data, "next_step": step}))


def _normalize_path(path: str) -> str:
    """Return a path without what stands for the folder itself; of the whole workspace nothing is left."""
    wanted = path.strip().removeprefix("./").rstrip("/")
    return "" if wanted == "." else wanted


def _paths(snapshot: Snapshot, wanted: str) -> list[str]:
    """Return the paths of the documents at or under a path.

    Raises DocumentNotFound for a folder that holds none.
    """
    if not wanted:
        return list(snapshot.documents)
    wanted = check_path(wanted)
    found = [known for known in snapshot.documents if known == wanted or known.startswith(wanted + "/")]
    if not found:
        folders = {
            known.rsplit("/", depth)[0]
            for known in snapshot.documents
            for depth in range(1, known.count("/") + 1)
        }
        close = find_nearest(wanted, sorted(folders) + list(snapshot.documents))
        raise DocumentNotFound(
            f"no document at or under '{wanted[:200]}'",
            fix=f"Did you mean '{close[0]}'?" if close else 'Call with {"path": "."} to list every document.',
            candidates=close or ["."],
        )
    return found


def _matches(document: Document, values: Values, asked: ListDocumentsArguments) -> bool:
    if asked.type is not None and asked.type not in values.get("type", ()):
        return False
    tags = {tag.casefold() for tag in values.get("tags", ())}
    if asked.tag is not None and asked.tag.casefold() not in tags:
        return False
    if asked.has_open_tasks is not None:
        return asked.has_open_tasks == any(not task.is_done for task in document.all_tasks)
    return True


def _entry(document: Document, values: Values) -> Data:
    data: Data = {
        "path": document.path,
        "type": ", ".join(values["type"]) if "type" in values else None,
        "title": document.title,
    }
    if "tags" in values:
        data["tags"] = list(values["tags"])
    data["sections"] = summarize_sections(document)
    if hint := cut_hint(document):
        data["hints"] = [hint]
    tasks = document.all_tasks
    if tasks:
        data["tasks"] = {"total": len(tasks), "completed": sum(task.is_done for task in tasks)}
    return data


def _next_step(place: ReadContext, found: list[Data], has_documents: bool) -> NextStep:
    if found:
        return NextStep("Look into one with ", place.call("view_document", file=found[0]["path"]))
    if has_documents:
        return NextStep("Nothing matches: leave out type, tag or has_open_tasks")
    if place.writes("create_document"):
        return NextStep("Begin with ", place.change("create_document"))
    if place.ref is None:
        return NextStep("Nothing is written here yet")
    return NextStep("See what there is now: ", call("list_documents"))


TOOL = Tool(
    name="list_documents",
    title="List documents",
    toolset="documents",
    description="List documents with type, tags, sections and task progress.",
    arguments=ListDocumentsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct,
)
