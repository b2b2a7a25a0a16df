"""read_section: the exact source of one section, found by its address, number, heading or the begin of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.answers import Answer, Data, call
from tools.arguments import REF, Arguments, InvalidArguments, Natural, read
from tools.reading.errors import with_text, without_section
from tools.tool import Tool
from tools.writing import arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.context import Context
    from tools.reading.opening import Opened
    from tools.reading.parts import Part
    from tools.tool import Given
    from workspace.texts.outline import Entry

_DEEPEST = 6


class ReadSectionArguments(Arguments):
    """The input of read_section."""

    file_path: str = Field(description="Path to file")
    section_heading: str = Field(description="Heading to search for (e.g., '3.1', 'Methods', 'Introduction')")
    ref: str | None = Field(None, description=REF)
    offset: Natural | None = Field(None, description="Character to go on from in a long section")


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "section": "Call with {file_path, section_heading, ref?}: section_heading is an address from "
        "list_sections, a number such as '3.1', a heading, or how one begins",
        "rest": "Call with the offset of an answer that was truncated for what follows",
    }


def _example(given: Given) -> dict[str, Any]:
    return {
        "file_path": "guides/retries.md",
        "section_heading": "backoff-strategy",
        **arguments_of(given, ("file_path", "section_heading", "ref")),
    }


def _run(context: Context, given: Given) -> Answer:
    from tools.reading.opening import open_text
    from tools.reading.parts import lines_shown, part_of
    from workspace.texts.tokens import count_tokens, tokenizer

    asked = read(ReadSectionArguments, given)
    snapshot = context.snapshot(asked.ref)
    opened = open_text(context, snapshot, asked.file_path, asked.section_heading)
    text, outline, entry, moved_to = opened
    if entry is None:
        raise InvalidArguments(
            "'section_heading' is empty",
            fix=f"Give an address, a number or a heading; {call('list_sections', file_path=text.path)} "
            "shows them.",
            field="section_heading",
        )
    end, offset = _end(entry), asked.offset or 0
    part = part_of(text, outline, entry.start, end, offset)
    before = text.text(entry.start, end)[:offset] if offset else ""
    if offset and not part.text:
        raise InvalidArguments(
            "'offset' is behind the end of the section",
            fix="Leave out 'offset' to read from its beginning.",
            field="offset",
        )
    first, last = lines_shown(entry.first_line, before, part.text)
    data: Data = {
        "content": part.text,
        "type": "section",
        "section": entry.address,
        "heading": entry.title,
        "number": entry.number,
        "heading_level": min(max(entry.level, 1), _DEEPEST),
        "tokens": count_tokens(part.text),
        "tokenizer": tokenizer(),
        "start_line": first,
        "end_line": last,
        "lines": [entry.first_line, entry.end_line],
        "path": text.path,
        "commit": snapshot.commit,
    }
    if asked.ref:
        data["ref"] = asked.ref
    if moved_to is not None:
        data["moved_to"] = moved_to
    if part.rest is not None:
        data |= {"truncated": True, "offset": part.rest}
    if text.document is not None:
        sections = (text.document.section_by_key(shown.address) for shown in part.whole)
        context.shows(text.document, [section for section in sections if section is not None])
    return Answer({**data, "next_step": _next_step(context, opened, entry, part, asked.ref)})


def _end(entry: Entry) -> int:
    """Where what is read ends: subsections belong to a section, but not the document to its preamble."""
    return entry.tree_end if entry.level else entry.end


def _next_step(context: Context, opened: Opened, entry: Entry, part: Part, ref: str | None) -> str:
    path, at = opened.text.path, {"ref": ref} if ref else {}
    if part.rest is not None:
        rest = call("read_section", file_path=path, section_heading=entry.address, **at, offset=part.rest)
        step = f"Read the rest with {rest}"
    elif following := next((item for item in opened.outline.entries if item.start >= _end(entry)), None):
        step = f"Read on: {call('read_section', file_path=path, section_heading=following.address, **at)}"
    elif len(opened.outline.entries) == 1 and context.offers("list_documents"):
        step = f"Look at others with {call('list_documents')}: this is all of the file"
    else:
        step = f"See all sections with {call('list_sections', file_path=path, **at)}"
    if opened.moved_to is None:
        return step
    return f"Use '{path}' and '{entry.address}' from now on, where this has moved. {step}"


TOOL = Tool(
    name="read_section",
    title="Read a section",
    toolset="reading",
    description="Extract specific section from document without loading entire file into context",
    arguments=ReadSectionArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=with_text,
    shape_error=without_section,
)
