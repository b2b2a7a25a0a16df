"""smart_read: returns a short file in full, and a summary with the names of all sections of a long one."""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tools.arguments import (
    MAX_BUDGET_TOKENS,
    MIN_BUDGET_TOKENS,
    Budget,
    Integer,
    InvalidArguments,
    Natural,
    ReadingArguments,
    read_arguments,
)
from tools.pages import count_fitting_entries, shorten_title
from tools.read_context import ReadContext
from tools.reading.texts import (
    build_error_marker,
    correct_text_names,
    get_section_name,
)
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.reading.texts import OpenedText
    from tools.tool import CallArguments, Context
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot
    from workspace.texts.summaries.summary import Summary

DEFAULT_THRESHOLD_TOKENS = 10_000
MAX_ADDRESSES_LISTED = 500


class SmartReadArguments(ReadingArguments):
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
    ref: str | None = None
    threshold: Integer = Field(
        DEFAULT_THRESHOLD_TOKENS, description="Tokens from which auto summarizes", ge=1
    )
    budget: Budget | None = Field(None, description="Tokens that a summary may have")
    offset: Natural | None = Field(None, description="Character to continue from in a long text")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "auto": "Call with {file_path, ref?, threshold?}: the text if it is shorter than threshold, else a "
        "summary",
        "summary": 'Call with {file_path, mode: "summary", summary_style?, budget?}; summary_style is '
        f"structured, outline or lead, budget {MIN_BUDGET_TOKENS} to {MAX_BUDGET_TOKENS:,} tokens",
        "full": 'Call with {file_path, mode: "full", offset?}; offset is that of a truncated answer',
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    example = select_example_arguments(arguments, ("file_path", "mode", "summary_style", "ref"))
    for field in ("mode", "summary_style"):
        if not example.get(field):
            example.pop(field, None)
    return {"file_path": "guides/retries.md", **example}


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    if error.code == "UNKNOWN_STYLE":
        example = {**example, "summary_style": "structured"}
    return correct_text_names(example, error, snapshot)


def _run(context: Context, arguments: CallArguments) -> Answer:
    from tools.reading.texts import open_text
    from workspace.texts.summaries.summary import check_style
    from workspace.texts.tokens import count_tokens, get_tokenizer

    request = read_arguments(SmartReadArguments, arguments)
    check_style(request.summary_style)
    if request.offset is not None and request.mode == "summary":
        raise InvalidArguments(
            "'offset' cannot be combined with mode: \"summary\"",
            fix="Omit 'offset', or send mode: \"full\".",
            field="offset",
        )
    read_context = ReadContext.at(context, request.ref)
    opened_text = open_text(context.workspace.moves, read_context.snapshot, request.file_path)
    if opened_text.entry is not None and opened_text.moved_to is None:
        path, address = opened_text.text.path, get_section_name(opened_text.entry)
        section = read_context.call("read_section", file_path=path, section_heading=address)
        raise InvalidArguments(
            "'file_path' must be the path of a file, without a section",
            fix=f"Read the section with {section}, or omit the # and the text after it.",
            field="file_path",
        )
    tokens = count_tokens(opened_text.text.text())
    is_full = request.mode == "full" or request.offset is not None
    if is_full or (request.mode == "auto" and tokens < request.threshold):
        data = _read_full(read_context, opened_text, request.offset or 0, tokens)
    else:
        data = _read_summary(opened_text, request, context.text_tokens)
    # For a moved section the complete file was read, so the answer names no section.
    return opened_text._replace(entry=None).build_answer(read_context, data | {"tokenizer": get_tokenizer()})


def _read_full(read_context: ReadContext, opened_text: OpenedText, offset: int, tokens: int) -> Data:
    """Return the text from `offset`, up to the limit of an answer; `tokens` is the size of the full text."""
    from tools.pages import cut_part
    from workspace.texts.tokens import count_tokens

    text, outline, _, _ = opened_text
    if offset and offset >= len(text.text()):
        raise InvalidArguments(
            "'offset' is after the end of the file",
            fix="Omit 'offset' to read from the beginning.",
            field="offset",
        )
    limit = read_context.context.text_tokens
    part = cut_part(text, outline.entries, 0, len(text.data), offset, tokens=limit)
    is_complete = part.next_offset is None and not offset
    data: Data = {
        "content": part.text,
        "type": "full",
        "tokens": tokens if is_complete else count_tokens(part.text),
        "path": text.path,
    }
    if not is_complete:
        data["original_tokens"] = tokens
    opened_text.record_seen_sections(read_context.context, part)
    if part.next_offset is not None:
        rest_call = read_context.build_continuation_call(
            "smart_read", file_path=text.path, mode="full", offset=part.next_offset
        )
        step = NextStep("Read the rest with ", rest_call)
        return {**data, "truncated": True, "offset": part.next_offset, "next_step": step}
    return data


def _read_summary(opened_text: OpenedText, request: SmartReadArguments, max_tokens: int) -> Data:
    from workspace.texts.summaries import wording
    from workspace.texts.summaries.summary import summarize
    from workspace.texts.tokens import count_tokens

    text, outline, _, _ = opened_text
    make_summary = partial(summarize, text, outline, style=request.summary_style, count_tokens=count_tokens)
    summary = make_summary(budget=request.budget)
    if summary.tokens > max_tokens:
        summary = make_summary(budget=max_tokens)
    title = text.document.title if text.document is not None and text.document.has_title else ""
    included_counts, excluded_counts = wording.measure_coverage(summary)
    return {
        "_preamble": wording.format_preamble(text, summary, shorten_title(title)),
        "content": summary.content,
        "type": "summary",
        "style": summary.style,
        "original_tokens": summary.original_tokens,
        "summary_tokens": summary.tokens,
        "reduction_factor": round(summary.original_tokens / max(summary.tokens, 1), 2),
        "sections": _describe_named_sections(summary, max_tokens),
        "coverage": {
            "included": included_counts,
            "excluded": excluded_counts,
            "completeness_score": summary.completeness,
        },
        "original": {
            "path": text.path,
            "filename": PurePosixPath(text.path).name,
            "size_bytes": len(text.data),
            "size_tokens": summary.original_tokens,
        },
        "confidence": {
            "completeness": wording.compute_completeness(summary),
            "recommended_for": wording.list_recommended_uses(summary),
            "not_recommended_for": wording.list_discouraged_uses(summary),
        },
        "budget": summary.budget,
    }


def _describe_named_sections(summary: Summary, max_tokens: int) -> Data:
    """Return the addresses of the sections that the summary names, up to a maximum."""
    headers = [get_section_name(entry) for entry in summary.named_entries[:MAX_ADDRESSES_LISTED]]
    headers = headers[: count_fitting_entries(headers, max_tokens // 2)]
    named_count = len(summary.named_entries)
    if named_count == summary.section_count:
        note = "Every section is named in 'content'; give an address to read_section as section_heading"
    else:
        note = (
            f"'content' names {named_count:,} of {summary.section_count:,} sections, the shallowest first, "
            "because the budget is too small for more; list_sections lists all of them"
        )
    if len(headers) < named_count:
        note += f". These are the first {len(headers):,} of its {named_count:,} addresses"
    return {"count": summary.section_count, "headers": headers, "note": note}


TOOL = Tool(
    name="smart_read",
    title="Read a file or its summary",
    toolset="reading",
    description="Smart file reader with automatic summarization for large files",
    arguments=SmartReadArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=_correct_example,
    build_error_fields=build_error_marker,
)
