"""list_documents: lists the documents in a folder with their sections and tasks, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import Arguments, Boolean, Integer, read_arguments
from tools.examples import list_suggested_names
from tools.outline import build_truncation_hint, summarize_sections
from tools.pages import paths_after, read_list_cursor, write_list_cursor
from tools.read_context import ReadContext
from tools.redirects import find_current_location, with_moved_to
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import select_example_arguments
from workspace.errors import LimitExceeded
from workspace.nearest import find_nearest
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context
    from workspace.config.taxonomy import Values
    from workspace.document.document import Document
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class ListDocumentsArguments(Arguments):
    """The input of list_documents."""

    path: str = Field(".", description="Folder or document")
    type: str | None = None
    tag: str | None = None
    has_open_tasks: Boolean | None = Field(None, description="true: some open; false: none")
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)
    cursor: str | None = None
    ref: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "all": "Call with {}",
        "folder": "Call with {path}",
        "filters": "Add type, tag or has_open_tasks",
        "ref": "Add ref to list a branch, tag, commit or @{date} instead of the tip",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"path": ".", **select_example_arguments(arguments, ("path", "type", "tag", "ref"))}


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    names = list_suggested_names(error)
    if error.code == "DOCUMENT_NOT_FOUND" and names:
        return {**example, "path": names[0]}
    return example


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(ListDocumentsArguments, arguments)
    read_context = ReadContext.at(context, request.ref)
    snapshot = read_context.snapshot
    location = find_current_location(context, snapshot, _normalize_path(request.path), None)
    paths = _list_paths(snapshot, location.file)
    criteria = [request.path, request.type, request.tag, request.has_open_tasks]
    last_path = (
        read_list_cursor(request.cursor, snapshot.tree, criteria) if request.cursor is not None else None
    )
    entries: list[Data] = []
    next_cursor = None
    for path in paths_after(paths, last_path):
        try:
            document = snapshot.document(path)
            values = snapshot.taxonomy.values(path, document.front_matter)
            entry = _build_entry(document, values) if _matches_filters(document, values, request) else None
        except (LimitExceeded, NotADocument) as error:
            # The document's metadata are unknown, so only a list without filters contains it.
            entry = (
                None
                if any(value is not None for value in criteria[1:])
                else {"path": path, "type": None, "hints": [error.message]}
            )
        if entry is None:
            continue
        if len(entries) == request.limit:
            next_cursor = write_list_cursor(entries[-1]["path"], snapshot.tree, criteria)
            break
        entries.append(entry)
    data: Data = {"documents": entries, "next_cursor": next_cursor, "commit": snapshot.commit}
    if not any(value is not None for value in criteria[1:]):
        data["total"] = len(paths)
    elif next_cursor is None and last_path is None:
        data["total"] = len(entries)
    step = _next_step(read_context, entries, bool(paths))
    if next_cursor:
        fields = request.model_dump(exclude_unset=True, exclude_none=True, exclude={"ref", "cursor"})
        step = NextStep("See more with ", read_context.call("list_documents", **fields, cursor=next_cursor))
    return Answer(with_moved_to(location, {**data, "next_step": step}))


def _normalize_path(path: str) -> str:
    """Return a path without `./` and a final `/`; an empty string for the workspace."""
    normalized = path.strip().removeprefix("./").rstrip("/")
    return "" if normalized == "." else normalized


def _list_paths(snapshot: Snapshot, folder: str) -> list[str]:
    """Return the paths of the documents at or under a path.

    Raises DocumentNotFound if there are none.
    """
    if not folder:
        return list(snapshot.documents)
    folder = check_path(folder)
    paths = [path for path in snapshot.documents if path == folder or path.startswith(folder + "/")]
    if not paths:
        folders = {
            path.rsplit("/", depth)[0]
            for path in snapshot.documents
            for depth in range(1, path.count("/") + 1)
        }
        nearest = find_nearest(folder, sorted(folders) + list(snapshot.documents))
        raise DocumentNotFound(
            f"no document at or under '{folder[:200]}'",
            fix=f"Did you mean '{nearest[0]}'?"
            if nearest
            else 'Call with {"path": "."} to list every document.',
            candidates=nearest or ["."],
        )
    return paths


def _matches_filters(document: Document, values: Values, request: ListDocumentsArguments) -> bool:
    if request.type is not None and request.type not in values.get("type", ()):
        return False
    tags = {tag.casefold() for tag in values.get("tags", ())}
    if request.tag is not None and request.tag.casefold() not in tags:
        return False
    if request.has_open_tasks is not None:
        return request.has_open_tasks == any(not task.is_done for task in document.all_tasks)
    return True


def _build_entry(document: Document, values: Values) -> Data:
    data: Data = {
        "path": document.path,
        "type": ", ".join(values["type"]) if "type" in values else None,
        "title": document.title,
    }
    if "tags" in values:
        data["tags"] = list(values["tags"])
    data["sections"] = summarize_sections(document)
    if hint := build_truncation_hint(document):
        data["hints"] = [hint]
    tasks = document.all_tasks
    if tasks:
        data["tasks"] = {"total": len(tasks), "completed": sum(task.is_done for task in tasks)}
    return data


def _next_step(read_context: ReadContext, entries: list[Data], has_documents: bool) -> NextStep:
    if entries:
        return NextStep("View one with ", read_context.call("view_document", file=entries[0]["path"]))
    if has_documents:
        return NextStep("No document matches: omit type, tag or has_open_tasks")
    if read_context.offers_write("create_document"):
        return NextStep("Create a document with ", read_context.write_call("create_document"))
    if read_context.ref is None:
        return NextStep("There are no documents yet")
    return NextStep("List the documents of the tip: ", call("list_documents"))


TOOL = Tool(
    name="list_documents",
    title="List documents",
    toolset="documents",
    description="List documents with type, tags, sections and task progress.",
    arguments=ListDocumentsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
)
