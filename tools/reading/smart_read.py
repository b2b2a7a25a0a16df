"""smart_read: a file in full where it is short, else a summary that names every section of it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tools.answers import Answer, Data, call
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
from tools.reading.errors import marked_as_error, with_text
from tools.tool import Tool
from tools.writing import arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.context import Context
    from tools.reading.opening import Opened
    from tools.tool import Given
    from workspace.errors import WorkspaceError
    from workspace.snapshot import Snapshot
    from workspace.summaries.summary import Summary

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
    return with_text(example, error, snapshot)


def _run(context: Context, given: Given) -> Answer:
    from tools.reading.opening import open_text
    from workspace.summaries.summary import check_style
    from workspace.texts.tokens import count_tokens, tokenizer

    asked = read(SmartReadArguments, given)
    check_style(asked.summary_style)
    if asked.offset is not None and asked.mode == "summary":
        raise InvalidArguments(
            "'offset' goes on in a full text, and a summary is asked for",
            fix="Leave out 'offset', or send mode: \"full\".",
            field="offset",
        )
    snapshot = context.snapshot(asked.ref)
    opened = open_text(context, snapshot, asked.file_path)
    if opened.entry is not None and opened.moved_to is None:
        section = call("read_section", file_path=opened.text.path, section_heading=opened.entry.address)
        raise InvalidArguments(
            "'file_path' names a section, and files are read here",
            fix=f"Read the section with {section}, or leave out what follows the #.",
            field="file_path",
        )
    tokens = count_tokens(opened.text.text())
    is_full = asked.mode == "full" or asked.offset is not None
    if is_full or (asked.mode == "auto" and tokens < asked.threshold):
        data = _full(context, opened, asked, tokens)
    else:
        data = _summary(context, opened, asked)
    step = data.pop("next_step")
    data |= {"tokenizer": tokenizer(), "commit": snapshot.commit}
    if asked.ref:
        data["ref"] = asked.ref
    if opened.moved_to is not None:
        data["moved_to"] = opened.moved_to
        step = f"Use '{opened.text.path}' from now on, where this has moved. {step}"
    return Answer({**data, "next_step": step})


def _full(context: Context, opened: Opened, asked: SmartReadArguments, tokens: int) -> Data:
    """The text, or as much of it as one answer takes; `tokens` are those of what is shown."""
    from tools.reading.parts import part_of
    from workspace.texts.tokens import count_tokens

    text, outline, _, _ = opened
    offset = asked.offset or 0
    if offset and offset >= len(text.text()):
        raise InvalidArguments(
            "'offset' is behind the end of the file",
            fix="Leave out 'offset' to read from the beginning.",
            field="offset",
        )
    part = part_of(text, outline, 0, len(text.data), offset)
    is_whole = part.rest is None and not offset
    data: Data = {
        "content": part.text,
        "type": "full",
        "tokens": tokens if is_whole else count_tokens(part.text),
        "path": text.path,
    }
    if not is_whole:
        data["original_tokens"] = tokens
    if text.document is not None:
        sections = (text.document.section_by_key(entry.address) for entry in part.whole)
        context.shows(text.document, [section for section in sections if section is not None])
    if part.rest is not None:
        rest = call("smart_read", file_path=text.path, mode="full", **_at(asked), offset=part.rest)
        return {**data, "truncated": True, "offset": part.rest, "next_step": f"Read the rest with {rest}"}
    return {**data, "next_step": _after_full(context, opened, asked)}


def _after_full(context: Context, opened: Opened, asked: SmartReadArguments) -> str:
    text, outline, _, _ = opened
    if text.document is not None and not asked.ref and context.offers("edit_document") and outline.entries:
        slug = outline.entries[-1].address
        change = call("edit_document", operation="append_content", file=text.path, slug=slug, content="…")
        return f"Add to it: {change}"
    listed = call("list_sections", file_path=text.path, **_at(asked))
    return f"See the addresses of its sections with {listed}"


def _summary(context: Context, opened: Opened, asked: SmartReadArguments) -> Data:
    from workspace.summaries import wording
    from workspace.summaries.summary import summarize
    from workspace.texts.tokens import count_tokens

    text, outline, _, _ = opened
    summary = summarize(text, outline, style=asked.summary_style, budget=asked.budget, count=count_tokens)
    title = text.document.title if text.document is not None and text.document.has_title else ""
    included, excluded = wording.coverage(summary)
    return {
        "_preamble": wording.preamble(text, summary, title),
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
            "completeness": wording.confidence(summary),
            "recommended_for": wording.recommended_for(summary),
            "not_recommended_for": wording.not_recommended_for(summary),
        },
        "budget": summary.budget,
        "next_step": _after_summary(opened, summary, asked),
    }


def _sections(summary: Summary) -> Data:
    """The addresses of the sections that the summary names, so many as an answer takes."""
    headers = [entry.address for entry in summary.named[:MAX_HEADERS]]
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


def _after_summary(opened: Opened, summary: Summary, asked: SmartReadArguments) -> str:
    """The call for the longest section: most of what the summary leaves out stands there."""
    text, outline, _, _ = opened
    if len(outline.entries) == 1:
        whole = call("smart_read", file_path=text.path, mode="full", **_at(asked))
        return f"Read it in full with {whole}"
    longest = max(summary.named or outline.entries, key=lambda entry: entry.end - entry.start)
    section = call("read_section", file_path=text.path, section_heading=longest.address, **_at(asked))
    return f"Read the section that you need, such as the longest: {section}"


def _at(asked: SmartReadArguments) -> dict[str, str]:
    return {"ref": asked.ref} if asked.ref else {}


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
    shape_error=marked_as_error,
)
