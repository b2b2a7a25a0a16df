"""search_documents: sections that hold some words, in brief."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import REF, Arguments, Integer, read
from tools.caveats import search_caveats
from tools.errors import ref_argument
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Context, Given

MAX_LIMIT = 50


class SearchDocumentsArguments(Arguments):
    """The input of search_documents."""

    query: str = Field(description="Words")
    limit: Integer = Field(5, ge=1, le=MAX_LIMIT)
    ref: str | None = Field(None, description=REF)


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "search": f"Call with {{query, limit?}}; limit is 1 to {MAX_LIMIT}",
        "ref": "Add ref to search a branch, tag, commit or @{date} instead of the tip",
    }


def _example(given: Given) -> dict[str, Any]:
    return {"query": "search endpoint latency", **arguments_of(given, ("query", "ref")), "limit": 5}


def _run(context: Context, given: Given) -> Answer:
    asked = read(SearchDocumentsArguments, given)
    page = context.index.search(asked.query, limit=asked.limit, progress=context.progress, ref=asked.ref)
    best = max((hit.score for hit in page.hits), default=1.0) or 1.0
    matches: list[Data] = [
        {
            "file": hit.filepath,
            "slug": hit.address.removeprefix(hit.filepath + "#"),
            "preview": hit.snippet,
            "score": round(hit.score / best, 3),
        }
        for hit in page.hits
    ]
    data: Data = {"matches": matches, "more": page.next_cursor is not None, "commit": page.commit}
    data |= search_caveats(page)
    at = ref_argument(asked.ref)
    if matches:
        first = matches[0]
        step = NextStep("Read it with ", call("view_document", file=first["file"], slug=first["slug"], **at))
    else:
        step = NextStep("Try other words, or ", call("list_documents", **at), " to see what there is")
    return Answer({**data, "next_step": step})


TOOL = Tool(
    name="search_documents",
    title="Search documents",
    toolset="documents",
    description="Find sections by keywords; matches name file and slug.",
    arguments=SearchDocumentsArguments,
    run=_run,
    usage=_usage,
    example=_example,
)
