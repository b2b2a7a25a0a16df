"""view_document: shows outlines of documents, sources of sections, and tasks; a call may combine them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    OPERATIONS,
    REF_DESCRIPTION,
    Boolean,
    InvalidArguments,
    Natural,
    Objects,
    ReadingArguments,
    read_arguments,
    remove_nulls,
    resolve_target,
)
from tools.budgets.limits import MAX_TOKENS
from tools.documents.batch_reads import answer_batch, check_batch_fields
from tools.examples import correct_sections, correct_task
from tools.outline import (
    MAX_ENTRIES_SHOWN,
    build_outline,
    build_truncation_hint,
    describe_links,
    describe_related,
    describe_task,
    list_titles_not_in_addresses,
)
from tools.pages import cut_part
from tools.read_context import ReadContext
from tools.redirects import add_moved_to, find_current_location
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


class ViewDocumentArguments(ReadingArguments):
    """The input of view_document."""

    file: str | None = None
    slug: str | None = Field(None, description="Section or task; else the outline")
    include_subsections: Boolean = Field(False, description="With _preamble: all")
    offset: Natural | None = None
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
    return (correct_task if is_task else correct_sections)(example, error, snapshot)


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = remove_nulls(arguments)
    read_context = ReadContext.at(context, _read_ref(request))
    if not set(request) - {"ref", MAX_TOKENS}:
        return read_context.build_usage_answer(_usage(arguments))
    if OPERATIONS not in request:
        return Answer(_view_item(read_context, request))
    check_batch_fields(request, "ref", MAX_TOKENS)

    def view(item: CallArguments, item_context: Context) -> Data:
        item_read_context = ReadContext.at(item_context, _read_ref(item)) if "ref" in item else read_context
        return _view_item(item_read_context._replace(context=item_context), item)

    return answer_batch(read_context, TOOL, request[OPERATIONS], view)


def _read_ref(arguments: CallArguments) -> str | None:
    """Return the validated ref of a call or of one of its views. Raises InvalidArguments."""
    return read_arguments(ViewDocumentArguments, {"ref": arguments.get("ref")}).ref


def _view_item(read_context: ReadContext, item: CallArguments) -> Data:
    request = read_arguments(ViewDocumentArguments, item)
    if not request.file:
        raise InvalidArguments("'file' is missing", fix="Give the path of a document.", field="file")
    location = find_current_location(
        read_context.context,
        read_context.snapshot,
        *resolve_target(read_context.snapshot, request.file, request.slug),
    )
    view = _view_at(read_context, location.file, location.slug, request)
    return {**add_moved_to(location, view), "commit": read_context.snapshot.commit}


def _view_at(read_context: ReadContext, file: str, slug: str | None, request: ViewDocumentArguments) -> Data:
    document = read_context.snapshot.document(file)
    if slug is None:
        return _view_outline(read_context, document, request.offset or 0)
    if read_fragment(slug).task is not None:
        return _view_task(read_context, document, slug)
    offset = request.offset or 0
    data = _view_section(
        read_context, document, slug, offset, include_subsections=request.include_subsections
    )
    return (
        data
        if offset
        else _add_links(read_context, document, data, include_subsections=request.include_subsections)
    )


def _add_links(
    read_context: ReadContext, document: Document, data: Data, *, include_subsections: bool
) -> Data:
    """Return a section's data with its links and related sections; also those of included subsections."""
    section = document.section_by_key(data["slug"])
    assert section is not None
    sections = document.sections if section.is_preamble else (section, *document.descendants(section))
    viewed_sections = sections if include_subsections else (section,)
    links, hints = describe_links(read_context, document, viewed_sections)
    if links:
        data["links"] = links
    if related := describe_related(read_context, document, viewed_sections):
        data["related"] = related
    if hints:
        data["hints"] = [*data.get("hints", ()), *hints]
    return data


def _view_outline(read_context: ReadContext, document: Document, offset: int) -> Data:
    """Return the outline from the section at position `offset` on, as far as the limit of an answer."""
    if offset and offset >= len(document.sections):
        raise InvalidArguments(
            f"'offset' is after the last section; the document has {len(document.sections):,} sections",
            fix="Omit 'offset' to view the outline from its beginning.",
            field="offset",
        )
    outline = build_outline(document, offset, read_context.context.text_tokens)
    data: Data = {"file": document.path, "title": document.title, "type": document.type}
    if document.tags:
        data["tags"] = list(document.tags)
    if document.preamble:
        data["preamble"] = document.preamble.address
    data["sections"] = outline.entries
    if titles := list_titles_not_in_addresses(document, offset, outline.end):
        data["titles"] = titles
    links, link_hints = ({}, []) if offset else describe_links(read_context, document)
    if links:
        data["links"] = links
    if not offset and (related := describe_related(read_context, document)):
        data["related"] = related
    hints = [
        build_truncation_hint(document) if not offset else None,
        document.front_matter_error and document.front_matter_error.message,
        *link_hints,
    ]
    if any(hints):
        data["hints"] = [hint for hint in hints if hint]
    if outline.end < len(document.sections):
        view = read_context.build_continuation_call("view_document", file=document.path, offset=outline.end)
        step = NextStep("See more sections with ", view)
        return {**data, "truncated": True, "offset": outline.end, "next_step": step}
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
        view = read_context.build_continuation_call(
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
    description="A document's outline with task progress ({file}), or a section's or task's source "
    "({file, slug}).",
    arguments=ViewDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
)
