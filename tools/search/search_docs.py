"""search_docs: the sections that answer a query best, with filters and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.answers import Answer, Data, call
from tools.arguments import Arguments, Integer, read
from tools.reservations import reservations
from tools.tool import Tool
from tools.writing import arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from index.metadata import Facet
    from index.service import Hit
    from tools.context import Context
    from tools.tool import Given

MAX_LIMIT = 50
TAXONOMY = ("type", "tags")
_MAX_VALUES = 512


class SearchDocsArguments(Arguments):
    """The input of search_docs; the taxonomy's values are put into the schema as they are indexed."""

    query: str = Field(description="The search query (e.g., 'how to paginate', 'RateLimitError').")
    limit: Integer = Field(
        10, description="Maximum number of results to return. Default is 10.", ge=1, le=MAX_LIMIT
    )
    cursor: str | None = Field(
        None,
        description="Opaque pagination token returned from a previous search. Omit for the first page. "
        "Returns an error if invalid or malformed.",
    )
    path: str | None = Field(None, description="Only this folder, document or glob.")
    type: str | None = Field(None, description="Filter results by type.")
    tags: str | None = Field(None, description="Filter results by tags.")


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "search": f"Call with {{query, limit?}}; limit is 1 to {MAX_LIMIT}",
        "query": 'Words are joined by OR; "exact phrase" must occur or comes first; -word must not',
        "filters": "Add type, tags or path",
        "pages": "Add cursor: the next_cursor of the page before, with the same query and filters",
    }


def _example(given: Given) -> dict[str, Any]:
    return {"query": "how to paginate", **arguments_of(given, ("query",)), "limit": 10}


def _run(context: Context, given: Given) -> Answer:
    asked = read(SearchDocsArguments, given)
    filters = {key: value for key in TAXONOMY if (value := getattr(asked, key)) is not None}
    page = context.index.search(
        asked.query,
        limit=asked.limit,
        cursor=asked.cursor,
        filters=filters,
        path=asked.path,
        progress=context.progress,
    )
    hint = (
        {"message": page.hint.message, "suggested_filters": dict(page.hint.suggested_filters)}
        if page.hint
        else None
    )
    data: Data = {
        "hits": [_hit(hit, page.commit) for hit in page.hits],
        "next_cursor": page.next_cursor,
        "hint": hint,
        "commit": page.commit,
        "next_step": _next_step(page.hits, page.next_cursor),
    }
    data |= reservations(page)
    return Answer(data)


def _hit(hit: Hit, commit: str | None) -> Data:
    return {
        "chunk_id": hit.chunk_id,
        "score": hit.score,
        "heading": hit.heading,
        "breadcrumb": hit.breadcrumb,
        "snippet": hit.snippet,
        "filepath": hit.filepath,
        "metadata": dict(hit.metadata),
        "lines": [hit.start_line, hit.end_line],
        "blob": hit.blob,
        "source_commit": commit,
    }


def _next_step(hits: tuple[Hit, ...], next_cursor: str | None) -> str:
    if not hits:
        return "Search again as the hint says"
    step = f"Read one with {call('get_doc', chunk_id=hits[0].chunk_id)}"
    return step + ("; more with cursor: next_cursor" if next_cursor else "")


def _with_taxonomy(context: Context, schema: dict[str, Any]) -> dict[str, Any]:
    """Puts the values that were indexed last into the schema; without an index a filter is a plain string."""
    metadata = context.index.metadata()
    if metadata is None:
        return schema
    properties = dict(schema["properties"])
    for key in TAXONOMY:
        facet = metadata.taxonomy.get(key)
        if facet is not None:
            properties[key] = _property(key, facet)
    return {**schema, "properties": properties}


def _property(key: str, facet: Facet) -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": "string",
        "description": facet.description or f"Filter results by {key}.",
    }
    if 0 < len(facet.values) <= _MAX_VALUES:
        described["enum"] = list(facet.values)
    return described


def _describe(context: Context) -> str:
    metadata = context.index.metadata()
    corpus = metadata.corpus_description if metadata else f"{context.workspace.name} documentation"
    return f"Search the {corpus}. Use this to find relevant documentation, guides, or API references."


TOOL = Tool(
    name="search_docs",
    title="Search the documentation",
    toolset="search",
    description="Search the documentation. Use this to find relevant documentation, guides, or API "
    "references.",
    arguments=SearchDocsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    schema=_with_taxonomy,
    describe=_describe,
)
