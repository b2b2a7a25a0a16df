"""read_section: the exact source of one section, found by its address, number, heading or its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import REF, Arguments, InvalidArguments, Natural, read
from tools.pages import shorten_title
from tools.read_context import ReadContext
from tools.reading.texts import missing_section_fields, section_name, with_existing_text
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.pages import TextPart
    from tools.reading.texts import OpenedText
    from tools.tool import Context, Given
    from workspace.texts.headings import OutlineEntry

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
    from tools.pages import cut_part, shown_lines
    from tools.reading.texts import open_text
    from workspace.texts.tokens import count_tokens, get_tokenizer

    asked = read(ReadSectionArguments, given)
    place = ReadContext.at(context, asked.ref)
    opened = open_text(context.workspace.moves, place.snapshot, asked.file_path, asked.section_heading)
    text, outline, entry, _ = opened
    if entry is None:
        raise InvalidArguments(
            "'section_heading' is empty",
            fix=f"Give an address, a number or a heading; {place.call('list_sections', file_path=text.path)} "
            "shows them.",
            field="section_heading",
        )
    offset = asked.offset or 0
    limit = context.text_tokens
    part = cut_part(text, outline.entries, entry.start, entry.tree_end, offset, tokens=limit)
    before = text.text(entry.start, entry.tree_end)[:offset] if offset else ""
    if offset and not part.text:
        raise InvalidArguments(
            "'offset' is behind the end of the section",
            fix="Leave out 'offset' to read from its beginning.",
            field="offset",
        )
    first, last = shown_lines(entry.first_line, before, part.text)
    data: Data = {
        "content": part.text,
        "type": "section",
        "section": section_name(entry),
        "heading": shorten_title(entry.title),
        "number": entry.number,
        "heading_level": min(max(entry.level, 1), _DEEPEST),
        "tokens": count_tokens(part.text),
        "tokenizer": get_tokenizer(),
        "start_line": first,
        "end_line": last,
        "lines": [entry.first_line, entry.end_line],
        "path": text.path,
    }
    if part.rest is not None:
        data |= {"truncated": True, "offset": part.rest}
    opened.shows(context, part)
    return opened.answer(place, data, _next_step(place, opened, entry, part))


def _next_step(
    place: ReadContext, opened: OpenedText, entry: OutlineEntry, part: TextPart[OutlineEntry]
) -> NextStep:
    path = opened.text.path
    if part.rest is not None:
        rest = place.rest(
            "read_section", file_path=path, section_heading=section_name(entry), offset=part.rest
        )
        return NextStep("Read the rest with ", rest)
    if following := next((item for item in opened.outline.entries if item.start >= entry.tree_end), None):
        return NextStep(
            "Read on: ", place.call("read_section", file_path=path, section_heading=section_name(following))
        )
    if len(opened.outline.entries) == 1 and place.context.offers("list_documents"):
        return NextStep("Look at others with ", place.call("list_documents"), ": this is all of the file")
    return NextStep("See all sections with ", place.call("list_sections", file_path=path))


TOOL = Tool(
    name="read_section",
    title="Read a section",
    toolset="reading",
    description="Extract specific section from document without loading entire file into context",
    arguments=ReadSectionArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=with_existing_text,
    shape_error=missing_section_fields,
)
