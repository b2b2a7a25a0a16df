"""view_document: shows outlines of documents, sources of sections, and tasks; a call may combine them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    OPERATIONS,
    REF_DESCRIPTION,
    Arguments,
    Boolean,
    InvalidArguments,
    Natural,
    Objects,
    read_arguments,
    read_operations,
    remove_nulls,
    resolve_target,
)
from tools.errors import error_response
from tools.examples import with_sections, with_task
from tools.outline import (
    MAX_ENTRIES_SHOWN,
    build_outline,
    build_truncation_hint,
    describe_links,
    describe_task,
    list_extra_titles,
)
from tools.pages import cut_part
from tools.read_context import ReadContext
from tools.redirects import find_current_location, with_moved_to
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import select_example_arguments
from workspace.document.addresses import read_fragment, resolve_section, resolve_task
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot

MAX_VIEWS = 50


class ViewDocumentArguments(Arguments):
    """The input of view_document."""

    file: str | None = None
    slug: str | None = Field(None, description="Section or task address; else the outline")
    include_subsections: Boolean = False
    offset: Natural | None = Field(None, description="Character to continue from")
    operations: Objects | None = Field(None, description="[{file, slug}, ...]")
    ref: str | None = Field(None, description=REF_DESCRIPTION)


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "document": "Call with {file} for its outline",
        "section": "Call with {file, slug, include_subsections?} for a section's source or a task",
        "batch": "Call with {operations: [{file, slug?}, ...]}",
        "ref": "Add ref to read a branch, tag, commit or @{date} instead of the tip",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"file": "search-api.md", **select_example_arguments(arguments, ("file", "slug", "ref"))}


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    is_task = "[" in str(example.get("slug", ""))
    return (with_task if is_task else with_sections)(example, error, snapshot)


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = remove_nulls(arguments)
    read_context = ReadContext.at(context, _read_ref(request))
    if not set(request) - {"ref"}:
        return read_context.usage_answer(_usage(arguments))
    if OPERATIONS not in request:
        return Answer({**_view_item(read_context, request), "commit": read_context.snapshot.commit})
    other_fields = sorted(set(request) - {OPERATIONS, "ref"})
    if other_fields:
        raise InvalidArguments(
            f"both '{OPERATIONS}' and fields of a single view ({', '.join(other_fields[:5])}) are given",
            fix=f"Put these fields into each of the '{OPERATIONS}'.",
            field=OPERATIONS,
        )
    return _view_batch(read_context, read_operations(request[OPERATIONS]))


def _read_ref(arguments: CallArguments) -> str | None:
    """Return the validated ref of a call or of one of its views. Raises InvalidArguments."""
    return read_arguments(ViewDocumentArguments, {"ref": arguments.get("ref")}).ref


def _view_batch(read_context: ReadContext, items: list[dict[str, object]]) -> Answer:
    if len(items) > MAX_VIEWS:
        raise InvalidArguments(
            f"'{OPERATIONS}' has {len(items):,} views; at most {MAX_VIEWS} are allowed",
            fix="Split the call into several.",
            field=OPERATIONS,
        )
    results: list[Data] = []
    for item in items:
        item_context = read_context
        try:
            if "ref" in item:
                item_context = ReadContext.at(read_context.context, _read_ref(item))
            commit_field = (
                {"commit": item_context.snapshot.commit} if item_context is not read_context else {}
            )
            view = _view_item(item_context, item)
            view.pop("next_step", None)  # an answer has one next step, none for each entry
            results.append({"success": True, **view, **commit_field})
        except WorkspaceError as error:
            offered_tools = read_context.context.tools
            results.append(
                {
                    "success": False,
                    **error_response(error, TOOL, item, item_context.snapshot, offered_tools=offered_tools),
                }
            )
    has_failed = not any(result["success"] for result in results)
    return Answer({"batch_results": results, "commit": read_context.snapshot.commit}, is_error=has_failed)


def _view_item(read_context: ReadContext, item: CallArguments) -> Data:
    request = read_arguments(ViewDocumentArguments, item)
    if not request.file:
        raise InvalidArguments("'file' is missing", fix="Give the path of a document.", field="file")
    location = find_current_location(
        read_context.context,
        read_context.snapshot,
        *resolve_target(read_context.snapshot, request.file, request.slug),
    )
    return with_moved_to(location, _view_at(read_context, location.file, location.slug, request))


def _view_at(read_context: ReadContext, file: str, slug: str | None, request: ViewDocumentArguments) -> Data:
    document = read_context.snapshot.document(file)
    if slug is None:
        return _view_outline(read_context, document)
    if read_fragment(slug).task is not None:
        return _view_task(read_context, document, slug)
    offset = request.offset or 0
    data = _view_section(
        read_context, document, slug, offset, include_subsections=request.include_subsections
    )
    return (
        data
        if offset
        else _with_links(read_context, document, data, include_subsections=request.include_subsections)
    )


def _with_links(
    read_context: ReadContext, document: Document, data: Data, *, include_subsections: bool
) -> Data:
    """Return a section's data with its links; also those of its subsections if they are included."""
    section = document.section_by_key(data["slug"])
    assert section is not None
    sections = document.sections if section.is_preamble else (section, *document.descendants(section))
    links, hints = describe_links(read_context, document, sections if include_subsections else (section,))
    if links:
        data["links"] = links
    if hints:
        data["hints"] = [*data.get("hints", ()), *hints]
    return data


def _view_outline(read_context: ReadContext, document: Document) -> Data:
    data: Data = {"file": document.path, "title": document.title, "type": document.type}
    if document.tags:
        data["tags"] = list(document.tags)
    if document.preamble:
        data["preamble"] = document.preamble.address
    data["sections"] = build_outline(document)
    if titles := list_extra_titles(document):
        data["titles"] = titles
    links, link_hints = describe_links(read_context, document)
    if links:
        data["links"] = links
    hints = [
        build_truncation_hint(document),
        document.front_matter_error and document.front_matter_error.message,
        *link_hints,
    ]
    if any(hints):
        data["hints"] = [hint for hint in hints if hint]
    return data


def _view_section(
    read_context: ReadContext, document: Document, slug: str, offset: int, *, include_subsections: bool
) -> Data:
    """Return the data of a section: its own text, or the text with all subsections.

    The preamble with all subsections is the full document.
    """
    section = resolve_section(document, slug)
    tree_end = len(document.data) if section.is_preamble else section.tree_end
    end = tree_end if include_subsections else section.end
    tokens = read_context.context.text_tokens
    text, next_offset, shown_sections, _ = cut_part(
        document, document.sections, section.start, end, offset, tokens=tokens
    )
    read_context.context.record_seen_sections(document, shown_sections)
    data: Data = {
        "slug": section.key,
        "content": text,
        "subsections": [
            _get_relative_address(section, child) for child in document.children(section)[:MAX_ENTRIES_SHOWN]
        ]
        if section.level
        else [],
        "parent": None if section.parent is None else document.sections[section.parent].key,
        "lines": [
            section.line,
            document.lines.line_at(max(tree_end - 1, 0)) + 1 if include_subsections else section.end_line,
        ],
    }
    tasks = document.tasks(section)
    if tasks:
        data["tasks"] = [describe_task(section, task) for task in tasks[:MAX_ENTRIES_SHOWN]]
        if len(tasks) > MAX_ENTRIES_SHOWN:
            data["hints"] = [f"the first {MAX_ENTRIES_SHOWN:,} of {len(tasks):,} tasks are shown"]
    if next_offset is not None:
        extra_fields = {"include_subsections": True} if include_subsections else {}
        view = read_context.rest_call(
            "view_document", file=document.path, slug=section.key, offset=next_offset, **extra_fields
        )
        step = NextStep("Read the rest with ", view)
        return {**data, "truncated": True, "offset": next_offset, "next_step": step}
    return data


def _get_relative_address(parent: Section, child: Section) -> str:
    """Return a subsection's address relative to its parent; the full address if it has its own anchor."""
    return child.key.removeprefix(parent.address + "/")


def _view_task(read_context: ReadContext, document: Document, slug: str) -> Data:
    section, task = resolve_task(document, slug)
    return {
        "content": document.text(task.start, task.end),
        "task": describe_task(section, task),
        "parent": section.key,
    }


TOOL = Tool(
    name="view_document",
    title="View a document",
    toolset="documents",
    description="A document's outline with task progress ({file}), or the source of a section or task "
    "({file, slug}).",
    arguments=ViewDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
)
