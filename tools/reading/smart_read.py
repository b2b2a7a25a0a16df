"""smart_read: a file in full where it is short, else a summary that names every section of it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tools.arguments import (
    LEAST_BUDGET,
    MOST_BUDGET,
    REF,
    Arguments,
    Budget,
    Integer,
    InvalidArguments,
    Natural,
    read,
)
from tools.pages import shorten_title
from tools.read_context import ReadContext
from tools.reading.texts import MAX_ADDRESS, error_marker, section_name, with_existing_text
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.reading.texts import OpenedText
    from tools.tool import Context, Given
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot
    from workspace.texts.summaries.summary import Summary

THRESHOLD = 10_000
MAX_HEADERS = 500


class SmartReadArguments(Arguments):
    """The input of smart_read."""

    file_path: str = Field(description="Path to file to read")
    mode: Literal["auto", "summary", "full"] = Field(
        "auto",
        description="Reading mode: auto (summarize if >10K tokens), summary (always summarize), full (never "
        "summarize)",
    )
    summary_style: str = Field(
        "structured",
        description="Summary generation style (default: structured); outline: headings with sizes; lead: "
        "first sentences",
    )
    ref: str | None = Field(None, description=REF)
    threshold: Integer = Field(THRESHOLD, description="Tokens from which auto summarizes", ge=1)
    budget: Budget | None = Field(None, description="Tokens that a summary may have")
    offset: Natural | None = Field(None, description="Character to go on from in a long text")


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "auto": "Call with {file_path, ref?, threshold?}: the text if it is shorter than threshold, else a "
        "summary",
        "summary": 'Call with {file_path, mode: "summary", summary_style?, budget?}; summary_style is '
        f"structured, outline or lead, budget {LEAST_BUDGET} to {MOST_BUDGET:,} tokens",
        "full": 'Call with {file_path, mode: "full", offset?}; offset is that of a truncated answer',
    }


def _example(given: Given) -> dict[str, Any]:
    example = arguments_of(given, ("file_path", "mode", "summary_style", "ref"))
    for field in ("mode", "summary_style"):
        if not example.get(field):
            example.pop(field, None)
    return {"file_path": "guides/retries.md", **example}


def _correct(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    if error.code == "UNKNOWN_STYLE":
        example = {**example, "summary_style": "structured"}
    return with_existing_text(example, error, snapshot)


def _run(context: Context, given: Given) -> Answer:
    from tools.reading.texts import open_text
    from workspace.texts.summaries.summary import check_style
    from workspace.texts.tokens import count_tokens, get_tokenizer

    asked = read(SmartReadArguments, given)
    check_style(asked.summary_style)
    if asked.offset is not None and asked.mode == "summary":
        raise InvalidArguments(
            "'offset' goes on in a full text, and a summary is asked for",
            fix="Leave out 'offset', or send mode: \"full\".",
            field="offset",
        )
    place = ReadContext.at(context, asked.ref)
    opened = open_text(context.workspace.moves, place.snapshot, asked.file_path)
    if opened.entry is not None and opened.moved_to is None:
        path, address = opened.text.path, section_name(opened.entry)
        section = place.call("read_section", file_path=path, section_heading=address)
        raise InvalidArguments(
            "'file_path' names a section, and files are read here",
            fix=f"Read the section with {section}, or leave out what follows the #.",
            field="file_path",
        )
    tokens = count_tokens(opened.text.text())
    is_full = asked.mode == "full" or asked.offset is not None
    if is_full or (asked.mode == "auto" and tokens < asked.threshold):
        data, step = _full(place, opened, asked.offset or 0, tokens)
    else:
        data, step = _summary(place, opened, asked)
    # Where a section was named that has moved, what was read is all of its file.
    return opened._replace(entry=None).answer(place, data | {"tokenizer": get_tokenizer()}, step)


def _full(place: ReadContext, opened: OpenedText, offset: int, tokens: int) -> tuple[Data, NextStep]:
    """Return the text from a character on, as much of it as one answer takes, and the next step.

    `tokens` are those of all of it.
    """
    from tools.pages import cut_part
    from workspace.texts.tokens import count_tokens

    text, outline, _, _ = opened
    if offset and offset >= len(text.text()):
        raise InvalidArguments(
            "'offset' is behind the end of the file",
            fix="Leave out 'offset' to read from the beginning.",
            field="offset",
        )
    limit = place.context.text_tokens
    part = cut_part(text, outline.entries, 0, len(text.data), offset, tokens=limit)
    is_whole = part.rest is None and not offset
    data: Data = {
        "content": part.text,
        "type": "full",
        "tokens": tokens if is_whole else count_tokens(part.text),
        "path": text.path,
    }
    if not is_whole:
        data["original_tokens"] = tokens
    opened.shows(place.context, part)
    if part.rest is not None:
        rest = place.rest("smart_read", file_path=text.path, mode="full", offset=part.rest)
        return {**data, "truncated": True, "offset": part.rest}, NextStep("Read the rest with ", rest)
    return data, _after_full(place, opened)


def _after_full(place: ReadContext, opened: OpenedText) -> NextStep:
    text, outline, _, _ = opened
    slug = outline.entries[-1].address if outline.entries else ""
    if text.document is not None and place.writes("edit_document") and 0 < len(slug) <= MAX_ADDRESS:
        change = place.change(
            "edit_document", operation="append_content", file=text.path, slug=slug, content="…"
        )
        return NextStep("Add to it: ", change)
    listed = place.call("list_sections", file_path=text.path)
    return NextStep("See the addresses of its sections with ", listed)


def _summary(place: ReadContext, opened: OpenedText, asked: SmartReadArguments) -> tuple[Data, NextStep]:
    from workspace.texts.summaries import wording
    from workspace.texts.summaries.summary import summarize
    from workspace.texts.tokens import count_tokens

    text, outline, _, _ = opened
    summary = summarize(text, outline, style=asked.summary_style, budget=asked.budget, count=count_tokens)
    title = text.document.title if text.document is not None and text.document.has_title else ""
    included, excluded = wording.measure_coverage(summary)
    data: Data = {
        "_preamble": wording.format_preamble(text, summary, shorten_title(title)),
        "content": summary.content,
        "type": "summary",
        "style": summary.style,
        "original_tokens": summary.original_tokens,
        "summary_tokens": summary.tokens,
        "reduction_factor": round(summary.original_tokens / max(summary.tokens, 1), 2),
        "sections": _sections(summary),
        "coverage": {
            "included": included,
            "excluded": excluded,
            "completeness_score": summary.completeness,
        },
        "original": {
            "path": text.path,
            "filename": PurePosixPath(text.path).name,
            "size_bytes": len(text.data),
            "size_tokens": summary.original_tokens,
        },
        "confidence": {
            "completeness": wording.estimate_confidence(summary),
            "recommended_for": wording.list_recommended_uses(summary),
            "not_recommended_for": wording.list_discouraged_uses(summary),
        },
        "budget": summary.budget,
    }
    return data, _after_summary(place, opened, summary)


def _sections(summary: Summary) -> Data:
    """Return the addresses of the sections that the summary names, so many as an answer takes."""
    headers = [section_name(entry) for entry in summary.named[:MAX_HEADERS]]
    named = len(summary.named)
    if named == summary.sections:
        note = "Every section is named in 'content'; give an address to read_section as section_heading"
    else:
        note = (
            f"{named:,} of {summary.sections:,} sections are named in 'content', the shallowest first: the "
            "budget is too small for more; list_sections has them all"
        )
    if len(headers) < named:
        note += f". These are the first {len(headers):,} addresses; 'content' has {named:,}"
    return {"count": summary.sections, "headers": headers, "note": note}


def _after_summary(place: ReadContext, opened: OpenedText, summary: Summary) -> NextStep:
    """Return the call for the longest section: most of what the summary leaves out stands there."""
    text, outline, _, _ = opened
    if len(outline.entries) == 1:
        whole = place.call("smart_read", file_path=text.path, mode="full")
        return NextStep("Read it in full with ", whole)
    longest = max(summary.named or outline.entries, key=lambda entry: entry.end - entry.start)
    section = place.call("read_section", file_path=text.path, section_heading=section_name(longest))
    return NextStep("Read the section that you need, such as the longest: ", section)


TOOL = Tool(
    name="smart_read",
    title="Read a file or its summary",
    toolset="reading",
    description="Smart file reader with automatic summarization for large files",
    arguments=SmartReadArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct,
    shape_error=error_marker,
)
