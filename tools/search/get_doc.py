"""get_doc: a chunk by its id, with its neighbours in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import REF, Arguments, Integer, InvalidArguments, Natural, read
from tools.examples import with_chunk
from tools.pages import CHARACTERS_PER_TOKEN, count_fitting
from tools.read_context import ReadContext
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from index.passages import Passage, PassageChunk
    from tools.tool import Context, Given
    from workspace.errors import WorkspaceError

MAX_CONTEXT = 5
_SAID = 300
_LEAST_SHOWN = 100  # characters of each chunk, however small the limit is
_MEASUREMENTS = 5


class GetDocArguments(Arguments):
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
        le=MAX_CONTEXT,
    )
    ref: str | None = Field(None, description=REF)
    offset: Natural | None = Field(None, description="Character to go on from")


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "chunk": f"Call with {{chunk_id, context?}}; context is 0 to {MAX_CONTEXT}",
        "rest": "Add the offset of an answer that was cut for what follows in the chunk",
        "ref": "Add ref to read a branch, tag, commit or @{date} instead of the tip",
    }


def _example(given: Given) -> dict[str, Any]:
    return {
        "chunk_id": "guides/retries.md#backoff-strategy",
        **arguments_of(given, ("chunk_id", "ref")),
        "context": 1,
    }


def _run(context: Context, given: Given) -> Answer:
    asked = read(GetDocArguments, given)
    place = ReadContext.at(context, asked.ref)
    passage = context.index.get(asked.chunk_id, asked.context, ref=asked.ref)
    if asked.offset:
        passage = _continue_target(passage, asked.offset, asked.context)
    passage = _fit_within(passage, context.text_tokens)
    text = passage.text(lambda chunk: _rest(place, chunk).text())
    data: Data = {
        "chunks": [_describe_chunk(chunk) for chunk in passage.chunks],
        "commit": passage.commit,
        "next_step": _next_step(place, passage),
    }
    if passage.moved is not None:
        data["moved_to"] = {"chunk_id": passage.target.chunk_id, "commit": passage.moved.commit}
    if any(chunk.is_cut for chunk in passage.chunks):
        data["truncated"] = True
    if passage.target.is_cut:
        data["offset"] = passage.target.end
    if context.sight is not None:
        _remember(place, passage)
    return Answer(data, text=text)


def _continue_target(passage: Passage, offset: int, context: int) -> Passage:
    """Return the target alone from a character on. Raises InvalidArguments."""
    if context:
        raise InvalidArguments(
            "'offset' goes on within one chunk, and 'context' asks for its neighbours",
            fix="Leave out 'context' to read on, or 'offset' to read from the beginning.",
            field="context",
        )
    if offset >= passage.target.size:
        raise InvalidArguments(
            f"'offset' is behind the end of the chunk, which has {passage.target.size:,} characters",
            fix="Leave out 'offset' to read from the beginning.",
            field="offset",
        )
    return passage.continue_from(offset)


def _fit_within(passage: Passage, tokens: int) -> Passage:
    """Return as much of a passage as has at most so many tokens, with what is written around its chunks."""
    text = passage.text()
    most = count_fitting(text, 0, tokens)
    if most == len(text):
        return passage
    from workspace.texts.tokens import count_tokens

    overhead = sum(_overhead(chunk) for chunk in passage.chunks)
    least = len(passage.chunks) * _LEAST_SHOWN
    for _ in range(_MEASUREMENTS):
        shorter = passage.shorten(max(most - overhead, least))
        found = count_tokens(shorter.text()) + overhead // CHARACTERS_PER_TOKEN
        if found <= tokens or most - overhead <= least:
            break
        most = most * tokens // found
    return shorter


def _describe_chunk(chunk: PassageChunk) -> Data:
    data: Data = {
        "chunk_id": chunk.chunk_id,
        "position": chunk.position,
        "total": chunk.total,
        "offset": chunk.offset,
        "text": chunk.text,
    }
    if chunk.start:
        data["start"] = chunk.start
    return {**data, "truncated": True} if chunk.is_cut else data


def _overhead(chunk: PassageChunk) -> int:
    """Return the minimal number of characters of a chunk's delimiter and its truncation note."""
    return 2 * len(chunk.chunk_id) + _SAID


def _remember(place: ReadContext, passage: Passage) -> None:
    """Remember the chunks that were shown in full."""
    document = place.snapshot.document(passage.target.path)
    whole = [
        document.section_by_key(chunk.key) for chunk in passage.chunks if not (chunk.is_cut or chunk.start)
    ]
    place.context.shows(document, [section for section in whole if section is not None])


def _rest(place: ReadContext, chunk: PassageChunk) -> NextStep:
    """Return how to read the rest of a chunk that was cut, from the commit that was read."""
    return NextStep("Read the rest with ", place.rest("get_doc", chunk_id=chunk.chunk_id, offset=chunk.end))


def _next_step(place: ReadContext, passage: Passage) -> NextStep:
    step = _following_call(place, passage)
    if passage.moved is None:
        return step
    return NextStep(f"Use '{passage.target.chunk_id}' from now on, where this has moved. ", step)


def _following_call(place: ReadContext, passage: Passage) -> NextStep:
    target, last = passage.target, passage.chunks[-1]
    cut = next((chunk for chunk in (target, *passage.chunks) if chunk.is_cut), None)
    if cut is not None:
        return _rest(place, cut)
    if last.position < last.total and last.offset < MAX_CONTEXT:
        wider = place.call("get_doc", chunk_id=target.chunk_id, context=last.offset + 1)
        return NextStep("Read more around it with ", wider)
    if last.position < last.total:
        return NextStep("Read on with ", place.call("get_doc", chunk_id=last.chunk_id, context=MAX_CONTEXT))
    if place.context.offers("view_document"):
        return NextStep("See what else is in the file with ", place.call("view_document", file=target.path))
    return NextStep("Search for more with search_docs: this is the end of the file")


def _error_text(error: WorkspaceError) -> str:
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
    correct=with_chunk,
    error_text=_error_text,
)
