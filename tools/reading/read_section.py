"""read_section: returns the source of one section, by its address, its number, or its heading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import InvalidArguments, Natural, ReadingArguments, read_arguments
from tools.pages import shorten_title
from tools.read_context import ReadContext
from tools.reading.texts import build_missing_section_fields, correct_text_names, get_section_name
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context

_MAX_HEADING_LEVEL = 6


class ReadSectionArguments(ReadingArguments):
    """The input of read_section."""

    file_path: str = Field(description="Path to file")
    section_heading: str = Field(description="Heading to search for (e.g., '3.1', 'Methods', 'Introduction')")
    ref: str | None = None
    offset: Natural | None = Field(None, description="Character to continue from in a long section")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "section": "Call with {file_path, section_heading, ref?}: section_heading is an address from "
        "list_sections, a number such as '3.1', a heading, or the beginning of one",
        "rest": "Call with the offset of a truncated answer for the next part",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "file_path": "guides/retries.md",
        "section_heading": "backoff-strategy",
        **select_example_arguments(arguments, ("file_path", "section_heading", "ref")),
    }


def _run(context: Context, arguments: CallArguments) -> Answer:
    from tools.pages import cut_part, number_shown_lines
    from tools.reading.texts import open_text
    from workspace.texts.tokens import count_tokens, get_tokenizer

    request = read_arguments(ReadSectionArguments, arguments)
    read_context = ReadContext.at(context, request.ref)
    opened_text = open_text(
        context.workspace.moves, read_context.snapshot, request.file_path, request.section_heading
    )
    text, outline, entry, _ = opened_text
    if entry is None:
        raise InvalidArguments(
            "'section_heading' is empty",
            fix="Give an address, a number or a heading; list them with "
            f"{read_context.call('list_sections', file_path=text.path)}.",
            field="section_heading",
        )
    offset = request.offset or 0
    limit = context.text_tokens
    part = cut_part(text, outline.entries, entry.start, entry.tree_end, offset, tokens=limit)
    prefix = text.text(entry.start, entry.tree_end)[:offset] if offset else ""
    if offset and not part.text:
        raise InvalidArguments(
            "'offset' is after the end of the section",
            fix="Omit 'offset' to read from its beginning.",
            field="offset",
        )
    first_line, last_line = number_shown_lines(entry.first_line, prefix, part.text)
    data: Data = {
        "content": part.text,
        "type": "section",
        "section": get_section_name(entry),
        "heading": shorten_title(entry.title),
        "number": entry.number,
        "heading_level": min(max(entry.level, 1), _MAX_HEADING_LEVEL),
        "tokens": count_tokens(part.text),
        "tokenizer": get_tokenizer(),
        "start_line": first_line,
        "end_line": last_line,
        "lines": [entry.first_line, entry.end_line],
        "path": text.path,
    }
    if part.next_offset is not None:
        rest_call = read_context.build_continuation_call(
            "read_section",
            file_path=text.path,
            section_heading=get_section_name(entry),
            offset=part.next_offset,
        )
        step = NextStep("Read the rest with ", rest_call)
        data |= {"truncated": True, "offset": part.next_offset, "next_step": step}
    opened_text.record_seen_sections(context, part)
    return opened_text.build_answer(read_context, data)


TOOL = Tool(
    name="read_section",
    title="Read a section",
    toolset="reading",
    description="Extract specific section from document without loading entire file into context",
    arguments=ReadSectionArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_text_names,
    build_error_fields=build_missing_section_fields,
)
