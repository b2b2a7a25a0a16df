"""list_sections: lists the sections of a file, as addresses for read_section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import Integer, ReadingArguments, read_arguments
from tools.pages import count_fitting_entries, shorten_title
from tools.read_context import ReadContext
from tools.reading.texts import build_error_marker, correct_text_names, get_section_name
from tools.tool import Answer, Data, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context
    from workspace.texts.headings import OutlineEntry
    from workspace.texts.text_file import TextFile

MAX_SECTIONS_LISTED = 500


class ListSectionsArguments(ReadingArguments):
    """The input of list_sections."""

    file_path: str = Field(description="Path to file")
    ref: str | None = None
    limit: Integer = Field(MAX_SECTIONS_LISTED, description="Sections to list", ge=1, le=MAX_SECTIONS_LISTED)
    cursor: str | None = Field(None, description="Next page: the cursor of the last answer")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "sections": f"Call with {{file_path, ref?, limit?}}; limit is 1 to {MAX_SECTIONS_LISTED}",
        "page": "Call with the cursor of an answer and the same other fields for the next page",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"file_path": "guides/retries.md", **select_example_arguments(arguments, ("file_path", "ref"))}


def _run(context: Context, arguments: CallArguments) -> Answer:
    from tools.pages import read_list_cursor, write_list_cursor
    from tools.reading.texts import open_text
    from workspace.texts.tokens import get_tokenizer

    request = read_arguments(ListSectionsArguments, arguments)
    read_context = ReadContext.at(context, request.ref)
    opened_text = open_text(context.workspace.moves, read_context.snapshot, request.file_path)
    text, outline, entry, _ = opened_text
    entries = outline.entries if entry is None else (entry, *outline.descendants(entry))
    criteria = ["sections", text.path, entry.address if entry else None]
    first_index = (
        int(read_list_cursor(context.signing_keys, request.cursor, text.blob, criteria))
        if request.cursor
        else 0
    )
    page = entries[first_index : first_index + request.limit]
    described_entries = [_describe_entry(text, item) for item in page]
    # The address of an entry is in the answer twice.
    count = count_fitting_entries(
        ([item, item["address"]] for item in described_entries), context.text_tokens
    )
    page, described_entries = page[:count], described_entries[:count]
    next_index = first_index + len(page)
    data: Data = {
        "sections": [get_section_name(item) for item in page],
        "count": len(entries),
        "type": "toc",
        "path": text.path,
        "note": _format_note(len(entries), first_index, next_index),
        "outline": described_entries,
        "tokenizer": get_tokenizer(),
    }
    if next_index < len(entries):
        data["cursor"] = write_list_cursor(context.signing_keys, str(next_index), text.blob, criteria)
    return opened_text.build_answer(read_context, data)


def _describe_entry(text: TextFile, entry: OutlineEntry) -> Data:
    """Return an entry of the outline; `tokens` counts the text that read_section returns for it."""
    from workspace.texts.tokens import count_tokens

    return {
        "address": get_section_name(entry),
        "title": shorten_title(entry.title),
        "level": max(entry.level, 1),
        "number": entry.number,
        "tokens": count_tokens(text.text(entry.start, entry.tree_end)),
        "lines": [entry.first_line, entry.end_line],
    }


def _format_note(count: int, first_index: int, next_index: int) -> str:
    note = "Give one of 'sections' to read_section as section_heading; a section includes its subsections"
    if next_index - first_index < count:
        return f"{note}. These are {first_index + 1:,} to {next_index:,} of {count:,}"
    return note


TOOL = Tool(
    name="list_sections",
    title="List the sections of a file",
    toolset="reading",
    description="Get table of contents for document",
    arguments=ListSectionsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_text_names,
    build_error_fields=build_error_marker,
)
