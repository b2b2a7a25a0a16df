"""get_doc: a chunk by its id, with its neighbours in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.answers import Answer, Data, call
from tools.arguments import Arguments, Integer, read
from tools.examples import with_chunk
from tools.reading import MAX_TEXT
from tools.tool import Tool
from tools.writing import arguments_of
from workspace.addresses import PREAMBLE, split_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from index.passages import Passage
    from tools.context import Context
    from tools.tool import Given
    from workspace.errors import WorkspaceError

MAX_CONTEXT = 5


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


def _usage(given: Given) -> Mapping[str, object]:
    return {"chunk": f"Call with {{chunk_id, context?}}; context is 0 to {MAX_CONTEXT}"}


def _example(given: Given) -> dict[str, Any]:
    return {
        "chunk_id": "guides/retries.md#backoff-strategy",
        **arguments_of(given, ("chunk_id",)),
        "context": 1,
    }


def _run(context: Context, given: Given) -> Answer:
    asked = read(GetDocArguments, given)
    passage = context.index.get(asked.chunk_id, asked.context)
    chunks = [
        {
            "chunk_id": chunk.chunk_id,
            "position": chunk.position,
            "total": chunk.total,
            "offset": chunk.offset,
            "text": chunk.text,
        }
        for chunk in passage.chunks
    ]
    data: Data = {"chunks": chunks, "commit": passage.commit, "next_step": _next_step(context, passage)}
    text = passage.text()
    answer = Answer(data, text=text) if len(text) <= MAX_TEXT else _bounded(context, passage, data)
    if context.sight is not None:
        shown = [chunk["chunk_id"] for chunk in data["chunks"] if "truncated" not in chunk]
        _remember(context, passage.commit, shown)
    return answer


def _remember(context: Context, commit: str | None, whole: Sequence[str]) -> None:
    """The client has seen the chunks that were shown whole."""
    snapshot = context.workspace.snapshot(commit)
    for chunk in whole:
        path, fragment = split_address(chunk, snapshot.documents)
        document = snapshot.document(path)
        section = document.section_by_key(fragment or PREAMBLE)
        if section is not None:
            context.shows(document, (section,))


def _bounded(context: Context, passage: Passage, data: Data) -> Answer:
    """A passage that is too long for one answer: each chunk is cut, and the answer says how to read on."""
    share = MAX_TEXT // len(passage.chunks)
    for chunk in data["chunks"]:
        if len(chunk["text"]) > share:
            chunk["text"] = chunk["text"][:share]
            chunk["truncated"] = True
    first = next(chunk for chunk in data["chunks"] if chunk.get("truncated"))
    path, _, slug = first["chunk_id"].rpartition("#")
    data["truncated"] = True
    if context.offers("view_document"):
        data["next_step"] = f"Read the rest with {call('view_document', file=path, slug=slug, offset=share)}"
    elif len(passage.chunks) > 1:
        data["next_step"] = f"Read it by itself with {call('get_doc', chunk_id=first['chunk_id'])}"
    return Answer(data, text=passage.shortened(share).text() + f"\n\n[cut: {data['next_step']}]")


def _next_step(context: Context, passage: Passage) -> str:
    last = passage.chunks[-1]
    target = next(chunk for chunk in passage.chunks if chunk.offset == 0)
    if last.position < last.total and last.offset < MAX_CONTEXT:
        wider = call("get_doc", chunk_id=target.chunk_id, context=last.offset + 1)
        return f"Read more around it with {wider}"
    if last.position < last.total:
        return f"Read on with {call('get_doc', chunk_id=last.chunk_id, context=MAX_CONTEXT)}"
    return "Search for more with search_docs: this is the end of the file"


def _error_text(error: WorkspaceError) -> str:
    """Plain words, as the contract asks; a message that ends a sentence itself is complete."""
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
