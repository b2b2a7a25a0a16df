"""view_document: a document's outline, a section's source, or a task; several in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    OPERATIONS,
    REF,
    Arguments,
    Boolean,
    InvalidArguments,
    Natural,
    Objects,
    read,
    read_operations,
    resolve_target,
    without_nulls,
)
from tools.errors import error_response
from tools.examples import with_sections, with_task
from tools.moved import find_for_reading, with_moved_to
from tools.outline import (
    MAX_SHOWN,
    cut_hint,
    extra_titles,
    first_with_text,
    links_data,
    list_sections,
    task_data,
)
from tools.pages import cut_part
from tools.read_context import ReadContext
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import arguments_of
from workspace.document.addresses import read_fragment, resolve_section, resolve_task
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Context, Given
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot

MAX_VIEWS = 50


class ViewDocumentArguments(Arguments):
    """The input of view_document."""

    file: str | None = Field(None, description="Path")
    slug: str | None = Field(None, description="Section or task address; else the outline")
    include_subsections: Boolean = Field(False, description="With all below it")
    offset: Natural | None = Field(None, description="Character to go on from")
    operations: Objects | None = Field(None, description="[{file, slug}, ...]")
    ref: str | None = Field(None, description=REF)


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "document": "Call with {file} for its outline",
        "section": "Call with {file, slug, include_subsections?} for a section's source or a task",
        "batch": "Call with {operations: [{file, slug?}, ...]}",
        "ref": "Add ref to read a branch, tag, commit or @{date} instead of the tip",
    }


def _example(given: Given) -> dict[str, Any]:
    return {"file": "search-api.md", **arguments_of(given, ("file", "slug", "ref"))}


def _correct(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    is_task = "[" in str(example.get("slug", ""))
    return (with_task if is_task else with_sections)(example, error, snapshot)


def _run(context: Context, given: Given) -> Answer:
    asked = without_nulls(given)
    place = ReadContext.at(context, _ref(asked))
    if not set(asked) - {"ref"}:
        return place.explained(_usage(given))
    if OPERATIONS not in asked:
        return Answer({**_view(place, asked), "commit": place.snapshot.commit})
    others = sorted(set(asked) - {OPERATIONS, "ref"})
    if others:
        raise InvalidArguments(
            f"both '{OPERATIONS}' and fields of a single view ({', '.join(others[:5])}) are given",
            fix=f"Put these fields into each of the '{OPERATIONS}'.",
            field=OPERATIONS,
        )
    return _batch(place, read_operations(asked[OPERATIONS]))


def _ref(given: Given) -> str | None:
    """Return the ref of a call or of one of its views. Raises InvalidArguments."""
    return read(ViewDocumentArguments, {"ref": given.get("ref")}).ref


def _batch(place: ReadContext, items: list[dict[str, object]]) -> Answer:
    if len(items) > MAX_VIEWS:
        raise InvalidArguments(
            f"over {MAX_VIEWS} views in one call", fix="Ask for fewer at once.", field=OPERATIONS
        )
    results: list[Data] = []
    step: NextStep | None = None
    for item in items:
        at = place
        try:
            if "ref" in item:
                at = ReadContext.at(place.context, _ref(item))
            own = {"commit": at.snapshot.commit} if at is not place else {}
            seen = _view(at, item)
            step = seen["next_step"]
            results.append({"success": True, **seen, "next_step": step.text(), **own})
        except WorkspaceError as error:
            offered = place.context.tools
            results.append(
                {"success": False, **error_response(error, TOOL, item, at.snapshot, offered=offered)}
            )
    data: Data = {"batch_results": results, "commit": place.snapshot.commit}
    if step is not None:
        data["next_step"] = step
    return Answer(data, is_error=step is None)


def _view(place: ReadContext, item: Given) -> Data:
    asked = read(ViewDocumentArguments, item)
    if not asked.file:
        raise InvalidArguments("'file' is missing", fix="Give the path of a document.", field="file")
    there = find_for_reading(
        place.context, place.snapshot, *resolve_target(place.snapshot, asked.file, asked.slug)
    )
    return with_moved_to(there, _view_at(place, there.file, there.slug, asked))


def _view_at(place: ReadContext, file: str, slug: str | None, asked: ViewDocumentArguments) -> Data:
    document = place.snapshot.document(file)
    if slug is None:
        return _outline(place, document)
    if read_fragment(slug).task is not None:
        return _task(place, document, slug)
    offset = asked.offset or 0
    data = _section(place, document, slug, offset, whole=asked.include_subsections)
    return data if offset else _with_links(place, document, data, whole=asked.include_subsections)


def _with_links(place: ReadContext, document: Document, data: Data, *, whole: bool) -> Data:
    """Return a section's answer with its links before the next step, those of its subsections included."""
    section = document.section_by_key(data["slug"])
    assert section is not None
    below = document.sections if section.is_preamble else (section, *document.descendants(section))
    links, hints = links_data(place, document, below if whole else (section,))
    step = data.pop("next_step")
    if links:
        data["links"] = links
    if hints:
        data["hints"] = [*data.get("hints", ()), *hints]
    return {**data, "next_step": step}


def _outline(place: ReadContext, document: Document) -> Data:
    data: Data = {"file": document.path, "title": document.title, "type": document.type}
    if document.tags:
        data["tags"] = list(document.tags)
    if document.preamble:
        data["preamble"] = document.preamble.address
    data["sections"] = list_sections(document)
    if titles := extra_titles(document):
        data["titles"] = titles
    links, more = links_data(place, document)
    if links:
        data["links"] = links
    hints = [cut_hint(document), document.front_matter_error and document.front_matter_error.message, *more]
    if any(hints):
        data["hints"] = [hint for hint in hints if hint]
    first = first_with_text(document, document.sections)
    open_task = next(
        (address for view in data["sections"].values() for address in view.get("active", ())), None
    )
    if open_task and place.writes("complete_task"):
        view = place.call("view_document", file=document.path, slug=open_task)
        data["next_step"] = NextStep(f"Work on {open_task}: ", view)
    elif first:
        data["next_step"] = NextStep(
            "Read a section: ", place.call("view_document", file=document.path, slug=first.key)
        )
    elif place.writes("edit_document"):
        add = place.change("edit_document", operation="add_section", file=document.path, title="…")
        data["next_step"] = NextStep("Add a section: ", add)
    else:
        data["next_step"] = NextStep(
            "Look at others with ", place.call("list_documents"), ": this document is empty"
        )
    return data


def _section(place: ReadContext, document: Document, slug: str, offset: int, *, whole: bool) -> Data:
    """Return a section's own text, or all below it too: of the preamble, the whole document."""
    section = resolve_section(document, slug)
    below = len(document.data) if section.is_preamble else section.tree_end
    end = below if whole else section.end
    tokens = place.context.text_tokens
    text, rest, seen, _ = cut_part(document, document.sections, section.start, end, offset, tokens=tokens)
    place.context.shows(document, seen)
    data: Data = {
        "slug": section.key,
        "content": text,
        "subsections": [_relative(section, child) for child in document.children(section)[:MAX_SHOWN]]
        if section.level
        else [],
        "parent": None if section.parent is None else document.sections[section.parent].key,
        "lines": [section.line, document.lines.line_at(max(below - 1, 0)) + 1 if whole else section.end_line],
    }
    tasks = document.tasks(section)
    if tasks:
        data["tasks"] = [task_data(section, task) for task in tasks[:MAX_SHOWN]]
        if len(tasks) > MAX_SHOWN:
            data["hints"] = [f"the first {MAX_SHOWN:,} of {len(tasks):,} tasks are shown"]
    if rest is not None:
        more = {"include_subsections": True} if whole else {}
        view = place.rest("view_document", file=document.path, slug=section.key, offset=rest, **more)
        step = NextStep("Read the rest with ", view)
        return {**data, "truncated": True, "offset": rest, "next_step": step}
    return {**data, "next_step": _after(place, document, section, whole=whole)}


def _relative(parent: Section, child: Section) -> str:
    """Return a subsection's address below its parent's; whole where its anchor says otherwise."""
    return child.key.removeprefix(parent.address + "/")


def _after(place: ReadContext, document: Document, section: Section, *, whole: bool) -> NextStep:
    open_task = next((task for task in document.tasks(section) if not task.is_done), None)
    if open_task and place.writes("complete_task"):
        slug = f"{section.key}[{open_task.index}]"
        return NextStep("Finish a task: ", place.change("complete_task", file=document.path, slug=slug))
    children = document.children(section) if section.level else ()
    if children and not whole:
        deeper = first_with_text(document, document.descendants(section)) or children[0]
        return NextStep("Go deeper: ", place.call("view_document", file=document.path, slug=deeper.key))
    if place.writes("edit_document"):
        edit = place.change(
            "edit_document", operation="update_content", file=document.path, slug=section.key, content="…"
        )
        return NextStep("Change it: ", edit)
    following = next((item for item in document.sections if item.position == section.position + 1), None)
    if following:
        return NextStep("Read on: ", place.call("view_document", file=document.path, slug=following.key))
    return NextStep("Look at other documents with ", place.call("list_documents"))


def _task(place: ReadContext, document: Document, slug: str) -> Data:
    section, task = resolve_task(document, slug)
    data = {
        "content": document.text(task.start, task.end),
        "task": task_data(section, task),
        "parent": section.key,
    }
    verb = "reopen_task" if task.is_done else "complete_task"
    if not place.writes(verb):
        view = place.call("view_document", file=document.path, slug=section.key)
        return {**data, "next_step": NextStep("See its section: ", view)}
    address = f"{section.key}[{task.index}]"
    change = place.change(verb, file=document.path, slug=address)
    step = NextStep(f"{'Reopen' if task.is_done else 'Finish'} it: ", change)
    return {**data, "next_step": step}


TOOL = Tool(
    name="view_document",
    title="View a document or section",
    toolset="documents",
    description="A document's outline with task progress ({file}), or the source of a section or task "
    "({file, slug}).",
    arguments=ViewDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct,
)
