"""search_documents: searches sections for terms, with short results."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    OPERATIONS,
    WITHOUT_DEFAULT,
    Integer,
    InvalidArguments,
    Objects,
    ReadingArguments,
    read_arguments,
    remove_nulls,
)
from tools.budgets.limits import MAX_TOKENS
from tools.caveats import describe_search_caveats
from tools.documents.batch_reads import answer_batch, check_batch_fields
from tools.errors import build_ref_argument
from tools.read_context import ReadContext
from tools.search.fitting_hits import find_fitting_hits
from tools.search.found_tasks import describe_found_tasks
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from index.matches import Matcher
    from index.service import Hit, SearchPage
    from tools.tool import CallArguments, Context

MAX_LIMIT = 50
DEFAULT_BATCH_LIMIT = 2
"""The default limit of a search in a batch, because several searches share one answer."""


class SearchDocumentsArguments(ReadingArguments):
    """The input of search_documents."""

    query: str | None = Field(None, description='Words, "phrases", -word')
    limit: Integer = Field(5, ge=1, le=MAX_LIMIT, json_schema_extra=WITHOUT_DEFAULT)
    cursor: str | None = None
    since: str | None = None
    operations: Objects | None = Field(None, description="[{query}, ...]")
    ref: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "search": f"Call with {{query, limit?}}; limit is 1 to {MAX_LIMIT}",
        "batch": "Call with {operations: [{query, limit?}, ...]} for several searches; "
        f"their limit is {DEFAULT_BATCH_LIMIT} by default",
        "query": 'Words, "phrases", -word, auth*, title:x, tag:x, AND, OR, NOT, ( )',
        "pages": "Add cursor: the next_cursor of the page before, with the same query",
        "since": "Add since, a ref or a date such as 2026-01-31, for sections that changed after it",
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
    check_batch_fields(request, "ref", MAX_TOKENS)
    ref = read_arguments(SearchDocumentsArguments, {"ref": request.get("ref")}).ref
    common_fields = {"limit": DEFAULT_BATCH_LIMIT, **build_ref_argument(ref)}
    return answer_batch(
        ReadContext.at(context, ref),
        TOOL,
        request[OPERATIONS],
        lambda item, item_context: _search(item_context, {**common_fields, **item}),
    )


def _search(context: Context, arguments: CallArguments) -> Data:
    request = read_arguments(SearchDocumentsArguments, arguments)
    if request.query is None:
        raise InvalidArguments("'query' is missing", fix="Give the words to search for.", field="query")
    search = partial(
        context.index.search,
        request.query,
        cursor=request.cursor,
        progress=context.progress,
        ref=request.ref,
        since=request.since,
    )
    page, matches = find_fitting_hits(search, _describe_match, request.limit, context.text_tokens)
    best_score = _find_best_score(context, request, page)
    for match in matches:
        match["score"] = round(match["score"] / best_score, 3)
    data: Data = {"matches": matches, "more": page.next_cursor is not None, "commit": page.commit}
    if page.next_cursor is not None:
        data["next_cursor"] = page.next_cursor
    data |= describe_search_caveats(page)
    if not matches:
        step = "Try other words, or list the documents with "
        data["next_step"] = NextStep(step, call("list_documents", **build_ref_argument(request.ref)))
    return data


def _describe_match(hit: Hit, matcher: Matcher) -> Data:
    return {
        "file": hit.filepath,
        "slug": hit.address.removeprefix(hit.filepath + "#"),
        "preview": hit.snippet,
        "score": hit.score,
        **describe_found_tasks(hit, matcher),
    }


def _find_best_score(context: Context, request: SearchDocumentsArguments, page: SearchPage) -> float:
    """Return the score of the best match of the search, which is on its first page."""
    hits = page.hits
    if request.cursor is not None and request.query is not None:
        search = context.index.search
        hits = search(request.query, limit=1, ref=request.ref, since=request.since).hits
    return max((hit.score for hit in hits), default=1.0) or 1.0


TOOL = Tool(
    name="search_documents",
    title="Search documents",
    toolset="documents",
    description="Find sections by keywords; matches name file and slug.",
    arguments=SearchDocumentsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    searches=True,
)
