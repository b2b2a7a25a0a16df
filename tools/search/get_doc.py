"""get_doc: returns a chunk by its id, with its neighbours in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import Integer, InvalidArguments, Natural, ReadingArguments, read_arguments
from tools.examples import correct_chunk
from tools.pages import CHARACTERS_PER_TOKEN, count_fitting_characters
from tools.read_context import ReadContext
from tools.search.minimum_commit import read_at_least
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from index.passages import Passage, PassageChunk
    from tools.tool import CallArguments, Context
    from workspace.errors import WorkspaceError

MAX_CONTEXT_CHUNKS = 5
_REST_CALL_CHARACTERS = 200  # of the call that reads the rest, without the id of the chunk
_OFFSET_NOTE_CHARACTERS = 40
_MIN_CHUNK_CHARACTERS = 100  # the minimum for each chunk, even with a small limit
_MIN_CHUNK_TOKENS = 100  # a neighbour that would get fewer is left out
_MIN_TOKENS_FOR_CALLS = 400  # with fewer, only the offset of the rest is named
_MAX_ATTEMPTS = 5


class GetDocArguments(ReadingArguments):
    """The input of get_doc."""

    chunk_id: str = Field(
        description="The exact ID of the chunk to retrieve, as returned by search_docs "
        "(e.g., 'guides/retries.md#backoff-strategy')."
    )
    context: Integer = Field(
        0,
        description="Number of adjacent chunks to include before and after the target chunk. Default is 0. "
        "Use this to read the surrounding file context.",
        ge=0,
        le=MAX_CONTEXT_CHUNKS,
    )
    ref: str | None = None
    min_commit: str | None = None
    offset: Natural | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "chunk": f"Call with {{chunk_id, context?}}; context is 0 to {MAX_CONTEXT_CHUNKS}",
        "rest": "Add the offset of a truncated answer for the next part of the chunk",
        "ref": "Add ref to read a branch, tag, commit or @{date} instead of the tip",
        "min_commit": "Add min_commit, the commit of a write's answer, to read that commit or a later one",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "chunk_id": "guides/retries.md#backoff-strategy",
        **select_example_arguments(arguments, ("chunk_id", "ref")),
        "context": 1,
    }


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(GetDocArguments, arguments)

    def read() -> tuple[tuple[ReadContext, Passage], str | None]:
        read_context = ReadContext.at(context, request.ref)
        passage = context.index.read_passage(request.chunk_id, request.context, ref=request.ref)
        return (read_context, passage), passage.commit

    (read_context, passage), lag = read_at_least(context, request.min_commit, request.ref, read)
    requested_count = len(passage.chunks)
    if request.offset:
        passage = _cut_target(passage, request.offset, request.context)
    passage = _shorten_to_tokens(_drop_neighbours(passage, context.text_tokens), context.text_tokens)
    has_short_notes = context.text_tokens < _MIN_TOKENS_FOR_CALLS
    text = passage.text(
        lambda chunk: (
            _describe_rest(chunk) if has_short_notes else _build_rest_step(read_context, chunk).text()
        )
    )
    data: Data = {
        "chunks": [_describe_chunk(chunk) for chunk in passage.chunks],
        "commit": passage.commit,
        **lag,
    }
    if left_out_count := requested_count - len(passage.chunks):
        data["hints"] = [f"{left_out_count} adjacent chunks are left out, because the answer is full"]
    steps: list[NextStep] = []
    if passage.move is not None:
        data["moved_to"] = {"chunk_id": passage.target.chunk_id, "commit": passage.move.commit}
        steps.append(NextStep(f"Use '{passage.target.chunk_id}' from now on: it was moved"))
    if cut_chunk := next((chunk for chunk in (passage.target, *passage.chunks) if chunk.is_cut), None):
        data["truncated"] = True
        steps.append(
            NextStep(_describe_rest(cut_chunk))
            if has_short_notes
            else _build_rest_step(read_context, cut_chunk)
        )
    if passage.target.is_cut:
        data["offset"] = passage.target.end
    if steps:
        data["next_step"] = NextStep(steps[0], *(part for step in steps[1:] for part in (". ", step)))
    if context.seen_texts is not None:
        _record_shown_chunks(read_context, passage)
    return Answer(data, text=text)


def _cut_target(passage: Passage, offset: int, context: int) -> Passage:
    """Return the target without its neighbours, from a character. Raises InvalidArguments."""
    if context:
        raise InvalidArguments(
            "'offset' and 'context' cannot be combined",
            fix="Omit 'context' to continue, or 'offset' to read from the beginning.",
            field="context",
        )
    if offset >= passage.target.size:
        raise InvalidArguments(
            f"'offset' is after the end of the chunk, which has {passage.target.size:,} characters",
            fix="Omit 'offset' to read from the beginning.",
            field="offset",
        )
    return passage.continue_from(offset)


def _drop_neighbours(passage: Passage, tokens: int) -> Passage:
    """Return a passage with its nearest chunks, as many as can each have a minimum of tokens."""
    distances = sorted(abs(chunk.relative_position) for chunk in passage.chunks)
    count = max(tokens // _MIN_CHUNK_TOKENS, 1)
    if count >= len(distances):
        return passage
    max_distance = distances[count] - 1
    chunks = (chunk for chunk in passage.chunks if abs(chunk.relative_position) <= max_distance)
    return replace(passage, chunks=tuple(chunks))


def _shorten_to_tokens(passage: Passage, tokens: int) -> Passage:
    """Return a passage shortened to a number of tokens, delimiters and notes included."""
    text = passage.text()
    limit = count_fitting_characters(text, 0, tokens)
    if limit == len(text):
        return passage
    from workspace.texts.tokens import count_tokens

    overhead = sum(_estimate_overhead(chunk, tokens) for chunk in passage.chunks)
    minimum = len(passage.chunks) * min(_MIN_CHUNK_CHARACTERS, tokens)
    for _ in range(_MAX_ATTEMPTS):
        short_passage = passage.shorten(max(limit - overhead, minimum))
        count = count_tokens(short_passage.text()) + overhead // CHARACTERS_PER_TOKEN
        if count <= tokens or limit - overhead <= minimum:
            break
        limit = limit * tokens // count
    return short_passage


def _describe_chunk(chunk: PassageChunk) -> Data:
    data: Data = {
        "chunk_id": chunk.chunk_id,
        "position": chunk.position,
        "total": chunk.total,
        "offset": chunk.relative_position,
        "text": chunk.text,
    }
    if chunk.start:
        data["start"] = chunk.start
    return {**data, "truncated": True} if chunk.is_cut else data


def _estimate_overhead(chunk: PassageChunk, tokens: int) -> int:
    """Return an estimate of the characters of the call that reads the rest of a chunk."""
    return (
        _OFFSET_NOTE_CHARACTERS
        if tokens < _MIN_TOKENS_FOR_CALLS
        else len(chunk.chunk_id) + _REST_CALL_CHARACTERS
    )


def _record_shown_chunks(read_context: ReadContext, passage: Passage) -> None:
    """Record the chunks that the answer shows in full."""
    document = read_context.snapshot.document(passage.target.path)
    sections = [
        document.section_by_key(chunk.key) for chunk in passage.chunks if not (chunk.is_cut or chunk.start)
    ]
    read_context.context.record_seen_sections(
        document, [section for section in sections if section is not None]
    )


def _describe_rest(chunk: PassageChunk) -> str:
    """Return the next step for a short answer, which has no space for a call."""
    return f"Read the rest with offset {chunk.end}"


def _build_rest_step(read_context: ReadContext, chunk: PassageChunk) -> NextStep:
    """Return the next step that reads the rest of a truncated chunk, at the same commit."""
    return NextStep(
        "Read the rest with ",
        read_context.build_continuation_call("get_doc", chunk_id=chunk.chunk_id, offset=chunk.end),
    )


def _format_error(error: WorkspaceError) -> str:
    """Return the error as plain text, as the contract requires; a complete sentence stays unchanged."""
    if error.message.endswith("."):
        return error.message
    return f"{error.message[:1].upper()}{error.message[1:]}. {error.fix}".strip()


TOOL = Tool(
    name="get_doc",
    title="Get a documentation chunk",
    toolset="search",
    description="Retrieve the full content of a specific documentation chunk using its chunk_id. You can "
    "optionally request surrounding context within the same file.",
    arguments=GetDocArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_chunk,
    error_text=_format_error,
)
