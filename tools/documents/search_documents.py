"""search_documents: searches sections for terms, with short results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    OPERATIONS,
    Arguments,
    Integer,
    InvalidArguments,
    Objects,
    read_arguments,
    remove_nulls,
)
from tools.caveats import describe_search_caveats
from tools.documents.batch_reads import answer_batch, check_batch_fields
from tools.errors import build_ref_argument
from tools.read_context import ReadContext
from tools.search.found_tasks import describe_found_tasks
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context

MAX_LIMIT = 50
DEFAULT_BATCH_LIMIT = 2
"""The default limit of a search in a batch: such a search names what it looks for, and others follow."""


class SearchDocumentsArguments(Arguments):
    """The input of search_documents."""

    query: str | None = Field(None, description='Words, "phrases", -word')
    limit: Integer = Field(5, ge=1, le=MAX_LIMIT)
    operations: Objects | None = Field(None, description="[{query}, ...]")
    ref: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "search": f"Call with {{query, limit?}}; limit is 1 to {MAX_LIMIT}",
        "batch": "Call with {operations: [{query, limit?}, ...]} for several searches; "
        f"their limit is {DEFAULT_BATCH_LIMIT} by default",
        "query": 'Words, "phrases", -word, auth*, title:x, tag:x, AND, OR, NOT, ( )',
        "ref": "Add ref to search a branch, tag, commit or @{date} instead of the tip",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "query": "search endpoint latency",
        **select_example_arguments(arguments, ("query", "ref")),
        "limit": 5,
    }


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = remove_nulls(arguments)
    if OPERATIONS not in request:
        return Answer(_search(context, request))
    check_batch_fields(request, "ref")
    ref = read_arguments(SearchDocumentsArguments, {"ref": request.get("ref")}).ref
    common_fields = {"limit": DEFAULT_BATCH_LIMIT, **build_ref_argument(ref)}
    return answer_batch(
        ReadContext.at(context, ref),
        TOOL,
        request[OPERATIONS],
        lambda item: _search(context, {**common_fields, **item}),
    )


def _search(context: Context, arguments: CallArguments) -> Data:
    from index.matches import Matcher

    request = read_arguments(SearchDocumentsArguments, arguments)
    if request.query is None:
        raise InvalidArguments("'query' is missing", fix="Give the words to search for.", field="query")
    page = context.index.search(
        request.query, limit=request.limit, progress=context.progress, ref=request.ref
    )
    best_score = max((hit.score for hit in page.hits), default=1.0) or 1.0
    matcher = Matcher(page.terms)
    matches: list[Data] = [
        {
            "file": hit.filepath,
            "slug": hit.address.removeprefix(hit.filepath + "#"),
            "preview": hit.snippet,
            "score": round(hit.score / best_score, 3),
            **describe_found_tasks(hit, matcher),
        }
        for hit in page.hits
    ]
    data: Data = {"matches": matches, "more": page.next_cursor is not None, "commit": page.commit}
    data |= describe_search_caveats(page)
    if not matches:
        step = "Try other words, or list the documents with "
        data["next_step"] = NextStep(step, call("list_documents", **build_ref_argument(request.ref)))
    return data


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
