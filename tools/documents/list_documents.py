"""list_documents: lists the documents in a folder with their sections and tasks, page by page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    WITHOUT_DEFAULT,
    Boolean,
    Integer,
    InvalidArguments,
    ReadingArguments,
    Strings,
    read_arguments,
)
from tools.documents.alike_documents import AlikeGroups
from tools.examples import list_suggested_names
from tools.outline import build_truncation_hint, summarize_sections
from tools.pages import EntryBudget, read_list_cursor, select_paths_after, write_list_cursor
from tools.read_context import ReadContext, list_paths, normalize_folder
from tools.redirects import add_moved_to, find_current_location
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import select_example_arguments
from workspace.document.addresses import format_task_address
from workspace.errors import LimitExceeded
from workspace.nearest import find_nearest
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.documents.alike_documents import AlikeGroup
    from tools.tool import CallArguments, Context
    from workspace.config.taxonomy import Values
    from workspace.document.document import Document
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
_MAX_LISTED_TYPES = 10
MAX_OPEN_TASKS = 50
"""The largest number of open tasks that an entry lists."""

FIELDS = ("type", "title", "tags", "sections", "tasks", "open_tasks")
_DEFAULT_FIELDS = frozenset(FIELDS) - {"open_tasks"}


class ListDocumentsArguments(ReadingArguments):
    """The input of list_documents."""

    path: str = Field(".", json_schema_extra=WITHOUT_DEFAULT)
    type: str | None = None
    tag: str | None = None
    has_open_tasks: Boolean | None = None
    fields: Strings | None = Field(None, description=f"Of {', '.join(FIELDS)}")
    paths_only: Boolean = False
    expand: str | None = Field(None, description="Folder of a row")
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, json_schema_extra=WITHOUT_DEFAULT)
    cursor: str | None = None
    ref: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "all": "Call with {}",
        "folder": "Call with {path}",
        "filters": "Add type, tag or has_open_tasks",
        "fields": f"Add fields, some of {', '.join(FIELDS)}; or paths_only: true",
        "folded": "A folder of alike documents is one row; expand: its path lists them",
        "ref": "Add ref to list a branch, tag, commit or @{date} instead of the tip",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"path": ".", **select_example_arguments(arguments, ("path", "type", "tag", "ref"))}


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    names = list_suggested_names(error)
    nearest = error.details.get("nearest")
    if error.details.get("field") == "expand" and isinstance(nearest, list) and nearest:
        return {**example, "expand": nearest[0]}
    if error.code == "DOCUMENT_NOT_FOUND" and names:
        return {**example, "path": names[0]}
    return example


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(ListDocumentsArguments, arguments)
    fields = _read_fields(request)
    read_context = ReadContext.at(context, request.ref)
    snapshot = read_context.snapshot
    location = find_current_location(context, snapshot, normalize_folder(request.path), None)
    paths = list_paths(snapshot, location.file)
    filters = [request.type, request.tag, request.has_open_tasks]
    criteria: list[Any] = [request.path, *filters]
    if request.fields is not None or request.paths_only or request.expand is not None:
        # Without these fields, a cursor of an earlier version is valid.
        criteria += [request.fields, request.paths_only, request.expand]
    last_path = (
        read_list_cursor(context.signing_keys, request.cursor, snapshot.tree, criteria)
        if request.cursor is not None
        else None
    )
    has_filters = any(value is not None for value in filters)
    # A list with filters has an entry for each document.
    groups_alike_documents = not (has_filters or request.paths_only)
    expanded_folder = normalize_folder(request.expand or ".")
    _check_expanded_folder(snapshot, expanded_folder)
    expanded_folders = {location.file, expanded_folder}
    groups = AlikeGroups(snapshot, paths, expanded_folders)
    last_group = groups.find(last_path) if groups_alike_documents and last_path is not None else None
    if last_group is not None and last_path != last_group.paths[0]:
        # The cursor is from an earlier version of Docyard, which listed each document.
        expanded_folders.add(last_group.folder)
        groups = AlikeGroups(snapshot, paths, expanded_folders)
    entries: list[Data] = []
    next_cursor = None
    budget = EntryBudget(context.text_tokens)
    for path in select_paths_after(paths, last_path):
        group = groups.find(path) if groups_alike_documents else None
        if group is not None and group.paths[0] != path:
            continue
        entry = (
            _build_row(snapshot, group, fields) if group else _build_entry(snapshot, path, request, fields)
        )
        if entry is None:
            continue
        is_full = not budget.take(entry) and bool(entries)
        if is_full or len(entries) == request.limit:
            next_cursor = write_list_cursor(
                context.signing_keys, _get_last_path(entries[-1]), snapshot.tree, criteria
            )
            break
        entries.append(entry)
    data: Data = {"commit": snapshot.commit}
    if request.paths_only:
        data = {"paths": [entry["path"] for entry in entries], **data}
    else:
        data = {"documents": entries, **data}
    if next_cursor:
        data["next_cursor"] = next_cursor
    if not has_filters:
        data["total"] = len(paths)
    elif next_cursor is None and last_path is None:
        data["total"] = len(entries)
    if not entries:
        data["next_step"] = _suggest_other_list(read_context, paths, request.type)
    return Answer(add_moved_to(location, data))


def _read_fields(request: ListDocumentsArguments) -> frozenset[str]:
    """Return the fields of an entry. Raises InvalidArguments for an unknown one."""
    if request.fields is None:
        return _DEFAULT_FIELDS
    for field in request.fields:
        if field not in FIELDS:
            nearest = find_nearest(field, FIELDS)
            raise InvalidArguments(
                f"unknown field '{field[:80]}' in 'fields'",
                fix=f"Did you mean '{nearest[0]}'?" if nearest else f"Give some of: {', '.join(FIELDS)}.",
                field="fields",
            )
    return frozenset(request.fields)


def _check_expanded_folder(snapshot: Snapshot, folder: str) -> None:
    """Raise InvalidArguments for a folder without documents."""
    try:
        list_paths(snapshot, folder)
    except DocumentNotFound as error:
        names = list_suggested_names(error)
        raise InvalidArguments(
            f"'expand' must be a folder with documents (no document at or under '{folder[:200]}')",
            fix=f"Did you mean '{names[0]}'?" if names and names[0] != "." else "Give the 'folder' of a row.",
            field="expand",
            nearest=[name for name in names if name != "."],
        ) from error


def _build_row(snapshot: Snapshot, group: AlikeGroup, fields: frozenset[str]) -> Data:
    """Return the row for a folder of alike documents; each open task in the row names its file."""
    data: Data = {"folder": group.folder, "documents": len(group.paths)}
    if "type" in fields:
        data["type"] = group.document_type
    if "sections" in fields:
        data["sections"] = list(group.section_keys)
    if "open_tasks" in fields:
        # Every document of a group is readable.
        documents = ((path, snapshot.document(path)) for path in group.paths)
        _add_open_tasks(
            data,
            [{"file": path, **task} for path, document in documents for task in _list_open_tasks(document)],
        )
    return {**data, "first": group.paths[0], "last": group.paths[-1]}


def _get_last_path(entry: Data) -> str:
    """Return the path after which the next page begins; a row is at the place of its first document."""
    path: str = entry["path"] if "path" in entry else entry["first"]
    return path


def _matches_filters(document: Document, values: Values, request: ListDocumentsArguments) -> bool:
    if request.type is not None and request.type not in values.get("type", ()):
        return False
    tags = {tag.casefold() for tag in values.get("tags", ())}
    if request.tag is not None and request.tag.casefold() not in tags:
        return False
    if request.has_open_tasks is not None:
        return request.has_open_tasks == any(not task.is_done for task in document.all_tasks)
    return True


def _build_entry(
    snapshot: Snapshot, path: str, request: ListDocumentsArguments, fields: frozenset[str]
) -> Data | None:
    """Return the entry of a document; None if it does not match the filters."""
    has_filters = (request.type, request.tag, request.has_open_tasks) != (None, None, None)
    if request.paths_only and not has_filters:
        return {"path": path}
    try:
        document = snapshot.document(path)
        values = snapshot.taxonomy.values(path, document.front_matter)
    except (LimitExceeded, LfsTextMissing) as error:
        # The document's metadata are unknown, so only a list without filters contains it.
        type_field: Data = {"type": None} if "type" in fields else {}
        return None if has_filters else {"path": path, **type_field, "hints": [error.message]}
    if not _matches_filters(document, values, request):
        return None
    data: Data = {"path": path}
    if "type" in fields:
        data["type"] = ", ".join(values["type"]) if "type" in values else None
    if "title" in fields:
        data["title"] = document.title
    if "tags" in fields and "tags" in values:
        data["tags"] = list(values["tags"])
    if "sections" in fields:
        data["sections"] = summarize_sections(document)
        if hint := build_truncation_hint(document):
            data["hints"] = [hint]
    tasks = document.all_tasks
    if tasks and "tasks" in fields:
        data["tasks"] = {"total": len(tasks), "completed": sum(task.is_done for task in tasks)}
    if "open_tasks" in fields:
        _add_open_tasks(data, _list_open_tasks(document))
    return data


def _add_open_tasks(entry: Data, tasks: Sequence[Data]) -> None:
    """Add open tasks to an entry, and their number if they are cut at MAX_OPEN_TASKS."""
    if tasks:
        entry["open_tasks"] = tasks[:MAX_OPEN_TASKS]
    if len(tasks) > MAX_OPEN_TASKS:
        entry["open_tasks_total"] = len(tasks)


def _list_types(snapshot: Snapshot, paths: Sequence[str]) -> list[str]:
    """Return the types of the documents, the most frequent first."""
    counts: Counter[str] = Counter()
    for path in paths:
        try:
            document = snapshot.document(path)
        except (LimitExceeded, LfsTextMissing):
            continue
        counts.update(snapshot.taxonomy.values(path, document.front_matter).get("type", ()))
    return sorted(counts, key=lambda name: (-counts[name], name))


def _list_open_tasks(document: Document) -> list[Data]:
    """Return the addresses and titles of the open tasks."""
    return [
        {"slug": format_task_address(section.key, task), "title": task.title}
        for section in document.sections
        for task in document.tasks(section)
        if not task.is_done
    ]


def _suggest_other_list(read_context: ReadContext, paths: Sequence[str], type: str | None) -> NextStep:
    """Return the next step after an empty list; for an unknown type, the step lists the types."""
    types = _list_types(read_context.snapshot, paths) if type is not None else []
    if types and type not in types:
        listed_types = ", ".join(name[:80] for name in types[:_MAX_LISTED_TYPES])
        return NextStep(f"No document has this type; the types are {listed_types}")
    if paths:
        return NextStep("No document matches: omit type, tag or has_open_tasks")
    if read_context.offers_write("create_document"):
        return NextStep("Create a document with ", read_context.build_write_call("create_document"))
    if read_context.ref is None:
        return NextStep("There are no documents yet")
    return NextStep("List the documents of the tip: ", call("list_documents"))


TOOL = Tool(
    name="list_documents",
    title="List documents",
    toolset="documents",
    description="List documents with tags, sections and task progress.",
    arguments=ListDocumentsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
)
